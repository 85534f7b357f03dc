"""Digestion embeds each text once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.domain.types import Floats
from holdfast.models.local import ArcticEmbedder


class CountingEmbedder(ArcticEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.texts = Counter[str]()

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        self.texts.update(texts)
        return await super().embed(texts)


async def test_a_memory_keeps_the_vector_it_was_compared_with(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    async with await AsyncHoldfast.open(tmp_path, embedder=embedder) as memory:
        profile = memory.profile("app", "mia")
        said = "Our boat is in the harbour of Setúbal and needs a new sail."
        await profile.ingest([{"role": "user", "content": said}], session_id="s", wait=True)
        stored = await _memory_vectors(memory, profile)
    assert stored
    assert set(embedder.texts.values()) == {1}
    for content, vector in stored:
        assert embedder.texts[content] == 1
        assert (await embedder.embed([content]))[0] @ vector > 0.98


async def _memory_vectors(memory: AsyncHoldfast, profile: LocalProfile) -> list[tuple[str, Floats]]:
    store = await memory.runtime.vault.open(profile.namespace, profile.name, create=False)
    memories = (await store.scan(None, now=None, limit=100)).items
    return [
        (each.content, vector.values)
        for each in memories
        for _, vector in await store.indexed([each.id])
        if vector is not None
    ]
