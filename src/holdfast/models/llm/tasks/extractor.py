"""Extracts memories with a language model: two readings, a verification of every item, and its classification.

The model proposes and code decides. An item counts only with a quote that occurs in a message. The trust of a memory
follows from the authors of the lines it rests on, and dates are computed from its words. What people and agents said is
read, verified and classified without documents and tools in the prompt, so that no injected text in those can change
it; documents and tools are read separately. The answer of each stage has a closed shape. Every failure raises, and the
caller decides what to do without a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from holdfast.domain import identifiers
from holdfast.domain.errors import ModelError
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.tracing import append_note
from holdfast.domain.types import SECOND_HAND_TRUST, Draft, Message
from holdfast.models.llm.chat import Chat, ChatRequest
from holdfast.models.llm.prompt import fenced_data, load_prompt
from holdfast.models.llm.tasks.answer_schemas import (
    Filed,
    Filing,
    Items,
    S,
    Verdict,
    Verdicts,
    answer_parser,
    schema,
)
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.models.llm.tasks.transcript import (
    TRUST_ORDER,
    TranscriptLine,
    grounding_lines,
    has_foreign_particulars,
    is_grounded,
    quoted_lines,
    transcript_lines,
    transcript_text,
)
from holdfast.text.dates import meant_window, windows
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text
from holdfast.text.similarity import same_meaning

CONTEXT_MESSAGES = 2
"""How many earlier messages are included again. This and the four below: chosen by hand; not measured."""
MIN_DETAILED_MESSAGES = 9
"""From this many messages on, they are read a second time, in overlapping windows."""
WINDOW_LINES, SHARED_LINES = 12, 3
"""Lines per window, and lines that two adjacent windows share."""
MAX_WINDOWS = 4
MAX_KEYS = 80
VERIFIED_CONFIDENCE = 0.9
"""The confidence of every memory that passed verification. Chosen by hand; not measured."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroundedStatement:
    """A statement with the lines it rests on, and the versions of the prompts that produced it."""

    statement: str
    rests_on: tuple[TranscriptLine, ...]
    by: str


class ModelExtractor:
    def __init__(self, chat: Chat, seconds: float = 120.0) -> None:
        self._chat = chat
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"{self._chat.name}/{load_prompt('extract').version}"

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        shown = transcript_lines(before[-CONTEXT_MESSAGES:], messages)
        said = [line for line in shown if not line.second_hand]
        readings = [self._drafts(said, keys)] if any(not line.context for line in said) else []
        if any(line.second_hand and not line.context for line in shown):
            readings.append(self._drafts(shown, keys, second_hand=True))
        extracted = [draft for drafts in await run_together(readings) for draft in drafts]
        own = [draft.content for draft in extracted if draft.trust not in SECOND_HAND_TRUST]
        return [
            d for d in extracted if d.content in own or not any(same_meaning(d.content, content) for content in own)
        ]

    async def file(self, statement: str, keys: TopicKeyLoader = load_no_topic_keys) -> Draft:
        filed = (await self._filed([redacted_text(statement)], await keys())).get(1)
        if filed is None:
            raise ModelError("The model did not classify the statement.")
        return replace(_classified_draft(statement, filed), content=statement)

    async def _drafts(
        self, shown: Sequence[TranscriptLine], keys: TopicKeyLoader, *, second_hand: bool = False
    ) -> list[Draft]:
        """The memories in these lines; with `second_hand`, only those that rest on documents or tools."""
        readings = [self._read("extract", shown), *(self._read("detail", part) for part in reading_windows(shown))]
        found = merged_statements([item for items in await run_together(readings) for item in items])
        if second_hand:
            found = [each for each in found if any(line.second_hand and not line.context for line in each.rests_on)]
        found = await self._verified(found, shown)
        if not found:
            return []
        filed = await self._filed([each.statement for each in found], await keys())
        return [statement_draft(each, filed.get(n), shown) for n, each in enumerate(found, 1)]

    async def _read(self, task: str, shown: Sequence[TranscriptLine]) -> list[GroundedStatement]:
        answer = await self._ask(task, Items, fenced_data(conversation=transcript_text(shown)))
        proven_items, refused = [], 0
        for item in answer.items:
            rests_on = quoted_lines(item.quote, item.lines, shown)
            statement = redacted_text(" ".join(item.statement.split()))
            if rests_on and statement and is_grounded(statement, shown):
                proven_items.append(GroundedStatement(statement, rests_on, load_prompt(task).version))
            else:
                refused += 1
        if refused:
            append_note("unproven", {"task": task, "items": refused})
        return proven_items

    async def _verified(
        self, found: list[GroundedStatement], shown: Sequence[TranscriptLine]
    ) -> list[GroundedStatement]:
        if not found:
            return []
        listing = "\n".join(
            f"[{n}] lines {', '.join(str(line.number) for line in each.rests_on)}: {single_line_json(each.statement)}"
            for n, each in enumerate(found, 1)
        )
        data = fenced_data(conversation=transcript_text(shown), statements=listing)
        verdicts = {each.number: each for each in (await self._ask("verify", Verdicts, data)).verdicts}
        judged = [(each, verdicts.get(n)) for n, each in enumerate(found, 1)]
        for each, verdict in judged:
            if verdict is None or verdict.verdict != "pass":
                append_note("verification", _verification_trace(each, verdict))
        return merged_statements(
            [
                _corrected_statement(each, verdict, shown)
                for each, verdict in judged
                if verdict and verdict.verdict != "drop"
            ]
        )

    async def _filed(self, statements: Sequence[str], keys: Sequence[str]) -> dict[int, Filed]:
        listing = "\n".join(f"[{n}] {single_line_json(each)}" for n, each in enumerate(statements, 1))
        data = fenced_data(
            keys="\n".join(" ".join(key.split()) for key in keys[:MAX_KEYS]) or "(none)", statements=listing
        )
        return {each.number: each for each in (await self._ask("classify", Filing, data)).filed}

    async def _ask(self, task: str, shape: type[S], data: str) -> S:
        ask = ChatRequest(task, load_prompt(task).text, data, schema(shape), tokens=4_000, seconds=self._seconds)
        answer: S = await ask_for_json(self._chat, ask, answer_parser(shape))
        return answer


async def run_together(readings: Sequence[Coroutine[Any, Any, list[T]]]) -> list[list[T]]:
    """Runs all readings concurrently and returns their results; when one fails, the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(reading) for reading in readings]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def reading_windows(shown: Sequence[TranscriptLine]) -> list[Sequence[TranscriptLine]]:
    """Overlapping parts of the lines for the second reading; none for a short conversation."""
    if sum(not line.context for line in shown) < MIN_DETAILED_MESSAGES:
        return []
    size = max(WINDOW_LINES, -(-len(shown) // MAX_WINDOWS) + SHARED_LINES)
    return [shown[at : at + size] for at in range(0, max(len(shown) - SHARED_LINES, 1), size - SHARED_LINES)]


def merged_statements(found: Sequence[GroundedStatement]) -> list[GroundedStatement]:
    """Removes duplicate statements; each rests on every line that any reading gave for it."""
    unique: list[GroundedStatement] = []
    for each in found:
        same_at = next((n for n, other in enumerate(unique) if same_meaning(each.statement, other.statement)), None)
        if same_at is None:
            unique.append(each)
        else:
            both = {line.number: line for line in (*unique[same_at].rests_on, *each.rests_on)}
            unique[same_at] = replace(unique[same_at], rests_on=tuple(both[n] for n in sorted(both)))
    return unique


def statement_draft(found: GroundedStatement, filed: Filed | None, shown: Sequence[TranscriptLine]) -> Draft:
    """Builds the draft of a statement: the lines it rests on determine its trust, its words determine its date."""
    rests_on = grounding_lines(found.statement, found.rests_on, shown)
    said = [line.message for line in rests_on]
    classified = Draft("fact", found.statement, ()) if filed is None else _classified_draft(found.statement, filed)
    dated = windows(found.statement, said[-1].said_at) if classified.kind in ("event", "task") else []
    when = meant_window(dated, bounded=False)
    return replace(
        classified,
        sources=tuple(dict.fromkeys(each.id for each in said)),
        trust=max((line.trust for line in rests_on), key=TRUST_ORDER.index),
        occurred_at=when.start if when else None,
        occurred_until=when.stop if when else None,
        confidence=VERIFIED_CONFIDENCE,
        rule=found.by,
    )


def _classified_draft(statement: str, filed: Filed) -> Draft:
    """The draft of a classified statement, without keywords and questions that say more than the statement does."""
    keywords = (word for word in filed.keywords[:6] if word.strip() and not has_foreign_particulars(word, statement))
    queries = (query for query in filed.queries[:5] if query.strip() and not has_foreign_particulars(query, statement))
    return Draft(
        kind=filed.kind,
        content=statement,
        sources=(),
        summary=_shortened(
            statement if has_foreign_particulars(filed.summary, statement) else filed.summary or statement
        ),
        key=_topic_key(filed, statement),
        keywords=tuple(map(_shortened, keywords)),
        queries=tuple(_shortened(query, 200) for query in queries),
    )


def _topic_key(filed: Filed, statement: str) -> str | None:
    """The normalised topic; None when the model gave no topic, or gave the statement itself."""
    if filed.key is None or filed.kind not in ("fact", "instruction"):
        return None
    topic = identifiers.topic_key(filed.key)
    return topic if topic and topic != identifiers.topic_key(statement) else None


def _corrected_statement(
    found: GroundedStatement, verdict: Verdict, shown: Sequence[TranscriptLine]
) -> GroundedStatement:
    corrected = redacted_text(" ".join((verdict.statement or "").split()))
    if verdict.verdict == "pass" or not corrected or not is_grounded(corrected, shown):
        return found
    return replace(found, statement=corrected, by=f"{found.by}+{load_prompt('verify').version}")


def _verification_trace(found: GroundedStatement, verdict: Verdict | None) -> dict[str, object]:
    """The trace of an item that was dropped or corrected: its sources and the reason, without its text."""
    sources = [line.message.id for line in found.rests_on]
    if verdict is None:
        return {"sources": sources, "verdict": "drop", "reason": "no verdict"}
    return {"sources": sources, "verdict": verdict.verdict, "failed": verdict.failed, "reason": verdict.reason[:200]}


def _shortened(text: str, most: int = 80) -> str:
    return " ".join(text.split())[:most]
