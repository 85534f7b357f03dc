"""Holdfast as its README shows it: one profile in a folder, default settings, no language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import Embedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "The library with default settings, which include extraction of memories in the background, encryption and full "
    "sync; speakers and dates in their fields. Its own copy of the embedder."
)
PACKAGES = ("holdfast",)
EMBEDS_ITSELF = True


@dataclass
class Opened:
    memory: Any
    profile: Any
    ids: dict[str, str] = field(default_factory=dict)
    """Holdfast's id of a message → the workload's."""


def open(folder: Path, embedder: Embedder) -> Opened:
    from holdfast import Holdfast

    memory = Holdfast.open(folder)
    return Opened(memory, memory.profile("bench", "person"))


def store(opened: Opened, messages: Sequence[Message]) -> None:
    said = [
        {"role": each.role, "content": each.content, "timestamp": each.date}
        | ({"speaker": each.speaker} if each.speaker else {})
        for each in messages
    ]
    receipt = opened.profile.ingest(said, session_id=messages[0].session)
    for written, message in zip(receipt.messages, messages, strict=True):
        opened.ids[written.id] = message.id


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    hits = opened.profile.search(question, limit=limit)
    quoted = [hit.sources or (hit.message_id,) for hit in hits]
    return [tuple(opened.ids[id] for id in ids if id in opened.ids) for ids in quoted]


def settle(opened: Opened) -> None:
    opened.profile.settle()


def close(opened: Opened) -> None:
    opened.memory.close()
