"""Forgetting in one profile of this process's data folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Unpack

from . import filters, forget, library, names
from .errors import InvalidInput
from .forget import How, repeated
from .given import Narrowed
from .kept import Kept
from .once import once
from .ports import Store
from .recorder import traced
from .reported import id_of
from .types import Forgotten


class Forgetful(Kept):
    """A profile, as far as something is removed from it for good."""

    @traced
    async def forget(
        self, id: str, *, dry_run: bool = False, etag: str | None = None, idempotency_key: str | None = None
    ) -> Forgotten:
        """Remove a memory (all versions, and the messages it rests on) or a message for good.

        With `etag` only if the memory is still as it was read.
        """
        how = How(dry_run, once(idempotency_key, "forget", id, dry_run), etag)
        return await self._forgotten(how, lambda store: forget.forget(store, id_of(id), how))

    @traced
    async def forget_session(
        self, session_id: str, *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> Forgotten:
        """Remove a session for good, and what was asked in it. Nothing to remove is fine."""
        session = names.session(session_id)
        how = How(dry_run, once(idempotency_key, "session", session, dry_run))
        return await self._forgotten(how, lambda store: library.forget_session_of_any(store, session, how), session)

    @traced
    async def forget_where(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, **narrowed: Unpack[Narrowed]
    ) -> Forgotten:
        """Remove every memory of which all that is given holds, each as `forget` does; with `dry_run` only tell."""
        where = filters.parse(**narrowed)
        if where is None or not filters.says_something(where):
            raise InvalidInput("Say which memories to forget.", fix="To forget all of them, delete the profile.")
        how = How(dry_run, once(idempotency_key, "where", narrowed, dry_run))
        return await self._forgotten(how, lambda store: forget.forget_where(store, where, how))

    @traced
    async def forget_person(self, name: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        """Remove what somebody said and whatever names them, for good; with `dry_run` only tell."""
        who = names.text(name, "name", limit=names.PROFILE_BYTES).strip()
        how = How(dry_run, once(idempotency_key, "person", who, dry_run))
        return await self._forgotten(how, lambda store: library.forget_person(store, who, how))

    @traced
    async def forget_document(self, id: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        """Remove a document for good: its passages, what rests on nothing else, and its original."""
        how = How(dry_run, once(idempotency_key, "document", id, dry_run))
        return await self._forgotten(how, lambda store: library.forget_document(store, id_of(id), how))

    async def _forgotten(
        self, how: How, act: Callable[[Store], Awaitable[Forgotten]], session: str | None = None
    ) -> Forgotten:
        store = await self._store()
        done = await repeated(store, how)
        if done is None:
            done = await act(store)
            if not how.rehearsed:
                self._holdfast._recorder.forget(self._who, done, session)
        return done
