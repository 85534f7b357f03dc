"""Exports a profile as the lines of an archive while the profile may be in use.

First all ids are listed: messages with their states, then memories with their successors. Exactly the listed items are
written, so the archive is consistent whatever is added meanwhile: a message that was waiting at the listing is waiting
in the archive, and a memory extracted from it later is left out. Only forgetting cannot be reconciled: it restarts the
listing, or ends the export with a Conflict.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.archive import settings as owned
from holdfast.archive.format import (
    MAX_POSITION_GAP,
    Checksum,
    Header,
    document_line,
    end_line,
    item_line,
    piece_line,
    setting_line,
    usage_line,
)
from holdfast.domain.erasure import FORGOTTEN_EVENTS
from holdfast.domain.errors import Conflict
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Document
from holdfast.domain.types import Item, Memory, Message
from holdfast.storage.inventory import (
    NO_LIMIT,
    MessageState,
    batched,
    conversation_order,
    load_indexed_parts,
    older_first,
)
from holdfast.storage.rows import PIECE_BYTES

MAX_LISTING_ATTEMPTS = 5
"""How often the listing restarts before the export gives up. Chosen by hand; not measured."""
EVENTS_PER_PAGE = 500


@dataclass(slots=True)
class ArchiveListing:
    """The contents that an archive will have."""

    messages: dict[str, tuple[MessageState, int]] = field(default_factory=dict)
    """Id → state and position, in the order of the conversation."""
    memories: dict[str, str | None] = field(default_factory=dict)
    """Reference → successor; each version after those it supersedes."""
    documents: tuple[Document, ...] = ()
    newest: datetime | None = None

    def note_time(self, at: datetime) -> None:
        self.newest = at if self.newest is None else max(self.newest, at)


async def archive_lines(store: Store, namespace: str, profile: str, *, vectors: bool = False) -> AsyncIterator[bytes]:
    """Yield the lines of the archive."""
    listing = await list_contents(store)
    settings = await owned.load_settings(store)
    spent = await store.journal.spent(None)
    pieces = {document.id: -(-document.bytes // PIECE_BYTES) for document in listing.documents if document.original}
    counts = {"messages": len(listing.messages), "memories": len(listing.memories), "settings": len(settings),
              "usage": len(spent), "documents": len(listing.documents), "pieces": sum(pieces.values())}  # fmt: skip
    lines = Checksum()
    yield lines.add(Header(namespace, profile, listing.newest, vectors, counts).line())
    for ids in batched([*listing.messages, *listing.memories]):
        for line in await _item_lines(store, listing, ids, vectors=vectors):
            yield lines.add(line)
    for name in sorted(settings):
        yield lines.add(setting_line(name, settings[name]))
    for each in sorted(spent, key=lambda each: (each.month, each.model, each.task)):
        yield lines.add(usage_line(each))
    for document in listing.documents:
        yield lines.add(document_line(document))
    for document in listing.documents:
        async for line in _original_lines(store, document, pieces.get(document.id, 0)):
            yield lines.add(line)
    yield end_line(counts, lines.hex)


async def _item_lines(store: Store, listing: ArchiveListing, ids: Sequence[str], *, vectors: bool) -> list[bytes]:
    index = await load_indexed_parts(store, ids)
    found = {item.ref: item for item in await store.get(ids)}
    gone = [id for id in ids if id not in found]
    if gone:
        raise Conflict(f"{gone[0]} was forgotten while the profile was exported.", fix="Export it again.")
    return [item_line(_as_listed(found[id], listing), index[id], vectors=vectors) for id in ids]


async def _original_lines(store: Store, document: Document, count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        piece = await store.documents.original(document.id, number)
        held = await store.documents.get(document.id)
        if piece is None or held is None or held.sha256 != document.sha256:
            raise Conflict(f"{document.name} changed while the profile was exported.", fix="Export it again.")
        yield piece_line(document.id, number, piece)


def _as_listed(item: Item, listing: ArchiveListing) -> Item:
    if isinstance(item, Message):
        (pending, failures, aside), position = listing.messages[item.id]
        return replace(item, pending=pending, failures=failures, aside=aside, position=position)
    sources = tuple(source for source in item.sources if source in listing.messages)
    return replace(item, superseded_by=listing.memories[item.ref], sources=sources)


async def list_contents(store: Store) -> ArchiveListing:
    """List what to export, again whenever something was forgotten meanwhile."""
    for _ in range(MAX_LISTING_ATTEMPTS):
        start = (await store.journal.reach())[1]
        # Documents are listed before messages, so that a parsed document has all of its passages in the listing.
        found = ArchiveListing(documents=tuple(reversed(await store.documents.list_all(NO_LIMIT))))
        for document in found.documents:
            found.note_time(document.updated_at)
        await _list_messages(store, found)
        await _list_memories(store, found)
        if not await _was_anything_forgotten(store, start):
            return found
    raise Conflict(
        "Items were forgotten during every attempt, so the archive would not be consistent.", fix="Try again."
    )


async def _list_messages(store: Store, found: ArchiveListing) -> None:
    """List messages in the order of their parts, which a store lists without texts; see storage/inventory.py."""
    count = (await store.stats("")).messages
    ids = list(dict.fromkeys(part.item for part in await store.unembedded_parts("", NO_LIMIT)))
    messages = await _bare_messages(store, ids)
    if len(messages) < count:
        messages = [(m.id, m) for m in await store.messages(None, limit=NO_LIMIT)]
    places: dict[str, int] = {}
    for n in conversation_order([(message.session_id, message.position) for _, message in messages]):
        id, message = messages[n]
        before = places.get(message.session_id, 0)
        position = places[message.session_id] = min(message.position, before + MAX_POSITION_GAP + 1)
        found.messages[id] = ((message.pending, message.failures, message.aside), position)
        found.note_time(message.created_at)


async def _bare_messages(store: Store, ids: Sequence[str]) -> list[tuple[str, Message]]:
    return [
        (item.id, replace(item, content="", metadata={}))
        for some in batched(ids)
        for item in await store.get(some)
        if isinstance(item, Message)
    ]


async def _list_memories(store: Store, found: ArchiveListing) -> None:
    next: dict[str, str | None] = {}
    late: set[str] = set()
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=500, cursor=cursor, superseded=True)
        for memory in page:
            next[memory.ref] = memory.superseded_by
        drawn = [m for m in page if m.sources and not any(source in found.messages for source in m.sources)]
        late |= await _drawn_since(store, drawn)
        for memory in page:
            if memory.ref not in late:
                found.note_time(memory.created_at)
                found.note_time(memory.updated_at)
        cursor = page.cursor
        if cursor is None:
            break
    kept = {id: _successor(id, next, late) for id in reversed(next) if id not in late}
    found.memories = {id: kept[id] for id in older_first(kept)}


async def _drawn_since(store: Store, memories: Sequence[Memory]) -> set[str]:
    """References of memories extracted from messages that arrived after the listing. Sources that no longer exist do
    not count."""
    if not memories:
        return set()
    there = {item.id for item in await store.get([source for memory in memories for source in memory.sources])}
    return {memory.ref for memory in memories if there & set(memory.sources)}


def _successor(id: str, next: dict[str, str | None], late: set[str]) -> str | None:
    """The first later version that was listed, skipping versions that were written after the listing."""
    successor = next.get(id)
    while successor in late:
        successor = next.get(successor)
    return successor if successor in next else None


async def _was_anything_forgotten(store: Store, after: int) -> bool:
    while events := await store.journal.events(after, EVENTS_PER_PAGE):
        if any(event.type in FORGOTTEN_EVENTS for event in events):
            return True
        after = events[-1].n
    return False
