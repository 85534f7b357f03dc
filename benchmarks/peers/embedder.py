"""The embedder that every memory uses: Holdfast's default model, its files, its tokens, its batches, without a loop.

Runs in every environment: it needs numpy and onnxruntime, and the sources of this checkout.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import onnxruntime

from holdfast.models.local import ArcticEmbedder, length_batches, session_options
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

DIMENSIONS = 384
MAX_TOKENS = 510
"""Without the two that mark start and end."""
Vectors = NDArray[np.float32]


class Embedder:
    def __init__(self) -> None:
        self._pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
        path = str(weights_path("arctic-embed-s/model.onnx"))
        self._session = onnxruntime.InferenceSession(path, session_options(), providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row for each text."""
        ids = [self._token_ids(text) for text in texts]
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for batch in length_batches([len(each) for each in ids]):
            rows[batch] = self._rows([ids[n] for n in batch])
        return rows

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question; the model wants questions marked as such."""
        vector: Vectors = self._rows([self._token_ids(ArcticEmbedder.prefix + text)])[0]
        return vector

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
