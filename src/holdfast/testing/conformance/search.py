"""Contract of a Store: search channels and filters."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from holdfast.domain.errors import InvalidInput
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import All, Change, Either, Facet, Item, Not, Order, Supersede, Test
from holdfast.testing.conformance.samples import (
    AT,
    MODEL,
    direction,
    memory,
    message,
    unit,
    written,
)

LEASE = timedelta(minutes=5)


class SearchContract:
    """Part of StoreContract."""

    async def test_words_are_found_with_the_numbers_a_ranker_needs(self, store: Store) -> None:
        one, two = message("cats and dogs and cats"), message("dogs")
        await store.apply(written(one, two))
        found = await store.propose(Probe(now=AT, words=("cat", "dog", "yak")))
        assert (found.parts, found.mean_length, found.frequency) == (2, 3.0, (1, 2, 0))
        assert {item.id: counts for item, counts in zip(found.items, found.counts.tolist(), strict=True)} == {
            one.id: [2, 1, 0],
            two.id: [0, 1, 0],
        }
        assert proposed_items(found) == {one.id: {"messages": 1}, two.id: {"messages": 2}}

    async def test_meaning_is_found_by_cosine_under_the_asked_model_only(self, store: Store) -> None:
        items: list[Item] = [message("a"), message("b"), memory("c")]
        await store.apply(written(*items, vectors=tuple(unit(item.ref, n) for n, item in enumerate(items))))
        found = await store.propose(Probe(now=AT, vector=direction(1), model=MODEL))
        cosines = {c.id: round(cosine, 2) for c, cosine in zip(found.items, found.cosine.tolist(), strict=True)}
        assert cosines == {items[0].id: 0.48, items[1].id: 1.0, items[2].id: 0.48}
        other = await store.propose(Probe(now=AT, vector=direction(1), model="another/model/8"))
        assert proposed_items(other) == {}
        again = await store.propose(Probe(now=AT, vector=direction(1), model=MODEL))
        assert len(proposed_items(again)) == 3

    async def test_long_items_are_found_by_their_best_passage(self, store: Store) -> None:
        long = message("filler words here. " * 120 + "The zebra is at the end.")
        await store.apply(written(long))
        found = await store.propose(Probe(now=AT, words=("zebra",)))
        assert [item.id for item in found.items] == [long.id]
        assert found.number[found.counts[:, 0] > 0].tolist() == [2]

    async def test_neighbours_come_along_as_context_without_a_channel(self, store: Store) -> None:
        talk = [message(text) for text in ("far", "before", "the zebra", "after", "farther")]
        await store.apply(written(*talk, message("zealous", session="other")))
        found = await store.propose(Probe(now=AT, words=("zebra",)))
        assert {item.id: bool(ranks) for item, ranks in zip(found.items, found.channels, strict=True)} == {
            talk[1].id: False,
            talk[2].id: True,
            talk[3].id: False,
        }

    async def test_the_agents_who_wrote_anything_are_told_when_asked_for(self, store: Store) -> None:
        assert (await store.propose(Probe(now=AT, words=("zebra",), agents=True))).agents == ()
        said = [replace(message(f"zebra {n}"), agent=agent) for n, agent in enumerate(("b", "a", None, "b"))]
        kept = replace(memory("zebra"), agent="c")
        await store.apply(written(*said))
        await store.apply(written(kept))
        assert (await store.propose(Probe(now=AT, words=("zebra",), agents=True))).agents == ("a", "b", "c")
        assert (await store.propose(Probe(now=AT, words=("zebra",)))).agents == ()
        await store.apply(Change(forget=(said[1].id,)))
        assert (await store.propose(Probe(now=AT, words=("zebra",), agents=True))).agents == ("b", "c")

    async def test_superseded_and_expired_memories_are_not_proposed(self, store: Store) -> None:
        old, new = memory("old zebra", key="k"), memory("new zebra", key="k", n=1)
        brief = memory("brief zebra", n=2, expires_at=AT + LEASE)
        await store.apply(written(old, brief))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        assert await self._items(store, Probe(now=AT, words=("zebra",))) == {new.id, brief.id}
        assert await self._items(store, Probe(now=AT + LEASE, words=("zebra",))) == {new.id}
        assert [m.id for m in await store.scan(None, now=AT + LEASE, limit=9)] == [new.id]
        assert [m.id for m in await store.scan(None, now=None, limit=9)] == [new.id, brief.id]
        assert len(await store.scan(None, now=None, limit=9, superseded=True)) == 3

    async def test_what_came_and_went_in_one_change_is_not_proposed(self, store: Store) -> None:
        old, new = memory("old zebra", key="k"), memory("new zebra", key="k", n=1)
        await store.propose(Probe(now=AT, words=("zebra",)))  # a backend that caches loads its cache here
        await store.apply(written(old, new, supersede=(Supersede(old.ref, new.ref),)))
        assert await self._items(store, Probe(now=AT, words=("zebra",))) == {new.id}

    async def test_a_key_is_a_channel(self, store: Store) -> None:
        known = memory("Lisbon", key="home-city")
        await store.apply(written(known, memory("other", key="pet")))
        found = proposed_items(await store.propose(Probe(now=AT, keys=("home-city", "x"))))
        assert found == {known.id: {"key": 1}}

    async def test_what_was_said_or_happened_in_a_window_is_a_channel(self, store: Store) -> None:
        then = message("long ago", timestamp=AT - timedelta(days=9))
        event = memory("went", kind="event", occurred_at=AT - timedelta(days=8))
        await store.apply(written(then, event, message("today")))
        window = (AT - timedelta(days=10), AT - timedelta(days=7))
        found = proposed_items(await store.propose(Probe(now=AT, window=window)))
        assert found == {event.id: {"time": 1}, then.id: {"time": 2}}

    async def test_search_sees_each_write_at_once(self, store: Store) -> None:
        probe = Probe(now=AT, words=("zebra",), vector=direction(0), model=MODEL)
        for n in range(4):
            said = message(f"zebra {n}")
            await store.apply(written(said))
            await store.apply(Change(vectors=(unit(said.id, n),)))
            assert len(proposed_items(await store.propose(probe))) == n + 1

    @pytest.mark.parametrize(
        ("where", "contents"),
        [
            (Test("kind", "eq", "event"), {"b"}),
            (Test("kind", "in", ("event", "note")), {"b", "c"}),
            (Not(Test("kind", "eq", "event")), {"a", "c"}),
            (Test("key", "prefix", "/src/"), {"c"}),
            (Test("key", "exists", True), {"c"}),
            (Test("metadata.n", "gt", 1), {"b"}),
            (Test("metadata.n", "lte", 1), {"a"}),
            (Test("metadata.n", "eq", True), {"c"}),
            (Test("metadata.deep.er", "eq", "x"), {"b"}),
            (Test("metadata.deep", "exists", True), {"b"}),
            (Test("metadata.none", "eq", None), {"a"}),
            (Not(Test("metadata.n", "gt", 0)), {"c"}),
            (Test("time", "gte", AT), {"a", "c"}),
            (Test("time", "lt", AT), {"b"}),
            (Test("occurred_at", "exists", True), {"b"}),
            (Test("role", "eq", "user"), set()),
            (Either((Test("agent", "eq", "x"), Test("session_id", "eq", "s2"))), {"a", "c"}),
            (All((Test("agent", "eq", "x"), Test("session_id", "eq", "s2"))), set()),
            (Test("metadata.quote'; DROP TABLE memory; --", "eq", 1), set()),
        ],
    )
    async def test_filters_mean_the_same_everywhere(self, store: Store, where: Test, contents: set[str]) -> None:
        await store.apply(
            written(
                memory("a", agent="x", metadata={"n": 1, "none": None}),
                memory("b", kind="event", occurred_at=AT - LEASE, metadata={"n": 2.5, "deep": {"er": "x"}}),
                memory("c", kind="note", key="/src/app.py", session_id="s2", metadata={"n": True}),
            )
        )
        assert {m.content for m in await store.scan(where, now=AT, limit=9)} == contents

    async def test_a_filter_narrows_a_search_over_messages_and_memories(self, store: Store) -> None:
        said = message("zebra one", speaker="Maya", agent="x", metadata={"n": 1})
        known = memory("zebra two", agent="x")
        await store.apply(written(said, known, message("zebra three")))
        by_agent = Probe(now=AT, words=("zebra",), where=Test("agent", "eq", "x"))
        assert await self._items(store, by_agent) == {said.id, known.id}
        for where in (Test("speaker", "eq", "Maya"), Test("metadata.n", "eq", 1)):
            assert await self._items(store, Probe(now=AT, words=("zebra",), where=where)) == {said.id}
        only_messages = Test("kind", "eq", "message")
        assert known.id not in await self._items(store, Probe(now=AT, words=("zebra",), where=only_messages))

    async def test_pages_follow_one_another_through_writes(self, store: Store) -> None:
        await store.apply(written(*(memory(str(n), n=n) for n in range(5))))
        first = await store.scan(None, now=AT, limit=2)
        assert [m.content for m in first] == ["4", "3"]
        await store.apply(written(memory("new", n=9)))
        second = await store.scan(None, now=AT, limit=2, cursor=first.cursor)
        assert [m.content for m in second] == ["2", "1"]
        last = await store.scan(None, now=AT, limit=2, cursor=second.cursor)
        assert ([m.content for m in last], last.cursor) == (["0"], None)
        with pytest.raises(InvalidInput):
            await store.scan(None, now=AT, limit=2, cursor="né")

    @pytest.mark.parametrize(
        ("where", "contents"),
        [
            (Test("content", "contains", "Stra"), {"Straße one"}),
            (Test("content", "icontains", "STRASSE"), {"Straße one", "STRASSE two"}),
            (Test("summary", "icontains", "strasse T"), {"STRASSE two"}),
            (Test("metadata.tags", "eq", "x"), {"Straße one"}),
            (Test("metadata.tags", "contains", "x"), {"Straße one", "three"}),
            (Test("metadata.tags", "contains", "x y"), {"three"}),
            (Test("metadata.tags", "icontains", "Y"), {"Straße one", "three"}),
            (Test("metadata.people.name", "eq", "Bo"), {"STRASSE two"}),
            (Test("metadata.people.name", "exists", True), {"STRASSE two"}),
            (Test("keywords", "icontains", "TEA"), {"three"}),
            (Test("keywords", "exists", True), {"three"}),
            (Test("sources", "exists", True), set()),
            (Test("version", "gte", 2), {"three"}),
            (Test("expires_at", "gt", AT), {"three"}),
            (Not(Test("updated_at", "lte", AT)), {"three"}),
        ],
    )
    async def test_filters_look_into_texts_and_lists(self, store: Store, where: Test, contents: set[str]) -> None:
        tagged = {"tags": ["x", "y", 1, ["z"]]}
        await store.apply(
            written(
                memory("Straße one", metadata=tagged),
                memory("STRASSE two", metadata={"people": [{"name": "Al"}, {"name": "Bo"}]}),
                memory("three", n=1, metadata={"tags": "x y"}, keywords=("tea",), version=2, expires_at=AT + LEASE),
            )
        )
        assert {m.content for m in await store.scan(where, now=AT, limit=9)} == contents
        words = Probe(now=AT, words=("one", "two", "three"), where=where)
        found = await store.get(sorted(await self._items(store, words)))
        assert {item.content for item in found} == contents

    @pytest.mark.parametrize("order", get_args(Order))
    async def test_pages_in_every_order_follow_one_another_through_writes(self, store: Store, order: Order) -> None:
        days = [3, 1, 1, 2, 5, 1]
        old = [memory(str(n), n=n, occurred_at=AT - timedelta(days=day)) for n, day in enumerate(days)]
        await store.apply(written(*old))
        whole = [m.content for m in await store.scan(None, now=AT, limit=99, order=order)]
        seen, cursor = [], None
        for n in range(9):
            page = await store.scan(None, now=AT, limit=2, order=order, cursor=cursor, count=("kind",))
            assert page.facets is not None
            assert (page.total, page.facets.counts) == (6 + n, {"kind": {"fact": 6 + n}})
            seen += [m.content for m in page]
            await store.apply(written(memory(f"new {n}", n=10 + n, occurred_at=AT - timedelta(days=n % 4))))
            cursor = page.cursor
            if cursor is None:
                break
        assert [each for each in seen if not each.startswith("new")] == whole
        assert len(set(seen)) == len(seen)

    async def test_a_cursor_of_another_order_is_refused(self, store: Store) -> None:
        await store.apply(written(*(memory(str(n), n=n) for n in range(3))))
        page = await store.scan(None, now=AT, limit=1, order="created")
        with pytest.raises(InvalidInput):
            await store.scan(None, now=AT, limit=1, order="updated", cursor=page.cursor)

    async def test_facets_count_what_is_listed(self, store: Store) -> None:
        said = message("said", speaker="Ann", timestamp=AT - timedelta(days=80))
        await store.apply(
            written(
                said,
                message("other", speaker="Bo"),
                memory("a", key="k", agent="x", sources=(said.id,), metadata={"tags": ["t", "u", "t"]}),
                memory("b", kind="event", occurred_at=AT - timedelta(days=40), metadata={"tags": "t"}),
                memory("c", expires_at=AT),
            )
        )
        by = get_args(Facet)
        page = await store.scan(None, now=AT, limit=1, count=by)
        assert page.facets is not None
        assert page.facets.counts == {
            "kind": {"event": 1, "fact": 1}, "key": {"k": 1}, "person": {"Ann": 1}, "agent": {"x": 1},
            "tag": {"t": 2, "u": 1}, "month": {"2024-12": 1, "2025-01": 1},
        }  # fmt: skip
        assert (page.facets.total, page.facets.distinct["tag"]) == (2, 2)

    async def _items(self, store: Store, probe: Probe) -> set[str]:
        return set(proposed_items(await store.propose(probe)))


def proposed_items(found: Proposals) -> dict[str, dict[str, int]]:
    """Item → its rank in each channel that found it, without neighbours added as context."""
    return {item.id: ranks for item, ranks in zip(found.items, found.channels, strict=True) if ranks}
