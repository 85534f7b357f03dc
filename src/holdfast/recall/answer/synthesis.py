"""Lets a language model write the answer from the hits, within time budgets, with the offline answer as fallback.

The offline answer is made in any case. It is the answer whenever the model is down, late or talks nonsense, and when
there is none at all. Each piece of evidence says whose words it is. An answer in which a document or a tool speaks for
the user gives way to the offline one, and one that rests on documents and tools alone names them.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain import identifiers, limits
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.models import Brief, Reading, Wording
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.tracing import append_note, note, stage
from holdfast.recall.answer.attribution import source_names
from holdfast.recall.answer.offline import offline_answer
from holdfast.recall.answer.statements import statement_about
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.fusion import fused_hits
from holdfast.recall.ranking.recency import said_at
from holdfast.recall.ranking.trust import with_hearsay
from holdfast.recall.search import Searcher, question_of
from holdfast.text import tokens
from holdfast.text.lexicon.entity_names import ORDINARY_WORDS
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text

log = logging.getLogger("holdfast")
_PARTICULAR = re.compile(r"\b(?:[A-ZÀ-Þ][\w'-]*\w|\d[\d.,:]*)")
LENGTHS = ("short", "medium", "long")
MAX_EVIDENCE_CHARACTERS = 1_500
"""Maximum characters of one piece of evidence."""


@dataclass(frozen=True, slots=True)
class ThinkingLevel:
    """How much work one answer may take."""

    hits: int
    passes: int
    analysis: float
    """Seconds to wait for the analysis of the question."""
    seconds: float
    """Seconds to wait for the model to write the answer."""


LEVELS = {
    "low": ThinkingLevel(10, 1, 1.0, 20.0),
    "medium": ThinkingLevel(20, 1, 2.0, 40.0),
    "high": ThinkingLevel(40, 2, 4.0, 90.0),
}


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer a question."""

    limit: int | None
    level: str
    length: str

    def __post_init__(self) -> None:
        for name, value, known in (("thinking_level", self.level, LEVELS), ("response_length", self.length, LENGTHS)):
            if value not in known:
                raise InvalidInput(f"{name} is {quoted_value(value)}; use one of {', '.join(known)}.", field=name)

    @property
    def hits(self) -> int:
        return LEVELS[self.level].hits if self.limit is None else self.limit


async def answer_pieces(
    searcher: Searcher, question: Question, options: AnswerOptions, llm: LlmTasks
) -> AsyncIterator[str | Answer]:
    """Yields the answer's text as the model writes it, then the whole Answer, which is the authoritative one."""
    level = LEVELS[options.level]
    reading = asyncio.create_task(llm.analyst.analyse(question.text))
    try:
        offline = await offline_answer(searcher, question, options.hits)
        hits = await _widened(reading, searcher, question, offline.hits, level.analysis)
    finally:
        reading.cancel()
    if not hits:
        yield offline
        return
    wording: Wording | None = None
    names = await source_names(searcher.store, hits)
    held = any(hit.assessment.hearsay for hit in hits)  # what may be refused is not passed on before it is whole
    with stage("synthesise"):
        try:
            async for piece in llm.synthesiser.answer(
                await _brief(searcher.store, question, options, offline, hits, names)
            ):
                if isinstance(piece, Wording):
                    wording = piece
                elif not held:
                    yield piece
        except Exception as failure:
            log.warning("answering without the model, it failed: %s", failure)
            note(synthesis=f"failed: {type(failure).__name__}")
    if wording is not None and speaks_for_user(question, wording, hits, names):
        note(synthesis="refused: it lets a document or a tool speak for the user")
        wording = None
    answer = replace(offline, hits=hits) if wording is None else _cited_answer(question, offline, hits, wording, names)
    if held and answer.answer:
        yield answer.answer
    yield answer


async def _widened(
    reading: asyncio.Task[Reading], searcher: Searcher, question: Question, hits: Sequence[Hit], budget: float
) -> tuple[Hit, ...]:
    """Adds hits that resemble a hypothetical answer; returns only the given ones when the analysis is late or fails."""
    with stage("question"):
        try:
            async with asyncio.timeout(budget):
                read = await asyncio.shield(reading)
            text = " ".join(filter(None, (read.answer, *read.terms, *read.keys)))
            like = await searcher.search(_would_be(question, text), max(len(hits), 1)) if text else []
        except Exception as failure:
            note(analysis=f"left out: {type(failure).__name__}")
            return tuple(hits)
    append_note("analysis", {"keys": list(read.keys), "terms": list(read.terms)})
    return tuple(with_hearsay(question, list(fused_hits(hits, like)), searcher.models.embedder.model))


def _would_be(question: Question, text: str) -> Question:
    """Turns a hypothetical answer into a question; raises InvalidInput when it is longer than a question may be."""
    return question_of(identifiers.validate_text(text, "query", limit=limits.MAX_QUERY_BYTES), question.asked_at)


async def _brief(
    store: Store,
    question: Question,
    options: AnswerOptions,
    offline: Answer,
    hits: Sequence[Hit],
    names: Mapping[str, str],
) -> Brief:
    level = LEVELS[options.level]
    facts = [f"Today is {question.asked_at:%A, %Y-%m-%d}."]
    if offline.answer and question.computation is not None:
        facts.append(f"Computed from the memories: {single_line_json(redacted_text(offline.answer))}")
    said = await said_at(store, hits)
    evidence = tuple(
        _evidence(hit, hit.timestamp or at, question.asked_at, names.get(hit.id))
        for hit, at in zip(hits, said, strict=True)
    )
    return Brief(question.text, evidence, tuple(facts), options.length, level.passes, level.seconds)


def _evidence(hit: Hit, at: datetime, asked_at: datetime, source: str | None) -> str:
    days = (asked_at.date() - at.date()).days
    age = f"{days} days ago" if days > 0 else "today" if days == 0 else f"in {-days} days"
    own = single_line_json(hit.speaker) if hit.speaker else "an assistant" if hit.trust == "agent" else "the user"
    who = own if source is None else f"{hit.trust}, not the user's words, {single_line_json(source)}"
    old = ", no longer true" if hit.assessment.superseded or hit.assessment.outdated else ""
    old += ", the user said it themselves" if hit.assessment.hearsay else ""
    text = single_line_json(redacted_text(hit.content)[:MAX_EVIDENCE_CHARACTERS])
    return f"{at:%Y-%m-%d} ({age}{old}), {who}: {text}"


def speaks_for_user(question: Question, wording: Wording, hits: Sequence[Hit], names: Mapping[str, str]) -> bool:
    """Whether it tells in a document's, a tool's or an assistant's words what the user told themselves.

    It does when it rests on what documents and tools say of that alone, or holds a name or a number that stands in
    hearsay and in nothing else, and does not say whose words that is.
    """
    hearsay = [hit for hit in hits if hit.assessment.hearsay]
    if not wording.text or not hearsay:
        return False
    cited = [hits[n] for n in wording.cited]
    if all(hit.assessment.hearsay and hit.id in names for hit in cited):
        return True
    told = _particulars(wording.text) & _particulars(" ".join(hit.content for hit in hearsay))
    sound = _particulars(" ".join([question.text, *(hit.content for hit in hits if not hit.assessment.hearsay)]))
    return bool(told - sound) and not any(
        _names_source(wording.text, names[hit.id]) for hit in cited if hit.id in names
    )


def _particulars(text: str) -> set[str]:
    """The names and numbers of a text, in lower case."""
    return {each.casefold() for each in _PARTICULAR.findall(text)} - tokens.STOP_WORDS - ORDINARY_WORDS


def _names_source(text: str, source: str) -> bool:
    """Whether the text says that it is the source's words."""
    bare = re.sub(r"^(?:the|an?) ", "", source)
    within = re.search(r"[\"(](.+)[\")]", source)
    return (within[1] if within else bare).casefold() in text.casefold()


def _cited_answer(
    question: Question, offline: Answer, hits: tuple[Hit, ...], wording: Wording, names: Mapping[str, str]
) -> Answer:
    if not wording.text:
        return Answer("", (), hits, offline.confidence)
    cited = [hits[n] for n in wording.cited]
    quotes = tuple(Citation(hit.id, statement_about(question.text, hit)) for hit in cited)
    sources = list(dict.fromkeys(names.get(hit.id, "") for hit in cited))
    text = wording.text
    if "" not in sources and not any(_names_source(text, source) for source in sources):
        text = f"According to {' and '.join(sources)}: {text}"
    return Answer(text, quotes, hits, max(offline.confidence, 0.5))
