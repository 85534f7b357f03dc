"""Pure: text → the tokens that every backend indexes, and the BM25 weight of a match.

The application analyses, the database only stores tokens, so SQLite and PostgreSQL match alike. Scripts written
without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) become overlapping pairs of characters. Stemming goes by
script, not by a guessed language: a question and the text it is about must come out alike.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

LONGEST_TOKEN = 64
_ASCII = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_STEMMERS = (
    ("LATIN", "english"), ("CYRILLIC", "russian"), ("GREEK", "greek"), ("ARABIC", "arabic"), ("DEVANAGARI", "hindi"),
)  # fmt: skip

POSTINGS = 40_000
STOP = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in into
    is it its just me my of on or our she should so than that the their them then there these they this to was we
    were what when where which who whom whose why will with would you your am about any some tell know not no also now
    i'm i've i'd i'll it's that's what's who's where's don't didn't doesn't isn't wasn't
    """.split()  # noqa: SIM905
)

_local = threading.local()


def tokens(text: str) -> list[str]:
    """Every token of the text, in order, stop words included."""
    plain = text.lower() if text.isascii() else _folded(text)
    if plain.isascii():
        return _stemmed("LATIN", _ASCII.findall(plain.replace("_", " ")))
    found: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(plain):
        found += _spaced(plain[at : run.start()])
        found += _pairs(run.group())
        at = run.end()
    return found + _spaced(plain[at:])


def question_words(text: str) -> tuple[str, ...]:
    """The distinct tokens of a question that carry meaning; all of them when none does."""
    plain = text.lower() if text.isascii() else _folded(text)
    bare = (word.strip("?!.,;:\"'()[]").removesuffix("'s") for word in plain.split())
    kept = " ".join(word for word in bare if word not in STOP)
    return tuple(dict.fromkeys(tokens(kept))) or tuple(dict.fromkeys(tokens(text)))


K1, B = 1.2, 0.75


def bm25(
    counts: NDArray[np.float64], lengths: NDArray[np.float64], frequency: Sequence[int], parts: int, mean_length: float
) -> NDArray[np.float64]:
    """Weight per (part, word): counts is parts × words. Sum over words for the classic score."""
    idf = np.asarray(bm25_weights(frequency, parts))
    norm = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    weight: NDArray[np.float64] = idf * counts * (K1 + 1) / (counts + norm[:, None])
    return weight


def bm25_weights(frequency: Sequence[int], parts: int) -> list[float]:
    """What each word counts for, by how many of the parts have it."""
    df = np.asarray(frequency, np.float64)
    return list(np.log1p((parts - df + 0.5) / (df + 0.5)).tolist())


def decisive(frequency: Sequence[int]) -> tuple[bool, ...]:
    """Of which words the postings are worth reading: the rare ones, until together they have too many.

    A word in half of all texts decides nothing.
    """
    read, spent = [False] * len(frequency), 0
    for n in sorted((n for n, count in enumerate(frequency) if count), key=lambda n: frequency[n]):
        spent += frequency[n]
        if spent > POSTINGS and spent > frequency[n]:
            break
        read[n] = True
    return tuple(read)


def _folded(text: str) -> str:
    """Compatibility forms, case and diacritics folded away; Hangul and Kana marks survive recomposition."""
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'").casefold())
    kept = "".join(c for c in apart if not unicodedata.combining(c) or "\u3099" <= c <= "\u309a" or _is_vowel_sign(c))
    return unicodedata.normalize("NFKC", kept)


@lru_cache(maxsize=4096)
def _is_vowel_sign(mark: str) -> bool:
    """Marks outside the Latin, Greek, Cyrillic and Hebrew blocks spell sounds; dropping them would merge words."""
    return ord(mark) >= 0x0600


def _spaced(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text):
        found += _stemmed(_script(word[0]), [word])
    return found


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "")
    return next((script for script, _ in _STEMMERS if name.startswith(script)), "")


def _stemmed(script: str, found: Iterable[str]) -> list[str]:
    short = [word[:LONGEST_TOKEN] for word in found]
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__
    if script not in stemmers:
        language = dict(_STEMMERS).get(script)
        if language is None:
            return short
        stemmers[script] = Stemmer.Stemmer(language)  # one per thread: a Stemmer keeps mutable state
    stemmed: list[str] = stemmers[script].stemWords(short)
    return stemmed


def latin(text: str) -> bool:
    """Whether most of its letters are those that the embedder's network knows words of."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters)
