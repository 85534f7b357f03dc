"""Many writers on few keys: no update is lost, and every key has one current memory."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import Stale
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.vaults import open_vault

WRITERS, KEYS = 8, 10


async def race_writers(backend: str, path: Path, writes: int) -> None:
    """Each write reads a number, thinks for a moment, and writes the next one if nobody was faster."""
    with open_vault(backend, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as holdfast:
            ana = holdfast.profile("app", "ana")
            for n in range(KEYS):
                await ana.remember(f"count {n}", kind="count", key=f"count-{n}", value=0, embed=False)
            done = [0] * KEYS

            async def write(dice: random.Random) -> None:
                for _ in range(writes // WRITERS):
                    n = dice.randrange(KEYS)
                    while True:
                        (head,) = (await ana.list(kind="count", key=f"count-{n}")).items
                        await asyncio.sleep(dice.random() * 0.002)  # a model decides
                        try:
                            await ana.revise(head.id, etag=head.etag, value=head.value + 1)
                        except Stale:
                            continue
                        done[n] += 1
                        break

            await asyncio.gather(*(write(random.Random(n)) for n in range(WRITERS)))
            heads = (await ana.list(kind="count", limit=100)).items
            assert sorted(str(head.key) for head in heads) == sorted(f"count-{n}" for n in range(KEYS))
            assert {head.key: head.value for head in heads} == {f"count-{n}": done[n] for n in range(KEYS)}
            assert sum(done) == writes
            for head in heads:
                versions = await ana.history(head.id)
                assert [version.value for version in versions] == list(range(head.value, -1, -1))


@pytest.mark.parametrize("backend", ["memory", "files", "database"])
async def test_no_update_is_lost(backend: str, tmp_path: Path) -> None:
    await race_writers(backend, tmp_path, 160)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", ["files", "database"])
async def test_none_of_five_thousand_updates_is_lost(backend: str, tmp_path: Path) -> None:
    await race_writers(backend, tmp_path, 5000)
