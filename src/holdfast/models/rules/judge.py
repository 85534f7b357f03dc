"""Learned: how likely a finding is worth keeping, and as which kind. The rules propose, this disposes.

A linear model over the words of the sentence (names, numbers, dates and relations as classes), its shape and place in
the talk, and the rule that made the finding. Whatever it does not rule out, a reader (models/reader.py) reads with what
is around it, where there is one. The weights are data (judge.json), trained by `evals/train_judge.py` on annotated
conversations; the probability is the memory's confidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...types import Floats
from .clauses import bare
from .found import Found
from .signs import noise
from .words import RELATIONS, TECHNOLOGY

CLASSES = ("none", "fact", "event", "instruction", "task")
SCALE = 100
"""Weights are kept as whole numbers of hundredths."""
GENERIC = frozenset(("told", "told-event", "told-task", "told-order", "spoken", "reply", "abroad", "agreed"))
"""Rules that see a statement but know no topic: their kind is a guess, and the judge's is better."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d.,:]*|[?!…:;,]")
_DATE = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october|"
    r"november|december|today|tomorrow|yesterday|tonight|weekend"
)
_RELATIVE = RELATIONS | {f"{relation}s" for relation in RELATIONS}
_FIRST = re.compile(r"\b(?:i|my|we|our|me|us|im|ive)\b")
_SECOND = re.compile(r"\byour?\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_CODE = re.compile(r"[`_/]|[a-z]-[a-z]|[a-z][0-9]")
_STOP = "?!…:;"
_SENTENCE = re.compile(r"[.!?] ")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
LONGEST = 60
REPLIED, NEARBY = 8, 100
"""How many words of the answer are looked at, and of the messages around."""
DOUBT, CLEAR = 0.2, 0.9
"""What the words alone give less than this is not worth reading, nor what they give this much for one kind."""
DENIED = 0.1
"""Below this, words and reading together outweigh a rule that knows its topic."""
_BOTH = (1.0, 0.5)
"""How much what the words say counts, and what was read: the best by `evals/train_reader.py report`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a sentence was said."""

    sentence: str
    place: int
    of: int
    """The sentence is number `place` (from 0) of `of` in its message."""
    role: str
    named: bool
    """Whether the message names its speaker."""
    before: str = ""
    before_role: str = ""
    """The message before, by whoever said it."""
    dated: bool = False
    earlier: str = ""
    """The two messages before."""
    message: str = ""
    """All of the message that the sentence is in."""
    reply: str = ""
    """What the assistant answered, if it has."""

    @property
    def around(self) -> str:
        return f"{self.before} {self.sentence}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """For a reader: a finding, what is around it, and the logarithms of what its words alone give each class."""

    content: str
    before: str
    message: str
    reply: str
    words: Floats


@runtime_checkable
class Reader(Protocol):
    """Reads sentences in their setting."""

    async def classes(self, sentences: Sequence[Sentence]) -> list[Floats]:
        """How much more, or less, each class is likely than the words alone say, as logarithms."""
        ...


def readable(found: Found, setting: Setting) -> Sentence:
    return Sentence(found.content, setting.before, setting.message, setting.reply, _words(features(found, setting)))


def judged(found: Found, seen: Sentence, read: Floats | None = None) -> Found:
    """The finding with a learned confidence and the likeliest kind; a rule that knows its topic is believed,
    unless reading all but denies that the sentence is worth keeping."""
    totals = seen.words if read is None else _BOTH[0] * seen.words + _BOTH[1] * read
    chances = np.exp(totals - np.logaddexp.reduce(totals))
    sure = round(float(1 - chances[0]), 2)
    if found.rule in GENERIC:
        return replace(found, kind=CLASSES[1 + int(chances[1:].argmax())], confidence=sure)
    own = max(sure, found.confidence)
    doubted = read is not None and sure < DENIED
    return replace(found, confidence=round((sure + own) / 2, 2) if doubted else own)


def features(found: Found, setting: Setting) -> list[str]:
    """What the model sees, as names."""
    words = _classed(setting.sentence)
    return [
        *_shape(setting),
        *(
            f"R{name}"
            for name in (found.rule, f"{found.kind}/{found.rule in GENERIC}", f"{int(found.confidence * 10)}")
        ),
        *("_".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)),
        *("^" + "_".join(words[:n]) for n in (1, 2, 3)),
        *_around(setting),
    ]


def _around(setting: Setting) -> list[str]:
    """What frames the sentence: in a game, a joke or a text to be translated, hardly anything is meant."""
    reply = [word.lower() for word in _WORD.findall(setting.reply)]
    return [
        *(f"N{word}" for word in set(reply[:REPLIED])),
        "N^" + "".join(reply[:1]),
        f"Nasks={setting.reply.rstrip().endswith('?')}",
        f"Nlength={min(len(reply) // REPLIED, 6) if reply else None}",
        *(f"P{word.lower()}" for word in set(_LETTERS.findall(setting.earlier)[-NEARBY:])),
        *(f"M{word.lower()}" for word in set(_LETTERS.findall(setting.message)[:NEARBY])),
    ]


def _shape(setting: Setting) -> list[str]:
    sentence = setting.sentence
    low, length = sentence.lower(), len(sentence.split())
    asked = setting.before.rstrip().endswith("?")
    opening = _SENTENCE.split(setting.before.rstrip())[-1].lower().split()[:1] if asked else []
    signs = {
        "role": setting.role,
        "named": setting.named,
        "asks": sentence.rstrip().endswith("?"),
        "exclaims": sentence.rstrip().endswith("!"),
        "length": min(length // 3, 8),
        "first": setting.place == 0,
        "last": setting.place == setting.of - 1,
        "of": min(setting.of, 6),
        "figure": any(character.isdigit() for character in sentence),
        "names": min(len(_NAME.findall(sentence)), 3),
        "i": _FIRST.search(low) is not None,
        "you": _SECOND.search(low) is not None,
        "code": _CODE.search(sentence) is not None,
        "dated": setting.dated,
        "asked": asked,
        "reply": asked and length < 8 and setting.place == 0,
        "asked_by": setting.before_role,
        "asked_for": "".join(opening),
        "noise": noise(bare(sentence), setting.dated),
    }
    return [f"S{name}={value}" for name, value in signs.items()]


def _classed(sentence: str) -> list[str]:
    """The sentence's words; names, numbers, dates, relations and technologies only as classes."""
    words = _WORD.findall(sentence)[:LONGEST]
    made = []
    for i, word in enumerate(words):
        low = word.lower().replace("’", "'")
        if word[0].isdigit():
            made.append("<n>")
        elif _DATE.fullmatch(low):
            made.append("<d>")
        elif low in _RELATIVE:
            made.append("<rel>")
        elif i and word[0].isupper() and len(word) > 1 and words[i - 1] not in _STOP:
            made.append("<N>")
        else:
            made.append("<tech>" if low in TECHNOLOGY else low)
    return made


def _words(seen: list[str]) -> Floats:
    held = _weights()
    totals = list(held["bias"])
    for feature in set(seen):
        for i, weight in enumerate(held["weights"].get(feature, ())):
            totals[i] += weight / SCALE
    return np.asarray(totals - np.logaddexp.reduce(totals), np.float32)


@cache
def _weights() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("judge.json").read_text("utf-8"))
    return held
