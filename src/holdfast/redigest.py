"""Digest again what was said, with a better model or a better prompt: what it made of it before goes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .ports import Store
from .types import Change, Message

BATCH = 500
BY_HAND = "user/"


@dataclass(frozen=True, slots=True)
class Redigested:
    """How many messages wait to be digested anew, and how many memories drawn from them went."""

    messages: int
    memories: int


@dataclass(frozen=True, slots=True)
class Which:
    """Of which messages: all, of one session, said since then, or only those that were set aside."""

    session_id: str | None = None
    since: datetime | None = None
    aside: bool = False

    def covers(self, message: Message) -> bool:
        return (self.since is None or message.said_at >= self.since) and (message.aside or not self.aside)


async def redigest(store: Store, which: Which, *, dry_run: bool = False) -> Redigested:
    """Each batch is one change: its messages wait again, and the memories that rest on nothing else are gone.

    What somebody wrote or revised by hand stays.
    """
    said = [message for message in await store.said(which.session_id, limit=2**31) if which.covers(message)]
    chosen = {message.id for message in said}
    messages = memories = 0
    for first in range(0, len(said), BATCH):
        ids = [message.id for message in said[first : first + BATCH]]
        drawn = [
            memory.id
            for memory in await store.resting_on(ids)
            if not memory.extractor.startswith(BY_HAND) and set(memory.sources) <= chosen
        ]
        done = await store.apply(Change(redo=tuple(ids), forget=tuple(drawn), rehearsed=dry_run))
        messages, memories = messages + len(ids), memories + len(done.gone.memories)
    return Redigested(messages, memories)
