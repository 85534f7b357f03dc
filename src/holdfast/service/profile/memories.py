"""The memories and messages of one profile: ingest, remember, revise, list, get, history, summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.domain import filters, identifiers, timestamps
from holdfast.domain.arguments import (
    Kind,
    MessageInput,
    Moment,
    Narrowed,
    Revision,
    validate_facets,
    validate_id,
    validate_limit,
    validate_order,
    validate_tokens,
)
from holdfast.domain.errors import InvalidInput, NotFound, QuotaExceeded, quoted_value
from holdfast.domain.idempotency import first_answer, idempotent_request
from holdfast.domain.ports.profile.memories import ProfileMemories
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Facets, MessagePage, Page, Receipt, Session, Stats
from holdfast.domain.tracing import stage
from holdfast.domain.types import Facet, Json, Memory, Message, Order, Trust
from holdfast.domain.visibility import is_expired, unexpired_versions
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.domain.reports import Redigested


class MemoryVerbs(ProfileVerbs, ProfileMemories):
    """Writing and reading memories and messages."""

    @traced
    async def ingest(
        self,
        messages: Iterable[MessageInput | Mapping[str, Any]],
        *,
        session_id: str | None = None,
        agent: str | None = None,
        wait: bool = False,
        idempotency_key: str | None = None,
    ) -> Receipt:
        from holdfast.ingest import messages as ingest

        now = self._context.now()
        seen = self._context.visibility
        reader = None if seen.whole else seen.agent or ""
        checked = ingest.validate_messages(messages, session_id=session_id, agent=agent, now=now, reader=reader)
        said = [(m.id, m.speaker, m.timestamp, m.metadata) for m in checked.messages]
        wanted = idempotent_request(idempotency_key, "ingest", said)
        if not said:
            return ingest.receipt(checked)
        size = sum(len(message.content) for message in checked.messages)
        try:
            await self._context.check_quota(messages=len(said), memories=1, bytes=size)
        except QuotaExceeded:
            if (await ingest.align_batch(await self._context.readable_store(), checked)).new:
                raise
        store = await self._context.writable_store()
        async with self._context.session_turn(checked.session_id):
            receipt = await ingest.ingest(store, checked, once=wanted)
        if not wait:
            return receipt
        with stage("digest"):
            await self._context.digested()
        ids = [message.id for message in receipt.messages]
        resting = await store.resting_on(ids)
        left = [item for item in await store.get(ids) if isinstance(item, Message) and item.pending]
        memories = tuple(memory for memory in resting if memory.current) if self._context.may_read else ()
        return replace(receipt, pending=len(left), memories=memories)

    @traced
    async def remember(
        self,
        content: str | None = None,
        *,
        kind: Kind | None = None,
        key: str | None = None,
        value: Json = None,
        metadata: Mapping[str, Json] | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        trust: Trust | None = None,
        occurred_at: Moment | None = None,
        expires_at: Moment | None = None,
        ttl: float | timedelta | None = None,
        embed: bool = True,
        topic: bool = True,
        idempotency_key: str | None = None,
    ) -> Memory:
        from holdfast.ingest import remember, topics
        from holdfast.ingest.digest import topic_key_loader

        now = self._context.now()
        given = {
            "key": key, "value": value, "metadata": metadata, "session_id": session_id,
            "agent": self._context.visibility.agent or agent, "trust": trust, "occurred_at": occurred_at,
            "expires_at": expires_at, "ttl": ttl, "embed": embed,
        }  # fmt: skip
        wish = remember.memory_request(content, "fact" if kind is None else kind, now, **given)
        asked_for = given if topic else given | {"topic": False}
        wanted = idempotent_request(idempotency_key, "remember", content, "fact" if kind is None else kind, asked_for)
        try:
            await self._context.check_quota(memories=1, bytes=len(wish.content))
        except QuotaExceeded:
            if await first_answer(await self._context.readable_store(), wanted) is None:
                raise
        store = await self._context.writable_store()
        thinking = self._context.runtime.llm
        if thinking is not None and kind is None and key is None and value is None:
            with self._context.charging(store):
                wish = await remember.file_with_model(wish, thinking.filer, topic_key_loader(store, now))
        elif topic:
            wish = await topics.file_under_topic(wish, self._context.runtime.extractor, now)
        if wish.expires_at is None:
            wish = replace(wish, expires_at=(await self._context.retention_policy()).expiry(wish.kind, now))
        async with self._context.write_turn():
            kinds = await self._context.kinds_in_use()
            written = await remember.remember(store, wish, now=now, once=wanted, kinds=kinds)
        return written if self._context.may_read else _receipt(written)

    @traced
    async def revise(
        self, id: str, *, etag: str | None = None, idempotency_key: str | None = None, **given: Unpack[Revision]
    ) -> Memory:
        from holdfast.ingest import remember

        self._context.check_readable()
        wanted = idempotent_request(idempotency_key, "revise", id, given)
        store = await self._context.store()
        await self._context.check_quota(memories=1)
        async with self._context.finding(id), self._context.write_turn():
            now, kinds = self._context.now(), await self._context.kinds_in_use()
            by: Any = {} if self._context.visibility.agent is None else {"agent": self._context.visibility.agent}
            return await remember.revise(
                store, validate_id(id), given | by, now=now, seen=etag, once=wanted, kinds=kinds
            )

    @traced
    async def list(
        self,
        *,
        limit: int = 20,
        cursor: str | None = None,
        version: int | None = None,
        as_of: Moment | None = None,
        superseded: bool = False,
        expired: bool = False,
        order: Order = "written",
        total: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        where, when = filters.parse_filter(**narrowed), self._context.when(None, as_of)
        most, order = validate_limit(limit), validate_order(order)
        store = await self._context.store_at(when.as_of)
        await self._context.caught_up()
        now = None if expired else self._context.now()
        page = await store.scan(
            where, now=now, limit=most, cursor=cursor, superseded=superseded, order=order, count=() if total else None
        )
        return await self._at_version_all(store, page, narrowed.get("kind"), version)

    @traced
    async def facets(
        self,
        by: Sequence[Facet] | None = None,
        *,
        limit: int = 20,
        as_of: Moment | None = None,
        superseded: bool = False,
        expired: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Facets:
        where, when = filters.parse_filter(**narrowed), self._context.when(None, as_of)
        most, wanted = validate_limit(limit), validate_facets(by)
        store = await self._context.store_at(when.as_of)
        await self._context.caught_up()
        now = None if expired else self._context.now()
        page = await store.scan(where, now=now, limit=1, superseded=superseded, count=wanted)
        return Facets() if page.facets is None else page.facets.cut(most)

    @traced
    async def get(
        self, id: str, *, version: int | None = None, as_of: Moment | None = None, expired: bool = False
    ) -> Memory | Message:
        then = self._context.when(None, as_of).as_of
        store = await self._context.store_at(then)
        async with self._context.finding(id):
            found = await store.get([validate_id(id)])
            if not found and as_of is not None:
                found = [*(await store.history(id))[:1]]
            if not found or (not expired and await _is_hidden(store, found[0], then or self._context.now())):
                raise NotFound(f"There is no memory or message {quoted_value(id)} in this profile.", field="id")
        return await self._at_version(store, found[0], version)

    @traced
    async def history(self, id: str, *, as_of: Moment | None = None, expired: bool = False) -> tuple[Memory, ...]:
        from holdfast.lifecycle.versions import load_history

        then = self._context.when(None, as_of).as_of
        async with self._context.finding(id):
            store, shown_at = await self._context.store_at(then), then or self._context.now()
            found = await load_history(store, validate_id(id), now=None if expired else shown_at)
            if not found:
                raise NotFound(f"There is no memory {quoted_value(id)} in this profile.", field="id")
        return tuple(found)

    @traced
    async def messages(
        self, session_id: str | None = None, *, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        session_id = None if session_id is None else identifiers.validate_session(session_id)
        most = validate_limit(limit, most=100_000)
        return await (await self._context.readable_store()).messages(session_id, limit=most, cursor=cursor)

    @traced
    async def sessions(self) -> tuple[Session, ...]:
        found: dict[str, Session] = {}
        for message in await (await self._context.readable_store()).messages(None, limit=2**31):
            at, id = message.said_at, message.session_id
            if identifiers.is_document_session(id):
                continue
            known = found.get(id, Session(id, 0, at, at))
            found[id] = Session(id, known.messages + 1, min(known.first, at), max(known.last, at))
        return tuple(found.values())

    @traced
    async def summary(self, session_id: str | None = None, *, tokens: int | None = None) -> str:
        from holdfast.lifecycle import profile_page

        session_id = None if session_id is None else identifiers.validate_session(session_id)
        most = profile_page.MAX_PAGE_TOKENS if tokens is None else validate_tokens(tokens)
        await self._context.caught_up()
        store, now = await self._context.readable_store(), self._context.now()
        if session_id is None and tokens is None:
            return await profile_page.load_page(store, now)
        return await profile_page.render_page(store, session_id=session_id, now=now, tokens=most)

    @traced
    async def stats(self) -> Stats:
        return await (await self._context.readable_store()).stats(self._context.runtime.embedder.model)

    @traced
    async def redigest(
        self,
        session_id: str | None = None,
        *,
        since: Moment | None = None,
        aside: bool = False,
        dry_run: bool = False,
    ) -> Redigested:
        from holdfast.ingest import digest

        session_id = None if session_id is None else identifiers.validate_session(session_id)
        which = digest.MessageSelection(
            session_id, None if since is None else timestamps.parse_moment(since, "since"), aside
        )
        self._context.check_dry_run(dry_run)
        store = await self._context.store()
        async with self._context.expecting_work(), self._context.erasing(dry_run):
            return await digest.redigest(store, which, dry_run=dry_run)

    async def settle(self, timeout: float | None = None) -> bool:
        return await self._context.settled(timeout)

    async def _at_version(self, store: Store, memory: Memory | Message, version: int | None) -> Memory | Message:
        """Convert the memory to the schema version that the caller asked for."""
        from holdfast.ingest.kinds.versions import validate_version
        from holdfast.lifecycle.migration import conversion

        if version is None:
            return memory
        if isinstance(memory, Message):
            raise InvalidInput("A message has no versions.", field="version")
        found = await self._context.kinds_in_use()
        return await conversion.convert_for_reader(store, found.get(memory.kind), memory, validate_version(version))

    async def _at_version_all(self, store: Store, page: Page, kind: object, version: int | None) -> Page:
        if version is None:
            return page
        if not isinstance(kind, str):
            raise InvalidInput(f"version needs exactly one kind, not {quoted_value(kind)}.", field="version")
        read = [await self._at_version(store, each, version) for each in page]
        return replace(page, items=tuple(each for each in read if isinstance(each, Memory)))


async def _is_hidden(store: Store, item: Memory | Message, now: datetime) -> bool:
    """Whether the item is a memory that expired, or an earlier version of one that did."""
    if isinstance(item, Message) or is_expired(item, now):
        return isinstance(item, Memory)
    if item.current:
        return False
    shown = unexpired_versions(await store.history(item.id), now)
    return (item.id, item.version) not in {(each.id, each.version) for each in shown}


def _receipt(memory: Memory) -> Memory:
    """The memory without anything that its writer may not know: a repeated write finds another's memory."""
    return Memory(
        memory.id, memory.kind, memory.content, memory.content, memory.updated_at, memory.updated_at, memory.key,
        memory.value, memory.metadata, version=memory.version,
    )  # fmt: skip
