"""What Holdfast must beat: textbook BM25, one document per message."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import Stemmer

from holdfast.text.tokens import STOP_WORDS

_STEM = Stemmer.Stemmer("porter")


class Bm25:
    """Porter stems, stop words dropped, the speaker's name in front of the text."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.ids = [message["id"] for message in messages]
        texts = [f"{message.get('speaker') or ''} {message['content']}" for message in messages]
        counts = [Counter(_tokens(text)) for text in texts]
        self._lengths = np.array([sum(count.values()) for count in counts], float)
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for n, count in enumerate(counts):
            for word, times in count.items():
                rows, found = self._postings.setdefault(word, ([], []))
                rows.append(n)
                found.append(times)

    def ranked(self, question: str, limit: int) -> list[int]:
        scores = np.zeros(len(self.ids))
        mean = self._lengths.mean()
        for word in set(_tokens(question)):
            rows, times = self._postings.get(word, ([], []))
            tf = np.array(times, float)
            idf = np.log1p((len(self.ids) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * self._lengths[rows] / mean))
        order = np.argsort(-scores, kind="stable")[:limit]
        return [int(n) for n in order if scores[n] > 0]


def _tokens(text: str) -> list[str]:
    words: list[str] = re.findall(r"[a-z0-9]+", text.lower())
    stems: list[str] = _STEM.stemWords([word for word in words if word not in STOP_WORDS])
    return stems
