"""Fakes of what Holdfast is given: an embedder, an extractor, a clock."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from .. import words
from ..ports import Keys, no_keys
from ..types import Draft, Floats, Message


class HashingEmbedder:
    """Texts that share words are near each other. No weights, no meaning."""

    model = "test/hashing/64"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Floats:
        return self._vector(text)

    def _vector(self, text: str) -> Floats:
        vector = np.zeros(64, np.float32)
        for word in words.tokens(text):
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % 64] += 1 if digest[1] % 2 else -1
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else np.eye(1, 64, dtype=np.float32)[0]


class ScriptedExtractor:
    """Says what it was told to say: a list of drafts, or an exception, for each text it knows."""

    name = "scripted/1"

    def __init__(self, script: dict[str, list[Draft] | Exception] | None = None) -> None:
        self.script = script or {}
        self.seen: list[Message] = []

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: Keys = no_keys
    ) -> list[Draft]:
        self.seen += messages
        drafts: list[Draft] = []
        for message in messages:
            said = self.script.get(message.content, [])
            if isinstance(said, Exception):
                raise said
            drafts += [draft if draft.sources else _resting(draft, message) for draft in said]
        return drafts


def _resting(draft: Draft, message: Message) -> Draft:
    from dataclasses import replace

    return replace(draft, sources=(message.id,))


class FrozenClock:
    """A clock that moves only when told."""

    def __init__(self, at: datetime = datetime(2025, 3, 4, 12, tzinfo=UTC)) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def advance(self, by: timedelta) -> None:
        self.at += by
