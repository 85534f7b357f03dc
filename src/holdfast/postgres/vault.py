"""Every profile of one database. Any number of processes may open it; none owns it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .. import names
from ..errors import AlreadyExists, InvalidInput, KeyMissing, NotFound
from ..keyring import master_key
from ..moments import at_micros, micros, now
from ..results import Namespace, ProfileInfo
from ..stored import packed
from ..types import Json
from . import nearby
from .base import Base, Db, Row, query
from .credentials import TELL, PostgresCredentials, dropped
from .fleet import Fleet, Rates
from .hearing import CATALOGUE, CHANNEL, GONE, MISSED, Hearing
from .schema import PARTITIONS, ROLE
from .seal import Master, Seal
from .store import PostgresStore

TABLES = ("message", "memory", "source", "part", "posting", "event", "once", "job", "trace", "usage", "setting",
          "document", "original", "mention", "tie", "memory_read", "entity_change", "edit")  # fmt: skip
MOST_KNOWN = 100_000
_NAMESPACE = "id, name, created_at, updated_at"
_FIND = """
SELECT profile.id, profile.key FROM profile JOIN namespace ON namespace.id = profile.namespace
 WHERE namespace.name = %s AND profile.name = %s
"""
_HOME = f"""
SELECT nspname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE inhparent = 'public.part'::regclass
   AND satisfies_hash_partition(inhparent, {PARTITIONS}, substring(nspname from '[0-9]+$')::integer, %s::bigint)
"""


class PostgresVault:
    def __init__(
        self,
        dsn: str,
        connections: int = 10,
        *,
        replica: str | None = None,
        keyring: Path | None = None,
        sealed: bool = False,
    ) -> None:
        """With `sealed`, what new profiles say is encrypted before it reaches the database."""
        if sealed and keyring is None:
            raise InvalidInput(
                "Profiles are to be sealed, and there is no keyring to seal them with.", field="keyring",
                fix="Set HOLDFAST_KEYRING to a file that every server has.",
            )  # fmt: skip
        self._base = Base(dsn, connections, replica)
        self._fleet = Fleet(self._base)
        self.rates = Rates(self._base)
        self._indexes = nearby.Indexes(self._base)
        self._keyring = keyring
        self._sealed = sealed
        self._master: Master | None = None
        self._known: dict[tuple[str, str], PostgresStore] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._awaited: set[tuple[str, str]] = set()
        """Profiles that somebody here asked for when there were none; a listener may wait for them."""
        self._changed: Callable[[str, str], None] = lambda namespace, profile: None
        self._catalogue: Callable[[], None] = lambda: None
        self._hearing = Hearing(self._base, self._heard)

    shared = True

    @property
    def credentials(self) -> PostgresCredentials:
        return PostgresCredentials(self._base)

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        self._changed, self._catalogue = changed, catalogue

    async def namespaces(self) -> list[Namespace]:
        found = await self._read(f'SELECT {_NAMESPACE} FROM namespace ORDER BY name COLLATE "C"')
        return [Namespace(id, name, at_micros(made), at_micros(changed)) for id, name, made, changed in found]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        made = Namespace(names.memory_id(at), names.namespace(name), at, at)
        row = (made.id, made.name, micros(at), micros(at))
        added = await self._write(
            f"INSERT INTO namespace ({_NAMESPACE}) VALUES (%s, %s, %s, %s) ON CONFLICT (name) DO NOTHING RETURNING id",
            *row,
        )
        if not added:
            raise AlreadyExists(f"The namespace {name!r} exists already.", field="name")
        return made

    async def delete_namespace(self, name: str) -> None:
        for profile in await self.profiles(name):
            await self.delete(name, profile.name)
        await self._base.write(None, lambda db: dropped(db, name, None))
        await self._write("DELETE FROM namespace WHERE name = %s", name)
        await self._write("DELETE FROM laid_down WHERE namespace = %s", name)
        await self._write(TELL)

    async def settings(self, namespace: str) -> dict[str, Json]:
        found = await self._read("SELECT name, value FROM laid_down WHERE namespace = %s ORDER BY name", namespace)
        return {name: json.loads(value) for name, value in found}

    async def lay_down(self, namespace: str, name: str, value: Json) -> None:
        if not await self._read("SELECT 1 FROM namespace WHERE name = %s", namespace):
            raise NotFound(f"There is no namespace {namespace!r}.", field="namespace", fix="Create it first.")
        await self._write("DELETE FROM laid_down WHERE namespace = %s AND name = %s", namespace, name)
        if value is not None:
            await self._write("INSERT INTO laid_down VALUES (%s, %s, %s)", namespace, name, packed(value))

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        id = await self._namespace_id(namespace)
        statement = 'SELECT name, created_at FROM profile WHERE namespace = %s ORDER BY name COLLATE "C"'
        return [ProfileInfo(namespace, name, at_micros(made)) for name, made in await self._read(statement, id)]

    async def open(self, namespace: str, profile: str, *, create: bool) -> PostgresStore:
        who = (namespace, profile)
        if who not in self._known:
            found = await self._read(_FIND, *who)
            if not found and create:
                await self._create(namespace, profile)
                found = await self._read(_FIND, *who)
            if not found:
                self._awaited.add(who)
                await self._namespace_id(namespace)
                raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
            ((number, key),) = found
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
                self._awaited.clear()
            for (schema,) in await self._read(_HOME, number):
                self._base.lives(number, schema)
            self._known[who] = PostgresStore(self._base, number, await self._seal(key))
            self._names[number] = who
            self._awaited.discard(who)
        return self._known[who]

    async def delete(self, namespace: str, profile: str) -> bool:
        await self._namespace_id(namespace)

        async def run(db: Db) -> int | None:
            await dropped(db, namespace, profile)
            found = await query(db, _FIND + " FOR UPDATE OF profile", (namespace, profile))
            if not found:
                return None
            number = int(found[0][0])
            await query(db, "SET LOCAL statement_timeout = 0")  # a large profile takes its time
            await query(db, f"SET LOCAL ROLE {ROLE}")
            await query(db, f"SET LOCAL holdfast.profile = '{number}'")
            for table in TABLES:
                await query(db, f"DELETE FROM {table} WHERE profile = %s", (number,))
            await query(db, "RESET ROLE")
            await query(db, "DELETE FROM profile WHERE id = %s", (number,))
            await query(db, "SELECT pg_notify(%s, %s)", (CHANNEL, f"{GONE}{number}"))
            return number

        gone = await self._base.write(None, run, seconds=None)
        if gone is not None:
            self._heard_gone(gone)
            await self._indexes.drop(gone)
        return gone is not None

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        return await self._fleet.waiting(model)

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        number = await self._number(namespace, profile)
        if number is not None:
            await self._fleet.rested(number, model)
            self._indexes.consider(number, model)

    async def lent(self, namespace: str, profile: str) -> bool:
        try:
            return await (await self.open(namespace, profile, create=False)).waits()
        except NotFound:
            return False

    async def expect_work(self, namespace: str, profile: str) -> None:
        number = await self._number(namespace, profile)
        if number is not None:
            await self._fleet.expect(number)

    async def close(self) -> None:
        await self._hearing.stop()
        await self._indexes.stop()
        if self._base.opened:
            await self._fleet.leave()
        await self._base.close()

    async def _create(self, namespace: str, profile: str) -> None:
        id = await self._namespace_id(namespace)
        key = (await self._master_key()).wrapped() if self._sealed else None
        await self._write(
            "WITH made AS (INSERT INTO profile (namespace, name, created_at, key) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING RETURNING id) INSERT INTO work (profile, process) SELECT id, %s FROM made",
            id, profile, micros(now()), key, self._base.me,
        )  # fmt: skip

    async def _seal(self, wrapped: bytes | None) -> Seal:
        return Seal(None if wrapped is None else (await self._master_key()).unwrapped(bytes(wrapped)))

    async def _master_key(self) -> Master:
        """The one that every process has; the first to need it says which."""
        if self._master is None:
            if self._keyring is None:
                raise KeyMissing(
                    "This profile is sealed, and no keyring is set.",
                    fix="Set HOLDFAST_KEYRING to its master key's file.",
                )
            agreed = "SELECT value FROM agreed WHERE name = 'master'"
            master = Master(master_key(self._keyring, new=not await self._read(agreed)))
            await self._write("INSERT INTO agreed VALUES ('master', %s) ON CONFLICT DO NOTHING", master.check)
            if bytes((await self._read(agreed))[0][0]) != master.check:
                raise KeyMissing(
                    f"The keyring {self._keyring} is not the one that this database was sealed with.",
                    fix="Copy the keyring of the server that wrote first to every other server.",
                )
            self._master = master
        return self._master

    async def _number(self, namespace: str, profile: str) -> int | None:
        known = self._known.get((namespace, profile))
        if known is not None:
            return known.profile
        found = await self._read(_FIND, namespace, profile)
        return int(found[0][0]) if found else None

    async def _namespace_id(self, name: str) -> str:
        found = await self._read("SELECT id FROM namespace WHERE name = %s", name)
        if not found:
            raise NotFound(
                f"There is no namespace {name!r}.",
                field="namespace",
                fix="Create it, or write to a profile in it from Python or the CLI.",
            )
        return str(found[0][0])

    async def _read(self, statement: str, *bound: object) -> list[Row]:
        self._hearing.start()
        return await self._base.read(None, lambda db: query(db, statement, bound))

    async def _write(self, statement: str, *bound: object) -> list[Row]:
        return await self._base.write(None, lambda db: query(db, statement, bound))

    def _heard(self, payload: str) -> None:
        """What a process, this one included, told of: a changed profile, a deleted one, or a changed catalogue."""
        if payload == MISSED:
            self._catalogue()
            self._known.clear()
            self._ring(None)
        elif payload == CATALOGUE:
            self._catalogue()
        elif payload.startswith(GONE):
            self._heard_gone(int(payload.removeprefix(GONE)))
        elif payload.isdecimal():
            self._ring(int(payload))

    def _heard_gone(self, number: int) -> None:
        self._ring(number)
        self._names.pop(number, None)
        self._known = {who: store for who, store in self._known.items() if store.profile != number}
        self._catalogue()

    def _ring(self, number: int | None) -> None:
        if number in self._names:
            heard = [self._names[number]]
        else:  # a profile that is new here, or anything
            heard = [*self._awaited, *(self._names.values() if number is None else ())]
        for who in heard:
            self._changed(*who)
