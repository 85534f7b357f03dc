"""Forgotten is gone: from every table, page, log and index, and from whatever was made of it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from databases import database
from holdfast import AsyncHoldfast, acting
from holdfast.errors import NotFound
from holdfast.library import SCRATCH
from holdfast.models.rules import QuotingSummariser
from holdfast.places import PLACES
from holdfast.postgres.vault import TABLES, PostgresVault
from holdfast.profile import LocalProfile
from holdfast.sqlite import apply
from holdfast.sqlite.file import File, connect, query
from holdfast.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.types import Draft
from holdfast.vectors import packed

SECRET = "zorblax"
WORDS = [f"{SECRET}{n}" for n in range(8)]
"""Each in a place of its own."""


@asynccontextmanager
async def minding(vault: Any) -> AsyncIterator[AsyncHoldfast]:
    script: dict[str, Any] = {f"I like {WORDS[0]} very much today": [Draft("fact", f"Likes {WORDS[0]}", ())]}
    async with AsyncHoldfast(
        vault, HashingEmbedder(), ScriptedExtractor(script), summariser=QuotingSummariser()
    ) as holdfast:
        yield holdfast


async def told(ana: LocalProfile) -> None:
    """Write the words wherever words can lie."""
    await ana.set_summaries("every 2 turns")
    said = [
        {"role": "user", "content": f"I like {WORDS[0]} very much today", "metadata": {"mark": WORDS[1]}},
        {"role": "user", "content": "This is a harmless other sentence here", "speaker": WORDS[2]},
    ]
    await ana.ingest(said, session_id=WORDS[3], agent=WORDS[4], wait=True, idempotency_key="k1")
    await ana.remember(f"Prefers {WORDS[5]}", kind="note", key=WORDS[6], value={"v": WORDS[7]})
    with acting(session_id=WORDS[3]):
        await ana.recall(f"Do I like {WORDS[0]}?")
    await ana.summary()
    await ana.settle()
    await ana.traces()


async def forgotten(ana: LocalProfile) -> None:
    for memory in (await ana.list(limit=100)).items:
        if SECRET in repr(memory):
            with suppress(NotFound):  # it went with one before it
                await ana.forget(memory.id)
    gone = await ana.forget_session(WORDS[3])
    assert gone.places.get("session") == 1


def laid_bare(file: Path, key: bytes, at: Path) -> bytes:
    """Every page of a copy of the file, deciphered, free ones too."""
    for name in (file, file.with_name(file.name + "-wal")):
        if name.exists():
            shutil.copy(name, at / name.name)
    db = connect(at / file.name, key, writing=True, flags=apsw.SQLITE_OPEN_READWRITE)
    query(db, "PRAGMA wal_checkpoint(TRUNCATE)")
    query(db, "PRAGMA journal_mode = DELETE")
    query(db, "PRAGMA rekey = ''")
    db.close()
    return (at / file.name).read_bytes()


@pytest.mark.parametrize("rewrite", [0, apply.REWRITE], ids=["word by word", "index anew"])
async def test_no_byte_of_it_is_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewrite: int) -> None:
    monkeypatch.setattr(apply, "REWRITE", rewrite)
    emptied: list[int] = []
    scrub = File.scrub

    async def seen(self: File) -> None:
        await scrub(self)
        emptied.append(self.path.with_name(f"{self.path.name}-wal").stat().st_size)

    monkeypatch.setattr(File, "scrub", seen)
    data, bare = tmp_path / "data", tmp_path / "bare"
    bare.mkdir()
    vault = SqliteVault(data)
    async with minding(vault) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.remember("something harmless that stays", kind="note")
        await told(ana)
        vector = packed((await HashingEmbedder().embed([f"I like {WORDS[0]} very much today"]))[0])
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        file = vault._folder.file(name)
        before = laid_bare_quietly(file, key, bare)
        assert all(word.encode() in before for word in WORDS), "the search would not find it"
        assert vector in before
        await forgotten(ana)
        assert emptied, "the log was never emptied"
        assert max(emptied) == 0
        after = laid_bare(file, key, bare)
        assert b"something harmless" in after
        assert [word for word in WORDS if word.encode() in after] == []
        assert vector not in after
        raw = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
        assert SECRET.encode() not in raw


def laid_bare_quietly(file: Path, key: bytes, at: Path) -> bytes:
    shutil.copy(file, at / "before.db")
    shutil.copy(file.with_name(file.name + "-wal"), at / "before.db-wal")
    db = connect(at / "before.db", key, writing=True, flags=apsw.SQLITE_OPEN_READWRITE)
    query(db, "PRAGMA wal_checkpoint(TRUNCATE)")
    query(db, "PRAGMA journal_mode = DELETE")
    query(db, "PRAGMA rekey = ''")
    db.close()
    return (at / "before.db").read_bytes()


async def test_no_row_of_a_database_has_it() -> None:
    with database() as dsn:
        async with minding(PostgresVault(dsn)) as holdfast:
            ana = holdfast.profile("app", "ana")
            await told(ana)
            assert SECRET in _rows(dsn)
            await forgotten(ana)
            await ana.traces()
            assert re.findall(rf".{{60}}{SECRET}\d.{{20}}", _rows(dsn)) == []


def _rows(dsn: str, tables: tuple[str, ...] = TABLES) -> str:
    with psycopg.connect(dsn) as db:
        return "".join(
            str([cell.tobytes() if isinstance(cell, memoryview) else cell for cell in row])
            for table in tables
            for row in db.execute(f"SELECT * FROM {table}").fetchall()
        )


async def test_no_byte_of_a_document_is_left(tmp_path: Path) -> None:
    """Not of its text, its name, its original nor its title, in any page of the file, free ones included."""
    bare = tmp_path / "bare"
    bare.mkdir()
    vault = SqliteVault(tmp_path / "data")
    text = f"# About {WORDS[0]}\n\n" + "\n\n".join(f"The {WORDS[1]} sleeps, part {n}." for n in range(2_000))
    async with minding(vault) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.remember("something harmless that stays", kind="note")
        read = await ana.add(text, name=f"{WORDS[2]}.md", metadata={"mark": WORDS[3]}, wait=True)
        await ana.recall(f"Does the {WORDS[1]} sleep?")
        await ana.traces()
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        before = laid_bare_quietly(vault._folder.file(name), key, bare)
        assert all(word.encode() in before for word in WORDS[:4]), "the search would not find it"
        gone = await ana.forget_document(read.id)
        assert (gone.places["document"], gone.places["original"]) == (1, 1)
        await ana.forget_session("of traces")
        after = laid_bare(vault._folder.file(name), key, bare)
        assert b"something harmless" in after
        assert [word for word in (WORDS[0], WORDS[2], WORDS[3]) if word.encode() in after] == []
        assert b"sleeps, part" not in after
    assert not list(Path(tempfile.gettempdir()).glob(f"{SCRATCH}{os.getpid()}-*"))


async def test_no_row_of_a_document_is_left_in_a_database() -> None:
    with database() as dsn:
        async with minding(PostgresVault(dsn)) as holdfast:
            ana = holdfast.profile("app", "ana")
            read = await ana.add(f"The {WORDS[1]} sleeps.", name=WORDS[2], metadata={"mark": WORDS[3]}, wait=True)
            assert all(word in _rows(dsn) for word in WORDS[1:4])
            await ana.forget_document(read.id)
            assert SECRET not in _rows(dsn)


async def test_a_sealed_database_is_told_nothing_of_a_document(tmp_path: Path) -> None:
    with database() as dsn:
        async with minding(PostgresVault(dsn, keyring=tmp_path / "keyring", sealed=True)) as holdfast:
            ana = holdfast.profile("app", "ana")
            read = await ana.add(f"The {WORDS[1]} sleeps.", name=WORDS[2], wait=True)
            rows = _rows(dsn, ("document", "original"))
            assert rows
            assert SECRET not in rows
            assert await ana.original(read.id) == f"The {WORDS[1]} sleeps.".encode()


async def test_a_person_goes_with_what_they_said_and_what_names_them(tmp_path: Path) -> None:
    async with minding(SqliteVault(tmp_path)) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.ingest(
            [
                {"role": "user", "speaker": "Marek", "content": "I fixed the boiler"},
                {"role": "user", "content": "marek was here"},
                {"role": "user", "content": "Mareks Weg is a street"},
            ],
            session_id="s",
        )
        await ana.remember("The plumber is Marek", key="plumber")
        await ana.remember("The plumber is Olga", key="plumber")
        await ana.remember("Likes tea")
        would = await ana.forget_person("Marek", dry_run=True)
        assert (len(would.messages), len(would.memories)) == (2, 2)
        gone = await ana.forget_person("Marek")
        assert (gone.memories, gone.messages) == (would.memories, would.messages)
        assert gone.places["message"] == 2
        assert [message.content for message in await ana.messages()] == ["Mareks Weg is a street"]
        assert {memory.content for memory in (await ana.list()).items} == {"Likes tea"}


async def test_every_place_says_how_it_forgets(tmp_path: Path) -> None:
    vault = SqliteVault(tmp_path)
    async with minding(vault) as holdfast:
        await holdfast.profile("app", "ana").remember("x")
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        db = connect(vault._folder.file(name), key, writing=False)
        shadows = re.compile(r"word_.*|sqlite_.*|migration")
        tables = [name for (name,) in query(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
        held = {
            (table, column)
            for table in tables
            if not shadows.fullmatch(table)
            for _, column, type, *_ in query(db, f"PRAGMA table_info({table})")
            if type.upper() in ("TEXT", "BLOB", "")
        }
        db.close()
    with database() as dsn, psycopg.connect(dsn) as found:
        rows = found.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
            "AND table_name = ANY(%s) AND data_type IN ('text', 'jsonb', 'bytea', 'USER-DEFINED')",
            (list(TABLES),),
        ).fetchall()
    missing = {place for place in held | set(rows) if place[1] not in PLACES.get(place[0], {})}
    assert missing == set()


@pytest.mark.parametrize("backend", ["files", "database"])
async def test_a_deleted_profile_leaves_nothing(tmp_path: Path, backend: str) -> None:
    if backend == "database":
        with database() as dsn:
            async with minding(PostgresVault(dsn)) as holdfast:
                await told(holdfast.profile("app", "ana"))
                await holdfast.delete_profile("app", "ana")
                assert SECRET not in _rows(dsn)
        return
    async with minding(SqliteVault(tmp_path)) as holdfast:
        await told(holdfast.profile("app", "ana"))
        files = {path for path in tmp_path.rglob("*.db*") if "catalogue" not in path.name}
        assert await holdfast.delete_profile("app", "ana")
        assert not [path for path in files if path.exists()]
