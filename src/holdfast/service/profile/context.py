"""What the verbs of one profile share: its stores, settings, write lock and traces.

Each family of verbs holds one `ProfileContext` and nothing else, so that the families do not depend on each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext, suppress
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Self

from holdfast.domain import timestamps, usage
from holdfast.domain.arguments import Moment
from holdfast.domain.credentials import RIGHTS
from holdfast.domain.errors import FIND_IDS, AlreadyExists, Closed, Forbidden, NotFound, quoted_value
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Event
from holdfast.domain.results import Hit
from holdfast.domain.tracing import Operation, acting
from holdfast.domain.types import Json, Test
from holdfast.domain.visibility import Visibility
from holdfast.service.quotas import Amounts
from holdfast.service.runtime import Runtime

if TYPE_CHECKING:
    from holdfast.ingest.kinds.versions import RegisteredKind
    from holdfast.lifecycle.retention import RetentionPolicy
    from holdfast.storage.views.past import TimeReference

CATCH_UP_SECONDS = 0.5
"""How many seconds of background work a read waits for, so that it sees recent writes digested. Chosen by hand."""
MAX_IDS_OF_KEY = 3
"""How many memories an error names whose key was given as an id. Chosen by hand: hardly ever is there more than one."""


class ProfileContext:
    """One profile of a running Holdfast, as one agent may see it and with the rights its caller has."""

    def __init__(self, runtime: Runtime, namespace: str, name: str, visibility: Visibility = Visibility()) -> None:
        self.runtime = runtime
        self.namespace = namespace
        self.name = name
        self.visibility = visibility
        self.rights = frozenset(RIGHTS)

    @property
    def who(self) -> tuple[str, str]:
        return self.namespace, self.name

    def restricted(self, visibility: Visibility, rights: frozenset[str] = frozenset(RIGHTS)) -> Self:
        """The same profile, seen through one more rule of visibility and with no more than these rights."""
        if visibility == Visibility() and rights >= self.rights:
            return self
        found = copy(self)
        found.visibility = self.visibility.narrowed(visibility)
        found.rights = self.rights & rights
        return found

    @property
    def may_read(self) -> bool:
        """Whether the caller may be shown more than it wrote itself."""
        return "read" in self.rights

    def check_readable(self) -> None:
        """Refuse a verb that answers with more than its caller gave to a caller that may not read."""
        if not self.may_read:
            raise Forbidden(
                "The response would show data of the profile, and this credential may not read here.",
                fix="Use one that also has the right to read in this namespace and profile.",
            )

    def check_dry_run(self, dry_run: bool) -> None:
        """Refuse a dry run to a caller that may not read: what would happen tells what is there."""
        if dry_run:
            self.check_readable()

    def check_whole(self, what: str) -> None:
        """Refuse a setting of the whole profile to an agent that sees only a part of it."""
        if not self.visibility.whole:
            raise Forbidden(
                f"{what} applies to the whole profile, but this agent sees only a part of it.",
                fix="Use a credential that reads everything in this profile.",
            )

    def now(self) -> datetime:
        return self.runtime.clock()

    def when(self, reference: Moment | None, as_of: Moment | None) -> TimeReference:
        """The time at which a question is asked, and the time whose state answers it (`as_of`)."""
        from holdfast.storage.views.past import TimeReference

        then = None if as_of is None else timestamps.parse_moment(as_of, "as_of")
        asked_at = then or self.now()
        return TimeReference(
            asked_at if reference is None else timestamps.parse_moment(reference, "reference_date"), then
        )

    # Stores

    async def store(self) -> Store:
        """Open the store to change existing data. Raises NotFound for a profile that was never written to."""
        self._check_open()
        store = await self.runtime.vault.open(*self.who, create=False)
        self.runtime.worker.note_use(self.who)
        return self._seen(store)

    async def readable_store(self, exclude_session: str | None = None) -> Store:
        """Open the store for reading, without what belongs to `exclude_session` only. A profile that was never written
        to gets an empty store and is not created."""
        try:
            store = await self.store()
        except NotFound:
            from holdfast.service.wiring import (
                empty_store,  # imported late: wiring imports every backend, and this module must not
            )

            store = self._seen(empty_store())
        if exclude_session is None:
            return store
        from holdfast.storage.views.other_sessions import OtherSessionsStore

        return OtherSessionsStore(store, exclude_session)

    async def writable_store(self) -> Store:
        """Open the store for writing. The first write creates it and its namespace."""
        self._check_open()
        vault = self.runtime.vault
        try:
            store = await vault.open(*self.who, create=True)
        except NotFound:
            with suppress(AlreadyExists):  # another writer created it in the meantime
                await vault.create_namespace(self.namespace)
            store = await vault.open(*self.who, create=True)
        return self._seen(store)

    async def store_at(self, as_of: datetime | None, exclude_session: str | None = None) -> Store:
        """The store as it was at that time, None for now; without what belongs to `exclude_session` only."""
        store = await self.readable_store(exclude_session)
        if as_of is None:
            return store
        from holdfast.storage.views.past import PastStore

        return PastStore(store, as_of)

    @asynccontextmanager
    async def finding(self, id: str) -> AsyncIterator[None]:
        """Around a step that looks an id up: the error about an unknown one says what to give instead."""
        try:
            yield
        except NotFound as unknown:
            if unknown.field != "id" or unknown.fix is not None:
                raise
            raise NotFound(str(unknown), field="id", fix=await self._fix_of_id(id)) from None

    async def _fix_of_id(self, id: str) -> str:
        """What to give in place of an unknown id. A caller that may not read is not told whether it is a key."""
        if self.may_read:
            same_key = Test("key", "eq", id)
            found = await (await self.readable_store()).scan(same_key, now=self.now(), limit=MAX_IDS_OF_KEY)
            if found.items:
                ids = " or ".join(memory.id for memory in found.items)
                return f"{quoted_value(id)} is a key; give the id: {ids}."
        return FIND_IDS

    async def exists(self) -> bool:
        """Whether the profile was ever written to."""
        try:
            await self.store()
        except NotFound:
            return False
        return True

    def _seen(self, store: Store) -> Store:
        if self.visibility == Visibility():
            return store
        from holdfast.storage.views.agent_store import AgentStore

        return AgentStore(store, self.visibility)

    def _check_open(self) -> None:
        if self.runtime.closed:
            raise Closed("This Holdfast was closed.")

    # Settings

    async def settings(self) -> dict[str, Json]:
        """The namespace's settings, overridden by the profile's own."""
        return await self.runtime.settings.of(self.who)

    async def retention_policy(self) -> RetentionPolicy:
        return await self.runtime.settings.retention_policy(self.who)

    def invalidate_settings(self) -> None:
        self.runtime.settings.invalidate(self.who)

    async def kinds_in_use(self) -> dict[str, RegisteredKind]:
        """The schemas that new values must satisfy; empty while an archive is imported."""
        from holdfast.ingest.kinds import versions

        return {} if versions.validation_is_off() else versions.registered_kinds(await self.settings())

    # Writing and background work

    async def check_quota(self, *, messages: int = 0, memories: int = 0, bytes: int = 0) -> None:
        """Raise QuotaExceeded if adding this much would exceed the quota of the profile or its namespace."""
        await self.runtime.quota_guard.check(self.who, Amounts(messages, memories, bytes))

    @asynccontextmanager
    async def write_turn(self) -> AsyncIterator[None]:
        """Hold the profile's write lock: writers decide one at a time what they supersede. Then notify the worker."""
        async with self.runtime.write_lock(self.who), self.expecting_work():
            yield

    @asynccontextmanager
    async def session_turn(self, session_id: str) -> AsyncIterator[None]:
        """Hold the lock of one session's messages: writers align with it one at a time. Then notify the worker."""
        async with self.runtime.write_lock(self.who, session_id), self.expecting_work():
            yield

    def expecting_work(self) -> AbstractAsyncContextManager[None]:
        """Wrap a write that creates background work."""
        return self.runtime.worker.expecting(self.who)

    def notify_document_worker(self) -> None:
        self.runtime.document_worker.notify(self.who)

    async def caught_up(self) -> bool:
        """Wait briefly until recent writes are digested; False when that takes longer."""
        return await self.runtime.worker.caught_up(self.who, CATCH_UP_SECONDS)

    async def digested(self) -> None:
        """Wait until every message of the profile is digested."""
        await self.runtime.worker.settled(self.who, None)

    async def settled(self, timeout: float | None) -> bool:
        """Wait until no document or message waits; False when that takes longer than `timeout` seconds."""
        return await self.runtime.settled(self.who, timeout)

    # Language model

    async def llm(self) -> LlmTasks | None:
        """The language model for answers; None without one, or for a profile that was never written to."""
        llm = self.runtime.llm
        return llm if llm is not None and await self.exists() else None

    def charging(self, store: Store) -> AbstractContextManager[None]:
        """Charge model calls inside the block to this profile's account."""
        return usage.charged_to(None if self.runtime.llm is None else self.runtime.worker.account(store))

    # Traces and events

    def record(self, done: Operation, error: str | None = None) -> None:
        """Add a trace of a finished operation."""
        agent = self.visibility.agent
        with nullcontext() if agent is None else acting(agent=agent):
            self.runtime.recorder.add(self.who, done, error)

    async def flush_traces(self) -> None:
        await self.runtime.recorder.flush(self.who)

    @asynccontextmanager
    async def erasing(self, dry_run: bool = False) -> AsyncIterator[None]:
        """Around a step that forgets: it finds the traces written that are gathered before, and takes its words out of
        those gathered meanwhile."""
        if dry_run:
            yield
            return
        await self.flush_traces()
        try:
            yield
        finally:
            self.runtime.recorder.strip(self.who)

    def follow_events(self, after: int | None, heartbeat: float) -> AsyncIterator[Event | None]:
        return self.runtime.subscriptions.follow(self.who, after, heartbeat)

    def with_origins(self, hits: list[Hit]) -> list[Hit]:
        """Add each hit's origin for a prompt. Here it changes nothing: hits of one profile need no origin."""
        return hits


class ProfileVerbs:
    """A family of verbs of one profile. Methods without a docstring inherit it from the port they implement."""

    def __init_subclass__(cls) -> None:
        for name, method in vars(cls).items():
            if callable(method) and not name.startswith("_") and method.__doc__ is None:
                method.__doc__ = next(
                    (getattr(base, name).__doc__ for base in cls.__mro__[1:] if hasattr(base, name)), None
                )

    def __init__(self, context: ProfileContext) -> None:
        self._context = context
