"""Credentials in the catalogue; tokens are stored as hashes only."""

from __future__ import annotations

from datetime import datetime

import apsw

from holdfast.domain.credentials import Credential, Grant
from holdfast.domain.records import AdminAction
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.storage import rows
from holdfast.storage.sqlite.connection import query
from holdfast.storage.sqlite.file import DatabaseFile

_GRANT = f"INSERT INTO granted ({rows.GRANT}) VALUES (?, ?, ?, ?)"


class SqliteCredentials:
    def __init__(self, catalogue: DatabaseFile) -> None:
        self._catalogue = catalogue

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*rows.credential_row(credential), digest)
        statement = (
            f"INSERT OR REPLACE INTO credential ({rows.CREDENTIAL}, digest) VALUES ({', '.join('?' * len(row))})"
        )

        def write(db: apsw.Connection) -> None:
            query(db, statement, row)
            query(db, "DELETE FROM granted WHERE credential = ?", (credential.id,))
            for grant in credential.grants:
                query(db, _GRANT, rows.grant_row(credential.id, grant))

        await self._catalogue.write(write)

    async def grant(self, id: str, grant: Grant) -> None:
        def write(db: apsw.Connection) -> None:
            place = (id, grant.namespace, grant.profile)
            query(db, "DELETE FROM granted WHERE credential = ? AND namespace = ? AND profile = ?", place)
            if grant.rights and query(db, "SELECT 1 FROM credential WHERE id = ?", (id,)):
                query(db, _GRANT, rows.grant_row(id, grant))

        await self._catalogue.write(write)

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        statement = f"SELECT {rows.CREDENTIAL}, digest FROM credential WHERE id = ?"
        grants = f"SELECT {rows.GRANT} FROM granted WHERE credential = ?"
        found, granted = await self._catalogue.read(lambda db: (query(db, statement, (id,)), query(db, grants, (id,))))
        return (rows.credential(found[0][:-1], granted), found[0][-1]) if found else None

    async def list_all(self) -> list[Credential]:
        statement = f"SELECT {rows.CREDENTIAL} FROM credential ORDER BY created_at DESC, id"
        grants = f"SELECT {rows.GRANT} FROM granted"
        return rows.credentials(*await self._catalogue.read(lambda db: (query(db, statement), query(db, grants))))

    async def end(self, id: str, at: datetime) -> bool:
        active = "(revoked_at IS NULL OR revoked_at > ?1)"
        statement = f"UPDATE credential SET revoked_at = ?1 WHERE id = ?2 AND {active} RETURNING id"
        return bool(await self._catalogue.write(lambda db: query(db, statement, (to_micros(at), id))))

    async def used(self, id: str, at: datetime) -> None:
        await self._catalogue.write(
            lambda db: query(db, "UPDATE credential SET used_at = ? WHERE id = ?", (to_micros(at), id))
        )

    async def note(self, act: AdminAction) -> None:
        row = (to_micros(act.at), act.credential, act.what, act.thing)
        statement = "INSERT INTO act (at, credential, what, thing) VALUES (?, ?, ?, ?)"
        await self._catalogue.write(lambda db: query(db, statement, row))

    async def acts(self, limit: int) -> list[AdminAction]:
        statement = "SELECT at, credential, what, thing FROM act ORDER BY n DESC LIMIT ?"
        found = await self._catalogue.read(lambda db: query(db, statement, (limit,)))
        return [AdminAction(from_micros(at), *rest) for at, *rest in found]


def delete_credentials(db: apsw.Connection, namespace: str, profile: str | None) -> None:
    """Delete the credentials of a deleted namespace or profile, and the grants of others in it."""
    query(
        db,
        "DELETE FROM credential WHERE namespace = ?1 AND (?2 IS NULL OR profile = ?2)",
        (namespace, profile),
    )
    query(db, "DELETE FROM granted WHERE namespace = ?1 AND (?2 IS NULL OR profile = ?2)", (namespace, profile))
    query(db, "DELETE FROM granted WHERE credential NOT IN (SELECT id FROM credential)")
