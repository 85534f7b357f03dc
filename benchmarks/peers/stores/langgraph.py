"""LangGraph's persistent store: SQLite with sqlite-vec."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import DIMENSIONS, Embedder, OneWayEmbedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "`SqliteStore` on a file, with an index over the field `text`; a session is put with one `batch`. SQLite from the "
    "package pysqlite3-binary where Python's own cannot load extensions."
)
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec")
NAMESPACE = ("memories", "person")


@dataclass
class Opened:
    store: Any
    embedder: OneWayEmbedder
    open_files: ExitStack


def open(folder: Path, embedder: Embedder) -> Opened:
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.modules["sqlite3"] = import_module("pysqlite3")
    from langgraph.store.sqlite import SqliteStore

    same = OneWayEmbedder(embedder)
    files = ExitStack()
    # `fields` is the documented name; this version reads `text_fields`, and would embed the whole value without it.
    index = {"dims": DIMENSIONS, "embed": same.embed, "fields": ["text"], "text_fields": ["text"]}
    store = files.enter_context(SqliteStore.from_conn_string(str(folder / "store.db"), index=index))
    store.setup()
    return Opened(store, same, files)


def store(opened: Opened, messages: Sequence[Message]) -> None:
    from langgraph.store.base import PutOp

    opened.store.batch(
        [
            PutOp(NAMESPACE, each.id, {"text": each.text, "session": each.session, "date": each.date})
            for each in messages
        ]
    )


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    with opened.embedder.asking():
        return [(item.key,) for item in opened.store.search(NAMESPACE, query=question, limit=limit)]


def close(opened: Opened) -> None:
    opened.open_files.close()
