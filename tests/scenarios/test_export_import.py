"""Export and import as a user meets them: in Python, far away, without an event loop, and from the command line."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import (
    AsyncHoldfast,
    Damaged,
    Forbidden,
    Holdfast,
    InvalidInput,
    NotFound,
)
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.cli import main
from holdfast.domain.credentials import RIGHTS
from holdfast.domain.types import Draft
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.paths import VENDOR_EXPORTS

ROME: dict[str, list[Draft] | Exception] = {"I live in Rome.": [Draft("fact", "Lives in Rome.", (), key="home")]}


@asynccontextmanager
async def both(*rights: str) -> AsyncIterator[tuple[AsyncHoldfast, RemoteHoldfast, str]]:
    """A Holdfast, and the same from far away."""
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor(ROME)) as here:
        _, token = await here.access.issue("key" if rights else "admin", "test", rights or RIGHTS)
        async with http_server(here) as url, RemoteHoldfast(url, token) as far:
            yield here, far, url


async def lived_in(profile: Any) -> None:
    await profile.ingest([{"role": "user", "content": "I live in Rome.", "speaker": "Ana \u2028"}], session_id="s")
    await profile.remember("Likes tea", key="drink", value={"tea": "green"})
    await profile.remember("Likes coffee", key="drink")
    assert await profile.settle(120)


async def test_far_away_gives_the_same_archive_and_takes_it_back(tmp_path: Path) -> None:
    async with both() as (here, far, _):
        await lived_in(here.profile("app", "ana"))
        one = await here.profile("app", "ana").export_to(tmp_path / "here.jsonl", vectors=True)
        two = await far.profile("app", "ana").export_to(tmp_path / "far.jsonl.gz", vectors=True)
        assert one == two
        assert gzip.decompress((tmp_path / "far.jsonl.gz").read_bytes()) == (tmp_path / "here.jsonl").read_bytes()
        await here.delete_namespace("app")
        told = await far.profile("app", "ana").import_from(tmp_path / "far.jsonl.gz", dry_run=True)
        assert (told.messages, told.memories, told.dry_run) == (1, 3, True)
        assert await here.namespaces() == []
        done = await far.profile("app", "ana").import_from(tmp_path / "far.jsonl.gz")
        assert (done.messages, done.memories, done.conflicts) == (1, 3, ())
        await here.profile("app", "ana").export_to(tmp_path / "again.jsonl", vectors=True)
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


async def test_far_away_refuses_what_is_damaged_and_who_may_not(tmp_path: Path) -> None:
    async with both("read") as (here, far, url):
        await lived_in(here.profile("app", "ana"))
        _, admin = await here.access.issue("admin", "test", RIGHTS)
        ana = far.profile("app", "ana")
        await ana.export_to(tmp_path / "a.jsonl")
        with pytest.raises(Forbidden):
            await ana.import_from(tmp_path / "a.jsonl")
        async with RemoteHoldfast(url, admin) as allowed:
            (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes()[:-90])
            with pytest.raises((Damaged, InvalidInput)):
                await allowed.profile("app", "bob").import_from(tmp_path / "b.jsonl")
            assert [each.name for each in await here.profiles("app")] == ["ana"]
            with pytest.raises(NotFound):
                await allowed.profile("app", "nobody").export_to(tmp_path / "c.jsonl")
            assert not (tmp_path / "c.jsonl").exists()


async def test_other_exports_come_in_from_far_away_too(tmp_path: Path) -> None:
    async with both() as (here, far, url):
        done = await far.profile("app", "ana").import_from(VENDOR_EXPORTS / "claude.json")
        assert (done.messages, done.known) == (4, 0)
        assert (await far.profile("app", "ana").import_from(VENDOR_EXPORTS / "notes")).memories == 3
        _, admin = await here.access.issue("admin", "test", RIGHTS)
        async with httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {admin}"}, timeout=120) as web:
            place = "/v1/namespaces/app/profiles/ana/import"
            body = (VENDOR_EXPORTS / "claude.json").read_bytes()
            answer = await web.post(place, content=body, params={"format": "claude"})
            assert answer.json()["known"] == 4
            assert (await web.post(place, content=b"nonsense")).status_code == 400
            big = b"[" + b" " * 40_000_000 + b"]"  # more than other requests may carry
            assert (await web.post(place, content=big)).status_code == 400


async def test_a_profile_can_be_poured_into_an_open_file() -> None:
    async with both() as (here, _, _):
        await lived_in(here.profile("app", "ana"))
        held = io.BytesIO()
        done = await here.profile("app", "ana").export_to(held)
        assert done.bytes == len(held.getvalue())
        assert (await here.profile("app", "bob").import_from(held)).memories == 3


def test_the_blocking_front_has_both(tmp_path: Path) -> None:
    heard: list[int] = []
    with Holdfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        for n in range(600):
            ana.remember(f"note {n}", kind="note")
        done = ana.export_to(tmp_path / "ana.jsonl", seen=heard.append)
        assert (done.memories, heard) == (600, [500])
        back = memory.profile("app", "bob").import_from(str(tmp_path / "ana.jsonl"), seen=heard.append)
        assert (back.memories, heard) == (600, [500, 200, 400, 600])
        with pytest.raises(InvalidInput, match="folder"):
            ana.export_to(tmp_path)


# The commands


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    return str(tmp_path / "data")


def test_the_commands_carry_a_profile_to_another_folder(
    data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    archive, other = str(tmp_path / "p.jsonl.gz"), str(tmp_path / "other")
    assert main(["remember", "Likes tea", "--key", "drink"]) == 0
    assert main(["remember", "Likes coffee", "--key", "drink"]) == 0
    capfdbinary.readouterr()
    assert main(["export", archive, "--json"]) == 0
    told = json.loads(capfdbinary.readouterr().out)
    assert (told["memories"], told["file"]) == (2, archive)
    assert main(["verify", archive, "--json"]) == 0
    checked = json.loads(capfdbinary.readouterr().out)
    assert (checked["ok"], checked["sha256"]) == (True, told["sha256"])
    assert main(["import", archive, "--data", other, "--dry-run"]) == 0
    assert b"Would import 0 messages and 2 memories" in capfdbinary.readouterr().out
    assert not (Path(other) / "profiles").exists() or not list((Path(other) / "profiles").rglob("*.db"))
    assert main(["import", archive, "--data", other, "--json"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["memories"] == 2
    assert main(["export", "--data", other]) == 0
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == gzip.decompress(Path(archive).read_bytes())


def test_the_commands_name_what_is_wrong(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text('{"format": "holdfast-archive", "version": 1}\n')
    (tmp_path / "odd.json").write_text('{"odd": true}')
    assert main(["remember", "Mine", "--key", "k"]) == 0
    for arguments, code, field in (
        (["import", "no"], "invalid_input", "path"), (["import", "bad.jsonl"], "invalid_input", "namespace"),
        (["import", "odd.json"], "invalid_input", "path"),
        (["import", "odd.json", "--format", "x"], "invalid_input", "format"),
        (["export"], "invalid_input", "file"), (["verify", "odd.json"], "invalid_input", "format"),
        (["verify", "."], "damaged", None), (["export", "x", "-p", "nobody"], "not_found", "profile"),
    ):  # fmt: skip
        capsys.readouterr()
        named = [str(tmp_path / each) if (tmp_path / each).exists() else each for each in arguments]
        assert main([*named, "--json"]) != 0
        error = json.loads(capsys.readouterr().err.splitlines()[-1])["error"]  # a warning may come before it
        assert (error["code"], error["field"]) == (code, field), arguments


def test_a_conflict_is_shown_to_the_user(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = str(tmp_path / "a.jsonl")
    assert main(["remember", "Likes tea", "--key", "drink"]) == 0
    assert main(["export", archive]) == 0
    assert main(["remember", "Likes coffee", "--key", "drink", "-p", "other"]) == 0
    capsys.readouterr()
    assert main(["import", archive, "-p", "other"]) == 0
    assert "! memory fact/drink was left out: the profile already has another one" in capsys.readouterr().out
    assert main(["import", archive, "-p", "other", "--replace"]) == 0
    assert "Imported 0 messages and 1 memory" in capsys.readouterr().out
