"""What stays known of items after a write: all that the write left as it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Change, Judged, Memory, Supersede
from holdfast.storage import rows
from holdfast.storage.item_cache import ItemCache
from holdfast.storage.rows import memory_row

AT = datetime(2026, 6, 1, tzinfo=UTC)


def memory(id: str, *sources: str) -> Memory:
    return Memory(id, "fact", f"About {id}", id, AT, AT, sources=sources)


def filled_cache() -> ItemCache:
    """A cache that knows what rests on two messages, and the history of one memory."""
    cache = ItemCache()
    told = memory("told", "m1")
    make = rows.new_memory_maker(memory_row(told), told.sources)
    cache.add_resting({"m1": [(1, make)], "m2": []})
    cache.add_history("told", [make])
    return cache


def after(change: Change, memories: Sequence[Memory] = ()) -> ItemCache:
    return filled_cache().after(change, (), {each.id: memory_row(each) for each in memories})


def test_a_write_that_changes_no_memory_leaves_what_rests_on_messages() -> None:
    cache = after(Change(settle=("m1",)))
    assert {id: [make().id for _, make in found] for id, found in cache.resting.items()} == {"m1": ["told"], "m2": []}
    assert [make().id for make in cache.histories["told"]] == ["told"]


def test_what_rests_on_a_message_is_read_again_once_more_rests_on_it() -> None:
    new = memory("new", "m2", "m3")
    cache = after(Change(memories=(new,)), [new])
    assert set(cache.resting) == {"m1"}
    assert set(cache.histories) == {"told"}


def test_what_was_known_before_stays_with_whoever_reads_meanwhile() -> None:
    before = filled_cache()
    cache = before.after(Change(), (), {})
    before.add_resting({"m3": []})
    before.add_history("other", [])
    assert (set(cache.resting), set(cache.histories)) == ({"m1", "m2"}, {"told"})


@pytest.mark.parametrize(
    "change",
    [
        Change(memories=(memory("new"),), supersede=(Supersede("told", "new"),)),
        Change(sources=(("told", "m2"),)),
        Change(judged=(Judged("told", -1),)),
        Change(forget=("told",)),
    ],
)
def test_a_write_that_changes_memories_leaves_nothing_that_has_them(change: Change) -> None:
    cache = after(change)
    assert (cache.resting, cache.histories) == ({}, {})
