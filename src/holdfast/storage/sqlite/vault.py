"""All profiles of one data folder.

    data/
      lock              held while a process owns the folder; names the process
      keyring           the master key, 0600; may live elsewhere (HOLDFAST_KEYRING)
      catalogue.db      namespaces, profiles and each profile's own key; encrypted with the master key
      profiles/ab/….db  one encrypted file per profile, under a random name

Beside each .db lie its log (-wal, -shm) and its witness (-witness), which proves that the log is whole.

Deleting a profile deletes its key from the catalogue and its file from the folder: a copy of the file in a backup
cannot be decrypted any more. At most `open_files` profiles are open; the least recently used is closed.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from weakref import WeakValueDictionary

import apsw

from holdfast.domain import identifiers
from holdfast.domain.errors import AlreadyExists, Damaged, KeyMissing, NotFound, ReadOnly, StorageFull
from holdfast.domain.results import Namespace, ProfileInfo
from holdfast.domain.timestamps import from_micros, now, to_micros
from holdfast.domain.types import Json
from holdfast.storage.rows import compact_json
from holdfast.storage.sqlite.connection import CATALOGUE_LABEL, FileLabel, profile_label, query, translate_errors
from holdfast.storage.sqlite.credentials import SqliteCredentials, delete_credentials
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.folder import SqliteFolder, has_no_data
from holdfast.storage.sqlite.journal import has_leases, release_leases
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.storage.sqlite.witness import is_witnessed

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

DESCRIPTORS_PER_PROFILE = 8
"""File descriptors reserved for one open profile. Chosen by hand; not measured."""
_NAMESPACE_COLUMNS = "id, name, created_at, updated_at"


class SqliteVault:
    def __init__(
        self, path: Path, *, keyring: Path | None = None, open_files: int = 128, reading: bool = False
    ) -> None:
        """With `reading`, another process owns the folder and may write to it; this vault refuses to write."""
        self._pool = ThreadPoolExecutor(8, "holdfast-sqlite")
        self._reading = reading
        self._folder = SqliteFolder(path, keyring, reading=reading)
        self._open_files = min(open_files, _max_open_files())
        # One store per profile while it is referenced, so that its cache sees every write. Few of them have open files.
        self._stores: WeakValueDictionary[tuple[str, str], SqliteStore] = WeakValueDictionary()
        self._awake: OrderedDict[tuple[str, str], SqliteStore] = OrderedDict()
        self._opening = asyncio.Lock()
        self._changed: Callable[[str, str], None] = lambda namespace, profile: None
        try:
            self._catalogue = DatabaseFile(
                path / "catalogue.db",
                self._folder.key,
                CATALOGUE_LABEL,
                self._pool,
                reading=reading,
                new=not reading and has_no_data(path),
                make_room=self._folder.reserve.release,
            )
        except Damaged as bad:
            self._folder.release()
            if not isinstance(bad.__cause__, apsw.NotADBError) or is_witnessed(path / "catalogue.db", self._folder.key):
                raise
            raise KeyMissing(
                f"{path / 'catalogue.db'} cannot be read with the key in {self._folder.keyring}: "
                "that is another folder's keyring, or the file is damaged.",
                fix="Put the folder's own keyring back, or restore catalogue.db from a backup.",
            ) from bad
        except BaseException:
            self._folder.release()
            raise
        if not reading:
            self._folder.reserve.fill()

    shared = False
    rates = None

    @property
    def credentials(self) -> SqliteCredentials:
        return SqliteCredentials(self._catalogue)

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        self._changed = changed

    async def namespaces(self) -> list[Namespace]:
        statement = f"SELECT {_NAMESPACE_COLUMNS} FROM namespace ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement))
        return [Namespace(id, name, from_micros(created), from_micros(updated)) for id, name, created, updated in found]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        created = Namespace(identifiers.memory_id(at), identifiers.validate_namespace(name), at, at)

        def insert(db: apsw.Connection) -> None:
            row = (created.id, created.name, to_micros(at), to_micros(at))
            try:
                db.execute(f"INSERT INTO namespace ({_NAMESPACE_COLUMNS}) VALUES (?, ?, ?, ?)", row)
            except apsw.ConstraintError as taken:
                raise AlreadyExists(f"The namespace {name!r} exists already.", field="name") from taken

        await self._catalogue.write(insert)
        return created

    async def delete_namespace(self, name: str) -> None:
        async with self._opening:
            for profile in await self.profiles(name):
                await self._delete(name, profile.name)

            def delete(db: apsw.Connection) -> None:
                query(db, "DELETE FROM namespace WHERE name = ?", (name,))
                query(db, "DELETE FROM setting WHERE namespace = ?", (name,))
                delete_credentials(db, name, None)

            await self._catalogue.write(delete)

    async def settings(self, namespace: str) -> dict[str, Json]:
        statement = "SELECT name, value FROM setting WHERE namespace = ? ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement, (namespace,)))
        return {name: json.loads(value) for name, value in found}

    async def put_setting(self, namespace: str, name: str, value: Json) -> None:
        def write(db: apsw.Connection) -> None:
            if not query(db, "SELECT 1 FROM namespace WHERE name = ?", (namespace,)):
                raise NotFound(
                    f"There is no namespace {namespace!r}.",
                    field="namespace",
                    fix="Create it first, with create_namespace or POST /v1/namespaces.",
                )
            db.execute("DELETE FROM setting WHERE namespace = ? AND name = ?", (namespace, name))
            if value is not None:
                db.execute("INSERT INTO setting VALUES (?, ?, ?)", (namespace, name, compact_json(value)))

        await self._catalogue.write(write)

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        id = await self._namespace_id(namespace)
        statement = "SELECT name, created_at FROM profile WHERE namespace = ? ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement, (id,)))
        return [ProfileInfo(namespace, name, from_micros(created)) for name, created in found]

    async def open(self, namespace: str, profile: str, *, create: bool) -> SqliteStore:
        who = (namespace, profile)
        async with self._opening:
            store = self._stores.get(who)
            if store is not None and self._reading:  # its owner may have deleted and recreated the profile
                await store.close()
                store = None
            if store is None:
                file = await self._open_profile_file(namespace, profile, create=create)
                store = SqliteStore(file, lambda: self._changed(namespace, profile))
                self._stores[who] = store
            self._awake[who] = store
            self._awake.move_to_end(who)
            while len(self._awake) > self._open_files:
                await self._awake.popitem(last=False)[1].sleep()
            return store

    async def delete(self, namespace: str, profile: str) -> bool:
        async with self._opening:
            return await self._delete(namespace, profile)

    async def _delete(self, namespace: str, profile: str) -> bool:
        id = await self._namespace_id(namespace)
        self._awake.pop((namespace, profile), None)
        store = self._stores.pop((namespace, profile), None)
        if store is not None:
            await store.close()

        def delete(db: apsw.Connection) -> list[tuple[str]]:
            delete_credentials(db, namespace, profile)
            return query(db, "DELETE FROM profile WHERE namespace = ? AND name = ? RETURNING file", (id, profile))

        try:
            deleted = await self._catalogue.write(delete)
        except StorageFull:
            if not self._catalogue.make_room():
                raise
            deleted = await self._catalogue.write(delete)
        await self._catalogue.scrub()
        for (name,) in deleted:
            with translate_errors(self._folder.file(name)):
                self._folder.remove(name)
        return bool(deleted)

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        statement = (
            "SELECT namespace.name, profile.name FROM profile JOIN namespace ON namespace.id = profile.namespace "
            "WHERE rested_under IS NOT ?"
        )
        found = await self._catalogue.read(lambda db: query(db, statement, (model,)))
        return [(namespace, profile) for namespace, profile in found]

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        await self._set_rested(namespace, profile, model)

    async def lent(self, namespace: str, profile: str) -> bool:
        return False

    async def expect_work(self, namespace: str, profile: str) -> None:
        await self._set_rested(namespace, profile, None)

    async def close(self) -> None:
        for store in list(self._stores.values()):
            await store.close()
        await self._catalogue.close()
        self._folder.release()
        self._pool.shutdown()

    async def _set_rested(self, namespace: str, profile: str, rested_under: str | None) -> None:
        statement = (
            "UPDATE profile SET rested_under = ?1 WHERE name = ?2 AND rested_under IS NOT ?1 "
            "AND namespace = (SELECT id FROM namespace WHERE name = ?3)"
        )
        await self._catalogue.write(lambda db: query(db, statement, (rested_under, profile, namespace)))

    async def _namespace_id(self, name: str) -> str:
        statement = "SELECT id FROM namespace WHERE name = ?"
        found = await self._catalogue.read(lambda db: query(db, statement, (name,)))
        if not found:
            raise NotFound(
                f"There is no namespace {name!r}.",
                field="namespace",
                fix="Create it, or write to a profile in it from Python or the CLI.",
            )
        return str(found[0][0])

    async def _open_profile_file(self, namespace: str, profile: str, *, create: bool) -> DatabaseFile:
        id = await self._namespace_id(namespace)
        find = "SELECT file, key FROM profile WHERE namespace = ? AND name = ?"
        found = await self._catalogue.read(lambda db: query(db, find, (id, profile)))
        if found:
            ((name, key),) = found
            try:
                return await self._open_file(name, key, profile_label(namespace, profile))
            except Damaged:
                if not self._reading or await self._catalogue.read(lambda db: query(db, find, (id, profile))) == found:
                    raise  # otherwise its owner deleted it meanwhile
        if not create:
            raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
        if self._reading:
            raise ReadOnly(f"{self._folder.path} belongs to another process and was opened read-only.")
        name, key = secrets.token_hex(16), secrets.token_bytes(32)
        # The file comes before its row: a crash in between leaves a stray file, not a profile without one.
        file = await self._open_file(name, key, profile_label(namespace, profile), new=True)
        row = (id, profile, name, key, to_micros(now()))
        add = "INSERT INTO profile (namespace, name, file, key, created_at) VALUES (?, ?, ?, ?, ?)"
        await self._catalogue.write(lambda db: query(db, add, row))
        return file

    async def _open_file(self, name: str, key: bytes, label: FileLabel, *, new: bool = False) -> DatabaseFile:
        path = self._folder.file(name)
        loop = asyncio.get_running_loop()
        file = await loop.run_in_executor(
            self._pool,
            lambda: DatabaseFile(
                path, key, label, self._pool, reading=self._reading, new=new, make_room=self._folder.reserve.release
            ),
        )
        if not self._reading:
            self._folder.reserve.fill()
            if await file.read(has_leases):
                await file.write(release_leases)
        return file


def _max_open_files() -> int:
    """How many profiles this process may have open without running out of file descriptors."""
    if resource is None:
        return 128
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 10_000 if soft == resource.RLIM_INFINITY else max(4, soft // DESCRIPTORS_PER_PROFILE)
