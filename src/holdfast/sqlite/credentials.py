"""Credentials in the catalogue: everything but the tokens."""

from __future__ import annotations

from datetime import datetime

import apsw

from .. import stored
from ..credentials import Credential
from ..moments import at_micros, micros
from ..records import Act
from .file import File, query


class SqliteCredentials:
    def __init__(self, catalogue: File) -> None:
        self._catalogue = catalogue

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*stored.credential_row(credential), digest)
        statement = (
            f"INSERT OR REPLACE INTO credential ({stored.CREDENTIAL}, digest) VALUES ({', '.join('?' * len(row))})"
        )
        await self._catalogue.write(lambda db: query(db, statement, row))

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        statement = f"SELECT {stored.CREDENTIAL}, digest FROM credential WHERE id = ?"
        found = await self._catalogue.read(lambda db: query(db, statement, (id,)))
        return (stored.credential(found[0][:-1]), found[0][-1]) if found else None

    async def listed(self) -> list[Credential]:
        statement = f"SELECT {stored.CREDENTIAL} FROM credential ORDER BY created_at DESC, id"
        return [stored.credential(row) for row in await self._catalogue.read(lambda db: query(db, statement))]

    async def end(self, id: str, at: datetime) -> bool:
        still = "(revoked_at IS NULL OR revoked_at > ?1)"
        statement = f"UPDATE credential SET revoked_at = ?1 WHERE id = ?2 AND {still} RETURNING id"
        return bool(await self._catalogue.write(lambda db: query(db, statement, (micros(at), id))))

    async def used(self, id: str, at: datetime) -> None:
        await self._catalogue.write(
            lambda db: query(db, "UPDATE credential SET used_at = ? WHERE id = ?", (micros(at), id))
        )

    async def note(self, act: Act) -> None:
        row = (micros(act.at), act.credential, act.what, act.thing)
        statement = "INSERT INTO act (at, credential, what, thing) VALUES (?, ?, ?, ?)"
        await self._catalogue.write(lambda db: query(db, statement, row))

    async def acts(self, limit: int) -> list[Act]:
        statement = "SELECT at, credential, what, thing FROM act ORDER BY n DESC LIMIT ?"
        found = await self._catalogue.read(lambda db: query(db, statement, (limit,)))
        return [Act(at_micros(at), *rest) for at, *rest in found]


def dropped(db: apsw.Connection, namespace: str, profile: str | None) -> None:
    """A deleted place takes its credentials along."""
    query(
        db,
        "DELETE FROM credential WHERE namespace = ?1 AND (?2 IS NULL OR profile = ?2)",
        (namespace, profile),
    )
