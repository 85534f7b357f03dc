"""Make one profile in a target the same as in its source: two inventories → the changes that are missing.

Everything is an ordinary Change, so an interruption anywhere leaves a profile that the next run goes on with. What a
Change cannot mend in place (an order, a supersession) is forgotten in the target and written again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from . import names, passages
from .errors import AlreadyExists
from .inventory import BATCH, Indexed, Inventory, Known, Said, State, batched, indexed, taken
from .moments import at_micros, now
from .ports import Store
from .types import Change, Deferral, Item, Judged, Memory, Message, Part, Supersede, Vector
from .vectors import packed

EVENTS = 500
WHY = "Digesting it failed before it was moved here."
WAITING: State = (True, 0, False)
DIGESTED: State = (False, 0, False)


@dataclass(slots=True)
class Tally:
    """How far a transfer is."""

    profiles: int = 0
    of: int = 0
    copied: int = 0
    """Items written to the target, items forgotten there, and items read on both sides to compare them."""
    forgotten: int = 0
    read: int = 0


class Moving:
    """One profile on its way."""

    def __init__(self, name: str, source: Store, target: Store, tally: Tally, seen: Callable[[], None]) -> None:
        self._name = name
        self._source = source
        self._target = target
        self._tally = tally
        self._seen = seen

    async def compared(self, *, empty: bool) -> tuple[Inventory, Inventory]:
        """What is wanted and what is held; `empty` says that the target's was made a moment ago."""
        if empty:
            return await taken(self._source, self._read), Inventory()
        return await asyncio.gather(taken(self._source, self._read), taken(self._target, self._read))

    async def step(self, wanted: Inventory, held: Inventory, ours: set[str], *, replacing: bool) -> None:
        """Bring the target from what it holds to what is wanted, or nearer.

        `ours` gathers the ids that this run wrote: when the source gives them up, nobody loses anything.
        """
        foreign = [id for id, each in _items(held) if (same := _find(wanted, id)) is None or same.fixed != each.fixed]
        if foreign:
            if not replacing:
                await self._check_known({*foreign} - ours)
            held = await self._without(foreign)
        while stray := await self._stray(wanted, held):
            held = await self._without(stray)
        await self._add_messages(wanted, held, ours)
        await self._add_memories(wanted, held, ours)
        await self._mend(wanted, held)

    async def _check_known(self, ids: set[str]) -> None:
        """What is in the target alone must be what the source has forgotten."""
        after = 0
        while ids and (events := await self._source.journal.events(after, EVENTS)):
            for event in events:
                if event.type.endswith(".forgotten"):
                    ids = ids - {event.data.get("id"), *event.data.get("ids", ())}
            after = events[-1].n
        if ids:
            raise AlreadyExists(
                f"Profile {self._name} in the target has what the source does not have ({len(ids):,} in all, such as "
                f"{min(ids)}): it was written there, or the source forgot it too long ago to know.",
                fix="To lose it, repeat with --replace; or move to another target.",
            )

    async def _without(self, ids: Iterable[str]) -> Inventory:
        for some in batched(ids):
            gone = (await self._target.apply(Change(forget=tuple(some)))).gone
            self._tally.forgotten += len(gone.memories) + len(gone.messages)
            self._seen()
        return await taken(self._target, self._read)

    async def _stray(self, wanted: Inventory, held: Inventory) -> list[str]:
        """What cannot stay as it is: what no Change can mend, and what stands behind it or in another order."""
        moved = (id for id, said in held.messages.items() if said.state != wanted.messages[id].state)
        bad = {id for id in moved if _settled(held.messages[id].state)}
        bad |= {id for id, known in held.memories.items() if not _fits(wanted.memories[id], known, held)}
        for some in batched(_elsewhere(wanted, held)):
            theirs, mine = await asyncio.gather(indexed(self._source, some), indexed(self._target, some))
            bad |= {id for id in some if id in theirs and _lacking(theirs[id], mine[id]) is None}
        return [*_tail(wanted.messages, held.messages, bad), *_tail(wanted.memories, held.memories, bad)]

    async def _add_messages(self, wanted: Inventory, held: Inventory, ours: set[str]) -> None:
        ends = dict(held.ends)
        for some in batched(id for id in wanted.messages if id not in held.messages):
            messages = [item for item in await self._source.get(some) if isinstance(item, Message)]
            parts, vectors = await self._indexed(messages)
            together, stand_ins = spaced(messages, ends)
            ours |= {message.id for message in messages}
            await self._target.apply(
                Change(
                    messages=together,
                    parts=parts,
                    vectors=vectors,
                    settle=tuple(message.id for message in messages if _state(message) == DIGESTED),
                    defer=tuple(late for message in messages for late in _failures(message, WAITING)),
                    forget=stand_ins,
                )
            )
            self._copied(len(messages))

    async def _add_memories(self, wanted: Inventory, held: Inventory, ours: set[str]) -> None:
        for step in _steps(wanted, held):
            ids = [each for each in step.memories if isinstance(each, str)]
            found = {item.id: item for item in await self._source.get(ids) if isinstance(item, Memory)}
            copies = {
                id: replace(memory, superseded_by=None, sources=wanted.memories[id].sources)
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
            self._copied(len(copies))

    async def _mend(self, wanted: Inventory, held: Inventory) -> None:
        """What became of items that the target had already: more sources, other states, new vectors."""
        grown = (id for id, known in held.memories.items() if wanted.memories[id].sources != known.sources)
        for some in batched(grown):
            pairs = [(id, held.memories[id], wanted.memories[id]) for id in some]
            more = [(id, source) for id, had, has in pairs for source in has.sources[len(had.sources) :]]
            await self._target.apply(Change(sources=tuple(more)))
        judged = (id for id, known in held.memories.items() if wanted.memories[id].judged != known.judged)
        for some in batched(judged):
            await self._target.apply(Change(judged=tuple(Judged(id, *wanted.memories[id].judged) for id in some)))
        states = {id: (said.state, wanted.messages[id].state) for id, said in held.messages.items()}
        await self._settle(id for id, both in states.items() if both == (WAITING, DIGESTED))
        others = (id for id, both in states.items() if both[0] != both[1] and both != (WAITING, DIGESTED))
        for some in batched(others):
            for item in await self._source.get(some):
                if isinstance(item, Message):
                    await self._restate(item, held.messages[item.id].state)
        for some in batched(_elsewhere(wanted, held)):
            theirs, mine = await asyncio.gather(indexed(self._source, some), indexed(self._target, some))
            lacking = [_lacking(theirs[id], mine[id]) or ((), ()) for id in some]
            vectors, refused = (tuple(chain(*each)) for each in zip(*lacking, strict=True))
            await self._target.apply(Change(vectors=vectors, refused=refused))

    async def _restate(self, message: Message, had: State) -> None:
        """Let digestion of it fail as often as it did, and end as it did."""
        pending, failures, _ = had
        if not pending or failures > message.failures or (message.aside and failures == message.failures):
            if pending:
                await self._target.apply(Change(defer=(Deferral(message.id, None, WHY),)))
            await self._target.apply(Change(messages=(message,)))  # said again, one that is set aside begins anew
            had = WAITING
        await self._target.apply(Change(defer=tuple(_failures(message, had))))
        if _settled(_state(message)):
            await self._settle([message.id])

    async def _settle(self, ids: Iterable[str]) -> None:
        for some in batched(ids):
            await self._target.apply(Change(settle=tuple(some)))

    async def _indexed(self, items: Sequence[Item]) -> tuple[tuple[Part, ...], tuple[Vector, ...]]:
        found = await indexed(self._source, [item.id for item in items])
        parts = tuple(passages.filled(item, part) for item in items for part, _ in found[item.id])
        return parts, tuple(vector for item in items for _, vector in found[item.id] if vector is not None)

    def _copied(self, count: int) -> None:
        self._tally.copied += count
        self._seen()

    def _read(self, count: int) -> None:
        self._tally.read += count
        self._seen()


@dataclass(slots=True)
class Step:
    """Memories that go into one Change: ids of the source's, and stand-ins that are forgotten with it."""

    memories: list[str | Memory] = field(default_factory=list)
    supersede: list[Supersede] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    parked: dict[str, str] = field(default_factory=dict)
    """Memory → the stand-in that it gave way to."""

    def park(self, id: str) -> None:
        at = at_micros(0)
        stand_in = Memory(names.memory_id(at, "stand-in", id), "fact", f"stands in for {id}", "", at, at)
        self.memories.append(stand_in)
        self.supersede.append(Supersede(id, stand_in.id))
        self.forget.append(stand_in.id)
        self.parked[id] = stand_in.id

    def add(self, id: str, before: Sequence[str]) -> None:
        for older in before:
            if older in self.own and older not in self.parked:
                self.park(older)
            self.supersede.append(Supersede(self.parked.pop(older, older), id))
        self.memories.append(id)
        self.own.add(id)


def _steps(wanted: Inventory, held: Inventory) -> Iterator[Step]:
    """The memories that are missing, each after what it supersedes.

    After some forgetting, several memories of one key may be superseded by one that comes later. All but one give way
    to a stand-in until it comes; forgetting the stand-in leaves them to its successor. One that is superseded by the
    Change that brings it needs a stand-in too: only forgetting comes after the words are in, and takes them out of
    search again.
    """
    before: dict[str, list[str]] = defaultdict(list)
    for id, known in wanted.memories.items():
        if known.next is not None:
            before[known.next].append(id)
    heads = {known.place: id for id, known in held.memories.items() if known.next is None}
    step = Step()
    for id in wanted.memories:
        if id in held.memories:
            continue
        place = wanted.memories[id].place
        head = heads.get(place)
        if head is not None and head not in before[id] and wanted.memories[head].next in wanted.memories:
            step.park(head)
        for older in before[id]:
            if heads.get(wanted.memories[older].place) == older:
                del heads[wanted.memories[older].place]
        step.add(id, before[id])
        heads[place] = id
        if len(step.memories) >= BATCH and not step.parked:
            yield step
            step = Step()
    if step.memories:
        yield step


def spaced(messages: Sequence[Message], ends: dict[str, int]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages, with stand-ins where others were forgotten, so that each gets the position it had.

    `ends` has the last position of each session, and is brought up to date.
    """
    together, stand_ins = [], []
    for message in messages:
        session = message.session_id
        for place in range(ends.get(session, 0) + 1, message.position):
            id = names.message_id(session, "stand-in", str(place))
            together.append(Message(id, session, "system", "", message.created_at))
            stand_ins.append(id)
        together.append(message)
        ends[session] = max(ends.get(session, 0) + 1, message.position)
    return tuple(together), tuple(stand_ins)


def _failures(message: Message, had: State) -> list[Deferral]:
    count = message.failures - had[1]
    ends = [None if message.aside and n == count - 1 else now() for n in range(count)]
    return [Deferral(message.id, until, WHY) for until in ends]


def _state(message: Message) -> State:
    return message.pending, message.failures, message.aside


def _settled(state: State) -> bool:
    return not state[0] and not state[2]


def _fits(wanted: Known, mine: Known, held: Inventory) -> bool:
    linked = mine.next == wanted.next or (mine.next is None and wanted.next not in held.memories)
    return linked and wanted.sources[: len(mine.sources)] == mine.sources


def _tail(wanted: Iterable[str], held: Iterable[str], bad: set[str]) -> list[str]:
    """What the target holds from the first item on that is bad or is not the source's next one."""
    ids, theirs = list(held), iter(wanted)
    for n, id in enumerate(ids):
        if id in bad or next(theirs, None) != id:
            return ids[n:]
    return []


def _elsewhere(wanted: Inventory, held: Inventory) -> Iterator[str]:
    """Items whose parts or vectors differ."""
    for id, each in _items(held):
        same = _find(wanted, id)
        if same is not None and same.index != each.index:
            yield id


def _lacking(theirs: Indexed, mine: Indexed) -> tuple[tuple[Vector, ...], tuple[tuple[str, int], ...]] | None:
    """Vectors and refusals to add; None when the parts are others, or have more than they should."""
    if [(p.number, p.start, p.stop) for p, _ in theirs] != [(p.number, p.start, p.stop) for p, _ in mine]:
        return None
    vectors: list[Vector] = []
    refused: list[tuple[str, int]] = []
    for (part, vector), (own, held) in zip(theirs, mine, strict=True):
        if (part.embed and not own.embed) or (vector is None and held is not None):
            return None
        if own.embed and not part.embed:
            refused.append((part.item, part.number))
        if vector is not None and (held is None or _meaning(held) != _meaning(vector)):
            vectors.append(vector)
    return tuple(vectors), tuple(refused)


def _meaning(vector: Vector) -> tuple[str, bytes]:
    return vector.model, packed(vector.values)


def _items(held: Inventory) -> Iterator[tuple[str, Known | Said]]:
    return chain(held.messages.items(), held.memories.items())


def _find(wanted: Inventory, id: str) -> Known | Said | None:
    return wanted.messages.get(id) or wanted.memories.get(id)
