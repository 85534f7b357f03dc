"""One profile's documents, beside its memory in the same file: encrypted with it, and gone with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw

from .. import stored
from ..moments import micros
from ..results import Document
from ..shelves import ELSEWHERE
from .file import File, Row, query

_KEPT = "EXISTS (SELECT 1 FROM original WHERE document = document.id)"
_PLACES = ", ".join("?" * len(stored.DOCUMENT.split(",")))


class SqliteShelf:
    def __init__(self, file: File) -> None:
        self._file = file

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        def write(db: apsw.Connection) -> None:
            db.execute(
                f"INSERT OR REPLACE INTO document ({stored.DOCUMENT}) VALUES ({_PLACES})", stored.document_row(document)
            )
            _keep(db, document.id, original)

        await self._file.write(write)

    async def get(self, id: str) -> Document | None:
        found = await self._read("WHERE id = ?", id)
        return found[0] if found else None

    async def listed(self, limit: int) -> list[Document]:
        return await self._read("ORDER BY created_at DESC, id LIMIT ?", limit)

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        statement = f"""
        UPDATE document SET lent = ?2 WHERE id = (
          SELECT id FROM document WHERE state = 'waiting' AND wait_until <= ?1 ORDER BY created_at, id LIMIT 1
        ) AND NOT EXISTS (SELECT 1 FROM document WHERE lent > ?1) RETURNING data, {_KEPT}
        """
        found = await self._file.write(lambda db: query(db, statement, (micros(now), micros(until))))
        return stored.document(*found[0]) if found else None

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        _, session, state, wait, _, data = stored.document_row(document)
        row = (session, state, wait, data, 0 if until is None else micros(until), document.id, micros(held))
        statement = (
            "UPDATE document SET session = ?, state = ?, wait_until = ?, data = ?, lent = ? WHERE id = ? AND lent = ? "
            "RETURNING id"
        )

        def write(db: apsw.Connection) -> bool:
            if not query(db, statement, row):
                return False
            _keep(db, document.id, original)
            return True

        return await self._file.write(write)

    async def original(self, id: str, number: int) -> bytes | None:
        statement = "SELECT data FROM original WHERE document = ? AND number = ?"
        found = await self._file.read(lambda db: query(db, statement, (id, number)))
        return bytes(found[0][0]) if found else None

    async def remove(self, id: str) -> bool:
        def delete(db: apsw.Connection) -> list[Row]:
            db.execute("DELETE FROM original WHERE document = ?", (id,))
            return query(db, "DELETE FROM document WHERE id = ? RETURNING id", (id,))

        gone = await self._file.write(delete)
        await self._file.scrub()
        return bool(gone)

    async def waiting(self) -> int:
        return await self._count("state = 'waiting' AND ? IS NULL", None)

    async def lent(self, now: datetime) -> int:
        return await self._count("lent > ?", micros(now))

    async def _count(self, where: str, bound: object) -> int:
        found = await self._file.read(lambda db: query(db, f"SELECT count(*) FROM document WHERE {where}", (bound,)))
        return int(found[0][0])

    async def _read(self, rest: str, bound: object) -> list[Document]:
        statement = f"SELECT data, {_KEPT} FROM document {rest}"
        return [stored.document(*row) for row in await self._file.read(lambda db: query(db, statement, (bound,)))]


def _keep(db: apsw.Connection, id: str, original: Path | bytes | None) -> None:
    if original is not None:
        db.execute("DELETE FROM original WHERE document = ?", (id,))
        for number, piece in _pieces(original):
            db.execute("INSERT INTO original VALUES (?, ?, ?)", (id, number, piece))


def _pieces(original: Path | bytes) -> Iterator[tuple[int, bytes]]:
    if isinstance(original, bytes):
        yield ELSEWHERE, original
        return
    with original.open("rb") as file:
        yield from enumerate(iter(lambda: file.read(stored.PIECE), b""))
