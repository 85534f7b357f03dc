"""Documents, their originals and what was laid down go where a profile goes: into archives, and into other vaults."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Conflict, InvalidInput
from holdfast.archive.export import archive_lines
from holdfast.archive.file import Archive
from holdfast.archive.restore import ArchiveRestore
from holdfast.archive.transfer.vault import Transfer, TransferScope
from holdfast.domain.errors import AlreadyExists
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.records import IMPORT_SETTING, ORIGINAL_SETTING_PREFIX
from holdfast.domain.reports import Imported
from holdfast.domain.usage import Usage
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.rows import PIECE_BYTES
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.postgres import database

TEXT = b"# Boiler\n\nRefill the boiler when the gauge is below 1.2 bar.\n"
TABLE = b"name,note\n" + b"boiler,refilled once more\n" * (2 * PIECE_BYTES // 20)
Place = Callable[[str], Vault]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with database() as dsn:

        def opened(name: str) -> Vault:
            if name == "memory":
                return MemoryVault()
            return PostgresVault(dsn, connections=4) if name == "base" else SqliteVault(tmp_path / name)

        yield opened


@asynccontextmanager
async def holdfast_on(vault: Vault) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({})) as memory:
        yield memory


async def lived_in(vault: Any, *, great: bool = False) -> None:
    """A profile with a document that was read, one that failed, and one that is half read."""
    memory = AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({}))
    await memory.start()
    ana = memory.profile("app", "ana")
    await ana.add(TEXT, name="manual.md", metadata={"house": 7}, wait=True)
    await ana.add(b"%PDF-1.7 and then nothing", name="broken.pdf", wait=True)
    if great:
        await ana.add(TABLE[: PIECE_BYTES + 5], name="great.csv", wait=True)
    await ana.settle()
    await memory.runtime.document_worker.stop()  # what comes now waits
    await ana.add(b"Half of it is read when the archive is made.", name="half.txt")
    store = await vault.open("app", "ana", create=False)
    await store.journal.put_setting("retention", {"ttl": {"note": "30d"}})
    await store.journal.put_setting(ORIGINAL_SETTING_PREFIX + "aa/bb", "2999-01-01T00:00:00+00:00")
    await store.journal.spend("2026-01", Usage("vendor/m", "extract", 10, 5, 1), 37)
    await memory.runtime.worker.stop()
    await memory.runtime.recorder.stop()


async def open_store(vault: Vault) -> Store:
    if not await vault.namespaces():
        await vault.create_namespace("app")
    return await vault.open("app", "ana", create=True)


async def export_archive(store: Store) -> bytes:
    return b"".join([line async for line in archive_lines(store, "app", "ana")])


async def import_archive(store: Store, archive: bytes, **how: Any) -> Imported:
    reader = Archive(io.BytesIO(archive))
    return await ArchiveRestore(store, reader, reader.check(force=how.get("force", False)), **how).run()


def changed_archive(archive: bytes, type: str, **fields: Any) -> bytes:
    """The archive with fields of its first line of this type changed; its checksum is not mended."""
    lines = archive.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if json.loads(line).get("type") == type)
    lines[at] = json.dumps(json.loads(lines[at]) | fields, separators=(",", ":")).encode() + b"\n"
    return b"".join(lines)


@pytest.mark.parametrize(("start", "end"), [("one", "base"), ("base", "two"), ("memory", "one")])
async def test_an_archive_brings_documents_and_originals_back_byte_for_byte(place: Place, start: str, end: str) -> None:
    source, target = place(start), place(end)
    await lived_in(source, great=start == "one")
    archive = await export_archive(await open_store(source))
    documents = 4 if start == "one" else 3
    done = await import_archive(await open_store(target), archive)
    assert (done.documents, done.conflicts, done.problems) == (documents, (), ())
    assert await export_archive(await open_store(target)) == archive
    assert ORIGINAL_SETTING_PREFIX.encode() not in archive
    before, after = [await (await open_store(vault)).documents.list_all(9) for vault in (source, target)]
    assert before == after
    again = await import_archive(await open_store(target), archive)
    assert (again.documents, again.conflicts) == (0, ())
    await source.close()
    async with holdfast_on(target) as memory:
        ana = memory.profile("app", "ana")
        assert await ana.settle(120)
        states = {document.name: document.state for document in await ana.documents()}
        assert states["half.txt"] == states["manual.md"] == "done", "what was half read is read to its end"
        assert states["broken.pdf"] == "failed"
        read = next(document for document in await ana.documents() if document.name == "manual.md")
        assert await ana.original(read.id) == TEXT
        assert (await ana.search("When do I refill the boiler?"))[0].metadata["document"] == read.id
        if start == "one":
            great = next(document for document in await ana.documents() if document.name == "great.csv")
            assert await ana.original(great.id) == TABLE[: PIECE_BYTES + 5]
        gone = await ana.forget_document(read.id)
        assert gone.places["original"] == 1


async def test_a_document_that_is_another_version_here_is_reported_and_stays(tmp_path: Path) -> None:
    source, target = MemoryVault(), MemoryVault()
    await lived_in(source)
    store = await open_store(target)
    await import_archive(store, await export_archive(await open_store(source)))
    held = next(each for each in await store.documents.list_all(9) if each.name == "manual.md")
    await store.documents.put(replace(held, sha256="0" * 64))
    done = await import_archive(store, await export_archive(await open_store(source)))
    assert [(clash.what, clash.name) for clash in done.conflicts] == [("document", "manual.md")]
    assert (await store.documents.get(held.id) or held).sha256 == "0" * 64


async def test_one_that_changes_while_it_is_exported_ends_the_export(tmp_path: Path) -> None:
    vault = MemoryVault()
    await lived_in(vault)
    store = await open_store(vault)
    lines, some = archive_lines(store, "app", "ana"), []
    with pytest.raises(Conflict, match=r"manual\.md changed"):  # noqa: PT012
        async for line in lines:
            some.append(line)
            if b'"type":"document"' in line:
                for document in await store.documents.list_all(9):
                    await store.documents.put(replace(document, sha256="0" * 64))
    assert some


@pytest.mark.parametrize(
    ("type", "field", "value"),
    [
        ("document", "id", "../../etc"),
        ("document", "session_id", "somebody-elses-session"),
        ("document", "stale", ["somebody-elses-session"]),
        ("document", "state", "odd"),
        ("document", "percent", 101),
        ("document", "seconds", {"read": "long"}),
        ("document", "original", True),
        ("document", "lent", 1),
        ("original", "document", "doc-unknown"),
        ("original", "number", 1),
        ("original", "data", "no base64!"),
        ("setting", "name", ORIGINAL_SETTING_PREFIX + "aa/of-another-profile"),
        ("setting", "name", IMPORT_SETTING),
    ],
)
async def test_a_line_that_breaks_a_rule_is_named(type: str, field: str, value: Any) -> None:
    vault = MemoryVault()
    await lived_in(vault)
    archive = changed_archive(await export_archive(await open_store(vault)), type, **{field: value})
    target = await open_store(MemoryVault())
    with pytest.raises(InvalidInput, match="Line"):
        await import_archive(target, archive)
    assert await target.documents.list_all(9) == []
    done = await import_archive(target, archive, force=True)
    assert done.problems


async def test_an_import_cut_off_at_any_document_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = MemoryVault()
    await lived_in(vault)
    archive = await export_archive(await open_store(vault))
    for steps in range(3):
        target = await open_store(MemoryVault())
        left, put = [steps], target.documents.put

        async def cut(*given: Any, left: list[int] = left, put: Any = put) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            await put(*given)

        monkeypatch.setattr(target.documents, "put", cut)
        with pytest.raises(KeyboardInterrupt):
            await import_archive(target, archive)
        left[0] = 9
        await import_archive(target, archive)
        assert await export_archive(target) == archive


async def test_the_command_and_the_file_tell_how_many(tmp_path: Path) -> None:
    vault = MemoryVault()
    await lived_in(vault)
    async with holdfast_on(vault) as memory:
        done = await memory.profile("app", "ana").export_to(tmp_path / "ana.jsonl.gz")
        assert (done.documents, done.pieces) == (3, 3)
        assert gzip.decompress((tmp_path / "ana.jsonl.gz").read_bytes()).count(b'"type":"document"') == 3
        would = await memory.profile("app", "new").import_from(tmp_path / "ana.jsonl.gz", dry_run=True)
        assert (would.documents, would.dry_run) == (3, True)


@pytest.mark.parametrize(("start", "end"), [("one", "base"), ("base", "two")])
async def test_settings_usage_and_documents_are_transferred_and_proven(place: Place, start: str, end: str) -> None:
    source, target = place(start), place(end)
    await lived_in(source)
    await source.put_setting("app", "retention", {"ttl": {"event": "5d"}})
    done = await Transfer(source, target).run()
    assert done.checksum
    assert await target.settings("app") == {"retention": {"ttl": {"event": "5d"}}}
    here, there = await open_store(source), await open_store(target)
    assert (await there.journal.settings())["retention"] == {"ttl": {"note": "30d"}}
    assert ORIGINAL_SETTING_PREFIX + "aa/bb" not in await there.journal.settings()
    assert await there.journal.spent(None) == await here.journal.spent(None)
    assert await there.documents.list_all(9) == await here.documents.list_all(9)
    assert (await Transfer(source, target).run()).checksum == done.checksum
    failed = next(each for each in await here.documents.list_all(9) if each.state == "failed")
    await here.documents.remove(failed.id)
    with pytest.raises(AlreadyExists, match=r"broken\.pdf"):
        await Transfer(source, target, TransferScope("app", "ana")).run()
    assert (await Transfer(source, target, replacing=True).run()).checksum
    assert await there.documents.get(failed.id) is None
    await source.close()
    await target.close()
