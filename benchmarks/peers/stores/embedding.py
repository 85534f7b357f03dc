"""No memory at all: embeds what the others embed and keeps nothing. What it costs is the floor of all others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.embedder import Embedder
from benchmarks.peers.workload import Message

SETTINGS = "Embeds messages and questions, keeps nothing, finds nothing."
PACKAGES = ("onnxruntime",)


def open(folder: Path, embedder: Embedder) -> Embedder:
    return embedder


def store(embedder: Embedder, messages: Sequence[Message]) -> None:
    embedder.embed([message.text for message in messages])


def search(embedder: Embedder, question: str, limit: int) -> list[tuple[str, ...]]:
    embedder.embed_query(question)
    return []


def close(embedder: Embedder) -> None:
    pass
