"""Answers with the words that a reader of answers finds in what was said: quoted, counted, dated, yes, no, or nothing.

The reader (domain/ports/models.py) sees the messages behind the best hits, in order of time, with speaker and day. It
answers only when it is sure enough; what it found is quoted in its sentence, and days, durations and counts are
computed from it (computed.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.types import Memory
from holdfast.recall.answer.amounts.changes import is_mere_change, with_later_changes
from holdfast.recall.answer.amounts.differences import asks_difference, difference_answer
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.computed import FoundSpan, computed_text, counts_nothing, is_still_to_come, known_day
from holdfast.recall.answer.denial import (
    is_affirmed,
    is_denied_at,
    is_of_another_person,
    is_of_named_person,
    is_off_topic,
)
from holdfast.recall.answer.ended_words import ended_spans, partly_ended
from holdfast.recall.answer.hit_reading import NOTHING, asks_past, read_hits
from holdfast.recall.answer.quotations import quotation, quoted_together
from holdfast.recall.answer.second_reading import (
    is_one_thing,
    of_likeliest_messages,
    read_again,
    read_on,
    tells_several,
)
from holdfast.recall.answer.second_sureness import (
    chance_of_one,
    chance_of_several,
    chance_of_together,
    several_features,
)
from holdfast.recall.answer.support import support
from holdfast.recall.answer.sureness import ReadHits, fitting_chance, sureness
from holdfast.recall.hits import hit_of
from holdfast.recall.kinship.network import may_tell_of_own, own_relatives, tells_of_another
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.attributes import SURELY, Attribute, asked_attribute, has_attribute
from holdfast.recall.ranking.clauses import SELF, People, clauses_of, is_person, people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.ranking.trust import SECOND_HAND, addresses_agent, standing
from holdfast.recall.search import Searcher

MIN_CHANCE = 0.6
"""How sure the reader must be of an answer. Of 540 everyday questions by other authors, 80.7 of a hundred are then
answered rightly or rightly left empty and 5.6 wrongly; with 0.5, and 0.7 and 0.6 below, 81.5 and 7.0."""
MIN_CHANCE_ALONE = 0.7
"""The same where the best hit fits the question wholly and is read alone: among others, a plain statement may be
overlooked. Of 1,082 questions after lives this answered six more, four of them right."""
MIN_SURE = 0.9
"""From which chance on what the first reading finds is not read again."""
MAX_NOTHING = 0.88
"""Up to which chance that nothing is told it is read again. In lives that no network learned from, nothing that was
read in spite of a higher one was answered."""
MIN_CHANCE_TWICE, MIN_CHANCE_SEVERAL = 0.76, 0.65
"""How sure one answer, and several, must be after a second reading."""
MIN_CHANCE_AGREED, MIN_AGREED_WORDS, MIN_SURE_WORDS = 0.65, 0.5, 0.8
"""How sure the first reading must be, and how likely its words in the second, for it to stand where both find the same
words; and how likely these must be where only the second is sure. In lives that no network learned from, six of seven
and two of two such answers are right."""
MIN_CHANCE_ALL = 0.5
"""How sure an answer with all that is told must be. Of 920 lists that were asked of lives which tell nothing of them,
50 are then answered so; without a limit 500."""
MAX_SEVERAL, ATTRIBUTE_CHANCE = 0.5, 0.65
"""How likely several answers may be where words are the value of an everyday attribute, and how sure these are as an
answer. Chosen by hand: in the lives that calibrate the reader there are hardly any."""
MIN_REPLACED_FIT = 0.9
"""How well a statement must fit the question to be left out where a newer one under a key does. Chosen by hand."""

Form = Literal["sentence", "message", "together"]
"""How found words are quoted: in their sentence, in their message with its day, or in several messages."""
_ASKS_OF_NAMED = re.compile(r"\W*(?:is|does|has|did|was|can|will) (?P<who>(?-i:[A-ZÀ-Þ])[\w'-]+)\b", re.I)
"""A question of yes or no about a named person."""
_STILL = re.compile(r"\b(?:still|any ?more)\b", re.I)
"""A question with such a word asks whether something changed, which one statement alone does not say."""
_SHARED = re.compile(r"\b(?:our|ours|we|us)\b(?!.*\b(?:i|my)\b)", re.I)
"""How one of several asks about what is theirs together."""
_DESCRIBED = re.compile(
    r"\bthe (?:[\w-]+ )?[\w-]+ (?:who|whom|whose)\b"
    r"|\bthe (?:one|person|man|woman|guy|lady) (?:that|i|we|my|with|from)\b",
    re.I,
)
"""How a question asks of a person whom it describes: "the one who takes over my half of the studio"."""
_FIRST_PERSON = re.compile(r"\b(?:i|my|i'm|i've)\b", re.I)


async def read_answer(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], hits: tuple[Hit, ...]
) -> Answer:
    """The answer that the reader finds in what was seen, cited; empty when it is not sure enough."""
    two = await difference_answer(searcher, reader, question, seen) if asks_difference(question) else None
    text, found, form = two or await _found_words(searcher, reader, question, seen)
    chance = found.chance
    if not found.spans:
        return Answer("", (), hits, chance)
    if relative := own_relatives(question.text):
        found = replace(found, spans=tuple(s for s in found.spans if may_tell_of_own(relative, s.hit.content)))
        if not found.spans:
            return Answer("", (), hits, 0.0)
    drawn = await _drawn_memories(searcher, found.spans[0].hit)
    told = quotation(question, found.spans, drawn)
    if is_off_topic(question, told) or _is_of_somebody_else(question, found.spans, drawn, seen):
        return Answer("", (), hits, 0.0)
    if form != "together":
        text = _computed(question, found, drawn)
        if not text and counts_nothing(question, found.spans):
            return Answer("", (), hits, 0.0)
    if form == "sentence":
        text = await _told_by(searcher, question, found.spans[0].hit, text or told)
    text = text or await attributed(searcher.store, found.spans[0].hit, quoted_together(found.spans))
    cited = tuple(Citation(*each) for each in dict.fromkeys((span.hit.id, span.sentence) for span in found.spans))
    known = {hit.id for hit in hits}
    more = {span.hit.id: span.hit for span in found.spans if span.hit.id not in known}
    return Answer(text, cited, (*hits, *more.values()), chance)


async def _found_words(
    searcher: Searcher, reader: AnswerReader, question: Question, everything: Sequence[Hit]
) -> tuple[str, ReadHits, Form]:
    """What is found, with how sure that is, and how it is quoted; with a text where an amount was computed."""
    seen = everything if asks_past(question) else _present_hits(everything) or everything
    first, chance = await _first_reading(searcher, reader, question, seen)
    found = replace(first, chance=chance)
    form: Form = "sentence"
    kept = chance >= MIN_CHANCE and await partly_ended(searcher, question, found.spans[:1])
    if tells_several(question, first):
        found, form = await _several_answers(searcher, reader, question, seen, first)
    elif not kept and _is_read_again(question, found, chance):
        found, form = await _second_reading(searcher, reader, question, seen, first, chance)
    elif chance < MIN_CHANCE:
        found = replace(NOTHING, chance=chance)
    if not found.spans and (known := await _with_attribute(searcher, reader, question, first, seen)).spans:
        found, form = known, "sentence"
    if changed := await with_later_changes(searcher, reader, question, everything, found):
        return *changed, "together"
    return "", NOTHING if is_mere_change(question, found) else found, form


async def _with_attribute(
    searcher: Searcher, reader: AnswerReader, question: Question, first: ReadHits, seen: Sequence[Hit]
) -> ReadHits:
    """The likeliest words, if they are the value of an everyday attribute of the very person asked about; else those of
    the statements that have the attribute."""
    asked = asked_attribute(question.text)
    if asked is None or not first.ranked:
        return NOTHING
    if span := await _attribute_words(searcher, question, asked, first, seen):
        return ReadHits("span", (span,), ATTRIBUTE_CHANCE)
    telling = [hit for hit in seen if asked.told.search(hit.content)]
    if not telling or asked.least >= SURELY:  # much has a price: read apart, another one is found
        return NOTHING
    again = await read_hits(searcher, reader, question, telling)
    span = await _attribute_words(searcher, question, asked, again, seen)
    return ReadHits("span", (span,), ATTRIBUTE_CHANCE) if span else NOTHING


async def _attribute_words(
    searcher: Searcher, question: Question, asked: Attribute, found: ReadHits, seen: Sequence[Hit]
) -> FoundSpan | None:
    span = found.ranked[0] if found.ranked else None
    several = any(chance > MAX_SEVERAL for chance in found.kinds[2:3])
    if span is None or several or not has_attribute(question.text, span.sentence, span.text):
        return None
    likely = sum(each.chance for each in found.ranked if each.text.casefold() == span.text.casefold())
    if likely < asked.least or not _is_owned(question, span, people_in(seen)):
        return None
    return span if await _sound_spans(searcher, question, (span,)) else None


def _is_owned(question: Question, span: FoundSpan, people: People) -> bool:
    """Whether the words are told of the very person asked about. A capital letter alone makes no other person."""
    target, stated = question.target, replace(span.hit, content=span.sentence)
    if target.kin:
        return best_fits(target, [stated], people)[0].owned > 0
    named = _ASKS_OF_NAMED.match(question.text)
    if named is not None and named["who"].casefold() not in span.sentence.casefold():
        return False
    clause = next((each for each in clauses_of(stated, people) if span.text in each.text), None)
    owners = clause.owners if clause is not None else frozenset()
    others = {each for each in owners if is_person(each, people)}
    return not others or SELF in owners or bool(others & people.meant(target.names))


async def _first_reading(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit]
) -> tuple[ReadHits, float]:
    """What is found in what people said, else in all that was seen, else in the best hit alone; and how sure it is."""
    own = [hit for hit in seen if standing(hit) != SECOND_HAND]
    found, chance = await _read(searcher, reader, question, own)
    if chance < MIN_CHANCE and len(own) < len(seen):
        found, chance = await _read(searcher, reader, question, seen)
    if chance < MIN_CHANCE and seen and (seen[0].assessment.fit or 0.0) >= 1.0 and not _STILL.search(question.text):
        alone = await read_hits(searcher, reader, question, seen[:1])
        denied = any(is_denied_at(question, span) for span in alone.spans)
        if alone.kind == "span" and alone.chance >= MIN_CHANCE_ALONE and not denied:
            return alone, alone.chance
    return found, chance


def _computed(question: Question, found: ReadHits, drawn: Sequence[Memory]) -> str:
    """A day, a duration, a count, or yes or no with the statement; empty where the words are quoted alone."""
    wanted = question.computation
    text = known_day(found.spans[0], drawn) if wanted is not None and wanted.what == "when" else ""
    text = text or computed_text(question, found.kind, found.spans)
    if found.kind in ("yes", "no"):
        kind = "no" if is_still_to_come(question, found.spans[0]) else found.kind
        return f"{kind.capitalize()}: {text or quotation(question, found.spans, drawn)}"
    if found.kind == "span" and not text and is_affirmed(question, told := quotation(question, found.spans, drawn)):
        return f"Yes: {told}"
    return text


def _is_read_again(question: Question, found: ReadHits, chance: float) -> bool:
    """Whether a second reading may say more: not for yes or no, nor for a time, which is computed from one message."""
    wanted = question.computation
    if question.target.confirms or (wanted is not None and wanted.what != "count"):
        return False
    return chance < MIN_SURE and bool(found.ranked) and bool(found.kinds) and found.kinds[0] <= MAX_NOTHING


async def _several_answers(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], first: ReadHits
) -> tuple[ReadHits, Form]:
    """All that is told, and how it is quoted."""
    own = [hit for hit in seen if standing(hit) != SECOND_HAND]
    told = await _sound_spans(searcher, question, await read_on(searcher, reader, question, own, first))
    spans = of_likeliest_messages(told)
    if is_one_thing(spans):
        return NOTHING, "message"
    supported = support(question, seen, searcher.models.embedder.model)
    chance = chance_of_several(several_features(question, first, spans, supported)) if spans else 0.0
    if chance < MIN_CHANCE_ALL:
        return NOTHING, "message"
    form: Form = "together" if len(_messages([span.hit for span in spans])) > 1 else "sentence"
    return ReadHits("list", spans, chance), form


async def _second_reading(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], first: ReadHits, sure: float
) -> tuple[ReadHits, Form]:
    """What both readings find, and how it is quoted; `sure` is the chance after the first."""
    supported = support(question, seen, searcher.models.embedder.model)
    again = await read_again(searcher, reader, question, seen, first, supported)
    if again is None:
        return NOTHING, "message"
    least = MIN_CHANCE_SEVERAL if again.several else MIN_CHANCE_TWICE
    one, together = [await _sound_spans(searcher, question, spans) for spans in (again.one, again.together)]
    if question.past_state is not None or await partly_ended(searcher, question, together):
        together = ()  # messages are quoted whole; how it was at a time, the history says with its days
    ended = await partly_ended(searcher, question, one)
    if ended and len(_messages([span.hit for span in one])) > 1:
        one = ()
    if one and (chance := fitting_chance(chance_of_one(again.features, again.several), one[0].hit)) >= least:
        agreed = sure >= MIN_CHANCE and one[0].hit.id == first.ranked[0].hit.id
        form: Form = "sentence" if agreed or ended else "message"
        return ReadHits("list" if len(one) > 1 else "span", one, chance), form
    chance = (
        fitting_chance(chance_of_together(again.features, again.several), again.together[0].hit) if together else 0.0
    )
    if chance >= least:
        return ReadHits("list", together, chance), "together"
    if sure >= MIN_CHANCE_AGREED and first.kind == "span" and _agree(first.spans, one, MIN_AGREED_WORDS):
        return replace(first, chance=sure), "sentence"
    if again.chance >= MIN_CHANCE_TWICE and not again.several and _agree(first.ranked, one, MIN_SURE_WORDS):
        return ReadHits("span", one, again.chance), "sentence"
    return NOTHING, "message"


def _agree(first: Sequence[FoundSpan], second: Sequence[FoundSpan], likely: float) -> bool:
    """Whether both readings find one answer, in the same words, which are that likely in the second."""
    if not first or len(second) != 1 or second[0].chance < likely:
        return False
    return first[0].text.casefold() == second[0].text.casefold()


async def _sound_spans(searcher: Searcher, question: Question, spans: tuple[FoundSpan, ...]) -> tuple[FoundSpan, ...]:
    """The words that are neither denied nor ended."""
    ended = await ended_spans(searcher, question, spans)
    return tuple(span for span in spans if span not in ended and not is_denied_at(question, span))


async def _read(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit]
) -> tuple[ReadHits, float]:
    """What the reader found, and how sure that is."""
    if not seen:
        return NOTHING, 0.0
    found = await read_hits(searcher, reader, question, seen)
    denied = [span for span in found.spans if is_denied_at(question, span)]
    ended = await ended_spans(searcher, question, found.spans)
    sound = tuple(span for span in found.spans if span not in denied and span not in ended)
    if found.kind == "list" and sound:
        found = replace(found, spans=sound)
    elif denied or ended:
        left = _without(seen, {span.hit.id for span in denied}, {span.hit.id for span in ended})
        found = await read_hits(searcher, reader, question, left)
        if any(is_denied_at(question, span) for span in found.spans) or await ended_spans(
            searcher, question, found.spans
        ):
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
    if hit.speaker is None:
        if any(
            is_of_another_person(question.text, said) for said in (spans[0].sentence, quotation(question, spans, drawn))
        ):
            return True
        if tells_of_another(question.text, hit.content):
            return True
    if hit.speaker is not None and (named := _ASKS_OF_NAMED.match(question.text)):
        return _speaks_of_themselves(hit.speaker, spans[0].sentence, named["who"])
    if not target.own or target.names or target.kin or _DESCRIBED.search(question.text):
        return False
    if hit.speaker is not None:
        unknown = len({each.speaker for each in seen if each.role == "user"}) > 1  # who of them asks is not said
        shared = _SHARED.search(question.text) is not None
        return unknown and not shared and _FIRST_PERSON.search(spans[0].sentence) is not None
    if not target.traits and not target.confirms:
        return False
    if target.confirms and is_of_named_person(spans[0].sentence):
        return True
    stated = replace(hit, content=quotation(question, spans, drawn))
    return best_fits(target, [stated], people_in(seen))[0].owned < 0


def _speaks_of_themselves(speaker: str, sentence: str, asked: str) -> bool:
    """Whether a speaker who is not asked about speaks of themselves, and does not name the one who is."""
    return _FIRST_PERSON.search(sentence) is not None and asked.casefold() not in f"{speaker} {sentence}".casefold()


async def _told_by(searcher: Searcher, question: Question, hit: Hit, text: str) -> str:
    unasked = question.asks_about_user and not addresses_agent(question)
    if unasked and hit.role == "assistant" and hit.speaker is None:
        return f"According to the assistant: {text}"
    return await attributed(searcher.store, hit, text)
