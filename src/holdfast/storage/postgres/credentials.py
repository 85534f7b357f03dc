"""Credentials in the catalogue; tokens are stored as hashes only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.domain.credentials import Credential, Grant
from holdfast.domain.records import AdminAction
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.storage import rows
from holdfast.storage.postgres.connections import Database, Db, Row, query

NOTIFY_CATALOGUE = "SELECT pg_notify('holdfast', 'catalogue')"
"""Makes every process invalidate its caches of credentials and namespaces."""
_DELETE_STATEMENTS = (
    "DELETE FROM credential WHERE namespace = %(namespace)s AND (%(profile)s::text IS NULL OR profile = %(profile)s)",
    "DELETE FROM granted WHERE namespace = %(namespace)s AND (%(profile)s::text IS NULL OR profile = %(profile)s)",
    "DELETE FROM granted WHERE NOT EXISTS (SELECT 1 FROM credential WHERE id = granted.credential)",
)
"""Delete the credentials of a namespace or profile, and the grants of others in it."""
_GRANT = f"INSERT INTO granted ({rows.GRANT}) VALUES (%s, %s, %s, %s)"


class PostgresCredentials:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*rows.credential_row(credential), digest)
        columns = [*rows.CREDENTIAL.split(", "), "digest"]
        renewed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        granted = [rows.grant_row(credential.id, grant) for grant in credential.grants]
        await self._write_and_notify(
            f"INSERT INTO credential ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(row))}) "
            f"ON CONFLICT (id) DO UPDATE SET {renewed}",
            *row,
            then=[("DELETE FROM granted WHERE credential = %s", (credential.id,)), *((_GRANT, row) for row in granted)],
        )

    async def grant(self, id: str, grant: Grant) -> None:
        place = (id, grant.namespace, grant.profile)
        insert = f"INSERT INTO granted ({rows.GRANT}) SELECT %s, %s, %s, %s FROM credential WHERE id = %s"
        await self._write_and_notify(
            "DELETE FROM granted WHERE credential = %s AND namespace = %s AND profile = %s",
            *place,
            then=[(insert, (*rows.grant_row(id, grant), id))] if grant.rights else [],
        )

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        found = await self._read(f"SELECT {rows.CREDENTIAL}, digest FROM credential WHERE id = %s", id)
        grants = await self._read(f"SELECT {rows.GRANT} FROM granted WHERE credential = %s", id) if found else []
        return (rows.credential(found[0][:-1], grants), bytes(found[0][-1])) if found else None

    async def list_all(self) -> list[Credential]:
        found = await self._read(f'SELECT {rows.CREDENTIAL} FROM credential ORDER BY created_at DESC, id COLLATE "C"')
        return rows.credentials(found, await self._read(f"SELECT {rows.GRANT} FROM granted"))

    async def end(self, id: str, at: datetime) -> bool:
        active = "(revoked_at IS NULL OR revoked_at > %s)"
        statement = f"UPDATE credential SET revoked_at = %s WHERE id = %s AND {active} RETURNING id"
        ended = await self._write_and_notify(statement, to_micros(at), id, to_micros(at))
        return bool(ended)

    async def used(self, id: str, at: datetime) -> None:
        await self._write("UPDATE credential SET used_at = %s WHERE id = %s", to_micros(at), id)

    async def note(self, act: AdminAction) -> None:
        statement = "INSERT INTO act (at, credential, what, thing) VALUES (%s, %s, %s, %s)"
        await self._write(statement, to_micros(act.at), act.credential, act.what, act.thing)

    async def acts(self, limit: int) -> list[AdminAction]:
        found = await self._read("SELECT at, credential, what, thing FROM act ORDER BY n DESC LIMIT %s", limit)
        return [AdminAction(from_micros(at), *rest) for at, *rest in found]

    async def _read(self, statement: str, *bound: Any) -> list[Row]:
        return await self._database.read(None, lambda db: query(db, statement, bound))

    async def _write_and_notify(self, statement: str, *bound: Any, then: Sequence[tuple[str, Row]] = ()) -> list[Row]:
        """Run a statement and then others in one transaction, and notify every process when it commits."""

        async def run(db: Db) -> list[Row]:
            changed = await query(db, statement, bound)
            for more, row in then:
                await query(db, more, row)
            await query(db, NOTIFY_CATALOGUE)
            return changed

        return await self._database.write(None, run)

    async def _write(self, statement: str, *bound: Any) -> list[Row]:
        return await self._database.write(None, lambda db: query(db, statement, bound))


async def delete_credentials(db: Db, namespace: str, profile: str | None) -> None:
    """Delete the credentials of a deleted namespace or profile, and the grants of others in it."""
    for statement in _DELETE_STATEMENTS:
        await query(db, statement, {"namespace": namespace, "profile": profile} if "%(" in statement else ())
