"""mem0's open-source library without its language model: every message is kept as it is, in Qdrant on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import DIMENSIONS, Embedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "`Memory.add(infer=False)`, `Memory.search(threshold=0)`; embedded Qdrant on disk; telemetry off. Its keyword "
    "scores and entity boosts want fastembed's and spaCy's models, which are downloaded at run time, and are off."
)
PACKAGES = ("mem0ai", "qdrant-client")
USER = "person"


@dataclass
class Opened:
    memory: Any
    ids: dict[str, str] = field(default_factory=dict)
    """mem0's id of a memory → the workload's id of its message."""


def open(folder: Path, embedder: Embedder) -> Opened:
    from mem0 import Memory
    from mem0.embeddings.base import EmbeddingBase

    class SameEmbedder(EmbeddingBase):  # type: ignore[misc]
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            vector = embedder.embed_query(text) if memory_action == "search" else embedder.embed([text])[0]
            return list(vector.tolist())

        def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
            if memory_action == "search":
                return [self.embed(text, memory_action) for text in texts]
            return list(embedder.embed(texts).tolist())

    unused = {"api_key": "unused"}
    qdrant = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "embedder": {"provider": "openai", "config": unused | {"embedding_dims": DIMENSIONS}},
            "llm": {"provider": "openai", "config": unused},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = SameEmbedder()
    return Opened(memory)


def store(opened: Opened, messages: Sequence[Message]) -> None:
    roles = {"system": "user"}  # it would leave these out
    said = [{"role": roles.get(each.role, each.role), "content": each.text} for each in messages]
    metadata = {"session": messages[0].session, "date": messages[0].date}
    added = opened.memory.add(said, user_id=USER, infer=False, metadata=metadata)["results"]
    for memory, message in zip(added, messages, strict=True):
        opened.ids[memory["id"]] = message.id


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    found = opened.memory.search(question, top_k=limit, filters={"user_id": USER}, threshold=0.0)
    return [(opened.ids[hit["id"]],) for hit in found["results"]]


def close(opened: Opened) -> None:
    opened.memory.vector_store.client.close()
    opened.memory.close()
