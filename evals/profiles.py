"""Fill profiles with a case's sessions as a user would, and remember which message is which."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from datetime import date
from typing import Any, TypeVar

import numpy as np

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.domain.ports.models import Embedder, ReadAnswer, ReadPassage
from holdfast.domain.types import Floats
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules.judge import ReadableSentence
from holdfast.text.supersession import EndingCandidate, ReadEnding

from .data.benchmarks import Case
from .paths import CACHE

Read = TypeVar("Read")


class CachedEmbedder:
    """An embedder that keeps the vectors of texts on disk: quality runs embed the same ones again and again."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model = inner.model
        CACHE.mkdir(exist_ok=True)
        self._db = sqlite3.connect(CACHE / f"{inner.model.replace('/', '_')}.db", check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")  # what a crash loses is computed again
        self._db.execute("CREATE TABLE IF NOT EXISTS vector (text BLOB PRIMARY KEY, data BLOB)")

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        found = {text: self._held(text) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            for text, vector in zip(missing, await self._inner.embed(missing), strict=True):
                found[text] = vector
                self._keep(text, vector)
            self._db.commit()
        return [vector for text in texts if (vector := found[text]) is not None]

    async def embed_query(self, text: str) -> Floats:
        return await self._inner.embed_query(text)

    def _held(self, text: str) -> Floats | None:
        row = self._db.execute("SELECT data FROM vector WHERE text = ?", (_name(text),)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float16).astype(np.float32)

    def _keep(self, text: str, vector: Floats) -> None:
        self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (_name(text), vector.astype("f2").tobytes()))


class CachedReader(CachedEmbedder):
    """One that reads too; what it reads is not kept, but timed."""

    def __init__(self, inner: ArcticEmbedder) -> None:
        super().__init__(inner)
        self._reader = inner
        self.cpu = 0.0

    async def read_endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        return await self._timed(self._reader.read_endings(text, before, candidates))

    async def classes(self, sentences: Sequence[ReadableSentence]) -> list[Floats]:
        return await self._timed(self._reader.classes(sentences))

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        return await self._reader.read_answer(question, asked, passages)

    async def _timed(self, reading: Awaitable[Read]) -> Read:
        start = time.process_time()
        found = await reading
        self.cpu += time.process_time() - start
        return found


def cached_embedder(embedder: Embedder) -> CachedEmbedder:
    return CachedReader(embedder) if isinstance(embedder, ArcticEmbedder) else CachedEmbedder(embedder)


def _name(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@asynccontextmanager
async def open_memory(embedder: Embedder | str, **settings: Any) -> AsyncIterator[AsyncHoldfast]:
    with tempfile.TemporaryDirectory() as folder:
        memory = await AsyncHoldfast.open(folder, embedder=embedder, **settings)
        try:
            yield memory
        finally:
            await memory.close()


async def filled_profile(memory: AsyncHoldfast, case: Case) -> tuple[LocalProfile, dict[str, str]]:
    """A profile holding the case's sessions, digested; and our message ids → the set's."""
    profile = memory.profile(case.set, case.id)
    names: dict[str, str] = {}
    for session in case.sessions:
        messages = [message_body(message, session["date"]) for message in session["messages"]]
        receipt = await profile.ingest(messages, session_id=session["id"][:64])
        for written, message in zip(receipt.messages, session["messages"], strict=True):
            names.setdefault(written.id, message["id"])
    await profile.settle()
    return profile, names


def message_body(held: dict[str, Any], date: str) -> dict[str, Any]:
    message = {"role": held["role"], "content": held["content"], "timestamp": held.get("timestamp", date)}
    return message | {"speaker": held["speaker"]} if held.get("speaker") else message
