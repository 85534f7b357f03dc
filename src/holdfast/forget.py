"""Choose what must go, and make it go.

Forgetting a memory takes all its versions and the messages it rests on. Forgetting messages takes the memories that
rest on nothing else. When the newest version of a key goes and an older one stays, the older one is current again.
"""

from __future__ import annotations

from datetime import datetime

from .errors import NotFound
from .ports import Store
from .types import Change, Forgotten, Message, Test


async def forget(store: Store, id: str) -> Forgotten:
    found = await store.get([id])
    if not found:
        raise NotFound(f"There is no memory or message {id!r} in this profile.", field="id")
    if isinstance(found[0], Message):
        return await _gone(store, [id])
    versions = await store.history(id)
    messages = {source for version in versions for source in version.sources}
    return await _gone(store, [*(version.id for version in versions), *sorted(messages)])


async def forget_session(store: Store, session_id: str) -> Forgotten:
    """Everything of a session: its messages, and the memories written in it that no other session supports."""
    messages = {message.id for message in await store.said(session_id, limit=2**31)}
    of_session = Test("session_id", "eq", session_id)
    written = await store.scan(of_session, now=None, limit=2**31, superseded=True)
    own = [memory.id for memory in written.items if set(memory.sources) <= messages]
    return await _gone(store, [*own, *sorted(messages)])


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


async def _gone(store: Store, ids: list[str]) -> Forgotten:
    return (await store.apply(Change(forget=tuple(ids)))).gone
