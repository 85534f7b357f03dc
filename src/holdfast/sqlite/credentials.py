"""Credentials in the catalogue: everything but the tokens."""

from __future__ import annotations

from datetime import datetime

import apsw

from .. import stored
from ..credentials import Credential, Grant
from ..moments import at_micros, micros
from ..records import Act
from .file import File, query

_GRANT = f"INSERT INTO granted ({stored.GRANT}) VALUES (?, ?, ?, ?)"


class SqliteCredentials:
    def __init__(self, catalogue: File) -> None:
        self._catalogue = catalogue

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*stored.credential_row(credential), digest)
        statement = (
            f"INSERT OR REPLACE INTO credential ({stored.CREDENTIAL}, digest) VALUES ({', '.join('?' * len(row))})"
        )

        def write(db: apsw.Connection) -> None:
            query(db, statement, row)
            query(db, "DELETE FROM granted WHERE credential = ?", (credential.id,))
            for grant in credential.grants:
                query(db, _GRANT, stored.grant_row(credential.id, grant))

        await self._catalogue.write(write)

    async def grant(self, id: str, grant: Grant) -> None:
        def write(db: apsw.Connection) -> None:
            place = (id, grant.namespace, grant.profile)
            query(db, "DELETE FROM granted WHERE credential = ? AND namespace = ? AND profile = ?", place)
            if grant.rights and query(db, "SELECT 1 FROM credential WHERE id = ?", (id,)):
                query(db, _GRANT, stored.grant_row(id, grant))

        await self._catalogue.write(write)

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        statement = f"SELECT {stored.CREDENTIAL}, digest FROM credential WHERE id = ?"
        grants = f"SELECT {stored.GRANT} FROM granted WHERE credential = ?"
        found, held = await self._catalogue.read(lambda db: (query(db, statement, (id,)), query(db, grants, (id,))))
        return (stored.credential(found[0][:-1], held), found[0][-1]) if found else None

    async def listed(self) -> list[Credential]:
        statement = f"SELECT {stored.CREDENTIAL} FROM credential ORDER BY created_at DESC, id"
        grants = f"SELECT {stored.GRANT} FROM granted"
        return stored.credentials(*await self._catalogue.read(lambda db: (query(db, statement), query(db, grants))))

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
    """A deleted place takes its credentials along, and what others were granted in it."""
    query(
        db,
        "DELETE FROM credential WHERE namespace = ?1 AND (?2 IS NULL OR profile = ?2)",
        (namespace, profile),
    )
    query(db, "DELETE FROM granted WHERE namespace = ?1 AND (?2 IS NULL OR profile = ?2)", (namespace, profile))
    query(db, "DELETE FROM granted WHERE credential NOT IN (SELECT id FROM credential)")
