"""Embeds a question: the embedder's own layers with a small learned difference (reader_network.py).

The embedder puts a question near texts about the same things. It learned that from web pages, with the words of a
prefix before each question. This difference (question_encoder.npz, trained by `evals/train/questions.py`) puts it near
the message of a conversation that answers it, and needs no prefix, which was half of what there was to read. Vectors
of texts stay as they are.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from holdfast.domain.types import Floats
from holdfast.models.local import short_text_options
from holdfast.models.reader_network import ReaderNetwork


class QuestionEncoder:
    def vector(self, ids: list[int]) -> Floats:
        """The vector of a question, of length 1, from its tokens."""
        state = self._network.output(ids, [0] * len(ids))[0]
        return np.asarray(state / max(float(np.linalg.norm(state)), 1e-12), np.float32)

    @cached_property
    def _network(self) -> ReaderNetwork:
        return ReaderNetwork("question_encoder", short_text_options)
