"""Finds the words of a text that are secrets told in talk: "front door keypad: 4471 then hit the star".

A linear model judges every word by its own shape and the words around it; its weights were trained by
`evals/train/secret_words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.text.redaction.normalised_text import ReadableText, Span
from holdfast.text.redaction.secret_nouns import ALWAYS, STRONG, noun_sort
from holdfast.text.redaction.word_features import (
    KnownWords,
    TextWord,
    own_places,
    rings_around,
    said_places,
    shape_of,
    words_of,
)

WEIGHTS = Path(__file__).with_name("secret_words.npz")
MAX_WORDS = 400
"""Longer stretches are judged piece by piece."""
REACH = 16
"""Words on each side of a sign that are looked at."""
_BESIDE = 12
_MAX_BULLET = 2
MARGIN = 4.0
"""A word that its neighbours speak against by more is not looked at itself."""
UNNAMED = 1.5
"""So much surer the model must be where nothing names a secret or what it opens; on lists left out in
turn this halved false alarms and lost no secret."""
MAX_LINE = 300
MAX_REMEMBERED_WORDS = 8_192
"""How many words' weights are held: 2 MB. Chosen by hand."""


_CODE_LINE = re.compile(
    r"[{}\\]|\w\(|;\s*$|(?:^|\s)-{1,2}[a-zA-Z][\w-]*[ =]|^\s*[\w.]+\s?[:+]?=\s"
    r"|(?:^|\s)[a-z_][a-z_.]*=\S|^-----|::|\w->\w|</|^\s*\"[\w.-]+\"\s?:"
    r"|^\s*(?:(?:const|let|var|def|import|export)\s\w+\s?[=(:]|(?:curl|ssh|psql|docker|kubectl|npm|pip|ssh-rsa)\s)"
    r"|[A-Z]{3,}_[A-Z]|\b(?:[0-9a-f]{2} ){6}|\w\[\w+\]|:\d+:in\b|^\s+at \S+[:(]"
)
_NOT_TOLD = re.compile(
    r"[{}()\[\]<>;|\\\"]|://|.@\w+\.\w|^[-/]|^(?:[a-z_][a-z_.-]*|[A-Z_]+)=|.{41}|^(?:0x)?[0-9a-fA-F]{24,}$|^(?:0x)?[0-9A-F]{16}$|^[0-9A-HJKMNP-TV-Z]{26}$|[+/].*[+/].*[+/]|\.(?:js|ts|py|iso|pdf|zip|json|ya?ml|txt|png|jpe?g)$"
)
"""No words that somebody tells: expressions, addresses, files, tokens that other rules know."""


_SLASHED = re.compile(r"(?=[^\d]*\d)(?=.*[^\W\d_]{3})[^\W_][^\s.]*/[^\s.]*")
"""A password with slashes; a date or an address has none of these."""


def is_judged(word: TextWord, text: str) -> bool:
    """Whether the word may be told in talk; in a line of code it is left to the rules of `assigned_values`."""
    if _NOT_TOLD.search(word.text):
        return False
    if shape_of(word.text) == "plain" and not word.text.isdigit() and not _SLASHED.fullmatch(word.text):
        return False
    block = word.start - word.start % MAX_LINE
    first = max(text.rfind("\n", max(0, block - MAX_LINE), word.start) + 1, block - MAX_LINE, 0)
    last = text.find("\n", word.stop, block + 2 * MAX_LINE)
    return not _is_code(text[first : last if last >= 0 else block + 2 * MAX_LINE])


@lru_cache(maxsize=64)
def _is_code(line: str) -> bool:
    return _CODE_LINE.search(line) is not None


class SecretWordModel:
    """Weights of features, and the scores from which on a word is a secret, and goes on one."""

    def __init__(
        self, table: NDArray[np.float32], bias: float, known: KnownWords, begins: float = 0.0, goes_on: float = 0.0
    ) -> None:
        self._table = table
        self._known = known
        self._bias = bias
        self._said: dict[tuple[str, str], NDArray[np.float32]] = {}
        """Word and the marks after it → the weights of what it tells."""
        self.begins = begins
        self.goes_on = goes_on

    @classmethod
    def read(cls, path: Path) -> SecretWordModel:
        with np.load(path) as kept:
            table = kept["table"].astype(np.float32) * kept["scale"]
            known = KnownWords(kept["known"])
            return cls(table, float(kept["bias"]), known, float(kept["begins"]), float(kept["goes_on"]))

    def write(self, path: Path) -> None:
        """Weights as whole numbers below 128, each a share of the greatest."""
        scale = np.float32(np.abs(self._table).max() / 127)
        numbers = {"scale": scale, "bias": self._bias, "begins": self.begins, "goes_on": self.goes_on}
        table = np.round(self._table / scale).astype(np.int8)
        singles = {name: np.asarray(number, dtype=np.float32) for name, number in numbers.items()}
        np.savez_compressed(path, allow_pickle=False, table=table, known=self._known.bits, **singles)

    def scores(self, words: list[TextWord]) -> NDArray[np.float32]:
        """How surely each word is a secret, in logits."""
        if not words:
            return np.zeros(0, dtype=np.float32)
        rings, said = rings_around(words), self._weights_said(words)
        heard = np.concatenate([np.zeros((1, said.shape[1]), dtype=np.float32), said.cumsum(axis=0)])
        told = heard[rings.stop, rings.columns] - heard[rings.first, rings.columns]
        scores = told.sum(axis=1) + self._bias
        likely = np.flatnonzero(scores >= self.goes_on - MARGIN)
        if len(likely):
            own, starts = own_places(words, likely, self._known)
            scores[likely] += np.add.reduceat(self._table[own], starts)
        scores[scores < self.goes_on - MARGIN] = -np.inf
        return np.asarray(scores, dtype=np.float32)

    def _weights_said(self, words: list[TextWord]) -> NDArray[np.float32]:
        """The weight of what each word tells its neighbours, one column for each distance and shape. It follows from
        the word and the mark after it, and most words come again."""
        if len(self._said) > MAX_REMEMBERED_WORDS:
            self._said = {}
        known = self._said  # another thread may begin a new one
        keys = [(word.text, word.closing) for word in words]
        new = {key: word for key, word in zip(keys, words, strict=True) if key not in known}
        if new:
            said, starts = said_places([*new.values()])
            known |= zip(new, np.add.reduceat(self._table[said], starts, axis=0), strict=True)
        return np.concatenate([known[key] for key in keys]).reshape(len(keys), -1)

    def secret_spans(self, words: list[TextWord], text: str) -> Iterator[Span]:
        """Words that are secrets, neighbours as one."""
        scores = self.scores(words)
        if not any(noun_sort(word.text.lower()) for word in words):
            scores -= UNNAMED
        if not (scores >= min(self.begins, self.goes_on)).any():
            return
        for likely in np.flatnonzero(scores >= self.goes_on):
            if not is_judged(words[likely], text):
                scores[likely] = -np.inf
        for n in _listed(words, (scores >= self.begins).tolist()):
            scores[n] = self.begins
        n = 0
        while n < len(words):
            stop = n
            while stop < len(words) and scores[stop] >= self.goes_on:
                stop += 1
            if stop > n and scores[n:stop].max() >= self.begins:
                yield words[n].start, words[stop - 1].stop
            n = max(stop, n + 1)


def _listed(words: list[TextWord], secret: list[bool]) -> Iterator[int]:
    """Words of the form of a secret that go on its list: only a number or a mark stands between."""
    last: TextWord | None = None
    for n, word in enumerate(words):
        if secret[n]:
            last = word if any(map(str.isdigit, word.text)) else None
        elif len(word.text) > _MAX_BULLET:
            if last is None or shape_of(word.text) != shape_of(last.text) or len(word.text) != len(last.text):
                last = None
            else:
                yield n
                last = word


@cache
def model() -> SecretWordModel:
    return SecretWordModel.read(WEIGHTS)


_QUOTED = re.compile(r"(?<!\w)([\"'`])(?=\S)((?:(?!\1)[^\n]|(?<=\w)\1(?=\w)){3,60})\1(?!\w)")
_MAX_QUOTED_WORDS = 8
_TELEPHONE = re.compile(
    r"\b(?:(?:tele)?phone|mobile|cell|landline|fax|tel\.?|whatsapp)(?: (?:number|no\.?|nr\.?))?"
    r"(?: is\b| was\b|'s|:){0,2} ?(\+?\d(?:[ ()/.-]{0,2}\d){6,14})(?!\w)",
    re.I,
)
"""A telephone number after its name; fewer figures may be the code that unlocks the telephone."""


_TOLD_PASSWORD = re.compile(
    r"\b(?:password|passphrase|passcode) (?:(?:is|was|changed to|now) )?([^\s\"'`]{6,40}?)(?=[.,;!?]?(?:\s|$))", re.I
)
"""A password told outright; whatever else the sentence speaks of."""


def secret_word_spans(readable: ReadableText) -> Iterator[Span]:
    """Where secrets stand; of a phrase in quotes all words, where one of them is found."""
    for told in _TOLD_PASSWORD.finditer(readable.text):
        if shape_of(told[1]) == "strong" and not _NOT_TOLD.search(told[1]):
            yield told.span(1)
    quoted: list[Span] | None = None
    for words in stretches_of(readable.text):
        for start, stop in model().secret_spans(words, readable.text):
            if _is_telephone_number(readable.text, start, stop):
                continue
            if quoted is None:
                quoted = [m.span(2) for m in _QUOTED.finditer(readable.text) if len(m[2].split()) <= _MAX_QUOTED_WORDS]
            yield next((each for each in quoted if each[0] <= start and stop <= each[1]), (start, stop))


def _is_telephone_number(text: str, start: int, stop: int) -> bool:
    around = _TELEPHONE.finditer(text, max(0, start - MAX_LINE), min(len(text), stop + MAX_LINE))
    return any(number.start(1) <= start and stop <= number.end(1) for number in around)


def stretches_of(text: str) -> list[list[TextWord]]:
    """The words near those that speak of a secret or look like one, in stretches of bounded length."""
    words = words_of(text)
    if len(words) > 2 * REACH:
        near = np.zeros(len(words), dtype=bool)
        for n in _signs(words):
            near[max(0, n - REACH) : n + REACH + 1] = True
        edges = np.flatnonzero(np.diff(near, prepend=False, append=False))
        stretches = [(int(first), int(stop)) for first, stop in zip(edges[::2], edges[1::2], strict=True)]
    else:
        stretches = [(0, len(words))]
    return [
        words[max(first, at - REACH) : min(stop, at + MAX_WORDS)]
        for first, stop in stretches
        for at in range(first, stop, MAX_WORDS)
    ]


def _signs(words: list[TextWord]) -> Iterator[int]:
    """Words that name a secret, and nouns of its surroundings with an odd word or another such noun beside them."""
    sorts = [noun_sort(word.text.lower()) for word in words]
    odd = np.array([_is_odd(word.text) for word in words])
    noun = np.array([sort != "" for sort in sorts])
    for n in np.flatnonzero(noun | odd):
        first, stop = max(0, int(n) - _BESIDE), int(n) + _BESIDE + 1
        beside = odd[first:stop].any() if noun[n] else noun[first:stop].any()
        doubled = sorts[n] in STRONG and noun[first:stop].sum() > 1
        if sorts[n] in ALWAYS or beside or doubled or shape_of(words[n].text) in ("mixed", "strong"):
            yield int(n)


def _is_odd(text: str) -> bool:
    shape = shape_of(text)
    return shape not in ("lower", "capital", "upper", "plain") or text.isdigit()
