"""Choose what must go, and make it go.

Forgetting a memory takes all its versions and the messages it rests on. Forgetting messages takes the memories that
rest on nothing else. When the newest version of a key goes and an older one stays, the older one is current again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime

from . import names
from .errors import Conflict, NotFound, Stale
from .inventory import every_message
from .moments import now
from .once import first
from .ports import Store
from .records import Edit, Once
from .rollup import covering
from .trail import note
from .types import Change, Forgotten, Memory, Message, Test, Where


@dataclass(frozen=True, slots=True)
class How:
    """Whether to only tell what would go, and a key that lets the request be repeated."""

    rehearsed: bool = False
    once: Once | None = None
    etag: str | None = None
    """Only if the memory is still as it was read."""
    documents: tuple[str, ...] = ()
    """Documents that go with it."""


async def repeated(store: Store, how: How) -> Forgotten | None:
    """What the first request with this key took."""
    done = await first(store, how.once)
    return None if done is None else Forgotten(done.memories, done.messages)


async def forget(store: Store, id: str, how: How) -> Forgotten:
    found = await store.get([id])
    if not found:
        raise NotFound(f"There is no memory or message {id!r} in this profile.", field="id")
    if isinstance(found[0], Memory) and not found[0].seen_as(how.etag):
        raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
    if isinstance(found[0], Message):
        return await gone(store, [id], how)
    return await gone(store, await _whole(store, id), how)


async def forget_session(store: Store, session_id: str, how: How) -> Forgotten:
    """Everything of a session: its messages, and the memories written in it that no other session supports."""
    messages = {message.id for message in await store.said(session_id, limit=2**31)}
    of_session = Test("session_id", "eq", session_id)
    written = await store.scan(of_session, now=None, limit=2**31, superseded=True)
    own = [memory.id for memory in written.items if set(memory.sources) <= messages]
    return await gone(store, [*own, *sorted(messages)], how, asked_in=(session_id,))


async def forget_where(store: Store, where: Where, how: How) -> Forgotten:
    """Every memory, current or superseded, of which this holds; each as `forget` would."""
    found = await store.scan(where, now=None, limit=2**31, superseded=True)
    ids = [each for memory in found.items for each in await _whole(store, memory.id)]
    return await gone(store, list(dict.fromkeys(ids)), how)


async def forget_person(store: Store, name: str, how: How) -> Forgotten:
    """What somebody said, and whatever names them: messages, and memories with all their versions.

    Names are compared word by word, in any case; whoever shares the name goes too, so look at a dry run first.
    """
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
    ids: dict[str, None] = {}
    async for message in every_message(store):
        if (message.speaker or "").casefold() == name.casefold() or named.search(message.content):
            ids[message.id] = None
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=500, cursor=cursor, superseded=True)
        for memory in page:
            if named.search(f"{memory.content} {memory.summary} {memory.key or ''} {json.dumps(memory.value)}"):
                ids |= dict.fromkeys([version.id for version in await store.history(memory.id)])
        cursor = page.cursor
        if cursor is None:
            return await gone(store, list(ids), how)


async def _whole(store: Store, id: str) -> list[str]:
    """A memory's versions and the messages they rest on."""
    versions = await store.history(id)
    messages = {source for version in versions for source in version.sources}
    return [*(version.id for version in versions), *sorted(messages)]


async def sweep(store: Store, *, now: datetime, limit: int = 500) -> int:
    """Forget memories that have expired, with what they had superseded; how many. Messages they rest on stay."""
    expired = await store.scan(Test("expires_at", "lte", now), now=None, limit=limit, superseded=True)
    going: dict[str, None] = {}
    for memory in expired.items:
        older = [version.id for version in await store.history(memory.id) if version.version <= memory.version]
        going |= dict.fromkeys([memory.id, *older])
    if going:
        await store.apply(Change(forget=tuple(going)))
    return len(going)


async def gone(store: Store, ids: list[str], how: How, asked_in: tuple[str, ...] = ()) -> Forgotten:
    ids = list(dict.fromkeys([*ids, *await covering(store, ids, ids)]))
    change = Change(
        forget=tuple(ids), asked_in=asked_in, once=how.once, rehearsed=how.rehearsed, documents=how.documents
    )
    try:
        would = (await store.apply(replace(change, rehearsed=True, once=None))).gone
        if would.memories or would.messages:  # nothing of it can be taken back, and whoever tries is told
            change = replace(change, edit=Edit(names.memory_id(now()), now(), "forget"))
        indexed = await store.indexed([*would.memories, *would.messages])
        done = (await store.apply(change)).gone
    except Conflict:  # the same request came twice at once, and the other was first
        found = await repeated(store, how)
        if found is None:
            raise
        return found
    places = {
        "message": len(done.messages), "memory": len(done.memories), "part": len(indexed),
        "vector": sum(vector is not None for _, vector in indexed), "session": len(asked_in),
    }  # fmt: skip
    note(rehearsed=how.rehearsed, memories=len(done.memories), messages=len(done.messages))
    return replace(done, places={name: count for name, count in places.items() if count})
