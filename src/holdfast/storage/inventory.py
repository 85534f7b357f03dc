"""An inventory of a profile: the id and digests of every item, enough to find what differs between two profiles.

Only ids and digests stay in memory, so that a profile of any size fits; texts and vectors are read in batches and
released. Two profiles with the same checksum have the same texts, order, history, sources, states and vectors.
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

from holdfast.domain.json_codec import attributes, field_types
from holdfast.domain.ports.storage import Store
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Item, Json, Memory, Message, Part, Vector

BATCH_ITEMS = 200
NO_LIMIT = 2**31
IndexedParts = list[tuple[Part, Vector | None]]
MessageState = tuple[bool, int, bool]
"""The state of a message: whether it waits for digestion, how often its digestion failed, whether it is set aside."""

Judgement = tuple[int, datetime | None]
"""The judgement of a memory: its marks, and when it was reviewed."""


@dataclass(frozen=True, slots=True)
class MessageDigests:
    """The digests of a message. `fixed` covers all fields that never change, `index` its parts and vectors."""

    fixed: bytes
    index: bytes
    state: MessageState


@dataclass(frozen=True, slots=True)
class MemoryDigests:
    """The digests of a memory. `place` identifies its kind and key, or without a key its fingerprint; at most one
    memory with the same `place` is current."""

    fixed: bytes
    index: bytes
    place: bytes
    next: str | None
    """The version that superseded it; itself when it is retired."""
    sources: tuple[str, ...]
    judged: Judgement = (0, None)


@dataclass(slots=True)
class Inventory:
    messages: dict[str, MessageDigests] = field(default_factory=dict)
    """In the order of the conversation."""
    memories: dict[str, MemoryDigests] = field(default_factory=dict)
    """By reference, in the order in which they were written, each version after what it supersedes."""
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
            sha.update(_json_line("message", id, said.fixed.hex(), said.index.hex(), said.state))
        for id, known in self.memories.items():
            about = (known.fixed.hex(), known.index.hex(), known.next, known.sources, known.judged)
            sha.update(_json_line("memory", id, *about))
        return sha.digest()


async def take_inventory(store: Store, seen: Callable[[int], None] = lambda count: None) -> Inventory:
    """Return the inventory of a profile; `seen` is called with the number of items of each batch.

    `store.messages` can only list from the first or the last message on, so all messages would be in memory at once.
    Their ids come from `unembedded_parts` instead, in order and without texts: no model is named "", so it lists every
    part that should have a vector. A message is missing there if the embedder refused all its parts; if the count
    differs, `store.messages` is used after all.
    """
    count = (await store.stats("")).messages
    listed = dict.fromkeys(part.item for part in await store.unembedded_parts("", NO_LIMIT))
    found = Inventory(memories=await _load_memories(store, seen))
    ids = [id for id in listed if id not in found.memories]
    if len(ids) < count:
        ids = [message.id for message in await store.messages(None, limit=NO_LIMIT)]
    places: list[tuple[str, int]] = []
    for some in batched(ids):
        parts = await load_indexed_parts(store, some)
        for item in await store.get(some):
            if isinstance(item, Message):
                places.append((item.session_id, item.position))
                state = (item.pending, item.failures, item.aside)
                found.messages[item.id] = MessageDigests(MESSAGE_DIGEST.of(item), _index_digest(parts[item.id]), state)
                found.ends[item.session_id] = max(found.ends.get(item.session_id, 0), item.position)
        seen(len(some))
    listing = list(found.messages.items())
    found.messages = dict(listing[n] for n in conversation_order(places))
    for id, known in found.memories.items():
        if any(source not in found.messages for source in known.sources):  # forgotten during its extraction
            left = tuple(source for source in known.sources if source in found.messages)
            found.memories[id] = replace(known, sources=left)
    links = {id: known.next for id, known in found.memories.items()}
    found.memories = {id: found.memories[id] for id in older_first(links)}
    return found


def conversation_order(places: Sequence[tuple[str, int]]) -> list[int]:
    """The order of messages by (session, position), given in the order of arrival: each session keeps the places that
    its messages have in the list, and takes them in the order of the conversation."""
    by_position = iter(sorted(range(len(places)), key=lambda n: places[n]))
    by_arrival = sorted(range(len(places)), key=lambda n: places[n][0])
    order = dict(zip(by_arrival, by_position, strict=True))
    return [order[n] for n in range(len(places))]


async def every_message(store: Store) -> AsyncIterator[Message]:
    """Every message, a few at a time; only their ids are held together.

    Messages of which the embedder refused every part are missing among the parts, as in `take_inventory`: when the
    count tells so, all are loaded.
    """
    count = (await store.stats("")).messages
    listed = dict.fromkeys(part.item for part in await store.unembedded_parts("", NO_LIMIT))
    seen: set[str] = set()
    for ids in batched(listed):
        for item in await store.get(ids):
            if isinstance(item, Message):
                seen.add(item.id)
                yield item
    if len(seen) < count:
        for message in await store.messages(None, limit=NO_LIMIT):
            if message.id not in seen:
                yield message


async def load_indexed_parts(store: Store, ids: Sequence[str]) -> dict[str, IndexedParts]:
    found: dict[str, IndexedParts] = defaultdict(list)
    for part, vector in await store.indexed(ids):
        found[part.item].append((part, vector))
    return found


def batched(ids: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    for id in ids:
        some.append(id)
        if len(some) == BATCH_ITEMS:
            yield some
            some = []
    if some:
        yield some


async def _load_memories(store: Store, seen: Callable[[int], None]) -> dict[str, MemoryDigests]:
    """Load the digests of all memory versions, oldest first."""
    found: list[tuple[str, MemoryDigests]] = []
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=BATCH_ITEMS, cursor=cursor, superseded=True)
        parts = await load_indexed_parts(store, [memory.ref for memory in page])
        for memory in page:
            about = MemoryDigests(
                MEMORY_DIGEST.of(memory), _index_digest(parts[memory.ref]), _place_digest(memory),
                memory.superseded_by, memory.sources, (memory.marks, memory.reviewed_at),
            )  # fmt: skip
            found.append((memory.ref, about))
        seen(len(page))
        cursor = page.cursor
        if cursor is None:
            return dict(reversed(found))


def older_first(memories: dict[str, str | None]) -> Iterator[str]:
    """Yield references of memories (reference → successor) so that a superseded one comes before what supersedes it.

    The order of writing is not enough: forgetting can make an older memory the successor of a newer one.
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


class FieldDigest:
    """Computes the digest of an item's unchanging fields: all fields except those listed as `changing`."""

    def __init__(self, kind: type, first: tuple[str, ...], changing: tuple[str, ...]) -> None:
        types = field_types(kind)
        names = (*first, *(name for name in types if name not in first + changing))
        self._values_of = attributes(names)
        self._json = [n for n, name in enumerate(names) if types[name] in (Json, dict[str, Json])]

    def of(self, item: Item) -> bytes:
        values = list(self._values_of(item))
        for n in self._json:
            values[n] = canonical_numbers(values[n])
        return _digest(*values)


MESSAGE_DIGEST = FieldDigest(Message, ("id", "session_id", "position"), ("pending", "failures", "aside"))
MEMORY_DIGEST = FieldDigest(
    Memory, ("id", "version", "kind", "key"), ("superseded_by", "sources", "marks", "reviewed_at")
)


def _place_digest(memory: Memory) -> bytes:
    return _digest(memory.fingerprint) if memory.key is None else _digest(memory.kind, memory.key)


def _index_digest(parts: IndexedParts) -> bytes:
    from holdfast.domain.vectors import vector_bytes

    sha = hashlib.sha256()
    for part, vector in sorted(parts, key=lambda each: each[0].number):
        meaning = None if vector is None else (vector.model, vector_bytes(vector.values).hex())
        sha.update(_json_line(part.number, part.start, part.stop, part.embed, meaning))
    return sha.digest()


def canonical_numbers(value: Json) -> Json:
    """Convert whole floats to integers, since some backends return 1e16 as an integer. The result is the same for
    all."""
    if isinstance(value, dict):
        return {name: canonical_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [canonical_numbers(each) for each in value]
    return int(Decimal(repr(value))) if isinstance(value, float) and value.is_integer() else value


def _digest(*fields: Any) -> bytes:
    return hashlib.sha256(_json_line(*fields)).digest()


def _json_line(*fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, default=to_micros).encode() + b"\n"
