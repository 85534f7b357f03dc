"""Vectors from a provider: OpenAI's embeddings, which many servers speak.

openai:text-embedding-3-small/1536        ollama:nomic-embed-text/768        http(s)://host/v1#model/768
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InvalidInput, ModelError
from ...types import Floats
from .breaker import Breaker
from .calling import Line, Manners
from .chat import Usage
from .endpoint import Endpoint, endpoint
from .openai import usage_of
from .wire import Wire

BATCH = 64
SECONDS = 60.0
QUERY_SECONDS = 10.0
_RETRIEVAL = "Represent this sentence for searching relevant passages: "
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", _RETRIEVAL),
    "snowflake-arctic-embed": ("", _RETRIEVAL),
}
"""What some models were trained to see before a text and before a question; no server adds it."""


class RemoteEmbedder:
    """Keeps the promise of ports.Embedder. Calls are retried, broken off and paid for as those of a chat."""

    def __init__(
        self, endpoint: Endpoint, dimensions: int, manners: Manners | None = None, breaker: Breaker | None = None
    ) -> None:
        self._endpoint = endpoint
        self._dimensions = dimensions
        self._wire = Wire(endpoint, {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {})
        self._line = Line(endpoint.name, manners, breaker)
        self._prefixes = _PREFIXES.get(endpoint.model.rpartition("/")[2].partition(":")[0], ("", ""))

    @property
    def model(self) -> str:
        return f"{self._endpoint.name}/{self._dimensions}"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        before = self._prefixes[0]
        found: list[Floats] = []
        for start in range(0, len(texts), BATCH):
            found += await self._embedded([before + text for text in texts[start : start + BATCH]], SECONDS)
        return found

    async def embed_query(self, text: str) -> Floats:
        return (await self._embedded([self._prefixes[1] + text], QUERY_SECONDS))[0]

    async def close(self) -> None:
        await self._wire.close()

    async def _embedded(self, texts: list[str], seconds: float) -> list[Floats]:
        body: dict[str, Any] = {"model": self._endpoint.model, "input": [text or " " for text in texts]}
        if self._endpoint.vendor == "openai" and self._endpoint.model.startswith("text-embedding-3"):
            body["dimensions"] = self._dimensions

        async def once(left: float) -> tuple[Any, Usage]:
            answer = await self._wire.post("/embeddings", body, left)
            usage = usage_of(answer.get("usage") if isinstance(answer, dict) else None, self._endpoint.name, "embed")
            return answer, usage

        return self._vectors(await self._line.tried(seconds, once), len(texts))

    def _vectors(self, answer: Any, count: int) -> list[Floats]:
        try:
            by_index = {each["index"]: each["embedding"] for each in answer["data"]}
            rows = [by_index[n] for n in range(count)]
            if len(answer["data"]) != count:
                raise ValueError("count")
            lengths = {len(row) for row in rows}
            if lengths != {self._dimensions}:
                raise self._wrong_length(lengths)
            matrix = np.array(rows, np.float64)
            with np.errstate(over="ignore"):
                norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._wire.unreadable(f"it is not {count} vectors") from None
        if matrix.shape != (count, self._dimensions) or not np.isfinite(norms).all() or not norms.all():
            raise self._wire.unreadable("a vector has no length or is no vector")
        return list((matrix / norms).astype(np.float32))

    def _wrong_length(self, lengths: set[int]) -> ModelError:
        setting, name = self._endpoint.setting.upper(), self._endpoint.name
        told = ", ".join(str(length) for length in sorted(lengths)[:3])
        fix = f"Write the dimensions of the model at the end of HOLDFAST_{setting}."
        return ModelError(f"{name} makes vectors of {told} numbers where {self._dimensions} were expected.", fix=fix)


def embedder_named(spec: str, key: str | None = None, url: str | None = None) -> RemoteEmbedder:
    """The embedder that a setting names: a model as for HOLDFAST_LLM, a slash and its dimensions."""
    found = re.fullmatch(r"(.+)/(\d{1,5})", spec.strip(), re.DOTALL)
    if found is None or not 1 <= int(found[2]) <= 16_000:
        fix = "Write provider:model/dimensions, such as openai:text-embedding-3-small/1536."
        raise InvalidInput("HOLDFAST_EMBEDDER names no dimensions.", field="embedder", fix=fix)
    where = endpoint(found[1], key, url, setting="embedder")
    if where.dialect != "openai":
        fix = "Choose another provider, or leave the setting out for the embedder that ships."
        raise InvalidInput(
            f"HOLDFAST_EMBEDDER names {where.vendor}, which has no embeddings.", field="embedder", fix=fix
        )
    return RemoteEmbedder(where, int(found[2]))
