"""Some questions take no longer in a large profile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.domain.ports.search import Probe
from holdfast.domain.types import Change
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing.conformance.samples import AT, MODEL, direction, memory, message, unit, written


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    vault = SqliteVault(tmp_path)
    await vault.create_namespace("app")
    yield await vault.open("app", "ana", create=True)
    await vault.close()


async def add_finished(store: SqliteStore, first: int, count: int) -> None:
    """Write messages and memories that wait for nothing."""
    said = [message(f"said {n}") for n in range(first, first + count)]
    known = [memory(f"known {n}", n=n) for n in range(first, first + count)]
    vectors = tuple(unit(each, 0) for each in [*(m.id for m in said), *(m.ref for m in known)])
    await store.apply(written(*said, *known, vectors=vectors, settle=tuple(m.id for m in said)))


async def steps_of(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many instructions SQLite executes to say what waits."""
    steps = 0
    read = store._file.read

    async def counted(act: Callable[[apsw.Connection], Any]) -> Any:
        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        def run(db: apsw.Connection) -> Any:
            db.set_progress_handler(step, 1)
            try:
                return act(db)
            finally:
                db.set_progress_handler(None)

        return await read(run)

    with monkeypatch.context() as patch:
        patch.setattr(store._file, "read", counted)
        stats = await store.stats(MODEL, only_waiting=True)
    assert stats.pending == stats.unembedded == 0
    return steps


async def test_what_waits_is_found_in_as_many_steps_in_a_large_profile(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_finished(store, 0, 5)
    await store.unembedded_parts(MODEL, 1)  # the first look goes through all parts
    few = await steps_of(store, monkeypatch)
    await add_finished(store, 5, 200)
    await store.unembedded_parts(MODEL, 1)
    assert await steps_of(store, monkeypatch) == few > 0


async def test_a_message_that_waits_is_found_at_once(store: SqliteStore) -> None:
    await add_finished(store, 0, 5)
    await store.apply(written(message("new")))
    assert (await store.stats(MODEL, only_waiting=True)).pending == 1
    await store.apply(Change(forget=(message("new").id,)))
    assert (await store.stats(MODEL, only_waiting=True)).pending == 0


def refuse_reads(store: SqliteStore, patch: pytest.MonkeyPatch) -> None:
    async def refuse(_: Callable[[apsw.Connection], Any]) -> Any:
        raise AssertionError("the file was read")

    patch.setattr(store._file, "read", refuse)


async def test_no_part_is_looked_for_once_all_have_vectors(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await store.unembedded_parts(MODEL, 5) == []
    said = message("said")
    await store.apply(written(said))
    assert [part.item for part in await store.unembedded_parts(MODEL, 5)] == [said.id]
    await store.apply(Change(vectors=(unit(said.id, 0),)))
    with monkeypatch.context() as patch:
        refuse_reads(store, patch)
        assert await store.unembedded_parts(MODEL, 5) == []
        with pytest.raises(AssertionError):
            await store.unembedded_parts("local/other/8", 5)
    more = [message(f"more {n}") for n in range(4)]
    await store.apply(written(*more, vectors=(unit(more[0].id, 0),)))
    assert [part.item for part in await store.unembedded_parts(MODEL, 2)] == [each.id for each in more[1:3]]
    assert [part.item for part in await store.unembedded_parts(MODEL, 5)] == [each.id for each in more[1:]]
    await store.apply(Change(vectors=tuple(unit(each.id, 0, model="local/other/8") for each in more)))
    assert len(await store.unembedded_parts(MODEL, 9)) == 4
    await store.apply(Change(forget=tuple(each.id for each in more)))
    assert await store.unembedded_parts(MODEL, 9) == []


async def test_a_search_finds_a_new_memory_without_reading_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_finished(store, 0, 60)
    probe = Probe(AT, ("new", "tea"), direction(3), MODEL, limit=0, memories=5, with_neighbours=0)
    for word in (f"word{n}" for n in range(60)):  # until the words of all parts are held
        await store.propose(Probe(AT, (word,), direction(0), MODEL, limit=0, memories=60, with_neighbours=0))
    new = memory("new tea", session_id="s", occurred_at=AT)
    await store.apply(written(new, vectors=(unit(new.ref, 3),)))
    with monkeypatch.context() as patch:
        refuse_reads(store, patch)
        found = await store.propose(probe)
    await store.sleep()
    read = await store.propose(probe)
    assert (found.items[-1].id, found.items) == (new.id, read.items)
    assert (found.tokens, found.number.tolist(), found.of.tolist()) == (
        read.tokens, read.number.tolist(), read.of.tolist()
    )  # fmt: skip
