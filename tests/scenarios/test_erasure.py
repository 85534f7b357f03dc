"""Forgotten is gone: from every table, page, log and index, and from whatever was made of it."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import AsyncHoldfast, acting
from holdfast.documents.scratch import SCRATCH_PREFIX
from holdfast.domain.errors import NotFound
from holdfast.domain.types import Change, Draft
from holdfast.domain.vectors import vector_bytes
from holdfast.models.rules import QuotingSummariser
from holdfast.service.profile.local import LocalProfile
from holdfast.storage.postgres.vault import PROFILE_TABLES, PostgresVault
from holdfast.storage.sqlite import apply
from holdfast.storage.sqlite.connection import connect, query
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.erasure_map import PLACES
from support.erasure_ways import PERSON, SECRET, WAYS, Clock, Plant, make_holdfast
from support.postgres import database
from support.stored_bytes import found_words, inflated, postgres_bytes, sqlite_bytes, sqlite_pages

WORDS = [f"{SECRET}{n}" for n in range(8)]
"""Each in a place of its own."""


@asynccontextmanager
async def memory_with_llm(vault: Any) -> AsyncIterator[AsyncHoldfast]:
    script: dict[str, Any] = {f"I like {WORDS[0]} very much today": [Draft("fact", f"Likes {WORDS[0]}", ())]}
    async with AsyncHoldfast(
        vault, HashingEmbedder(), ScriptedExtractor(script), summariser=QuotingSummariser()
    ) as holdfast:
        yield holdfast


async def fill_profile(ana: LocalProfile) -> None:
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


async def forget_everything(ana: LocalProfile) -> None:
    for memory in (await ana.list(limit=100)).items:
        if SECRET in repr(memory):
            with suppress(NotFound):  # it went with one before it
                await ana.forget(memory.id)
    gone = await ana.forget_session(WORDS[3])
    assert gone.places.get("session") == 1


@pytest.mark.parametrize("rewrite", [0, apply.REWRITE_RATIO], ids=["word by word", "index anew"])
async def test_no_byte_of_it_is_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewrite: int) -> None:
    monkeypatch.setattr(apply, "REWRITE_RATIO", rewrite)
    emptied: list[int] = []
    scrub = DatabaseFile.scrub

    async def seen(self: DatabaseFile) -> None:
        await scrub(self)
        emptied.append(self.path.with_name(f"{self.path.name}-wal").stat().st_size)

    monkeypatch.setattr(DatabaseFile, "scrub", seen)
    data, bare = tmp_path / "data", tmp_path / "bare"
    bare.mkdir()
    vault = SqliteVault(data)
    async with memory_with_llm(vault) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.remember("something harmless that stays", kind="note")
        await fill_profile(ana)
        vector = vector_bytes((await HashingEmbedder().embed([f"I like {WORDS[0]} very much today"]))[0])
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        file = vault._folder.file(name)
        before = sqlite_bytes(file, key, bare)
        assert len(found_words(WORDS, before)) == len(WORDS), "the search would not find it"
        assert vector in before
        await forget_everything(ana)
        assert emptied, "the log was never emptied"
        assert max(emptied) == 0
        after = sqlite_bytes(file, key, bare)
        assert b"something harmless" in after
        assert found_words(WORDS, after) == []
        assert vector not in after
        raw = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
        assert SECRET.encode() not in raw


async def test_no_row_of_a_database_has_it() -> None:
    with database() as dsn:
        async with memory_with_llm(PostgresVault(dsn)) as holdfast:
            ana = holdfast.profile("app", "ana")
            await fill_profile(ana)
            assert SECRET in _rows(dsn)
            await forget_everything(ana)
            await ana.traces()
            assert re.findall(rf".{{60}}{SECRET}\d.{{20}}", _rows(dsn)) == []


def _rows(dsn: str, tables: tuple[str, ...] = PROFILE_TABLES) -> str:
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
    async with memory_with_llm(vault) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.remember("something harmless that stays", kind="note")
        read = await ana.add(text, name=f"{WORDS[2]}.md", metadata={"mark": WORDS[3]}, wait=True)
        await ana.recall(f"Does the {WORDS[1]} sleep?")
        await ana.traces()
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        before = sqlite_bytes(vault._folder.file(name), key, bare)
        assert all(word.encode() in before for word in WORDS[:4]), "the search would not find it"
        gone = await ana.forget_document(read.id)
        assert (gone.places["document"], gone.places["original"]) == (1, 1)
        after = sqlite_bytes(vault._folder.file(name), key, bare)
        assert b"something harmless" in after
        assert found_words(WORDS[:4], after) == []
        assert b"sleeps, part" not in after
    assert not list(Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}{os.getpid()}-*"))


async def test_no_row_of_a_document_is_left_in_a_database() -> None:
    with database() as dsn:
        async with memory_with_llm(PostgresVault(dsn)) as holdfast:
            ana = holdfast.profile("app", "ana")
            read = await ana.add(f"The {WORDS[1]} sleeps.", name=WORDS[2], metadata={"mark": WORDS[3]}, wait=True)
            assert all(word in _rows(dsn) for word in WORDS[1:4])
            await ana.forget_document(read.id)
            assert SECRET not in _rows(dsn)


async def test_a_sealed_database_is_told_nothing_of_a_document(tmp_path: Path) -> None:
    with database() as dsn:
        async with memory_with_llm(PostgresVault(dsn, keyring=tmp_path / "keyring", sealed=True)) as holdfast:
            ana = holdfast.profile("app", "ana")
            read = await ana.add(f"The {WORDS[1]} sleeps.", name=WORDS[2], wait=True)
            rows = _rows(dsn, ("document", "original"))
            assert rows
            assert SECRET not in rows
            assert await ana.original(read.id) == f"The {WORDS[1]} sleeps.".encode()


async def test_a_person_goes_with_what_they_said_and_what_names_them(tmp_path: Path) -> None:
    async with memory_with_llm(SqliteVault(tmp_path)) as holdfast:
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
        assert (len(would.messages), len(would.memories), would.places["memory"]) == (2, 1, 2)
        gone = await ana.forget_person("Marek")
        assert (gone.memories, gone.messages) == (would.memories, would.messages)
        assert gone.places["message"] == 2
        assert [message.content for message in await ana.messages()] == ["Mareks Weg is a street"]
        assert {memory.content for memory in (await ana.list()).items} == {"Likes tea"}


async def test_every_place_says_how_it_forgets(tmp_path: Path) -> None:
    vault = SqliteVault(tmp_path)
    async with memory_with_llm(vault) as holdfast:
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
            (list(PROFILE_TABLES),),
        ).fetchall()
    missing = {place for place in held | set(rows) if place[1] not in PLACES.get(place[0], {})}
    assert missing == set()


@pytest.mark.parametrize("backend", ["files", "database"])
async def test_a_deleted_profile_leaves_nothing(tmp_path: Path, backend: str) -> None:
    if backend == "database":
        with database() as dsn:
            async with memory_with_llm(PostgresVault(dsn)) as holdfast:
                await fill_profile(holdfast.profile("app", "ana"))
                await holdfast.delete_profile("app", "ana")
                assert SECRET not in _rows(dsn)
        return
    async with memory_with_llm(SqliteVault(tmp_path)) as holdfast:
        await fill_profile(holdfast.profile("app", "ana"))
        files = {path for path in tmp_path.rglob("*.db*") if "catalogue" not in path.name}
        assert await holdfast.delete_profile("app", "ana")
        assert not [path for path in files if path.exists()]


@asynccontextmanager
async def planted(backend: str, folder: Path, word: Callable[[str], str]) -> AsyncIterator[tuple[Plant, Any]]:
    """A profile to plant words in, and a function that reads every byte stored of it."""
    clock = Clock()
    if backend == "files":
        vault = SqliteVault(folder / "data")
        (folder / "bare").mkdir()
        async with make_holdfast(vault, clock, word) as holdfast:

            async def read() -> bytes:
                ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
                return sqlite_bytes(vault._folder.file(name), key, folder / "bare")

            yield Plant(holdfast, clock, word), read
        return
    with database() as dsn:
        sealed = PostgresVault(dsn, keyring=folder / "keyring", sealed=True)
        pg = sealed if backend == "sealed" else PostgresVault(dsn)
        async with make_holdfast(pg, clock, word) as holdfast:

            async def read_rows() -> bytes:
                store: Any = await pg.open("app", "ana", create=False)
                return postgres_bytes(dsn, store._cipher if backend == "sealed" else None)

            yield Plant(holdfast, clock, word), read_rows


def _ways() -> Iterator[Any]:
    """Every way on each backend; sealed, one way, as the rows are the same as in a plain database."""
    for n, way in enumerate(WAYS):
        for backend in ("files", "database", "sealed"):
            yield pytest.param(way, backend, marks=pytest.mark.slow if backend == "sealed" and n else ())


@pytest.mark.parametrize(("way", "backend"), list(_ways()))
async def test_every_way_to_forget_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, way: str
) -> None:
    person = way == "forget_a_person"
    before: list[bytes] = []
    async with planted(backend, tmp_path, lambda place: PERSON if person else f"{SECRET}{place}") as (plant, read):
        ask = Plant.ask

        async def asked(self: Plant, *places: str) -> None:
            await ask(self, *places)
            before.append(await read())

        await plant.harmless()
        monkeypatch.setattr(Plant, "ask", asked)
        places = await WAYS[way](plant)
        words = [PERSON] if person else [f"{SECRET}{place}" for place in places]
        hidden = {f"{SECRET}{place}" for place in ("saidkey", "writtenkey", "addkey")}  # stored as digests
        seen = found_words(words, before[-1])
        assert {each.partition(":")[0] for each in seen} >= set(words) - hidden, "the search would not find it"
        for _ in range(2):  # with the traces of the forgetting itself, and once more after they were written
            left = found_words(words, await read())
            assert left == [], "\n".join(left)
            await plant.ana.traces()
        assert b"harmless" in await read()
        assert "harmless weather" in repr(await plant.ana.messages("other"))


async def test_the_search_sees_questions_in_compressed_traces(tmp_path: Path) -> None:
    async with planted("files", tmp_path, lambda place: SECRET) as (plant, read):
        await plant.harmless()
        await plant.ask("asked")
        (file,) = [path for path in (tmp_path / "data").rglob("*.db") if "catalogue" not in path.name]
        stored = await read()
        ((_, key),) = await plant.holdfast.runtime.vault._catalogue.read(  # type: ignore[attr-defined]
            lambda db: query(db, "SELECT file, key FROM profile")
        )
        pages = sqlite_pages(file, key, tmp_path / "bare")
        assert found_words([SECRET], pages) == [], "a question is stored compressed and nowhere else"
        assert found_words([SECRET], inflated(pages))
        assert found_words([SECRET], stored)


def test_the_search_sees_free_pages(tmp_path: Path) -> None:
    key = bytes(32)
    db = connect(tmp_path / "file.db", key, writing=True)
    query(db, "PRAGMA secure_delete = OFF")
    db.execute("CREATE TABLE t (x)")
    db.execute("INSERT INTO t VALUES (?)", (SECRET * 2000,))
    db.execute("DELETE FROM t")
    assert query(db, "PRAGMA freelist_count") > [(0,)]
    assert found_words([SECRET], (tmp_path / "file.db").read_bytes()) == []
    (tmp_path / "bare").mkdir()
    assert found_words([SECRET], sqlite_pages(tmp_path / "file.db", key, tmp_path / "bare"))
    db.close()


async def test_an_operation_that_runs_while_something_is_forgotten_leaves_a_bare_trace(tmp_path: Path) -> None:
    async with planted("files", tmp_path, lambda place: f"{SECRET}{place}") as (plant, read):
        await plant.harmless()
        known = await plant.write()
        embedder: Any = plant.holdfast.runtime.embedder
        embed, reached, forgetting = embedder.embed_query, asyncio.Event(), asyncio.Event()

        async def slow(text: str) -> Any:
            reached.set()
            await forgetting.wait()
            return await embed(text)

        embedder.embed_query = slow
        asking = asyncio.create_task(plant.ana.search(f"do I like {SECRET}content?"))
        await asyncio.wait_for(reached.wait(), 120)
        await plant.ana.forget(known.id)
        forgetting.set()
        await asking
        traces = await plant.ana.traces()
        assert next(trace for trace in traces if trace.operation == "search").details["erased"]
        assert found_words([SECRET], await read()) == []


async def test_a_person_named_only_where_the_embedder_refused_is_forgotten(tmp_path: Path) -> None:
    async with planted("files", tmp_path, lambda place: PERSON) as (plant, _):
        await plant.harmless()
        receipt = await plant.ana.ingest([{"role": "user", "content": f"{PERSON} sings"}], session_id="s", wait=True)
        store = await plant.holdfast.runtime.vault.open("app", "ana", create=False)
        id = receipt.messages[0].id
        await store.apply(Change(refused=tuple((part.item, part.number) for part, _ in await store.indexed([id]))))
        assert (await plant.ana.forget_person(PERSON)).messages == (id,)


@pytest.mark.parametrize("place", ["value", "metadata", "session", "keywords"])
async def test_a_person_is_found_wherever_a_memory_names_them(tmp_path: Path, place: str) -> None:
    async with planted("files", tmp_path, lambda place: PERSON) as (plant, _):
        name = "Zoë Ünal"
        given: dict[str, Any] = {
            "value": {"value": [{"with": name}]}, "metadata": {"metadata": {"with": name}},
            "session": {"session_id": f"call_{name}"}, "keywords": {"metadata": {name.upper(): 1}},
        }[place]  # fmt: skip
        kept = await plant.ana.remember("Zoë was there", kind="note")
        named = await plant.ana.remember("a call", kind="note", **given)
        assert (await plant.ana.forget_person(unicodedata.normalize("NFD", name))).memories == (named.id,)
        assert (await plant.ana.get(kept.id)).id == kept.id
