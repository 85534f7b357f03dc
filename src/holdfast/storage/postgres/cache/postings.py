"""Which rows of a cache the words of questions occur in, as searches read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Ints
from holdfast.storage.postgres.connections import Row
from holdfast.text.tokens import selective_words

T = TypeVar("T")
MAX_CACHED_OCCURRENCES = 1_000_000
"""How many occurrences of words a cache holds before they are dropped: 6 MB. Chosen by hand: the words of 400 questions
about 100,000 messages fit."""
MAX_CACHED_WORDS = 2_000
"""How many words a cache knows before they are dropped: 0.2 MB. Chosen by hand; not measured."""
_OCCURRENCE = np.dtype([("part", ">i8"), ("times", ">i4")])


class Posting(NamedTuple):
    """The rows that a word occurs in, ascending, and its count in each."""

    rows: NDArray[np.int32]
    times: NDArray[np.uint16]


NO_POSTING = Posting(np.zeros(0, np.int32), np.zeros(0, np.uint16))


class WordPostings:
    """The postings of hashed words. Those of a whole cache have the rows of every word; those of a large profile have
    the frequency of every word, and the rows only of words that decide a ranking."""

    def __init__(self, *, all_rows: bool) -> None:
        self._all_rows = all_rows
        self.clear()

    def clear(self) -> None:
        self.frequency: dict[str, int] = {}
        self._postings: dict[str, Posting] = {}
        self._occurrences = 0

    @property
    def bytes(self) -> int:
        return self._occurrences * 6 + len(self.frequency) * 100

    def uncounted(self, words: Iterable[str]) -> list[str]:
        """The words whose frequency has to be read before it is known which rows are needed."""
        return [] if self._all_rows else [word for word in words if word not in self.frequency]

    def unread(self, words: Sequence[str]) -> list[str]:
        """The words whose rows have to be read."""
        if self._all_rows:
            return [word for word in words if word not in self._postings]
        if any(word not in self.frequency for word in words):
            return []
        return [word for word, read in self._selected(words) if read and word not in self._postings]

    def has(self, words: Sequence[str]) -> bool:
        return not self.uncounted(words) and not self.unread(words)

    def find(self, words: Sequence[str]) -> list[Posting]:
        """The posting of each word; an empty one for words that do not decide the ranking."""
        return [self._postings[word] if read else NO_POSTING for word, read in self._selected(words)]

    def _selected(self, words: Sequence[str]) -> Iterable[tuple[str, bool]]:
        return zip(words, selective_words([self.frequency[word] for word in words]), strict=True)

    def add(self, counts: Iterable[Row], found: Iterable[Row], place: Callable[[Ints], Ints]) -> None:
        """Add what FREQUENCIES and POSTINGS read. `place` gives the rows of parts."""
        self.frequency |= dict(counts)
        for word, occurrences in found:
            each = np.frombuffer(bytes(occurrences or b""), _OCCURRENCE)
            each = each[np.argsort(each["part"], kind="stable")]
            self._put(word, place(each["part"].astype(np.int64)), each["times"])

    def append(self, found: Iterable[Row], place: Callable[[Ints], Ints]) -> None:
        """Add the words of new parts, read by NEW_POSTINGS."""
        new: dict[str, list[tuple[int, int]]] = {}
        for word, part, times in found:
            if word in self.frequency:
                new.setdefault(word, []).append((part, times))
        for word, pairs in new.items():
            self.frequency[word] += len(pairs)
            known = self._postings.get(word)
            if known is not None:
                parts, times = np.array(pairs, np.int64).T
                self._occurrences -= len(known.rows)
                self._put(word, np.concatenate([known.rows, place(parts)]), np.concatenate([known.times, times]))

    def _put(self, word: str, rows: Ints, times: NDArray[np.integer]) -> None:
        self._postings[word] = Posting(rows.astype(np.int32), times.astype(np.uint16))
        self.frequency[word] = len(rows)
        self._occurrences += len(rows)

    def make_room(self, words: Iterable[str]) -> None:
        """Where they have become many, drop all but these words."""
        if self._occurrences > MAX_CACHED_OCCURRENCES or len(self.frequency) > MAX_CACHED_WORDS:
            self.frequency = _only(self.frequency, words)
            self._postings = _only(self._postings, words)
            self._occurrences = sum(len(each.rows) for each in self._postings.values())


def _only(known: Mapping[str, T], words: Iterable[str]) -> dict[str, T]:
    return {word: known[word] for word in words if word in known}
