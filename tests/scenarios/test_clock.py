"""The clock is set back while a profile is in use: writes, supersession, leases, expiry and retention go on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from holdfast import AsyncHoldfast
from holdfast.domain.types import Draft
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import message, written
from support.vaults import on_every_backend, open_vault

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@on_every_backend
async def test_writes_and_supersession_follow_the_order_of_calls(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    extractor = ScriptedExtractor({"moved": [Draft("fact", "Lives in Lisbon", (), key="home")]})
    with open_vault(backend, tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), extractor, clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.remember("Lives in Porto", key="home")
            await ana.ingest([{"role": "user", "content": "hello"}], session_id="s")
            clock.advance(-3 * DAY)
            second = await ana.remember("Lives in Braga", key="home")
            await ana.ingest([{"role": "user", "content": "hello again"}], session_id="s")
            assert await ana.settle(120)
            assert [each.content for each in (await ana.list(key="home")).items] == ["Lives in Braga"]
            assert [each.content for each in await ana.history(second.id)] == ["Lives in Braga", "Lives in Porto"]
            assert [each.content for each in await ana.messages("s")] == ["hello", "hello again"]
            await ana.ingest([{"role": "user", "content": "We moved to Lisbon"}], session_id="s")
            assert await ana.settle(120)
            assert (await ana.stats()).pending == 0
            assert (await ana.search("again", limit=1))[0].content == "hello again"


@on_every_backend
async def test_what_expires_and_what_rules_take_follow_the_clock(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_vault(backend, tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.remember("of the future", kind="note")
            await ana.set_retention({"forget": [{"kind": "note", "older_than": "1d"}]})
            clock.advance(-10 * DAY)
            await ana.remember("of the past", kind="note")
            await ana.apply_retention()
            assert {each.content for each in (await ana.list()).items} == {"of the future", "of the past"}
            clock.advance(2 * DAY)
            await ana.apply_retention()
            assert {each.content for each in (await ana.list()).items} == {"of the future"}
            clock.advance(10 * DAY)
            await ana.apply_retention()
            assert (await ana.list()).items == ()


async def test_a_lease_of_a_dead_process_ends_even_when_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = FrozenClock()
    vault = SqliteVault(tmp_path)
    await vault.create_namespace("app")
    store = await vault.open("app", "ana", create=True)
    await store.apply(written(message("hello")))
    assert len(await store.claim(now=clock.at, lease=5 * HOUR, limit=10)) == 1
    assert await store.claim(now=clock.at - DAY, lease=HOUR, limit=10) == []
    await vault.close()
    clock.advance(-30 * DAY)
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor(), clock) as holdfast:
        ana = holdfast.profile("app", "ana")
        assert await ana.settle(120)
        assert (await ana.stats()).pending == 0
