"""The blocking API: one background event loop, and methods derived from the asynchronous ones.

Each method is generated from its asynchronous counterpart, with the same name, parameters, docstring and types. No
logic is duplicated here.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from holdfast.domain.errors import Closed
from holdfast.domain.ports.holdfast import HoldfastPort, Places
from holdfast.domain.ports.profile import AsyncProfile
from holdfast.domain.results import Origin
from holdfast.domain.visibility import Reads
from holdfast.service.across import AsyncAcross
from holdfast.service.credentials import Access
from holdfast.service.event_loop import LoopThread, close_and_stop, close_collected
from holdfast.service.facades.agent_memory import AsyncAgentMemory
from holdfast.service.facades.notes import AsyncNotes
from holdfast.service.holdfast import AsyncHoldfast, direct_call_error

P = ParamSpec("P")
T = TypeVar("T")


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingFront, P], T]:
    """Derive a blocking method that runs the asynchronous one on the background loop."""

    def call(self: BlockingFront, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[P, Coroutine[Any, Any, T]] = getattr(self._inner, method.__name__)
        return self._loop.run(bound(*args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def streaming(
    method: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[BlockingFront, P], Iterator[T]]:
    """Derive a method that iterates over what the asynchronous one yields."""

    def call(self: BlockingFront, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        bound: Callable[P, AsyncIterator[T]] = getattr(self._inner, method.__name__)
        return self._pieces(bound(*args, **kwargs))

    functools.update_wrapper(call, method)
    shown = inspect.signature(method)
    call.__signature__ = shown.replace(return_annotation=shown.return_annotation.removeprefix("Async"))  # type: ignore[attr-defined]
    return call


class _StreamEnded(Exception):
    """The stream has no more pieces."""


async def _next_piece(stream: AsyncIterator[T]) -> T:
    try:
        return await anext(stream)
    except StopAsyncIteration:
        raise _StreamEnded from None


async def _close_stream(stream: Any) -> None:
    with suppress(RuntimeError):  # it is already being cancelled
        await stream.aclose()


class BlockingFront:
    def __init__(self, inner: Any, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop

    def _pieces(self, stream: AsyncIterator[T]) -> Iterator[T]:
        try:
            while True:
                yield self._loop.run(_next_piece(stream))
        except _StreamEnded:
            return
        finally:
            with suppress(Closed):
                self._loop.run(_close_stream(stream))


class Profile(BlockingFront):
    """One profile's memory."""

    def __init__(self, inner: Any, loop: LoopThread, holdfast: Holdfast) -> None:
        super().__init__(inner, loop)
        self._holdfast = holdfast  # keeps the Holdfast open while the profile is in use

    ingest = blocking(AsyncProfile.ingest)
    remember = blocking(AsyncProfile.remember)
    revise = blocking(AsyncProfile.revise)
    search = blocking(AsyncProfile.search)
    recall = blocking(AsyncProfile.recall)
    context = blocking(AsyncProfile.context)
    list = blocking(AsyncProfile.list)
    get = blocking(AsyncProfile.get)
    history = blocking(AsyncProfile.history)
    facets = blocking(AsyncProfile.facets)
    messages = blocking(AsyncProfile.messages)
    sessions = blocking(AsyncProfile.sessions)
    forget = blocking(AsyncProfile.forget)
    forget_session = blocking(AsyncProfile.forget_session)
    forget_where = blocking(AsyncProfile.forget_where)
    forget_person = blocking(AsyncProfile.forget_person)
    summary = blocking(AsyncProfile.summary)
    stats = blocking(AsyncProfile.stats)
    settle = blocking(AsyncProfile.settle)
    job = blocking(AsyncProfile.job)
    jobs = blocking(AsyncProfile.jobs)
    traces = blocking(AsyncProfile.traces)
    trace = blocking(AsyncProfile.trace)

    usage = blocking(AsyncProfile.usage)
    redigest = blocking(AsyncProfile.redigest)
    retention = blocking(AsyncProfile.retention)
    set_retention = blocking(AsyncProfile.set_retention)
    apply_retention = blocking(AsyncProfile.apply_retention)
    set_summaries = blocking(AsyncProfile.set_summaries)
    pin = blocking(AsyncProfile.pin)
    unpin = blocking(AsyncProfile.unpin)
    export_to = blocking(AsyncProfile.export_to)
    import_from = blocking(AsyncProfile.import_from)
    register_kind = blocking(AsyncProfile.register_kind)
    kinds = blocking(AsyncProfile.kinds)
    kind = blocking(AsyncProfile.kind)
    drop_kind = blocking(AsyncProfile.drop_kind)
    migrate_kind = blocking(AsyncProfile.migrate_kind)
    rollback_kind = blocking(AsyncProfile.rollback_kind)
    graph = blocking(AsyncProfile.graph)
    path = blocking(AsyncProfile.path)
    entities = blocking(AsyncProfile.entities)
    about = blocking(AsyncProfile.about)
    merge_entities = blocking(AsyncProfile.merge_entities)
    split_entity = blocking(AsyncProfile.split_entity)
    entity_changes = blocking(AsyncProfile.entity_changes)
    undo_entity_change = blocking(AsyncProfile.undo_entity_change)
    merge = blocking(AsyncProfile.merge)
    split = blocking(AsyncProfile.split)
    mark = blocking(AsyncProfile.mark)
    revise_where = blocking(AsyncProfile.revise_where)
    review = blocking(AsyncProfile.review)
    resolve = blocking(AsyncProfile.resolve)
    edits = blocking(AsyncProfile.edits)
    undo = blocking(AsyncProfile.undo)
    audit = blocking(AsyncProfile.audit)
    add = blocking(AsyncProfile.add)
    documents = blocking(AsyncProfile.documents)
    document = blocking(AsyncProfile.document)
    retry_document = blocking(AsyncProfile.retry_document)
    passages = blocking(AsyncProfile.passages)
    forget_document = blocking(AsyncProfile.forget_document)
    original = blocking(AsyncProfile.original)
    recall_stream = streaming(AsyncProfile.recall_stream)
    events = streaming(AsyncProfile.events)
    exported = streaming(AsyncProfile.exported)

    def as_agent(self, agent: str, *, reads: Reads = "all") -> Profile:
        return Profile(self._inner.as_agent(agent, reads=reads), self._loop, self._holdfast)

    as_agent.__doc__ = AsyncProfile.as_agent.__doc__

    @property
    def namespace(self) -> str:
        return str(self._inner.namespace)

    @property
    def name(self) -> str:
        return str(self._inner.name)


class Across(BlockingFront):
    """Several profiles, queried together."""

    def __init__(self, inner: Any, loop: LoopThread, holdfast: Holdfast) -> None:
        super().__init__(inner, loop)
        self._holdfast = holdfast

    search = blocking(AsyncAcross.search)
    recall = blocking(AsyncAcross.recall)
    context = blocking(AsyncAcross.context)
    recall_stream = streaming(AsyncAcross.recall_stream)

    @property
    def profiles(self) -> tuple[Origin, ...]:
        return tuple(self._inner.profiles)


class AccessFront(BlockingFront):
    """Administration of credentials: their rights and grants, and the record of who gave them."""

    issue = blocking(Access.issue)
    rotate = blocking(Access.rotate)
    revoke = blocking(Access.revoke)
    grant = blocking(Access.grant)
    withdraw = blocking(Access.withdraw)
    list_all = blocking(Access.list_all)
    reaching = blocking(Access.reaching)
    acts = blocking(Access.acts)
    acts_on = blocking(Access.acts_on)


class Holdfast(BlockingFront):
    """Memory for many profiles. Open one per process with `Holdfast.open`; close it, or use `with`."""

    def __init__(self, inner: HoldfastPort | None = None, loop: LoopThread | None = None) -> None:
        if inner is None or loop is None:
            raise direct_call_error(Holdfast, 'Holdfast.open("./data")')
        super().__init__(inner, loop)
        self._finalizer = weakref.finalize(self, close_collected, inner, loop)
        self._finalizer.atexit = False  # atexit is too late: thread pools no longer accept work by then; see _close_all
        _open_instances.add(self)

    @classmethod
    def open(cls, path: str | Path | None = None, **settings: Any) -> Self:
        """Open a data folder, by default the user's. `settings`: fields of service.settings.Settings, or models."""
        loop = LoopThread()
        try:
            return cls(loop.run(AsyncHoldfast.open(path, **settings)), loop)
        except BaseException:
            loop.stop()
            raise

    @classmethod
    def connect(cls, url: str, token: str, *, timeout: float = 60.0) -> Self:
        """Connect to a Holdfast server at this URL; it has the same methods as a local Holdfast."""
        loop = LoopThread()
        return cls(loop.run(_made_on_loop(lambda: AsyncHoldfast.connect(url, token, timeout=timeout))), loop)

    def profile(self, namespace: str, profile: str) -> Profile:
        """Return one profile. Its first write creates it and its namespace; until then it is empty."""
        return Profile(self._inner.profile(namespace, profile), self._loop, self)

    def across(self, namespace: str, profiles: Places) -> Across:
        """Return several profiles to query together, given by name or as pairs of namespace and name."""
        return Across(self._inner.across(namespace, profiles), self._loop, self)

    @property
    def access(self) -> AccessFront:
        """Administration of credentials."""
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
        """Finish the current batch and close. Work that still waits is durable and continues at the next open."""
        if self._finalizer.detach() is not None:
            here = threading.current_thread() is self._loop.thread  # which cannot wait for itself
            (close_collected if here else close_and_stop)(self._inner, self._loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class AgentMemory(BlockingFront):
    """A key-value and vector memory of one agent about one entity, in a given Holdfast or in the user's data folder."""

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
        """Close the Holdfast, if this memory opened it."""
        if self._own:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class Notes(BlockingFront):
    """The notes of one profile on files and folders under one root."""

    def __init__(self, profile: Profile, root: str | PurePath = "/workspace") -> None:
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


async def _made_on_loop(make: Callable[[], T]) -> T:
    """Call `make` on the loop that will use its result."""
    return make()


def _close_all() -> None:
    """Close every open Holdfast at exit, so that a script without close() ends cleanly."""
    for holdfast in list(_open_instances):
        holdfast.close()


_open_instances: weakref.WeakSet[Holdfast] = weakref.WeakSet()
# The only hook that runs while thread pools still accept work; atexit runs after they have shut down.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
