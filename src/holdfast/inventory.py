"""What a profile holds, item by item, as digests: enough to see what differs between two of them.

Only ids and digests are kept, so that a profile of any size fits; texts and vectors are read in batches and let go.
Two profiles with the same checksum have the same texts, order, history, sources, states and vectors.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from .moments import micros
from .ports import Store
from .types import Json, Memory, Message, Part, Vector
from .vectors import packed

BATCH = 200
EVERYTHING = 2**31
Indexed = list[tuple[Part, Vector | None]]
State = tuple[bool, int, bool]
"""Of a message: whether it waits, how often digesting it failed, whether it is set aside."""

Judgement = tuple[int, datetime | None]
"""Of a memory: its marks, and when it was reviewed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message. `fixed` is the digest of all that never changes, `index` that of its parts and vectors."""

    fixed: bytes
    index: bytes
    state: State


@dataclass(frozen=True, slots=True)
class Known:
    """A memory. At most one of those with the same `place` is current."""

    fixed: bytes
    index: bytes
    place: bytes
    next: str | None
    sources: tuple[str, ...]
    judged: Judgement = (0, None)


@dataclass(slots=True)
class Inventory:
    messages: dict[str, Said] = field(default_factory=dict)
    """In the order in which they were said."""
    memories: dict[str, Known] = field(default_factory=dict)
    """In the order in which they were written, each after what it supersedes."""
    ends: dict[str, int] = field(default_factory=dict)
    """Session → the position of its last message."""

    def __len__(self) -> int:
        return len(self.messages) + len(self.memories)

    def __contains__(self, id: str) -> bool:
        return id in self.messages or id in self.memories

    @property
    def checksum(self) -> bytes:
        sha = hashlib.sha256()
        for id, said in self.messages.items():
            sha.update(_told("message", id, said.fixed.hex(), said.index.hex(), said.state))
        for id, known in self.memories.items():
            about = (known.fixed.hex(), known.index.hex(), known.next, known.sources, known.judged)
            sha.update(_told("memory", id, *about))
        return sha.digest()


async def taken(store: Store, seen: Callable[[int], None] = lambda count: None) -> Inventory:
    """The inventory of a profile; `seen` hears how many items each batch had.

    A store lists messages from the first or the last one on, and would have to hold them all. The parts that should
    have a vector name them as well, in order and without their texts: no model is called "", so these are all such
    parts. A message whose every part the embedder refused is missing there; the count tells.
    """
    count = (await store.stats("")).messages
    listed = dict.fromkeys(part.item for part in await store.bare("", EVERYTHING))
    found = Inventory(memories=await _memories(store, seen))
    ids = [id for id in listed if id not in found.memories]
    if len(ids) < count:
        ids = [message.id for message in await store.said(None, limit=EVERYTHING)]
    for some in batched(ids):
        parts = await indexed(store, some)
        for item in await store.get(some):
            if isinstance(item, Message):
                state = (item.pending, item.failures, item.aside)
                found.messages[item.id] = Said(_fixed_message(item), _index(parts[item.id]), state)
                found.ends[item.session_id] = item.position
        seen(len(some))
    for id, known in found.memories.items():
        if any(source not in found.messages for source in known.sources):  # forgotten while it was drawn from them
            left = tuple(source for source in known.sources if source in found.messages)
            found.memories[id] = replace(known, sources=left)
    links = {id: known.next for id, known in found.memories.items()}
    found.memories = {id: found.memories[id] for id in older_first(links)}
    return found


async def every_message(store: Store) -> AsyncIterator[Message]:
    """Every message that has a part to be found by, a few at a time; only their ids are held together."""
    listed = dict.fromkeys(part.item for part in await store.bare("", EVERYTHING))
    for ids in batched(listed):
        for item in await store.get(ids):
            if isinstance(item, Message):
                yield item


async def indexed(store: Store, ids: Sequence[str]) -> dict[str, Indexed]:
    found: dict[str, Indexed] = defaultdict(list)
    for part, vector in await store.indexed(ids):
        found[part.item].append((part, vector))
    return found


def batched(ids: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    for id in ids:
        some.append(id)
        if len(some) == BATCH:
            yield some
            some = []
    if some:
        yield some


async def _memories(store: Store, seen: Callable[[int], None]) -> dict[str, Known]:
    """Oldest first."""
    found: list[tuple[str, Known]] = []
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=BATCH, cursor=cursor, superseded=True)
        parts = await indexed(store, [memory.id for memory in page])
        for memory in page:
            about = Known(
                _fixed_memory(memory), _index(parts[memory.id]), _place(memory), memory.superseded_by, memory.sources,
                (memory.marks, memory.reviewed_at),
            )  # fmt: skip
            found.append((memory.id, about))
        seen(len(page))
        cursor = page.cursor
        if cursor is None:
            return dict(reversed(found))


def older_first(memories: dict[str, str | None]) -> Iterator[str]:
    """Of memories with their successors: what is superseded before what supersedes it.

    Forgetting can leave an older memory in a newer one's place.
    """
    before: dict[str, list[str]] = defaultdict(list)
    for id, next in memories.items():
        if next is not None:
            before[next].append(id)
    told: set[str] = set()
    for id in memories:
        stack = [id]
        while stack:
            waiting = [older for older in before.pop(stack[-1], []) if older not in told]
            if waiting:
                stack += reversed(waiting)
            elif (last := stack.pop()) not in told:
                told.add(last)
                yield last


def _fixed_message(message: Message) -> bytes:
    return _digest(
        message.id, message.session_id, message.position, message.role, message.content, message.created_at,
        message.speaker, message.timestamp, message.agent, even(message.metadata),
    )  # fmt: skip


def _fixed_memory(memory: Memory) -> bytes:
    return _digest(
        memory.id, memory.kind, memory.key, memory.content, memory.summary, memory.created_at, memory.updated_at,
        even(memory.value), even(memory.metadata), memory.keywords, memory.queries, memory.session_id, memory.agent,
        memory.trust, memory.occurred_at, memory.occurred_until, memory.expires_at, memory.version, memory.extractor,
        memory.confidence,
    )  # fmt: skip


def _place(memory: Memory) -> bytes:
    return _digest(memory.fingerprint) if memory.key is None else _digest(memory.kind, memory.key)


def _index(parts: Indexed) -> bytes:
    sha = hashlib.sha256()
    for part, vector in sorted(parts, key=lambda each: each[0].number):
        meaning = None if vector is None else (vector.model, packed(vector.values).hex())
        sha.update(_told(part.number, part.start, part.stop, part.embed, meaning))
    return sha.digest()


def even(value: Json) -> Json:
    """As every backend gives it back: some know no difference between 1e16 and the whole number."""
    if isinstance(value, dict):
        return {name: even(each) for name, each in value.items()}
    if isinstance(value, list):
        return [even(each) for each in value]
    return int(Decimal(repr(value))) if isinstance(value, float) and value.is_integer() else value


def _digest(*fields: Any) -> bytes:
    return hashlib.sha256(_told(*fields)).digest()


def _told(*fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, default=micros).encode() + b"\n"
