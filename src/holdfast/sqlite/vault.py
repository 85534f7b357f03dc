"""Every profile of one data folder.

    data/
      lock              held while a process owns the folder; names the process
      keyring           the master key, 0600; may live elsewhere (HOLDFAST_KEYRING)
      catalogue.db      namespaces, profiles and each profile's own key; encrypted with the master key
      profiles/ab/….db  one encrypted file per profile, under a random name

Deleting a profile deletes its key from the catalogue and its file from the folder: a copy of the file that survives in
some backup cannot be read any more. At most `open_files` profiles are open; the least recently used is closed.
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

from .. import names
from ..errors import AlreadyExists, Damaged, KeyMissing, NotFound, ReadOnly
from ..moments import at_micros, micros, now
from ..results import Namespace, ProfileInfo
from ..stored import packed
from ..types import Json
from .credentials import SqliteCredentials, dropped
from .file import File, query, translated
from .folder import Folder
from .store import SqliteStore, release

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

DESCRIPTORS_EACH = 8
_NAMESPACE = "id, name, created_at, updated_at"


class SqliteVault:
    def __init__(
        self, path: Path, *, keyring: Path | None = None, open_files: int = 128, reading: bool = False
    ) -> None:
        """With `reading`, beside a process that owns the folder and goes on writing: every write here is refused."""
        self._pool = ThreadPoolExecutor(8, "holdfast-sqlite")
        self._reading = reading
        self._folder = Folder(path, keyring, reading=reading)
        self._open_files = min(open_files, _affordable())
        # One store per profile as long as anybody holds it, so that its caches see every write; few of them awake.
        self._stores: WeakValueDictionary[tuple[str, str], SqliteStore] = WeakValueDictionary()
        self._awake: OrderedDict[tuple[str, str], SqliteStore] = OrderedDict()
        self._opening = asyncio.Lock()
        self._changed: Callable[[str, str], None] = lambda namespace, profile: None
        try:
            self._catalogue = File(path / "catalogue.db", self._folder.key, "catalogue", self._pool, reading=reading)
        except Damaged as bad:
            self._folder.release()
            raise KeyMissing(
                f"{path / 'catalogue.db'} cannot be read with the key in {self._folder.keyring}: "
                "that is another folder's keyring, or the file is damaged.",
                fix="Put the folder's own keyring back, or restore catalogue.db from a backup.",
            ) from bad
        except BaseException:
            self._folder.release()
            raise

    shared = False
    rates = None

    @property
    def credentials(self) -> SqliteCredentials:
        return SqliteCredentials(self._catalogue)

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        self._changed = changed

    async def namespaces(self) -> list[Namespace]:
        statement = f"SELECT {_NAMESPACE} FROM namespace ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement))
        return [Namespace(id, name, at_micros(made), at_micros(changed)) for id, name, made, changed in found]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        made = Namespace(names.memory_id(at), names.namespace(name), at, at)

        def insert(db: apsw.Connection) -> None:
            row = (made.id, made.name, micros(at), micros(at))
            try:
                db.execute(f"INSERT INTO namespace ({_NAMESPACE}) VALUES (?, ?, ?, ?)", row)
            except apsw.ConstraintError as taken:
                raise AlreadyExists(f"The namespace {name!r} exists already.", field="name") from taken

        await self._catalogue.write(insert)
        return made

    async def delete_namespace(self, name: str) -> None:
        async with self._opening:
            for profile in await self.profiles(name):
                await self._delete(name, profile.name)

            def delete(db: apsw.Connection) -> None:
                query(db, "DELETE FROM namespace WHERE name = ?", (name,))
                query(db, "DELETE FROM setting WHERE namespace = ?", (name,))
                dropped(db, name, None)

            await self._catalogue.write(delete)

    async def settings(self, namespace: str) -> dict[str, Json]:
        statement = "SELECT name, value FROM setting WHERE namespace = ? ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement, (namespace,)))
        return {name: json.loads(value) for name, value in found}

    async def lay_down(self, namespace: str, name: str, value: Json) -> None:
        def write(db: apsw.Connection) -> None:
            if not query(db, "SELECT 1 FROM namespace WHERE name = ?", (namespace,)):
                raise NotFound(f"There is no namespace {namespace!r}.", field="namespace", fix="Create it first.")
            db.execute("DELETE FROM setting WHERE namespace = ? AND name = ?", (namespace, name))
            if value is not None:
                db.execute("INSERT INTO setting VALUES (?, ?, ?)", (namespace, name, packed(value)))

        await self._catalogue.write(write)

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        id = await self._namespace_id(namespace)
        statement = "SELECT name, created_at FROM profile WHERE namespace = ? ORDER BY name"
        found = await self._catalogue.read(lambda db: query(db, statement, (id,)))
        return [ProfileInfo(namespace, name, at_micros(made)) for name, made in found]

    async def open(self, namespace: str, profile: str, *, create: bool) -> SqliteStore:
        who = (namespace, profile)
        async with self._opening:
            store = self._stores.get(who)
            if store is not None and self._reading:  # its owner may have deleted the profile, and begun it anew
                await store.close()
                store = None
            if store is None:
                file = await self._opened(namespace, profile, create=create)
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
            dropped(db, namespace, profile)
            return query(db, "DELETE FROM profile WHERE namespace = ? AND name = ? RETURNING file", (id, profile))

        gone = await self._catalogue.write(delete)
        await self._catalogue.scrub()
        for (name,) in gone:
            with translated(self._folder.file(name)):
                self._folder.remove(name)
        return bool(gone)

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        statement = (
            "SELECT namespace.name, profile.name FROM profile JOIN namespace ON namespace.id = profile.namespace "
            "WHERE rested_under IS NOT ?"
        )
        found = await self._catalogue.read(lambda db: query(db, statement, (model,)))
        return [(namespace, profile) for namespace, profile in found]

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        await self._mark(namespace, profile, model)

    async def lent(self, namespace: str, profile: str) -> bool:
        return False

    async def expect_work(self, namespace: str, profile: str) -> None:
        await self._mark(namespace, profile, None)

    async def close(self) -> None:
        for store in list(self._stores.values()):
            await store.close()
        await self._catalogue.close()
        self._folder.release()
        self._pool.shutdown()

    async def _mark(self, namespace: str, profile: str, rested_under: str | None) -> None:
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

    async def _opened(self, namespace: str, profile: str, *, create: bool) -> File:
        id = await self._namespace_id(namespace)
        find = "SELECT file, key FROM profile WHERE namespace = ? AND name = ?"
        found = await self._catalogue.read(lambda db: query(db, find, (id, profile)))
        if found:
            ((name, key),) = found
            path = self._folder.file(name)
            if path.exists() and path.stat().st_size:
                return await self._file(name, key)
            if not self._reading or await self._catalogue.read(lambda db: query(db, find, (id, profile))) == found:
                raise Damaged(
                    f"{path}, the file of profile {profile!r}, is missing or empty.", fix="Restore it from a backup."
                )
        if not create:
            raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
        if self._reading:
            raise ReadOnly(f"{self._folder.path} is another process's and was opened for reading only.")
        name, key = secrets.token_hex(16), secrets.token_bytes(32)
        file = await self._file(name, key)  # before its row: a crash in between leaves a stray file, not a lost profile
        row = (id, profile, name, key, micros(now()))
        add = "INSERT INTO profile (namespace, name, file, key, created_at) VALUES (?, ?, ?, ?, ?)"
        await self._catalogue.write(lambda db: query(db, add, row))
        return file

    async def _file(self, name: str, key: bytes) -> File:
        path = self._folder.file(name)
        loop = asyncio.get_running_loop()
        file = await loop.run_in_executor(
            self._pool, lambda: File(path, key, "profile", self._pool, reading=self._reading)
        )
        if not self._reading:
            await file.write(release)
        return file


def _affordable() -> int:
    """How many profiles this process may hold open without running out of descriptors."""
    if resource is None:
        return 128
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 10_000 if soft == resource.RLIM_INFINITY else max(4, soft // DESCRIPTORS_EACH)
