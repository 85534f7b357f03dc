"""Credentials in the catalogue: everything but the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from .. import stored
from ..credentials import Credential, Grant
from ..moments import at_micros, micros
from ..records import Act
from .base import Base, Db, Row, query

TELL = "SELECT pg_notify('holdfast', 'catalogue')"
"""Every process forgets what it knows of credentials and namespaces."""
DROP = (
    "DELETE FROM credential WHERE namespace = %(namespace)s AND (%(profile)s::text IS NULL OR profile = %(profile)s)",
    "DELETE FROM granted WHERE namespace = %(namespace)s AND (%(profile)s::text IS NULL OR profile = %(profile)s)",
    "DELETE FROM granted WHERE NOT EXISTS (SELECT 1 FROM credential WHERE id = granted.credential)",
)
"""A deleted place takes its credentials along, and what others were granted in it."""
_GRANT = f"INSERT INTO granted ({stored.GRANT}) VALUES (%s, %s, %s, %s)"


class PostgresCredentials:
    def __init__(self, base: Base) -> None:
        self._base = base

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*stored.credential_row(credential), digest)
        columns = [*stored.CREDENTIAL.split(", "), "digest"]
        renewed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        granted = [stored.grant_row(credential.id, grant) for grant in credential.grants]
        await self._told(
            f"INSERT INTO credential ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(row))}) "
            f"ON CONFLICT (id) DO UPDATE SET {renewed}",
            *row,
            then=[("DELETE FROM granted WHERE credential = %s", (credential.id,)), *((_GRANT, row) for row in granted)],
        )

    async def grant(self, id: str, grant: Grant) -> None:
        place = (id, grant.namespace, grant.profile)
        still = f"INSERT INTO granted ({stored.GRANT}) SELECT %s, %s, %s, %s FROM credential WHERE id = %s"
        await self._told(
            "DELETE FROM granted WHERE credential = %s AND namespace = %s AND profile = %s",
            *place,
            then=[(still, (*stored.grant_row(id, grant), id))] if grant.rights else [],
        )

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        found = await self._read(f"SELECT {stored.CREDENTIAL}, digest FROM credential WHERE id = %s", id)
        held = await self._read(f"SELECT {stored.GRANT} FROM granted WHERE credential = %s", id) if found else []
        return (stored.credential(found[0][:-1], held), bytes(found[0][-1])) if found else None

    async def listed(self) -> list[Credential]:
        found = await self._read(f'SELECT {stored.CREDENTIAL} FROM credential ORDER BY created_at DESC, id COLLATE "C"')
        return stored.credentials(found, await self._read(f"SELECT {stored.GRANT} FROM granted"))

    async def end(self, id: str, at: datetime) -> bool:
        still = "(revoked_at IS NULL OR revoked_at > %s)"
        statement = f"UPDATE credential SET revoked_at = %s WHERE id = %s AND {still} RETURNING id"
        ended = await self._told(statement, micros(at), id, micros(at))
        return bool(ended)

    async def used(self, id: str, at: datetime) -> None:
        await self._write("UPDATE credential SET used_at = %s WHERE id = %s", micros(at), id)

    async def note(self, act: Act) -> None:
        statement = "INSERT INTO act (at, credential, what, thing) VALUES (%s, %s, %s, %s)"
        await self._write(statement, micros(act.at), act.credential, act.what, act.thing)

    async def acts(self, limit: int) -> list[Act]:
        found = await self._read("SELECT at, credential, what, thing FROM act ORDER BY n DESC LIMIT %s", limit)
        return [Act(at_micros(at), *rest) for at, *rest in found]

    async def _read(self, statement: str, *bound: Any) -> list[Row]:
        return await self._base.read(None, lambda db: query(db, statement, bound))

    async def _told(self, statement: str, *bound: Any, then: Sequence[tuple[str, Row]] = ()) -> list[Row]:
        """Every process hears of it when it commits, with what belongs to it."""

        async def run(db: Db) -> list[Row]:
            changed = await query(db, statement, bound)
            for more, row in then:
                await query(db, more, row)
            await query(db, TELL)
            return changed

        return await self._base.write(None, run)

    async def _write(self, statement: str, *bound: Any) -> list[Row]:
        return await self._base.write(None, lambda db: query(db, statement, bound))


async def dropped(db: Db, namespace: str, profile: str | None) -> None:
    for statement in DROP:
        await query(db, statement, {"namespace": namespace, "profile": profile} if "%(" in statement else ())
