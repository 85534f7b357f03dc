"""The same Holdfast for callers without an event loop: one background loop, the same methods, no second logic.

Each method here is made from its asynchronous one: same name, same parameters, same documentation, same types.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # its exit hook must be registered before ours, so that ours runs first
import functools
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from .access import Access
from .across import AsyncAcross, Places
from .agent_memory import AsyncAgentMemory
from .errors import Closed
from .notes import AsyncNotes
from .profile import LocalProfile
from .records import Event
from .reported import HEARTBEAT
from .results import Answer, Origin
from .service import AsyncHoldfast
from .sights import Reads

if TYPE_CHECKING:
    from .remote import RemoteHoldfast

_CLOSED = "This Holdfast was closed."
P = ParamSpec("P")
T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self.thread = threading.Thread(target=self._loop.run_forever, name="holdfast", daemon=True)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed() or os.getpid() != self._pid:
            work.close()
            forked = os.getpid() != self._pid
            raise Closed("A Holdfast does not survive a fork; open one in this process." if forked else _CLOSED)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Closed(_CLOSED) from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel what still runs, so that nobody waits for ever, then end the thread."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self.thread.join()
            self._loop.close()


async def _cancelled() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Front, P], T]:
    """The method, run on the front's loop."""

    def call(self: _Front, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[P, Coroutine[Any, Any, T]] = getattr(self._inner, method.__name__)
        return self._loop.run(bound(*args, **kwargs))

    functools.update_wrapper(call, method)
    return call


class _Ended(Exception):
    """A stream has no more."""


async def _next(stream: AsyncIterator[T]) -> T:
    try:
        return await anext(stream)
    except StopAsyncIteration:
        raise _Ended from None


async def _closed(stream: Any) -> None:
    with suppress(RuntimeError):  # it is being cancelled already
        await stream.aclose()


class _Front:
    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop

    def _pieces(self, stream: AsyncIterator[T]) -> Iterator[T]:
        try:
            while True:
                yield self._loop.run(_next(stream))
        except _Ended:
            return
        finally:
            with suppress(Closed):
                self._loop.run(_closed(stream))


class Profile(_Front):
    """One profile's memory."""

    def __init__(self, inner: Any, loop: Loop, holdfast: Holdfast) -> None:
        super().__init__(inner, loop)
        self._holdfast = holdfast  # a profile keeps its Holdfast open

    ingest = blocking(LocalProfile.ingest)
    remember = blocking(LocalProfile.remember)
    revise = blocking(LocalProfile.revise)
    search = blocking(LocalProfile.search)
    recall = blocking(LocalProfile.recall)
    context = blocking(LocalProfile.context)
    list = blocking(LocalProfile.list)
    get = blocking(LocalProfile.get)
    history = blocking(LocalProfile.history)
    messages = blocking(LocalProfile.messages)
    sessions = blocking(LocalProfile.sessions)
    forget = blocking(LocalProfile.forget)
    forget_session = blocking(LocalProfile.forget_session)
    forget_where = blocking(LocalProfile.forget_where)
    forget_person = blocking(LocalProfile.forget_person)
    summary = blocking(LocalProfile.summary)
    stats = blocking(LocalProfile.stats)
    settle = blocking(LocalProfile.settle)
    job = blocking(LocalProfile.job)
    jobs = blocking(LocalProfile.jobs)
    traces = blocking(LocalProfile.traces)
    trace = blocking(LocalProfile.trace)

    usage = blocking(LocalProfile.usage)
    redigest = blocking(LocalProfile.redigest)
    retention = blocking(LocalProfile.retention)
    set_retention = blocking(LocalProfile.set_retention)
    apply_retention = blocking(LocalProfile.apply_retention)
    set_summaries = blocking(LocalProfile.set_summaries)
    pin = blocking(LocalProfile.pin)
    unpin = blocking(LocalProfile.unpin)
    export_to = blocking(LocalProfile.export_to)
    import_from = blocking(LocalProfile.import_from)
    register_kind = blocking(LocalProfile.register_kind)
    kinds = blocking(LocalProfile.kinds)
    kind = blocking(LocalProfile.kind)
    drop_kind = blocking(LocalProfile.drop_kind)
    migrate_kind = blocking(LocalProfile.migrate_kind)
    rollback_kind = blocking(LocalProfile.rollback_kind)
    graph = blocking(LocalProfile.graph)
    path = blocking(LocalProfile.path)
    entities = blocking(LocalProfile.entities)
    about = blocking(LocalProfile.about)
    merge_entities = blocking(LocalProfile.merge_entities)
    split_entity = blocking(LocalProfile.split_entity)
    entity_changes = blocking(LocalProfile.entity_changes)
    undo_entity_change = blocking(LocalProfile.undo_entity_change)
    merge = blocking(LocalProfile.merge)
    split = blocking(LocalProfile.split)
    mark = blocking(LocalProfile.mark)
    revise_where = blocking(LocalProfile.revise_where)
    review = blocking(LocalProfile.review)
    resolve = blocking(LocalProfile.resolve)
    edits = blocking(LocalProfile.edits)
    undo = blocking(LocalProfile.undo)
    audit = blocking(LocalProfile.audit)
    add = blocking(LocalProfile.add)
    documents = blocking(LocalProfile.documents)
    document = blocking(LocalProfile.document)
    retry_document = blocking(LocalProfile.retry_document)
    passages = blocking(LocalProfile.passages)
    forget_document = blocking(LocalProfile.forget_document)
    original = blocking(LocalProfile.original)

    @functools.wraps(LocalProfile.recall_stream)
    def recall_stream(self, query: str, **how: Any) -> Iterator[str | Answer]:
        return self._pieces(self._inner.recall_stream(query, **how))

    def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT) -> Iterator[Event | None]:
        return self._pieces(self._inner.events(after=after, heartbeat=heartbeat))

    events.__doc__ = LocalProfile.events.__doc__

    def exported(self, *, vectors: bool = False) -> Iterator[bytes]:
        return self._pieces(self._inner.exported(vectors=vectors))

    exported.__doc__ = LocalProfile.exported.__doc__

    @functools.wraps(LocalProfile.as_agent)
    def as_agent(self, agent: str, *, reads: Reads = "all") -> Profile:
        return Profile(self._inner.as_agent(agent, reads=reads), self._loop, self._holdfast)

    @property
    def namespace(self) -> str:
        return str(self._inner.namespace)

    @property
    def name(self) -> str:
        return str(self._inner.name)


class Across(_Front):
    """Several profiles, to be asked together."""

    def __init__(self, inner: Any, loop: Loop, holdfast: Holdfast) -> None:
        super().__init__(inner, loop)
        self._holdfast = holdfast

    search = blocking(AsyncAcross.search)
    recall = blocking(AsyncAcross.recall)
    context = blocking(AsyncAcross.context)

    @functools.wraps(AsyncAcross.recall_stream)
    def recall_stream(self, query: str, **how: Any) -> Iterator[str | Answer]:
        return self._pieces(self._inner.recall_stream(query, **how))

    @property
    def profiles(self) -> tuple[Origin, ...]:
        return tuple(self._inner.profiles)


class AccessFront(_Front):
    """Who may do what: credentials, their rights and grants, and who gave them."""

    issue = blocking(Access.issue)
    rotate = blocking(Access.rotate)
    revoke = blocking(Access.revoke)
    grant = blocking(Access.grant)
    withdraw = blocking(Access.withdraw)
    listed = blocking(Access.listed)
    reaching = blocking(Access.reaching)
    acts = blocking(Access.acts)
    acts_on = blocking(Access.acts_on)


class Holdfast(_Front):
    """Memory for many profiles. Open one per process with `Holdfast.open`; close it, or use `with`."""

    def __init__(self, inner: AsyncHoldfast | RemoteHoldfast, loop: Loop) -> None:
        super().__init__(inner, loop)
        self._finalizer = weakref.finalize(self, _shut, inner, loop)
        self._finalizer.atexit = False  # too late: by then the pools take no work; see _close_all
        _open.add(self)

    @classmethod
    def open(cls, path: str | Path | None = None, **settings: Any) -> Self:
        """Open a data folder, by default the user's; settings as in config.Settings."""
        loop = Loop()
        try:
            return cls(loop.run(AsyncHoldfast.open(path, **settings)), loop)
        except BaseException:
            loop.stop()
            raise

    @classmethod
    def connect(cls, url: str, token: str, *, timeout: float = 60.0) -> Self:
        """A Holdfast that somebody serves at this address; everything works as if it were here."""
        from .remote import RemoteHoldfast  # late: nobody else needs an HTTP client

        loop = Loop()
        return cls(loop.run(_made(lambda: RemoteHoldfast(url, token, timeout=timeout))), loop)

    def profile(self, namespace: str, profile: str) -> Profile:
        """One profile's memory. It appears, with its namespace, at its first write; before, there is nothing in it."""
        return Profile(self._inner.profile(namespace, profile), self._loop, self)

    def across(self, namespace: str, profiles: Places) -> Across:
        """Several profiles to be asked at once, by name, or as pairs of namespace and name."""
        return Across(self._inner.across(namespace, profiles), self._loop, self)

    @property
    def access(self) -> AccessFront:
        """Who may do what."""
        return AccessFront(self._inner.access, self._loop)

    namespaces = blocking(AsyncHoldfast.namespaces)
    namespace = blocking(AsyncHoldfast.namespace)
    create_namespace = blocking(AsyncHoldfast.create_namespace)
    kind_of = blocking(AsyncHoldfast.kind_of)
    set_namespace_retention = blocking(AsyncHoldfast.set_namespace_retention)
    delete_namespace = blocking(AsyncHoldfast.delete_namespace)
    profiles = blocking(AsyncHoldfast.profiles)
    delete_profile = blocking(AsyncHoldfast.delete_profile)

    def close(self) -> None:
        """Finish the batch in hand and close; what still waits is durable and goes on at the next open."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class AgentMemory(_Front):
    """A key-value and vector memory of one agent about one entity, in a Holdfast or in the user's own folder."""

    def __init__(self, *, agent: str, entity: str, memory: Holdfast | None = None) -> None:
        self._memory = Holdfast.open() if memory is None else memory
        self._own = memory is None
        profile = self._memory.profile(agent, entity)
        super().__init__(AsyncAgentMemory(profile._inner), profile._loop)

    write = blocking(AsyncAgentMemory.write)
    get = blocking(AsyncAgentMemory.get)
    search = blocking(AsyncAgentMemory.search)
    list = blocking(AsyncAgentMemory.list)
    delete = blocking(AsyncAgentMemory.delete)

    def close(self) -> None:
        """Close the folder, if this memory opened it."""
        if self._own:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class Notes(_Front):
    """The notes of one profile on what lies under one root."""

    def __init__(self, profile: Profile, root: str = "/workspace") -> None:
        super().__init__(AsyncNotes(profile._inner, root), profile._loop)
        self._profile = profile

    write = blocking(AsyncNotes.write)
    read = blocking(AsyncNotes.read)
    list = blocking(AsyncNotes.list)
    search = blocking(AsyncNotes.search)
    entering = blocking(AsyncNotes.entering)
    history = blocking(AsyncNotes.history)
    move = blocking(AsyncNotes.move)
    remove = blocking(AsyncNotes.remove)

    @property
    def root(self) -> str:
        return str(self._inner.root)


async def _made(make: Callable[[], T]) -> T:
    """Made on the loop that will use it."""
    return make()


def _shut(inner: AsyncHoldfast | RemoteHoldfast, loop: Loop) -> None:
    if threading.current_thread() is loop.thread:  # the garbage collector ran there: it cannot wait for itself
        threading.Thread(target=_shut, args=(inner, loop)).start()
        return
    try:
        loop.run(inner.close())
    finally:
        loop.stop()


def _close_all() -> None:
    """A script that ends without close() still ends cleanly."""
    for holdfast in list(_open):
        holdfast.close()


_open: weakref.WeakSet[Holdfast] = weakref.WeakSet()
# The one hook that runs while thread pools still take work; atexit comes after they have shut down.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
