"""An embedder that calls a provider through OpenAI's embeddings API, which many servers offer.

openai:text-embedding-3-small/1536        ollama:nomic-embed-text/768        http(s)://host/v1#model/768
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.domain.errors import InvalidInput, ModelError
from holdfast.domain.types import Floats
from holdfast.models.llm.chat import Usage
from holdfast.models.llm.circuit_breaker import CircuitBreaker
from holdfast.models.llm.endpoint import Endpoint, parse_endpoint
from holdfast.models.llm.http import EndpointClient
from holdfast.models.llm.openai import reported_usage
from holdfast.models.llm.retry import RetryingCaller, RetryPolicy
from holdfast.text.redaction import redacted_text

MAX_BATCH_TEXTS = 64
BATCH_SECONDS = 60.0
QUERY_SECONDS = 10.0
"""Texts per request; seconds for a batch, and for a question that a caller is waiting for.
Chosen by hand; not measured."""
_RETRIEVAL_PREFIX = "Represent this sentence for searching relevant passages: "
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", _RETRIEVAL_PREFIX),
    "snowflake-arctic-embed": ("", _RETRIEVAL_PREFIX),
}
"""The prefixes that some models were trained with, for a text and for a question; no server adds them."""


class RemoteEmbedder:
    """An Embedder on a server. Its calls are retried, limited and charged as those of a chat, and hold no secrets."""

    def __init__(
        self,
        endpoint: Endpoint,
        dimensions: int,
        manners: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._dimensions = dimensions
        self._client = EndpointClient(endpoint, {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {})
        self._caller = RetryingCaller(endpoint.name, manners, breaker)
        self._prefixes = _PREFIXES.get(endpoint.model.rpartition("/")[2].partition(":")[0], ("", ""))

    @property
    def model(self) -> str:
        return f"{self._endpoint.name}/{self._dimensions}"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        prefix = self._prefixes[0]
        vectors: list[Floats] = []
        for start in range(0, len(texts), MAX_BATCH_TEXTS):
            vectors += await self._embed(
                [prefix + redacted_text(text) for text in texts[start : start + MAX_BATCH_TEXTS]], BATCH_SECONDS
            )
        return vectors

    async def embed_query(self, text: str) -> Floats:
        return (await self._embed([self._prefixes[1] + redacted_text(text)], QUERY_SECONDS))[0]

    async def close(self) -> None:
        await self._client.close()

    async def _embed(self, texts: list[str], seconds: float) -> list[Floats]:
        body: dict[str, Any] = {"model": self._endpoint.model, "input": [text or " " for text in texts]}
        if self._endpoint.vendor == "openai" and self._endpoint.model.startswith("text-embedding-3"):
            body["dimensions"] = self._dimensions

        async def attempt(left: float) -> tuple[Any, Usage]:
            answer = await self._client.post("/embeddings", body, left)
            usage = reported_usage(
                answer.get("usage") if isinstance(answer, dict) else None, self._endpoint.name, "embed"
            )
            return answer, usage

        return self._vectors(await self._caller.run(seconds, attempt), len(texts))

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
            raise self._client.unreadable(f"it is not {count} vectors") from None
        if matrix.shape != (count, self._dimensions) or not np.isfinite(norms).all() or not norms.all():
            raise self._client.unreadable("a vector has length zero or is not a vector")
        return list((matrix / norms).astype(np.float32))

    def _wrong_length(self, lengths: set[int]) -> ModelError:
        setting, name = self._endpoint.setting.upper(), self._endpoint.name
        shown = ", ".join(str(length) for length in sorted(lengths)[:3])
        fix = f"Write the dimensions of the model at the end of HOLDFAST_{setting}."
        return ModelError(f"{name} returns vectors of {shown} numbers; {self._dimensions} were expected.", fix=fix)


def embedder_from_setting(spec: str, key: str | None = None, url: str | None = None) -> RemoteEmbedder:
    """Builds the embedder that a setting names: a model as in HOLDFAST_LLM, a slash and its dimensions."""
    match = re.fullmatch(r"(.+)/(\d{1,5})", spec.strip(), re.DOTALL)
    if match is None or not 1 <= int(match[2]) <= 16_000:
        fix = "Write provider:model/dimensions, such as openai:text-embedding-3-small/1536."
        raise InvalidInput("HOLDFAST_EMBEDDER does not state the dimensions of the model.", field="embedder", fix=fix)
    where = parse_endpoint(match[1], key, url, setting="embedder")
    if where.dialect != "openai":
        fix = "Choose another provider, or leave the setting out for the built-in embedder."
        raise InvalidInput(f"HOLDFAST_EMBEDDER is {where.vendor}, which has no embeddings.", field="embedder", fix=fix)
    return RemoteEmbedder(where, int(match[2]))
