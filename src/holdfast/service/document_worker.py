"""Parses waiting documents in the background: fetch, parse in a child process, write passages in batches.

The document's record holds its state, and a passage's id is derived from its text: a worker that resumes after a crash
writes the same rows and continues. At most two documents are parsed at once, and one per profile. A worker holds a
lease on its document. When the document is forgotten meanwhile, the lease is lost and the worker deletes the passages
that it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.domain import identifiers
from holdfast.domain.errors import Closed, HoldfastError, InvalidInput, NotFound, StorageError
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.results import Document
from holdfast.domain.types import Change, Message, Part
from holdfast.service.worker import Who, Worker
from holdfast.storage.tasks import end_tasks

if TYPE_CHECKING:
    from holdfast.documents.chunk import Chunk
    from holdfast.documents.rules import DocumentRules
    from holdfast.documents.types import DocumentProperties

log = logging.getLogger("holdfast")
MAX_CONCURRENT_DOCUMENTS = 2
PASSAGES_PER_CHANGE = 50
LEASE = timedelta(minutes=5)
"""Longer than any step between two renewals of the lease may take."""
MAX_TRIES = 5
MAX_CUT_OFF_TRIES = 20
"""A document whose parsing was interrupted this often is marked as failed: it may be what crashes the process."""
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
POLL_SECONDS = 0.05


class LeaseLost(Exception):
    """The lease on the document is lost: the document was forgotten, or added again."""


class DocumentWorker:
    def __init__(self, vault: Vault, worker: Worker, rules: DocumentRules, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self.worker = worker
        self.rules = rules
        self.clock = clock
        self._turns = asyncio.Semaphore(MAX_CONCURRENT_DOCUMENTS)
        self._tasks: dict[Who, asyncio.Task[None]] = {}
        self._asked: set[Who] = set()
        self._stopping = False

    def notify(self, who: Who) -> None:
        """Notify the worker that a profile may have documents to parse."""
        self._asked.add(who)
        if who not in self._tasks and not self._stopping:
            self._tasks[who] = asyncio.create_task(self._run(who), name="holdfast-reader")

    async def revisit(self, who: Who, store: Store) -> None:
        """Queue pages that were last updated longer ago than the rules' interval, so that they are fetched again."""
        if self.rules.again is None or not self.rules.fetch:
            return
        from holdfast.documents import library

        before = self.clock() - self.rules.again
        old = [each for each in await store.documents.list_all(2**31) if each.url and each.updated_at <= before]
        for document in old:
            if document.state != "waiting":
                async with self.worker.expecting(who):
                    await store.documents.put(library.requeued_document(document))
        if old:
            self.notify(who)

    async def idle(self, who: Who) -> None:
        """Wait until this profile has no document that could be parsed now, by this or another process."""
        while True:
            while (task := self._tasks.get(who)) is not None:
                await asyncio.wait([task])
            try:
                store = await self._vault.open(*who, create=False)
            except NotFound:
                return
            if not await store.documents.lent(self.clock()):
                if self._stopping or not await _has_readable(store, self.clock()):
                    return
                self.notify(who)  # another process stopped and left documents behind
            await asyncio.sleep(POLL_SECONDS)

    async def stop(self) -> None:
        self._stopping = True
        await end_tasks(self._tasks.values())

    async def _run(self, who: Who) -> None:
        try:
            while who in self._asked:
                self._asked.discard(who)
                while await self._next(who):
                    pass
        except NotFound:
            pass  # the profile was deleted
        except HoldfastError as failure:
            log.warning("reading documents of %s/%s stopped: %s", *who, failure)
            self.worker.activity.failures["documents"] += 1
        finally:
            self._tasks.pop(who, None)

    async def _next(self, who: Who) -> bool:
        """Parse one document; False when there is none to parse now."""
        async with self._turns:  # first, so that profiles without documents do not fill the cache of open files
            store = await self._vault.open(*who, create=False)
            until = self.clock() + LEASE
            document = await store.documents.claim(self.clock(), until)
            if document is None:
                return False
            await _DocumentTask(store, document, until, self, who).run()
            return True


class _DocumentTask:
    """Parsing of one leased document."""

    def __init__(self, store: Store, document: Document, held: datetime, readers: DocumentWorker, who: Who) -> None:
        self._store = store
        self._document = document
        self._held = held
        self._clock = readers.clock
        self._rules = readers.rules
        self._worker = readers.worker
        self._who = who

    async def run(self) -> None:
        from holdfast.documents.scratch import scratch_folder
        from holdfast.documents.types import DocumentError
        from holdfast.lifecycle.forget import ForgetOptions, forget_session

        try:
            await self._amend(tries=self._document.tries + 1)
            if self._document.tries > MAX_CUT_OFF_TRIES:
                raise DocumentError("Parsing it was interrupted several times; it may be what crashes the process.")
            with scratch_folder() as folder:
                new = self._document.stage != "fetching" or await self._fetched(folder / "fetched")
                if new:
                    await self._copied(folder / "original")
                    await self._read(folder / "original")
            if new:
                await self._done()
            self._worker.activity.documents["done"] += 1
        except asyncio.CancelledError:
            with suppress(HoldfastError):  # release the lease, so that the next worker need not wait for it
                await self._store.documents.amend(self._document, self._held, None)
            raise
        except LeaseLost:
            if await self._store.documents.get(self._document.id) is None:
                await forget_session(self._store, self._document.session_id, ForgetOptions())
        except (Closed, NotFound):
            raise
        except Exception as failure:  # after any failure of a parser or server, keep the document and record the reason
            await self._failed(failure)

    async def _fetched(self, into: Path) -> bool:
        """Fetch the document; False when it is unchanged."""
        from holdfast.documents import library
        from holdfast.documents.fetch.http import CacheValidators, fetch_file
        from holdfast.documents.library import file_digest

        document, start = self._document, time.monotonic()
        known = CacheValidators(document.etag, document.last_modified)
        assert document.url is not None
        got = await fetch_file(document.url, self._rules.policy(), into, known)
        about: dict[str, Any] = {"seconds": {"fetch": round(time.monotonic() - start, 3)}}
        if not got.unchanged:
            sha, size = await asyncio.to_thread(file_digest, into, self._rules.bytes, document.name)
            about |= {"sha256": sha, "bytes": size, "etag": got.etag, "last_modified": got.last_modified}
        if got.unchanged or about["sha256"] == document.sha256:
            await self._amend(None, state="done", stage="done", percent=100, **about)
            return False
        if document.name == document.url[: library.MAX_NAME_BYTES] and got.name:
            about["name"] = got.name
        if document.chunks:  # this is a new version of a parsed document
            session, stale = library.next_session_id(document.session_id), (*document.stale, document.session_id)
            about |= {"version": document.version + 1, "session_id": session, "stale": stale}
        await self._amend(stage="reading", percent=0, chunks=0, original=into, **about)
        return True

    async def _copied(self, into: Path) -> None:
        """Copy the original into a file that the child process may read."""
        from holdfast.documents import library
        from holdfast.documents.types import DocumentError

        try:
            with into.open("wb") as file:
                async for piece in library.original_pieces(self._store, self._document.id):
                    await asyncio.to_thread(file.write, piece)
        except NotFound:
            if await self._store.documents.get(self._document.id) is None:
                raise LeaseLost from None
            raise DocumentError(
                "Its original was deleted because a passage of it was forgotten.", fix="Add it again."
            ) from None

    async def _read(self, path: Path) -> None:
        from holdfast.documents.chunk import Chunk, Chunker
        from holdfast.documents.sandbox.spawn import parse_file
        from holdfast.documents.types import Progress, Section

        start = time.monotonic()
        chunker, held, count = Chunker(), list[Chunk](), 0
        async with aclosing(parse_file(path, self._document.name, self._rules.limits())) as pieces:
            async for piece in pieces:
                if isinstance(piece, Section):
                    held += chunker.add(piece)
                elif isinstance(piece, Progress):
                    await self._amend(percent=min(piece.percent, 99))
                else:
                    await self._tell(piece)
                while len(held) >= PASSAGES_PER_CHANGE:
                    count = await self._write(held[:PASSAGES_PER_CHANGE], count)
                    del held[:PASSAGES_PER_CHANGE]
        held += chunker.rest()
        while held:
            count = await self._write(held[:PASSAGES_PER_CHANGE], count)
            del held[:PASSAGES_PER_CHANGE]
        self._document = replace(
            self._document, seconds={**self._document.seconds, "read": round(time.monotonic() - start, 3)}
        )

    async def _tell(self, about: DocumentProperties) -> None:
        await self._amend(
            title=about.title, author=about.author, date=about.date, language=about.language, pages=about.pages,
            format=about.format, notes=about.notes,
        )  # fmt: skip

    async def _write(self, chunks: list[Chunk], before: int) -> int:
        messages = [self._message(chunk, before + n) for n, chunk in enumerate(chunks, 1)]
        parts = await asyncio.to_thread(_parts, messages)
        async with self._worker.expecting(self._who):
            await self._store.apply(Change(messages=tuple(messages), parts=parts))
        await self._amend(chunks=before + len(chunks))
        return before + len(chunks)

    def _message(self, chunk: Chunk, number: int) -> Message:
        document, now = self._document, self._clock()
        cited = {
            "document": document.id, "name": document.name, "title": document.title, "url": document.url,
            "page": chunk.page, "heading": " › ".join(chunk.heading) or None, "chunk": number,
        }  # fmt: skip
        about = {**document.metadata, **{name: value for name, value in cited.items() if value is not None}}
        id = identifiers.message_id(document.session_id, "document", chunk.whole)
        return Message(id, document.session_id, "document", chunk.whole, now, agent=document.agent, metadata=about)

    async def _done(self) -> None:
        """Forget the passages of earlier versions, now that all new ones are stored, and mark the document as done."""
        from holdfast.lifecycle.forget import ForgetOptions, forget_session

        for session in self._document.stale:
            await forget_session(self._store, session, ForgetOptions())
        await self._amend(None, state="done", stage="done", percent=100, stale=(), error=None, fix=None, retry_at=None)

    async def _failed(self, failure: Exception) -> None:
        """Schedule another try if it may help; else mark the document as failed and forget its new passages."""
        from holdfast.documents import library
        from holdfast.lifecycle.forget import ForgetOptions, forget_session

        document, now = self._document, self._clock()
        known = isinstance(failure, HoldfastError)
        if isinstance(failure, StorageError):
            log.warning("document %s will be retried, its storage failed: %s", document.id, failure)
        elif not known:
            log.warning("reading document %s failed", document.id, exc_info=failure)
        said = str(failure) if known else f"{type(failure).__name__}: {failure}"
        hopeless = isinstance(failure, InvalidInput) or document.tries >= MAX_TRIES
        fix = failure.fix if isinstance(failure, HoldfastError) else None
        about: dict[str, Any] = {"error": said[:1000], "fix": fix}
        self._worker.activity.documents["failed" if hopeless else "retried"] += 1
        if not hopeless:
            about["retry_at"] = now + min(FIRST_WAIT * 4 ** (document.tries - 1), LONGEST_WAIT)
        elif document.stage != "reading":
            about["state"] = "failed"
        else:  # move to a new session id, or the original would be deleted with the passages
            stale = (*document.stale, document.session_id)
            session = library.next_session_id(document.session_id)
            about |= {"state": "failed", "chunks": 0, "session_id": session, "stale": stale}
        with suppress(LeaseLost):
            await self._amend(None, **about)
            if hopeless and document.stage == "reading":
                await forget_session(self._store, document.session_id, ForgetOptions())

    async def _amend(self, until: timedelta | None = LEASE, original: Path | None = None, **changed: Any) -> None:
        now = self._clock()
        new = replace(self._document, updated_at=now, **changed)
        lent = None if until is None else max(now + until, self._held + timedelta(microseconds=1))
        if not await self._store.documents.amend(new, self._held, lent, original):
            raise LeaseLost
        self._document, self._held = new, lent or self._held


async def _has_readable(store: Store, now: datetime) -> bool:
    """Whether a waiting document could be parsed now."""
    if not await store.documents.waiting():
        return False
    every = await store.documents.list_all(2**31)
    return any(each.state == "waiting" and (each.retry_at is None or each.retry_at <= now) for each in every)


def _parts(messages: list[Message]) -> tuple[Part, ...]:
    from holdfast.text import passages

    return tuple(part for message in messages for part in passages.index_parts(message))
