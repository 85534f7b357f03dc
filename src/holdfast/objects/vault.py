"""Any vault, with the originals of its documents elsewhere. Everything else is the vault's own."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from ..errors import HoldfastError, NotFound
from ..moments import now
from ..ports import Store, Vault
from ..records import PARCEL
from ..shelves import Blobs
from ..types import Applied, Change, Message
from .shelf import OutsideShelf

log = logging.getLogger("holdfast")
ABANDONED = timedelta(hours=1)
"""How old a note must be when somebody may still be at work on what it names."""
LOOK_SECONDS = 3600.0


class OutsideStore:
    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._store = store
        self.shelf = OutsideShelf(store, blobs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, change: Change) -> Applied:
        documents = [] if change.rehearsed else [*change.documents, *await self._read_from(change.forget)]
        if not documents:
            return await self._store.apply(change)
        async with self.shelf.leaving(sorted({*documents})):
            return await self._store.apply(change)

    async def _read_from(self, ids: Sequence[str]) -> list[str]:
        """The documents that these messages are passages of."""
        items = await self._store.get(ids) if ids else []
        sessions = {item.session_id for item in items if isinstance(item, Message) and item.role == "document"}
        return [session.rpartition(".")[0] for session in sessions]


class OutsideVault:
    def __init__(self, vault: Vault, blobs: Blobs, *, tidy: bool = True) -> None:
        """Without `tidy`, beside another process whose unfinished business is not ours."""
        self._vault = vault
        self._blobs = blobs
        self._tidy = tidy
        self._begun = now()
        self._looked: dict[tuple[str, str], float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    async def open(self, namespace: str, profile: str, *, create: bool) -> Store:
        who = (namespace, profile)
        store = OutsideStore(await self._vault.open(*who, create=create), self._blobs)
        if self._tidy and time.monotonic() - self._looked.get(who, -LOOK_SECONDS) >= LOOK_SECONDS:
            self._looked[who] = time.monotonic()
            try:
                await self._finish(store)
            except HoldfastError as failure:
                log.warning("what is left of originals of %s/%s stays for now: %s", *who, failure)
        return cast(Store, store)

    async def delete(self, namespace: str, profile: str) -> bool:
        """The files first: without the profile nobody would know their names. Nothing is deleted if they cannot be."""
        await self._empty(namespace, profile)
        return await self._vault.delete(namespace, profile)

    async def delete_namespace(self, name: str) -> None:
        for profile in await self._vault.profiles(name):
            await self._empty(name, profile.name)
        await self._vault.delete_namespace(name)

    async def _empty(self, namespace: str, profile: str) -> None:
        try:
            store = await self._vault.open(namespace, profile, create=False)
        except NotFound:
            return
        held = await OutsideShelf(store, self._blobs).parcels()
        noted = await _noted(store)
        await self._blobs.delete([*(parcel.name for parcel in held.values()), *noted])
        self._looked.pop((namespace, profile), None)

    async def _finish(self, store: OutsideStore) -> None:
        """What a crash left half done: files that nothing refers to go."""
        late = now() - ABANDONED
        before = late if self._vault.shared else max(late, self._begun)
        left = [name for name, at in (await _noted(cast(Store, store))).items() if at <= before]
        if left:
            kept = {parcel.name for parcel in (await store.shelf.parcels()).values()}
            await store.shelf.settle(left, kept)


async def _noted(store: Store) -> dict[str, datetime]:
    settings = await store.journal.settings()
    return {
        name.removeprefix(PARCEL): datetime.fromisoformat(str(at))
        for name, at in settings.items()
        if name.startswith(PARCEL)
    }
