"""Contract of a Store: writing, superseding, forgetting and waiting work."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.search import Probe
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.types import Change, Deferral, Forgotten, Memory, Part, Supersede
from holdfast.testing.conformance.as_of import AsOfContract
from holdfast.testing.conformance.curation import CurationContract
from holdfast.testing.conformance.documents import DocumentsContract
from holdfast.testing.conformance.graph import GraphContract
from holdfast.testing.conformance.journal import JournalContract
from holdfast.testing.conformance.messages import MessagesContract
from holdfast.testing.conformance.samples import (
    AT,
    MODEL,
    direction,
    memory,
    message,
    unit,
    written,
)
from holdfast.testing.conformance.search import SearchContract, proposed_items
from holdfast.testing.conformance.shortening import ShorteningContract

LEASE = timedelta(minutes=5)


class StoreContract(MessagesContract,
    SearchContract, AsOfContract, CurationContract, JournalContract, DocumentsContract, GraphContract,
    ShorteningContract,
):  # fmt: skip
    """Subclass it and give it a `vault` fixture."""

    @pytest.fixture
    async def store(self, vault: Vault) -> Store:
        await vault.create_namespace("contract")
        return await vault.open("contract", "store", create=True)

    # Writing

    async def test_what_is_written_comes_back_whole(self, store: Store) -> None:
        said = message(
            "Grüße, 東京 🙂", speaker="Zoë", timestamp=AT - LEASE, agent="sales", metadata={"a": {"b": [1, None]}}
        )
        known = memory(
            "Lives in Porto", key="home-city", value={"city": "Porto"}, metadata={"n": 1.5}, keywords=("porto",),
            queries=("Where?",), session_id="s", agent="x", trust="agent", sources=(said.id,), occurred_at=AT,
            occurred_until=AT + LEASE, expires_at=AT + LEASE, extractor="t/1", confidence=0.75,
        )  # fmt: skip
        applied = await store.apply(written(said, known))
        assert applied.new == {said.id, known.ref}
        assert await store.get([known.id, "unknown", said.id]) == [known, replace(said, position=1)]

    async def test_applying_a_change_twice_changes_nothing(self, store: Store) -> None:
        said, known = message("hello"), memory("x", key="k")
        change = written(said, known, vectors=(unit(said.id, 0),))
        assert (await store.apply(change)).new == {said.id, known.ref}
        assert (await store.apply(change)).new == frozenset()
        stats = await store.stats(MODEL)
        assert (stats.messages, stats.memories, stats.unembedded) == (1, 1, 1)
        newer = memory("y", key="k", n=1, version=2)
        step = written(newer, supersede=(Supersede(known.ref, newer.ref),))
        await store.apply(step)
        await store.apply(step)
        assert [m.content for m in await store.history(known.id)] == ["y", "x"]

    async def test_the_number_of_a_removed_version_is_remembered(self, store: Store) -> None:
        old, new = memory("x", key="k"), memory("y", key="k", n=1, version=2)
        new = replace(new, id=old.id, origin=new.id)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        await store.apply(Change(forget=(new.ref,)))
        (left,) = await store.get([old.id])
        assert isinstance(left, Memory)
        assert (left.version, left.current, left.last_version) == (1, True, 2)
        assert memory("z", key="k", n=2).next_of(left).version == 3

    async def test_counts_go_by_day(self, store: Store) -> None:
        said, old, new = message("hello"), memory("x", key="k"), memory("y", key="k", n=1, version=2)
        new = replace(new, updated_at=AT + timedelta(days=1))
        days = (datetime(1969, 12, 31, 12, tzinfo=UTC), AT - timedelta(days=400))
        await store.apply(written(said, old, *(message(f"from {day}", timestamp=day) for day in days)))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        stats = await store.stats(MODEL)
        assert stats.said_on == {"1969-12-31": 1, "2024-01-29": 1, "2025-03-04": 1}, "not the days of arrival"
        assert stats.written_on == {"2025-03-04": 1, "2025-03-05": 1}

    async def test_a_change_is_made_whole_or_not_at_all(self, store: Store) -> None:
        await store.apply(written(memory("x", key="k")))
        said, free, taken = message("hello"), memory("z"), memory("y", key="k", n=1)
        with pytest.raises(Conflict):
            await store.apply(written(said, free, taken))
        assert await store.get([said.id, free.id, taken.id]) == []
        assert (await store.propose(Probe(now=AT, words=("hello",)))).items == ()

    async def test_messages_keep_their_order_within_a_session(self, store: Store) -> None:
        first = [message(f"a{n}", session="a") for n in range(3)]
        await store.apply(written(first[0], message("b", session="b"), first[1]))
        await store.apply(written(first[1], first[2]))
        assert [m.content for m in await store.messages("a")] == ["a0", "a1", "a2"]
        assert [m.position for m in await store.messages("a")] == [1, 2, 3]
        assert [m.content for m in await store.messages("a", before=3, limit=1)] == ["a1"]
        assert [m.content for m in await store.messages(None)] == ["a0", "b", "a1", "a2"]
        assert [m.content for m in await store.messages(None, before=2**62, limit=1)] == ["a2"]

    async def test_pages_of_messages_follow_one_another_through_writes(self, store: Store) -> None:
        await store.apply(written(*(message(f"a{n}", session="a") for n in range(4)), message("b0", session="b")))
        for session, before, after in (("a", ["a0", "a1", "a2"], ["a3", "new a"]), (None, ["a0", "a1", "a2"], ["a3"])):
            first = await store.messages(session, limit=3)
            assert [m.content for m in first] == before
            await store.apply(written(message(f"new {session or 'c'}", session=session or "c")))
            second = await store.messages(session, limit=3, cursor=first.cursor)
            assert [m.content for m in second][: len(after)] == after
            seen = [*before, *(m.content for m in second)]
            while second.cursor is not None:
                second = await store.messages(session, limit=3, cursor=second.cursor)
                seen += [m.content for m in second]
            assert seen == [m.content for m in await store.messages(session, limit=99)]

    # Superseding

    async def test_a_key_has_one_current_memory(self, store: Store) -> None:
        old, new = memory("Porto", key="city"), memory("Lisbon", key="city", n=1, version=2)
        await store.apply(written(old))
        with pytest.raises(Conflict):
            await store.apply(written(new))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        assert [m.content for m in await store.scan(None, now=AT, limit=9)] == ["Lisbon"]
        assert await store.get([old.id]) == [replace(old, superseded_by=new.ref)]
        other = memory("x", kind="note", key="city", n=2)
        await store.apply(written(other))
        assert len(await store.scan(None, now=AT, limit=9)) == 2

    async def test_superseding_what_is_not_current_is_a_conflict(self, store: Store) -> None:
        old, new, late = memory("1", key="k"), memory("2", key="k", n=1), memory("3", key="k", n=2)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        for unknown in (old.ref, "nobody"):
            with pytest.raises(Conflict):
                await store.apply(written(late, supersede=(Supersede(unknown, late.ref),)))

    async def test_history_is_the_same_from_every_version(self, store: Store) -> None:
        chain = [memory(str(n), key="k", n=n, version=n + 1) for n in range(3)]
        await store.apply(written(chain[0]))
        for old, new in ((chain[0], chain[1]), (chain[1], chain[2])):
            await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        for version in chain:
            assert [m.content for m in await store.history(version.id)] == ["2", "1", "0"]
        assert await store.history("nobody") == []

    async def test_a_memory_has_one_id_through_all_its_versions(self, store: Store) -> None:
        first = memory("1", key="k")
        second, third = (memory(str(n), key="k", n=n) for n in (2, 3))
        second = second.next_of(first)
        third = third.next_of(second)
        await store.apply(written(first))
        links = (Supersede(first.ref, second.ref), Supersede(second.ref, third.ref))
        assert (await store.apply(written(second, third, supersede=links))).new == {second.ref, third.ref}
        assert (first.id, third.ref) == (third.id, f"{first.id}@3")
        found = [replace(first, superseded_by=second.ref), replace(second, superseded_by=third.ref), third]
        assert await store.get([first.ref, second.ref, first.id]) == found
        for name in (first.id, first.ref, third.ref, second.draft_id):
            assert await store.history(name) == found[::-1]
        assert await store.get([second.draft_id, f"{first.id}@4"]) == [third]
        assert {part.item for part, _ in await store.indexed([first.id, first.ref])} == {first.ref, third.ref}

    async def test_of_two_writers_of_a_version_the_second_is_told(self, store: Store) -> None:
        first = memory("1")
        one, other = (memory(text, n=n).next_of(first) for n, text in enumerate(("one", "other"), 1))
        await store.apply(written(first))
        change = written(one, supersede=(Supersede(first.ref, one.ref),))
        await store.apply(change)
        assert (await store.apply(change)).new == frozenset()
        for links in ((Supersede(first.ref, other.ref),), (Supersede(one.ref, other.ref),), ()):
            with pytest.raises(Conflict):
                await store.apply(written(other, supersede=links))
        with pytest.raises(Conflict):
            await store.apply(written(replace(other, version=3)))
        assert [m.content for m in await store.history(first.id)] == ["one", "1"]

    async def test_a_memory_may_supersede_another_one(self, store: Store) -> None:
        lead, other = memory("lead", key="k"), memory("other", n=1)
        both = memory("both", key="k", n=2).next_of(lead)
        await store.apply(written(lead, other))
        links = (Supersede(lead.ref, both.ref), Supersede(other.ref, both.ref))
        await store.apply(written(both, supersede=links))
        found = [item for item in await store.get([other.id, lead.ref, lead.id]) if isinstance(item, Memory)]
        assert [each.superseded_by for each in found] == [both.ref, both.ref, None]
        assert [m.content for m in await store.history(other.id)] == ["both", "other", "lead"]
        assert (await store.apply(Change(forget=(both.ref,)))).gone == Forgotten((both.ref,))
        assert {m.content for m in await store.scan(None, now=AT, limit=9)} == {"lead", "other"}

    async def test_a_memory_is_forgotten_by_its_id_and_a_version_by_its_reference(self, store: Store) -> None:
        first = memory("1 zebra")
        second = memory("2 zebra", n=1).next_of(first)
        await store.apply(written(first))
        await store.apply(written(second, supersede=(Supersede(first.ref, second.ref),)))
        assert (await store.apply(Change(forget=(first.id,), dry_run=True))).gone == Forgotten((first.id,))
        assert (await store.apply(Change(forget=(first.ref,)))).gone == Forgotten((first.ref,))
        assert await store.get([first.ref, first.id]) == [second]
        assert (await store.apply(Change(forget=(second.draft_id,)))).gone == Forgotten((first.id,))
        assert await store.get([first.id, second.ref, second.draft_id]) == []

    async def test_sources_keep_the_order_in_which_they_came(self, store: Store) -> None:
        said = [message(str(n)) for n in range(4)]
        known = memory("known", sources=(said[0].id, said[1].id))
        await store.apply(written(*said, known))
        await store.apply(Change(forget=(said[0].id,)))
        await store.apply(Change(sources=((known.id, said[2].id), (known.id, said[3].id))))
        (found,) = (await store.scan(None, now=None, limit=1)).items
        assert found.sources == (said[1].id, said[2].id, said[3].id)

    async def test_a_lease_that_ran_out_settles_and_defers_nothing(self, store: Store) -> None:
        said = message("hello")
        await store.apply(written(said))
        await store.claim(now=AT, lease=LEASE, limit=1)
        late = AT + 2 * LEASE
        assert len(await store.claim(now=late, lease=LEASE, limit=1)) == 1  # another worker has it now
        known = memory("drawn late", sources=(said.id,))
        with pytest.raises(Conflict):
            await store.apply(written(known, settle=(said.id,), lease=AT + LEASE))
        await store.apply(Change(defer=(Deferral(said.id, None, "too late"),), lease=AT + LEASE))
        stats = await store.stats(MODEL)
        assert (stats.memories, stats.pending, stats.failing, stats.set_aside) == (0, 1, 0, 0)
        await store.apply(written(known, settle=(said.id,), lease=late + LEASE))
        stats = await store.stats(MODEL)
        assert (stats.memories, stats.pending) == (1, 0)

    async def test_what_the_index_holds_can_be_read_back(self, store: Store) -> None:
        said, known = message("a zebra"), memory("saw a zebra", kind="task")
        await store.apply(written(said, known, vectors=(unit(said.id, 3),)))
        found = {part.item: (part, vector) for part, vector in await store.indexed([said.id, known.ref, "nobody"])}
        assert set(found) == {said.id, known.ref}
        part, vector = found[said.id]
        assert (part.number, part.start, part.stop, part.embed) == (0, 0, 7, True)
        assert vector is not None
        assert vector.model == MODEL
        assert abs(float(vector.values @ direction(3)) - 1) < 1e-3
        assert found[known.ref][1] is None

    # Forgetting

    async def test_forgetting_removes_item_words_vector_and_source(self, store: Store) -> None:
        said, kept = message("unforgettable zebra"), message("another thing")
        known = memory("saw a zebra", sources=(said.id, kept.id))
        await store.apply(written(said, kept, known, vectors=(unit(said.id, 0), unit(known.id, 1))))
        applied = await store.apply(Change(forget=(said.id,)))
        assert applied.gone == Forgotten((), (said.id,))
        assert await store.get([said.id]) == []
        found = await store.get([known.id])
        assert isinstance(found[0], Memory)
        assert found[0].sources == (kept.id,)
        assert list(proposed_items(await store.propose(Probe(now=AT, words=("zebra",))))) == [known.id]
        await store.apply(Change(forget=(known.id, "nobody")))
        proposals = await store.propose(Probe(now=AT, words=("zebra",), vector=direction(0), model=MODEL))
        assert not {said.id, known.id} & set(proposed_items(proposals))
        assert proposals.parts == 1

    async def test_forgetting_the_newest_version_makes_the_older_current_again(self, store: Store) -> None:
        chain = [memory(f"v{n} zebra", key="k", n=n, version=n + 1) for n in range(3)]
        await store.apply(written(chain[0]))
        for old, new in ((chain[0], chain[1]), (chain[1], chain[2])):
            await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        await store.apply(Change(forget=(chain[1].id,)))
        assert [m.content for m in await store.history(chain[0].id)] == ["v2 zebra", "v0 zebra"]
        await store.apply(Change(forget=(chain[2].id,)))
        assert [m.content for m in await store.scan(None, now=AT, limit=9)] == ["v0 zebra"]
        assert list(proposed_items(await store.propose(Probe(now=AT, words=("zebra",))))) == [chain[0].id]

    async def test_forgetting_a_successor_leaves_a_newer_head_of_the_key_in_place(self, store: Store) -> None:
        first, other, second = memory("first", key="k"), memory("other", n=1), memory("second", key="k", n=2)
        await store.apply(written(first))
        await store.apply(written(other, supersede=(Supersede(first.ref, other.ref),)))
        await store.apply(written(second))
        await store.apply(Change(forget=(other.id,)))
        assert [m.content for m in await store.scan(None, now=AT, limit=9)] == ["second"]
        assert [m.content for m in await store.history(first.id)] == ["second", "first"]

    async def test_a_vector_of_another_model_leaves_the_part_bare_under_this_one(self, store: Store) -> None:
        one, two = message("one"), message("two")
        await store.apply(written(one, two, vectors=(unit(one.id, 0),)))
        assert [part.item for part in await store.unembedded_parts(MODEL, 9)] == [two.id]
        await store.apply(Change(vectors=(unit(one.id, 0, model="another/model/8"),)))
        assert [part.item for part in await store.unembedded_parts(MODEL, 9)] == [one.id, two.id]

    async def test_a_forgotten_message_takes_along_what_rests_on_nothing_else(self, store: Store) -> None:
        one, two = message("one"), message("two")
        alone, both = memory("alone", sources=(one.id,)), memory("both", sources=(one.id, two.id))
        await store.apply(written(one, two, alone, both, memory("none")))
        gone = (await store.apply(Change(forget=(one.id,)))).gone
        assert gone == Forgotten((alone.id,), (one.id,))
        assert {m.content for m in await store.scan(None, now=AT, limit=9)} == {"both", "none"}
        late = memory("late", sources=(one.id,), n=3)
        assert (await store.apply(written(late))).new == frozenset()

    async def test_several_versions_of_a_key_may_come_in_one_change(self, store: Store) -> None:
        first, second = memory("1", key="k"), memory("2", key="k", n=1, version=2)
        await store.apply(written(first, second, supersede=(Supersede(first.ref, second.ref),)))
        assert [m.content for m in await store.history(first.id)] == ["2", "1"]

    async def test_the_same_thing_without_a_key_is_written_once(self, store: Store) -> None:
        await store.apply(written(memory("Likes tea")))
        with pytest.raises(Conflict):
            await store.apply(written(memory("likes  tea.", n=1)))
        await store.apply(written(memory("likes tea", n=2, metadata={"x": 1}), memory("likes tea", kind="note", n=3)))

    async def test_a_message_set_aside_is_tried_again_when_it_is_said_again(self, store: Store) -> None:
        a = message("a")
        await store.apply(written(a))
        await store.apply(Change(defer=(Deferral(a.id, None, "why"),)))
        assert (await store.apply(written(a))).new == frozenset()
        assert [m.failures for m in await store.claim(now=AT, lease=LEASE, limit=9)] == [0]

    async def test_what_is_to_be_digested_anew_waits_again(self, store: Store) -> None:
        done, aside, never = message("done"), message("aside"), message("never asked")
        drawn = memory("drawn", sources=(done.id,))
        await store.apply(written(done, aside, never, drawn, settle=(done.id, never.id)))
        await store.apply(Change(defer=(Deferral(aside.id, None, "why"),)))
        await store.apply(Change(redo=(done.id, aside.id, "nobody"), forget=(drawn.id,)))
        stats = await store.stats(MODEL)
        assert (stats.memories, stats.pending, stats.failing, stats.set_aside) == (0, 2, 0, 0)
        claimed = await store.claim(now=AT, lease=LEASE, limit=9)
        assert {each.id for each in claimed} == {done.id, aside.id}

    async def test_a_refused_part_is_not_bare(self, store: Store) -> None:
        a = message("a")
        await store.apply(written(a))
        await store.apply(Change(refused=((a.id, 0), ("nobody", 0))))
        assert await store.unembedded_parts(MODEL, 9) == []

    async def test_a_forgotten_message_can_be_said_again(self, store: Store) -> None:
        said = message("hello")
        await store.apply(written(said))
        await store.apply(Change(forget=(said.id,)))
        assert (await store.apply(written(said))).new == {said.id}

    # Work

    async def test_a_claimed_message_waits_until_its_lease_ends(self, store: Store) -> None:
        a, b, c = message("a"), message("b", session="t"), message("c")
        await store.apply(written(a, b, c))
        assert [m.id for m in await store.claim(now=AT, lease=LEASE, limit=9)] == [a.id, c.id]
        assert [m.id for m in await store.claim(now=AT, lease=LEASE, limit=9)] == [b.id]
        assert await store.claim(now=AT, lease=LEASE, limit=9) == []
        assert [m.id for m in await store.claim(now=AT + LEASE, lease=LEASE, limit=1)] == [a.id]

    async def test_settled_messages_never_wait_again(self, store: Store) -> None:
        a, known = message("a"), memory("x")
        await store.apply(written(a))
        assert (await store.stats(MODEL)).pending == 1
        await store.apply(written(known, settle=(a.id,)))
        assert (await store.stats(MODEL)).pending == 0
        assert await store.claim(now=AT + LEASE, lease=LEASE, limit=9) == []
        assert [m.pending for m in await store.messages("s")] == [False]

    async def test_a_claim_is_bounded_by_the_size_of_its_messages(self, store: Store) -> None:
        messages = [message(f"{letter} " * 500) for letter in "abc"]
        await store.apply(written(*messages))
        claimed = await store.claim(now=AT, lease=LEASE, limit=9, max_bytes=1)
        assert [m.id for m in claimed] == [messages[0].id]  # one in any case
        claimed = await store.claim(now=AT, lease=LEASE, limit=9, max_bytes=1_500)
        assert [m.id for m in claimed] == [messages[1].id, messages[2].id]

    async def test_failures_are_counted_and_set_aside_in_sight(self, store: Store) -> None:
        a = message("a")
        await store.apply(written(a))
        await store.apply(Change(defer=(Deferral(a.id, AT + LEASE, "model down"),)))
        assert await store.claim(now=AT, lease=LEASE, limit=9) == []
        again = await store.claim(now=AT + LEASE, lease=LEASE, limit=9)
        assert [m.failures for m in again] == [1]
        await store.apply(Change(defer=(Deferral(a.id, None, "model down"),)))
        stats = await store.stats(MODEL)
        assert (stats.pending, stats.set_aside) == (0, 1)

    async def test_bare_parts_are_those_without_a_vector_under_this_model(self, store: Store) -> None:
        a, task = message("a"), memory("do it", kind="task")
        await store.apply(written(a, task))
        assert await store.unembedded_parts(MODEL, 9) == [Part(a.id, 0, 0, 1)]
        await store.apply(Change(vectors=(unit(a.id, 0), unit("nobody", 0))))
        assert await store.unembedded_parts(MODEL, 9) == []
        assert len(await store.unembedded_parts("next/model/8", 9)) == 1
        await store.apply(Change(vectors=(unit(a.id, 3, model="next/model/8"),)))
        assert await store.unembedded_parts("next/model/8", 9) == []

    async def test_a_source_can_be_added_to_a_known_memory(self, store: Store) -> None:
        a, b = message("a"), message("b")
        known = memory("x", sources=(a.id,))
        await store.apply(written(a, b, known))
        await store.apply(Change(sources=((known.id, b.id), (known.id, b.id), (known.id, "nobody"))))
        found = (await store.get([known.id]))[0]
        assert isinstance(found, Memory)
        assert found.sources == (a.id, b.id)
        assert [m.id for m in await store.resting_on([b.id])] == [known.id]
