"""Contract of a Store: reading as of a past moment."""

from __future__ import annotations

from datetime import datetime, timedelta

from holdfast.domain.ports.search import Probe
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change, Supersede
from holdfast.testing.conformance.samples import (
    AT,
    MODEL,
    direction,
    memory,
    message,
    unit,
    written,
)
from holdfast.testing.conformance.search import proposed_items


def moment(seconds: int) -> datetime:
    return AT + timedelta(seconds=seconds)


class AsOfContract:
    """Part of StoreContract."""

    async def test_a_version_is_known_from_its_writing_to_that_of_its_successor(self, store: Store) -> None:
        chain = [memory(f"v{n} zebra", key="k", n=n * 10, version=n + 1) for n in range(3)]
        await store.apply(written(chain[0], vectors=(unit(chain[0].ref, 0),)))
        for old, new in ((chain[0], chain[1]), (chain[1], chain[2])):
            await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),), vectors=(unit(new.ref, 0),)))
        for second, known in ((-1, None), (0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (99, 2)):
            expected = [] if known is None else [chain[known].id]
            page = await store.scan(None, now=moment(second), limit=9, as_of=moment(second))
            assert [each.id for each in page] == expected
            for probe in (
                Probe(now=moment(second), words=("zebra",), as_of=moment(second)),
                Probe(now=moment(second), vector=direction(0), model=MODEL, as_of=moment(second)),
                Probe(now=moment(second), keys=("k",), as_of=moment(second)),
                Probe(now=moment(second), window=(moment(-99), moment(99)), as_of=moment(second)),
            ):
                assert list(proposed_items(await store.propose(probe))) == expected
        every = await store.scan(None, now=None, limit=9, superseded=True, as_of=moment(10))
        assert {each.id for each in every} == {chain[0].id, chain[1].id}
        assert [each.id for each in await store.scan(None, now=None, limit=9)] == [chain[2].id]

    async def test_the_moment_of_a_version_is_when_it_was_written_not_when_it_was_learnt(self, store: Store) -> None:
        old = memory("old", key="k")
        new = memory("new", key="k", n=10, version=2, created_at=AT)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        assert [each.id for each in await store.scan(None, now=None, limit=9, as_of=moment(9))] == [old.id]

    async def test_what_expired_by_then_was_not_known(self, store: Store) -> None:
        brief = memory("brief zebra", expires_at=moment(5))
        await store.apply(written(brief))
        for second, known in ((0, True), (4, True), (5, False), (50, False)):
            assert bool(await store.scan(None, now=moment(second), limit=9, as_of=moment(second))) is known
            found = await store.propose(Probe(now=moment(second), words=("zebra",), as_of=moment(second)))
            assert bool(found.items) is known

    async def test_a_message_is_known_from_when_it_arrived(self, store: Store) -> None:
        said = [message(f"zebra {n}", created_at=moment(n), timestamp=moment(-n)) for n in range(3)]
        await store.apply(written(*said, vectors=tuple(unit(each.id, 0) for each in said)))
        for second in (-1, 0, 1, 2):
            for probe in (
                Probe(now=moment(second), words=("zebra",), as_of=moment(second)),
                Probe(now=moment(second), vector=direction(0), model=MODEL, as_of=moment(second)),
                Probe(now=moment(second), window=(moment(-9), moment(9)), as_of=moment(second)),
            ):
                found = await store.propose(probe)
                assert {item.id for item in found.items} == {each.id for each in said[: second + 1]}

    async def test_what_is_forgotten_is_gone_from_the_past(self, store: Store) -> None:
        chain = [memory(f"v{n} zebra", key="k", n=n * 10, version=n + 1) for n in range(3)]
        await store.apply(written(chain[0]))
        for old, new in ((chain[0], chain[1]), (chain[1], chain[2])):
            await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        await store.apply(Change(forget=(chain[1].id,)))
        assert [each.id for each in await store.scan(None, now=None, limit=9, as_of=moment(15))] == [chain[0].id]
        found = await store.propose(Probe(now=moment(15), words=("zebra",), as_of=moment(15)))
        assert list(proposed_items(found)) == [chain[0].id]
        assert [each.id for each in await store.scan(None, now=None, limit=9, as_of=moment(25))] == [chain[2].id]

    async def test_the_past_can_be_turned_over_page_by_page(self, store: Store) -> None:
        await store.apply(written(*(memory(f"m{n}", n=n) for n in range(7))))
        found, cursor = [], None
        while True:
            page = await store.scan(None, now=None, limit=2, cursor=cursor, as_of=moment(4))
            found += [each.content for each in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == ["m4", "m3", "m2", "m1", "m0"]
