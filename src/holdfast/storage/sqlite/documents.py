"""One profile's documents, in the same file as its memory: encrypted with it and deleted with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw

from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER
from holdfast.domain.results import Document
from holdfast.domain.timestamps import to_micros
from holdfast.storage import rows
from holdfast.storage.sqlite.connection import Row, query
from holdfast.storage.sqlite.file import DatabaseFile

_HAS_ORIGINAL = "EXISTS (SELECT 1 FROM original WHERE document = document.id)"
_PLACEHOLDERS = ", ".join("?" * len(rows.DOCUMENT.split(",")))


class SqliteDocumentStore:
    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        def write(db: apsw.Connection) -> None:
            db.execute(
                f"INSERT OR REPLACE INTO document ({rows.DOCUMENT}) VALUES ({_PLACEHOLDERS})",
                rows.document_row(document),
            )
            _replace_original(db, document.id, original)

        await self._file.write(write)

    async def get(self, id: str) -> Document | None:
        found = await self._read("WHERE id = ?", id)
        return found[0] if found else None

    async def list_all(self, limit: int) -> list[Document]:
        return await self._read("ORDER BY created_at DESC, id LIMIT ?", limit)

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        statement = f"""
        UPDATE document SET lent = ?2 WHERE id = (
          SELECT id FROM document WHERE state = 'waiting' AND wait_until <= ?1 ORDER BY created_at, id LIMIT 1
        ) AND NOT EXISTS (SELECT 1 FROM document WHERE lent > ?1) RETURNING data, {_HAS_ORIGINAL}
        """
        found = await self._file.write(lambda db: query(db, statement, (to_micros(now), to_micros(until))))
        return rows.document(*found[0]) if found else None

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        _, session, state, wait, _, data = rows.document_row(document)
        row = (session, state, wait, data, 0 if until is None else to_micros(until), document.id, to_micros(held))
        statement = (
            "UPDATE document SET session = ?, state = ?, wait_until = ?, data = ?, lent = ? WHERE id = ? AND lent = ? "
            "RETURNING id"
        )

        def write(db: apsw.Connection) -> bool:
            if not query(db, statement, row):
                return False
            _replace_original(db, document.id, original)
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

        deleted = await self._file.write(delete)
        await self._file.scrub()
        return bool(deleted)

    async def waiting(self) -> int:
        return await self._count("state = 'waiting' AND ? IS NULL", None)

    async def lent(self, now: datetime) -> int:
        return await self._count("lent > ?", to_micros(now))

    async def _count(self, where: str, bound: object) -> int:
        found = await self._file.read(lambda db: query(db, f"SELECT count(*) FROM document WHERE {where}", (bound,)))
        return int(found[0][0])

    async def _read(self, rest: str, bound: object) -> list[Document]:
        statement = f"SELECT data, {_HAS_ORIGINAL} FROM document {rest}"
        return [rows.document(*row) for row in await self._file.read(lambda db: query(db, statement, (bound,)))]


def _replace_original(db: apsw.Connection, id: str, original: Path | bytes | None) -> None:
    if original is not None:
        db.execute("DELETE FROM original WHERE document = ?", (id,))
        for number, piece in _pieces(original):
            db.execute("INSERT INTO original VALUES (?, ?, ?)", (id, number, piece))


def _pieces(original: Path | bytes) -> Iterator[tuple[int, bytes]]:
    if isinstance(original, bytes):
        yield EXTERNAL_PIECE_NUMBER, original
        return
    with original.open("rb") as file:
        yield from enumerate(iter(lambda: file.read(rows.PIECE_BYTES), b""))
