"""The documents of a profile, as far as one agent sees them; those it adds are its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from .errors import AlreadyExists
from .results import Document
from .shelves import Shelf
from .sights import Sight


class ShelfView:
    """A Shelf, as far as a sight reaches."""

    def __init__(self, shelf: Shelf, sight: Sight) -> None:
        self._shelf = shelf
        self._sight = sight

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        known = await self._shelf.get(document.id)
        if known is not None and not self._sight.sees(known.agent):
            raise AlreadyExists("The same document is known already, from another agent.", field="source")
        agent = self._sight.agent if known is None else known.agent  # what others added stays theirs
        await self._shelf.put(replace(document, agent=agent or document.agent), original)

    async def get(self, id: str) -> Document | None:
        found = await self._shelf.get(id)
        return found if found is not None and self._sight.sees(found.agent) else None

    async def listed(self, limit: int) -> list[Document]:
        if self._sight.whole:
            return await self._shelf.listed(limit)
        return [each for each in await self._shelf.listed(2**31 - 1) if self._sight.sees(each.agent)][:limit]

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        """Reading is the profile's, nobody's view of it."""
        return None

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        return False

    async def original(self, id: str, number: int) -> bytes | None:
        return None if await self.get(id) is None else await self._shelf.original(id, number)

    async def remove(self, id: str) -> bool:
        return await self.get(id) is not None and await self._shelf.remove(id)

    async def waiting(self) -> int:
        return await self._shelf.waiting()

    async def lent(self, now: datetime) -> int:
        return await self._shelf.lent(now)
