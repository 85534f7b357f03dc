"""memsearch: Markdown files, one per session with a heading per message, indexed in Milvus Lite."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import DIMENSIONS, Embedder, OneWayEmbedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "`MemSearch` with Milvus Lite; a session is a Markdown file with a heading per message; a message is appended, and "
    "`index_file` embeds what is new. Hybrid search (vectors and BM25) as by default, no reranker. "
    "Milvus is told to flush once, after filling, which memsearch does not do: until there are 128 MiB, rows stay in a "
    "form that makes a search of 10,000 messages take about a second."
)
PACKAGES = ("memsearch", "milvus-lite", "pymilvus")


@dataclass
class Opened:
    memory: Any
    folder: Path
    runner: asyncio.Runner
    embedder: OneWayEmbedder
    lines: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    """File → (first line, id) of its messages, in order."""
    lengths: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    flushed: bool = False


class Provider:
    """The embedder as memsearch wants it."""

    model_name = "arctic-embed-s"
    dimension = DIMENSIONS
    batch_size = 64

    def __init__(self, embedder: OneWayEmbedder) -> None:
        self._embedder = embedder

    async def embed(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed(texts)


def open(folder: Path, embedder: Embedder) -> Opened:
    from memsearch import MemSearch, core

    same = OneWayEmbedder(embedder)
    core.get_provider = lambda *_, **__: Provider(same)
    notes = folder / "notes"
    notes.mkdir()
    memory = MemSearch([notes], milvus_uri=str(folder / "milvus.db"))
    return Opened(memory, notes, asyncio.Runner(), same)


def store(opened: Opened, messages: Sequence[Message]) -> None:
    path = opened.folder / f"{sha256(messages[0].session.encode()).hexdigest()[:16]}.md"
    name = str(path.resolve())
    written = ""
    for message in messages:
        section = f"### {message.speaker or message.role}\n{message.content}\n\n"
        opened.lines[name].append((opened.lengths[name] + 1, message.id))
        opened.lengths[name] += section.count("\n")
        written += section
    with path.open("a", encoding="utf-8") as file:
        file.write(written)
    opened.runner.run(opened.memory.index_file(path))


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    with opened.embedder.asking():
        hits = opened.runner.run(opened.memory.search(question, top_k=limit))
    return [(_message_at(opened.lines[hit["source"]], hit["start_line"]),) for hit in hits]


def _message_at(lines: list[tuple[int, str]], line: int) -> str:
    return lines[bisect_right(lines, line, key=lambda each: each[0]) - 1][1]


def settle(opened: Opened) -> None:
    if not opened.flushed:
        index = opened.memory._store
        index._connected_client().flush(index._collection)
        opened.flushed = True


def close(opened: Opened) -> None:
    opened.memory.close()
    opened.runner.close()
