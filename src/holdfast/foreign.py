"""Bring what another memory exported into a profile: conversations are ingested, statements remembered.

Sessions and texts are the same at every reading, so a second import finds everything known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from . import moments, names
from .importers import FORMATS, Conversation, Found, Statement, found_in
from .restore import Imported
from .results import Receipt
from .types import Memory

AT_ONCE = 50


class Taking(Protocol):
    """As much of a profile as this needs, here or far away."""

    async def ingest(self, messages: Any, *, session_id: str | None = None) -> Receipt: ...

    async def remember(self, content: str | None = None, **more: Any) -> Memory: ...


async def brought(
    profile: Any, file: Path | BinaryIO, format: str, *, dry_run: bool = False, seen: Callable[[int], None]
) -> Imported:
    """Everything in a file or folder, in this format; `auto` looks at the content."""
    things = await asyncio.to_thread(found_in, file, format)
    counts = {"messages": 0, "memories": 0, "known": 0}
    start, done = moments.now(), 0
    while some := await asyncio.to_thread(_some, things):
        for thing in some:
            if isinstance(thing, Conversation):
                new, known = (len(thing.messages), 0) if dry_run else await _said(profile, thing)
                counts["messages"] += new
            else:
                kept = None if dry_run else await _remembered(profile, thing)
                known = int(kept is not None and kept.created_at < start)
                new = 1 - known
                counts["memories"] += new
            counts["known"] += known
            done += new + known
            seen(done)
    messages = counts["messages"]
    return Imported(messages, counts["memories"], counts["known"], 0 if dry_run else messages, dry_run=dry_run)


async def _said(profile: Taking, thing: Conversation) -> tuple[int, int]:
    new = 0
    for n in range(0, len(thing.messages), names.MESSAGES):
        some = thing.messages[n : n + names.MESSAGES]
        receipt = await profile.ingest(some, session_id=thing.session_id)
        new += sum(message.new for message in receipt.messages)
    return new, len(thing.messages) - new


async def _remembered(profile: Taking, thing: Statement) -> Memory:
    given = {
        "key": thing.key, "value": thing.value, "metadata": thing.metadata, "session_id": thing.session_id,
        "agent": thing.agent, "occurred_at": thing.occurred_at, "expires_at": thing.expires_at,
        "topic": False,  # an export does not tell what came after what
    }  # fmt: skip
    return await profile.remember(thing.content, kind=thing.kind, **given)


def _some(things: Iterator[Found]) -> list[Found]:
    return list(islice(things, AT_ONCE))


__all__ = ["FORMATS", "brought"]
