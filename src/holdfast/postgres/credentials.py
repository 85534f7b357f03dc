"""Credentials in the catalogue: everything but the tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .. import stored
from ..credentials import Credential
from ..moments import at_micros, micros
from ..records import Act
from .base import Base, query


class PostgresCredentials:
    def __init__(self, base: Base) -> None:
        self._base = base

    async def add(self, credential: Credential, digest: bytes) -> None:
        row = (*stored.credential_row(credential), digest)
        columns = [*stored.CREDENTIAL.split(", "), "digest"]
        renewed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        await self._run(
            f"INSERT INTO credential ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(row))}) "
            f"ON CONFLICT (id) DO UPDATE SET {renewed}",
            *row,
        )

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        found = await self._run(f"SELECT {stored.CREDENTIAL}, digest FROM credential WHERE id = %s", id)
        return (stored.credential(found[0][:-1]), bytes(found[0][-1])) if found else None

    async def listed(self) -> list[Credential]:
        found = await self._run(f'SELECT {stored.CREDENTIAL} FROM credential ORDER BY created_at DESC, id COLLATE "C"')
        return [stored.credential(row) for row in found]

    async def end(self, id: str, at: datetime) -> bool:
        still = "(revoked_at IS NULL OR revoked_at > %s)"
        statement = f"UPDATE credential SET revoked_at = %s WHERE id = %s AND {still} RETURNING id"
        return bool(await self._run(statement, micros(at), id, micros(at)))

    async def used(self, id: str, at: datetime) -> None:
        await self._run("UPDATE credential SET used_at = %s WHERE id = %s", micros(at), id)

    async def note(self, act: Act) -> None:
        statement = "INSERT INTO act (at, credential, what, thing) VALUES (%s, %s, %s, %s)"
        await self._run(statement, micros(act.at), act.credential, act.what, act.thing)

    async def acts(self, limit: int) -> list[Act]:
        found = await self._run("SELECT at, credential, what, thing FROM act ORDER BY n DESC LIMIT %s", limit)
        return [Act(at_micros(at), *rest) for at, *rest in found]

    async def _run(self, statement: str, *bound: Any) -> list[tuple[Any, ...]]:
        async with self._base.transaction() as db:
            return await query(db, statement, bound)
