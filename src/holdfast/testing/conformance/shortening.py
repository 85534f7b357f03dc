"""Contract of a Store: messages that lose the words of a forgotten memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.search import Probe
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Caller, Job, Once, Trace
from holdfast.domain.types import Change, Deferral, Forgotten, Item, Memory, Message, Part, Shortened
from holdfast.testing.conformance.documents import document
from holdfast.testing.conformance.samples import AT, MODEL, memory, message, unit, written
from holdfast.testing.conformance.search import proposed_items
from holdfast.text import passages

LEASE = timedelta(minutes=5)
TEXT, LEFT = "A zebra in Porto. A giraffe in Faro.", "A zebra in Porto. […]"


class ShorteningContract:
    """A message is shortened, or goes and leaves what rests on it."""

    async def test_a_message_keeps_all_but_its_words(self, store: Store) -> None:
        before, after = message("before"), message("after")
        said, zebra, giraffe = await self._say(store, before, after=after, metadata={"a": 1, "b": "giraffe"})
        change = Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe, metadata={"a": 1}),))
        would = (await store.apply(replace(change, dry_run=True))).gone
        assert (await store.get([said.id]))[0].content == TEXT
        gone = (await store.apply(change)).gone
        assert gone == would == Forgotten((giraffe.id,), (), (said.id,))
        left, known = await store.get([said.id, zebra.id, giraffe.id])
        assert left == replace(said, content=LEFT, metadata={"a": 1}, shortened=True, position=2)
        assert known == zebra
        assert [each.id for each in await store.messages("s")] == [before.id, said.id, after.id]
        assert (await store.apply(change)).gone == Forgotten()
        assert (await store.get([said.id]))[0] == left
        assert (await store.apply(written(said))).new == frozenset()
        assert (await store.get([said.id]))[0] == left

    async def test_only_the_words_that_are_left_find_it(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store, vectors=True)
        await store.apply(Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),)))
        assert list(proposed_items(await store.propose(Probe(now=AT, words=("giraff",))))) == []
        found = await store.propose(Probe(now=AT, words=("zebra",)))
        assert set(proposed_items(found)) == {said.id, zebra.id}
        assert found.parts == 2
        assert [part.item for part in await store.unembedded_parts(MODEL, 9)] == [said.id]

    async def test_its_parts_keep_their_place_among_those_of_other_messages(self, store: Store) -> None:
        first, last = message("first"), message("last")
        said, zebra, giraffe = await self._say(store, first, after=last)
        long = "A zebra in Porto. " * 120
        for content in (long + "[…]", "[…] Porto"):
            here = (await store.get([said.id]))[0]
            assert isinstance(here, Message)
            await store.apply(Change(shorten=(shortened(here, zebra, giraffe, content=content),)))
            listed = [part.item for part in await store.unembedded_parts("", 99)]
            assert [id for id in dict.fromkeys(listed) if id not in (zebra.ref, giraffe.ref)] == [
                first.id,
                said.id,
                last.id,
            ]

    async def test_a_vector_of_the_old_text_is_not_taken_for_the_new_one(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store)
        await store.apply(Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),)))
        await store.apply(Change(vectors=(unit(said.id, 0),), refused=((said.id, 0),)))
        ((part, vector),) = await store.indexed([said.id])
        assert (part.number, part.start, part.stop, part.embed, vector) == (1, 0, len(LEFT), True, None)

    async def test_one_of_which_nothing_is_left_leaves_what_rests_on_it(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store)
        change = Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe, content=None),))
        assert (await store.apply(replace(change, dry_run=True))).gone == Forgotten((giraffe.id,), (said.id,))
        assert (await store.apply(change)).gone == Forgotten((giraffe.id,), (said.id,))
        assert (await store.apply(change)).gone == Forgotten()
        assert not (await store.messages(None)).items
        (known,) = await store.get([zebra.id])
        assert isinstance(known, Memory)
        assert (known.content, known.sources) == (zebra.content, ())
        assert (await store.propose(Probe(now=AT, words=("zebra",)))).parts == 1

    async def test_what_changed_since_it_was_read_is_not_overwritten(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store)
        change = Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),))
        late = memory("There is a giraffe", sources=(said.id,), n=5)
        await store.apply(written(late))
        with pytest.raises(Conflict):
            await store.apply(change)
        await store.apply(Change(forget=(late.id,)))
        other = shortened(said, zebra, giraffe, content="[…] A giraffe in Faro.")
        await store.apply(Change(forget=(zebra.id,), shorten=(other,)))
        with pytest.raises(Conflict):
            await store.apply(change)
        assert (await store.get([said.id, giraffe.id]))[0].content == "[…] A giraffe in Faro."
        assert len(await store.get([giraffe.id])) == 1

    async def test_who_digests_the_old_text_loses_the_lease(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store)
        await store.claim(now=AT, lease=LEASE, limit=9)
        await store.apply(Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),)))
        again = memory("The giraffe lives in Faro", sources=(said.id,), n=7)
        with pytest.raises(Conflict):
            await store.apply(written(again, settle=(said.id,), lease=AT + LEASE))
        with pytest.raises(Conflict):
            await store.apply(written(again, defer=(Deferral(said.id, AT, "spare"),), lease=AT + LEASE))
        (claimed,) = await store.claim(now=AT, lease=LEASE, limit=9)
        assert (claimed.id, claimed.content, claimed.pending) == (said.id, LEFT, True)
        await store.apply(Change(settle=(said.id,), lease=AT + LEASE))
        assert [each.id for each in await store.resting_on([said.id])] == [zebra.id]

    async def test_traces_lose_what_they_tell_of_it_and_other_records_keep_its_id(self, store: Store) -> None:
        said, zebra, giraffe = await self._say(store, job=Job("j", "ingest", AT, ("x",)))
        job = Job("k", "ingest", AT, (said.id,))
        await store.apply(Change(job=job))
        named = Trace("t1", AT, "search", Caller(), 1.0, {"hits": [said.id], "n": 1})
        asked = {"question": {"text": "a giraffe?", "words": ["giraff"]}}
        other = Trace("t3", AT, "search", Caller(), 1.0, {"question": {"text": "a zebra?", "words": ["zebra"]}})
        await store.journal.note([named, Trace("t2", AT, "search", Caller(), 1.0, asked), other])
        once = Once("key", "request")
        change = Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),), once=once)
        await store.apply(change)
        left = {trace.id: trace.details for trace in await store.journal.traces(None, None, 9, None)}
        assert left == {"t1": {"n": 1, "erased": True}, "t2": {"erased": True}, "t3": other.details}
        assert await store.journal.job("k") == job
        done = await store.journal.once("key")
        assert done is not None
        assert (done.memories, done.messages, done.shortened) == ((giraffe.id,), (), (said.id,))
        events = [(event.type, event.data) for event in await store.journal.events(0, 99)]
        assert ("message.shortened", {"ids": [said.id]}) in events
        assert ("message.added", {"session_id": "s", "ids": [said.id]}) in events
        late = Trace("t4", AT, "search", Caller(), 1.0, {"hits": [said.id]})
        await store.journal.note([late], {"t4": AT})
        found = await store.journal.trace("t4")
        assert found is not None
        assert found.details == {"erased": True}

    async def test_the_original_of_a_shortened_passage_goes(self, store: Store, tmp_path: Path) -> None:
        original = tmp_path / "file"
        original.write_bytes(b"A giraffe in Faro.")
        read = document(1, state="done")
        said, zebra, giraffe = await self._say(store, session=read.session_id, role="document")
        await store.documents.put(read, original)
        await store.apply(Change(forget=(giraffe.id,), shorten=(shortened(said, zebra, giraffe),)))
        found = await store.documents.get(read.id)
        assert found is not None
        assert not found.original
        assert await store.documents.original(read.id, 0) is None

    async def _say(
        self, store: Store, *others: Message, after: Message | None = None, vectors: bool = False,
        job: Job | None = None, **more: object,
    ) -> tuple[Message, Memory, Memory]:  # fmt: skip
        said = message(TEXT, **more)  # type: ignore[arg-type]
        zebra, giraffe = (
            memory("Saw a zebra in Porto", sources=(said.id,)),
            memory("A giraffe", sources=(said.id,), n=1),
        )
        items: tuple[Item, ...] = (*others, said, *([] if after is None else [after]), zebra, giraffe)
        found = tuple(unit(each.ref, n) for n, each in enumerate(items)) if vectors else ()
        await store.apply(written(*items, vectors=found, job=job))
        return said, zebra, giraffe


def shortened(said: Message, *resting: Memory, content: str | None = LEFT, **more: object) -> Shortened:
    """The message with another content, and with its parts after those it had."""
    ids = frozenset(each.ref for each in resting)
    parts: tuple[Part, ...] = ()
    if content is not None:
        here = passages.index_parts(replace(said, content=content))
        parts = tuple(replace(part, number=part.number + len(passages.index_parts(said))) for part in here)
    given: dict[str, object] = {"metadata": {}, **more}
    return Shortened(said.id, said.content, ids, content, parts=parts, **given)  # type: ignore[arg-type]
