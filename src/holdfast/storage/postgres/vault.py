"""All profiles of one database. Any number of processes may open it; none owns it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from holdfast.domain import identifiers
from holdfast.domain.errors import AlreadyExists, InvalidInput, KeyMissing, NotFound
from holdfast.domain.results import Namespace, ProfileInfo
from holdfast.domain.timestamps import from_micros, now, to_micros
from holdfast.domain.types import Json
from holdfast.storage.keyring import load_master_key
from holdfast.storage.postgres import vectors
from holdfast.storage.postgres.cache.loading import LargeProfileLoader
from holdfast.storage.postgres.cache.profiles import DEFAULT_CACHE_BYTES, ProfileCaches
from holdfast.storage.postgres.connections import Database, Db, Row, query
from holdfast.storage.postgres.credentials import NOTIFY_CATALOGUE, PostgresCredentials, delete_credentials
from holdfast.storage.postgres.encryption import MasterKey, ProfileCipher
from holdfast.storage.postgres.notifications import (
    CATALOGUE_CHANGED,
    CHANNEL,
    MAY_HAVE_MISSED,
    PROFILE_DELETED_PREFIX,
    PROFILE_REWRITTEN_PREFIX,
    NotificationListener,
)
from holdfast.storage.postgres.processes import PostgresRateLimiter, ProcessRegistry
from holdfast.storage.postgres.schema import PARTITION_COUNT, ROLE
from holdfast.storage.postgres.store import PostgresStore
from holdfast.storage.rows import compact_json
from holdfast.text.cache import clear_text_caches

PROFILE_TABLES = ("message", "memory", "source", "part", "posting", "event", "once", "job", "trace", "usage", "setting",
          "document", "original", "mention", "tie", "memory_read", "entity_change", "edit")  # fmt: skip
"""The tables with a profile's rows."""
MAX_CACHED_STORES = 100_000
"""Chosen by hand; not measured."""
_NAMESPACE_COLUMNS = "id, name, created_at, updated_at"
_FIND_PROFILE = """
SELECT profile.id, profile.key FROM profile JOIN namespace ON namespace.id = profile.namespace
 WHERE namespace.name = %s AND profile.name = %s
"""
_FIND_PARTITION_SCHEMA = f"""
SELECT nspname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE inhparent = 'public.part'::regclass
   AND satisfies_hash_partition(inhparent, {PARTITION_COUNT}, substring(nspname from '[0-9]+$')::integer, %s::bigint)
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
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        """With `sealed`, the texts of new profiles are encrypted before they reach the database. Profiles in use are
        held in memory, up to `cache_bytes`."""
        if sealed and keyring is None:
            raise InvalidInput(
                "Profiles must be encrypted, but no keyring is set.", field="keyring",
                fix="Set HOLDFAST_KEYRING to a file that every server has.",
            )  # fmt: skip
        self._database = Database(dsn, connections, replica)
        self._processes = ProcessRegistry(self._database)
        self.rates = PostgresRateLimiter(self._database)
        self._indexes = vectors.HnswIndexes(self._database)
        self._keyring = keyring
        self._sealed = sealed
        self._master: MasterKey | None = None
        self._stores: dict[tuple[str, str], PostgresStore] = {}
        self._caches = ProfileCaches(cache_bytes)
        self._loader = LargeProfileLoader(self._database, self._caches)
        self._database.on_away = self._caches.clear
        self._names: dict[int, tuple[str, str]] = {}
        self._awaited: set[tuple[str, str]] = set()
        """Profiles that were requested before they existed; a listener may wait for them."""
        self._changed: Callable[[str, str], None] = lambda namespace, profile: None
        self._catalogue: Callable[[], None] = lambda: None
        self._listener = NotificationListener(self._database, self._on_notification)

    shared = True

    @property
    def credentials(self) -> PostgresCredentials:
        return PostgresCredentials(self._database)

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        self._changed, self._catalogue = changed, catalogue

    async def namespaces(self) -> list[Namespace]:
        found = await self._read(f'SELECT {_NAMESPACE_COLUMNS} FROM namespace ORDER BY name COLLATE "C"')
        return [Namespace(id, name, from_micros(created), from_micros(updated)) for id, name, created, updated in found]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        created = Namespace(identifiers.memory_id(at), identifiers.validate_namespace(name), at, at)
        row = (created.id, created.name, to_micros(at), to_micros(at))
        added = await self._write(
            f"INSERT INTO namespace ({_NAMESPACE_COLUMNS}) VALUES (%s, %s, %s, %s) ON CONFLICT (name) DO "
            f"NOTHING RETURNING id",
            *row,
        )
        if not added:
            raise AlreadyExists(f"The namespace {name!r} exists already.", field="name")
        return created

    async def delete_namespace(self, name: str) -> None:
        for profile in await self.profiles(name):
            await self.delete(name, profile.name)
        await self._database.write(None, lambda db: delete_credentials(db, name, None))
        await self._write("DELETE FROM namespace WHERE name = %s", name)
        await self._write("DELETE FROM laid_down WHERE namespace = %s", name)
        await self._write(NOTIFY_CATALOGUE)

    async def settings(self, namespace: str) -> dict[str, Json]:
        found = await self._read("SELECT name, value FROM laid_down WHERE namespace = %s ORDER BY name", namespace)
        return {name: json.loads(value) for name, value in found}

    async def put_setting(self, namespace: str, name: str, value: Json) -> None:
        if not await self._read("SELECT 1 FROM namespace WHERE name = %s", namespace):
            raise NotFound(
                f"There is no namespace {namespace!r}.",
                field="namespace",
                fix="Create it first, with create_namespace or POST /v1/namespaces.",
            )
        await self._write("DELETE FROM laid_down WHERE namespace = %s AND name = %s", namespace, name)
        if value is not None:
            await self._write("INSERT INTO laid_down VALUES (%s, %s, %s)", namespace, name, compact_json(value))

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        id = await self._namespace_id(namespace)
        statement = 'SELECT name, created_at FROM profile WHERE namespace = %s ORDER BY name COLLATE "C"'
        return [ProfileInfo(namespace, name, from_micros(created)) for name, created in await self._read(statement, id)]

    async def open(self, namespace: str, profile: str, *, create: bool) -> PostgresStore:
        who = (namespace, profile)
        if who not in self._stores:
            found = await self._read(_FIND_PROFILE, *who)
            if not found and create:
                await self._create(namespace, profile)
                found = await self._read(_FIND_PROFILE, *who)
            if not found:
                self._awaited.add(who)
                await self._namespace_id(namespace)
                raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
            ((number, key),) = found
            if len(self._stores) >= MAX_CACHED_STORES:
                self._stores.clear()
                self._awaited.clear()
            for (schema,) in await self._read(_FIND_PARTITION_SCHEMA, number):
                self._database.set_schema(number, schema)
            self._stores[who] = PostgresStore(
                self._database, number, await self._cipher(key), self._caches, self._loader
            )
            self._names[number] = who
            self._awaited.discard(who)
        return self._stores[who]

    async def delete(self, namespace: str, profile: str) -> bool:
        await self._namespace_id(namespace)

        async def run(db: Db) -> int | None:
            await delete_credentials(db, namespace, profile)
            found = await query(db, _FIND_PROFILE + " FOR UPDATE OF profile", (namespace, profile))
            if not found:
                return None
            number = int(found[0][0])
            await query(db, "SET LOCAL statement_timeout = 0")  # deleting a large profile takes long
            await query(db, f"SET LOCAL ROLE {ROLE}")
            await query(db, f"SET LOCAL holdfast.profile = '{number}'")
            for table in PROFILE_TABLES:
                await query(db, f"DELETE FROM {table} WHERE profile = %s", (number,))
            await query(db, "RESET ROLE")
            await query(db, "DELETE FROM profile WHERE id = %s", (number,))
            await query(db, "SELECT pg_notify(%s, %s)", (CHANNEL, f"{PROFILE_DELETED_PREFIX}{number}"))
            return number

        deleted = await self._database.write(None, run, timeout_seconds=None)
        if deleted is not None:
            self._drop_deleted(deleted)
            await self._indexes.drop(deleted)
        return deleted is not None

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        return await self._processes.waiting(model)

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        number = await self._profile_number(namespace, profile)
        if number is not None:
            await self._processes.rested(number, model)
            self._indexes.build_if_large(number, model)

    async def lent(self, namespace: str, profile: str) -> bool:
        try:
            return await (await self.open(namespace, profile, create=False)).waits()
        except NotFound:
            return False

    async def expect_work(self, namespace: str, profile: str) -> None:
        number = await self._profile_number(namespace, profile)
        if number is not None:
            await self._processes.expect(number)

    async def close(self) -> None:
        await self._listener.stop()
        await self._indexes.stop()
        await self._loader.stop()
        if self._database.opened:
            await self._processes.leave()
        await self._database.close()

    async def _create(self, namespace: str, profile: str) -> None:
        id = await self._namespace_id(namespace)
        key = (await self._master_key()).new_wrapped_key() if self._sealed else None
        await self._write(
            "WITH made AS (INSERT INTO profile (namespace, name, created_at, key) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING RETURNING id) INSERT INTO work (profile, process) SELECT id, %s FROM made",
            id, profile, to_micros(now()), key, self._database.process_id,
        )  # fmt: skip

    async def _cipher(self, wrapped: bytes | None) -> ProfileCipher:
        return ProfileCipher(None if wrapped is None else (await self._master_key()).unwrap(bytes(wrapped)))

    async def _master_key(self) -> MasterKey:
        """Load the master key and check that it is the one all processes use; the first to need it decides which."""
        if self._master is None:
            if self._keyring is None:
                raise KeyMissing(
                    "This profile is encrypted, but no keyring is set.",
                    fix="Set HOLDFAST_KEYRING to its master key's file.",
                )
            agreed = "SELECT value FROM agreed WHERE name = 'master'"
            master = MasterKey(load_master_key(self._keyring, new=not await self._read(agreed)))
            await self._write("INSERT INTO agreed VALUES ('master', %s) ON CONFLICT DO NOTHING", master.check)
            if bytes((await self._read(agreed))[0][0]) != master.check:
                raise KeyMissing(
                    f"The keyring {self._keyring} is not the one that this database was encrypted with.",
                    fix="Copy the keyring of the server that wrote first to every other server.",
                )
            self._master = master
        return self._master

    async def _profile_number(self, namespace: str, profile: str) -> int | None:
        store = self._stores.get((namespace, profile))
        if store is not None:
            return store.profile
        found = await self._read(_FIND_PROFILE, namespace, profile)
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
        self._listener.start()
        return await self._database.read(None, lambda db: query(db, statement, bound))

    async def _write(self, statement: str, *bound: object) -> list[Row]:
        return await self._database.write(None, lambda db: query(db, statement, bound))

    def _on_notification(self, payload: str) -> None:
        """Handle a notification of any process: a changed, rewritten or deleted profile, or a changed catalogue."""
        if payload == MAY_HAVE_MISSED:
            self._catalogue()
            self._stores.clear()
            self._caches.clear()
            clear_text_caches()
            self._notify_changed(None)
        elif payload == CATALOGUE_CHANGED:
            self._catalogue()
        elif payload.startswith(PROFILE_DELETED_PREFIX):
            self._drop_deleted(int(payload.removeprefix(PROFILE_DELETED_PREFIX)))
        elif payload.startswith(PROFILE_REWRITTEN_PREFIX):
            self._caches.drop(int(payload.removeprefix(PROFILE_REWRITTEN_PREFIX)))
            clear_text_caches()
        elif payload.isdecimal():
            self._notify_changed(int(payload))

    def _drop_deleted(self, number: int) -> None:
        self._notify_changed(number)
        self._names.pop(number, None)
        self._caches.drop(number)
        clear_text_caches()
        self._stores = {who: store for who, store in self._stores.items() if store.profile != number}
        self._catalogue()

    def _notify_changed(self, number: int | None) -> None:
        if number in self._names:
            changed = [self._names[number]]
        else:  # an unknown profile, or any
            changed = [*self._awaited, *(self._names.values() if number is None else ())]
        for who in changed:
            self._changed(*who)
