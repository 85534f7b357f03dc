"""Contract of a Store: the order of messages, and the work they wait for."""

from __future__ import annotations

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.storage import PAST_LAST_POSITION, Store
from holdfast.domain.types import Change, Deferral
from holdfast.testing.conformance.samples import MODEL, message, unit, written


class MessagesContract:
    """The tests about messages; `StoreContract` includes them."""

    async def test_a_message_that_came_late_is_inserted_and_the_others_move_up(self, store: Store) -> None:
        one, two, three, four = (message(text) for text in ("one", "two", "three", "four"))
        await store.apply(written(one, four, follows=("s", 0)))
        await store.apply(written(three, two, inserted=((two.id, 2), (three.id, 3)), follows=("s", 2)))
        found = await store.messages("s")
        assert [(each.content, each.position) for each in found] == [("one", 1), ("two", 2), ("three", 3), ("four", 4)]

    async def test_a_write_that_did_not_see_the_sessions_end_conflicts(self, store: Store) -> None:
        await store.apply(written(message("one"), follows=("s", 0)))
        with pytest.raises(Conflict):
            await store.apply(written(message("two"), follows=("s", 0)))
        await store.apply(written(message("two"), follows=("s", 1)))
        assert [each.content for each in await store.messages("s")] == ["one", "two"]

    async def test_a_write_that_takes_a_stored_message_for_new_conflicts(self, store: Store) -> None:
        one, two = message("one"), message("two")
        await store.apply(written(one, follows=("s", 0), absent=(one.id,)))
        with pytest.raises(Conflict):
            await store.apply(written(two, follows=("s", 1), absent=(one.id, two.id)))
        await store.apply(written(two, follows=("s", 1), absent=(two.id,)))
        assert [each.content for each in await store.messages("s")] == ["one", "two"]

    async def test_the_last_message_of_a_session_is_the_stored_one_after_every_write(self, store: Store) -> None:
        one, two = message("one"), message("two", metadata={"tags": ("a", "b")})

        async def check_end() -> None:
            every = await store.messages("s")
            assert list(await store.messages("s", before=PAST_LAST_POSITION, limit=1)) == list(every)[-1:]

        changes = (
            written(one),
            Change(settle=(one.id,)),
            written(two),
            Change(defer=(Deferral(two.id, None, "bad"),)),
            written(two),
            Change(redo=(two.id,)),
            written(message("three"), inserted=((message("three").id, 1),)),
            Change(forget=(two.id,)),
            Change(forget=(message("three").id, one.id)),
        )
        for change in changes:
            await check_end()
            await store.apply(change)
            await check_end()

    async def test_parts_lack_vectors_again_after_all_had_theirs(self, store: Store) -> None:
        a, b, c = message("a"), message("b"), message("c")
        await store.apply(written(a, b, vectors=(unit(a.id, 0), unit(b.id, 1))))
        assert await store.unembedded_parts(MODEL, 9) == []
        await store.apply(Change(forget=(b.id,)))
        await store.apply(written(c))
        assert [part.item for part in await store.unembedded_parts(MODEL, 9)] == [c.id]
        assert (await store.stats(MODEL)).unembedded == 1
        await store.apply(Change(vectors=(unit(c.id, 2),)))
        assert await store.unembedded_parts(MODEL, 9) == []
        assert (await store.stats(MODEL)).unembedded == 0
        assert (await store.stats("next/model/8")).unembedded == 2

    async def test_what_waits_is_known_without_counting_the_rest(self, store: Store) -> None:
        async def waiting(model: str = MODEL) -> tuple[bool, bool]:
            stats = await store.stats(model, only_waiting=True)
            return stats.pending > 0, stats.unembedded > 0

        assert await waiting() == (False, False)
        a, b = message("a"), message("b", session="t")
        await store.apply(written(a, b, vectors=(unit(a.id, 0),)))
        assert await waiting() == (True, True)
        await store.apply(Change(vectors=(unit(b.id, 1),)))
        assert await waiting() == (True, False)
        await store.apply(Change(settle=(a.id,), defer=(Deferral(b.id, None, "why"),)))
        assert await waiting() == (False, False)
        assert await waiting("next/model/8") == (False, True)
