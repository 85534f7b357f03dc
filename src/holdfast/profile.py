"""The verbs, bound to one profile of this process's data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Unpack

from . import filters, ingest, moments, names, pack, recall, redigest, remember, spending, summary, topics
from .carrying import Carrying
from .curated import Curated
from .digest import keys_of
from .errors import InvalidInput, NotFound, shown
from .forgetful import Forgetful
from .given import Moment, Narrowed, Revision
from .graphed import Graphed
from .kinded import Kinded
from .ledger import Ledger
from .once import once
from .past import When
from .ports import Store
from .recorder import traced
from .redigest import Redigested
from .reported import id_of, limit_of, share_of
from .results import Answer, Context, Hit, Page, Receipt, Session, Stats
from .shelved import Shelved
from .streams import in_one_task
from .synthesis import Asking, recalled
from .thinking import Thinking
from .told import asked, packing
from .trail import following, note, stage
from .types import Json, Memory, Message, Where

Hits = list[Hit]
CATCH_UP_SECONDS = 0.5
"""How much work a read waits for, so that what was just written is understood; words are found at once."""
CONTEXT_HITS = 60


class LocalProfile(Forgetful, Shelved, Kinded, Graphed, Curated, Carrying):
    """The verbs, bound to one profile of this process's data folder."""

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
        """Keep what was said. Found by search when this returns; with `wait`, digested into memories as well.

        Messages may have the shapes of OpenAI's and Anthropic's clients. Those without text are left out and counted.
        """
        now = self._holdfast._clock()
        checked = ingest.checked(messages, session_id=session_id, agent=agent, now=now)
        said = [(m.id, m.speaker, m.timestamp, m.metadata) for m in checked.messages]
        wanted = once(idempotency_key, "ingest", said)
        if not said:
            return ingest.receipt(checked)
        store = await self._written_to()
        async with self._holdfast._worker.expecting(self._who):
            receipt = await ingest.ingest(store, checked, once=wanted)
        if not wait:
            return receipt
        with stage("digest"):
            await self._holdfast._worker.settled(self._who, None)
        ids = [message.id for message in checked.messages]
        resting = await store.resting_on(ids)
        left = [item for item in await store.get(ids) if isinstance(item, Message) and item.pending]
        return replace(receipt, pending=len(left), memories=tuple(memory for memory in resting if memory.current))

    @traced
    async def remember(
        self,
        content: str | None = None,
        *,
        kind: str | None = None,
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
        topic: bool = True,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Keep one thing on purpose. A key that is taken is superseded; the same thing twice is one memory.

        Without kind and key it is a fact, or what a language model, when there is one, files it as; without one, a
        plain statement about one thing gets that topic as its key, unless `topic` is False. Without `embed` it is found
        by its words and its key only.
        """
        now = self._holdfast._clock()
        given = {
            "key": key, "value": value, "metadata": metadata, "session_id": session_id,
            "agent": self._sight.agent or agent, "trust": trust, "occurred_at": occurred_at, "expires_at": expires_at,
            "ttl": ttl, "embed": embed,
        }  # fmt: skip
        wish = remember.checked(content, "fact" if kind is None else kind, now, **given)
        asked_for = given if topic else given | {"topic": False}
        wanted = once(idempotency_key, "remember", content, "fact" if kind is None else kind, asked_for)
        store = await self._written_to()
        thinking = self._holdfast._thinking
        if thinking is not None and kind is None and key is None and value is None:
            with self._paying(store):
                wish = await remember.filed(wish, thinking.filer, keys_of(store, now))
        elif topic:
            wish = await topics.filed(wish, self._holdfast._extractor, now)
        if wish.expires_at is None:
            wish = replace(wish, expires_at=(await self._holdfast._policy(self._who)).expiry(wish.kind, now))
        async with self._writing():
            kinds = await self._kinds_in_use()
            return await remember.remember(store, wish, now=now, once=wanted, kinds=kinds)

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
            now, kinds = self._holdfast._clock(), await self._kinds_in_use()
            by: Any = {} if self._sight.agent is None else {"agent": self._sight.agent}
            return await remember.revise(store, id_of(id), given | by, now=now, seen=etag, once=wanted, kinds=kinds)

    @traced
    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Hits:
        """Ranked hits with their content, no synthesis; with `as_of`, of what was known at that moment.

        With `min_relevance` (0 to 1) only those that are as surely about the question; none, when nothing is.
        """
        where, least = filters.parse(**narrowed), share_of(min_relevance, "min_relevance")
        asked(narrowed, limit=limit, min_relevance=least or None, reference_date=reference_date, as_of=as_of)
        hits = await self._hits(query, where, limit_of(limit), self._when(reference_date, as_of))
        return [hit for hit in hits if hit.relevance >= least]

    @traced
    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: str = "low",
        response_length: str = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Answer:
        """A cited answer and the hits it rests on; the answer is "" when nothing supports one.

        `thinking_level` (low, medium, high) is how many hits are read, 10, 20 or 40 unless `limit` is given, and how
        long and how often a language model, when there is one, thinks; `response_length` (short, medium, long) is for
        it as well. With `as_of` it is answered from what was known at that moment.
        """
        when = self._when(reference_date, as_of)
        asking = self._asking(query, limit, thinking_level, response_length, when)
        pieces = [piece async for piece in self._recalled(asking, narrowed, when)]
        return next(piece for piece in reversed(pieces) if isinstance(piece, Answer))

    async def recall_stream(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: str = "low",
        response_length: str = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> AsyncIterator[str | Answer]:
        """As recall: the answer's words as they come, and the whole Answer last, which is the one that holds."""
        when = self._when(reference_date, as_of)
        asking = self._asking(query, limit, thinking_level, response_length, when)

        async def run() -> AsyncIterator[str | Answer]:
            with following("recall") as done:
                async for piece in self._recalled(asking, narrowed, when):
                    yield piece
            self._record(done)

        async with aclosing(in_one_task(run())) as pieces:
            async for piece in pieces:
                yield piece

    def _asking(self, query: str, limit: int | None, level: str, length: str, when: When) -> Asking:
        text = names.text(query, "query", limit=names.QUERY_BYTES)
        most = None if limit is None else limit_of(limit)
        return Asking(text, most, level, length, self._holdfast._embedder.model, when.asked_at)

    async def _recalled(self, asking: Asking, narrowed: Narrowed, when: When) -> AsyncIterator[str | Answer]:
        where, store = filters.parse(**narrowed), await self._store_at(when.as_of)
        level, length = asking.level, asking.length
        asked(narrowed, limit=asking.limit, thinking_level=level, response_length=length, as_of=when.as_of)

        ready: list[bool] = []

        async def find(text: str, count: int) -> Hits:
            with stage("wait"):
                ready.append(await self._caught_up())
            return await self._found(text, where, count, when)

        with self._paying(store):
            async for piece in recalled(store, find, await self._thinking(), replace(asking, where=where)):
                if isinstance(piece, Answer):
                    cited = [citation.hit for citation in piece.citations]
                    note(confidence=round(piece.confidence, 3), cited=cited)
                    piece = replace(piece, pending=not all(ready))
                yield piece

    @traced
    async def context(
        self,
        query: str,
        *,
        tokens: int = 1000,
        summaries: bool = False,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Context:
        """A block to paste into a prompt, of at most `tokens` tokens; with `summaries`, these in place of what they
        cover."""
        tokens = _tokens(tokens)
        when = self._when(reference_date, as_of)
        hits = await self._hits(query, filters.parse(**narrowed), CONTEXT_HITS, when)
        store = await self._store_at(when.as_of)
        worded = await recall.verbatim(store, hits, query)
        worded = self._with_origins(await recall.rolled_up(store, worded) if summaries else worded)
        block = pack.packed(worded, tokens, asked_at=when.asked_at)
        asked(narrowed, tokens=tokens, summaries=summaries, reference_date=reference_date, as_of=as_of)
        packing(hits, worded, block, tokens)
        return block

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
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        """Current memories, newest first, page by page; with one kind, their values as a `version` of it has them.

        With `as_of`, those that were current at that moment. With `superseded`, versions that are no longer current
        too; with `expired`, those that wait for the sweep.
        """
        where, when = filters.parse(**narrowed), self._when(None, as_of)
        store = await self._store_at(when.as_of)
        await self._caught_up()
        now = None if expired else self._holdfast._clock()
        page = await store.scan(where, now=now, limit=limit_of(limit), cursor=cursor, superseded=superseded)
        return await self._all_understood(store, page, narrowed.get("kind"), version)

    @traced
    async def get(self, id: str, *, version: int | None = None, as_of: Moment | None = None) -> Memory | Message:
        """One memory (also a superseded one) or message by id; its value as a `version` of its kind's schema has it.

        With `as_of`, as it stood at that moment; of a version that came later, the one there was.
        """
        store = await self._store_at(self._when(None, as_of).as_of)
        found = await store.get([id_of(id)])
        if not found and as_of is not None:
            found = [*(await store.history(id))[:1]]
        if not found:
            raise NotFound(f"There is no memory or message {shown(id)} in this profile.", field="id")
        return await self._understood(store, found[0], version)

    @traced
    async def history(self, id: str, *, as_of: Moment | None = None) -> tuple[Memory, ...]:
        """Every version of a memory, newest first; with `as_of`, those that there were at that moment."""
        found = await (await self._store_at(self._when(None, as_of).as_of)).history(id_of(id))
        if not found:
            raise NotFound(f"There is no memory {shown(id)} in this profile.", field="id")
        return tuple(found)

    @traced
    async def messages(self, session_id: str | None = None, *, limit: int = 1000) -> tuple[Message, ...]:
        """What was said, in order, in one session or in all."""
        session_id = None if session_id is None else names.session(session_id)
        return tuple(await (await self._read()).said(session_id, limit=limit_of(limit, most=100_000)))

    @traced
    async def sessions(self) -> tuple[Session, ...]:
        """Every conversation, in the order in which they began."""
        found: dict[str, Session] = {}
        for message in await (await self._read()).said(None, limit=2**31):
            at, id = message.said_at, message.session_id
            if names.of_document(id):
                continue
            known = found.get(id, Session(id, 0, at, at))
            found[id] = Session(id, known.messages + 1, min(known.first, at), max(known.last, at))
        return tuple(found.values())

    @traced
    async def summary(self, session_id: str | None = None, *, tokens: int | None = None) -> str:
        """The profile, or one session, on one page of Markdown, of about 2,000 tokens at most or as many as given."""
        session_id = None if session_id is None else names.session(session_id)
        most = summary.TOKENS if tokens is None else _tokens(tokens)
        await self._caught_up()
        store, now = await self._read(), self._holdfast._clock()
        if session_id is None and tokens is None:
            return await summary.page(store, now)
        return await summary.summary(store, session_id=session_id, now=now, tokens=most)

    @traced
    async def stats(self) -> Stats:
        return await (await self._read()).stats(self._holdfast._embedder.model)

    @traced
    async def redigest(
        self,
        session_id: str | None = None,
        *,
        since: Moment | None = None,
        aside: bool = False,
        dry_run: bool = False,
    ) -> Redigested:
        """Digest again what was said, after a better model or prompt; what was drawn from it before goes.

        Of one session, said `since` then, or only what was set `aside`. What was written by hand stays.
        """
        session_id = None if session_id is None else names.session(session_id)
        which = redigest.Which(session_id, None if since is None else moments.moment(since, "since"), aside)
        store = await self._store()
        async with self._holdfast._worker.expecting(self._who):
            return await redigest.redigest(store, which, dry_run=dry_run)

    async def settle(self, timeout: float | None = None) -> bool:
        """Wait until everything written so far is digested; False when that takes longer than `timeout` seconds."""
        return await self._holdfast._settled(self._who, timeout)

    async def _thinking(self) -> Thinking | None:
        """The language model that answers; of what nobody has written, it is asked nothing."""
        thinking = self._holdfast._thinking
        return thinking if thinking is not None and await self._is_written() else None

    def _paying(self, store: Store) -> AbstractContextManager[None]:
        """Model calls inside are on this profile's account."""
        thinking = self._holdfast._thinking
        return spending.on(None if thinking is None else Ledger(store.journal, thinking.tariff, self._holdfast._clock))

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        async with self._holdfast._turn(self._who), self._holdfast._worker.expecting(self._who):
            yield

    async def _hits(self, query: str, where: Where | None, limit: int, when: When) -> Hits:
        with stage("wait"):
            await self._caught_up()
        return await self._found(query, where, limit, when)

    async def _found(self, query: str, where: Where | None, limit: int, when: When) -> Hits:
        text = names.text(query, "query", limit=names.QUERY_BYTES)
        store = await self._store_at(when.as_of)
        question = recall.Question(text, where, when.asked_at, when.as_of or self._holdfast._clock())
        return await recall.search(store, self._holdfast._models, question, limit)

    def _with_origins(self, hits: Hits) -> Hits:
        """The hits as a prompt shows them; of one profile, nobody has to be told which."""
        return hits

    async def _caught_up(self) -> bool:
        return await self._holdfast._worker.caught_up(self._who, CATCH_UP_SECONDS)


def _tokens(tokens: object) -> int:
    if not isinstance(tokens, int) or not 20 <= tokens <= 1_000_000:
        raise InvalidInput(f"tokens is {shown(tokens)}; give 20 to 1,000,000.", field="tokens")
    return tokens
