"""The embedders that ship in the wheel. Weights load at first use; nothing is ever downloaded.

`ArcticEmbedder` (snowflake-arctic-embed-s, int8) is the default; `PotionEmbedder` (potion-base-8M, static vectors) is
two hundred times cheaper and finds less. docs/results has the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import statics
from ..statics import weight
from ..types import Floats
from ..wordpiece import WordPiece
from .sessions import session_options

if TYPE_CHECKING:
    from ..outdated import Pair
    from .reader import StatementReader
    from .rules.judge import Sentence

Read = TypeVar("Read")

_BATCH_TEXTS, _BATCH_TOKENS = 16, 512
"""How much is run through the network together. Short texts gain by company; beyond a passage's length, the working
memory of a batch leaves the cache, and 16 passages took twice the time and four times the memory of one by one."""
# One thread for all local inference: onnxruntime and BLAS on two shared cores were up to 25 times slower with two.
inference = ThreadPoolExecutor(1, "holdfast-model")


class ArcticEmbedder:
    """384 dimensions, 512 tokens, the CLS token's state. Queries need the prefix: without it recall halves."""

    model = "local/snowflake-arctic-embed-s-int8/384"
    prefix = "Represent this sentence for searching relevant passages: "
    _longest = 510

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return await asyncio.get_running_loop().run_in_executor(inference, self._embedded, list(texts))

    async def embed_query(self, text: str) -> Floats:
        return (await self.embed([self.prefix + text]))[0]

    async def odds(self, pairs: Sequence[Pair]) -> list[float]:
        """As `outdated.Reader`: its layers, taught to read two statements together."""
        return await self._read(lambda: [self._reader.odds(pair) for pair in pairs])

    async def classes(self, sentences: Sequence[Sentence]) -> list[Floats]:
        """As the `Reader` of the rules' judge: the same, taught to read a sentence with what is around it."""
        return await self._read(lambda: [self._reader.classes(sentence) for sentence in sentences])

    async def _read(self, reading: Callable[[], list[Read]]) -> list[Read]:
        return await asyncio.get_running_loop().run_in_executor(inference, reading)

    @cached_property
    def _reader(self) -> StatementReader:
        from .reader import StatementReader

        return StatementReader()

    @cached_property
    def _pieces(self) -> WordPiece:
        return WordPiece(weight("arctic-embed-s/vocab.txt"))

    @cached_property
    def _session(self) -> Any:
        options = session_options()
        import onnxruntime

        path = str(weight("arctic-embed-s/model.onnx"))
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def _embedded(self, texts: list[str]) -> list[Floats]:
        pieces = self._pieces
        ids = [[pieces.start, *pieces.ids(text)[: self._longest], pieces.end] for text in texts]
        found: list[Floats] = [np.zeros(0, np.float32)] * len(texts)
        for batch in _batches([len(each) for each in ids]):
            longest = len(ids[batch[-1]])
            tokens = np.array([ids[n] + [0] * (longest - len(ids[n])) for n in batch], np.int64)
            mask = np.array([[1] * len(ids[n]) + [0] * (longest - len(ids[n])) for n in batch], np.int64)
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            state = self._session.run(None, inputs)[0][:, 0]
            for n, row in zip(batch, _unit(state), strict=True):
                found[n] = row
        return found


class PotionEmbedder:
    """256 dimensions: the mean of static token vectors."""

    model = "local/potion-base-8M/256"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return await asyncio.get_running_loop().run_in_executor(inference, self._embedded, list(texts))

    async def embed_query(self, text: str) -> Floats:
        return (await self.embed([text]))[0]

    def _embedded(self, texts: list[str]) -> list[Floats]:
        pieces = statics.vocabulary()
        found = []
        for text in texts:
            ids = [id for id in pieces.ids(text) if id != pieces.unknown]
            found.append(statics.table()[ids or [pieces.unknown]].mean(0))
        return list(_unit(np.array(found)))


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Which texts go together: those of about the same length, so that little is padding."""
    batch: list[int] = []
    for n in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _BATCH_TEXTS or (len(batch) + 1) * lengths[n] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def _unit(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-12), np.float32)
