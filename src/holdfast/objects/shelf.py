"""A shelf whose originals lie elsewhere, shut; the profile's own storage keeps what opens them.

A file's name is noted in the profile before the file is written or may have to go, and the note is taken away when both
sides agree again: a crash in between leaves a note, and what it names is removed if nothing refers to it (vault.py).
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import HoldfastError
from ..moments import iso, now
from ..ports import Store
from ..records import PARCEL
from ..results import Document
from ..shelves import ELSEWHERE, Blobs
from .parcel import Parcel, shut

log = logging.getLogger("holdfast")


class OutsideShelf:
    """The store's own shelf, but for where originals lie."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._shelf = store.shelf
        self._notes = store.journal
        self._blobs = blobs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shelf, name)

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        async with self._sent(document.id, original) as told:
            await self._shelf.put(document, told)

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        async with self._sent(document.id, original) as told:
            return await self._shelf.amend(document, held, until, told)

    async def original(self, id: str, number: int) -> bytes | None:
        parcel = None if number == ELSEWHERE else await self.parcel(id)
        if parcel is None:
            return await self._shelf.original(id, number)
        place = parcel.place(number)
        return None if place is None else parcel.opened(number, await self._blobs.get(parcel.name, *place))

    async def remove(self, id: str) -> bool:
        async with self.leaving([id]):
            return await self._shelf.remove(id)

    async def parcel(self, id: str) -> Parcel | None:
        told = await self._shelf.original(id, ELSEWHERE)
        return None if told is None else Parcel.read(told)

    async def parcels(self) -> dict[str, Parcel]:
        """Of every document whose original lies elsewhere."""
        every = [document.id for document in await self._shelf.listed(2**31) if document.original]
        found = {id: await self.parcel(id) for id in every}
        return {id: parcel for id, parcel in found.items() if parcel is not None}

    @asynccontextmanager
    async def leaving(self, ids: Sequence[str]) -> AsyncIterator[None]:
        """Around what may drop the originals of these documents: their files go with them."""
        before = [parcel.name for id in ids if (parcel := await self.parcel(id)) is not None]
        for name in before:
            await self._note(name)
        yield
        left = {parcel.name for id in ids if (parcel := await self.parcel(id)) is not None}
        await self.settle(before, left)

    async def settle(self, names: Sequence[str], kept: set[str]) -> None:
        """Remove the files that nothing refers to, and the notes of them; what fails is tried again later."""
        for name in names:
            try:
                if name not in kept:
                    await self._blobs.delete([name])
                await self._notes.lay_down(PARCEL + name, None)
            except HoldfastError as failure:
                log.warning("the file %s of an original cannot be removed yet: %s", name, failure)

    @asynccontextmanager
    async def _sent(self, id: str, original: Path | bytes | None) -> AsyncIterator[bytes | None]:
        """The file brought there, and what its profile keeps of it; one that it takes the place of goes."""
        if not isinstance(original, Path):
            yield original
            return
        with tempfile.TemporaryDirectory(prefix="holdfast-original-") as folder:
            closed = Path(folder) / "shut"
            parcel = await asyncio.to_thread(shut, original, closed)
            await self._note(parcel.name)
            try:
                async with self.leaving([id]):
                    await self._blobs.put(parcel.name, closed)
                    yield parcel.told()
            finally:
                left = await self.parcel(id)
                await self.settle([parcel.name], set() if left is None else {left.name})

    async def _note(self, name: str) -> None:
        await self._notes.lay_down(PARCEL + name, iso(now()))
