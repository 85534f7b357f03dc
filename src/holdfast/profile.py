"""The verbs, bound to one profile of this process's data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from . import answer, filters, forget, ingest, moments, names, pack, recall, remember, summary
from .errors import AlreadyExists, Closed, InvalidInput, NotFound, shown
from .forget import How
from .once import once
from .ports import Store
from .recorder import traced
from .records import Event, JobStatus, Trace, TracePage
from .results import Answer, Context, Hit, Page, Receipt, Session, Stats
from .trail import note, stage
from .types import Forgotten, Json, Memory, Message, Where

if TYPE_CHECKING:
    from .service import AsyncHoldfast

Kinds = str | Sequence[str]
Hits = list[Hit]
Moment = datetime | str | float


class Narrowed(TypedDict, total=False):
    """What search, recall, context and list may be narrowed to; everything given must hold."""

    kind: Kinds | None
    key: str | None
    key_prefix: str | None
    session_id: str | None
    agent: str | None
    since: Moment | None
    until: Moment | None
    filter: Mapping[str, Any] | None
    """Conditions on any field and on metadata: see filters.py."""


class Revision(TypedDict, total=False):
    """What `revise` may change."""

    content: str
    kind: str
    key: str | None
    value: Json
    metadata: Mapping[str, Json]
    trust: str
    occurred_at: Moment | None
    expires_at: Moment | None
    ttl: float | timedelta | None


CATCH_UP_SECONDS = 0.5
"""How long a read waits for the meaning of what was just written; words are found at once."""
CONTEXT_HITS = 60
HEARTBEAT = 15.0


class LocalProfile:
    """The verbs, bound to one profile of this process's data folder."""

    def __init__(self, holdfast: AsyncHoldfast, namespace: str, profile: str) -> None:
        self._holdfast = holdfast
        self.namespace = namespace
        self.name = profile
        self._who = (namespace, profile)

    @traced
    async def ingest(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        session_id: str | None = None,
        agent: str | None = None,
        wait: bool = False,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Keep what was said. Found by search when this returns; with `wait`, digested into memories as well."""
        now = self._holdfast._clock()
        checked = ingest.checked(messages, session_id=session_id, agent=agent, now=now)
        said = [(m.id, m.speaker, m.timestamp, m.metadata) for m in checked]
        wanted = once(idempotency_key, "ingest", said)
        store = await self._written_to()
        async with self._holdfast._worker.expecting(self._who):
            receipt = await ingest.ingest(store, checked, once=wanted)
        if not wait:
            return receipt
        with stage("digest"):
            await self._holdfast._worker.settled(self._who, None)
        resting = await store.resting_on([message.id for message in checked])
        left = [item for item in await store.get([m.id for m in checked]) if isinstance(item, Message) and item.pending]
        return replace(receipt, pending=len(left), memories=tuple(memory for memory in resting if memory.current))

    @traced
    async def remember(
        self,
        content: str | None = None,
        *,
        kind: str = "fact",
        key: str | None = None,
        value: Json = None,
        metadata: Mapping[str, Json] | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        trust: str | None = None,
        occurred_at: Moment | None = None,
        expires_at: Moment | None = None,
        ttl: float | timedelta | None = None,
        embed: bool = True,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Keep one thing on purpose. A key that is taken is superseded; the same thing twice is one memory.

        Without `embed` it is found by its words and its key only.
        """
        now = self._holdfast._clock()
        given = {
            "key": key, "value": value, "metadata": metadata, "session_id": session_id, "agent": agent, "trust": trust,
            "occurred_at": occurred_at, "expires_at": expires_at, "ttl": ttl, "embed": embed,
        }  # fmt: skip
        wish = remember.checked(content, kind, now, **given)
        wanted = once(idempotency_key, "remember", content, kind, given)
        store = await self._written_to()
        async with self._writing():
            return await remember.remember(store, wish, now=now, once=wanted)

    @traced
    async def revise(
        self, id: str, *, etag: str | None = None, idempotency_key: str | None = None, **given: Unpack[Revision]
    ) -> Memory:
        """A new version of a memory with what is given; the old one stays as its history.

        With `etag` only if the memory is still as it was read. A metadata field given as None is removed.
        """
        wanted = once(idempotency_key, "revise", id, given)
        store = await self._store()
        async with self._writing():
            return await remember.revise(store, _id(id), given, now=self._holdfast._clock(), seen=etag, once=wanted)

    @traced
    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        reference_date: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Hits:
        """Ranked hits with their content, no synthesis."""
        where = filters.parse(**narrowed)
        return await self._hits(query, where, _limit(limit), reference_date)

    @traced
    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        reference_date: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Answer:
        """A cited answer and the hits it rests on; the answer is "" when nothing supports one."""
        where = filters.parse(**narrowed)
        model = self._holdfast._embedder.model

        async def find(text: str, count: int) -> Hits:
            return await self._hits(text, where, count, reference_date)

        asked_at = self._asked_at(reference_date)
        found = await answer.answered(await self._store(), find, query, _limit(limit), model, asked_at)
        note(confidence=round(found.confidence, 3), cited=[citation.hit for citation in found.citations])
        return found

    @traced
    async def context(
        self,
        query: str,
        *,
        tokens: int = 1000,
        reference_date: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Context:
        """A block to paste into a prompt, of at most `tokens` tokens."""
        if not isinstance(tokens, int) or not 20 <= tokens <= 1_000_000:
            raise InvalidInput(f"tokens is {shown(tokens)}; give 20 to 1,000,000.", field="tokens")
        asked_at = self._asked_at(reference_date)
        hits = await self._hits(query, filters.parse(**narrowed), CONTEXT_HITS, reference_date)
        block = pack.packed(await recall.verbatim(await self._store(), hits), tokens, asked_at=asked_at)
        note(tokens=block.tokens, packed=[hit.id for hit in block.hits])
        return block

    @traced
    async def list(
        self,
        *,
        limit: int = 20,
        cursor: str | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        """Current memories, newest first, page by page."""
        where = filters.parse(**narrowed)
        store = await self._store()
        await self._caught_up()
        return await store.scan(where, now=self._holdfast._clock(), limit=_limit(limit), cursor=cursor)

    @traced
    async def get(self, id: str) -> Memory | Message:
        """One memory (also a superseded one) or message by id."""
        found = await (await self._store()).get([_id(id)])
        if not found:
            raise NotFound(f"There is no memory or message {shown(id)} in this profile.", field="id")
        return found[0]

    @traced
    async def history(self, id: str) -> tuple[Memory, ...]:
        """Every version of a memory, newest first."""
        found = await (await self._store()).history(_id(id))
        if not found:
            raise NotFound(f"There is no memory {shown(id)} in this profile.", field="id")
        return tuple(found)

    @traced
    async def messages(self, session_id: str | None = None, *, limit: int = 1000) -> tuple[Message, ...]:
        """What was said, in order, in one session or in all."""
        session_id = None if session_id is None else names.session(session_id)
        return tuple(await (await self._store()).said(session_id, limit=_limit(limit, most=100_000)))

    @traced
    async def sessions(self) -> tuple[Session, ...]:
        """Every conversation, in the order in which they began."""
        found: dict[str, Session] = {}
        for message in await (await self._store()).said(None, limit=2**31):
            at, id = message.said_at, message.session_id
            known = found.get(id, Session(id, 0, at, at))
            found[id] = Session(id, known.messages + 1, min(known.first, at), max(known.last, at))
        return tuple(found.values())

    @traced
    async def forget(
        self, id: str, *, dry_run: bool = False, etag: str | None = None, idempotency_key: str | None = None
    ) -> Forgotten:
        """Remove a memory (all versions, and the messages it rests on) or a message for good.

        With `etag` only if the memory is still as it was read.
        """
        how = forget.How(dry_run, once(idempotency_key, "forget", id, dry_run), etag)
        return await self._forgotten(how, lambda store: forget.forget(store, _id(id), how))

    @traced
    async def forget_session(
        self, session_id: str, *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> Forgotten:
        """Remove a session for good, and what was asked in it. Nothing to remove is fine."""
        session = names.session(session_id)
        how = forget.How(dry_run, once(idempotency_key, "session", session, dry_run))
        return await self._forgotten(how, lambda store: forget.forget_session(store, session, how), session)

    @traced
    async def forget_where(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, **narrowed: Unpack[Narrowed]
    ) -> Forgotten:
        """Remove every memory of which all that is given holds, each as `forget` does; with `dry_run` only tell."""
        where = filters.parse(**narrowed)
        if where is None or not filters.says_something(where):
            raise InvalidInput("Say which memories to forget.", fix="To forget all of them, delete the profile.")
        how = forget.How(dry_run, once(idempotency_key, "where", narrowed, dry_run))
        return await self._forgotten(how, lambda store: forget.forget_where(store, where, how))

    async def _forgotten(
        self, how: How, act: Callable[[Store], Awaitable[Forgotten]], session: str | None = None
    ) -> Forgotten:
        store = await self._store()
        done = await forget.repeated(store, how)
        if done is None:
            done = await act(store)
            if not how.rehearsed:
                self._holdfast._recorder.forget(self._who, done, session)
        return done

    @traced
    async def summary(self, session_id: str | None = None) -> str:
        """The profile, or one session, on one page of Markdown."""
        session_id = None if session_id is None else names.session(session_id)
        await self._caught_up()
        return await summary.summary(await self._store(), session_id=session_id, now=self._holdfast._clock())

    @traced
    async def stats(self) -> Stats:
        return await (await self._store()).stats(self._holdfast._embedder.model)

    async def settle(self, timeout: float | None = None) -> bool:
        """Wait until everything written so far is digested; False when that takes longer than `timeout` seconds."""
        return await self._holdfast._worker.settled(self._who, timeout)

    async def job(self, id: str) -> JobStatus:
        """How far the work is that an ingest left behind."""
        store = await self._store()
        found = await store.journal.job(_id(id))
        if found is None:
            raise NotFound(f"There is no job {shown(id)} in this profile.", field="id")
        return await ingest.progress(store, found)

    async def jobs(self, *, limit: int = 20) -> tuple[JobStatus, ...]:
        """Newest first."""
        store = await self._store()
        return tuple([await ingest.progress(store, job) for job in await store.journal.jobs(_limit(limit))])

    async def traces(
        self,
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> TracePage:
        """What was asked and written, newest first, of one session and turn when given."""
        await self._holdfast._recorder.flush(self._who)
        return await (await self._store()).journal.traces(session_id, turn_id, _limit(limit), cursor)

    async def trace(self, id: str) -> Trace:
        await self._holdfast._recorder.flush(self._who)
        found = await (await self._store()).journal.trace(_id(id))
        if found is None:
            raise NotFound(f"There is no trace {shown(id)} in this profile.", field="id")
        return found

    def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT) -> AsyncIterator[Event | None]:
        """What changes, as it changes, from event `after` or from now on; None after each quiet `heartbeat` seconds."""
        return self._holdfast._live.follow(self._who, after, heartbeat)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        async with self._holdfast._turn(self._who), self._holdfast._worker.expecting(self._who):
            yield

    async def _hits(self, query: str, where: Where | None, limit: int, reference: Moment | None) -> Hits:
        text = names.text(query, "query", limit=names.QUERY_BYTES)
        asked_at = self._asked_at(reference)
        store = await self._store()
        await self._caught_up()
        question = recall.Question(text, where, asked_at, self._holdfast._clock())
        return await recall.search(store, self._holdfast._models, question, limit)

    def _asked_at(self, reference: Moment | None) -> datetime:
        return self._holdfast._clock() if reference is None else moments.moment(reference, "reference_date")

    async def _caught_up(self) -> None:
        await self._holdfast._worker.caught_up(self._who, CATCH_UP_SECONDS)

    async def _store(self) -> Store:
        if self._holdfast._closed:
            raise Closed("This Holdfast was closed.")
        return await self._holdfast._vault.open(*self._who, create=False)

    async def _written_to(self) -> Store:
        """The store, created with its namespace at the first write."""
        if self._holdfast._closed:
            raise Closed("This Holdfast was closed.")
        vault = self._holdfast._vault
        try:
            store = await vault.open(*self._who, create=True)
        except NotFound:
            with suppress(AlreadyExists):  # somebody created it meanwhile
                await vault.create_namespace(self.namespace)
            store = await vault.open(*self._who, create=True)
        return store


def _id(id: object) -> str:
    return names.text(id, "id", limit=names.PROFILE_BYTES)


def _limit(limit: object, most: int = 1000) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        raise InvalidInput(f"limit is {shown(limit)}; give 1 to {most}.", field="limit")
    return limit
