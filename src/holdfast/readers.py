"""Read what waits: fetch it, take its text out in a child process, write its passages batch by batch.

What is to be done stands with the document, and a passage's id follows from its words: whoever comes after a crash
writes the same rows and goes on. Two documents are read at once, one of a profile. A document is lent to its reader:
one that was forgotten meanwhile is not lent any more, and the reader takes back what it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from . import library, names, passages
from .documents.chunk import Chunk, Chunker
from .documents.spawn import parsed
from .documents.types import About, DocumentError, Progress, Section
from .errors import Closed, HoldfastError, InvalidInput, NotFound, StorageError
from .forget import How, forget_session
from .library import SCRATCH, Rules, hashed, scratch
from .ports import Store, Vault
from .results import Document
from .types import Change, Message, Part
from .worker import Who, Worker

log = logging.getLogger("holdfast")
AT_ONCE = 2
BATCH = 50
LEASE = timedelta(minutes=5)
"""Longer than any step between two renewals may take."""
TRIES = 5
MOST_TRIES = 20
"""After which one that was cut off again and again is given up: it may be what ends the process."""
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
LEFT_SECONDS = 3600.0
PEEK_SECONDS = 0.05


class Lost(Exception):
    """The document is not lent to us any more: it was forgotten, or given again."""


class Readers:
    def __init__(self, vault: Vault, worker: Worker, rules: Rules, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._worker = worker
        self._rules = rules
        self._clock = clock
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[Who, asyncio.Task[None]] = {}
        self._asked: set[Who] = set()
        self._stopping = False

    def notify(self, who: Who) -> None:
        """There may be a document to read."""
        self._asked.add(who)
        if who not in self._tasks and not self._stopping:
            self._tasks[who] = asyncio.create_task(self._run(who), name="holdfast-reader")

    async def revisit(self, who: Who, store: Store) -> None:
        """Have pages fetched anew that were not asked for a while."""
        if self._rules.again is None or not self._rules.fetch:
            return
        before = self._clock() - self._rules.again
        old = [each for each in await store.shelf.listed(2**31) if each.url and each.updated_at <= before]
        for document in old:
            if document.state != "waiting":
                async with self._worker.expecting(who):
                    await store.shelf.put(library.again(document))
        if old:
            self.notify(who)

    async def idle(self, who: Who) -> None:
        """Wait until nothing of this profile can be read now, here or in another process."""
        while True:
            while (task := self._tasks.get(who)) is not None:
                await asyncio.wait([task])
            try:
                store = await self._vault.open(*who, create=False)
            except NotFound:
                return
            if not await store.shelf.lent(self._clock()):
                if self._stopping or not await _ready(store, self._clock()):
                    return
                self.notify(who)  # another process read here and is gone, and left some
            await asyncio.sleep(PEEK_SECONDS)

    async def stop(self) -> None:
        self._stopping = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        finally:
            self._tasks.pop(who, None)

    async def _next(self, who: Who) -> bool:
        """Read one document; False when there is none to read now."""
        store = await self._vault.open(*who, create=False)
        async with self._turns:
            until = self._clock() + LEASE
            document = await store.shelf.claim(self._clock(), until)
            if document is None:
                return False
            await _Reading(store, document, until, self, who).run()
            return True


class _Reading:
    """One document in a reader's hands."""

    def __init__(self, store: Store, document: Document, held: datetime, readers: Readers, who: Who) -> None:
        self._store = store
        self._document = document
        self._held = held
        self._clock = readers._clock
        self._rules = readers._rules
        self._worker = readers._worker
        self._who = who

    async def run(self) -> None:
        try:
            await self._amend(tries=self._document.tries + 1)
            if self._document.tries > MOST_TRIES:
                raise DocumentError("Reading it was cut off again and again; it may be what ends the process.")
            with scratch() as folder:
                if self._document.stage == "fetching" and not await self._fetched(folder / "fetched"):
                    return
                await self._copied(folder / "original")
                await self._read(folder / "original")
            await self._done()
        except asyncio.CancelledError:
            with suppress(HoldfastError):  # whoever starts next need not wait for the lease
                await self._store.shelf.amend(self._document, self._held, None)
            raise
        except Lost:
            if await self._store.shelf.get(self._document.id) is None:
                await forget_session(self._store, self._document.session_id, How())
        except (Closed, NotFound):
            raise
        except Exception as failure:  # whatever a parser or a server does, the document stays, and the reason is seen
            await self._failed(failure)

    async def _fetched(self, into: Path) -> bool:
        """Bring it here; False when it is as it was."""
        from .documents.fetch import Known, fetched

        document, start = self._document, time.monotonic()
        known = Known(document.etag, document.last_modified)
        assert document.url is not None
        got = await fetched(document.url, self._rules.policy(), into, known)
        about: dict[str, Any] = {"seconds": {"fetch": round(time.monotonic() - start, 3)}}
        if not got.unchanged:
            sha, size = await asyncio.to_thread(hashed, into, self._rules.bytes, document.name)
            about |= {"sha256": sha, "bytes": size, "etag": got.etag, "last_modified": got.last_modified}
        if got.unchanged or about["sha256"] == document.sha256:
            await self._amend(None, state="done", stage="done", percent=100, **about)
            return False
        if document.name == document.url[: library.NAME_BYTES] and got.name:
            about["name"] = got.name
        if document.chunks:  # there is a version before this one
            session, stale = library.next_session(document.session_id), (*document.stale, document.session_id)
            about |= {"version": document.version + 1, "session_id": session, "stale": stale}
        await self._amend(stage="reading", percent=0, chunks=0, original=into, **about)
        return True

    async def _copied(self, into: Path) -> None:
        """The original as a file, which the child may read."""
        try:
            with into.open("wb") as file:
                async for piece in library.pieces(self._store, self._document.id):
                    await asyncio.to_thread(file.write, piece)
        except NotFound:
            if await self._store.shelf.get(self._document.id) is None:
                raise Lost from None
            raise DocumentError(
                "Its original is gone, since a passage of it was forgotten.", fix="Add it again."
            ) from None

    async def _read(self, path: Path) -> None:
        start = time.monotonic()
        chunker, held, count = Chunker(), list[Chunk](), 0
        async with aclosing(parsed(path, self._document.name, self._rules.limits())) as pieces:
            async for piece in pieces:
                if isinstance(piece, Section):
                    held += chunker.add(piece)
                elif isinstance(piece, Progress):
                    await self._amend(percent=min(piece.percent, 99))
                else:
                    await self._tell(piece)
                while len(held) >= BATCH:
                    count = await self._write(held[:BATCH], count)
                    del held[:BATCH]
        held += chunker.rest()
        while held:
            count = await self._write(held[:BATCH], count)
            del held[:BATCH]
        self._document = replace(
            self._document, seconds={**self._document.seconds, "read": round(time.monotonic() - start, 3)}
        )

    async def _tell(self, about: About) -> None:
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
        id = names.message_id(document.session_id, "document", chunk.whole)
        return Message(id, document.session_id, "document", chunk.whole, now, agent=document.agent, metadata=about)

    async def _done(self) -> None:
        """What earlier versions said is not found any more, once all of this one is."""
        for session in self._document.stale:
            await forget_session(self._store, session, How())
        await self._amend(None, state="done", stage="done", percent=100, stale=(), error=None, fix=None, retry_at=None)

    async def _failed(self, failure: Exception) -> None:
        """Tried again later if that may help; else given up in sight, without the half that was read."""
        document, now = self._document, self._clock()
        known = isinstance(failure, HoldfastError)
        if isinstance(failure, StorageError):
            log.warning("document %s waits, its storage refuses: %s", document.id, failure)
        elif not known:
            log.warning("reading document %s failed", document.id, exc_info=failure)
        said = str(failure) if known else f"{type(failure).__name__}: {failure}"
        hopeless = isinstance(failure, InvalidInput) or document.tries >= TRIES
        fix = failure.fix if isinstance(failure, HoldfastError) else None
        about: dict[str, Any] = {"error": said[:1000], "fix": fix}
        if not hopeless:
            about["retry_at"] = now + min(FIRST_WAIT * 4 ** (document.tries - 1), LONGEST_WAIT)
        elif document.stage != "reading":
            about["state"] = "failed"
        else:  # under another session, or the original would go with the passages
            stale = (*document.stale, document.session_id)
            session = library.next_session(document.session_id)
            about |= {"state": "failed", "chunks": 0, "session_id": session, "stale": stale}
        with suppress(Lost):
            await self._amend(None, **about)
            if hopeless and document.stage == "reading":
                await forget_session(self._store, document.session_id, How())

    async def _amend(self, until: timedelta | None = LEASE, original: Path | None = None, **changed: Any) -> None:
        now = self._clock()
        new = replace(self._document, updated_at=now, **changed)
        lent = None if until is None else max(now + until, self._held + timedelta(microseconds=1))
        if not await self._store.shelf.amend(new, self._held, lent, original):
            raise Lost
        self._document, self._held = new, lent or self._held


async def _ready(store: Store, now: datetime) -> bool:
    """Whether some document could be read now."""
    if not await store.shelf.waiting():
        return False
    every = await store.shelf.listed(2**31)
    return any(each.state == "waiting" and (each.retry_at is None or each.retry_at <= now) for each in every)


def _parts(messages: list[Message]) -> tuple[Part, ...]:
    return tuple(part for message in messages for part in passages.parts(message))


def sweep_scratch() -> None:
    """Remove what readers that were killed had in hand."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        owner = folder.name.removeprefix(SCRATCH).partition("-")[0]
        with suppress(OSError):
            about = folder.stat()
            mine = about.st_uid == os.getuid() if hasattr(os, "getuid") else True
            if mine and owner.isdecimal() and not _alive(int(owner)) and time.time() - about.st_mtime > LEFT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    if os.name == "nt":  # where asking would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
