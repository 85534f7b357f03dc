"""Credentials in the catalogue: everything but the tokens."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import apsw

from ..credentials import Credential
from ..moments import at_micros, micros
from ..records import Act
from .file import File, query

_COLUMNS = "id, kind, name, rights, namespace, profile, created_at, expires_at, revoked_at, used_at"


class SqliteCredentials:
    def __init__(self, catalogue: File) -> None:
        self._catalogue = catalogue

    async def add(self, credential: Credential, digest: bytes) -> None:
        def time(at: datetime | None) -> int | None:
            return None if at is None else micros(at)

        row = (
            credential.id, credential.kind, credential.name, json.dumps(sorted(credential.rights)),
            credential.namespace, credential.profile, micros(credential.created_at), time(credential.expires_at),
            time(credential.revoked_at), time(credential.used_at), digest,
        )  # fmt: skip
        statement = f"INSERT OR REPLACE INTO credential ({_COLUMNS}, digest) VALUES ({', '.join('?' * len(row))})"
        await self._catalogue.write(lambda db: query(db, statement, row))

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        statement = f"SELECT {_COLUMNS}, digest FROM credential WHERE id = ?"
        found = await self._catalogue.read(lambda db: query(db, statement, (id,)))
        return (_credential(found[0][:-1]), found[0][-1]) if found else None

    async def listed(self) -> list[Credential]:
        statement = f"SELECT {_COLUMNS} FROM credential ORDER BY created_at DESC, id"
        return [_credential(row) for row in await self._catalogue.read(lambda db: query(db, statement))]

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


def _credential(row: tuple[Any, ...]) -> Credential:
    id, kind, name, rights, namespace, profile, created, *others = row
    expires, revoked, used = (None if at is None else at_micros(at) for at in others)
    return Credential(
        id, kind, name, frozenset(json.loads(rights)), at_micros(created), namespace, profile, expires, revoked, used
    )
