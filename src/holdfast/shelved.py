"""The documents of one profile of this process's data folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from . import library
from .errors import InvalidInput, shown
from .ingest import metadata_of
from .kept import Kept
from .library import Source
from .once import once
from .recorder import traced
from .reported import id_of, limit_of
from .results import Document
from .trail import note, stage
from .types import Json, Message

POLL_SECONDS = 0.05


class Shelved(Kept):
    """A profile, as far as it is about documents."""

    @traced
    async def add(
        self,
        source: str | Path | bytes | Source,
        *,
        name: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        wait: bool = False,
        on_progress: Callable[[Document], None] | None = None,
        idempotency_key: str | None = None,
    ) -> Document:
        """Have a file, a page at an address, or a text read into memory.

        It is on disk when this returns, and read in the background. With `wait`, read and digested as well, or `error`
        says why not; `on_progress`, which waits too, is told of every step. The same file twice is one document, and a
        page that has changed replaces what it said before.
        """
        about = metadata_of(metadata, "metadata")
        wanted = library.source_of(source)
        rules, now = self._holdfast._documents, self._holdfast._clock()
        with library.scratch() as folder:
            new, path = await asyncio.to_thread(library.fresh, wanted, folder, name, rules, now)
            asked = once(idempotency_key, "add", new.id, name, about)
            store = await self._written_to()
            async with self._holdfast._worker.expecting(self._who):
                id = await library.shelve_once(store, new, path, about, asked)
        note(document=id)
        self._holdfast._readers.notify(self._who)
        return await (library.found(store, id) if not wait and on_progress is None else self._followed(id, on_progress))

    async def _followed(self, id: str, told: Callable[[Document], None] | None) -> Document:
        """Wait until it is read or has failed, telling how far it is."""
        store, last = await self._store(), None
        with stage("read"):
            while True:
                document = await library.found(store, id)
                if told is not None and document != last:
                    told(document)
                last = document
                if document.state != "waiting" or document.error is not None:
                    break
                await asyncio.sleep(POLL_SECONDS)
        if document.state == "done":
            with stage("digest"):
                await self._holdfast._worker.settled(self._who, None)
        return await library.counted(store, await library.found(store, id))

    @traced
    async def documents(self, *, limit: int = 100) -> tuple[Document, ...]:
        """What was added, newest first, with how far each is."""
        return tuple(await (await self._read()).shelf.listed(limit_of(limit, most=100_000)))

    @traced
    async def document(self, id: str) -> Document:
        """One document: its stage, what it says of itself, and why it failed if it did."""
        store = await self._read()
        return await library.counted(store, await library.found(store, id_of(id)))

    @traced
    async def retry_document(self, id: str) -> Document:
        """Read it once more: one that failed, or a page that may have changed."""
        store = await self._store()
        document = await library.found(store, id_of(id))
        if document.state == "failed" or document.url is not None or document.error is not None:
            async with self._holdfast._worker.expecting(self._who):
                await store.shelf.put(library.again(document))
            self._holdfast._readers.notify(self._who)
        return await library.found(store, document.id)

    @traced
    async def passages(self, id: str, *, after: int = 0, limit: int = 100) -> tuple[Message, ...]:
        """What was read of a document, in order, with page and heading in their metadata.

        The next ones are those after the `position` of the last.
        """
        if not isinstance(after, int) or not 0 <= after < 2**62:
            raise InvalidInput(f"after is {shown(after)}; give the position of a passage.", field="after")
        return tuple(await library.passages(await self._read(), id_of(id), after, limit_of(limit)))

    @traced
    async def original(self, id: str) -> bytes:
        """What was given, byte for byte."""
        return b"".join([piece async for piece in self._original_pieces(id)])

    def _original_pieces(self, id: str) -> AsyncIterator[bytes]:
        """The same, a megabyte at a time."""

        async def run() -> AsyncIterator[bytes]:
            async for piece in library.pieces(await self._read(), id_of(id)):
                yield piece

        return run()
