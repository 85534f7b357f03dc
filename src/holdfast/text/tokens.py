"""Splits text into the tokens that every backend indexes, and computes the BM25 weight of a match. Pure.

The application analyses text and the database only stores tokens, so SQLite and PostgreSQL match the same texts.
Scripts written without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) become overlapping pairs of characters.
Stemming depends on the script, not on a guessed language: a question and the text it is about must get the same stems.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

from holdfast.text.cache import cached_by_text

MAX_TOKEN_CHARS = 64
"""Longer tokens are cut, so that an index entry stays small. Chosen by hand; not measured."""
_ASCII = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_STEMMERS = (
    ("LATIN", "english"), ("CYRILLIC", "russian"), ("GREEK", "greek"), ("ARABIC", "arabic"), ("DEVANAGARI", "hindi"),
)  # fmt: skip

MAX_WORD_CHARACTERS = 16
"""The tokens of texts up to this long are kept: the words of a question are taken apart by many steps."""
MAX_POSTINGS = 40_000
"""Maximum number of postings, over all words together, that a search reads. Chosen by hand; not measured."""
STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in into
    is it its just me my of on or our she should so than that the their them then there these they this to was we
    were what when where which who whom whose why will with would you your am about any some tell know not no also now
    i'm i've i'd i'll it's that's what's who's where's don't didn't doesn't isn't wasn't
    """.split()  # noqa: SIM905
)

_MAX_KNOWN_CHARACTERS = 8192
"""More than the texts of one language use. Chosen by hand."""
_local = threading.local()


def tokens(text: str) -> list[str]:
    """Every token of the text, in order, stop words included."""
    return list(_tokens_of_word(text)) if len(text) <= MAX_WORD_CHARACTERS else _tokens(text)


def _tokens(text: str) -> list[str]:
    plain = text.lower() if text.isascii() else _folded_text(text)
    if plain.isascii():
        return _stems("LATIN", _ASCII.findall(plain.replace("_", " ")))
    found: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(plain):
        found += _spaced_tokens(plain[at : run.start()])
        found += _character_pairs(run.group())
        at = run.end()
    return found + _spaced_tokens(plain[at:])


@cached_by_text
def _tokens_of_word(text: str) -> tuple[str, ...]:
    return tuple(_tokens(text))


@cached_by_text
def question_words(text: str) -> tuple[str, ...]:
    """The distinct tokens of a question without stop words; all of them when it has only stop words."""
    plain = text.lower() if text.isascii() else _folded_text(text)
    bare = (word.strip("?!.,;:\"'()[]").removesuffix("'s") for word in plain.split())
    kept = " ".join(word for word in bare if word not in STOP_WORDS)
    return tuple(dict.fromkeys(tokens(kept))) or tuple(dict.fromkeys(tokens(text)))


BM25_K1, BM25_B = 1.2, 0.75
"""The usual values of BM25's saturation and length normalisation; not tuned."""


def bm25(
    counts: NDArray[np.float64], lengths: NDArray[np.float64], frequency: Sequence[int], parts: int, mean_length: float
) -> NDArray[np.float64]:
    """Weight per (part, word): counts is parts × words. Sum over words for the classic score."""
    idf = np.asarray(bm25_weights(frequency, parts))
    return bm25_saturated(idf, counts, bm25_length_penalty(lengths, mean_length)[:, None])


def bm25_length_penalty(lengths: NDArray[np.float64], mean_length: float) -> NDArray[np.float64]:
    return np.asarray(BM25_K1 * (1 - BM25_B + BM25_B * lengths / max(mean_length, 1.0)))


def bm25_saturated(
    idf: NDArray[np.float64] | float, counts: NDArray[np.float64 | np.uint16], length_penalty: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(idf * counts * (BM25_K1 + 1) / (counts + length_penalty))


def bm25_weights(frequency: Sequence[int], parts: int) -> list[float]:
    """The inverse document frequency of each word: its weight, by how many of the parts contain it."""
    return [math.log1p((parts - count + 0.5) / (count + 0.5)) for count in frequency]


def selective_words(frequency: Sequence[int]) -> tuple[bool, ...]:
    """For each word, whether a search reads its postings: the rarest first, until the total is too large.

    A word that half of all texts contain hardly changes their order.
    """
    read, spent = [False] * len(frequency), 0
    for n in sorted((n for n, count in enumerate(frequency) if count), key=lambda n: frequency[n]):
        spent += frequency[n]
        if spent > MAX_POSTINGS and spent > frequency[n]:
            break
        read[n] = True
    return tuple(read)


def _folded_text(text: str) -> str:
    """The text without compatibility forms, case and diacritics; Hangul and Kana marks survive recomposition."""
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'").casefold())
    return unicodedata.normalize("NFKC", apart.translate(_kept_characters))


class _KeptCharacters(dict[int, str]):
    """Character → itself, or nothing for a diacritic. A mark outside the Latin, Greek, Cyrillic and Hebrew blocks
    represents a sound: dropping it would merge different words."""

    def __missing__(self, code: int) -> str:
        kept = "" if code < 0x0600 and unicodedata.combining(chr(code)) else chr(code)
        if len(self) < _MAX_KNOWN_CHARACTERS:
            self[code] = kept
        return kept


_kept_characters = _KeptCharacters()


def _spaced_tokens(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text):
        found += _stems(_script(word[0]), [word])
    return found


def _character_pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "")
    return next((script for script, _ in _STEMMERS if name.startswith(script)), "")


def _stems(script: str, found: Iterable[str]) -> list[str]:
    short = [word[:MAX_TOKEN_CHARS] for word in found]
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__
    if script not in stemmers:
        language = dict(_STEMMERS).get(script)
        if language is None:
            return short
        # One per thread: a Stemmer keeps mutable state. It remembers no words: stemming one takes hardly longer, and
        # the garbage collector would look at ten thousand of them again and again.
        stemmers[script] = Stemmer.Stemmer(language, 0)
    stemmed: list[str] = stemmers[script].stemWords(short)
    return stemmed


def is_mostly_latin(text: str) -> bool:
    """Whether at least half of its letters are Latin; the embedder's network knows few words in other scripts."""
    if text.isascii():
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters)
