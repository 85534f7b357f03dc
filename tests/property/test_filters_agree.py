"""Filters, orders, pages, totals and facets: every backend gives what a naive filter over the same data gives."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.domain.filters import parse_filter, passes
from holdfast.domain.ports.search import Probe
from holdfast.domain.types import Facet, Item, Memory, Message, Order
from holdfast.domain.visibility import Visibility
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.storage.views.agent_store import AgentStore
from holdfast.testing.conformance import memory, message, written
from holdfast.testing.conformance.samples import AT
from support.example_counts import example_count
from support.naive_filter import counts_of, fields_of, in_order, is_match
from support.postgres import lasting_keyring, migrated_dsn

WORDS = (
    "Straße",
    "STRASSE",
    "strasse",
    "İstanbul",
    "ﬁne",
    "FINE",
    "K",
    "k",
    "ſun",
    "Sun",
    "naïve",
    "東京",
    "a%_'",
    "Σς",
)
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
numbers = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.5, 2.0, 1e10]))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(["", "x", "X", "xy", "ß", "SS"]))
names = st.sampled_from(["tags", "n", "deep", "o'k"])
objects = st.dictionaries(st.sampled_from(["in", "n"]), st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=2)
inner = st.one_of(scalars, objects, st.lists(st.one_of(scalars, objects, st.lists(scalars, max_size=1)), max_size=3))
metadata = st.dictionaries(names, inner, max_size=3)
agents = st.sampled_from([None, "a", "b"])
moments = st.integers(-40, 40).map(lambda days: AT + timedelta(days=days, microseconds=days))
optional_moments = st.one_of(st.none(), moments)

said = st.builds(
    lambda text, **more: (text, more),
    texts, session=st.sampled_from(["s", "t"]), speaker=st.sampled_from([None, "Ann", "bob"]), agent=agents,
    metadata=metadata,
)  # fmt: skip
known = st.builds(
    dict, text=texts, kind=st.sampled_from(["fact", "Fact", "note"]), keyed=st.booleans(), agent=agents,
    metadata=metadata, keywords=st.lists(st.sampled_from(["tea", "TEA", "ß"]), max_size=2).map(tuple),
    trust=st.sampled_from(["user", "tool"]),
    occurred_at=optional_moments, expires_at=optional_moments, created_at=moments, version=st.integers(1, 3),
    sources=st.lists(st.integers(0, 5), max_size=2), session_id=st.sampled_from([None, "s", "t"]),
)  # fmt: skip
worlds = st.tuples(st.lists(said, max_size=4), st.lists(known, min_size=1, max_size=7))

paths = st.sampled_from([
    "metadata.tags", "metadata.n", "metadata.deep.in", "metadata.deep.n", "metadata.tags.in", "metadata.o'k",
    "metadata.deep", "metadata.tags.in.n",
])  # fmt: skip
text_fields = st.sampled_from(["content", "summary", "kind", "key", "session_id", "agent", "trust", "role", "speaker"])
list_fields = st.sampled_from(["keywords", "sources"])
time_fields = st.sampled_from(["time", "created_at", "updated_at", "occurred_at", "expires_at"])
some_texts = st.one_of(
    st.sampled_from(WORDS), st.sampled_from(["", "f", "F", "s", "fact", "Ann", "tea", "k1", "x", "ß", "SS", "zebra"])
)
comparing = st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"])
tests = st.one_of(
    st.tuples(paths, st.one_of(
        st.tuples(st.sampled_from(["eq", "ne", "contains"]), scalars),
        st.tuples(st.sampled_from(["in", "nin"]), st.lists(scalars, max_size=3)),
        st.tuples(st.sampled_from(["gt", "gte", "lt", "lte"]), st.one_of(numbers, st.sampled_from(["", "x", "ß"]))),
        st.tuples(st.sampled_from(["prefix", "icontains"]), st.sampled_from(["", "x", "X", "ss"])),
        st.tuples(st.just("exists"), st.booleans()),
    )),
    st.tuples(st.one_of(text_fields, list_fields), st.one_of(
        st.tuples(comparing, some_texts),
        st.tuples(st.sampled_from(["prefix", "contains", "icontains"]), some_texts),
        st.tuples(st.sampled_from(["in", "nin"]), st.lists(some_texts, max_size=3)),
        st.tuples(st.just("exists"), st.booleans()),
    )),
    st.tuples(time_fields, st.one_of(st.tuples(comparing, moments), st.tuples(st.just("exists"), st.booleans()))),
    st.tuples(st.just("version"), st.tuples(comparing, st.integers(0, 4))),
).map(lambda each: {each[0]: {each[1][0]: each[1][1]}})  # fmt: skip
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "all", "or", "any"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda each: {each[0]: each[1]}
        ),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=4,
)
questions = st.lists(
    st.tuples(st.one_of(st.none(), conditions), st.sampled_from(get_args(Order)), st.integers(1, 4)),
    min_size=4, max_size=12,
)  # fmt: skip
SEEN = Visibility("a", ())
"""Agent a sees its own writing and what no agent wrote."""


@dataclass
class Backends:
    loop: asyncio.AbstractEventLoop
    vaults: dict[str, Any]

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)


@pytest.fixture(scope="module")
def backends() -> Iterator[Backends]:
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:

        async def opened() -> dict[str, Any]:
            return {
                "in memory": MemoryVault(),
                "files": SqliteVault(Path(folder)),
                "database": PostgresVault(migrated_dsn(), connections=2),
                "sealed": PostgresVault(migrated_dsn(), connections=2, keyring=lasting_keyring(), sealed=True),
            }

        found = Backends(loop, loop.run_until_complete(opened()))
        yield found
        for vault in found.vaults.values():
            loop.run_until_complete(vault.close())
    loop.close()


def items_of(world: Any) -> tuple[list[Message], list[Memory]]:
    messages = [message(f"zebra {n} {text}", **more) for n, (text, more) in enumerate(world[0])]
    memories = []
    for n, each in enumerate(world[1]):
        more = dict(each)
        text, keyed, picked = more.pop("text"), more.pop("keyed"), more.pop("sources")
        sources = tuple(dict.fromkeys(messages[place].id for place in picked if place < len(messages)))
        created = more.pop("created_at")
        times = {"created_at": created, "updated_at": created + timedelta(days=n % 3)}
        memories.append(
            memory(f"zebra {text} {n}", n=n, key=f"k{n}" if keyed else None, sources=sources, **more, **times)
        )
    return messages, memories


def seen_by_agent(item: Item, messages: dict[str, Message]) -> bool:
    if item.agent is not None:
        return item.agent == SEEN.agent
    sources = item.sources if isinstance(item, Memory) else ()
    return all(messages[id].agent in (None, SEEN.agent) for id in sources)


async def ask(store: Any, where: Any, order: Any, limit: int) -> Any:
    found, cursor, totals = [], None, set()
    while True:
        page = await store.scan(where, now=AT, limit=limit, cursor=cursor, order=order, count=get_args(Facet))
        assert len(page) <= limit
        found += [each.id for each in page]
        totals.add(page.total)
        cursor = page.cursor
        if cursor is None:
            break
    facets = page.facets
    probe = Probe(now=AT, words=("zebra",), where=where, limit=100, memories=100)
    proposals = await store.propose(probe)
    proposed = {item.id for item, ranks in zip(proposals.items, proposals.channels, strict=True) if ranks}
    return found, totals, facets.total, facets.counts, proposed


def check(backends: Backends, world: Any, asked: Any) -> None:
    messages, memories = items_of(world)
    said = {each.id: each for each in messages}
    name = f"f{uuid.uuid4().hex[:12]}"
    for backend, vault in backends.vaults.items():
        backends.run(vault.create_namespace(name))
        store = backends.run(vault.open(name, "p", create=True))
        for item in (*messages, *memories):
            backends.run(store.apply(written(item)))
        for condition, order, limit in asked:
            where = parse_filter(condition)
            for view, seen in ((store, lambda item: True), (AgentStore(store, SEEN), lambda i: seen_by_agent(i, said))):
                passing = [
                    item
                    for item in (*messages, *memories)
                    if seen(item) and (condition is None or is_match(condition, fields_of(item)))
                ]
                fresh = [
                    item
                    for item in passing
                    if isinstance(item, Memory) and (item.expires_at is None or item.expires_at > AT)
                ]
                visible = {id: each for id, each in said.items() if seen(each)}
                found, totals, counted, counts, proposed = backends.run(ask(view, where, order, limit))
                about = (backend, condition, order)
                assert found == [each.id for each in in_order(fresh, order)], about
                assert (totals, counted) == ({len(fresh)}, len(fresh)), about
                assert counts == counts_of(fresh, visible), about
                if view is store:  # what rests on a hidden item is left out after the proposals
                    gone = {each.id for each in memories if each.expires_at is not None and each.expires_at <= AT}
                    assert proposed == {item.id for item in passing} - gone, about
                    assert [passes(where, each) for each in messages] == [each in passing for each in messages], about
        backends.run(vault.delete_namespace(name))


QUICK: Any = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=example_count(6), **QUICK)
@given(world=worlds, asked=questions)
def test_every_backend_agrees_with_a_naive_filter(backends: Backends, world: Any, asked: Any) -> None:
    check(backends, world, asked)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=300, **QUICK)
@given(world=worlds, asked=questions)
def test_every_backend_agrees_with_a_naive_filter_over_many_worlds(backends: Backends, world: Any, asked: Any) -> None:
    check(backends, world, asked)
