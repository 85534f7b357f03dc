"""One profile's documents, under the same row-level security as its memory, encrypted if the profile is."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER
from holdfast.domain.results import Document
from holdfast.domain.timestamps import to_micros
from holdfast.storage import rows
from holdfast.storage.postgres.connections import Database, Db, query
from holdfast.storage.postgres.encryption import ProfileCipher

_HAS_ORIGINAL = (
    "EXISTS (SELECT 1 FROM original WHERE original.profile = document.profile AND original.document = document.id)"
)


class PostgresDocumentStore:
    def __init__(self, database: Database, profile: int, cipher: ProfileCipher) -> None:
        self._database = database
        self._profile = profile
        self._cipher = cipher

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        row = self._row(document)
        statement = (
            f"INSERT INTO document (profile, {rows.DOCUMENT}) VALUES (%s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (profile, id) DO UPDATE SET session = excluded.session, state = excluded.state, "
            "wait_until = excluded.wait_until, created_at = excluded.created_at, data = excluded.data, lent = 0"
        )

        async def run(db: Db) -> None:
            await self._lock(db)
            await db.execute(statement, (self._profile, *row))
            await self._replace_original(db, document.id, original)

        await self._database.write(self._profile, run, timeout_seconds=None)

    async def get(self, id: str) -> Document | None:
        found = await self._read("AND id = %s", id)
        return found[0] if found else None

    async def list_all(self, limit: int) -> list[Document]:
        return await self._read('ORDER BY created_at DESC, id COLLATE "C" LIMIT %s', limit)

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        bound = {"p": self._profile, "now": to_micros(now), "until": to_micros(until), "me": self._database.process_id}
        ready = "SELECT 1 FROM document WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s LIMIT 1"
        statement = f"""
        UPDATE document SET lent = %(until)s, holder = %(me)s WHERE profile = %(p)s AND id = (
          SELECT id FROM document WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s
           ORDER BY created_at, id LIMIT 1
        ) AND NOT EXISTS (SELECT 1 FROM document WHERE profile = %(p)s AND lent > %(now)s) RETURNING data,
        {_HAS_ORIGINAL}
        """

        async def run(db: Db) -> list[Any]:
            await self._lock(db)  # two concurrent calls must not both lease a document
            return await query(db, statement, bound)

        if not await self._database.read(self._profile, lambda db: query(db, ready, bound)):
            return None
        found = await self._database.write(self._profile, run, skip_bookmark=True)
        return self._document(found[0]) if found else None

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        id, session, state, wait, _, data = self._row(document)
        row = (session, state, wait, data, 0 if until is None else to_micros(until), self._profile, id, to_micros(held))
        statement = (
            "UPDATE document SET session = %s, state = %s, wait_until = %s, data = %s, lent = %s "
            "WHERE profile = %s AND id = %s AND lent = %s RETURNING id"
        )

        async def run(db: Db) -> bool:
            if not await query(db, statement, row):
                return False
            await self._replace_original(db, document.id, original)
            return True

        return await self._database.write(self._profile, run, timeout_seconds=None)

    async def original(self, id: str, number: int) -> bytes | None:
        statement = "SELECT data FROM original WHERE profile = %s AND document = %s AND number = %s"
        bound = (self._profile, id, number)
        found = await self._database.read(self._profile, lambda db: query(db, statement, bound))
        return self._cipher.decrypt(found[0][0]) if found else None

    async def remove(self, id: str) -> bool:
        async def run(db: Db) -> bool:
            await db.execute("DELETE FROM original WHERE profile = %s AND document = %s", (self._profile, id))
            deleted = "DELETE FROM document WHERE profile = %s AND id = %s RETURNING id"
            return bool(await query(db, deleted, (self._profile, id)))

        return await self._database.write(self._profile, run)

    async def waiting(self) -> int:
        return await self._count("state = 'waiting'")

    async def lent(self, now: datetime) -> int:
        return await self._count("lent > %s", to_micros(now))

    async def _count(self, where: str, *bound: object) -> int:
        statement = f"SELECT count(*) FROM document WHERE profile = %s AND {where}"
        found = await self._database.read(self._profile, lambda db: query(db, statement, (self._profile, *bound)))
        return int(found[0][0])

    async def _read(self, rest: str, *bound: object) -> list[Document]:
        statement = f"SELECT data, {_HAS_ORIGINAL} FROM document WHERE profile = %s {rest}"
        found = await self._database.read(self._profile, lambda db: query(db, statement, (self._profile, *bound)))
        return [self._document(row) for row in found]

    async def _lock(self, db: Db) -> None:
        if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (self._profile,)):
            raise Conflict("The profile was deleted at the same time.")

    async def _replace_original(self, db: Db, id: str, original: Path | bytes | None) -> None:
        if original is None:
            return
        await db.execute("DELETE FROM original WHERE profile = %s AND document = %s", (self._profile, id))
        if isinstance(original, bytes):
            await self._insert(db, id, EXTERNAL_PIECE_NUMBER, original)
            return
        number = 0
        with original.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, rows.PIECE_BYTES):
                await self._insert(db, id, number, piece)
                number += 1

    async def _insert(self, db: Db, id: str, number: int, piece: bytes) -> None:
        row = (self._profile, id, number, self._cipher.encrypt(piece))
        await db.execute("INSERT INTO original VALUES (%s, %s, %s, %s)", row)

    def _row(self, document: Document) -> tuple[Any, ...]:
        return self._cipher.encrypt_row(rows.document_row(document), (-1,))

    def _document(self, row: tuple[Any, ...]) -> Document:
        return rows.document(self._cipher.decrypt_text(row[0]), row[1])
