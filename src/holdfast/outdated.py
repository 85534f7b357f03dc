"""Learned: how likely a new statement makes a known one out of date. The weights are data (outdated.json).

A small network over how near the two are in meaning and words, what numbers, names and negations each has, what tells
of a change, their kinds, and how the known one stands among all that is near. It says which pairs are worth reading by
a larger one (models/reader.py), where there is one. Trained by `evals/train_outdated.py` on annotated conversations and
timelines; what is superseded stays readable as history.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from . import portions, statics, words
from .alike import _ASIDE, _CHANGED, _NEGATED, _NO_ANCHORS, _NUMBER, _WORD
from .portions import Span
from .types import Message

log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True)
class Gate:
    """What it takes to be out of date: so likely, and so much likelier than any other; so near in meaning, with so much
    of the shorter one's words."""

    likely: float
    alone: float
    near: float
    shared: float


SAID = Gate(likely=0.3, alone=0.1, near=0.78, shared=0.1)
"""Where words tell of a change: a stricter gate loses most of the changes and hardly any mistakes."""
UNSAID = Gate(likely=0.75, alone=0.3, near=0.87, shared=0.4)
"""Where none do: in long conversations, nearly all that a wider one supersedes is still true."""
LOOKED_AT, WORTH_A_LOOK = 3, 0.01
"""How many candidates a reader reads at most, and how likely the network must hold them."""
SURE = 0.65
PART_ENDS, PART_BESIDE = 0.5, 2.0
"""The odds at which a part of a statement has ended, and how far it may be behind the one that surely has."""
OF_A_PART, _UNKNOWN = 0.5, 0.8
"""Cosines: what stands for that of a part, and for that of a task, which has no vector: as near as what is near."""
_READ, _NONE = 0.6, -3.0
_WEIGHTS = np.array([0.55, 0.22, -0.36, -0.53, -0.03])
"""Of what the reader says, what the network says, the next best candidate, how many are near, and of nothing: fitted
out of fold on conversations, timelines and lives, by `evals/train_reader.py report`."""
_BEGINNING, _END = 90, 70
"""How much is read of what was said before, in characters."""
KINDS = ("fact", "event", "instruction", "task")
_OVER = re.compile(
    r"\b(?:done|sorted|finished|over|cancell?ed|called off|gave up|quit|stopped|left|sold|gone|dropped|ditched|retired|"
    r"ended|broke up|no more|rid of|scrapped|back to|since|finally|turns out|meanwhile|today|as of|went with)\b",
    re.I,
)
_BESIDE = re.compile(
    r"\b(?:also|too|as well|another|second|both|used to|back then|years ago|if|would|might|maybe|wish|still|like|"
    r"than)\b",
    re.I,
)
_MORE = re.compile(r"\b(?:also|too|as well|another|a second|both)\b", re.I)
SHORT = 25
_OTHERS = re.compile(
    r"\b(?:my|his|her|our|their|user's) (?:sister|brother|mum|mom|mother|dad|father|friend|colleague|neighbou?r|boss|"
    r"wife|husband|partner|cousin|aunt|uncle|son|daughter|flatmate|roommate)\b",
    re.I,
)
_NAME = re.compile(r"(?<=[a-z,'] )[A-ZÀ-Þ][\w'’-]*")


@dataclass(frozen=True, slots=True)
class Statement:
    """What the model sees of a memory or a draft."""

    kind: str
    text: str
    session_id: str | None
    sources: tuple[str, ...]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """The message that a statement was drawn from, and what was said just before it."""

    message: str
    before: str = ""


def sayings(messages: Iterable[Message]) -> dict[str, Saying]:
    """Of each message, by id. Before it: how what its author said last begins, and how what was said since ends."""
    found: dict[str, Saying] = {}
    last: dict[str, Message] = {}
    own: dict[tuple[str, str, str | None], Message] = {}
    for message in messages:
        author = message.session_id, message.role, message.speaker
        mine, other = own.get(author), last.get(message.session_id)
        before = [] if mine is None else [mine.content[:_BEGINNING]]
        if other is not None and other is not mine:
            before.append(other.content[-_END:])
        found[message.id] = Saying(message.content, " ".join(before))
        own[author] = last[message.session_id] = message
    return found


@dataclass(frozen=True, slots=True)
class Pair:
    """For a reader: two statements, how the new one was said, and what the network sees of them."""

    old: Statement
    new: Statement
    said: Saying
    features: NDArray[np.float64]


@runtime_checkable
class Reader(Protocol):
    """Reads two statements together."""

    async def odds(self, pairs: Sequence[Pair]) -> list[float]:
        """Of each pair, the logarithm of the odds that the new statement puts the old one out of date."""
        ...


async def replaced(
    new: Statement,
    said: Saying,
    known: Sequence[Statement],
    cosines: Sequence[float],
    rare: Set[str],
    reader: Reader | None,
) -> int | None:
    """Which known statement the new one takes the place of; rather none than a wrong one. The network says which are
    worth a look; a reader looks. Without one, gates do."""
    if not known:
        return None
    rows = features(new, known, cosines)
    odds = chances(rows)
    if reader is None or not words.latin(said.message):
        return _passed(new, said, known, cosines, rare, odds)
    likely = [int(n) for n in (-odds).argsort()[:LOOKED_AT] if odds[n] >= WORTH_A_LOOK]
    asked = [n for n in likely if not _of_other_topics(new, known[n])]
    if not asked:
        return None
    try:
        read = np.array(await reader.odds([Pair(known[n], new, said, rows[n]) for n in asked]))
    except Exception as failure:
        log.warning("comparing statements without reading them, the reader failed: %s", failure)
        return _passed(new, said, known, cosines, rare, odds)
    best, weighed = sides(odds[asked], read, len(known))
    return asked[best] if 1 / (1 + np.exp(-np.dot(_WEIGHTS, weighed))) >= SURE else None


async def ended(new: Statement, said: Saying, old: Statement, reader: Reader) -> tuple[Span, ...]:
    """Which parts of an old statement a new one that takes its place makes untrue: the likeliest, and whatever is
    likely. None where that is all of it."""
    spans = portions.spans(old.text)
    if not spans:
        return ()
    row = features(new, [old], [OF_A_PART])[0]
    asked = [Pair(replace(old, text=portions.marked(old.text, span)), new, said, row) for span in spans]
    try:
        read = await reader.odds(asked)
    except Exception as failure:
        log.warning("superseding a statement as a whole, the reader failed: %s", failure)
        return ()
    least = min(max(PART_ENDS, max(read) - PART_BESIDE), max(read))
    gone = tuple(span for span, odds in zip(spans, read, strict=True) if odds >= least)
    return gone if len(gone) < len(spans) else ()


def sides(odds: NDArray[np.float64], read: NDArray[np.float64], crowd: int) -> tuple[int, tuple[float, ...]]:
    """Which of the candidates that were read is the likeliest, and all that is to be weighed then."""
    network = np.log(odds / (1 - odds)).clip(-7, 7)
    both = _READ * read + (1 - _READ) * network
    best = int(both.argmax())
    following = np.delete(both, best).max(initial=_NONE)  # further below makes no difference
    return best, (read[best], network[best], following, np.log(crowd), 1.0)


def _passed(
    new: Statement,
    said: Saying,
    known: Sequence[Statement],
    cosines: Sequence[float],
    rare: Set[str],
    odds: NDArray[np.float64],
) -> int | None:
    """The likeliest, if it passes a gate. They must share one of the `rare` words, and without a word of change no
    number may differ."""
    best = int(odds.argmax())
    mine, theirs = (_ASIDE.sub("", each.text) for each in (new, known[best]))
    told = _tells_of_a_change(new.text)
    gate = SAID if told else UNSAID
    alone = odds[best] - np.delete(odds, best).max(initial=0.0)
    happenings = new.kind == known[best].kind == "event" and not _CHANGED.search(new.text)
    if odds[best] < gate.likely or alone < gate.alone or happenings or apart(new, said, known[best]):
        return None
    figures = [set(_NUMBER.findall(text)) for text in (mine, theirs)]
    if not told and all(figures) and figures[0].isdisjoint(figures[1]):
        return None
    far = cosines[best] < gate.near  # a task has no vector: its words must do
    return None if far or _shared(mine, theirs, rare) < gate.shared else best


def _shared(one: str, other: str, rare: Set[str]) -> float:
    """How much of the shorter text's weight the other has too; nothing if no `rare` word is among it."""
    read = [
        {stem: statics.importance(word) for word in _WORD.findall(text.lower()) for stem in words.question_words(word)}
        for text in (one, other)
    ]
    mine, theirs = ({stem: read_[stem] for stem in read_.keys() - _VAGUE} for read_ in read)
    both = mine.keys() & theirs.keys()
    least = min(sum(mine.values()), sum(theirs.values()))
    return sum(theirs[stem] for stem in both) / (least + 1e-6) if both & rare else 0.0


def apart(new: Statement, said: Saying, old: Statement) -> bool:
    """Whether the two are plainly about different things: topics of their own, one more thing, or something that
    happened to what stays as it is: "took the Civic to the garage" beside "drives a Civic"."""
    happened = new.kind == "event" and old.kind in ("fact", "instruction") and not _tells_of_a_change(new.text)
    return (
        _of_other_topics(new, old)
        or happened
        or (_MORE.search(said.message) is not None and len(said.message.split()) < SHORT)
    )


def _of_other_topics(new: Statement, old: Statement) -> bool:
    return new.key is not None and old.key is not None and new.key != old.key


def _tells_of_a_change(text: str) -> bool:
    return any(sign.search(_ASIDE.sub("", text)) for sign in (_CHANGED, _OVER, _NEGATED))


def chances(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of known statements by their features, how likely the new one takes the place of each."""
    net = _network()
    hidden = np.maximum((rows - net["mean"]) / net["spread"] @ net["in"] + net["in_bias"], 0)
    return np.asarray(1 / (1 + np.exp(-(hidden @ net["out"] + net["out_bias"]))))


def features(new: Statement, known: Sequence[Statement], cosines: Sequence[float]) -> NDArray[np.float64]:
    """A row for each known statement. The cosine of what has no vector is NaN."""
    near = np.nan_to_num(np.array(cosines, float), nan=_UNKNOWN)
    place = (-near).argsort(kind="stable").argsort(kind="stable")
    mine = _read(new.text)
    rows = [_pair(new, mine, each, _read(each.text)) for each in known]
    standing = np.stack([near, place / 5, place == 0, near.max() - near], axis=1)
    return np.hstack([np.array(rows, float), standing])


class _Read:
    """A statement taken apart."""

    def __init__(self, text: str) -> None:
        text = _ASIDE.sub("", text)
        self.text = text
        spoken = [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in _FRAME][:40]
        self.weights = {word: statics.importance(word) for word in spoken}
        self.stems = {stem: self.weights.get(stem, 1.0) for stem in words.question_words(text) if stem not in _FRAME}
        self.tokens = statics.token_ids(text)[0]
        self.numbers = set(_NUMBER.findall(text))
        self.names = {name.casefold() for name in _NAME.findall(text)}
        self.subject = text.split()[:2]


_read = lru_cache(1000)(_Read)
_FRAME = frozenset(("the", "user", "user's"))
_VAGUE = _NO_ANCHORS | words.STOP | frozenset(words.tokens(
    "ago last next past lately recently since today one two three four five six seven eight nine ten first second lot "
    "bit really actually great good nice helpful thing things way interested particularly especially"
))  # fmt: skip
"""Stems that two statements may share without being about the same thing."""


def _pair(new: Statement, mine: _Read, old: Statement, theirs: _Read) -> list[float]:
    shared = mine.stems.keys() & theirs.stems.keys()
    weight = sum(theirs.stems[stem] for stem in shared)
    least = min(sum(mine.stems.values()), sum(theirs.stems.values())) + 1e-6
    return [
        len(shared),
        weight,
        weight / least,
        max((theirs.stems[stem] for stem in shared), default=0.0),
        float(statics.maxsim(list(mine.weights.items()), [theirs.tokens])[0]) if mine.weights else 0.0,
        float(statics.maxsim(list(theirs.weights.items()), [mine.tokens])[0]) if theirs.weights else 0.0,
        *_signs(mine, theirs),
        len(mine.text.split()) / 20,
        len(theirs.text.split()) / 20,
        *(old.kind == kind for kind in KINDS),
        *(new.kind == kind for kind in KINDS),
        old.kind == new.kind,
        mine.subject == theirs.subject,
        old.session_id == new.session_id,
        not set(old.sources).isdisjoint(new.sources),
        old.key is not None,
        new.key is not None,
    ]


def _signs(mine: _Read, theirs: _Read) -> list[float]:
    return [
        bool(_CHANGED.search(mine.text)),
        bool(_OVER.search(mine.text)),
        bool(_BESIDE.search(mine.text)),
        bool(_OTHERS.search(mine.text)),
        bool(_OTHERS.search(theirs.text)),
        bool(_NEGATED.search(mine.text)),
        bool(_NEGATED.search(theirs.text)),
        bool(mine.numbers),
        bool(theirs.numbers),
        bool(mine.numbers) and bool(theirs.numbers) and mine.numbers.isdisjoint(theirs.numbers),
        not mine.numbers.isdisjoint(theirs.numbers),
        bool(mine.names - theirs.names) and bool(theirs.names - mine.names),
        not mine.names.isdisjoint(theirs.names),
    ]


def model() -> str:
    """The embedder whose cosines the network was trained on."""
    return str(_held()["model"])


@cache
def _network() -> dict[str, NDArray[np.float64]]:
    return {name: np.array(values) for name, values in _held().items() if name != "model"}


@cache
def _held() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("outdated.json").read_text("utf-8"))
    return held
