"""Words of a text as numbers, from which `secret_words` judges each of them: its shape, and the words around it.

Every feature is a place in one table of weights, found by hashing. What a word says of its neighbours does not depend
on which neighbour is judged, so it is looked up once for each distance and each sort of shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from holdfast.text.redaction import values
from holdfast.text.redaction.secret_nouns import BORDERLESS, STRONG, noun_sort
from holdfast.text.redaction.sentence_context import (
    SENTENCE_ENDS,
    Surroundings,
    ends_sentence,
    key_of,
    role_of,
    surroundings_of,
)

TABLE_BITS = 17
_WORD = re.compile(
    rf"[^\W\d_{BORDERLESS}]{{2,30}}(?:['-][^\W\d_]{{1,20}})?(?:[:=(](?!/)(?=\S)|/(?=[^\s/]+(?:\s|$)))|[{BORDERLESS}]+|[^\s{BORDERLESS}]{{1,200}}"
)
_OPENING = "\"'`([{<*_~“”‘’„«»「『（"
_CLOSING = "/\"'`)]}>.,;:!?*_~…“”‘’«»」』）。、，！？："
_BREAK = 4
"""A sentence's end stands for so many words."""
DISTANCES = (1, 2, 4, 8, 14)
"""The farthest word of each ring around the one that is judged."""
_WIDE_DISTANCES = (4, 14)
SHAPES = ("d3", "d4", "d6", "d9", "groups", "mixed", "strong", "long", "lower", "capital", "upper", "camel", "joined",
          "plain")  # fmt: skip
_KINDS = {
    **dict.fromkeys(("d3", "d4", "d6", "groups"), "number"),
    "d9": "long",
    **dict.fromkeys(("mixed", "strong", "camel", "joined", "long"), "odd"),
    **dict.fromkeys(("lower", "capital", "upper"), "word"),
    "plain": "plain",
}
KINDS = tuple(dict.fromkeys(_KINDS.values()))
_DIGITS = {3: "d3", 4: "d4", 5: "d6", 6: "d6", 7: "d6", 8: "d6"}
_ORDINARY = re.compile(
    r"(?:19|20)\d\d|\d{1,2}[:.h]\d\d(?:[-–]\d{1,2}[:.]\d\d)?(?:am|pm|h)?|\d{1,2}(?:am|pm|st|nd|rd|th|h)"
    r"|[$€£¥₹]\S+|[\d.,]+\s?[$€£%°]\S?|\d+[.,]\d+|\d{1,3}(?:[.,]\d{3})+|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
    r"|[a-z]+://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+|v?\d+(?:\.\d+)+\S*|[+(]\d[\d() -]*"
    r"|\d{1,4}(?:k|m|km|kg|g|cm|mm|gb|mb|tb|kb|ms|s|min|h|x|l|ml|w|kw|v|eur|usd|px|p)|[#@]\w+|\S+/\S+|(?-i:[A-Z]{2,4}\d{2,4})|\d+-[a-z]+(?:-[a-z]+)*",
    re.I,
)
_PHONE = re.compile(r"(?:\d{3}[-.])?\d{3}[-.]\d{4}|\d{4}-\d\d-\d\d")
_GROUPS = re.compile(
    r"[#*]?\d{1,4}(?:[-.#*/]\d{1,4})+[#*]?|[#*]\d{3,8}[#*]?|\d{3,8}[#*]|\d{2,4}[A-Za-z]\d{1,4}|[A-Z]\d{3,6}"
)


class TextWord(NamedTuple):
    """A run of characters without blanks, and where it stands without the punctuation around it."""

    text: str
    start: int
    stop: int
    opening: str
    closing: str
    """With a line's end where one follows."""


def words_of(text: str) -> list[TextWord]:
    found = []
    for m in _WORD.finditer(text):
        whole = m[0]
        if whole.isalnum():
            start, stop = m.span()
            found.append(TextWord(whole, start, stop, "", "\n" if text.startswith("\n", stop) else ""))
            continue
        inner = whole.lstrip(_OPENING)
        opening = whole[: len(whole) - len(inner)]
        core = inner.rstrip(_CLOSING)
        closing = inner[len(core) :]
        after = text[m.end() : m.end() + 3]
        if "\n" in after[: len(after) - len(after.lstrip())]:
            closing += "\n"
        if core:
            start = m.start() + len(opening)
            found.append(TextWord(core, start, start + len(core), opening, closing))
        elif found:
            last = found[-1]
            found[-1] = TextWord(last.text, last.start, last.stop, last.opening, last.closing + whole)
    return found


@lru_cache(maxsize=8192)
def shape_of(word: str) -> str:
    """The sort of a word's characters; "plain" is what is hardly ever a secret: a year, a price, an address."""
    if word.isdigit():
        return _DIGITS.get(len(word), "d9" if len(word) > 8 else "plain") if not _is_year(word) else "plain"
    if _PHONE.fullmatch(word):
        return "plain"
    digits = sum(map(str.isdigit, word))
    letters = sum(map(str.isalpha, word))
    if digits and _GROUPS.fullmatch(word):
        return "groups"
    if _ORDINARY.fullmatch(word):
        return "plain"
    if len(word) > 19 and digits > 1:
        return "long"
    if digits:
        if not letters:
            return "groups"
        cases = any(map(str.isupper, word[1:])) + (digits + letters < len(word)) + (digits > 2)
        return "strong" if cases > 1 or (cases and len(word) > 9) else "mixed"
    if letters < len(word):
        return "joined" if len(word) > 5 or set(word) & set("!@#$%^&*+=?") else "lower"
    if word.islower():
        return "lower"
    if word.isupper():
        return "upper" if len(word) > 1 and word.isascii() else "lower"
    return "capital" if word[1:].islower() else "camel" if any(map(str.isupper, word)) else "lower"


def _is_year(word: str) -> bool:
    return len(word) == 4 and word[:2] in ("19", "20")


def _hash(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=8192)
def _said(word: str) -> tuple[int, ...]:
    """What a word tells its neighbours: itself, its pieces, what it names."""
    low = word.lower()
    sort = noun_sort(low)
    found = [f"n:{sort}"] if sort else []
    shape = shape_of(word)
    if any(map(str.isdigit, low)):
        found += [f"h:{shape}", f"l:{min(len(low), 9)}"]
    elif low.isascii() or not re.match(f"[{BORDERLESS}]", low):
        found.append(f"w:{low[:24]}")
        marked = f"<{low[:18]}>"
        found += [f"g:{marked[n : n + 4]}" for n in range(len(marked) - 3)] if len(low) > 2 else []
        if shape != "lower":
            found.append(f"h:{shape}")
    else:
        tail = low[-12:]
        found += [f"c:{tail[n : n + size]}" for size in (1, 2) for n in range(len(tail) - size + 1)]
        found.append(f"e:{tail[-2:]}")
    return tuple(map(_hash, found))


@lru_cache(maxsize=1024)
def _marks(closing: str) -> tuple[int, ...]:
    """What the punctuation after a word tells its neighbours; something even where there is none."""
    return tuple(_hash(f"m:{mark}") for mark in (dict.fromkeys(closing[:4]) or " "))


def _nouns_near(words: list[TextWord]) -> list[list[tuple[str, int]]]:
    """For each word, the nearest noun before it and after it that speaks of secrets, and how far it is."""
    sorts = [noun_sort(word.text.lower()) for word in words]
    strong = [sort in STRONG for sort in sorts]
    near: list[list[tuple[str, int]]] = [[] for _ in words]
    for order in (range(len(words)), range(len(words) - 1, -1, -1)):
        last, at = "", -99
        for n in order:
            near[n].append((last, abs(n - at)))
            if sorts[n] and (strong[n] or not last or abs(n - at) > 6):
                last, at = sorts[n], n
    return near


def _far(distance: int) -> str:
    return str(distance) if distance < 4 else "6" if distance < 7 else "12" if distance < 13 else "far"


KNOWN_BITS = 17


class KnownWords:
    """Words of ordinary talk, as bits at two places that hashing finds; few others are taken for known."""

    def __init__(self, bits: NDArray[np.uint8]) -> None:
        self.bits = bits

    @classmethod
    def of(cls, words: Iterable[str]) -> KnownWords:
        bits = np.zeros(1 << (KNOWN_BITS - 3), dtype=np.uint8)
        for word in words:
            for place in _known_places(word):
                bits[place >> 3] |= 1 << (place & 7)
        return cls(bits)

    def __contains__(self, word: str) -> bool:
        return all(self.bits[place >> 3] >> (place & 7) & 1 for place in _known_places(word))


def _known_places(word: str) -> tuple[int, int]:
    mixed = _hash(word) * 0x9E3779B1
    return mixed >> 3 & (1 << KNOWN_BITS) - 1, mixed >> 21 & (1 << KNOWN_BITS) - 1


def _own_features(
    words: list[TextWord],
    n: int,
    shapes: list[str],
    near: list[tuple[str, int]],
    known: KnownWords,
    place: Surroundings,
) -> list[str]:
    """What speaks for or against a word by itself and its direct neighbours."""
    word, shape = words[n], shapes[n]
    text = word.text
    low = text.lower()
    before, after = shapes[n - 1] if n else "^", shapes[n + 1] if n + 1 < len(words) else "$"
    closed = words[n - 1].closing[-1:] if n else "^"
    found = [
        f"s:{shape}", f"sl:{shape}:{min(len(text), 16)}", f"sc:{shape}:{word.closing[:1]}",
        f"so:{shape}:{word.opening[-1:]}",
        f"sb:{shape}:{closed}", f"sn:{shape}:{before}", f"sa:{shape}:{after}", f"f:{shape}:{_form(text)}",
        f"p:{n == 0}:{n + 1 == len(words)}:{shape}",
    ]  # fmt: skip
    kind = _KINDS[shape]
    said = key_of(words[n - 1].text) if n else "^"
    next_said = key_of(words[n + 1].text) if n + 1 < len(words) else "$"
    role = role_of(said) or closed
    alone = f"{min(place.odd_before, 2)}{min(place.odd_after, 2)}"
    found += [f"al:{kind}:{alone}", f"ro:{shape}:{role}", f"ps:{kind}:{min(place.position, 8)}"]
    if place.quoted:
        found += [f"q:{kind}", f"q:{kind}:{near[0][0]}:{near[0][1] < 10}", f"q:{kind}:{near[1][0]}"]
    for side, (sort, distance) in zip("<>", near, strict=True):
        if distance < 25:
            far = _far(distance)
            found += [f"ns:{side}:{sort}:{far}:{shape}", f"nk:{side}:{sort}:{kind}", f"nd:{side}:{far}:{kind}:{closed}"]
            found += [f"nw:{side}:{sort}:{kind}:{said}", f"nv:{side}:{sort}:{kind}:{next_said}"]
            found += [f"nr:{side}:{sort}:{far}:{kind}:{role}", f"na:{side}:{sort}:{kind}:{alone}"]
    found += [
        f"kb:{kind}:{said}",
        f"ka:{kind}:{next_said}",
        f"kbb:{shape}:{said}:{key_of(words[n - 2].text) if n > 1 else ''}",
        f"rb:{shape}:{role}:{noun_sort(words[n - 2].text.lower()) if n > 1 else ''}",
    ]
    if text.isalpha():
        found += [f"w:{low}", f"e3:{low[-3:]}", f"e2:{low[-2:]}:{shape}", f"n:{noun_sort(low)}:{shape}"]
        if text.isascii() and low not in known:
            found += [
                f"new:{shape}",
                f"newb:{kind}:{said}",
                f"newl:{min(len(low), 12)}",
                f"newn:{near[0][0]}:{near[0][1]}",
            ]
        if n and closed not in SENTENCE_ENDS and shape != "lower":
            found.append(f"inner:{shape}")
    else:
        found += _sign_features(text, shape)
    return found


def _sign_features(text: str, shape: str) -> list[str]:
    """What the digits and signs of a word show."""
    found = []
    if _ORDINARY.fullmatch(text):
        found.append(f"o:{shape}")
    if values.is_placeholder(text) or values.is_template(text):
        found.append("template")
    if values.is_technical(text):
        found.append(f"t:{shape}")
    signs = {each for each in text if not each.isalnum()}
    found += [f"g:{shape}:{each}" for each in signs]
    if text.isdigit():
        found += [f"z:{text[0] == '0'}:{len(text)}", f"r:{text[-2:] == '00'}", f"u:{len(set(text))}:{len(text)}"]
    found += [f"w:{piece}" for piece in _PIECE.findall(text.lower())[:3]]
    return found


_LONG_RUN = re.compile(r"(.)\1{2,}")
_PIECE = re.compile(r"[^\W\d_]{2,}")


@lru_cache(maxsize=8192)
def _form(text: str) -> str:
    """The word with letters as "a" and "A", digits as "0", runs shortened to two."""
    form = "".join(
        "0" if each.isdigit() else ("A" if each.isupper() else "a") if each.isalpha() else each for each in text[:24]
    )
    return _LONG_RUN.sub(r"\1\1", form)


_RINGS = [(side, n) for side in (-1, 1) for n in range(len(DISTANCES))]
_WIDE = [(side, n) for side in (-1, 1) for n in range(len(_WIDE_DISTANCES))]
_SALTS = np.array(
    [_hash(f"ring{side}{n}") for side, n in _RINGS]
    + [_hash(f"wide{side}{n}{kind}") for side, n in _WIDE for kind in KINDS],
    dtype=np.uint32,
)
_EDGES = np.array([0, *DISTANCES])
_RING_EDGES = [(n, n + 1) for n in range(len(DISTANCES))]
_WIDE_EDGES = [(0, 1 + DISTANCES.index(_WIDE_DISTANCES[0])), (1 + DISTANCES.index(_WIDE_DISTANCES[0]), len(DISTANCES))]
_AFTER = len(_EDGES)
_BOUNDS = [
    (far, near) if side < 0 else (_AFTER + near, _AFTER + far)
    for edges in (_RING_EDGES, _WIDE_EDGES)
    for side in (-1, 1)
    for near, far in edges
]
"""For each ring, which edges it begins and ends at; those after a word follow on those before it."""
_FIRST_EDGES, _LAST_EDGES = (np.array(each) for each in zip(*_BOUNDS, strict=True))
_NUMBERS_OF_KINDS = {kind: n for n, kind in enumerate(KINDS)}
_COLUMNS = np.array([*range(len(_RINGS)), *(len(_RINGS) + n * len(KINDS) for n in range(len(_WIDE)))])
_BY_KIND = np.array([0] * len(_RINGS) + [1] * len(_WIDE))


def places(hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Where features stand in the table."""
    mixed = hashes * np.uint32(0x9E3779B1)
    return ((mixed ^ (mixed >> np.uint32(15))) >> np.uint32(32 - TABLE_BITS)).astype(np.int64)


def said_places(words: Sequence[TextWord]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What words tell their neighbours, before any weights: one row of places in the table for each thing said, one
    column for each distance and shape. And the first row of each word; every word says something."""
    told = [_said(word.text) + _marks(word.closing) for word in words]
    bases = np.array([each for one in told for each in one], dtype=np.uint32)
    return places(bases[:, None] ^ _SALTS[None, :]), _starts(told)


@dataclass(frozen=True, slots=True)
class Rings:
    """Which words each word hears, one column for each ring around it."""

    first: NDArray[np.int64]
    """The first word heard."""
    stop: NDArray[np.int64]
    """The one after the last."""
    columns: NDArray[np.int64]
    """The column of what is said that counts for the word's shape."""


def rings_around(words: Sequence[TextWord]) -> Rings:
    gaps = [1 + _BREAK * ends_sentence(word.closing) for word in words]
    at = np.cumsum([0, *gaps[:-1]])
    before = np.searchsorted(at, at[:, None] - _EDGES, "left")
    after = np.searchsorted(at, at[:, None] + _EDGES, "right")
    edges = np.concatenate([before, after], axis=1)
    kinds = np.array([_NUMBERS_OF_KINDS[_KINDS[shape_of(word.text)]] for word in words])
    columns = _COLUMNS + kinds[:, None] * _BY_KIND
    return Rings(edges[:, _FIRST_EDGES], edges[:, _LAST_EDGES], columns)


def own_places(
    words: list[TextWord], some: Iterable[int], known: KnownWords
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of these words in a row, what speaks for or against each by itself; and where each begins."""
    shapes = [shape_of(word.text) for word in words]
    near = _nouns_near(words)
    odd = [_KINDS[shape] in ("number", "odd", "long") for shape in shapes]
    around = surroundings_of(words, odd)
    own = [_own_features(words, int(n), shapes, near[int(n)], known, around[int(n)]) for n in some]
    hashes = np.array([_hash(each) for one in own for each in one], dtype=np.uint32)
    return places(hashes), _starts(own)


def _starts(lists: Sequence[Sized]) -> NDArray[np.int64]:
    """Where each list begins when all stand in a row."""
    return np.concatenate([[0], np.cumsum([len(each) for each in lists])[:-1]])
