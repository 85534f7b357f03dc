"""The embedder that every memory uses: Holdfast's default model, its files, its tokens, its batches, without a loop.

Questions are embedded by Holdfast's encoder of questions, or as the model's makers publish it.

Runs in every environment: it needs numpy and onnxruntime, and the sources of this checkout.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import onnxruntime

from holdfast.models.local import ArcticEmbedder, length_batches, session_options
from holdfast.models.network_cache import networks
from holdfast.models.question_encoder import QuestionEncoder
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

DIMENSIONS = 384
MAX_TOKENS = 510
"""Without the two that mark start and end."""
Vectors = NDArray[np.float32]


class VectorCache:
    """Vectors of texts on disk, so that filling one memory after the other does not run the model again and again."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS vector (text BLOB PRIMARY KEY, row BLOB NOT NULL)")

    def get(self, text: str) -> Vectors | None:
        found = self._db.execute("SELECT row FROM vector WHERE text = ?", (_digest(text),)).fetchone()
        return None if found is None else np.frombuffer(found[0], np.float32)

    def add(self, texts: Sequence[str], rows: Vectors) -> None:
        with self._db:
            pairs = [(_digest(text), row.tobytes()) for text, row in zip(texts, rows, strict=True)]
            self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", pairs)


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


class Embedder:
    cache: VectorCache | None = None
    """Where vectors are looked up before they are computed; questions are always computed."""
    as_published = False
    """Whether a question is embedded by the model itself, after the prefix that its makers put before it."""

    def __init__(self, kept: Path) -> None:
        """`kept` is the folder of the assembled encoder: assembling it would count as a memory's peak of RAM."""
        networks.folder = kept
        self._pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
        self._encoder = QuestionEncoder()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row for each text."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        missing = []
        for n, text in enumerate(texts):
            if self.cache is not None and (row := self.cache.get(text)) is not None:
                rows[n] = row
            else:
                missing.append(n)
        ids = [self._token_ids(texts[n]) for n in missing]
        for batch in length_batches([len(each) for each in ids]):
            rows[[missing[n] for n in batch]] = self._rows([ids[n] for n in batch])
        return rows

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question."""
        if not self.as_published:
            return self._encoder.vector(self._token_ids(text))
        vector: Vectors = self._rows([self._token_ids(ArcticEmbedder.prefix + text)])[0]
        return vector

    @cached_property
    def _session(self) -> Any:
        path = str(weights_path("arctic-embed-s/model.onnx"))
        return onnxruntime.InferenceSession(path, session_options(), providers=["CPUExecutionProvider"])

    def _token_ids(self, text: str) -> list[int]:
        return [self._pieces.start, *self._pieces.ids(text)[:MAX_TOKENS], self._pieces.end]

    def _rows(self, ids: list[list[int]]) -> Vectors:
        longest = max(map(len, ids))
        tokens = np.array([each + [0] * (longest - len(each)) for each in ids], np.int64)
        mask = np.array([[1] * len(each) + [0] * (longest - len(each)) for each in ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states = self._session.run(None, inputs)[0][:, 0]
        unit: Vectors = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
        return unit.astype(np.float32)


class OneWayEmbedder:
    """For memories that embed questions as they embed texts: in the context `asking`, every text is a question."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._asking = False

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._asking:
            return [self._embedder.embed_query(text).tolist() for text in texts]
        return list(self._embedder.embed(texts).tolist())

    @contextmanager
    def asking(self) -> Iterator[None]:
        self._asking = True
        try:
            yield
        finally:
            self._asking = False
