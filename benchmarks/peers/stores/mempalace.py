"""MemPalace: every message is a drawer in its default palace, Chroma on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import Embedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "The palace's collection (Chroma, the default backend) through `mempalace.palace.get_collection`, as its miners "
    "write; a message is a drawer. `search_memories` with the candidate strategy `union`, which finds more than the "
    "default at twice its cost."
)
PACKAGES = ("mempalace", "chromadb")


@dataclass
class Opened:
    collection: Any
    palace: str
    places: Counter[str] = field(default_factory=Counter)
    """Session → how many drawers it has."""


def open(folder: Path, embedder: Embedder) -> Opened:
    from chromadb import EmbeddingFunction
    from mempalace import embedding, palace

    class SameEmbedder(EmbeddingFunction):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def __call__(self, input: list[str]) -> list[Any]:
            return list(embedder.embed(input))

        def embed_query(self, input: list[str]) -> list[Any]:
            return [embedder.embed_query(text) for text in input]

        @staticmethod
        def name() -> str:
            return "default"

    same = SameEmbedder()
    embedding.get_embedding_function = lambda *_, **__: same
    path = str(folder / "palace")
    return Opened(palace.get_collection(path, create=True), path)


def store(opened: Opened, messages: Sequence[Message]) -> None:
    filed, metadatas = datetime.now(UTC).isoformat(), []
    for message in messages:
        place = {"wing": "person", "room": "conversations", "source_file": message.session, "added_by": "bench"}
        metadatas.append(place | {"chunk_index": opened.places[message.session], "filed_at": filed, "said": message.id})
        opened.places[message.session] += 1
    texts = [message.text for message in messages]
    opened.collection.upsert(ids=[message.id for message in messages], documents=texts, metadatas=metadatas)


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    from mempalace.searcher import search_memories

    found = search_memories(question, opened.palace, n_results=limit, candidate_strategy="union")
    if "error" in found:
        raise RuntimeError(found["error"])
    return [(hit["drawer_id"],) for hit in found["results"]]


def close(opened: Opened) -> None:
    from mempalace.palace import get_backend_for_palace

    get_backend_for_palace(opened.palace).close()
