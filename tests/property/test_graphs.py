"""Whatever is merged, split and taken back: the graph is what it was, and the same on every backend."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.graph import EntityChange, Graph, Scope, changes_left
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change
from holdfast.graph import decisions, queries
from holdfast.graph.identity import Identity
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing.conformance import memory, written
from holdfast.testing.conformance.samples import AT
from support.example_counts import example_count
from support.postgres import migrated_dsn

NAMES = ("Ana", "Bob", "Cleo Diaz", "Acme", "The user", "The user's sister")
SAYINGS = ("works at", "lives in", "met", "is called", "depends on", "and")
statements = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(SAYINGS), st.sampled_from(NAMES)).map(
        lambda said: " ".join(said)
    ),
    min_size=1,
    max_size=6,
    unique=True,
)
some = st.integers(0, 5)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("merge"), some, some),
        st.tuples(st.just("split names"), some, some),
        st.tuples(st.just("split memories"), some, some),
        st.tuples(st.just("undo"), some, some),
        st.tuples(st.just("forget"), some, some),
    ),
    max_size=8,
)


async def whole_graph(store: Store) -> tuple[Any, ...]:
    """All that can be seen of a graph, now and with the past."""
    shown: list[Any] = []
    for scope in (Scope(AT + timedelta(days=1)), Scope(AT + timedelta(days=1), AT + timedelta(seconds=3), True)):
        seen = await queries.open_graph(store, scope)
        whole = await queries.load_overview(seen, 1000)
        around = [await queries.load_neighbourhood(seen, each.id, 2, 1000) for each in whole.entities]
        about = [[m.id for m in await queries.load_memories_about(seen, each.id, 1000)] for each in whole.entities]
        shown += [_sorted(whole), [_sorted(each) for each in around], about]
    return (*shown, await store.graph.changes())


def _sorted(found: Graph) -> Graph:
    return replace(found, links=tuple(sorted(found.links, key=repr)))


async def _act(store: Store, act: tuple[str, int, int], n: int) -> bool:
    """Whether it was possible."""
    what, one, other = act
    seen = await queries.open_graph(store, Scope(AT + timedelta(days=1), None, True))
    names = [each.id for each in (await queries.load_overview(seen, 1000)).entities]
    change = EntityChange(f"{n:04}", AT, "merge", "", shown="" if what == "merge" else f"New {n}")
    try:
        if not names:
            return False
        first, second = names[one % len(names)], names[other % len(names)]
        if what == "merge":
            await decisions.merge_entities(seen, first, [second], change)
        elif what == "split names":
            taken = seen.identity.names(first)[other % 2 :]
            await decisions.split_entity(seen, first, (taken, ()), replace(change, act="split"))
        elif what == "split memories":
            mentioned = sorted({each.memory for each in await seen.mentions(first, 99)})[: other % 3]
            await decisions.split_entity(seen, first, ((), mentioned), replace(change, act="split"))
        elif what == "undo":
            held = await store.graph.changes()
            await decisions.undo_change(store, held[one % len(held)].id if held else None)
        else:
            mentioned = sorted({each.memory for each in await seen.mentions(first, 99)})
            await store.apply(Change(forget=tuple(mentioned[:1])))
    except (InvalidInput, NotFound):
        return False
    return True


async def _told(store: Store, said: list[str]) -> None:
    for n, each in enumerate(said):
        await store.apply(written(memory(each, n=n)))


@settings(max_examples=example_count(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(statements, acts)
def test_taking_a_decision_back_brings_back_exactly_what_was(said: list[str], acts: list[Any]) -> None:
    async def run() -> None:
        vault = MemoryVault()
        await vault.create_namespace("n")
        store = await vault.open("n", "p", create=True)
        await _told(store, said)
        first, states = await whole_graph(store), []
        for n, act in enumerate(each for each in acts if each[0] not in ("undo", "forget")):
            before = await whole_graph(store)
            if await _act(store, act, n):
                states.append(before)
        for state in reversed(states):
            await decisions.undo_change(store, None)
            assert await whole_graph(store) == state
        assert await whole_graph(store) == first
        for n, act in enumerate(each for each in acts if each[0] not in ("undo", "forget")):
            await _act(store, act, n)
        for change in sorted(await store.graph.changes(), key=lambda change: hash((change.id, len(said)))):
            await decisions.undo_change(store, change.id)
        assert await whole_graph(store) == first, "in any order"

    asyncio.run(run())


@settings(max_examples=example_count(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(statements, acts)
def test_every_backend_shows_the_same_graph(said: list[str], acts: list[Any]) -> None:
    folder = Path(tempfile.mkdtemp())

    async def run() -> None:
        vaults = [MemoryVault(), SqliteVault(folder), PostgresVault(migrated_dsn(), connections=2)]
        name = f"n{uuid.uuid4().hex[:12]}"
        stores = []
        for vault in vaults:
            await vault.create_namespace(name)
            stores.append(await vault.open(name, "p", create=True))
            await _told(stores[-1], said)
        for n, act in enumerate(acts):
            assert len({await _act(store, act, n) for store in stores}) == 1
            shown = [await whole_graph(store) for store in stores]
            assert shown[1] == shown[0], "files"
            assert shown[2] == shown[0], "database"
        for vault in vaults:
            await vault.delete_namespace(name)
            await vault.close()

    try:
        asyncio.run(run())
    finally:
        shutil.rmtree(folder)


@given(acts)
def test_what_is_left_of_decisions_names_nothing_forgotten(acts: list[Any]) -> None:
    names = ("a", "b", "c", "d")
    changes = [
        EntityChange(str(n), AT, "merge", names[one % 4], names=(names[other % 4],)) if what == "merge"
        else EntityChange(str(n), AT, "split", names[one % 4], f"new {n}", memories=(f"m{other}", "m0"))
        for n, (what, one, other) in enumerate(acts)
    ]  # fmt: skip
    left = changes_left(changes, {"a"}, {"m0"})
    held = {name for change in left for name in (change.entity, *change.names)}
    assert "a" not in held
    assert "m0" not in {memory for change in left for memory in change.memories}
    assert Identity((), left).of("a") == "a"
