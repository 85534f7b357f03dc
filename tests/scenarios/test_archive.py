"""An archive brings everything back, byte for byte; a damaged one brings nothing; a killed import goes on."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import itertools
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from holdfast import (
    AsyncHoldfast,
    Conflict,
    Damaged,
    HoldfastError,
    InvalidInput,
    TooNew,
)
from holdfast.archive.export import archive_lines
from holdfast.archive.file import Archive
from holdfast.archive.restore import ArchiveRestore
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.records import IMPORT_SETTING
from holdfast.domain.reports import Clash, Exported, Imported
from holdfast.domain.types import (
    Change,
    Deferral,
    Draft,
    Memory,
    Message,
    Supersede,
)
from holdfast.domain.usage import Spent, Usage
from holdfast.storage import inventory
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import memory, message, unit, written
from holdfast.testing.conformance.samples import AT
from support.paths import CHILDREN
from support.postgres import database

CHILD = CHILDREN / "import_archive.py"
Place = Callable[[str], Vault]


@pytest.fixture
def dsn() -> Iterator[str]:
    with database() as dsn:
        yield dsn


@pytest.fixture
def place(tmp_path: Path, dsn: str) -> Place:
    def opened(name: str) -> Vault:
        return PostgresVault(dsn, connections=4) if name == "base" else SqliteVault(tmp_path / name)

    return opened


@asynccontextmanager
async def open_vaults(*vaults: Vault) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for vault in vaults:
            await vault.close()


async def open_store(vault: Vault) -> Store:
    if not await vault.namespaces():
        await vault.create_namespace("app")
    return await vault.open("app", "p", create=True)


def holdfast_on(vault: Vault, script: dict[str, list[Draft] | Exception] | None = None) -> AsyncHoldfast:
    return AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(script or {}))


async def lived_in(store: Store) -> None:
    """A profile with everything that a profile can have: states, gaps, histories, odd texts, settings, usage."""
    said = [message(f"m{n} \u2028 ü\n", session=f"s{n % 2}", speaker="Ma ra", metadata={"n": n}) for n in range(12)]
    long = message("Long. " * 400, timestamp=AT)
    await store.apply(written(*said, long, vectors=(unit(said[1].id, 1), unit(long.id, 2, 1))))
    late = [Deferral(said[n].id, AT, "why") for n in (3, 4, 4, 5)]
    await store.apply(Change(defer=(*late, *(Deferral(said[n].id, None, "why") for n in (4, 6)))))
    await store.apply(Change(settle=(said[1].id, said[5].id, said[8].id), forget=(said[0].id, said[7].id)))
    versions = [memory(f"v{n}", key="k", n=n, version=n + 1) for n in range(6)]
    for n in range(6):
        old = (Supersede(versions[n - 1].ref, versions[n].ref),) if n else ()
        await store.apply(written(versions[n], supersede=old))
    full = memory(
        "Full", n=20, key="/a/b", value={"deep": [1.5, None, 2**60]}, keywords=("x", ""), queries=("what?",),
        session_id="s1", agent="desk", trust="agent", sources=(said[1].id, said[8].id), occurred_at=AT,
        occurred_until=AT, expires_at=AT, extractor="rules/1", confidence=0.25, summary="",
    )  # fmt: skip
    await store.apply(written(full, memory("task", kind="task", n=21), memory("plain", n=22, metadata={"ü": [True]})))
    await store.apply(Change(refused=((full.ref, 0),)))
    await store.journal.put_setting("palette", {"days": 7, "b": 1, "a": 2.0})
    await store.journal.spend("2026-01", Usage("vendor/m", "extract", 10, 5, 1), 37)


async def export_archive(store: Store, *, vectors: bool = True) -> bytes:
    return b"".join([line async for line in archive_lines(store, "app", "p", vectors=vectors)])


async def import_archive(store: Store, archive: bytes, **how: Any) -> Imported:
    reader = Archive(io.BytesIO(archive))
    checked = reader.check(force=how.get("force", False))
    return await ArchiveRestore(store, reader, checked, **how).run()


# Out and in again


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize(("start", "end"), [("one", "two"), ("one", "base"), ("base", "one"), ("memory", "two")])
async def test_out_in_and_out_again_is_the_same_bytes(place: Place, start: str, end: str, vectors: bool) -> None:
    source, target = MemoryVault() if start == "memory" else place(start), place(end)
    async with open_vaults(source, target):
        await lived_in(await open_store(source))
        archive = await export_archive(await open_store(source), vectors=vectors)
        done = await import_archive(await open_store(target), archive)
        assert (done.messages, done.memories, done.known, done.waiting) == (11, 9, 0, 6)
        assert (done.settings, done.usage, done.conflicts) == (1, 1, ())
        assert await export_archive(await open_store(target), vectors=vectors) == archive
        assert await (await open_store(target)).journal.settings() == {"palette": {"days": 7, "b": 1, "a": 2}}
        assert await (await open_store(target)).journal.spent(None) == [
            Spent("2026-01", "vendor/m", "extract", 37, 10, 5, 1)
        ]


async def test_the_same_archive_twice_changes_nothing() -> None:
    source, target = MemoryVault(), MemoryVault()
    await lived_in(await open_store(source))
    archive, store = await export_archive(await open_store(source)), await open_store(target)
    await import_archive(store, archive)
    reach = await store.journal.reach()
    again = await import_archive(store, archive)
    assert again == Imported(known=20)
    assert await store.journal.reach() == reach


async def test_every_field_is_in_the_archive_and_the_last_line_sums_it_up() -> None:
    vault = MemoryVault()
    await lived_in(await open_store(vault))
    archive = await export_archive(await open_store(vault))
    lines = [json.loads(line) for line in archive.splitlines(keepends=False) if b"\xe2\x80\xa8" not in line]
    head = lines[0]
    assert (head["format"], head["version"], head["namespace"], head["profile"]) == ("holdfast-archive", 2, "app", "p")
    counts = {"messages": 11, "memories": 9, "settings": 1, "usage": 1, "documents": 0, "pieces": 0}
    assert head["counts"] == lines[-1]["counts"] == counts
    body = archive[: archive.rindex(b'{"type":"end"')]
    assert lines[-1]["sha256"] == hashlib.sha256(body).hexdigest()
    full = next(line for line in lines if line.get("content") == "Full")
    assert full["value"] == {"deep": [1.5, None, 2**60]}
    assert (full["embed"], full["trust"], full["confidence"], full["summary"]) == (False, "agent", 0.25, "")
    assert {field.name for field in fields(Memory)} <= set(full)
    said = next(line for line in lines if line.get("type") == "message")
    assert {field.name for field in fields(Message)} <= set(said)


async def test_undigested_messages_wait_in_the_new_place_and_are_digested_there(tmp_path: Path) -> None:
    script: dict[str, list[Draft] | Exception] = {"I live in Rome.": [Draft("fact", "Lives in Rome.", (), key="home")]}
    vault = MemoryVault()
    store = await open_store(vault)
    old = memory("Lives in Porto.", key="home")
    await store.apply(written(message("I live in Rome."), old))
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(await export_archive(store)))
    async with holdfast_on(MemoryVault(), script) as holdfast:
        alice = holdfast.profile("app", "p")
        done = await alice.import_from(path)
        assert (done.messages, done.memories, done.waiting, done.conflicts) == (1, 1, 1, ())
        assert await alice.settle(120)
        history = await alice.history(old.id)
        assert [each.content for each in history] == ["Lives in Rome.", "Lives in Porto."]


async def test_an_archive_of_a_profile_in_use_fits_together() -> None:
    """What comes while it is written is not in it; what it says of the rest is as it was when it began."""
    vault = MemoryVault()
    store = await open_store(vault)
    said = [message(f"m{n}") for n in range(450)]
    old = memory("old", key="k")
    await store.apply(written(*said, old))
    lines = []
    async for line in archive_lines(store, "app", "p"):
        if len(lines) == 1:
            new = memory("new", key="k", n=1, sources=(said[-1].id, said[0].id))
            late = message("late")
            await store.apply(written(late, new, supersede=(Supersede(old.ref, new.ref),), settle=(said[-1].id,)))
        lines.append(line)
    there = await open_store(MemoryVault())
    done = await import_archive(there, b"".join(lines))
    assert (done.messages, done.memories, done.waiting) == (450, 1, 450)
    assert [each.content for each in await there.scan(None, now=None, limit=9)] == ["old"]


async def test_what_is_forgotten_while_it_is_exported_ends_the_export(tmp_path: Path) -> None:
    vault = MemoryVault()
    store = await open_store(vault)
    said = [message(f"m{n}") for n in range(450)]
    await store.apply(written(*said))
    lines = archive_lines(store, "app", "p")
    await anext(lines)
    await store.apply(Change(forget=(said[-1].id,)))
    with pytest.raises(Conflict, match="forgotten"):
        [line async for line in lines]
    async with holdfast_on(vault) as holdfast:
        done = await holdfast.profile("app", "p").export_to(tmp_path / "p.jsonl")
        assert isinstance(done, Exported)
        assert (done.messages, done.bytes) == (449, (tmp_path / "p.jsonl").stat().st_size)
        assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


# Into a profile that has something


async def test_a_key_that_is_taken_is_reported_and_nothing_is_lost() -> None:
    source, target = await open_store(MemoryVault()), await open_store(MemoryVault())
    first, second = memory("first", key="k"), memory("second", key="k", n=1)
    await source.apply(written(first))
    await source.apply(written(second, memory("free", key="f", n=2), supersede=(Supersede(first.ref, second.ref),)))
    await source.journal.put_setting("cadence", "daily")
    mine = memory("mine", key="k", n=9)
    await target.apply(written(mine))
    await target.journal.put_setting("cadence", "off")
    archive = await export_archive(source)
    rehearsed = await import_archive(target, archive, dry_run=True)
    done = await import_archive(target, archive)
    assert done.memories == rehearsed.memories == 1
    assert done.conflicts == rehearsed.conflicts
    assert done.conflicts == (
        Clash("memory", "fact/k", first.id, mine.id), Clash("memory", "fact/k", second.id, mine.id),
        Clash("setting", "cadence"),
    )  # fmt: skip
    assert {each.content for each in await target.scan(None, now=None, limit=9)} == {"mine", "free"}
    replaced = await import_archive(target, archive, replacing=True)
    assert replaced.memories == 2
    assert [each.content for each in await target.history(mine.id)] == ["second", "first", "mine"]
    assert (await import_archive(target, archive, replacing=True)).memories == 0


async def test_the_same_words_under_another_id_are_one_memory() -> None:
    source, target = await open_store(MemoryVault()), await open_store(MemoryVault())
    await source.apply(written(memory("Likes tea")))
    await target.apply(written(memory("Likes tea", n=5)))
    done = await import_archive(target, await export_archive(source))
    assert (done.memories, done.known, done.conflicts) == (0, 1, ())


async def test_what_a_profile_has_of_the_archive_already_is_completed() -> None:
    source, target = await open_store(MemoryVault()), await open_store(MemoryVault())
    await lived_in(source)
    early = await export_archive(source)
    new = memory("v6", key="k", n=6, version=7)
    old = memory("v5", key="k", n=5, version=6)
    await source.apply(written(message("more"), new, supersede=(Supersede(old.ref, new.ref),)))
    await import_archive(target, early)
    done = await import_archive(target, await export_archive(source))
    assert (done.messages, done.memories, done.known) == (1, 1, 20)
    assert await export_archive(target) == await export_archive(source)


async def test_a_dry_run_writes_nothing_and_tells_what_would_come() -> None:
    source = await open_store(MemoryVault())
    await lived_in(source)
    archive = await export_archive(source)
    target = await open_store(MemoryVault())
    told = await import_archive(target, archive, dry_run=True)
    assert (told.messages, told.memories, told.waiting, told.settings, told.usage) == (11, 9, 6, 1, 1)
    assert (await target.stats("")).messages == 0
    assert await target.journal.settings() == {}
    async with holdfast_on(MemoryVault()) as holdfast:
        told = await holdfast.profile("app", "nobody").import_from(io.BytesIO(archive), dry_run=True)
        assert (told.messages, told.memories, told.dry_run) == (11, 9, True)
        assert await holdfast.namespaces() == []


async def test_another_writer_meanwhile_does_not_stop_an_import() -> None:
    source, target = await open_store(MemoryVault()), await open_store(MemoryVault())
    await source.apply(written(*(memory(f"a{n}", key=f"k{n}", n=n) for n in range(5))))
    archive, apply, mine = await export_archive(source), target.apply, memory("mine", key="k3", n=9)

    async def raced(change: Change) -> Any:
        if change.memories and not await target.get([mine.id]):
            await apply(written(mine))
        return await apply(change)

    target.apply = raced  # type: ignore[method-assign]
    done = await import_archive(target, archive)
    assert (done.memories, done.known) == (4, 0)
    assert [clash.held for clash in done.conflicts] == [mine.id]


# Damage


async def sample() -> list[bytes]:
    store = await open_store(MemoryVault())
    await lived_in(store)
    return [line async for line in archive_lines(store, "app", "p", vectors=True)]


async def import_refusal(archive: bytes) -> HoldfastError:
    store = await open_store(MemoryVault())
    with pytest.raises(HoldfastError) as wrong:
        await import_archive(store, archive)
    assert (await store.journal.reach(), await store.journal.settings()) == ((0, 0), {})
    return wrong.value


async def test_whatever_byte_is_changed_or_missing_nothing_is_written() -> None:
    archive = b"".join(await sample())
    for at in range(0, len(archive), 211):
        changed = bytearray(archive)
        changed[at] ^= 1
        await import_refusal(bytes(changed))
    for at in range(0, len(archive), 997):
        assert isinstance(await import_refusal(archive[:at]), Damaged | InvalidInput)


async def test_lines_that_were_dropped_added_or_swapped_are_noticed() -> None:
    lines = await sample()
    for changed in (
        lines[:3] + lines[4:], lines[:4] + lines[3:], [lines[0], lines[2], lines[1], *lines[3:]], lines[:-1], lines[1:],
        [*lines, lines[-1]], [],
    ):  # fmt: skip
        assert isinstance(await import_refusal(b"".join(changed)), Damaged | InvalidInput)


async def test_a_squeezed_archive_that_was_cut_off_is_refused() -> None:
    whole = gzip.compress(b"".join(await sample()))
    for at in (10, len(whole) // 2, len(whole) - 3):
        assert isinstance(await import_refusal(whole[:at]), Damaged | InvalidInput)
    assert (await import_archive(await open_store(MemoryVault()), whole)).messages == 11


def resealed_archive(lines: list[bytes]) -> bytes:
    """With the right checksum again, as somebody who forges an archive would."""
    body = b"".join(lines[:-1])
    end = json.loads(lines[-1]) | {"sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


@pytest.mark.parametrize(
    ("type", "field", "value"),
    [
        ("message", "role", "robot"), ("message", "content", "a\0b"), ("message", "content", "\ud800"),
        ("message", "content", ""), ("message", "content", 7), ("message", "position", 0),
        ("message", "position", 10**9), ("message", "failures", 10**9), ("message", "created_at", "yesterday"),
        ("message", "metadata", {"x": "\0"}), ("message", "metadata", []), ("message", "pending", 1),
        ("message", "session_id", ".."), ("message", "colour", "red"), ("memory", "kind", "No Kind"),
        ("memory", "version", 0), ("memory", "confidence", "high"), ("memory", "sources", "x"),
        ("memory", "keywords", [1]), ("memory", "expires_at", 1e99),
        ("memory", "parts", [[0, 0, 10**6, True, None, None]]),
        ("memory", "parts", [[0, 0, 1, True, "m", "???"]]), ("memory", "id", ""), ("memory", "embed", "yes"),
        ("setting", "value", None), ("usage", "calls", -1), ("usage", "month", None), ("message", "type", "remark"),
    ],
)  # fmt: skip
async def test_a_value_that_breaks_a_rule_is_named_with_its_line_and_field(type: str, field: str, value: Any) -> None:
    lines = await sample()
    number, line = next((n, line) for n, line in enumerate(lines) if f'"type":"{type}"'.encode() in line)
    lines[number] = json.dumps(json.loads(line) | {field: value}).encode() + b"\n"
    wrong = await import_refusal(resealed_archive(lines))
    assert isinstance(wrong, InvalidInput)
    assert str(wrong).startswith(f"Line {number + 1} of the archive, field {field}")
    assert wrong.field is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention", {"ttl": {"fact": "soon"}}), ("retention", "long"), ("summaries", "sometimes"),
        ("kind/recipe", {"versions": {"1": {}}, "current": 1}), ("kind/recipe", 7),
    ],
)  # fmt: skip
async def test_a_setting_that_nobody_can_read_is_refused(name: str, value: Any) -> None:
    lines = await sample()
    number = next(n for n, line in enumerate(lines) if b'"type":"setting"' in line)
    lines[number] = json.dumps({"type": "setting", "name": name, "value": value}).encode() + b"\n"
    wrong = await import_refusal(resealed_archive(lines))
    assert isinstance(wrong, InvalidInput)
    assert str(wrong).startswith(f"Line {number + 1} of the archive, field value")


async def test_numbers_that_json_does_not_have_and_deep_nests_are_refused() -> None:
    lines = await sample()
    for bad in (
        b'{"type":"setting","name":"x","value":NaN}\n',
        b'{"type":' + b"[" * 100_000 + b"\n",
        b"\xff\n",
        b"7\n",
    ):
        wrong = await import_refusal(resealed_archive([*lines[:-1], bad, lines[-1]]))
        assert f"Line {len(lines)}" in str(wrong)


async def test_a_newer_version_is_refused_with_a_reason() -> None:
    lines = await sample()
    lines[0] = json.dumps(json.loads(lines[0]) | {"version": 3}).encode() + b"\n"
    assert isinstance(await import_refusal(resealed_archive(lines)), TooNew)


async def test_what_can_be_read_of_a_damaged_archive_comes_by_force() -> None:
    lines = await sample()
    lines[2] = b'{"type":"message","id":\n'
    store = await open_store(MemoryVault())
    done = await import_archive(store, b"".join(lines[:-1]), force=True)
    assert (done.messages, done.memories) == (10, 9)
    assert "Line 3" in done.problems[0]
    assert "cut off" in done.problems[-1]
    squeezed = gzip.compress(b"".join(await sample()))
    half = await import_archive(await open_store(MemoryVault()), squeezed[: len(squeezed) // 2], force=True)
    assert 0 < half.messages < 11
    assert "cannot be read" in half.problems[0]


# Killed


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("end", ["folder", "database"])
async def test_an_import_that_is_killed_at_any_step_goes_on(
    place: Place, tmp_path: Path, dsn: str, end: str, stride: int
) -> None:
    source = await open_store(MemoryVault())
    await lived_in(source)
    (tmp_path / "p.jsonl").write_bytes(archive := await export_archive(source))
    told = psycopg.conninfo.conninfo_to_dict(dsn)
    address = f"postgres:///{told.pop('dbname')}?{urlencode(told)}"
    where = str(tmp_path / "two") if end == "folder" else address
    for count in itertools.count(1, stride):  # until one child lives to its end
        child = await asyncio.create_subprocess_exec(sys.executable, CHILD, where, tmp_path / "p.jsonl", str(count))
        ended = await asyncio.wait_for(child.wait(), 400)
        target = place("two" if end == "folder" else "base")
        async with open_vaults(target):
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
            store = await open_store(target)
            await import_archive(store, archive)
            assert await export_archive(store) == archive
            assert IMPORT_SETTING not in await store.journal.settings()
            await target.delete("app", "p")
    assert count > 10


async def test_an_interrupted_import_must_be_finished_before_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "BATCH_ITEMS", 5)
    monkeypatch.setattr("holdfast.archive.restore.BATCH_ITEMS", 5)
    source, other, target = [await open_store(MemoryVault()) for _ in range(3)]
    await lived_in(source)
    await other.apply(written(message("other")))
    archive, apply = await export_archive(source), target.apply

    async def dies(change: Change) -> Any:
        if len(await target.messages(None)) > 5:
            raise OSError("the machine is gone")
        return await apply(change)

    target.apply = dies  # type: ignore[method-assign]
    with pytest.raises(OSError, match="gone"):
        await import_archive(target, archive)
    target.apply = apply  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="interrupted"):
        await import_archive(target, await export_archive(other))
    await import_archive(target, archive)
    assert await export_archive(target) == archive
    assert (await import_archive(target, await export_archive(other))).messages == 1
