"""Estimates how likely a new statement makes a known one out of date. The learned weights are in supersession.json.

The inputs of a small network are the similarity of the two in meaning and words, the numbers, names, negations and
words of change of each, their kinds, and the rank of the known one among its neighbours. The network selects the pairs
that a larger one (models/statement_reader.py) reads, where there is one. `evals/train/supersession.py` trains it on
annotated conversations and timelines. What is superseded stays readable as history.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Message
from holdfast.text import static_vectors, tokens
from holdfast.text.lexicon import change
from holdfast.text.lexicon.kinship import OTHER_PEOPLE
from holdfast.text.lexicon.negation import NEGATION
from holdfast.text.lexicon.numbers import ONE_TO_TEN
from holdfast.text.lexicon.patterns import ASIDE, CAPITALISED, FIGURE, WORD
from holdfast.text.similarity import CHANGE_WORD, UNSPECIFIC_STEMS
from holdfast.text.statement_topics import lacks_item_of, name_two_environments

log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True)
class SupersessionGate:
    """The conditions for superseding a candidate without a reader: a probability, a lead over every other candidate, a
    cosine, and a share of the shorter statement's words."""

    likely: float
    alone: float
    near: float
    shared: float


GATE_WITH_CHANGE_WORD = SupersessionGate(likely=0.3, alone=0.1, near=0.78, shared=0.1)
"""For a new statement with a word of change: a stricter gate loses most changes and avoids hardly any mistakes."""
GATE_WITHOUT_CHANGE_WORD = SupersessionGate(likely=0.75, alone=0.3, near=0.87, shared=0.4)
"""For any other statement: in long conversations, nearly everything that a wider gate supersedes is still true."""
MAX_CANDIDATES_READ, MIN_CANDIDATE_PROBABILITY = 3, 0.02
"""Maximum number of candidates that a reader reads, and their minimum probability by the network. In lives, 77 of 100
statements that ended are among them; a minimum of 0.01 reads a sixth more for two, four candidates a fifth for two."""
MIN_CHANGE_PROBABILITY, MIN_SUPERSEDED_PROBABILITY = 0.3, 0.4
"""Minimum probability to supersede a candidate: where the new statement has a word of change and shares a specific word
with the old one, and elsewhere. In unseen lives, 0.3 finds 52 of 100 changes with a precision of 0.57, 0.4 47, 0.62."""
MIN_READER_LOG_ODDS = -1.0
"""Minimum log-odds by the reader for the most likely candidate, whatever the network says: where little is known, a
move ended a birthday. In unseen conversations it costs no change that was found."""
MIN_ENDED_BY_EVENT_PROBABILITY = 0.8
"""The same for an event without a word of change: a washed car is still driven. Chosen by hand."""
MIN_FURTHER_LOG_ODDS = 3.0
"""Minimum log-odds by the reader for every candidate besides the most likely one: one change may end several
statements, or one that is known twice. Chosen by hand: with 1.5, twice as many statements ended by mistake."""
PART_COSINE, _MISSING_COSINE = 0.5, 0.8
"""The cosines used for a part, and for a task, which has no vector: with a lower one, most tasks were not read."""
MAX_NEEDED_LOG_ODDS = 1.1
"""A candidate is not read if the reader would have to give it higher log-odds than this to supersede it. In 1,945
comparisons of lives, 62 of 100 candidates are read, and 9 are decided otherwise, of 275 that supersede."""
_READER_SHARE, _NO_OTHER_LOG_ODDS = 0.6, -3.0
_DECISION_WEIGHTS = np.array([0.73, 0.34, -0.27, -0.5, 0.18])
"""The weights of the reader's log-odds, the network's log-odds, the next best candidate, the number of candidates, and
a constant: fitted on lives that nothing was learned from, by `evals/train/reader.py report`."""
_BEGINNING_CHARS, _END_CHARS = 90, 70
"""How many characters are read of the beginning of the author's last message, and of the end of the latest message.
Chosen by hand; not measured."""
STATEMENT_KINDS = ("fact", "event", "instruction", "task")
_ENDED = re.compile(
    rf"\b(?:{change.END_WORDS}|done|sorted|finished|over|cancell?ed|called off|stopped|gone|dropped|ditched|retired|"
    r"ended|broke up|no more|rid of|scrapped|back to|finally|turns out|meanwhile|today|went with)\b",
    re.I,
)
_NO_CHANGE = re.compile(
    r"\b(?:also|too|as well|another|second|both|used to|back then|years ago|if|would|might|maybe|wish|still|like|"
    r"than)\b",
    re.I,
)
_ADDITION = re.compile(r"\b(?:also|too|as well|another|a second|both)\b", re.I)
SHORT_MESSAGE_WORDS = 25
"""In a message with fewer words, "also" or "another" belongs to the statement. Chosen by hand; not measured."""
_OTHER_PERSON = re.compile(rf"\b(?:my|his|her|our|their|user's) (?:{OTHER_PEOPLE})\b", re.I)
_NAME = re.compile(rf"(?<=[a-z,'] ){CAPITALISED}")


@dataclass(frozen=True, slots=True)
class ComparedStatement:
    """The part of a memory or a draft that is compared."""

    kind: str
    text: str
    session_id: str | None
    sources: tuple[str, ...]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class StatementSource:
    """The message that a statement was drawn from, and the text just before it."""

    message: str
    before: str = ""


def statement_sources(messages: Iterable[Message]) -> dict[str, StatementSource]:
    """The source by message id. Its `before` is the beginning of the author's last message and the end of the latest
    one."""
    found: dict[str, StatementSource] = {}
    last: dict[str, Message] = {}
    own: dict[tuple[str, str, str | None], Message] = {}
    for message in messages:
        author = message.session_id, message.role, message.speaker
        mine, other = own.get(author), last.get(message.session_id)
        before = [] if mine is None else [mine.content[:_BEGINNING_CHARS]]
        if other is not None and other is not mine:
            before.append(other.content[-_END_CHARS:])
        found[message.id] = StatementSource(message.content, " ".join(before))
        own[author] = last[message.session_id] = message
    return found


@dataclass(frozen=True, slots=True)
class StatementPair:
    """The input of a reader: two statements, the source of the new one, and the network's features."""

    old: ComparedStatement
    new: ComparedStatement
    said: StatementSource
    features: NDArray[np.float64]


@runtime_checkable
class PairReader(Protocol):
    """Reads two statements together."""

    async def odds(self, pairs: Sequence[StatementPair]) -> list[float]:
        """For each pair, the logarithm of the odds that the new statement makes the old one out of date."""
        ...


async def find_superseded(
    new: ComparedStatement,
    said: StatementSource,
    known: Sequence[ComparedStatement],
    cosines: Sequence[float],
    rare: Set[str],
    reader: PairReader | None,
) -> list[int]:
    """The indices of the known statements that the new one supersedes, the most likely first; none in case of doubt.
    The network selects candidates and the reader reads them. Without a reader, gates decide on one."""
    if not known:
        return []
    rows = features(new, known, cosines)
    odds = supersession_probabilities(rows)
    if reader is None or not tokens.is_mostly_latin(said.message):
        return _candidate_past_gate(new, said, known, cosines, rare, odds)
    apart = [
        _have_other_topics(new, old) or lacks_item_of(old.key, new.text) or name_two_environments(new.text, old.text)
        for old in known
    ]
    likely = [int(n) for n in (-odds).argsort() if odds[n] >= MIN_CANDIDATE_PROBABILITY and not apart[n]]
    asked = [n for n in likely[:MAX_CANDIDATES_READ] if _may_supersede(new, known[n], odds[n], len(known))]
    if not asked:
        return []
    try:
        read = np.array(await reader.odds([StatementPair(known[n], new, said, rows[n]) for n in asked]))
    except Exception as failure:
        log.warning("comparing statements without reading them, the reader failed: %s", failure)
        return _candidate_past_gate(new, said, known, cosines, rare, odds)
    best, weighed = decision_features(odds[asked], read, len(known))
    if read[best] < MIN_READER_LOG_ODDS or 1 / (1 + np.exp(-np.dot(_DECISION_WEIGHTS, weighed))) < _needed_probability(
        new, known[asked[best]]
    ):
        return []
    further = (n for n, by_reader in zip(asked, read, strict=True) if by_reader >= MIN_FURTHER_LOG_ODDS)
    return list(dict.fromkeys((asked[best], *further)))


def _needed_probability(new: ComparedStatement, old: ComparedStatement) -> float:
    if _happened_beside(new, old):
        return MIN_ENDED_BY_EVENT_PROBABILITY
    mine, theirs = (set(tokens.question_words(ASIDE.sub("", each.text))) for each in (new, old))
    change = tells_of_a_change(new.text) and mine & theirs - _UNSPECIFIC_STEMS
    return MIN_CHANGE_PROBABILITY if change else MIN_SUPERSEDED_PROBABILITY


def _may_supersede(new: ComparedStatement, old: ComparedStatement, odds: float, crowd: int) -> bool:
    """Whether the reader may give a candidate the log-odds that it needs, if no other one is likely."""
    by_reader, *others = _DECISION_WEIGHTS
    given = np.dot(others, (_log_odds(odds), _NO_OTHER_LOG_ODDS, np.log(crowd), 1.0))
    least = min(_needed_probability(new, old), MIN_SUPERSEDED_PROBABILITY)  # the reader knows which events end a fact
    needed = (_log_odds(least) - given) / by_reader
    return bool(needed <= MAX_NEEDED_LOG_ODDS)


def decision_features(
    odds: NDArray[np.float64], read: NDArray[np.float64], crowd: int
) -> tuple[int, tuple[float, ...]]:
    """The index of the most likely of the candidates that were read, and the inputs of the decision about it."""
    network = _log_odds(odds)
    both = _READER_SHARE * read + (1 - _READER_SHARE) * network
    best = int(both.argmax())
    following = np.delete(both, best).max(initial=_NO_OTHER_LOG_ODDS)  # lower values make no difference
    return best, (read[best], network[best], following, np.log(crowd), 1.0)


def _log_odds(probability: Any) -> Any:
    return np.log(probability / (1 - probability)).clip(-7, 7)


def _candidate_past_gate(
    new: ComparedStatement,
    said: StatementSource,
    known: Sequence[ComparedStatement],
    cosines: Sequence[float],
    rare: Set[str],
    odds: NDArray[np.float64],
) -> list[int]:
    """The index of the most likely candidate, if it passes a gate. Both must share one of the `rare` words, and without
    a word of change their numbers must not differ."""
    best = int(odds.argmax())
    mine, theirs = (ASIDE.sub("", each.text) for each in (new, known[best]))
    told = tells_of_a_change(new.text)
    gate = GATE_WITH_CHANGE_WORD if told else GATE_WITHOUT_CHANGE_WORD
    alone = odds[best] - np.delete(odds, best).max(initial=0.0)
    happenings = new.kind == known[best].kind == "event" and not CHANGE_WORD.search(new.text)
    unsure = odds[best] < gate.likely or alone < gate.alone
    if unsure or happenings or are_about_different_things(new, said, known[best]):
        return []
    figures = [set(FIGURE.findall(text)) for text in (mine, theirs)]
    if not told and all(figures) and figures[0].isdisjoint(figures[1]):
        return []
    far = cosines[best] < gate.near  # False for NaN: a task has no vector, and its words decide
    return [] if far or _shared_weight(mine, theirs, rare) < gate.shared else [best]


def _shared_weight(one: str, other: str, rare: Set[str]) -> float:
    """The share of the shorter text's weight that both texts have in common; 0 when they share no `rare` word."""
    weights = [
        {
            stem: static_vectors.importance(word)
            for word in WORD.findall(text.lower())
            for stem in tokens.question_words(word)
        }
        for text in (one, other)
    ]
    mine, theirs = ({stem: each[stem] for stem in each.keys() - _UNSPECIFIC_STEMS} for each in weights)
    both = mine.keys() & theirs.keys()
    least = min(sum(mine.values()), sum(theirs.values()))
    return sum(theirs[stem] for stem in both) / (least + 1e-6) if both & rare else 0.0


def are_about_different_things(new: ComparedStatement, said: StatementSource, old: ComparedStatement) -> bool:
    """Whether the two are plainly about different things: they have different topics, the new one is an addition, or it
    is an event that leaves the old fact true: "took the Civic to the garage" beside "drives a Civic"."""
    return (
        _have_other_topics(new, old)
        or _happened_beside(new, old)
        or (_ADDITION.search(said.message) is not None and len(said.message.split()) < SHORT_MESSAGE_WORDS)
    )


def _happened_beside(new: ComparedStatement, old: ComparedStatement) -> bool:
    return new.kind == "event" and old.kind in ("fact", "instruction") and not tells_of_a_change(new.text)


def _have_other_topics(new: ComparedStatement, old: ComparedStatement) -> bool:
    return new.key is not None and old.key is not None and new.key != old.key


def tells_of_a_change(text: str) -> bool:
    """Whether the text has a word of change, of an end or of denial."""
    return any(sign.search(ASIDE.sub("", text)) for sign in (CHANGE_WORD, _ENDED, NEGATION))


def supersession_probabilities(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that the new statement supersedes each known one, from their features."""
    net = _network()
    hidden = np.maximum((rows - net["mean"]) / net["spread"] @ net["in"] + net["in_bias"], 0)
    return np.asarray(1 / (1 + np.exp(-(hidden @ net["out"] + net["out_bias"]))))


def features(
    new: ComparedStatement, known: Sequence[ComparedStatement], cosines: Sequence[float]
) -> NDArray[np.float64]:
    """A row of features for each known statement. The cosine of a statement without a vector is NaN."""
    near = np.nan_to_num(np.array(cosines, float), nan=_MISSING_COSINE)
    place = (-near).argsort(kind="stable").argsort(kind="stable")
    mine, others = _statement_features(new.text), [_statement_features(each.text) for each in known]
    to_theirs = static_vectors.weighted_nearness(*mine.asked, [each.tokens for each in others])
    to_mine = static_vectors.nearness_of_each([each.asked for each in others], mine.tokens)
    rows = [_pair_features(new, mine, *each) for each in zip(known, others, to_theirs.tolist(), to_mine, strict=True)]
    standing = np.stack([near, place / 5, place == 0, near.max() - near], axis=1)
    return np.hstack([np.array(rows, float), standing])


class _StatementFeatures:
    """The words, numbers and names of a statement."""

    def __init__(self, text: str) -> None:
        text = ASIDE.sub("", text)
        spoken = [word for word in dict.fromkeys(WORD.findall(text.lower())) if word not in _FRAME][:40]
        weights = {word: static_vectors.importance(word) for word in spoken}
        self.asked = static_vectors.weighted_tokens(list(weights.items()))
        self.stems = {stem: weights.get(stem, 1.0) for stem in tokens.question_words(text) if stem not in _FRAME}
        self.tokens = static_vectors.token_ids(text)[0]
        self.numbers = set(FIGURE.findall(text))
        self.names = {name.casefold() for name in _NAME.findall(text)}
        self.words = text.split()
        self.changed, self.ended, self.unchanged, self.other_person, self.negated = (
            sign.search(text) is not None for sign in (CHANGE_WORD, _ENDED, _NO_CHANGE, _OTHER_PERSON, NEGATION)
        )


_statement_features = lru_cache(1000)(_StatementFeatures)
_FRAME = frozenset(("the", "user", "user's"))
_UNSPECIFIC_STEMS = UNSPECIFIC_STEMS | tokens.STOP_WORDS | frozenset(tokens.tokens(
    "ago last next past lately recently since today first second lot bit really actually great good nice helpful thing "
    "things way interested particularly especially"
)) | {stem for number in ONE_TO_TEN for stem in tokens.tokens(number)}  # fmt: skip
"""Stems that two statements may share without being about the same thing."""


def _pair_features(
    new: ComparedStatement,
    mine: _StatementFeatures,
    old: ComparedStatement,
    theirs: _StatementFeatures,
    to_theirs: float,
    to_mine: float,
) -> list[float]:
    shared = mine.stems.keys() & theirs.stems.keys()
    weight = sum(theirs.stems[stem] for stem in shared)
    least = min(sum(mine.stems.values()), sum(theirs.stems.values())) + 1e-6
    return [
        len(shared),
        weight,
        weight / least,
        max((theirs.stems[stem] for stem in shared), default=0.0),
        to_theirs,
        to_mine,
        *_change_features(mine, theirs),
        len(mine.words) / 20,
        len(theirs.words) / 20,
        *(old.kind == kind for kind in STATEMENT_KINDS),
        *(new.kind == kind for kind in STATEMENT_KINDS),
        old.kind == new.kind,
        mine.words[:2] == theirs.words[:2],
        old.session_id == new.session_id,
        not set(old.sources).isdisjoint(new.sources),
        old.key is not None,
        new.key is not None,
    ]


def _change_features(mine: _StatementFeatures, theirs: _StatementFeatures) -> list[float]:
    return [
        mine.changed,
        mine.ended,
        mine.unchanged,
        mine.other_person,
        theirs.other_person,
        mine.negated,
        theirs.negated,
        bool(mine.numbers),
        bool(theirs.numbers),
        bool(mine.numbers) and bool(theirs.numbers) and mine.numbers.isdisjoint(theirs.numbers),
        not mine.numbers.isdisjoint(theirs.numbers),
        bool(mine.names - theirs.names) and bool(theirs.names - mine.names),
        not mine.names.isdisjoint(theirs.names),
    ]


def trained_embedder() -> str:
    """The embedder whose cosines the network was trained on."""
    return str(_load_weights()["model"])


@cache
def _network() -> dict[str, NDArray[np.float64]]:
    return {name: np.array(values) for name, values in _load_weights().items() if name != "model"}


@cache
def _load_weights() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("supersession.json").read_text("utf-8"))
    return held
