"""Contract of a Store: marks of memories, and edits that can be undone."""

from __future__ import annotations

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import MAX_EDITS, Edit
from holdfast.domain.types import Change, Judged, Memory, Supersede, Test
from holdfast.testing.conformance.retiring import RetiringContract
from holdfast.testing.conformance.samples import AT, memory, message, written


def sample_edit(n: int, *made: str, **more: object) -> Edit:
    return Edit(f"edit-{n}", AT, "remember", tuple((id, 0) for id in made), **more)  # type: ignore[arg-type]


class CurationContract(RetiringContract):
    """Part of StoreContract."""

    async def test_marks_are_kept_and_found_by(self, store: Store) -> None:
        one, two = memory("one"), memory("two", n=1, marks=-2, confidence=0.4)
        await store.apply(written(one, two))
        assert await store.get([two.id]) == [two]
        await store.apply(Change(judged=(Judged(one.id, 3, AT), Judged("nobody", 1))))
        (found,) = await store.get([one.id])
        assert isinstance(found, Memory)
        assert (found.marks, found.reviewed_at) == (3, AT)
        assert found.etag != one.etag
        for test, expected in (
            (Test("marks", "lt", 0), two.id),
            (Test("confidence", "lt", 0.6), two.id),
            (Test("reviewed_at", "exists", True), one.id),
        ):
            assert [each.id for each in await store.scan(test, now=None, limit=9)] == [expected]
        events = await store.journal.events(0, 99)
        assert next(event.data for event in events if event.type == "memory.marked") == {"id": one.id, "marks": 3}

    async def test_edits_are_kept_with_their_change_newest_first(self, store: Store) -> None:
        known = memory("known")
        first = sample_edit(1, known.id)
        await store.apply(written(known, edit=first))
        await store.apply(written(known, edit=first))
        second = sample_edit(2, judged=((known.id, -1, AT), (known.id, 0, None)))
        await store.apply(Change(edit=second))
        assert await store.journal.edits(9) == [second, first]
        assert await store.journal.edits(1) == [second]
        await store.apply(Change(edit=sample_edit(3), dry_run=True))
        with pytest.raises(Conflict):
            await store.apply(written(memory("known", n=5), edit=sample_edit(4)))
        assert len(await store.journal.edits(9)) == 2

    async def test_an_edit_is_taken_back_once(self, store: Store) -> None:
        old, new = memory("old", key="k"), memory("new", key="k", n=1, version=2)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),), edit=sample_edit(1, new.ref)))
        await store.apply(Change(forget=(new.id,), undoes=("edit-1",), current=(new.id,)))
        assert await store.get([old.id]) == [old]
        assert await store.journal.edits(9) == []
        with pytest.raises(Conflict):
            await store.apply(Change(forget=(old.id,), undoes=("edit-1",)))
        assert await store.get([old.id]) == [old]

    async def test_what_must_be_current_is_checked(self, store: Store) -> None:
        old, new = memory("old", key="k"), memory("new", key="k", n=1, version=2)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        for id in (old.id, "nobody"):
            with pytest.raises(Conflict):
                await store.apply(Change(judged=(Judged(new.id, 1),), current=(id,)))
        (found,) = await store.get([new.id])
        assert getattr(found, "marks", None) == 0

    async def test_forgetting_takes_ids_out_of_edits(self, store: Store) -> None:
        said = message("hello")
        drawn, other = memory("drawn", sources=(said.id,)), memory("other", n=1)
        await store.apply(written(said, drawn, other))
        both = sample_edit(1, drawn.id, other.id, judged=((drawn.id, 0, None), (other.id, 1, AT)))
        await store.apply(Change(edit=both))
        await store.apply(Change(edit=sample_edit(2, other.id)))
        await store.apply(Change(forget=(said.id,)))
        newest, older = await store.journal.edits(9)
        assert newest == sample_edit(2, other.id)
        assert older == Edit("edit-1", AT, "remember", ((other.id, 0),), ((other.id, 1, AT),), gone=True)

    async def test_only_so_many_edits_are_kept(self, store: Store) -> None:
        for n in range(MAX_EDITS + 5):
            await store.apply(Change(edit=sample_edit(n)))
        await store.journal.trim(AT, traces=1, events=1)
        kept = await store.journal.edits(1000)
        assert [edit.id for edit in kept] == [f"edit-{n}" for n in reversed(range(5, MAX_EDITS + 5))]
