"""A language model as extractor: two readings, a check of every item, and its filing.

The model proposes and code disposes. An item counts only with a quote that really stands in a message; the trust of a
memory follows from who said what it rests on, and dates are computed from its words. What people and agents said is
read, checked and filed without documents and tools in sight, so that nothing in those can have a say in it, whatever
they talk the model into; they are read for themselves. Each stage's answer has a closed shape. Whatever fails raises,
and whoever called decides what is to be done without a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ... import names
from ...alike import same
from ...errors import ModelError
from ...ports import Keys, no_keys
from ...quoted import quoted
from ...redaction import redacted
from ...trail import append
from ...types import SECOND_HAND, Draft, Message
from ...when import window
from .chat import Ask, Chat
from .prompt import fenced, prompt
from .reading import answered
from .shapes import Filed, Filing, Items, S, Verdict, Verdicts, reader, schema
from .transcript import TRUSTS, Line, borrowed, founded, grounds, lines, proven, transcript

OVERLAP = 2
"""Messages of the piece before that are shown again."""
DETAILED = 9
"""From so many messages on they are read a second time, in windows."""
WINDOW, SHARED = 12, 3
MOST_WINDOWS = 4
MOST_KEYS = 80
SURE = 0.9
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """A statement with the lines it rests on, and the prompts that made it."""

    statement: str
    rests_on: tuple[Line, ...]
    by: str


class ModelExtractor:
    def __init__(self, chat: Chat, seconds: float = 120.0) -> None:
        self._chat = chat
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"{self._chat.name}/{prompt('extract').version}"

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: Keys = no_keys
    ) -> list[Draft]:
        shown = lines(before[-OVERLAP:], messages)
        said = [line for line in shown if not line.second_hand]
        read = [self._drafts(said, keys)] if any(not line.context for line in said) else []
        if any(line.second_hand and not line.context for line in shown):
            read.append(self._drafts(shown, keys, second_hand=True))
        drawn = [draft for drafts in await together(read) for draft in drafts]
        own = [draft.content for draft in drawn if draft.trust not in SECOND_HAND]
        return [d for d in drawn if d.content in own or not any(same(d.content, content) for content in own)]

    async def file(self, statement: str, keys: Keys = no_keys) -> Draft:
        filed = (await self._filed([redacted(statement)], await keys())).get(1)
        if filed is None:
            raise ModelError("The model did not file the statement.")
        return replace(_draft(statement, filed), content=statement)

    async def _drafts(self, shown: Sequence[Line], keys: Keys, *, second_hand: bool = False) -> list[Draft]:
        """What these lines say; when documents and tools are read, only what rests on them."""
        readings = [self._read("extract", shown), *(self._read("detail", part) for part in windows(shown))]
        found = merged([item for items in await together(readings) for item in items])
        if second_hand:
            found = [each for each in found if any(line.second_hand and not line.context for line in each.rests_on)]
        found = await self._verified(found, shown)
        if not found:
            return []
        filed = await self._filed([each.statement for each in found], await keys())
        return [draft(each, filed.get(n), shown) for n, each in enumerate(found, 1)]

    async def _read(self, task: str, shown: Sequence[Line]) -> list[Found]:
        found = await self._ask(task, Items, fenced(conversation=transcript(shown)))
        kept, refused = [], 0
        for item in found.items:
            rests_on = proven(item.quote, item.lines, shown)
            statement = redacted(" ".join(item.statement.split()))
            if rests_on and statement and founded(statement, shown):
                kept.append(Found(statement, rests_on, prompt(task).version))
            else:
                refused += 1
        if refused:
            append("unproven", {"task": task, "items": refused})
        return kept

    async def _verified(self, found: list[Found], shown: Sequence[Line]) -> list[Found]:
        if not found:
            return []
        told = "\n".join(
            f"[{n}] lines {', '.join(str(line.number) for line in each.rests_on)}: {quoted(each.statement)}"
            for n, each in enumerate(found, 1)
        )
        data = fenced(conversation=transcript(shown), statements=told)
        verdicts = {each.number: each for each in (await self._ask("verify", Verdicts, data)).verdicts}
        passed = [(each, verdicts.get(n)) for n, each in enumerate(found, 1)]
        for each, verdict in passed:
            if verdict is None or verdict.verdict != "pass":
                append("verification", _told(each, verdict))
        return merged(
            [_right(each, verdict, shown) for each, verdict in passed if verdict and verdict.verdict != "drop"]
        )

    async def _filed(self, statements: Sequence[str], keys: Sequence[str]) -> dict[int, Filed]:
        told = "\n".join(f"[{n}] {quoted(each)}" for n, each in enumerate(statements, 1))
        data = fenced(keys="\n".join(" ".join(key.split()) for key in keys[:MOST_KEYS]) or "(none)", statements=told)
        return {each.number: each for each in (await self._ask("classify", Filing, data)).filed}

    async def _ask(self, task: str, shape: type[S], data: str) -> S:
        ask = Ask(task, prompt(task).text, data, schema(shape), tokens=4_000, seconds=self._seconds)
        found: S = await answered(self._chat, ask, reader(shape))
        return found


async def together(readings: Sequence[Coroutine[Any, Any, list[T]]]) -> list[list[T]]:
    """All of them at once; when one fails the others are not left running."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(reading) for reading in readings]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def windows(shown: Sequence[Line]) -> list[Sequence[Line]]:
    """Overlapping pieces for the second reading; none of a short conversation."""
    if sum(not line.context for line in shown) < DETAILED:
        return []
    size = max(WINDOW, -(-len(shown) // MOST_WINDOWS) + SHARED)
    return [shown[at : at + size] for at in range(0, max(len(shown) - SHARED, 1), size - SHARED)]


def merged(found: Sequence[Found]) -> list[Found]:
    """Each thing once, resting on every line that either reading gave it."""
    kept: list[Found] = []
    for each in found:
        told = next((n for n, other in enumerate(kept) if same(each.statement, other.statement)), None)
        if told is None:
            kept.append(each)
        else:
            both = {line.number: line for line in (*kept[told].rests_on, *each.rests_on)}
            kept[told] = replace(kept[told], rests_on=tuple(both[n] for n in sorted(both)))
    return kept


def draft(found: Found, filed: Filed | None, shown: Sequence[Line]) -> Draft:
    """The statement as something to be known. What it rests on decides whose word it is; its words, when it was."""
    rests_on = grounds(found.statement, found.rests_on, shown)
    said = [line.message for line in rests_on]
    made = Draft("fact", found.statement, ()) if filed is None else _draft(found.statement, filed)
    when = window(found.statement, said[-1].said_at) if made.kind in ("event", "task") else None
    return replace(
        made,
        sources=tuple(dict.fromkeys(each.id for each in said)),
        trust=max((line.trust for line in rests_on), key=TRUSTS.index),
        occurred_at=when.start if when else None,
        occurred_until=when.stop if when else None,
        confidence=SURE,
        rule=found.by,
    )


def _draft(statement: str, filed: Filed) -> Draft:
    """What is said about a statement must not say more than it does."""
    keywords = (word for word in filed.keywords[:6] if word.strip() and not borrowed(word, statement))
    queries = (query for query in filed.queries[:5] if query.strip() and not borrowed(query, statement))
    return Draft(
        kind=filed.kind,
        content=statement,
        sources=(),
        summary=_short(statement if borrowed(filed.summary, statement) else filed.summary or statement),
        key=_key(filed, statement),
        keywords=tuple(map(_short, keywords)),
        queries=tuple(_short(query, 200) for query in queries),
    )


def _key(filed: Filed, statement: str) -> str | None:
    """A topic, normalised; none where it is no topic at all."""
    if filed.key is None or filed.kind not in ("fact", "instruction"):
        return None
    topic = names.topic(filed.key)
    return topic if topic and topic != names.topic(statement) else None


def _right(found: Found, verdict: Verdict, shown: Sequence[Line]) -> Found:
    corrected = redacted(" ".join((verdict.statement or "").split()))
    if verdict.verdict == "pass" or not corrected or not founded(corrected, shown):
        return found
    return replace(found, statement=corrected, by=f"{found.by}+{prompt('verify').version}")


def _told(found: Found, verdict: Verdict | None) -> dict[str, object]:
    """What a trace keeps of an item that did not simply pass: where it came from and why, without its words."""
    sources = [line.message.id for line in found.rests_on]
    if verdict is None:
        return {"sources": sources, "verdict": "drop", "reason": "no verdict"}
    return {"sources": sources, "verdict": verdict.verdict, "failed": verdict.failed, "reason": verdict.reason[:200]}


def _short(text: str, most: int = 80) -> str:
    return " ".join(text.split())[:most]
