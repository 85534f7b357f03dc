"""Kinds with schemas, on every store and over HTTP: what is written keeps them, and migrations lose nothing."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import (
    AgentMemory,
    AlreadyExists,
    AsyncAgentMemory,
    AsyncHoldfast,
    Forbidden,
    Holdfast,
    InvalidInput,
    Memory,
    NotFound,
)  # fmt: skip
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.api.mcp import tools
from holdfast.domain.types import Draft
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.children.migrate_kind import RENAMED
from support.example_counts import example_count
from support.http_server import http_server
from support.paths import CHILDREN
from support.postgres import database
from support.waiting import until

OLD = {
    "type": "object",
    "properties": {"colour": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["colour"],
    "additionalProperties": False,
}
NEW = {
    "type": "object",
    "properties": {"color": {"type": "string"}, "n": {"type": "integer"}, "by": {"enum": ["hand", "agent"]}},
    "required": ["color", "by"],
    "additionalProperties": False,
}
BACK = {"rename": {"color": "colour"}, "remove": ["by"]}
TOKEN = "a-token-of-these-tests"
Running = Callable[[], Any]


@pytest.fixture(params=["memory", "sqlite", "postgres", "far"])
def running(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A Holdfast on each store, and one behind HTTP. What is awaited one by one needs no margin for slow writes."""
    monkeypatch.setattr("holdfast.service.runtime.SETTINGS_TTL_SECONDS", 0.2)
    monkeypatch.setattr("holdfast.service.runtime.PROPAGATION_MARGIN_SECONDS", 0.02)
    script = ScriptedExtractor({"I like tea": [Draft("preference", "Likes tea", (), key="drink")]})

    @asynccontextmanager
    async def opened(vault: Any) -> AsyncIterator[Any]:
        async with AsyncHoldfast(vault, HashingEmbedder(), script) as memory:
            if request.param != "far":
                yield memory
                return
            await memory.access.admin(TOKEN)
            async with http_server(memory) as url, RemoteHoldfast(url, TOKEN) as far:
                yield far

    if request.param == "postgres":
        with database() as dsn:
            yield lambda: opened(PostgresVault(dsn, connections=4))
    elif request.param == "memory":
        yield lambda: opened(MemoryVault())
    else:
        yield lambda: opened(SqliteVault(tmp_path))


async def with_schemas(memory: Any, count: int = 5, **more: Any) -> Any:
    alice = memory.profile("app", "alice")
    await alice.register_kind("preference", OLD)
    for n in range(count):
        await alice.remember(value={"colour": f"red {n}", "n": n}, kind="preference", key=f"k{n}")
    await alice.register_kind("preference", NEW, version=2, **more)
    return alice


async def whole_profile(alice: Any, **asked: Any) -> dict[str, Any]:
    page = await alice.list(kind="preference", limit=1000, **asked)
    return {memory.key: memory.value for memory in page}


async def test_every_way_to_write_keeps_the_schema(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD | {"x-metadata": {"required": ["room"]}})
        with pytest.raises(InvalidInput, match=r"value\.colour is 3; the rule is type: \"string\"") as refused:
            await alice.remember("red", kind="preference", key="k", value={"colour": 3}, metadata={"room": 1})
        assert refused.value.field == "value.colour"
        with pytest.raises(InvalidInput) as refused:
            await alice.remember("red", kind="preference", key="k", value={"colour": "red"})
        assert refused.value.field == "metadata.room"
        with pytest.raises(InvalidInput):
            await AsyncAgentMemory(alice).write("preference", "k", "red")
        assert (await alice.stats()).memories == 0
        kept = await alice.remember("red", kind="preference", key="k", value={"colour": "red"}, metadata={"room": 1})
        assert kept.extractor == "user/1:preference@1"
        for change in ({"value": {}}, {"metadata": {"room": None}}):
            with pytest.raises(InvalidInput):
                await alice.revise(kept.id, **change)
        assert (await alice.revise(kept.id, trust="agent")).extractor == "user/1:preference@1"
        note = await alice.remember("a note", kind="note")
        with pytest.raises(InvalidInput):
            await alice.revise(note.id, kind="preference")
        assert (await alice.kind("preference")).memories == {"1": 1}


async def test_an_agent_is_told_by_mcp_what_the_schema_wants(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("task", {"x-metadata": {"required": ["due"]}})
        place = tools.ToolPlace(alice, memory.kind_of, "holdfast://app/alice")
        given = tools.validate_arguments(tools.NAMED["remember"], {"content": "Water the plants", "kind": "task"})
        with pytest.raises(InvalidInput) as refused:
            await tools.NAMED["remember"].act(place, given)
        assert refused.value.field == "metadata.due"


async def test_digestion_is_not_blocked_by_schemas(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD)
        done = await alice.ingest([{"role": "user", "content": "I like tea"}], session_id="s", wait=True)
        assert [each.content for each in done.memories] == ["Likes tea"]
        assert (await alice.kind("preference")).memories == {"": 1}


async def test_imports_are_not_blocked_by_schemas_and_bring_them_along(running: Running, tmp_path: Path) -> None:
    async with running() as memory:
        alice, bob = memory.profile("app", "alice"), memory.profile("app", "bob")
        await alice.register_kind("fact", {"type": "object"})
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "tea.md").write_text("# Tea\n\nMara likes tea.\n")
        with pytest.raises(InvalidInput):
            await alice.remember("Mara likes tea.")
        if isinstance(memory, AsyncHoldfast):
            done = await alice.import_from(notes)
            assert done.memories + done.messages > 0
        await alice.remember(value={"a": 1}, key="a")
        await alice.export_to(tmp_path / "alice.jsonl")
        await bob.remember("anything goes")
        await bob.import_from(tmp_path / "alice.jsonl")
        assert (await bob.kind("fact")).memories["1"] == 1
        with pytest.raises(InvalidInput):
            await bob.remember("Mara likes tea.")


async def test_a_pin_is_no_metadata_of_the_schema(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD | {"x-metadata": {"additionalProperties": False}})
        kept = await alice.remember(value={"colour": "red"}, kind="preference", key="k")
        pinned = await alice.pin(kept.id)
        assert (pinned.metadata, pinned.extractor) == ({"pinned": True}, "user/1:preference@1")


async def test_a_kind_is_registered_shown_and_dropped(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        assert await alice.kinds() == ()
        made = await alice.register_kind("preference", OLD)
        assert (made.current, [each.schema for each in made.versions]) == (1, [OLD])
        assert await alice.register_kind("preference", OLD) == made
        assert (await alice.register_kind("preference", NEW, version=2, reverse=BACK)).current == 1
        assert [(each.kind, len(each.versions)) for each in await alice.kinds()] == [("preference", 2)]
        await alice.remember(value={"colour": "red"}, kind="preference")
        with pytest.raises(AlreadyExists, match="another schema"):
            await alice.register_kind("preference", NEW)
        with pytest.raises(AlreadyExists, match="There are memories"):
            await alice.drop_kind("preference")
        assert await alice.drop_kind("preference", force=True)
        assert not await alice.drop_kind("preference", force=True)
        with pytest.raises(NotFound):
            await alice.kind("preference")
        await alice.remember("anything goes", kind="preference")
        for bad in ({"kind": "Not One"}, {"version": 0}, {"version": True}, {"schema": {"type": 3}}, {"reverse": [3]}):
            with pytest.raises(InvalidInput):
                await alice.register_kind(**({"kind": "k", "schema": {}} | bad))


async def test_a_migration_is_previewed_run_and_kept_as_history(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory)
        before = await alice.list(kind="preference")
        shown = await alice.migrate_kind("preference", to=2, using=RENAMED)
        assert (shown.dry_run, shown.migrated, shown.failed, len(shown.differences)) == (True, 5, 0, 5)
        assert shown.differences[0].before == {"colour": "red 4", "n": 4}
        assert shown.differences[0].after == {"color": "red 4", "n": 4, "by": "hand"}
        assert await alice.list(kind="preference") == before
        done = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert (done.dry_run, done.migrated, done.already, done.failed) == (False, 5, 0, 0)
        after = await alice.list(kind="preference")
        assert [each.key for each in after] == [each.key for each in before]
        assert [each.created_at for each in after] == [each.created_at for each in before]
        for old, new in zip(before, after, strict=True):
            assert new.value == {"color": old.value["colour"], "n": old.value["n"], "by": "hand"}
            assert (new.version, new.extractor) == (2, "user/1:preference@1>2")
            assert [each.value for each in await alice.history(new.id)] == [new.value, old.value]
        info = await alice.kind("preference")
        assert (info.current, info.migrating, info.memories) == (2, None, {"2": 5})
        with pytest.raises(InvalidInput):
            await alice.remember(value={"colour": "blue"}, kind="preference", key="k9")
        again = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert (again.migrated, again.already) == (0, 5)
        assert (await alice.search("red 3"))[0].value["color"] == "red 3"


async def test_a_memory_that_cannot_go_stays_and_is_told(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory)
        mapping = RENAMED | {"map": {"color": {"red 2": 2, "red 3": {}}}}
        done = await alice.migrate_kind("preference", to=2, using=mapping, dry_run=False)
        assert (done.migrated, done.failed) == (3, 2)
        assert {each.key for each in done.failures} == {"k2", "k3"}
        assert {each.field for each in done.failures} == {"value.color"}
        assert (await alice.kind("preference")).memories == {"1": 2, "2": 3}
        rest = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert (rest.migrated, rest.already, rest.failed) == (2, 3, 0)


async def test_a_rollback_restores_the_former_values(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory)
        before = await whole_profile(alice)
        await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        edited = await alice.remember(value={"color": "blue", "by": "agent"}, kind="preference", key="k1")
        await alice.remember(value={"color": "new", "by": "agent"}, kind="preference", key="new")
        assert (await alice.rollback_kind("preference", to=1)).dry_run
        done = await alice.rollback_kind("preference", to=1, dry_run=False)
        assert (done.migrated, done.failed, done.failures[0].key, done.undone) == (5, 1, "new", (edited.id,))
        assert await whole_profile(alice) == before | {"new": {"color": "new", "by": "agent"}}
        assert (await alice.kind("preference")).current == 1
        await alice.remember(value={"colour": "blue"}, kind="preference", key="k9")
        again = await alice.rollback_kind("preference", to=1, dry_run=False)
        assert (again.migrated, again.already, again.failed) == (0, 6, 1)
        with pytest.raises(InvalidInput, match="migrate it to 2 instead"):
            await alice.rollback_kind("preference", to=2)
        with pytest.raises(NotFound, match="no version 7"):
            await alice.rollback_kind("preference", to=7)


async def test_a_rollback_keeps_what_was_written_since_where_there_is_a_reverse_mapping(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory, reverse=BACK)
        before = await whole_profile(alice)
        await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        await alice.remember(value={"color": "blue", "by": "agent"}, kind="preference", key="k1")
        await alice.remember(value={"color": "new", "by": "agent"}, kind="preference", key="new")
        done = await alice.rollback_kind("preference", to=1, dry_run=False)
        assert (done.migrated, done.failed, done.undone) == (6, 0, ())
        assert await whole_profile(alice) == before | {"k1": {"colour": "blue"}, "new": {"colour": "new"}}
        again = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert (again.migrated, again.failed) == (6, 0)


async def test_a_reader_gets_the_version_it_understands(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory, reverse=BACK)
        before = await whole_profile(alice)
        await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert await whole_profile(alice, version=1) == before
        head = (await alice.list(kind="preference", key="k1"))[0]
        assert (await alice.get(head.id, version=1)).value == before["k1"]
        assert (await alice.get(head.id, version=2)).value == head.value
        desk = AsyncAgentMemory(alice)
        assert (await desk.get("preference", "k1", version=1)).value == before["k1"]
        assert (await desk.get("preference", "k1")).value == head.value
        with pytest.raises(NotFound, match="has no version 7"):
            await desk.get("preference", "k1", version=7)
        await alice.register_kind("preference", NEW, version=2)  # without a reverse mapping: by history
        await alice.remember(value={"color": "new", "by": "agent"}, kind="preference", key="new")
        assert (await alice.get(head.id, version=1)).value == before["k1"]
        with pytest.raises(NotFound, match="has no value of version 1") as refused:
            await whole_profile(alice, version=1)
        assert refused.value.field == "version"
        with pytest.raises(InvalidInput):
            await alice.list(version=1)


async def test_a_reader_may_be_newer_than_what_it_reads(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD)
        kept = await alice.remember(value={"colour": "red"}, kind="preference", key="k")
        await alice.register_kind("preference", {"required": ["colour"]}, version=2)
        await alice.register_kind("preference", {"required": ["color"]}, version=3)
        assert (await alice.get(kept.id, version=2)).value == {"colour": "red"}
        with pytest.raises(NotFound, match="Migrate it to 3 first"):
            await alice.get(kept.id, version=3)


async def test_versions_are_migrated_one_after_the_other(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory, reverse=BACK)
        third = {"type": "object", "required": ["shade"]}
        await alice.register_kind("preference", third, version=3, reverse={"rename": {"shade": "color"}})
        early = await alice.migrate_kind("preference", to=3, using={"rename": {"color": "shade"}})
        assert (early.migrated, early.left) == (0, 5)
        before = await whole_profile(alice)
        for to, using in ((2, RENAMED), (3, {"rename": {"color": "shade"}})):
            done = await alice.migrate_kind("preference", to=to, using=using, dry_run=False)
            assert (done.migrated, done.failed) == (5, 0)
        assert await whole_profile(alice, version=1) == before
        with pytest.raises(InvalidInput, match="roll it back"):
            await alice.migrate_kind("preference", to=2)
        done = await alice.rollback_kind("preference", to=1, dry_run=False)
        assert (done.migrated, done.failed, done.undone) == (5, 0, ())
        assert await whole_profile(alice) == before


async def test_what_was_there_before_the_schema_is_adopted(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.remember(value={"colour": "red"}, kind="preference", key="fits")
        await alice.remember(value={"colour": 3}, kind="preference", key="does not")
        await alice.register_kind("preference", OLD)
        done = await alice.migrate_kind("preference", to=1, dry_run=False)
        assert (done.migrated, done.failed, done.failures[0].key) == (1, 1, "does not")
        assert (await alice.kind("preference")).memories == {"1": 1, "": 1}


async def test_memories_without_a_key_that_become_the_same_are_told(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD)
        for n in range(3):
            await alice.remember(value={"colour": "red", "n": n}, kind="preference")
        await alice.register_kind("preference", NEW, version=2)
        mapping = RENAMED | {"remove": ["n"]}
        done = await alice.migrate_kind("preference", to=2, using=mapping, dry_run=False)
        assert (done.migrated, done.failed) == (1, 2)
        assert "the same as another memory" in done.failures[0].reason
        assert (await alice.stats()).kinds == {"preference": 3}


async def test_what_has_no_vector_on_purpose_gets_none(running: Running) -> None:
    async with running() as memory:
        alice = memory.profile("app", "alice")
        await alice.register_kind("preference", OLD)
        await alice.remember(value={"colour": "red"}, kind="preference", key="a", embed=False)
        await alice.remember("Likes red", value={"colour": "red"}, kind="preference", key="b")
        await alice.register_kind("preference", NEW, version=2)
        await alice.settle()
        await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        await alice.settle()
        assert (await alice.stats()).unembedded == 0
        assert [each.content for each in await alice.list(kind="preference", key="b")] == ["Likes red"]
        assert "meaning" not in (await alice.search('{"color": "red", "by": "hand"}', key="a"))[0].channels


async def test_a_repeated_request_is_answered_although_the_schema_has_changed(running: Running) -> None:
    async with running() as memory:
        alice = await with_schemas(memory)
        asked: Any = {"value": {"colour": "x"}, "kind": "preference", "key": "x", "idempotency_key": "once"}
        first = await alice.remember(**asked)
        await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        assert (await alice.remember(**asked)).id == first.id


async def test_a_writer_of_old_values_during_the_migration_loses_nothing(running: Running, unhurried: None) -> None:
    async with running() as memory:
        await migrated_under_writers(await with_schemas(memory, 120), memory.profile("app", "alice"))


@pytest.mark.parametrize("running", ["postgres"], indirect=True)
async def test_writers_of_another_server_lose_nothing_either(running: Running, unhurried: None) -> None:
    async with running() as here, running() as there:
        await migrated_under_writers(await with_schemas(here, 120), there.profile("app", "alice"))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take a second for a write that began by the old schema."""
    monkeypatch.setattr("holdfast.service.runtime.PROPAGATION_MARGIN_SECONDS", 5.0)


async def migrated_under_writers(alice: Any, same: Any) -> None:
    """Two writers of old values, until some time after the migration refuses them."""
    written: dict[str, str] = {}
    refused = 0
    done = asyncio.Event()

    async def write(who: int) -> None:
        nonlocal refused
        n = 0
        while not done.is_set():
            key, color = f"{f'k{n * 7 % 350}' if n % 2 else f'w{n}'}-{who}", f"{who} wrote {n}"
            try:
                await same.remember(value={"colour": color}, kind="preference", key=key)
                written[key] = color
            except InvalidInput:  # the migration is done, and old values are refused from now on
                refused += 1
            n += 1
            await asyncio.sleep(0.02)

    writers = [asyncio.create_task(write(who)) for who in range(2)]
    await until(lambda: len(written) > 2)
    result = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
    await until(lambda: refused > 2)
    done.set()
    await asyncio.gather(*writers)
    assert result.failed == 0
    assert written
    assert refused
    found: dict[str, Any] = {}
    page = await alice.list(kind="preference", limit=1000)
    found |= {each.key: each for each in page}
    while page.cursor is not None:
        page = await alice.list(kind="preference", limit=1000, cursor=page.cursor)
        found |= {each.key: each for each in page}
    assert Counter(each.extractor for each in found.values()) == {"user/1:preference@1>2": 120 + len(written)}
    assert {key: found[key].value["color"] for key in written} == written


@pytest.mark.parametrize("running", ["postgres"], indirect=True)
async def test_two_servers_hold_to_one_schema_and_migrate_together(running: Running) -> None:
    async with running() as here, running() as there:
        alice, same = await with_schemas(here, 120), there.profile("app", "alice")
        assert (await same.remember(value={"colour": "x"}, kind="preference", key="x")).extractor.endswith("@1")
        results = await asyncio.gather(
            *(each.migrate_kind("preference", to=2, using=RENAMED, dry_run=False) for each in (alice, same))
        )
        assert sum(each.migrated for each in results) == 121
        assert [each.failed for each in results] == [0, 0]
        for each in (alice, same):
            with pytest.raises(InvalidInput):
                await each.remember(value={"colour": "y"}, kind="preference", key="y")
        await alice.drop_kind("preference", force=True)

        async def allowed() -> bool:  # as soon as the other server knows
            try:
                await same.remember("anything goes", kind="preference", key="y")
            except InvalidInput:
                return False
            return True

        await until(allowed)


async def test_over_http_a_migration_is_a_mapping_and_takes_the_right_to_administer(tmp_path: Path) -> None:
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor()) as memory:
        await with_schemas(memory)
        await memory.access.admin(TOKEN)
        _, key = await memory.access.issue("key", "agent", ("read", "write", "forget"), namespace="app")
        async with http_server(memory) as url, RemoteHoldfast(url, TOKEN) as owner, RemoteHoldfast(url, key) as agent:
            with pytest.raises(InvalidInput, match="a function cannot be sent"):
                await owner.profile("app", "alice").migrate_kind("preference", to=2, using=dict)
            alice = agent.profile("app", "alice")
            assert (await alice.kind("preference")).memories == {"1": 5}
            for act in (
                alice.register_kind("other", {}), alice.drop_kind("preference", force=True),
                alice.migrate_kind("preference", to=2, using=RENAMED), alice.rollback_kind("preference", to=1),
            ):  # fmt: skip
                with pytest.raises(Forbidden):
                    await act


def test_a_function_may_migrate(tmp_path: Path) -> None:
    def turned(value: Any) -> Any:
        value["color"] = value.pop("colour")
        return {**value, "by": ["hand"][value["n"] // 4]}

    with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        alice = memory.profile("app", "alice")
        alice.register_kind("preference", OLD)
        for n in range(5):
            alice.remember(value={"colour": "red", "n": n}, kind="preference", key=f"k{n}")
        alice.register_kind("preference", NEW, version=2)
        done = alice.migrate_kind("preference", to=2, using=turned, dry_run=False)
        assert (done.migrated, done.failed) == (4, 1)
        assert done.failures[0].reason == "IndexError: list index out of range"
        desk = AgentMemory(agent="app", entity="alice", memory=memory)
        assert desk.get("preference", "k1", version=1).value == {"colour": "red", "n": 1}  # type: ignore[union-attr]


# Killed on the way

CHILD = CHILDREN / "migrate_kind.py"


def run_until_killed(folder: Path, step: int, back: str) -> bool:
    done = subprocess.run([sys.executable, CHILD, folder, str(step), back], capture_output=True, text=True, timeout=400)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == -9


COUNT = 8


def open_memory(folder: Path) -> Holdfast:
    return Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor())


def prepare_folder(folder: Path, back: bool = False) -> None:
    with open_memory(folder) as memory:
        alice = memory.profile("app", "alice")
        alice.register_kind("preference", OLD)
        for n in range(COUNT):
            alice.remember(value={"colour": f"red {n}", "n": n}, kind="preference", key=f"k{n}")
        alice.register_kind("preference", NEW, version=2)
        if back:
            alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        alice.settle(120)


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("back", [False, True], ids=["forth", "back"])
def test_killed_at_any_step_it_goes_on_where_it_stopped(tmp_path: Path, back: bool, stride: int) -> None:
    prepare_folder(tmp_path / "before", back)
    step = 1
    while run_until_killed(
        shutil.copytree(tmp_path / "before", tmp_path / str(step)), step, "back" if back else "forth"
    ):
        with open_memory(tmp_path / str(step)) as memory:
            alice = memory.profile("app", "alice")
            whole(alice.list(kind="preference").items)
            if back:
                alice.rollback_kind("preference", to=1, dry_run=False)
            else:
                alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
            assert_migrated(alice, 1 if back else 2)
        step += stride
    assert step > 8
    with open_memory(tmp_path / str(step)) as memory:
        assert_migrated(memory.profile("app", "alice"), 1 if back else 2)


def assert_migrated(alice: Any, to: int) -> None:
    info = alice.kind("preference")
    assert (info.current, info.migrating, info.memories) == (to, None, {str(to): COUNT})
    found = alice.list(kind="preference").items
    whole(found)
    assert {len(alice.history(each.id)) for each in found} == {2 if to == 2 else 3}


def whole(found: tuple[Memory, ...]) -> None:
    """Every memory is there once, with its value at one of the two versions."""
    assert sorted(str(each.key) for each in found) == [f"k{n}" for n in range(COUNT)]
    for each in found:
        n = int(str(each.key)[1:])
        assert each.value in ({"colour": f"red {n}", "n": n}, {"color": f"red {n}", "n": n, "by": "hand"})


def test_a_killed_migration_needs_no_mapping_to_go_on(tmp_path: Path) -> None:
    prepare_folder(tmp_path)
    assert run_until_killed(tmp_path, 5, "forth")
    with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        info = alice.kind("preference")
        assert (info.current, info.migrating) == (1, 2)
        assert set(info.memories) == {"1", "2"}
        alice.remember(value={"colour": "old"}, kind="preference", key="k0")  # both count while it is under way
        alice.remember(value={"color": "new", "by": "agent"}, kind="preference", key="k1")
        done = alice.migrate_kind("preference", to=2, dry_run=False)
        assert done.failed == 0
        assert alice.kind("preference").memories == {"2": COUNT}
        assert alice.list(kind="preference", key="k0")[0].value == {"color": "old", "by": "hand"}


# Any values, any mapping

names = st.sampled_from(["a", "b", "c"])
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["1", "x", "yes"])
values = st.dictionaries(
    names, st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=2), max_leaves=4)
)
paths = st.lists(names, min_size=1, max_size=2).map(".".join)
mapping_of = st.lists(
    st.one_of(
        st.builds(lambda a, b: {"rename": {a: b}}, paths, names),
        st.builds(lambda a, b: {"default": {a: b}}, paths, leaves),
        st.builds(lambda a, b: {"constant": {a: b}}, paths, leaves),
        st.builds(lambda a: {"remove": [a]}, paths),
        st.builds(lambda a, b: {"convert": {a: b}}, paths, st.sampled_from(["number", "string", "boolean"])),
        st.just({"move": {"": "d.e"}}),
    ),
    max_size=3,
)


@settings(max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(values, min_size=1, max_size=6), mapping_of)
def test_a_migration_and_its_rollback_are_nothing(kept: list[Any], mapping: Any) -> None:
    async def run() -> None:
        async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
            alice = memory.profile("app", "alice")
            await alice.register_kind("preference", {})
            for n, value in enumerate(kept):
                await alice.remember(value=value, kind="preference", key=f"k{n}")
            await alice.register_kind("preference", {"type": "object"}, version=2)
            before = await whole_profile(alice)
            done = await alice.migrate_kind("preference", to=2, using=mapping, dry_run=False)
            assert done.migrated + done.failed == len(kept)
            await alice.rollback_kind("preference", to=1, dry_run=False)
            assert await whole_profile(alice) == before
            assert (await alice.kind("preference")).memories == {"1": len(kept)}

    asyncio.run(run())


@pytest.mark.slow
async def test_a_thousand_memories_are_migrated_in_seconds(running: Running, capsys: Any) -> None:
    async with running() as memory:
        alice = await with_schemas(memory, 1000)
        await alice.settle()
        start = time.perf_counter()
        done = await alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
        took = time.perf_counter() - start
        with capsys.disabled():
            print(f"\n1,000 memories migrated in {took:.2f} s")
        assert done.migrated == 1000
        assert took < 30
