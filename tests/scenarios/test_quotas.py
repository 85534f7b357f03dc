"""Quotas of profiles and namespaces: a write beyond one is refused with what is held, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import InvalidInput, QuotaExceeded
from holdfast.service.quotas import Quotas, parse_quota
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.vaults import on_every_backend, open_vault


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def quotas(profile: str = "", namespace: str = "") -> Quotas:
    return Quotas(parse_quota(profile, "profile_quota"), parse_quota(namespace, "namespace_quota"))


@on_every_backend
async def test_a_profile_holds_no_more_than_its_quota(backend: str, tmp_path: Path) -> None:
    with open_vault(backend, tmp_path) as vault:
        limits = quotas("messages=3, memories=2")
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), quotas=limits) as holdfast:
            ana, ben = holdfast.profile("app", "ana"), holdfast.profile("app", "ben")
            await ana.ingest(said("one", "two"))
            with pytest.raises(QuotaExceeded, match=r"app/ana holds 2 messages, and 2 more .* quota of 3"):
                await ana.ingest(said("three", "four"))
            assert len(await ana.messages()) == 2
            assert len((await ana.ingest(said("one", "two"))).messages) == 2  # repeating is safe
            first = await ana.remember("first", idempotency_key="r1")
            await ana.remember("second")
            for write in (ana.remember("third"), ana.ingest(said("three")), ana.revise(first.id, content="other")):
                with pytest.raises(QuotaExceeded, match="memories"):
                    await write
            assert (await ana.remember("first", idempotency_key="r1")).id == first.id
            await ana.forget(first.id)
            await ana.remember("third")
            await ben.remember("another profile has a quota of its own")


@on_every_backend
async def test_a_namespace_holds_no_more_than_its_quota(backend: str, tmp_path: Path) -> None:
    with open_vault(backend, tmp_path) as vault:
        limits = quotas(namespace="memories=3, profiles=2")
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), quotas=limits) as holdfast:
            for name in ("ana", "ben"):
                await holdfast.profile("app", name).remember("one")
            with pytest.raises(QuotaExceeded, match="profiles"):
                await holdfast.profile("app", "eve").remember("one")
            await holdfast.profile("app", "ana").remember("two")
            with pytest.raises(QuotaExceeded, match=r"namespace app holds 3 memories"):
                await holdfast.profile("app", "ben").remember("two")
            await holdfast.profile("other", "eve").remember("one")


async def test_an_archive_is_refused_before_anything_of_it_is_written(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path / "a", embedder=HashingEmbedder()) as source:
        for n in range(5):
            await source.profile("app", "ana").remember(f"thing {n}")
        await source.profile("app", "ana").export_to(tmp_path / "archive.jsonl")
    async with await AsyncHoldfast.open(
        tmp_path / "b", embedder=HashingEmbedder(), profile_quota="memories=3"
    ) as target:
        with pytest.raises(QuotaExceeded):
            await target.profile("app", "ana").import_from(tmp_path / "archive.jsonl")
        assert (await target.profile("app", "ana").list()).items == ()


def test_a_quota_is_written_with_units() -> None:
    quota = parse_quota("messages=10, bytes=1.5GB", "profile_quota")
    assert (quota.messages, quota.bytes, quota.memories) == (10, 1_500_000_000, None)
    for wrong in ("messages", "words=3", "messages=-1", "messages=3GB", "bytes=3 parsecs"):
        with pytest.raises(InvalidInput, match="profile_quota"):
            parse_quota(wrong, "profile_quota")
