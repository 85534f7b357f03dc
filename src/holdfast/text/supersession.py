"""Estimates how likely a new statement makes a known one out of date. The learned weights are in supersession.json.

The inputs of a small network are the similarity of the two in meaning and words, the numbers, names, negations and
words of change of each, their kinds, and the rank of the known one among its neighbours. The network selects what a
larger one (models/statement_reader.py) reads, where there is one. `evals/train/supersession.py` trains it on
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
from holdfast.domain.vectors import matrix_product
from holdfast.text import static_vectors, tokens
from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon import change
from holdfast.text.lexicon.kinship import OTHER_PEOPLE
from holdfast.text.lexicon.negation import NEGATION
from holdfast.text.lexicon.numbers import ONE_TO_TEN
from holdfast.text.lexicon.patterns import ASIDE, CAPITALISED, FIGURE, WORD
from holdfast.text.similarity import CHANGE_WORD
from holdfast.text.similarity import UNSPECIFIC_STEMS as _COMMON_STEMS

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
PART_COSINE, _MISSING_COSINE = 0.5, 0.8
"""The cosines used for a part, and for a task, which has no vector: with a lower one, most tasks were not read."""
_BEGINNING_CHARS, _END_CHARS = 90, 70
"""How many characters are read of the beginning of the author's last message, and of the end of the latest message.
Chosen by hand; not measured."""
MAX_READ_CHARS = 400
"""A longer message is read statement by statement. Chosen by hand; the reader is trained with it."""
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


def told_in(statement: ComparedStatement, said: StatementSource) -> str:
    """What is read to find what a statement ends: its message or, of a long one, the statement alone."""
    return said.message if len(said.message) <= MAX_READ_CHARS else statement.text


@dataclass(frozen=True, slots=True)
class EndingCandidate:
    """A known statement that a message may end: the message it was drawn from, and the network's features."""

    known: ComparedStatement
    message: str
    features: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReadEnding:
    """The logarithm of the odds that a message ends a known statement, and of those that it ends each of its parts
    (statement_parts.py)."""

    log_odds: float
    parts: tuple[float, ...] = ()


@runtime_checkable
class EndingReader(Protocol):
    """Reads a message together with the statements that it may end."""

    async def read_endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        """For each candidate how likely the text, said after `before`, ends it."""
        ...


def log_odds(probability: Any) -> Any:
    return np.log(probability / (1 - probability)).clip(-7, 7)


def candidate_past_gate(
    new: ComparedStatement,
    said: StatementSource,
    known: Sequence[ComparedStatement],
    cosines: Sequence[float],
    rare: Set[str],
) -> int | None:
    """The index of the known statement that the new one supersedes where nothing reads them: the most likely one by the
    network, if it passes a gate. Both must share one of the `rare` words, and without a word of change their numbers
    must not differ."""
    if not known:
        return None
    odds = supersession_probabilities(features(new, known, cosines))
    best = int(odds.argmax())
    mine, theirs = (ASIDE.sub("", each.text) for each in (new, known[best]))
    told = tells_of_a_change(new.text)
    gate = GATE_WITH_CHANGE_WORD if told else GATE_WITHOUT_CHANGE_WORD
    alone = odds[best] - np.delete(odds, best).max(initial=0.0)
    happenings = new.kind == known[best].kind == "event" and not CHANGE_WORD.search(new.text)
    unsure = odds[best] < gate.likely or alone < gate.alone
    if unsure or happenings or are_about_different_things(new, said, known[best]):
        return None
    figures = [set(FIGURE.findall(text)) for text in (mine, theirs)]
    if not told and all(figures) and figures[0].isdisjoint(figures[1]):
        return None
    far = cosines[best] < gate.near  # False for NaN: a task has no vector, and its words decide
    return None if far or _shared_weight(mine, theirs, rare) < gate.shared else best


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
    mine, theirs = ({stem: each[stem] for stem in each.keys() - UNSPECIFIC_STEMS} for each in weights)
    both = mine.keys() & theirs.keys()
    least = min(sum(mine.values()), sum(theirs.values()))
    return sum(theirs[stem] for stem in both) / (least + 1e-6) if both & rare else 0.0


def are_about_different_things(new: ComparedStatement, said: StatementSource, old: ComparedStatement) -> bool:
    """Whether the two are plainly about different things: they have different topics, the new one is an addition, or it
    is an event that leaves the old fact true: "took the Civic to the garage" beside "drives a Civic"."""
    return (
        have_other_topics(new, old)
        or happened_beside(new, old)
        or (_ADDITION.search(said.message) is not None and len(said.message.split()) < SHORT_MESSAGE_WORDS)
    )


def happened_beside(new: ComparedStatement, old: ComparedStatement) -> bool:
    return new.kind == "event" and old.kind in ("fact", "instruction") and not tells_of_a_change(new.text)


def have_other_topics(new: ComparedStatement, old: ComparedStatement) -> bool:
    return new.key is not None and old.key is not None and new.key != old.key


@cached_by_text
def tells_of_a_change(text: str) -> bool:
    """Whether the text has a word of change, of an end or of denial."""
    said = ASIDE.sub("", text)
    return any(sign.search(said) for sign in (CHANGE_WORD, _ENDED, NEGATION))


def supersession_probabilities(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that the new statement supersedes each known one, from their features."""
    net = _network()
    hidden = np.maximum(matrix_product((rows - net["mean"]) / net["spread"], net["in"]) + net["in_bias"], 0)
    return np.asarray(1 / (1 + np.exp(-(matrix_product(hidden, net["out"]) + net["out_bias"]))))


def message_log_odds(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the odds that a message ends each known statement, from the features of its whole text."""
    net = _network()
    return np.asarray(matrix_product(rows, net["message"]) + net["message_bias"])


def features(
    new: ComparedStatement,
    known: Sequence[ComparedStatement],
    cosines: Sequence[float],
    wanted: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """A row of features for each known statement, or only for the wanted ones: the others count for their rank alone.
    The cosine of a statement without a vector is NaN."""
    near = np.array(cosines, float)
    near[np.isnan(near)] = _MISSING_COSINE
    place = (-near).argsort(kind="stable").argsort(kind="stable")
    standing = np.stack([near, place / 5, place == 0, near.max() - near], axis=1)
    if wanted is not None:
        known, standing = [known[n] for n in wanted], standing[wanted]
    mine, others = _statement_features(new.text), [_statement_features(each.text) for each in known]
    to_theirs = static_vectors.weighted_nearness(*mine.asked, [each.tokens for each in others])
    to_mine = static_vectors.nearness_of_each([each.asked for each in others], mine.tokens)
    rows = [_pair_features(new, mine, *each) for each in zip(known, others, to_theirs.tolist(), to_mine, strict=True)]
    return np.hstack([np.array(rows, float), standing])


class _StatementFeatures:
    """The words, numbers and names of a statement."""

    def __init__(self, text: str) -> None:
        text = ASIDE.sub("", text)
        spoken = [word for word in dict.fromkeys(WORD.findall(text.lower())) if word not in _FRAME][:40]
        weights = {word: static_vectors.importance(word) for word in spoken}
        self.asked = static_vectors.weighted_tokens(list(weights.items()))
        self.stems = {stem: weights.get(stem, 1.0) for stem in tokens.question_words(text) if stem not in _FRAME}
        self.weight = sum(self.stems.values())
        self.tokens = static_vectors.token_ids(text)[0]
        self.numbers = set(FIGURE.findall(text))
        self.names = {name.casefold() for name in _NAME.findall(text)}
        self.words = text.split()
        self.changed, self.ended, self.unchanged, self.other_person, self.negated = (
            sign.search(text) is not None for sign in (CHANGE_WORD, _ENDED, _NO_CHANGE, _OTHER_PERSON, NEGATION)
        )


_statement_features = lru_cache(1000)(_StatementFeatures)
_FRAME = frozenset(("the", "user", "user's"))
UNSPECIFIC_STEMS = _COMMON_STEMS | tokens.STOP_WORDS | frozenset(tokens.tokens(
    "ago last next past lately recently since today first second lot bit really actually great good nice helpful thing "
    "things way interested particularly especially"
)) | {stem for number in ONE_TO_TEN for stem in tokens.tokens(number)}  # fmt: skip
"""Stems that two statements may share without being about the same thing."""


_KIND_FEATURES = {kind: tuple(float(kind == each) for each in STATEMENT_KINDS) for kind in STATEMENT_KINDS}
_NO_KIND = (0.0,) * len(STATEMENT_KINDS)


def _pair_features(
    new: ComparedStatement,
    mine: _StatementFeatures,
    old: ComparedStatement,
    theirs: _StatementFeatures,
    to_theirs: float,
    to_mine: float,
) -> list[float]:
    shared = [theirs.stems[stem] for stem in mine.stems.keys() & theirs.stems.keys()]
    weight = sum(shared)
    return [
        len(shared),
        weight,
        weight / (min(mine.weight, theirs.weight) + 1e-6),
        max(shared, default=0.0),
        to_theirs,
        to_mine,
        *_change_features(mine, theirs),
        len(mine.words) / 20,
        len(theirs.words) / 20,
        *_KIND_FEATURES.get(old.kind, _NO_KIND),
        *_KIND_FEATURES.get(new.kind, _NO_KIND),
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
