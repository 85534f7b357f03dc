"""What 0.1.0 wrote opens with today's code: a data folder, a database, archives. Nothing is lost; old ids work."""

from __future__ import annotations

import gzip
import shutil
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.json_codec import encode
from holdfast.domain.types import Memory
from holdfast.storage.postgres import schema
from support.postgres import server_dsn
from support.previous_version import FIXTURES, expected_contents, unpack_folder

LEVELS = {"catalogue": 5, "profile": 8}
"""The last migrations of 0.1.0."""
CHANGED = ("id", "version", "superseded_by", "origin")
_OURS = "relnamespace::regnamespace::text ~ '^holdfast|^public$'"
SCHEMAS = "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname ~ '^holdfast|^public$'"
TABLES = f"SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'p') AND {_OURS}"
SEQUENCES = f"""
SELECT oid::regclass FROM pg_class WHERE relkind = 'S' AND {_OURS}
   AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i'))
"""


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return expected_contents()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack_folder(tmp_path)


@pytest.fixture
async def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, Path]]:
    """A copy of 0.1.0's database, and its keyring."""
    name = f"holdfast_old_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server_dsn(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    dsn = server_dsn().replace("/postgres?", f"/{name}?")
    first = tuple(each for each in schema.migrations() if each[1] <= LEVELS.get(each[0], 0))
    with monkeypatch.context() as patched:
        patched.setattr(schema, "migrations", lambda: first)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await schema.migrate(connection)
            await connection.execute("DELETE FROM migration")
            text = gzip.decompress((FIXTURES / "database.sql.gz").read_bytes()).decode()
            kept = [line for line in text.splitlines() if not line.startswith(("\\", "SET transaction_timeout"))]
            await connection.execute("\n".join(kept))
    keyring = tmp_path / "ring"
    shutil.copy(FIXTURES / "master-key", keyring)
    yield dsn, keyring
    with psycopg.connect(server_dsn(), autocommit=True) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_a_folder_of_0_1_0_opens_and_loses_nothing(folder: Path, expected: dict[str, Any]) -> None:
    for _ in range(2):  # migrating once is enough
        async with await AsyncHoldfast.open(folder, embedder="potion") as memory:
            await check_vault(memory, expected["folder"])


async def test_a_database_of_0_1_0_opens_and_loses_nothing(
    database: tuple[str, Path], expected: dict[str, Any]
) -> None:
    async with await AsyncHoldfast.open(store=database[0], keyring=database[1], embedder="potion") as memory:
        await check_vault(memory, expected["database"])


async def test_an_archive_of_0_1_0_is_restored_with_one_id_per_memory(tmp_path: Path, expected: dict[str, Any]) -> None:
    async with await AsyncHoldfast.open(tmp_path / "new", embedder="potion") as memory:
        for name in ("ana", "kim"):
            profile = memory.profile("clinic", name)
            done = await profile.import_from(FIXTURES / f"{name}.jsonl.gz")
            assert not done.conflicts
            again = await profile.import_from(FIXTURES / f"{name}.jsonl.gz")
            assert (again.memories, again.conflicts) == (0, ())
            await profile.settle()
            await check_memories(profile, expected["folder"][name])


async def test_the_database_migrates_as_an_owner_who_is_no_superuser(database: tuple[str, Path]) -> None:
    dsn, keyring = database
    name = f"owner_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN CREATEROLE")
        db.execute(f"GRANT {schema.ROLE} TO {name} WITH ADMIN OPTION")
        found = db.execute("SELECT current_database()").fetchone()
        assert found is not None
        db.execute(f"ALTER DATABASE {found[0]} OWNER TO {name}")
        for kind, listed in (("SCHEMA", SCHEMAS), ("TABLE", TABLES), ("SEQUENCE", SEQUENCES)):
            for (each,) in db.execute(listed).fetchall():
                db.execute(f"ALTER {kind} {each} OWNER TO {name}")
    owner = dsn.replace("user=postgres", f"user={name}")
    assert owner != dsn
    async with await AsyncHoldfast.open(store=owner, keyring=keyring, embedder="potion") as memory:
        found_memories = (await memory.profile("clinic", "ana").list(key="appointments", superseded=True)).items
    assert [each.version for each in found_memories] == [3, 2, 1]
    assert len({each.id for each in found_memories}) == 1


async def check_vault(memory: AsyncHoldfast, expected: dict[str, Any]) -> None:
    assert sorted(each.name for each in await memory.access.list_all()) == expected["credentials"]
    for name in ("ana", "kim"):
        profile = memory.profile("clinic", name)
        await check_memories(profile, expected[name])
        await check_rest(profile, expected[name])


async def check_memories(profile: Any, expected: dict[str, Any]) -> None:
    """Every version is there with its words under its new name, and every former id leads to its memory."""
    versions = [memory async for memory in every_version(profile)]
    by_draft = {memory.draft_id: memory for memory in versions}
    assert len(by_draft) == len(versions)
    assert by_draft.keys() == {each["id"] for each in expected["memories"]}
    for former in expected["memories"]:
        now = encode(by_draft[former["id"]])
        for name, value in former.items():
            if name not in CHANGED:
                assert now[name] == value, name
        successor = former.get("superseded_by")
        assert now["superseded_by"] == (None if successor is None else by_draft[successor].ref)
    for id in expected["current"]:
        found = await profile.get(id)
        assert (found.id, found.origin, found.current) == (id, None, True)
    for id, chain in expected["histories"].items():
        assert {each.draft_id for each in await profile.history(id)} == set(chain)
        newest = await profile.get(id)
        assert newest.id == by_draft[id].id
        assert newest.version == max(each.version for each in versions if each.id == newest.id)
    for key in ("appointments", "allergy", "ana.home-city", "paint", "home-city", "/workspace/src/app.py"):
        chain = [memory for memory in versions if memory.key == key]
        assert len({memory.id for memory in chain}) <= 1
        assert [memory.version for memory in chain] == list(range(len(chain), 0, -1))


async def check_rest(profile: Any, expected: dict[str, Any]) -> None:
    messages = [encode(message) for message in await profile.messages(limit=1000)]
    assert [{name: each[name] for name in each if name in messages[0]} for each in expected["messages"]] == [
        {name: message[name] for name in message if name in expected["messages"][0]} for message in messages
    ]
    assert [document.id for document in await profile.documents()] == [each["id"] for each in expected["documents"]]
    assert sorted(entity.name for entity in await profile.entities()) == expected["entities"]
    edits = await profile.edits(limit=100)
    assert [edit.id for edit in edits] == [each["id"] for each in expected["edits"]]
    for edit in edits:
        for ref, _ in edit.made:
            assert (await profile.get(ref)).ref == ref
    for question, ids in expected["hits"].items():
        assert {hit.id for hit in await profile.search(question, limit=5)} & set(ids), question


async def every_version(profile: Any) -> AsyncIterator[Memory]:
    cursor = None
    while True:
        page = await profile.list(limit=500, cursor=cursor, superseded=True)
        for memory in page.items:
            yield memory
        if (cursor := page.cursor) is None:
            return


async def test_what_0_1_0_edited_can_be_undone_and_asked_again(folder: Path) -> None:
    async with await AsyncHoldfast.open(folder, embedder="potion") as memory:
        ana = memory.profile("clinic", "ana")
        seat = await ana.remember("Likes the window seat", key="seat", idempotency_key="request-17")
        assert (seat.version, seat.current) == (1, True)
        note = (await ana.list(kind="note")).items[0]
        again = await ana.revise(note.id, content="Waiting for the third blood test")
        assert (again.id, again.version) == (note.id, 4)
        await ana.undo()
        edit = next(each for each in await ana.edits(limit=100) if each.verb == "revise")
        undone = await ana.undo(edit.id)
        assert [(each.id, each.version) for each in undone.memories] == [(note.id, 2)]
