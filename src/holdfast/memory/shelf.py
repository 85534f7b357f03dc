"""One profile's documents, in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from .. import stored
from ..results import Document
from ..shelves import ELSEWHERE

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Held:
    document: Document
    lent: datetime = _NEVER
    pieces: tuple[tuple[int, bytes], ...] = ()


class MemoryShelf:
    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        before = self._held.get(document.id)
        pieces = before.pieces if before else ()
        self._held[document.id] = _Held(document, _NEVER, pieces if original is None else _pieces(original))

    async def get(self, id: str) -> Document | None:
        return self._seen(self._held[id]) if id in self._held else None

    async def listed(self, limit: int) -> list[Document]:
        found = sorted((self._seen(each) for each in self._held.values()), key=lambda document: document.id)
        return sorted(found, key=lambda document: document.created_at, reverse=True)[:limit]

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        waiting = [each for each in self._held.values() if each.document.state == "waiting"]
        ready = [each for each in waiting if (each.document.retry_at or _NEVER) <= now]
        if not ready or await self.lent(now):
            return None
        first = min(ready, key=lambda each: (each.document.created_at, each.document.id))
        first.lent = until
        return self._seen(first)

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        known = self._held.get(document.id)
        if known is None or known.lent != held:
            return False
        await self.put(document, original)
        self._held[document.id].lent = until or _NEVER
        return True

    async def original(self, id: str, number: int) -> bytes | None:
        known = self._held.get(id)
        return None if known is None else dict(known.pieces).get(number)

    async def remove(self, id: str) -> bool:
        return self._held.pop(id, None) is not None

    async def waiting(self) -> int:
        return sum(each.document.state == "waiting" for each in self._held.values())

    async def lent(self, now: datetime) -> int:
        return sum(each.lent > now for each in self._held.values())

    def drop(self, sessions: Set[str | None], documents: Sequence[str]) -> None:
        for id in documents:
            self._held.pop(id, None)
        for each in self._held.values():
            if each.document.session_id in sessions:
                each.pieces = ()

    def _seen(self, held: _Held) -> Document:
        return replace(held.document, original=bool(held.pieces), pending=0)


def _pieces(original: Path | bytes) -> tuple[tuple[int, bytes], ...]:
    if isinstance(original, bytes):
        return ((ELSEWHERE, original),)
    data, size = original.read_bytes(), stored.PIECE
    return tuple((n, data[start : start + size]) for n, start in enumerate(range(0, len(data), size)))
