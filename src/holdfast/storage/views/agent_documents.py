"""A profile's documents as one agent sees them; the documents it adds are its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from holdfast.domain.errors import AlreadyExists
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.results import Document
from holdfast.domain.visibility import Visibility


class AgentDocumentStore:
    """A DocumentStore limited to what an agent may see."""

    def __init__(self, documents: DocumentStore, visibility: Visibility) -> None:
        self._documents = documents
        self._visibility = visibility

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        known = await self._documents.get(document.id)
        if known is not None and not self._visibility.sees(known.agent):
            raise AlreadyExists("Another agent has already added the same document.", field="source")
        agent = self._visibility.agent if known is None else known.agent  # a document of another agent keeps its owner
        await self._documents.put(replace(document, agent=agent or document.agent), original)

    async def get(self, id: str) -> Document | None:
        found = await self._documents.get(id)
        return found if found is not None and self._visibility.sees(found.agent) else None

    async def list_all(self, limit: int) -> list[Document]:
        if self._visibility.whole:
            return await self._documents.list_all(limit)
        return [each for each in await self._documents.list_all(2**31 - 1) if self._visibility.sees(each.agent)][:limit]

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        """Always None: documents are parsed through the profile's own store, not through an agent's view."""
        return None

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        return False

    async def original(self, id: str, number: int) -> bytes | None:
        return None if await self.get(id) is None else await self._documents.original(id, number)

    async def remove(self, id: str) -> bool:
        return await self.get(id) is not None and await self._documents.remove(id)

    async def waiting(self) -> int:
        return await self._documents.waiting()

    async def lent(self, now: datetime) -> int:
        return await self._documents.lent(now)
