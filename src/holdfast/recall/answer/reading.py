"""Answers with the words that a reader of answers finds in what was said: quoted, counted, dated, yes, no, or nothing.

The reader (domain/ports/models.py) sees the messages behind the best hits, in order of time, with speaker and day. It
answers only when it is sure enough; what it found is quoted in its sentence, and days, durations and counts are
computed from it (computed.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import log

from holdfast.domain.ports.models import AnswerReader, ReadPassage
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.types import Memory
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.computed import FoundSpan, computed_text, known_day
from holdfast.recall.answer.denial import is_denied_at
from holdfast.recall.answer.support import support
from holdfast.recall.answer.sureness import ReadHits, sureness
from holdfast.recall.hits import hit_of, verbatim_hits, without_wrong_words
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.ranking.recency import said_at
from holdfast.recall.ranking.trust import OWN, SECOND_HAND, addresses_agent, standing
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.passages import passage_spans
from holdfast.text.redaction import REDACTION_MARK

NOTHING = ReadHits("none", (), 0.0)
MIN_CHANCE = 0.6
"""How sure the reader must be of an answer. In lives that nothing learned from, 0.63 gives one right answer less in a
hundred, and half a wrong one."""
MIN_CHANCE_ALONE = 0.7
"""The same where the best hit fits the question wholly and is read alone: among others, a plain statement may be
overlooked. Of 1,082 questions after lives this answered six more, four of them right."""
RELEVANCE_SHARE = 0.4
"""How much a hit's relevance counts beside the logarithm of its rank for what is read. In lives that nothing learned
from, the answer is among what is read for 89.8 of 100 questions; by rank alone for 88.6."""
MIN_REPLACED_FIT = 0.9
"""How well a statement must fit the question to be left out where a newer one under a key does. Chosen by hand."""
PASSAGE_CHARACTERS = 240
"""Longer messages are read in parts; the reader is trained with parts of this length."""
MAX_PARTS = 3
"""Parts of one message that are read: those that share most words with the question."""


_ASKS_OF_NAMED = re.compile(r"\W*(?:is|does|has|did|was|can|will) (?P<who>(?-i:[A-ZÀ-Þ])[\w'-]+)\b", re.I)
"""A question of yes or no about a named person."""
_FIRST_PERSON = re.compile(r"\b(?:i|my|i'm|i've)\b", re.I)


class ReaderFailed(Exception):
    """The reader of answers raised an error, or its files are missing or damaged."""


async def read_hits(searcher: Searcher, reader: AnswerReader, question: Question, hits: Sequence[Hit]) -> ReadHits:
    """Reads the messages behind the hits, as many as fit: those that rank high and are likely about the question."""
    ranked = sorted(enumerate(hits, 1), key=lambda each: log(each[0]) - RELEVANCE_SHARE * _log_odds(each[1].relevance))
    told = await verbatim_hits(searcher.store, [hit for _, hit in ranked], question.text)
    if not _asks_past(question):
        told = await _without_outdated(searcher.store, told)
    times = await said_at(searcher.store, told)
    told, times = _said_until(question, told, times)
    places: dict[ReadPassage, tuple[Hit, datetime, int]] = {}  # two profiles may hold the same message
    for hit, at in zip(told, times, strict=True):
        for start, stop in _parts_to_read(question, hit.content):
            places.setdefault(ReadPassage(hit.content[start:stop], _speaker(hit), at.date()), (hit, at, start))
    passages, found_at = list(places), list(places.values())
    try:
        found = await reader.read_answer(question.text, question.asked_at.date(), passages)
    except Exception as failure:
        raise ReaderFailed(str(failure)) from failure
    spans = []
    for span in found.spans:
        hit, at, start = found_at[span.passage]
        spans.append(FoundSpan(hit, at, start + span.start, start + span.stop))
    return NOTHING if any(map(_is_redacted, spans)) else ReadHits(found.kind, tuple(spans), found.chance)


def _log_odds(chance: float) -> float:
    return log(max(chance, 1e-3) / max(1 - chance, 1e-3))


async def _without_outdated(store: Store, told: Sequence[Hit]) -> list[Hit]:
    """Leaves out of messages whose part about the question has ended what they say of it."""
    outdated = [hit.message_id for hit in told if hit.message_id is not None and hit.assessment.outdated]
    if not outdated:
        return list(told)
    drawn = [memory for memory in await store.resting_on(outdated) if memory.kind != "summary"]
    return without_wrong_words(told, drawn, [memory for memory in drawn if not memory.current])


def _said_until(question: Question, hits: list[Hit], times: list[datetime]) -> tuple[list[Hit], list[datetime]]:
    """Without what was said after the period that the question asks about, unless it names that period."""
    past = question.past_state
    if past is None or past.at is None or question.time is None:
        return hits, times
    named, until = question.time.text.casefold(), past.at[1]
    kept = [(hit, at) for hit, at in zip(hits, times, strict=True) if at < until or named in hit.content.casefold()]
    return [hit for hit, _ in kept], [at for _, at in kept]


def _parts_to_read(question: Question, text: str) -> list[tuple[int, int]]:
    parts = list(passage_spans(text, PASSAGE_CHARACTERS))
    if len(parts) <= MAX_PARTS:
        return parts
    asked = set(question.words)
    shared = [len(asked & set(tokens.tokens(text[start:stop]))) for start, stop in parts]
    best = sorted(range(len(parts)), key=lambda n: -shared[n])[:MAX_PARTS]
    return [parts[n] for n in sorted(best)]


def _speaker(hit: Hit) -> str:
    return hit.speaker or hit.role or ("user" if standing(hit) == OWN else hit.trust)


async def read_answer(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], hits: tuple[Hit, ...]
) -> Answer:
    """The answer that the reader finds in what was seen, cited; empty when it is not sure enough."""
    if not _asks_past(question):
        seen = _present_hits(seen) or seen
    own = [hit for hit in seen if standing(hit) != SECOND_HAND]
    found, chance = await _read(searcher, reader, question, own)
    if chance < MIN_CHANCE and len(own) < len(seen):
        found, chance = await _read(searcher, reader, question, seen)
    if chance < MIN_CHANCE and seen and (seen[0].assessment.fit or 0.0) >= 1.0:
        alone = await read_hits(searcher, reader, question, seen[:1])
        denied = any(is_denied_at(question, span) for span in alone.spans)
        if alone.kind == "span" and alone.chance >= MIN_CHANCE_ALONE and not denied:
            found, chance = alone, alone.chance
    if chance < MIN_CHANCE:
        return Answer("", (), hits, chance)
    drawn = await _drawn_memories(searcher, found.spans[0].hit)
    if _is_of_somebody_else(question, found.spans, drawn, seen):
        return Answer("", (), hits, 0.0)
    text = known_day(found.spans[0], drawn) if question.computation and question.computation.what == "when" else ""
    text = text or computed_text(question, found.kind, found.spans) or _quotation(found.spans, drawn)
    if found.kind in ("yes", "no"):
        text = f"{found.kind.capitalize()}: {text}"
    text = await _told_by(searcher, question, found.spans[0].hit, text)
    cited = tuple(Citation(*each) for each in dict.fromkeys((span.hit.id, span.sentence) for span in found.spans))
    known = {hit.id for hit in hits}
    more = {span.hit.id: span.hit for span in found.spans if span.hit.id not in known}
    return Answer(text, cited, (*hits, *more.values()), chance)


async def _read(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit]
) -> tuple[ReadHits, float]:
    """What the reader found, and how sure that is."""
    if not seen:
        return NOTHING, 0.0
    found = await read_hits(searcher, reader, question, seen)
    denied = [span for span in found.spans if is_denied_at(question, span)]
    ended = await _ended_spans(searcher, question, found)
    sound = tuple(span for span in found.spans if span not in denied and span not in ended)
    if found.kind == "list" and sound:
        found = replace(found, spans=sound)
    elif denied or ended:
        left = _without(seen, {span.hit.id for span in denied}, {span.hit.id for span in ended})
        found = await read_hits(searcher, reader, question, left)
        if any(is_denied_at(question, span) for span in found.spans) or await _ended_spans(searcher, question, found):
            return NOTHING, 0.0
    supported = support(question, seen, searcher.models.embedder.model)
    former = [hit for hit in seen if hit.assessment.superseded or hit.assessment.outdated]
    if former and found.spans and _asks_former(question) and found.spans[0].hit.id not in _messages(former):
        earlier = await read_hits(searcher, reader, question, former)
        if (chance := sureness(question, earlier, seen, supported)) >= MIN_CHANCE:
            return earlier, chance
    return found, sureness(question, found, seen, supported)


def _asks_former(question: Question) -> bool:
    """Whether it asks what something was before the present state: what was replaced answers, not what replaced it."""
    return question.past_state is not None and question.past_state.at is None


def _messages(hits: Sequence[Hit]) -> set[str]:
    return {id for hit in hits for id in (hit.id, *hit.sources)}


def _is_redacted(span: FoundSpan) -> bool:
    """Whether the found words stand in the place of a secret, which nothing answers."""
    marks = re.finditer(re.escape(REDACTION_MARK), span.hit.content)
    return any(mark.start() < span.stop and span.start < mark.end() for mark in marks)


def _present_hits(hits: Sequence[Hit]) -> list[Hit]:
    """Without what something newer replaced as a whole; and where a memory states what is asked under its key, without
    older statements of the same."""
    left = [hit for hit in hits if not hit.assessment.superseded]
    fitting = [hit for hit in left if (hit.assessment.fit or 0.0) >= MIN_REPLACED_FIT]
    if any(hit.key is not None and not hit.assessment.older for hit in fitting):
        left = [hit for hit in left if not (hit.assessment.older and hit in fitting)]
    return left


def _without(hits: Sequence[Hit], denied: set[str], ended: set[str]) -> list[Hit]:
    """The hits without those that deny; those of which a part has ended are outdated."""
    kept = [hit for hit in hits if denied.isdisjoint(_messages([hit]))]
    return [
        hit if ended.isdisjoint(_messages([hit])) else replace(hit, assessment=replace(hit.assessment, outdated=True))
        for hit in kept
    ]


async def _ended_spans(searcher: Searcher, question: Question, found: ReadHits) -> list[FoundSpan]:
    """The found words that are only in statements of their message that no longer hold; none for a question about the
    past."""
    messages = {span.hit.message_id for span in found.spans if span.hit.message_id is not None}
    if not messages or _asks_past(question):
        return []
    drawn = [memory for memory in await searcher.store.resting_on(list(messages)) if memory.kind != "summary"]
    ended = []
    for span in found.spans:
        has = [m for m in drawn if span.hit.message_id in m.sources and span.text.casefold() in m.content.casefold()]
        if has and not any(memory.current for memory in has):
            ended.append(span)
    return ended


def _asks_past(question: Question) -> bool:
    return question.past_state is not None or question.target.past


async def _drawn_memories(searcher: Searcher, hit: Hit) -> list[Memory]:
    """The current memories drawn from a message."""
    drawn = await searcher.store.resting_on([hit.message_id]) if hit.message_id is not None else []
    return [
        memory
        for memory in drawn
        if memory.current and memory.kind != "summary" and standing(hit_of(memory)) <= standing(hit)
    ]


def _is_of_somebody_else(
    question: Question, spans: Sequence[FoundSpan], drawn: Sequence[Memory], seen: Sequence[Hit]
) -> bool:
    """Whether the statement with the words is about another person than the one asked about: what a sister is allergic
    to is no answer to "What am I allergic to?", and what Lior says of himself none to "Is Dana vegetarian?"."""
    target, hit = question.target, spans[0].hit
    if hit.speaker is not None and (named := _ASKS_OF_NAMED.match(question.text)):
        return _speaks_of_themselves(hit.speaker, spans[0].sentence, named["who"])
    if not target.own or target.names or target.kin:
        return False
    if hit.speaker is not None:
        unknown = len({each.speaker for each in seen if each.role == "user"}) > 1  # who of them asks is not said
        return unknown and _FIRST_PERSON.search(spans[0].sentence) is not None
    if not target.traits:
        return False
    stated = replace(hit, content=_quotation(spans, drawn))
    return best_fits(target, [stated], people_in(seen))[0].owned < 0


def _speaks_of_themselves(speaker: str, sentence: str, asked: str) -> bool:
    """Whether a speaker who is not asked about speaks of themselves, and does not name the one who is."""
    return _FIRST_PERSON.search(sentence) is not None and asked.casefold() not in f"{speaker} {sentence}".casefold()


def _quotation(spans: Sequence[FoundSpan], drawn: Sequence[Memory]) -> str:
    """The sentence with the answer, or a memory drawn from its message that has the words and can stand alone; the
    words themselves where they are in several sentences."""
    sentences = {(span.hit.id, span.sentence) for span in spans}
    if len(sentences) > 1:
        distinct: dict[str, str] = {}
        for span in spans:
            distinct.setdefault(span.text.casefold(), span.text)
        return "; ".join(distinct.values())
    wanted = [span.text.casefold() for span in spans]
    fitting = [m.content for m in drawn if all(words in m.content.casefold() for words in wanted)]
    said_by, sentence = spans[0].hit.speaker, spans[0].sentence
    return min(fitting, key=len, default=f"{said_by}: {sentence}" if said_by else sentence)


async def _told_by(searcher: Searcher, question: Question, hit: Hit, text: str) -> str:
    unasked = question.asks_about_user and not addresses_agent(question)
    if unasked and hit.role == "assistant" and hit.speaker is None:
        return f"According to the assistant: {text}"
    return await attributed(searcher.store, hit, text)
