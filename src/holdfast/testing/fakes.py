"""Fakes of the parts that Holdfast is configured with: an embedder, an extractor, a clock."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Floats, Message
from holdfast.text import tokens


class HashingEmbedder:
    """An embedder that hashes words: texts that share words have similar vectors. It does not know meanings."""

    model = "test/hashing/64"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Floats:
        return self._vector(text)

    def _vector(self, text: str) -> Floats:
        vector = np.zeros(64, np.float32)
        for word in tokens.tokens(text):
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % 64] += 1 if digest[1] % 2 else -1
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else np.eye(1, 64, dtype=np.float32)[0]


class ScriptedExtractor:
    """Returns the scripted result for each message's content: a list of drafts, or an exception to raise."""

    name = "scripted/1"

    def __init__(self, script: dict[str, list[Draft] | Exception] | None = None) -> None:
        self.script = script or {}
        self.seen: list[Message] = []

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        self.seen += messages
        drafts: list[Draft] = []
        for message in messages:
            scripted = self.script.get(message.content, [])
            if isinstance(scripted, Exception):
                raise scripted
            drafts += [draft if draft.sources else _with_source(draft, message) for draft in scripted]
        return drafts


def _with_source(draft: Draft, message: Message) -> Draft:
    return replace(draft, sources=(message.id,))


class FrozenClock:
    """A clock that moves only by `advance`."""

    def __init__(self, at: datetime = datetime(2025, 3, 4, 12, tzinfo=UTC)) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def advance(self, by: timedelta) -> None:
        self.at += by
