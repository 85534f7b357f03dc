"""Write a profile down as an archive, line by line, while it may be in use.

First everything is listed, ids only: messages with their states, then memories with their successors. What is written
is what was listed, so that the parts fit together whatever is added meanwhile: a message that was waiting then is
waiting in the archive, and a memory drawn from it later is not in it. Only forgetting cannot be reconciled: it begins
the listing again, or ends the export with a Conflict.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from . import owned
from .archive import GAP, Header, Sum, document_line, end_line, item_line, piece_line, setting_line, usage_line
from .errors import Conflict
from .inventory import EVERYTHING, State, batched, indexed, older_first
from .ports import Store
from .results import Document
from .stored import PIECE
from .types import Item, Memory, Message

TRIES = 5
EVENTS = 500


@dataclass(slots=True)
class Listing:
    """What an archive will hold."""

    messages: dict[str, tuple[State, int]] = field(default_factory=dict)
    """Its state and position, in the order in which they were said."""
    memories: dict[str, str | None] = field(default_factory=dict)
    """Its successor; each after what it supersedes."""
    documents: tuple[Document, ...] = ()
    newest: datetime | None = None

    def saw(self, at: datetime) -> None:
        self.newest = at if self.newest is None else max(self.newest, at)


async def exported(store: Store, namespace: str, profile: str, *, vectors: bool = False) -> AsyncIterator[bytes]:
    """The archive's lines."""
    listing = await listed(store)
    settings = await owned.settings(store)
    spent = await store.journal.spent(None)
    pieces = {document.id: -(-document.bytes // PIECE) for document in listing.documents if document.original}
    counts = {"messages": len(listing.messages), "memories": len(listing.memories), "settings": len(settings),
              "usage": len(spent), "documents": len(listing.documents), "pieces": sum(pieces.values())}  # fmt: skip
    lines = Sum()
    yield lines.add(Header(namespace, profile, listing.newest, vectors, counts).line())
    for ids in batched([*listing.messages, *listing.memories]):
        for line in await _lines(store, listing, ids, vectors=vectors):
            yield lines.add(line)
    for name in sorted(settings):
        yield lines.add(setting_line(name, settings[name]))
    for each in sorted(spent, key=lambda each: (each.month, each.model, each.task)):
        yield lines.add(usage_line(each))
    for document in listing.documents:
        yield lines.add(document_line(document))
    for document in listing.documents:
        async for line in _originals(store, document, pieces.get(document.id, 0)):
            yield lines.add(line)
    yield end_line(counts, lines.hex)


async def _lines(store: Store, listing: Listing, ids: Sequence[str], *, vectors: bool) -> list[bytes]:
    index = await indexed(store, ids)
    found = {item.id: item for item in await store.get(ids)}
    gone = [id for id in ids if id not in found]
    if gone:
        raise Conflict(f"{gone[0]} was forgotten while the profile was exported.", fix="Export it again.")
    return [item_line(_as_listed(found[id], listing), index[id], vectors=vectors) for id in ids]


async def _originals(store: Store, document: Document, count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        piece = await store.shelf.original(document.id, number)
        held = await store.shelf.get(document.id)
        if piece is None or held is None or held.sha256 != document.sha256:
            raise Conflict(f"{document.name} changed while the profile was exported.", fix="Export it again.")
        yield piece_line(document.id, number, piece)


def _as_listed(item: Item, listing: Listing) -> Item:
    if isinstance(item, Message):
        (pending, failures, aside), position = listing.messages[item.id]
        return replace(item, pending=pending, failures=failures, aside=aside, position=position)
    sources = tuple(source for source in item.sources if source in listing.messages)
    return replace(item, superseded_by=listing.memories[item.id], sources=sources)


async def listed(store: Store) -> Listing:
    for _ in range(TRIES):
        start = (await store.journal.reach())[1]
        # Before their passages: one that is read by now has all of them in the listing, whatever goes on meanwhile.
        found = Listing(documents=tuple(reversed(await store.shelf.listed(EVERYTHING))))
        for document in found.documents:
            found.saw(document.updated_at)
        await _list_messages(store, found)
        await _list_memories(store, found)
        if not await _forgot(store, start):
            return found
    raise Conflict("Things are being forgotten all the time; an archive would not fit together.", fix="Try again.")


async def _list_messages(store: Store, found: Listing) -> None:
    """In the order of their parts, which a store lists without their texts; see inventory.taken."""
    count = (await store.stats("")).messages
    ids = list(dict.fromkeys(part.item for part in await store.bare("", EVERYTHING)))
    here = await _messages(store, ids)
    if len(here) < count:
        here = [(m.id, m) for m in await store.said(None, limit=EVERYTHING)]
    places: dict[str, int] = {}
    for id, message in here:
        before = places.get(message.session_id, 0)
        position = places[message.session_id] = min(message.position, before + GAP + 1)
        found.messages[id] = ((message.pending, message.failures, message.aside), position)
        found.saw(message.created_at)


async def _messages(store: Store, ids: Sequence[str]) -> list[tuple[str, Message]]:
    return [
        (item.id, replace(item, content="", metadata={}))
        for some in batched(ids)
        for item in await store.get(some)
        if isinstance(item, Message)
    ]


async def _list_memories(store: Store, found: Listing) -> None:
    next: dict[str, str | None] = {}
    late: set[str] = set()
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=500, cursor=cursor, superseded=True)
        for memory in page:
            next[memory.id] = memory.superseded_by
        drawn = [m for m in page if m.sources and not any(source in found.messages for source in m.sources)]
        late |= await _drawn_since(store, drawn)
        for memory in page:
            if memory.id not in late:
                found.saw(memory.created_at)
                found.saw(memory.updated_at)
        cursor = page.cursor
        if cursor is None:
            break
    kept = {id: _successor(id, next, late) for id in reversed(next) if id not in late}
    found.memories = {id: kept[id] for id in older_first(kept)}


async def _drawn_since(store: Store, memories: Sequence[Memory]) -> set[str]:
    """Memories that rest on messages which came after the listing of them; other sources were forgotten long ago."""
    if not memories:
        return set()
    there = {item.id for item in await store.get([source for memory in memories for source in memory.sources])}
    return {memory.id for memory in memories if there & set(memory.sources)}


def _successor(id: str, next: dict[str, str | None], late: set[str]) -> str | None:
    """The first later version that was listed; one that came since is not."""
    found = next.get(id)
    while found in late:
        found = next.get(found)
    return found if found in next else None


async def _forgot(store: Store, after: int) -> bool:
    while events := await store.journal.events(after, EVENTS):
        if any(event.type.endswith(".forgotten") for event in events):
            return True
        after = events[-1].n
    return False
