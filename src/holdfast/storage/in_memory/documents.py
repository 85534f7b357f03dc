"""One profile's documents in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER
from holdfast.domain.results import Document
from holdfast.storage import rows

_DISTANT_PAST = datetime.min.replace(tzinfo=UTC)
"""The end of the lease of a document that is not leased, and the retry time of one that may be read at once."""


@dataclass(slots=True)
class _StoredDocument:
    document: Document
    lent: datetime = _DISTANT_PAST
    pieces: tuple[tuple[int, bytes], ...] = ()


class MemoryDocumentStore:
    def __init__(self) -> None:
        self._stored: dict[str, _StoredDocument] = {}

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        before = self._stored.get(document.id)
        pieces = before.pieces if before else ()
        self._stored[document.id] = _StoredDocument(
            document, _DISTANT_PAST, pieces if original is None else _pieces(original)
        )

    async def get(self, id: str) -> Document | None:
        return self._document(self._stored[id]) if id in self._stored else None

    async def list_all(self, limit: int) -> list[Document]:
        found = sorted((self._document(each) for each in self._stored.values()), key=lambda document: document.id)
        return sorted(found, key=lambda document: document.created_at, reverse=True)[:limit]

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        waiting = [each for each in self._stored.values() if each.document.state == "waiting"]
        ready = [each for each in waiting if (each.document.retry_at or _DISTANT_PAST) <= now]
        if not ready or await self.lent(now):
            return None
        first = min(ready, key=lambda each: (each.document.created_at, each.document.id))
        first.lent = until
        return self._document(first)

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        known = self._stored.get(document.id)
        if known is None or known.lent != held:
            return False
        await self.put(document, original)
        self._stored[document.id].lent = until or _DISTANT_PAST
        return True

    async def original(self, id: str, number: int) -> bytes | None:
        known = self._stored.get(id)
        return None if known is None else dict(known.pieces).get(number)

    async def remove(self, id: str) -> bool:
        return self._stored.pop(id, None) is not None

    async def waiting(self) -> int:
        return sum(each.document.state == "waiting" for each in self._stored.values())

    async def lent(self, now: datetime) -> int:
        return sum(each.lent > now for each in self._stored.values())

    def delete_of(self, sessions: Set[str | None], documents: Sequence[str], left: Set[str]) -> list[Document]:
        """Delete these documents, the originals of documents with these sessions, and those of which no passage is
        left; returns the deleted ones."""
        deleted = [id for id in documents if id in self._stored]
        for id, each in self._stored.items():
            if each.document.session_id in sessions:
                each.pieces = ()
                if each.document.state == "done" and each.document.session_id not in left:
                    deleted.append(id)
        return [self._stored.pop(id).document for id in dict.fromkeys(deleted)]

    def _document(self, stored: _StoredDocument) -> Document:
        return replace(stored.document, original=bool(stored.pieces), pending=0)


def _pieces(original: Path | bytes) -> tuple[tuple[int, bytes], ...]:
    if isinstance(original, bytes):
        return ((EXTERNAL_PIECE_NUMBER, original),)
    data, size = original.read_bytes(), rows.PIECE_BYTES
    return tuple((n, data[start : start + size]) for n, start in enumerate(range(0, len(data), size)))
