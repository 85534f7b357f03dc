"""Every profile of one database. Any number of processes may open it; none owns it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

import psycopg

from .. import names
from ..errors import AlreadyExists, NotFound
from ..moments import at_micros, micros, now
from ..results import Namespace, ProfileInfo
from .base import Base, Row, query
from .credentials import PostgresCredentials
from .store import PostgresStore

log = logging.getLogger("holdfast")
TABLES = ("message", "memory", "source", "part", "posting", "meaning", "event", "once", "job", "trace")
RETRY_SECONDS = 1.0
_NAMESPACE = "id, name, created_at, updated_at"


class PostgresVault:
    def __init__(self, dsn: str, connections: int = 10) -> None:
        self._base = Base(dsn, connections)
        self._ids: dict[tuple[str, str], int] = {}
        self._changed: Callable[[str, str], None] | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def credentials(self) -> PostgresCredentials:
        return PostgresCredentials(self._base)

    def watch(self, changed: Callable[[str, str], None]) -> None:
        self._changed = changed

    async def namespaces(self) -> list[Namespace]:
        found = await self._run(f'SELECT {_NAMESPACE} FROM namespace ORDER BY name COLLATE "C"')
        return [Namespace(id, name, at_micros(made), at_micros(changed)) for id, name, made, changed in found]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        made = Namespace(names.memory_id(at), names.namespace(name), at, at)
        row = (made.id, made.name, micros(at), micros(at))
        added = await self._run(
            f"INSERT INTO namespace ({_NAMESPACE}) VALUES (%s, %s, %s, %s) ON CONFLICT (name) DO NOTHING RETURNING id",
            *row,
        )
        if not added:
            raise AlreadyExists(f"The namespace {name!r} exists already.", field="name")
        return made

    async def delete_namespace(self, name: str) -> None:
        for profile in await self.profiles(name):
            await self.delete(name, profile.name)
        await self._run("DELETE FROM credential WHERE namespace = %s", name)
        await self._run("DELETE FROM namespace WHERE name = %s", name)

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        id = await self._namespace_id(namespace)
        statement = 'SELECT name, created_at FROM profile WHERE namespace = %s ORDER BY name COLLATE "C"'
        return [ProfileInfo(namespace, name, at_micros(made)) for name, made in await self._run(statement, id)]

    async def open(self, namespace: str, profile: str, *, create: bool) -> PostgresStore:
        self._listen()
        id = await self._namespace_id(namespace)
        find = "SELECT id FROM profile WHERE namespace = %s AND name = %s"
        found = await self._run(find, id, profile)
        if not found and create:
            await self._run(
                "INSERT INTO profile (namespace, name, created_at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                id, profile, micros(now()),
            )  # fmt: skip
            found = await self._run(find, id, profile)
        if not found:
            raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
        self._ids[namespace, profile] = found[0][0]
        return PostgresStore(self._base, found[0][0])

    async def delete(self, namespace: str, profile: str) -> bool:
        id = await self._namespace_id(namespace)
        found = await self._run("SELECT id FROM profile WHERE namespace = %s AND name = %s", id, profile)
        await self._run("DELETE FROM credential WHERE namespace = %s AND profile = %s", namespace, profile)
        if not found:
            return False
        number = found[0][0]
        async with self._base.transaction(number) as db:
            await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (number,))
            for table in TABLES:
                await query(db, f"DELETE FROM {table} WHERE profile = %s", (number,))
        await self._run("DELETE FROM profile WHERE id = %s", number)
        self._ids.pop((namespace, profile), None)
        return True

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        statement = (
            "SELECT namespace.name, profile.name FROM profile JOIN namespace ON namespace.id = profile.namespace "
            "WHERE rested_under IS DISTINCT FROM %s"
        )
        return [(namespace, profile) for namespace, profile in await self._run(statement, model)]

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        await self._mark(namespace, profile, model)

    async def expect_work(self, namespace: str, profile: str) -> None:
        await self._mark(namespace, profile, None)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._base.close()

    async def _mark(self, namespace: str, profile: str, rested_under: str | None) -> None:
        statement = (
            "UPDATE profile SET rested_under = %s WHERE name = %s AND rested_under IS DISTINCT FROM %s "
            "AND namespace = (SELECT id FROM namespace WHERE name = %s)"
        )
        await self._run(statement, rested_under, profile, rested_under, namespace)

    async def _namespace_id(self, name: str) -> str:
        found = await self._run("SELECT id FROM namespace WHERE name = %s", name)
        if not found:
            raise NotFound(
                f"There is no namespace {name!r}.",
                field="namespace",
                fix="Create it, or write to a profile in it from Python or the CLI.",
            )
        return str(found[0][0])

    async def _run(self, statement: str, *bound: object) -> list[Row]:
        async with self._base.transaction() as db:
            return await query(db, statement, bound)

    def _listen(self) -> None:
        """Hear of every change, whichever process makes it; the change sequence makes up for what is missed."""
        if self._changed is not None and (self._listening is None or self._listening.done()):
            self._listening = asyncio.create_task(self._hear(), name="holdfast-listen")

    async def _hear(self) -> None:
        while True:
            with suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(self._base.dsn, autocommit=True) as db:
                    await db.execute("LISTEN holdfast")
                    for who in list(self._ids):
                        self._tell(who)  # whatever happened while nobody listened
                    async for heard in db.notifies():
                        number = int(heard.payload)
                        for who, id in list(self._ids.items()):
                            if id == number:
                                self._tell(who)
            log.warning("the database's notifications broke off; listening again")
            await asyncio.sleep(RETRY_SECONDS)

    def _tell(self, who: tuple[str, str]) -> None:
        if self._changed is not None:
            self._changed(*who)
