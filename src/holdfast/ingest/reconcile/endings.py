"""Finds which known statements a message ends.

The small network of text/supersession.py ranks what is known near each of the message's drafts. A reader, where there
is one, then reads the message once, together with the most likely of them, and code decides.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.text import tokens
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.statement_parts import Span, ended_spans, part_spans
from holdfast.text.statement_topics import lacks_item_of, name_two_environments
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
    log_odds,
    supersession_probabilities,
    tells_of_a_change,
    told_in,
)

log = logging.getLogger("holdfast")
MAX_CANDIDATES_READ, MIN_CANDIDATE_PROBABILITY = 8, 0.004
"""Maximum number of candidates that are read with a message, and their minimum probability by the network. In lives, 84
of 100 statements that ended are among them; 71 are among the first three."""
MIN_READ_PROBABILITY = 0.02
"""A message is read if the network gives one candidate at least this probability: nine of ten messages in lives are."""
MIN_CHANGE_PROBABILITY, MIN_ENDED_PROBABILITY, MIN_UNRELATED_PROBABILITY = 0.3, 0.4, 0.6
"""Minimum probability for a statement to have ended: where the new one shares a specific word with it and has a word of
change, where it only shares one, and elsewhere. In lives that nothing learned from, thresholds 0.1 higher leave 4 more
of 100 ended statements current and keep 2 more of 100 that hold."""
MIN_ENDED_BY_EVENT_PROBABILITY = 0.85
"""The same for an event without a word of change: a washed car is still driven. Chosen by hand."""
MIN_READER_LOG_ODDS = 0.0
"""What the reader speaks against does not end, whatever the network says: where little is known, a move ended a
birthday."""
DECISION_WEIGHTS = np.array([0.56, 0.19, -0.36])
"""The weights of the reader's log-odds, the network's log-odds and a constant: fitted on conversations and lives that
nothing was learned from, by `evals/train/reader.py report`."""


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
    """A known statement as the draft that likeliest ends it sees it."""

    id: str
    known: ComparedStatement
    draft: int
    probability: float
    features: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EndedStatement:
    id: str
    draft: int
    """The draft that ends it."""
    parts: tuple[Span, ...]
    """The parts that end; empty when all do."""


def ranked_candidates(tellings: Sequence[Telling]) -> list[RankedCandidate]:
    """What is worth reading with a message, the most likely first."""
    best: dict[str, RankedCandidate] = {}
    for n, telling in enumerate(tellings):
        if not telling.near:
            continue
        rows = features(telling.draft, [each.known for each in telling.near], [each.cosine for each in telling.near])
        for each, row, probability in zip(telling.near, rows, supersession_probabilities(rows), strict=True):
            held = best.get(each.id)
            if (held is None or probability > held.probability) and not _are_apart(telling.draft, each.known):
                best[each.id] = RankedCandidate(each.id, each.known, n, float(probability), row)
    ranked = sorted(best.values(), key=lambda candidate: -candidate.probability)
    if not ranked or ranked[0].probability < MIN_READ_PROBABILITY:
        return []
    return [each for each in ranked if each.probability >= MIN_CANDIDATE_PROBABILITY][:MAX_CANDIDATES_READ]


async def read_ended(
    text: str, before: str, tellings: Sequence[Telling], candidates: Sequence[RankedCandidate],
    messages: Sequence[str], reader: EndingReader,
) -> list[EndedStatement]:  # fmt: skip
    """The candidates that the text ends, the most likely first. `messages` has what each was drawn from."""
    asked = [EndingCandidate(each.known, said, each.features) for each, said in zip(candidates, messages, strict=True)]
    found = list(zip(candidates, await reader.read_endings(text, before, asked), strict=True))
    found.sort(key=lambda pair: -ended_probability(*pair))
    return [
        EndedStatement(each.id, each.draft, ended_spans(each.known.text, ending.parts))
        for each, ending in found
        if ending.log_odds >= MIN_READER_LOG_ODDS
        and ended_probability(each, ending) >= _needed_probability(tellings[each.draft].draft, each.known)
    ]


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
    return ended_spans(old.text, ending.parts)


def ended_probability(candidate: RankedCandidate, ending: ReadEnding) -> float:
    inputs = (ending.log_odds, float(log_odds(candidate.probability)), 1.0)
    return float(1 / (1 + np.exp(-np.dot(DECISION_WEIGHTS, inputs))))


def _are_apart(new: ComparedStatement, old: ComparedStatement) -> bool:
    """Whether the two are about different things, whatever a reader says."""
    return have_other_topics(new, old) or lacks_item_of(old.key, new.text) or name_two_environments(new.text, old.text)


def _needed_probability(new: ComparedStatement, old: ComparedStatement) -> float:
    if happened_beside(new, old):
        return MIN_ENDED_BY_EVENT_PROBABILITY
    mine, theirs = (set(tokens.question_words(ASIDE.sub("", each.text))) for each in (new, old))
    if mine.isdisjoint(theirs - UNSPECIFIC_STEMS):
        return MIN_UNRELATED_PROBABILITY
    return MIN_CHANGE_PROBABILITY if tells_of_a_change(new.text) else MIN_ENDED_PROBABILITY
