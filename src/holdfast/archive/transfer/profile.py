"""Makes one profile in a target equal to its source: compares two inventories and applies the missing changes.

Every write is an ordinary Change, so the next run can continue after any interruption. What a Change cannot repair in
place (an order, a supersession) is forgotten in the target and written again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from holdfast.domain import identifiers
from holdfast.domain.erasure import FORGOTTEN_EVENTS
from holdfast.domain.errors import AlreadyExists
from holdfast.domain.ports.storage import Store
from holdfast.domain.timestamps import from_micros, now
from holdfast.domain.types import (
    Change,
    Deferral,
    Item,
    Judged,
    Memory,
    Message,
    Part,
    Supersede,
    Vector,
)
from holdfast.domain.vectors import vector_bytes
from holdfast.storage.inventory import (
    BATCH_ITEMS,
    IndexedParts,
    Inventory,
    MemoryDigests,
    MessageDigests,
    MessageState,
    batched,
    load_indexed_parts,
    take_inventory,
)
from holdfast.text import passages

EVENTS_PER_PAGE = 500
EARLIER_FAILURE = "Digesting it failed before it was moved here."
WAITING_STATE: MessageState = (True, 0, False)
DIGESTED_STATE: MessageState = (False, 0, False)


@dataclass(slots=True)
class TransferProgress:
    """Progress of a transfer."""

    profiles: int = 0
    of: int = 0
    copied: int = 0
    """Items written to the target. `forgotten` counts items forgotten there, `read` items read on both sides."""
    forgotten: int = 0
    read: int = 0


class ProfileTransfer:
    """The transfer of one profile."""

    def __init__(
        self, name: str, source: Store, target: Store, tally: TransferProgress, seen: Callable[[], None]
    ) -> None:
        self._name = name
        self._source = source
        self._target = target
        self._tally = tally
        self._seen = seen

    async def compare(self, *, empty: bool) -> tuple[Inventory, Inventory]:
        """The inventories of the source and the target; `empty` says that the target was just created."""
        if empty:
            return await take_inventory(self._source, self._count_read), Inventory()
        return await asyncio.gather(
            take_inventory(self._source, self._count_read), take_inventory(self._target, self._count_read)
        )

    async def copy_missing(self, wanted: Inventory, held: Inventory, ours: set[str], *, replacing: bool) -> None:
        """Apply the changes that make the target equal to the source, or closer to it.

        `ours` collects the ids that this run wrote: they may be forgotten again when the source no longer has them.
        """
        foreign = [
            id for id, each in _entries(held) if (same := _entry(wanted, id)) is None or same.fixed != each.fixed
        ]
        if foreign:
            if not replacing:
                await self._check_known({*foreign} - ours)
            held = await self._forget(foreign)
        while bad := await self._unrepairable(wanted, held):
            held = await self._forget(bad)
        await self._add_messages(wanted, held, ours)
        await self._judge(wanted, held, retiring=True)  # another memory may have the place of a retired one
        await self._add_memories(wanted, held, ours)
        await self._repair(wanted, held)

    async def _check_known(self, ids: set[str]) -> None:
        """Raise AlreadyExists unless the source has forgotten or shortened all these, which only the target has so."""
        after = 0
        while ids and (events := await self._source.journal.events(after, EVENTS_PER_PAGE)):
            for event in events:
                if event.type in FORGOTTEN_EVENTS:
                    gone = {event.data.get("id"), *event.data.get("ids", ())}
                    ids = {id for id in ids if id not in gone and identifiers.referenced_id(id) not in gone}
            after = events[-1].n
        if ids:
            raise AlreadyExists(
                f"Profile {self._name} in the target has {len(ids):,} items that the source does not have, such as "
                f"{min(ids)}: they were written there, or the source forgot them too long ago.",
                fix="Repeat with --replace to delete them there, or use another target.",
            )

    async def _forget(self, ids: Iterable[str]) -> Inventory:
        for some in batched(ids):
            gone = (await self._target.apply(Change(forget=tuple(some)))).gone
            self._tally.forgotten += len(gone.memories) + len(gone.messages)
            self._seen()
        return await take_inventory(self._target, self._count_read)

    async def _unrepairable(self, wanted: Inventory, held: Inventory) -> list[str]:
        """Ids of items in the target that no Change can repair, and of all that follow them or are in another order."""
        moved = (id for id, said in held.messages.items() if said.state != wanted.messages[id].state)
        bad = {id for id in moved if _is_settled(held.messages[id].state)}
        bad |= {id for id, known in held.memories.items() if not _is_repairable(id, wanted.memories[id], known, held)}
        for some in batched(_differently_indexed(wanted, held)):
            theirs, mine = await asyncio.gather(
                load_indexed_parts(self._source, some), load_indexed_parts(self._target, some)
            )
            bad |= {id for id in some if id in theirs and _missing_vectors(theirs[id], mine[id]) is None}
        return [
            *_differing_tail(wanted.messages, held.messages, bad),
            *_differing_tail(wanted.memories, held.memories, bad),
        ]

    async def _add_messages(self, wanted: Inventory, held: Inventory, ours: set[str]) -> None:
        ends = dict(held.ends)
        for some in batched(id for id in wanted.messages if id not in held.messages):
            messages = [item for item in await self._source.get(some) if isinstance(item, Message)]
            parts, vectors = await self._indexed(messages)
            together, stand_ins = spaced_messages(messages, ends)
            ours |= {message.id for message in messages}
            await self._target.apply(
                Change(
                    messages=together,
                    parts=parts,
                    vectors=vectors,
                    settle=tuple(message.id for message in messages if _message_state(message) == DIGESTED_STATE),
                    defer=tuple(late for message in messages for late in _failures(message, WAITING_STATE)),
                    forget=stand_ins,
                )
            )
            self._count_copied(len(messages))

    async def _add_memories(self, wanted: Inventory, held: Inventory, ours: set[str]) -> None:
        for step in _memory_batches(wanted, held):
            ids = [each for each in step.memories if isinstance(each, str)]
            found = {item.ref: item for item in await self._source.get(ids) if isinstance(item, Memory)}
            copies = {
                id: replace(
                    memory,
                    superseded_by=memory.ref if memory.retired else None,
                    sources=wanted.memories[id].sources,
                )
                for id, memory in found.items()
            }
            parts, vectors = await self._indexed(list(copies.values()))
            memories = [copies.get(each) if isinstance(each, str) else each for each in step.memories]
            ours |= copies.keys()
            await self._target.apply(
                Change(
                    memories=tuple(memory for memory in memories if memory is not None),
                    parts=parts,
                    vectors=vectors,
                    supersede=tuple(step.supersede),
                    forget=tuple(step.forget),
                )
            )
            self._count_copied(len(copies))

    async def _repair(self, wanted: Inventory, held: Inventory) -> None:
        """Update items that the target already had: more sources, other states, new vectors."""
        grown = (id for id, known in held.memories.items() if wanted.memories[id].sources != known.sources)
        for some in batched(grown):
            pairs = [(id, held.memories[id], wanted.memories[id]) for id in some]
            more = [(id, source) for id, had, has in pairs for source in has.sources[len(had.sources) :]]
            await self._target.apply(Change(sources=tuple(more)))
        await self._judge(wanted, held, retiring=False)
        states = {id: (said.state, wanted.messages[id].state) for id, said in held.messages.items()}
        await self._settle(id for id, both in states.items() if both == (WAITING_STATE, DIGESTED_STATE))
        others = (id for id, both in states.items() if both[0] != both[1] and both != (WAITING_STATE, DIGESTED_STATE))
        for some in batched(others):
            for item in await self._source.get(some):
                if isinstance(item, Message):
                    await self._copy_state(item, held.messages[item.id].state)
        for some in batched(_differently_indexed(wanted, held)):
            theirs, mine = await asyncio.gather(
                load_indexed_parts(self._source, some), load_indexed_parts(self._target, some)
            )
            lacking = [_missing_vectors(theirs[id], mine[id]) or ((), ()) for id in some]
            vectors, refused = (tuple(chain(*each)) for each in zip(*lacking, strict=True))
            await self._target.apply(Change(vectors=vectors, refused=refused))

    async def _judge(self, wanted: Inventory, held: Inventory, *, retiring: bool) -> None:
        """Copy marks and reviews: those that retire memories, or the others."""
        changed = (id for id, known in held.memories.items() if wanted.memories[id].judged != known.judged)
        for some in batched(id for id in changed if (wanted.memories[id].judged[0] < 0) == retiring):
            await self._target.apply(Change(judged=tuple(Judged(id, *wanted.memories[id].judged) for id in some)))

    async def _copy_state(self, message: Message, had: MessageState) -> None:
        """Record as many failures of digestion as the source has, and the same final state."""
        pending, failures, _ = had
        if not pending or failures > message.failures or (message.aside and failures == message.failures):
            if pending:
                await self._target.apply(Change(defer=(Deferral(message.id, None, EARLIER_FAILURE),)))
            # Written again, a message that was set aside waits again.
            await self._target.apply(Change(messages=(message,)))
            had = WAITING_STATE
        await self._target.apply(Change(defer=tuple(_failures(message, had))))
        if _is_settled(_message_state(message)):
            await self._settle([message.id])

    async def _settle(self, ids: Iterable[str]) -> None:
        for some in batched(ids):
            await self._target.apply(Change(settle=tuple(some)))

    async def _indexed(self, items: Sequence[Item]) -> tuple[tuple[Part, ...], tuple[Vector, ...]]:
        found = await load_indexed_parts(self._source, [item.ref for item in items])
        parts = tuple(passages.part_with_words(item, part) for item in items for part, _ in found[item.ref])
        return parts, tuple(vector for item in items for _, vector in found[item.ref] if vector is not None)

    def _count_copied(self, count: int) -> None:
        self._tally.copied += count
        self._seen()

    def _count_read(self, count: int) -> None:
        self._tally.read += count
        self._seen()


@dataclass(slots=True)
class MemoryBatch:
    """Memories written by one Change: references of the source's, and stand-ins that the same Change forgets."""

    memories: list[str | Memory] = field(default_factory=list)
    supersede: list[Supersede] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    parked: dict[str, str] = field(default_factory=dict)
    """Memory → the stand-in that supersedes it for now."""

    def park(self, id: str) -> None:
        """Let a stand-in supersede the memory until its real successor is added."""
        at = from_micros(0)
        stand_in = Memory(identifiers.memory_id(at, "stand-in", id), "fact", f"stands in for {id}", "", at, at)
        self.memories.append(stand_in)
        self.supersede.append(Supersede(id, stand_in.ref))
        self.forget.append(stand_in.ref)
        self.parked[id] = stand_in.ref

    def add(self, id: str, before: Sequence[str]) -> None:
        """Add a memory and let it supersede those in `before`."""
        for older in before:
            if older in self.own and older not in self.parked:
                self.park(older)
            self.supersede.append(Supersede(self.parked.pop(older, older), id))
        self.memories.append(id)
        self.own.add(id)


def _memory_batches(wanted: Inventory, held: Inventory) -> Iterator[MemoryBatch]:
    """Yield the missing memories in batches, each memory after those it supersedes.

    When versions in between were forgotten, several memories of one key may be superseded by one later memory. All but
    one are superseded by a stand-in until that memory is written; forgetting the stand-in passes them to its successor.
    A memory that is superseded by the Change that writes it needs a stand-in too: within a Change only forgetting runs
    after indexing, and so removes its words from search again.
    """
    before: dict[str, list[str]] = defaultdict(list)
    for id, known in wanted.memories.items():
        if known.next is not None and known.next != id:
            before[known.next].append(id)
    current = (id for id, known in held.memories.items() if known.next is None and wanted.memories[id].next != id)
    heads = {held.memories[id].place: id for id in current}
    step = MemoryBatch()
    for id in wanted.memories:
        if id in held.memories:
            continue
        place = wanted.memories[id].place
        retired = wanted.memories[id].next == id
        head = None if retired else heads.get(place)
        if head is not None and head not in before[id] and wanted.memories[head].next in wanted.memories:
            step.park(head)
        for older in before[id]:
            if heads.get(wanted.memories[older].place) == older:
                del heads[wanted.memories[older].place]
        step.add(id, before[id])
        if not retired:
            heads[place] = id
        if len(step.memories) >= BATCH_ITEMS and not step.parked:
            yield step
            step = MemoryBatch()
    if step.memories:
        yield step


def spaced_messages(messages: Sequence[Message], ends: dict[str, int]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages with stand-ins where others were forgotten, so that each gets its position; the stand-ins' ids.

    `ends` has the last position of each session and is updated.
    """
    together, stand_ins = [], []
    for message in messages:
        session = message.session_id
        for place in range(ends.get(session, 0) + 1, message.position):
            id = identifiers.message_id(session, "stand-in", str(place))
            together.append(Message(id, session, "system", "", message.created_at))
            stand_ins.append(id)
        together.append(message)
        ends[session] = max(ends.get(session, 0) + 1, message.position)
    return tuple(together), tuple(stand_ins)


def _failures(message: Message, had: MessageState) -> list[Deferral]:
    count = message.failures - had[1]
    ends = [None if message.aside and n == count - 1 else now() for n in range(count)]
    return [Deferral(message.id, until, EARLIER_FAILURE) for until in ends]


def _message_state(message: Message) -> MessageState:
    return message.pending, message.failures, message.aside


def _is_settled(state: MessageState) -> bool:
    return not state[0] and not state[2]


def _is_repairable(id: str, wanted: MemoryDigests, mine: MemoryDigests, held: Inventory) -> bool:
    linked = mine.next == wanted.next or (mine.next in (None, id) and wanted.next not in held.memories)
    # Marks retire a memory and make it current again.
    linked |= mine.judged != wanted.judged and {mine.next, wanted.next} <= {None, id}
    return linked and wanted.sources[: len(mine.sources)] == mine.sources


def _differing_tail(wanted: Iterable[str], held: Iterable[str], bad: set[str]) -> list[str]:
    """The ids of the target from the first one that is bad or is not the next one of the source."""
    ids, theirs = list(held), iter(wanted)
    for n, id in enumerate(ids):
        if id in bad or next(theirs, None) != id:
            return ids[n:]
    return []


def _differently_indexed(wanted: Inventory, held: Inventory) -> Iterator[str]:
    """Yield the ids of items whose parts or vectors differ."""
    for id, each in _entries(held):
        same = _entry(wanted, id)
        if same is not None and same.index != each.index:
            yield id


def _missing_vectors(
    theirs: IndexedParts, mine: IndexedParts
) -> tuple[tuple[Vector, ...], tuple[tuple[str, int], ...]] | None:
    """Vectors and refusals to add; None when the parts differ, or the target has more than the source."""
    if [(p.number, p.start, p.stop) for p, _ in theirs] != [(p.number, p.start, p.stop) for p, _ in mine]:
        return None
    vectors: list[Vector] = []
    refused: list[tuple[str, int]] = []
    for (part, vector), (own, held) in zip(theirs, mine, strict=True):
        if (part.embed and not own.embed) or (vector is None and held is not None):
            return None
        if own.embed and not part.embed:
            refused.append((part.item, part.number))
        if vector is not None and (held is None or _vector_identity(held) != _vector_identity(vector)):
            vectors.append(vector)
    return tuple(vectors), tuple(refused)


def _vector_identity(vector: Vector) -> tuple[str, bytes]:
    return vector.model, vector_bytes(vector.values)


def _entries(held: Inventory) -> Iterator[tuple[str, MemoryDigests | MessageDigests]]:
    return chain(held.messages.items(), held.memories.items())


def _entry(wanted: Inventory, id: str) -> MemoryDigests | MessageDigests | None:
    return wanted.messages.get(id) or wanted.memories.get(id)
