"""Forgetting in one profile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Unpack

from holdfast.domain import filters, identifiers, limits
from holdfast.domain.arguments import Narrowed, validate_id
from holdfast.domain.errors import InvalidInput, StorageFull
from holdfast.domain.idempotency import idempotent_request
from holdfast.domain.ports.profile.forget import ProfileForget
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Forgotten
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.lifecycle.forget import ForgetOptions


class ForgetVerbs(ProfileVerbs, ProfileForget):
    """Deletes memories, messages, sessions, people and documents for good."""

    @traced
    async def forget(
        self,
        id: str,
        *,
        dry_run: bool = False,
        etag: str | None = None,
        sources: bool = False,
        idempotency_key: str | None = None,
    ) -> Forgotten:
        from holdfast.lifecycle import forget
        from holdfast.lifecycle.forget import ForgetOptions

        asked = ("forget", id, dry_run, *(["sources"] if sources else []))
        how = ForgetOptions(
            dry_run, idempotent_request(idempotency_key, *asked), etag, (), sources, self._expecting_parts
        )
        async with self._context.finding(id):
            return await self._forgotten(how, lambda store: forget.forget(store, validate_id(id), how))

    @traced
    async def forget_session(
        self, session_id: str, *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> Forgotten:
        from holdfast.documents import library
        from holdfast.lifecycle.forget import ForgetOptions

        session = identifiers.validate_session(session_id)
        how = ForgetOptions(dry_run, idempotent_request(idempotency_key, "session", session, dry_run))
        return await self._forgotten(how, lambda store: library.forget_session_or_document(store, session, how))

    @traced
    async def forget_where(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, **narrowed: Unpack[Narrowed]
    ) -> Forgotten:
        from holdfast.lifecycle import forget
        from holdfast.lifecycle.forget import ForgetOptions

        where = filters.parse_filter(**narrowed)
        if where is None or not filters.is_restrictive(where):
            raise InvalidInput(
                "No memories are selected. Give at least one condition.",
                fix="To forget all of them, delete the profile.",
            )
        once = idempotent_request(idempotency_key, "where", narrowed, dry_run)
        how = ForgetOptions(dry_run, once, expecting_work=self._expecting_parts)
        return await self._forgotten(how, lambda store: forget.forget_where(store, where, how))

    @traced
    async def forget_person(self, name: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        from holdfast.documents import library
        from holdfast.lifecycle.forget import ForgetOptions

        who = identifiers.validate_text(name, "name", limit=limits.MAX_PROFILE_BYTES).strip()
        how = ForgetOptions(dry_run, idempotent_request(idempotency_key, "person", who, dry_run))
        return await self._forgotten(how, lambda store: library.forget_person(store, who, how))

    @traced
    async def forget_document(self, id: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        from holdfast.documents import library
        from holdfast.lifecycle.forget import ForgetOptions

        how = ForgetOptions(dry_run, idempotent_request(idempotency_key, "document", id, dry_run))
        return await self._forgotten(how, lambda store: library.forget_document(store, validate_id(id), how))

    @asynccontextmanager
    async def _expecting_parts(self) -> AsyncIterator[None]:
        """Tell the worker of parts to embed. A full disk does not keep anybody from forgetting."""
        async with AsyncExitStack() as stack:
            with suppress(StorageFull):
                await stack.enter_async_context(self._context.expecting_work())
            yield

    async def _forgotten(self, how: ForgetOptions, act: Callable[[Store], Awaitable[Forgotten]]) -> Forgotten:
        from holdfast.lifecycle.forget import load_first_result

        self._context.check_dry_run(how.dry_run)
        store = await self._context.store()
        done = await load_first_result(store, how)
        if done is None:
            async with self._context.erasing(how.dry_run):
                done = await act(store)
        return done
