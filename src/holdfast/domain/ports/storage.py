"""The storage ports. Any class that implements one can be plugged in; service/wiring.py chooses.

Storage is two ports. A `Vault` opens, lists and deletes profiles. A `Store` is *one* profile's memory: no method
takes a profile, a connection or a transaction, so code that has a Store can reach that profile and no other.
`holdfast.testing.conformance` is the contract of both as a test suite.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from holdfast.domain.credentials import Credential, Grant
    from holdfast.domain.ports.documents import DocumentStore
    from holdfast.domain.ports.graph import GraphStore
    from holdfast.domain.ports.search import Probe, Proposals
    from holdfast.domain.records import AdminAction, Edit, Event, Job, Once, Trace, TracePage
    from holdfast.domain.results import MessagePage, Namespace, Page, ProfileInfo, Stats
    from holdfast.domain.types import Applied, Change, Facet, Item, Json, Memory, Message, Order, Part, Vector, Where
    from holdfast.domain.usage import Spent, Usage

PAST_LAST_POSITION = 2**31
"""Higher than the position of any message in a session: `messages` before it, at most one, is a session's last one."""


@runtime_checkable
class Store(Protocol):
    """One profile's memory."""

    async def apply(self, change: Change) -> Applied:
        """Apply the change atomically; it is on disk when this returns. Applying it again does nothing.

        Raises Conflict when a memory to supersede is no longer current, when a new memory's key (or without a key, its
        fingerprint) or its id has a current version that the change does not supersede, or when another write took its
        version number, or when marks would make a retired memory current whose place another one has: the caller reads
        again and decides again. A new memory is left out when all of its sources have
        been forgotten, or when one with its draft id is there.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """Return the items with these references, in this order. Unknown ones are left out, superseded ones included.

        `X@3` is version 3 of memory X. `X` is its newest version; the id that any version was drafted with stands for
        that memory too.
        """
        ...

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
        order: Order = "written",
        count: Sequence[Facet] | None = None,
    ) -> Page:
        """List memories, newest first: only current ones unless `superseded`, without those expired at `now` (None
        includes expired ones).

        With `as_of`, list the memories written by then; one counts as current unless its successor was written by then
        too, or it is retired now. The cursor is opaque and stays valid across writes; it belongs to its order. With
        `count`, the page has the number of memories on all pages, also by each value of these facets.
        """
        ...

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        """List messages of a session (or of all) in the order they were said, by page; with `before`, the last ones
        before that position, on one page. The cursor is opaque and stays valid across writes."""
        ...

    async def history(self, id: str) -> list[Memory]:
        """List all versions of a memory and of the memories linked with it by supersession, newest first.

        Any reference will do, as in `get`; empty when it is unknown.
        """
        ...

    async def propose(self, probe: Probe) -> Proposals:
        """Return what every channel finds, with the raw numbers. The ranker orders them, not the store."""
        ...

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        """List every memory, current or superseded, that has one of these messages among its sources."""
        ...

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        """Lease messages that wait for digestion, oldest first, all of one session. After the lease they wait again.

        No further message is leased once those before it have about `max_bytes` of content.
        """
        ...

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        """List parts that should have a vector of this model and have none, oldest first, without their words.

        Their `item` is a reference to one version.
        """
        ...

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        """Return each part of these items as indexed, without its words, and its vector where it has one; `item` is a
        reference to one version."""
        ...

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        """Count the profile's contents, which takes longer the more there is.

        With `only_waiting`, `pending` and `unembedded` are above 0 if something waits, no other number counts, and the
        answer takes no longer in a large profile.
        """
        ...

    @property
    def journal(self) -> Journal: ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def graph(self) -> GraphStore: ...


@runtime_checkable
class Journal(Protocol):
    """One profile's journal, in the profile's own store: events, jobs, traces, model usage, settings and edits.

    `Store.apply` writes events, jobs and idempotency records in the transaction of their change. In the transaction of
    a change that forgets, every mention of what it forgets is erased: see domain/erasure.py. A trace that mentions it
    is stripped, the traces of a session of which nothing is left are deleted.
    """

    async def events(self, after: int, limit: int) -> list[Event]:
        """List the events after number `after`, oldest first."""
        ...

    async def reach(self) -> tuple[int, int]:
        """Return the numbers of the oldest stored event and of the newest; (0, 0) when there is none."""
        ...

    async def once(self, key: str) -> Once | None:
        """Return the result of the write with this idempotency key, if there was one."""
        ...

    async def job(self, id: str) -> Job | None: ...

    async def jobs(self, limit: int, cursor: str | None = None) -> tuple[list[Job], str | None]:
        """List jobs, newest first, and return the cursor of the next page; None on the last one."""
        ...

    async def note(self, traces: Sequence[Trace], began: Mapping[str, datetime] = MappingProxyType({})) -> None:
        """Write traces. `began` says by trace id when operations began, by the clock of `timestamps.now`; the trace of
        one that ran while something was forgotten is stripped.
        """
        ...

    async def trace(self, id: str) -> Trace | None: ...

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        """List traces, newest first, of one session and turn when given."""
        ...

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        """Add model calls to this month's usage; `usage` is the total of all `calls`."""
        ...

    async def spent(self, month: str | None) -> list[Spent]:
        """List the model usage of this month, or of all months, by month, model and task."""
        ...

    async def settings(self) -> dict[str, Json]:
        """Return the profile's own settings by name."""
        ...

    async def put_setting(self, name: str, value: Json) -> None:
        """Store a setting and replace its old value; None removes it."""
        ...

    async def edits(self, limit: int) -> list[Edit]:
        """List the edits that can be undone, newest first. Forgetting an item removes its id and marks the edit."""
        ...

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        """Delete traces, jobs and idempotency records older than `before`, and the oldest traces and events beyond
        these counts. The newest MAX_EDITS edits stay. Events older than `before` that tell what was forgotten go too,
        with all events before them, so that listeners who miss them are told to read everything again.
        """
        ...


@runtime_checkable
class Credentials(Protocol):
    """A vault's credentials and their grants. Only hashes of tokens are stored."""

    async def add(self, credential: Credential, digest: bytes) -> None:
        """Store a credential with its token's hash; one with the same id is replaced."""
        ...

    async def grant(self, id: str, grant: Grant) -> None:
        """Set a credential's rights in one more profile. They replace its rights there; an empty set removes them."""
        ...

    async def find(self, id: str) -> tuple[Credential, bytes] | None: ...

    async def list_all(self) -> list[Credential]:
        """List all credentials, newest first, revoked ones included."""
        ...

    async def end(self, id: str, at: datetime) -> bool:
        """Revoke a credential from `at` on; False when it is unknown or was already revoked by then."""
        ...

    async def used(self, id: str, at: datetime) -> None: ...

    async def note(self, act: AdminAction) -> None:
        """Store an administrative action; actions are never deleted."""
        ...

    async def acts(self, limit: int) -> list[AdminAction]:
        """List administrative actions, newest first."""
        ...


@runtime_checkable
class RateLimiter(Protocol):
    """Limits the request rate of credentials across all processes that share a vault."""

    async def allows(self, credential: str, amount: int, seconds: int) -> bool:
        """Count one request in the current window of `seconds`; False when the window already had `amount` requests."""
        ...


@runtime_checkable
class Vault(Protocol):
    """All profiles. A namespace is created explicitly; a profile is created by its first write."""

    @property
    def shared(self) -> bool:
        """Whether other processes may use the same profiles."""
        ...

    @property
    def rates(self) -> RateLimiter | None:
        """None when no other process shares the vault: the caller then counts requests itself."""
        ...

    @property
    def credentials(self) -> Credentials: ...

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        """Register callbacks. `changed` gets namespace and profile after every change, in any thread; `catalogue` is
        called when another process changed credentials, namespaces or profiles."""
        ...

    async def namespaces(self) -> list[Namespace]: ...

    async def create_namespace(self, name: str) -> Namespace:
        """Raises AlreadyExists when the name is taken."""
        ...

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace with every profile in it. Raises NotFound."""
        ...

    async def settings(self, namespace: str) -> dict[str, Json]:
        """Return a namespace's settings; they apply to its profiles that have no setting of their own."""
        ...

    async def put_setting(self, namespace: str, name: str, value: Json) -> None:
        """Store a setting and replace its old value; None removes it. Raises NotFound for an unknown namespace."""
        ...

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        """List profiles by name. Raises NotFound for an unknown namespace."""
        ...

    async def open(self, namespace: str, profile: str, *, create: bool) -> Store:
        """Open the profile's store. Raises NotFound for an unknown namespace, or an unknown profile unless `create`."""
        ...

    async def delete(self, namespace: str, profile: str) -> bool:
        """Delete a profile and destroy its key; False when there was none."""
        ...

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        """List profiles that may have undigested messages, or parts without a vector of this model.

        Called at the start and periodically. When several processes share a vault, each profile is assigned to one of
        them; the profiles of a process that died are assigned to another.
        """
        ...

    async def lent(self, namespace: str, profile: str) -> bool:
        """Return whether another process may be digesting messages of this profile now."""
        ...

    async def expect_work(self, namespace: str, profile: str) -> None:
        """Record that this profile will have work waiting; called before the write that creates the work."""
        ...

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        """Record that this profile has no work waiting under this model."""
        ...

    async def close(self) -> None: ...


TopicKeyLoader = Callable[[], Awaitable[Sequence[str]]]
"""Loads the topic keys that a profile has in use."""


async def load_no_topic_keys() -> Sequence[str]:
    return ()
