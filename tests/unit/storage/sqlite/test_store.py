"""Some questions take no longer in a large profile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.domain.types import Change
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing.conformance.samples import MODEL, memory, message, unit, written


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
