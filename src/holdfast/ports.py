"""The promises. Whoever keeps one of these can be plugged in; wiring.py chooses.

Storage is two ports. A `Vault` opens, lists and deletes profiles. A `Store` is *one* profile's memory: no method
takes a profile, a connection or a transaction, so whoever holds a Store can reach that profile and no other.
`holdfast.conformance` is the contract of both as a test suite.

Models are asked for tasks, not for text. Each may be slow, down or wrong: callers treat every answer as a proposal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from .credentials import Credential, Grant
from .graphs import Graphs
from .records import Act, Edit, Event, Job, Once, Trace, TracePage
from .results import Namespace, Page, ProfileInfo, Stats
from .shelves import Shelf
from .spending import Spent, Usage
from .types import (
    Applied,
    Brief,
    Change,
    Draft,
    Floats,
    Item,
    Json,
    Memory,
    Message,
    Part,
    Probe,
    Proposals,
    Reading,
    Turn,
    Vector,
    Verdict,
    Where,
    Wording,
)


@runtime_checkable
class Store(Protocol):
    """One profile's memory."""

    async def apply(self, change: Change) -> Applied:
        """Make the change, whole or not at all; it is on disk when this returns. Applying it again does nothing.

        Raises Conflict when a memory to supersede is no longer current, or when a new memory's key (or without a key,
        its fingerprint) has a current memory that the change does not supersede: read again, decide again. A new memory
        all of whose sources have been forgotten is left out.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """The items with these ids, in the order asked; unknown ids are left out, superseded memories are not."""
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
    ) -> Page:
        """Memories, newest first: current ones unless `superseded`, without those expired by `now` (None shows them).

        With `as_of`, what was written by then, and current unless its successor was written by then too. The cursor is
        opaque and survives writes in between.
        """
        ...

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        """Messages of a session (or of all) in the order they were said; with `before`, the last ones before it."""
        ...

    async def history(self, id: str) -> list[Memory]:
        """All versions of a memory, newest first, whichever version's id is given; empty when unknown."""
        ...

    async def propose(self, probe: Probe) -> Proposals:
        """What every channel finds, with the raw numbers; ordering them is not the store's business."""
        ...

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        """Every memory, current or superseded, that has one of these messages among its sources."""
        ...

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        """Lend messages that wait for digestion, oldest first, all of one session; they wait again after the lease."""
        ...

    async def bare(self, model: str, limit: int) -> list[Part]:
        """Parts that should have a vector under this model and have none, oldest first, without their words."""
        ...

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        """What the index holds of these items: each part, without its words, and its vector where it has one."""
        ...

    async def stats(self, model: str) -> Stats: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def shelf(self) -> Shelf: ...

    @property
    def graph(self) -> Graphs: ...


@runtime_checkable
class Journal(Protocol):
    """What happened in one profile, in the profile's own store: its change sequence, its jobs, its traces.

    Events, jobs and first answers are written by `Store.apply` with the change they belong to. Forgetting an item takes
    its id out of every trace, and forgetting messages the traces of a session that has none left.
    """

    async def events(self, after: int, limit: int) -> list[Event]:
        """What followed event `after`, oldest first."""
        ...

    async def reach(self) -> tuple[int, int]:
        """The numbers of the oldest event kept and of the newest; (0, 0) while there is none."""
        ...

    async def once(self, key: str) -> Once | None:
        """What the write with this key did, if there was one."""
        ...

    async def job(self, id: str) -> Job | None: ...

    async def jobs(self, limit: int) -> list[Job]:
        """Newest first."""
        ...

    async def note(self, traces: Sequence[Trace]) -> None: ...

    async def trace(self, id: str) -> Trace | None: ...

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        """Newest first, of one session and turn when given."""
        ...

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        """Count one more call of a model in this month, or several that used so much together."""
        ...

    async def spent(self, month: str | None) -> list[Spent]:
        """What models cost in this month, or in all, by month, model and task."""
        ...

    async def settings(self) -> dict[str, Json]:
        """What the profile's owner has laid down for it, by name."""
        ...

    async def lay_down(self, name: str, value: Json) -> None:
        """Keep a setting in place of the one before; None removes it."""
        ...

    async def edits(self, limit: int) -> list[Edit]:
        """What can be taken back, newest first. Forgetting takes the ids out of it and marks it as gone."""
        ...

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        """Drop traces, jobs and first answers older than this, and the oldest traces and events beyond so many.

        Of edits the last EDITS stay.
        """
        ...


@runtime_checkable
class Credentials(Protocol):
    """Who may do what in a vault; the tokens themselves are nowhere."""

    async def add(self, credential: Credential, digest: bytes) -> None:
        """Keep it with its token's hash; the same id again takes its place."""
        ...

    async def grant(self, id: str, grant: Grant) -> None:
        """Give it these rights in one more profile, in place of those it has there; without rights, take them away."""
        ...

    async def find(self, id: str) -> tuple[Credential, bytes] | None: ...

    async def listed(self) -> list[Credential]:
        """Newest first, ended ones included."""
        ...

    async def end(self, id: str, at: datetime) -> bool:
        """Revoke it from then on; False when unknown or ended by then already."""
        ...

    async def used(self, id: str, at: datetime) -> None: ...

    async def note(self, act: Act) -> None:
        """Keep an administrative act for good."""
        ...

    async def acts(self, limit: int) -> list[Act]:
        """Newest first."""
        ...


@runtime_checkable
class Rates(Protocol):
    """How often credentials ask, counted over every process that shares a vault."""

    async def allows(self, credential: str, amount: int, seconds: int) -> bool:
        """Count one more in this window of so many seconds; False when it had its amount."""
        ...


@runtime_checkable
class Vault(Protocol):
    """Every profile. Namespaces are created on purpose; a profile appears at its first write."""

    @property
    def shared(self) -> bool:
        """Whether other processes may work on the same profiles."""
        ...

    @property
    def rates(self) -> Rates | None:
        """None when this process is alone and counts for itself."""
        ...

    @property
    def credentials(self) -> Credentials: ...

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        """From now on call `changed` with namespace and profile after every change, in any thread; and `catalogue` when
        another process changed credentials, namespaces or profiles."""
        ...

    async def namespaces(self) -> list[Namespace]: ...

    async def create_namespace(self, name: str) -> Namespace:
        """Raises AlreadyExists when the name is taken."""
        ...

    async def delete_namespace(self, name: str) -> None:
        """Delete it with every profile in it. Raises NotFound."""
        ...

    async def settings(self, namespace: str) -> dict[str, Json]:
        """What is laid down for every profile of a namespace that has nothing of its own."""
        ...

    async def lay_down(self, namespace: str, name: str, value: Json) -> None:
        """Keep a setting in place of the one before; None removes it. Raises NotFound for an unknown namespace."""
        ...

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        """By name. Raises NotFound for an unknown namespace."""
        ...

    async def open(self, namespace: str, profile: str, *, create: bool) -> Store:
        """The profile's store. Raises NotFound for an unknown namespace, or an unknown profile unless `create`."""
        ...

    async def delete(self, namespace: str, profile: str) -> bool:
        """Delete a profile and destroy its key; False when there was none."""
        ...

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        """Profiles that may have undigested messages, or parts without a vector of this model.

        Asked at the start and every so often. Where several processes share a vault, each profile is named to one of
        them, and what a process leaves behind to another.
        """
        ...

    async def lent(self, namespace: str, profile: str) -> bool:
        """Whether another process may be digesting messages of this profile right now."""
        ...

    async def expect_work(self, namespace: str, profile: str) -> None:
        """Note that this profile is about to have work waiting; called before the write that makes it so."""
        ...

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        """Note that this profile has no work waiting under this model."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors of length 1."""

    @property
    def model(self) -> str:
        """provider/name/dimensions: what each stored vector records, and its length is checked against."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        """One vector per text, as something to be found."""
        ...

    async def embed_query(self, text: str) -> Floats:
        """The vector of a question."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reads the best hits beside the question once more; for users who have a cross-encoder. None ships."""

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question; higher is better."""
        ...


Keys = Callable[[], Awaitable[Sequence[str]]]
"""Asks for the topic keys that a profile has in use."""


async def no_keys() -> Sequence[str]:
    return ()


@runtime_checkable
class Extractor(Protocol):
    """Turns what was said into what is known."""

    @property
    def name(self) -> str:
        """name/version: recorded on each memory."""
        ...

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: Keys = no_keys
    ) -> list[Draft]:
        """Drafts resting on `messages` (one session, in order); `before` is what was said just before them.

        Topics that are in use already, for whoever can choose its keys so that they stay the same, are in `keys`.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """Decides what a new statement does to an older one."""

    async def compare(self, pairs: Sequence[tuple[Draft, Memory]]) -> list[Verdict]:
        """Of each pair: whether the draft says the same, replaces the memory, or stands beside it."""
        ...


@runtime_checkable
class Filer(Protocol):
    """Files a statement that somebody wants remembered."""

    async def file(self, statement: str, keys: Keys = no_keys) -> Draft:
        """The statement with its kind, key, summary, keywords and queries."""
        ...


@runtime_checkable
class Summariser(Protocol):
    """Says in a few sentences what a run of turns was about."""

    @property
    def name(self) -> str:
        """name/version: recorded on each summary."""
        ...

    async def summarise(self, turns: Sequence[Turn]) -> str:
        """Empty when there is nothing to say."""
        ...


@runtime_checkable
class Analyst(Protocol):
    """Reads a question for what would help to find its answer."""

    async def analyse(self, question: str) -> Reading: ...


@runtime_checkable
class Synthesiser(Protocol):
    """Writes an answer from what was found, and from nothing else."""

    def answer(self, brief: Brief) -> AsyncIterator[str | Wording]:
        """The answer's words as they come, and the whole last; a Wording without text when nothing supports one."""
        ...
