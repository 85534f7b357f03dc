"""The LangGraph store does what LangGraph's own in-memory store does, and finds by meaning."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from holdfast import AsyncHoldfast, Holdfast, InvalidInput
from holdfast.integrations.langgraph_store import HoldfastStore
from holdfast.testing import HashingEmbedder
from support.example_counts import example_count
from support.http_server import http_server

LABELS = st.sampled_from(["a", "ab", "A", "b", "a b", "e ", "é", "e\u0301", "x/y", "%2F", "*"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "k ", "", "a", "a/b", "é", "..", "\t"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "x", "1", "", "2.5"])
VALUES = st.dictionaries(
    st.sampled_from(["n", "s", "m", "$"]),
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from(["n", "s"]), SCALARS, max_size=2),
    max_size=3,
)
OPERATORS = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(-3, 3), min_size=1, max_size=2
)
PARTS = SCALARS | OPERATORS
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["n", "s", "m", "absent"]),
    PARTS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from(["n", "s"]), PARTS),
    max_size=2,
)  # fmt: skip
TOPS = st.lists(LABELS, max_size=1).map(tuple)
QUERIES = st.none() | st.sampled_from(["x", "n s"])
PATTERNS = st.lists(LABELS, min_size=1, max_size=2).map(tuple)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS), max_size=2).map(tuple)
PUTS = st.builds(PutOp, SPACES, KEYS, st.none() | VALUES | VALUES, st.none(), st.none())
OPS = st.one_of(
    PUTS,
    PUTS,
    st.builds(GetOp, SPACES, KEYS, st.just(True)),
    st.builds(SearchOp, TOPS, FILTERS, st.just(100), st.just(0), QUERIES, st.just(True)),
    st.builds(ListNamespacesOp, CONDITIONS, st.none() | st.integers(1, 2), st.integers(1, 9), st.integers(0, 2)),
)  # fmt: skip
_numbers = itertools.count()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data"), embedder=HashingEmbedder()) as memory:
        yield memory


@pytest.fixture
def store(memory: Holdfast, request: pytest.FixtureRequest) -> HoldfastStore:
    return HoldfastStore(memory.profile("graph", request.node.name))


def plain(result: Any) -> Any:
    """A result without its times and scores; found items in an order of their own, since no store promises one."""
    if isinstance(result, Item):
        return result.namespace, result.key, repr(result.value)
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted(map(plain, result))
    return result


class Reference(InMemoryStore):
    """LangGraph's own, without the namespaces that reading alone leaves behind."""

    def _handle_list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        for empty in [namespace for namespace, items in self._data.items() if not items]:
            del self._data[empty]
        return super()._handle_list_namespaces(op)


@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(st.lists(OPS, min_size=1, max_size=4), min_size=3, max_size=10))
@example([[PutOp(("a",), "k", {"n": 1})], [PutOp(("a",), "k", {"n": True})], [GetOp(("a",), "k")]])
@example([[PutOp(("a",), "b", {}), PutOp(("a", "b"), "", {})], [SearchOp(("a", "b"))], [ListNamespacesOp()]])
def test_any_batches_come_out_as_in_the_store_in_memory(memory: Holdfast, batches: list[list[Any]]) -> None:
    ours, theirs = HoldfastStore(memory.profile("graph", f"any-{next(_numbers)}")), Reference()
    for batch in batches:
        given = ours.batch(batch)
        try:
            wanted = theirs.batch(batch)
        except (TypeError, ValueError):  # it compared what has no number; the reads of this batch go unchecked
            theirs.batch([op for op in batch if isinstance(op, PutOp)])
            continue
        assert [plain(each) for each in given] == [plain(each) for each in wanted], batch


def test_pages_hold_each_item_once_newest_first(store: HoldfastStore) -> None:
    for n in range(25):
        store.put(("a",), str(n), {"n": n, "even": n % 2 == 0})
    for query in (None, "even"):
        pages = [store.search(("a",), query=query, limit=7, offset=start) for start in range(0, 28, 7)]
        assert [len(page) for page in pages] == [7, 7, 7, 4]
        assert {item.key for page in pages for item in page} == {str(n) for n in range(25)}
    assert [item.key for item in store.search(("a",), limit=3)] == ["24", "23", "22"]
    assert [item.key for item in store.search(("a",), filter={"even": True, "n": {"$lt": 5}})] == ["4", "2", "0"]
    assert store.search(("a",), limit=0) == []


def test_times_are_those_of_the_first_and_of_the_last_put(store: HoldfastStore) -> None:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"n": 1})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert first.created_at == first.updated_at == second.created_at < second.updated_at
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None


def test_what_is_meant_is_found_first_and_the_rest_fills_up(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        store = HoldfastStore(memory.profile("graph", "ana"), fields=["text", "tags[*]"])
        store.put(("ana",), "food", {"text": "She never eats meat or fish", "tags": ["diet"]})
        store.put(("ana",), "work", {"text": "She is a nurse in a hospital", "tags": ["job"]})
        store.put(("ana",), "note", {"text": "vegetarian vegetarian"}, index=False)
        store.put(("ana",), "city", {"text": "x", "home": "Lisbon"}, index=["home"])
        store.put(("bob",), "food", {"text": "He is a vegetarian"})
        found = store.search(("ana",), query="vegetarian food")
        assert found[0].key == "food"
        assert found[0].score is not None
        assert {item.key for item in found} == {"food", "work", "note", "city"}
        assert store.search(("ana",), query="Portugal's capital Lisbon", limit=1)[0].key == "city"
        long = store.search(("ana",), query="nurse in a hospital " * 200, limit=1)
        assert long[0].key == "work"
        assert store.search((), query="vegetarian", filter={"text": "He is a vegetarian"})[0].namespace == ("bob",)


def test_an_item_lives_as_long_as_it_was_given_and_longer_when_it_is_read(memory: Holdfast) -> None:
    profile = memory.profile("graph", "ttl")
    store = HoldfastStore(profile, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(("a",), "k", {"n": 1})
    store.put(("a",), "for-ever", {"n": 1}, ttl=None)
    store.put(("a",), "short", {"n": 1}, ttl=0.002)

    def end(key: str) -> Any:
        return profile.list(kind="item", key=f"/a/{key}")[0].expires_at

    assert end("for-ever") is None
    first = end("k")
    assert (first - profile.list(key="/a/k")[0].created_at).total_seconds() == pytest.approx(600, abs=1)
    store.get(("a",), "k", refresh_ttl=True)
    assert end("k") == first, "it has hardly aged"
    aged = profile.list(kind="item", key="/a/k")[0]
    profile.revise(aged.id, ttl=300)
    store.get(("a",), "k")
    assert end("k") < first
    store.search(("a",), refresh_ttl=True)
    assert end("k") >= first
    profile.revise(profile.list(kind="item", key="/a/k")[0].id, ttl=300)
    store.search(("a",), query="n", refresh_ttl=True)
    assert end("k") >= first
    while store.get(("a",), "short") is not None:
        time.sleep(0.02)
    assert {item.key for item in store.search(("a",))} == {"k", "for-ever"}
    item = store.get(("a",), "k")
    assert item is not None
    assert item.created_at == item.updated_at


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(store: HoldfastStore) -> None:
    for unfit in ({"s": "a\0b"}, {"s": object()}, {"s": float("nan")}, {"s": "x" * 300_000}):
        with pytest.raises(InvalidInput):
            store.put(("a",), "k", unfit)
    for ttl in (0, -1, float("nan"), 1e300):
        with pytest.raises(InvalidInput):
            store.put(("a",), "k", {}, ttl=ttl)
    with pytest.raises(InvalidInput):
        store.put(("a" * 600,), "k", {})
    assert store.get(("a",), "k") is None
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([object()])  # type: ignore[list-item]
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("a",), filter={"n": {"$in": [1]}})


def test_two_kinds_of_one_profile_are_two_stores(memory: Holdfast) -> None:
    profile = memory.profile("graph", "kinds")
    one, other = HoldfastStore(profile, kind="one"), HoldfastStore(profile, kind="other")
    one.put(("a",), "k", {"n": 1})
    profile.remember("Lives in Lisbon", kind="fact", key="/a/home")
    assert other.get(("a",), "k") is None
    assert other.list_namespaces() == other.search(()) == []
    assert one.list_namespaces() == [("a",)]


async def test_the_asynchronous_methods_work_over_both_fronts(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path / "async", embedder=HashingEmbedder()) as holdfast:
        store = HoldfastStore(holdfast.profile("graph", "ana"))
        await assert_answers(store)
        with pytest.raises(TypeError, match="asynchronous"):
            store.get(("a",), "k")
    with Holdfast.open(tmp_path / "sync", embedder=HashingEmbedder()) as memory:
        await assert_answers(HoldfastStore(memory.profile("graph", "ana")))


async def test_the_same_over_http(tmp_path: Path) -> None:
    from holdfast.integrations.anthropic_memory import AsyncHoldfastMemoryTool  # loads for a second

    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
        token = await holdfast.access.admin() or ""
        async with http_server(holdfast) as url, AsyncHoldfast.connect(url, token) as far:
            await assert_answers(HoldfastStore(far.profile("graph", "ana")))
            tool = AsyncHoldfastMemoryTool(far.profile("graph", "bob"))
            for command in (
                {"command": "create", "path": "/memories/a b%/c", "file_text": ""},
                {"command": "insert", "path": "/memories/a b%/c", "insert_line": 0, "insert_text": "one"},
                {"command": "str_replace", "path": "/memories/a b%/c", "old_str": "one", "new_str": "two"},
                {"command": "rename", "old_path": "/memories/a b%/c", "new_path": "/memories/d"},
            ):
                await tool.call(command)
            near = AsyncHoldfastMemoryTool(holdfast.profile("graph", "bob"))
            ends = {"/memories": "4K\t/memories/a b%/\n4B\t/memories/d", "/memories/d": "     1\ttwo\n     2\t"}
            for path, end in ends.items():
                told = [await each.call({"command": "view", "path": path}) for each in (tool, near)]
                assert told[0] == told[1]
                assert str(told[0]).endswith(end)
            await tool.call({"command": "delete", "path": "/memories/d"})
            assert await near.clear_all_memory() == "All memory cleared"


async def assert_answers(store: HoldfastStore) -> None:
    assert await store.aget(("a",), "k") is None
    await store.aput(("a", "b"), "k", {"text": "Prefers window seats"}, ttl=5)
    found = await store.asearch(("a",), query="window")
    assert [(item.key, item.value) for item in found] == [("k", {"text": "Prefers window seats"})]
    assert await store.alist_namespaces(max_depth=1) == [("a",)]
    await store.adelete(("a", "b"), "k")
    assert await store.asearch(()) == []
