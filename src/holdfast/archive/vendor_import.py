"""Imports the export of another memory product into a profile: ingests conversations, remembers statements.

Session ids and texts are the same every time an export is parsed, so a second import adds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from holdfast.archive.importers import parse_export
from holdfast.archive.importers.types import ImportedConversation, ImportedItem, ImportedStatement
from holdfast.domain import timestamps
from holdfast.domain.reports import Imported
from holdfast.domain.results import Receipt
from holdfast.domain.types import Memory
from holdfast.ingest.messages import overlapping_batches

ITEMS_PER_BATCH = 50
"""How many items are parsed at once in a thread. Chosen by hand; not measured."""


class ImportTarget(Protocol):
    """The part of a profile that an import needs, local or remote."""

    async def ingest(self, messages: Any, *, session_id: str | None = None) -> Receipt: ...

    async def remember(self, content: str | None = None, **more: Any) -> Memory: ...


async def import_vendor_export(
    profile: Any, file: Path | BinaryIO, format: str, *, dry_run: bool = False, seen: Callable[[int], None]
) -> Imported:
    """Import everything in a file or folder of this format; `auto` detects the format from the content."""
    items = await asyncio.to_thread(parse_export, file, format)
    counts = {"messages": 0, "memories": 0, "known": 0}
    start, done = timestamps.now(), 0
    while some := await asyncio.to_thread(_next_batch, items):
        for item in some:
            if isinstance(item, ImportedConversation):
                new, known = (len(item.messages), 0) if dry_run else await _ingest_conversation(profile, item)
                counts["messages"] += new
            else:
                memory = None if dry_run else await _remember_statement(profile, item)
                known = int(memory is not None and memory.updated_at < start)
                new = 1 - known
                counts["memories"] += new
            counts["known"] += known
            done += new + known
            seen(done)
    messages = counts["messages"]
    return Imported(messages, counts["memories"], counts["known"], 0 if dry_run else messages, dry_run=dry_run)


async def _ingest_conversation(profile: ImportTarget, conversation: ImportedConversation) -> tuple[int, int]:
    new = 0
    for _, some in overlapping_batches(conversation.messages):
        receipt = await profile.ingest(some, session_id=conversation.session_id)
        new += sum(message.new for message in receipt.messages)
    return new, len(conversation.messages) - new


async def _remember_statement(profile: ImportTarget, statement: ImportedStatement) -> Memory:
    given = {
        "key": statement.key, "value": statement.value, "metadata": statement.metadata,
        "session_id": statement.session_id, "agent": statement.agent, "occurred_at": statement.occurred_at,
        "expires_at": statement.expires_at, "topic": False,  # an export does not say which statement is newer
    }  # fmt: skip
    return await profile.remember(statement.content, kind=statement.kind, **given)


def _next_batch(items: Iterator[ImportedItem]) -> list[ImportedItem]:
    return list(islice(items, ITEMS_PER_BATCH))
