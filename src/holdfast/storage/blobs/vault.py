"""Wraps any vault so that the originals of its documents are in a BlobStore; everything else stays in the vault."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from holdfast.domain.errors import Damaged, HoldfastError, NotFound
from holdfast.domain.ports.documents import BlobStore
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.records import ORIGINAL_SETTING_PREFIX
from holdfast.domain.timestamps import now
from holdfast.domain.types import Applied, Change, Message
from holdfast.storage.blobs.documents import BlobBackedDocumentStore

log = logging.getLogger("holdfast")
ABANDONED_AFTER = timedelta(hours=1)
"""The age at which a note counts as left over by a crash, when another process may still use the noted file. Chosen by
hand; not measured."""
CLEANUP_SECONDS = 3600.0
"""How often an opened profile is checked for such notes. Chosen by hand; not measured."""


class BlobBackedStore:
    """A Store whose documents are in a BlobBackedDocumentStore."""

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._store = store
        self.documents = BlobBackedDocumentStore(store, blobs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, change: Change) -> Applied:
        messages = [*change.forget, *(each.message for each in change.shorten)]
        documents = [] if change.dry_run else [*change.documents, *await self._document_ids(messages)]
        if not documents:
            return await self._store.apply(change)
        async with self.documents.deleting(sorted({*documents})):
            return await self._store.apply(change)

    async def _document_ids(self, ids: Sequence[str]) -> list[str]:
        """The ids of the documents that have these messages as passages."""
        items = await self._store.get(ids) if ids else []
        sessions = {item.session_id for item in items if isinstance(item, Message) and item.role == "document"}
        return [session.rpartition(".")[0] for session in sessions]


class BlobBackedVault:
    """A Vault of BlobBackedStores."""

    def __init__(self, vault: Vault, blobs: BlobStore, *, tidy: bool = True) -> None:
        """Without `tidy`, files left over by a crash stay: another process owns the vault and deletes them."""
        self._vault = vault
        self._blobs = blobs
        self._tidy = tidy
        self._started = now()
        self._checked: dict[tuple[str, str], float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    async def open(self, namespace: str, profile: str, *, create: bool) -> Store:
        who = (namespace, profile)
        store = BlobBackedStore(await self._vault.open(*who, create=create), self._blobs)
        if self._tidy and time.monotonic() - self._checked.get(who, -CLEANUP_SECONDS) >= CLEANUP_SECONDS:
            self._checked[who] = time.monotonic()
            try:
                await self._delete_abandoned(store)
            except HoldfastError as failure:
                log.warning("remaining originals of %s/%s cannot be removed yet: %s", *who, failure)
        return cast(Store, store)

    async def delete(self, namespace: str, profile: str) -> bool:
        """Delete a profile after its files, since it knows their names. If a file cannot be deleted, it stays.

        A damaged profile is deleted without them.
        """
        await self._delete_files(namespace, profile)
        return await self._vault.delete(namespace, profile)

    async def delete_namespace(self, name: str) -> None:
        for profile in await self._vault.profiles(name):
            await self._delete_files(name, profile.name)
        await self._vault.delete_namespace(name)

    async def _delete_files(self, namespace: str, profile: str) -> None:
        try:
            store = await self._vault.open(namespace, profile, create=False)
        except NotFound:
            return
        except Damaged as damage:
            log.warning("originals of %s/%s stay, encrypted with keys that are lost: %s", namespace, profile, damage)
            return
        files = await BlobBackedDocumentStore(store, self._blobs).encrypted_files()
        noted = await _load_noted_files(store)
        await self._blobs.delete([*(file.name for file in files.values()), *noted])
        self._checked.pop((namespace, profile), None)

    async def _delete_abandoned(self, store: BlobBackedStore) -> None:
        """Delete files that a crash left over and nothing refers to."""
        latest = now() - ABANDONED_AFTER
        before = latest if self._vault.shared else max(latest, self._started)
        abandoned = [name for name, at in (await _load_noted_files(cast(Store, store))).items() if at <= before]
        if abandoned:
            used = {file.name for file in (await store.documents.encrypted_files()).values()}
            await store.documents.delete_unused(abandoned, used)


async def _load_noted_files(store: Store) -> dict[str, datetime]:
    settings = await store.journal.settings()
    return {
        name.removeprefix(ORIGINAL_SETTING_PREFIX): datetime.fromisoformat(str(at))
        for name, at in settings.items()
        if name.startswith(ORIGINAL_SETTING_PREFIX)
    }
