"""Finds which known statements a message ends.

Weights of text/supersession.py rank what is known near the message's drafts by how well it fits the whole message. A
reader, where there is one, then reads the message once, together with the most likely of them, and code decides.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.ingest.reconcile.changed_values import parts_with_new_figures
from holdfast.text import tokens
from holdfast.text.amounts.changes import changes_amount_of
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.statement_parts import Span, ended_spans, framed_span, part_spans
from holdfast.text.statement_topics import (
    lacks_item_of,
    name_other_products,
    name_other_tickets,
    name_two_environments,
    tells_where_not_what,
)
from holdfast.text.supersession import (
    PART_COSINE,
    UNSPECIFIC_STEMS,
    ComparedStatement,
    EndingCandidate,
    EndingReader,
    ReadEnding,
    StatementSource,
    features,
    happened_beside,
    have_other_topics,
    message_log_odds,
    supersession_probabilities,
    told_in,
)
from holdfast.text.task_completion import leaves_undone

log = logging.getLogger("holdfast")
MAX_CANDIDATES_READ, MIN_CANDIDATE_LOG_ODDS = 8, -4.0
"""Maximum number of candidates that are read with a message, and their minimum log-odds before they are read. With
-4.7, no fewer ended statements stay current in the 76 lives below, and a fifth more is read."""
MIN_ENDED_PROBABILITY, MIN_UNRELATED_PROBABILITY = 0.16, 0.22
"""Minimum probability for a statement to have ended: where the message shares a specific word with it, and elsewhere.
In 76 everyday lives that nothing learned from, 551 of 1,672 ended statements stay current and 3,215 of 3,629 that hold
are known; with 0.22, 0.33 and log-odds of the reader of at least -1, 587 and 3,238; with 0.12, 0.18 and -2.5, 516 and
3,187."""
MIN_ENDED_BY_EVENT_PROBABILITY = 0.9
"""The same for an event without a word of change: a washed car is still driven. Chosen by hand."""
MIN_OTHER_TASK_PROBABILITY = 0.9
"""The same for a task of which the message has no specific word, or fewer than of another one of its list: "jumps are
painted" ends one of two. Chosen by hand."""
MIN_READER_LOG_ODDS = -2.0
"""What the reader clearly speaks against does not end, whatever the network says: where little is known, a move ended a
birthday."""
MIN_SURE_PART_LOG_ODDS, MIN_LOG_ODDS_AROUND_PART = 5.0, -6.5
"""The log-odds of a part, and of its statement, from which on that part ends though most of the statement holds. In the
same lives, before other limits and weights were fitted again: with 7, 5 and 4, 626, 589 and 557 ended statements stay
current and 3,223, 3,211 and 3,169 that hold are known."""
DECISION_WEIGHTS = np.array([0.34, 0.37, -1.12])
"""The weights of the reader's log-odds, the log-odds before reading and a constant, fitted on these lives. Twenty more
features of the message, the statement and the other candidates added nothing."""
_IS_CALLED = re.compile(r"[^,;]{3,50}(?:['’]s name is| is called) [A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?\.?")
_OF_NAME_OR_COUPLE = re.compile(
    r"\b(?:names?|named|renamed|called|calls|not|new|instead|ex|single|divorc\w+|separat\w+|split|broke up|break up|"
    r"dumped|married|engaged|replac\w+|took over|successor|quit|left|leaving|retired|fired|died|passed away)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class NearStatement:
    """A known statement near a draft, and the cosine of the two (NaN where it has no vector)."""

    id: str
    known: ComparedStatement
    cosine: float


@dataclass(frozen=True, slots=True)
class Telling:
    """One draft of a message, with the known statements that it may end."""

    draft: ComparedStatement
    near: Sequence[NearStatement]


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A known statement, how likely the message ends it, and how the draft that likeliest does sees it."""

    id: str
    known: ComparedStatement
    draft: int
    features: NDArray[np.float64]
    log_odds: float


@dataclass(frozen=True, slots=True)
class EndedStatement:
    id: str
    draft: int
    """The draft that ends it."""
    parts: tuple[Span, ...]
    """The parts that end; empty when all do."""


def ranked_candidates(text: str, tellings: Sequence[Telling]) -> list[RankedCandidate]:
    """What is worth reading with a message, the most likely first."""
    near = {each.id: each.known for telling in tellings for each in telling.near}
    odds = {
        id: sure
        for id, sure in _message_log_odds(text, tellings).items()
        if sure >= MIN_CANDIDATE_LOG_ODDS and not _speaks_of_others(text, near[id])
    }
    best: dict[str, tuple[float, RankedCandidate]] = {}
    for n, telling in enumerate(tellings):
        likely = [
            place
            for place, each in enumerate(telling.near)
            if each.id in odds and not _are_apart(telling.draft, each.known)
        ]
        if not likely:
            continue
        cosines = [each.cosine for each in telling.near]
        rows = features(telling.draft, [each.known for each in telling.near], cosines, likely)
        for place, row, probability in zip(likely, rows, supersession_probabilities(rows).tolist(), strict=True):
            each = telling.near[place]
            if each.id not in best or probability > best[each.id][0]:
                best[each.id] = probability, RankedCandidate(each.id, each.known, n, row, odds[each.id])
    return sorted((each for _, each in best.values()), key=lambda each: -each.log_odds)[:MAX_CANDIDATES_READ]


def _speaks_of_others(text: str, known: ComparedStatement) -> bool:
    """Whether the message cannot end the statement: it names other products, only changes its amount, leaves the task
    to be done, or says nothing of a name or of a couple, where the statement only tells what somebody is called."""
    return (
        name_other_products(text, known.text)
        or changes_amount_of(text, known.text)
        or (known.kind == "task" and (leaves_undone(text, known.text) or name_other_tickets(text, known.text)))
        or (_IS_CALLED.fullmatch(known.text) is not None and not _OF_NAME_OR_COUPLE.search(text))
    )


def _message_log_odds(text: str, tellings: Sequence[Telling]) -> dict[str, float]:
    """How likely a message ends each statement near its drafts, by its whole text: what ends a statement may stand
    outside the drafts."""
    nearest: dict[str, NearStatement] = {}
    for each in (near for telling in tellings for near in telling.near):
        if each.id not in nearest or each.cosine > nearest[each.id].cosine:
            nearest[each.id] = each
    if not nearest:
        return {}
    whole = replace(tellings[0].draft, text=text, key=None)
    rows = features(whole, [each.known for each in nearest.values()], [each.cosine for each in nearest.values()])
    return dict(zip(nearest, message_log_odds(rows).tolist(), strict=True))


async def read_ended(
    text: str, before: str, tellings: Sequence[Telling], candidates: Sequence[RankedCandidate],
    messages: Sequence[str], reader: EndingReader,
) -> list[EndedStatement]:  # fmt: skip
    """The candidates that the text ends, the most likely first. `messages` has what each was drawn from."""
    asked = [EndingCandidate(each.known, said, each.features) for each, said in zip(candidates, messages, strict=True)]
    found = list(zip(candidates, await reader.read_endings(text, before, asked), strict=True))
    found.sort(key=lambda pair: -ended_probability(*pair))
    known = [each.known for each in candidates]
    ended = [
        (each.known, EndedStatement(each.id, each.draft, _ended_parts(each.known.text, ending.parts, text)))
        for each, ending in found
        if has_ended(each, ending, _needed_probability(text, tellings[each.draft].draft, each.known, known))
    ]
    return [*(each for _, each in ended), *_repetitions(ended, tellings)]


def _ended_parts(statement: str, log_odds: Sequence[float], by: str) -> tuple[Span, ...]:
    """The parts that the text `by` ends; empty when all do."""
    gone = ended_spans(statement, log_odds, by)
    if not gone:
        return ()
    parts = {*gone, *parts_with_new_figures(statement, by)}
    return tuple(sorted(parts)) if len(parts) < len(part_spans(statement)) else ()


def _repetitions(
    ended: Sequence[tuple[ComparedStatement, EndedStatement]], tellings: Sequence[Telling]
) -> list[EndedStatement]:
    """Other memories of the same message that repeat what has ended: one clause may be quoted in two memories."""
    found = {each.id: each for _, each in ended}
    for known, each in ended:
        gone = {_plain_text(known.text, span) for span in each.parts or _all_parts(known.text)}
        for near in tellings[each.draft].near:
            if near.id in found or set(known.sources).isdisjoint(near.known.sources):
                continue
            spans = _all_parts(near.known.text)
            repeated = tuple(span for span in spans if _plain_text(near.known.text, span) in gone)
            if repeated:
                parts = repeated if len(repeated) < len(spans) else ()
                found[near.id] = EndedStatement(near.id, each.draft, parts)
    return list(found.values())[len(ended) :]


def _all_parts(text: str) -> list[Span]:
    return part_spans(text) or [framed_span(text)]


def _plain_text(text: str, span: Span) -> str:
    return text[slice(*span)].strip(" .,;!").casefold()


async def find_ended_parts(
    new: ComparedStatement, said: StatementSource, old: ComparedStatement, message: str, reader: EndingReader
) -> tuple[Span, ...]:
    """The parts of an old statement, drawn from the message, that the new one, which supersedes it, makes untrue."""
    if not part_spans(old.text):
        return ()
    candidate = EndingCandidate(old, message, features(new, [old], [PART_COSINE])[0])
    try:
        (ending,) = await reader.read_endings(told_in(new, said), said.before, [candidate])
    except Exception as failure:
        log.warning("superseding a statement as a whole, the reader failed: %s", failure)
        return ()
    return _ended_parts(old.text, ending.parts, told_in(new, said))


def has_ended(candidate: RankedCandidate, ending: ReadEnding, needed: float) -> bool:
    """Whether a statement or a part of it has ended: one of several parts may surely have, though most of them hold."""
    if max(ending.parts, default=0.0) >= MIN_SURE_PART_LOG_ODDS and ending.log_odds >= MIN_LOG_ODDS_AROUND_PART:
        return True
    return ending.log_odds >= MIN_READER_LOG_ODDS and ended_probability(candidate, ending) >= needed


def ended_probability(candidate: RankedCandidate, ending: ReadEnding) -> float:
    inputs = (ending.log_odds, candidate.log_odds, 1.0)
    return float(1 / (1 + np.exp(-np.dot(DECISION_WEIGHTS, inputs))))


def _are_apart(new: ComparedStatement, old: ComparedStatement) -> bool:
    """Whether the two are about different things, whatever a reader says."""
    return (
        have_other_topics(new, old)
        or lacks_item_of(old.key, new.text)
        or name_two_environments(new.text, old.text)
        or tells_where_not_what(new.text, old.text)
    )


def _needed_probability(
    text: str, new: ComparedStatement, old: ComparedStatement, known: Sequence[ComparedStatement]
) -> float:
    """How likely the ending of a statement must be; `known` has all statements that the message may end."""
    if happened_beside(new, old):
        return MIN_ENDED_BY_EVENT_PROBABILITY
    mine = set(tokens.question_words(text))
    shared = _shared_words(mine, old)
    if old.kind == "task" and (
        not shared or any(shared < _shared_words(mine, each) for each in known if _are_of_a_list(each, old))
    ):
        return MIN_OTHER_TASK_PROBABILITY
    return MIN_ENDED_PROBABILITY if shared else MIN_UNRELATED_PROBABILITY


def _shared_words(mine: set[str], old: ComparedStatement) -> frozenset[str]:
    return frozenset(mine & (set(tokens.question_words(ASIDE.sub("", old.text))) - UNSPECIFIC_STEMS))


def _are_of_a_list(one: ComparedStatement, other: ComparedStatement) -> bool:
    return one.kind == other.kind == "task" and not set(one.sources).isdisjoint(other.sources)
