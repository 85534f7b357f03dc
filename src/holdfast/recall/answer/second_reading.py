"""Reads once more where one reading is not sure: with what is known of those whom the likeliest messages name.

"Where is my supervisor based?" needs two messages: one says who the supervisor is, another where she is. The first
reading finds the one. The second reads it together with what a search for the names in it finds. Where no single
message surely answers, but two or three of them surely have the answer between them, they are quoted together.

"Who works for me?" may need more messages than there is room for in one reading. Where the first is sure that several
answers are told, the rest is read, too, and the messages that most likely have one of them are quoted together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.hit_reading import asks_past, by_rank_and_relevance, read_hits, read_in_order
from holdfast.recall.answer.quotations import MAX_QUOTED
from holdfast.recall.answer.second_sureness import SEVERAL, likeliest_words, second_features
from holdfast.recall.answer.support import answering_hits
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.trust import SECOND_HAND, standing
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.lexicon.calendar import MONTH_INDEX, WEEKDAY_INDEX
from holdfast.text.lexicon.entity_names import ORDINARY_WORDS

MAX_NAMES, MAX_FOUND, MAX_FOCUS = 4, 12, 3
"""How many names are looked for, how many hits are read with the likeliest messages, and how many messages are read
where these name nobody. Chosen by hand."""
MIN_LISTED = 0.5
"""How likely words must be one of several answers for their message to be the third that is quoted."""
MIN_SEVERAL, MIN_MORE = 0.5, 0.8
"""How likely several answers must be told in what is read first, and in what is read after it. Of 251 questions about
what was never told, of 36 lives that no network learned from, none reaches the first; but those ask for one thing. Of
lists that nothing is told of, half do: what search says decides (second_sureness.py). With 0.3 for what is read after,
as many of 147 lists of lives are complete, and of 50 of readable personas two more have something else in them."""
MIN_WORDS_AFTER = 0.7
"""How likely words of what is read after must be one of the answers; in the rest all that may be one count. Of 165
such questions the quoted messages have every answer for 120; without reading on, for 115."""
MAX_MESSAGES = 4
"""How many messages are quoted: more are no longer read at a glance."""
WORD_WORTH, MIN_WORTH = 9.0, -8.0
"""How much the share of the question's words counts that only the second message has, beside the log chance of its
words; and what both must come to. In lives that no network learned from, a quotation then has 1.7 messages in place of
2, and of a hundred right ones one is lost."""
_NAME = re.compile(r"(?<=\W)[A-ZÀ-Þ][\w'’-]+")
_JOINED = re.compile(r"[,;/+&]|\b(?:and|or|both|all|every|to|till)\b|\S+s \S+s\b", re.I)
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What both readings say."""

    one: tuple[FoundSpan, ...]
    """The words that answer, if one message, or a list of words, does."""
    together: tuple[FoundSpan, ...]
    """The likeliest words of the messages that have the answer between them."""
    several: bool
    """Whether the second reading says that several answers are told."""
    chance: float
    """How sure the reader itself is of what it reads the second time."""
    features: tuple[float, ...]


async def read_again(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], first: ReadHits, supported: float
) -> SecondReading | None:
    """The second reading; None when it finds no words at all."""
    likeliest = _own_hits([by_rank_and_relevance(seen)[0], first.ranked[0].hit])
    names = _names_in(likeliest, question)
    more = await _hits_about(searcher, question, names) if names else [span.hit for span in first.ranked[:MAX_FOCUS]]
    second = await read_in_order(searcher, reader, question, [*likeliest, *more])
    if not second.ranked:
        return None
    several = second.kind == "list"
    one = _listed(second) if several else second.ranked[:1]
    features = second_features(question, first, second, seen, supported, bool(names))
    return SecondReading(one, _together(question, second), several, second.chance, features)


def tells_several(question: Question, found: ReadHits) -> bool:
    """Whether several things are asked for and told. How something was before is told by the history."""
    asked = question.computation is None and question.past_state is None and not question.target.confirms
    return asked and bool(found.possible) and any(chance > MIN_SEVERAL for chance in found.kinds[SEVERAL : SEVERAL + 1])


async def read_on(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], first: ReadHits
) -> tuple[FoundSpan, ...]:
    """The words that may be one of the answers, from what was read first and from what there was no room for."""
    known = {id for span in (*first.ranked, *first.possible) for id in (span.hit.id, *span.hit.sources)}
    left = [hit for hit in by_rank_and_relevance(seen) if known.isdisjoint((hit.id, hit.message_id, *hit.sources))]
    if not left:
        return first.possible
    more = await read_hits(searcher, reader, question, left)
    if not any(chance > MIN_MORE for chance in more.kinds[SEVERAL : SEVERAL + 1]):
        return first.possible
    return (*first.possible, *(span for span in more.possible if span.chance >= MIN_WORDS_AFTER))


def of_likeliest_messages(spans: Sequence[FoundSpan]) -> tuple[FoundSpan, ...]:
    """The words of the messages that most likely have one of the answers."""
    best = likeliest_words(spans)
    kept = sorted(best, key=lambda id: -best[id])[:MAX_MESSAGES]
    return tuple(span for span in spans if span.hit.id in kept)


def is_one_thing(spans: Sequence[FoundSpan]) -> bool:
    """Whether the words are one thing, where several were asked for and told: the others are missing."""
    return len({span.text.casefold() for span in spans}) == 1 and _JOINED.search(spans[0].text) is None


async def _hits_about(searcher: Searcher, question: Question, names: Sequence[str]) -> list[Hit]:
    """What a search for the question and the names finds."""
    wider = question.about(f"{question.text} ({', '.join(names)})")
    found = answering_hits(question, await searcher.search(wider, MAX_FOUND), searcher.models.embedder.model)
    if not asks_past(question):
        found = [hit for hit in found if not hit.assessment.superseded]
    return by_rank_and_relevance(_own_hits(found))


def _own_hits(hits: Sequence[Hit]) -> list[Hit]:
    """What people said; all where nobody said anything."""
    return [hit for hit in hits if standing(hit) != SECOND_HAND] or list(hits)


def _names_in(hits: Sequence[Hit], question: Question) -> list[str]:
    """Names that the messages bring, and who said them, without those that the question has."""
    asked = {_POSSESSIVE.sub("", word).casefold() for word in re.findall(r"[\w'’-]+", question.text)}
    said = [name for hit in hits for name in (*_NAME.findall(hit.content), hit.speaker or "")]
    names = dict.fromkeys(_POSSESSIVE.sub("", name) for name in said)
    return [name for name in names if name and name.casefold() not in asked and _is_name(name.casefold())][:MAX_NAMES]


def _is_name(word: str) -> bool:
    return word not in ORDINARY_WORDS and word not in MONTH_INDEX and word not in WEEKDAY_INDEX


def _together(question: Question, found: ReadHits) -> tuple[FoundSpan, ...]:
    """The likeliest words of the likeliest message of a person, of the one that goes with it, and of one more that has
    one of several answers."""
    own: dict[str, FoundSpan] = {}
    for span in found.ranked:
        if standing(span.hit) != SECOND_HAND:
            own.setdefault(span.hit.id, span)
    if not own:
        return ()
    first, *rest = own.values()
    asked = set(question.words) - {"user"}
    left = asked - _words(first)
    worth = {
        span.hit.id: _log_chance(span) + WORD_WORTH * len(left & _words(span)) / max(len(asked), 1) for span in rest
    }
    listed = {span.hit.id for span in found.spans if found.kind == "list" and span.chance >= MIN_LISTED}
    second = max(worth, key=worth.__getitem__, default="")
    chosen = [second] if worth.get(second, MIN_WORTH) > MIN_WORTH else []
    chosen += [id for id in worth if id in listed and id not in chosen]
    return (first, *(own[id] for id in chosen[: MAX_QUOTED - 1]))


def _words(span: FoundSpan) -> set[str]:
    return set(tokens.tokens(f"{span.hit.speaker or ''} {span.hit.content}"))


def _log_chance(span: FoundSpan) -> float:
    return max(log(max(span.chance, 1e-6)), -12.0)


def _listed(found: ReadHits) -> tuple[FoundSpan, ...]:
    """The words that are one of several answers, of as many messages as are quoted."""
    best: dict[str, float] = {}
    for span in found.spans:
        best[span.hit.id] = max(span.chance, best.get(span.hit.id, 0.0))
    kept = sorted(best, key=lambda id: -best[id])[:MAX_QUOTED]
    return tuple(span for span in found.spans if span.hit.id in kept)
