"""A DocumentStore whose originals are encrypted files in a BlobStore; their keys stay in the profile's own storage.

Before a file is written or may be deleted, the profile records the file's name in a note. It removes the note when the
profile and the BlobStore agree again. A crash in between leaves a note; vault.py deletes the noted file if nothing
refers to it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER, BlobStore
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import ORIGINAL_SETTING_PREFIX
from holdfast.domain.results import Document
from holdfast.domain.timestamps import iso_text, now
from holdfast.storage.blobs.encryption import EncryptedFile, encrypt_file

log = logging.getLogger("holdfast")


class BlobBackedDocumentStore:
    """Wraps the store's own DocumentStore and redirects originals to the BlobStore."""

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._documents = store.documents
        self._journal = store.journal
        self._blobs = blobs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._documents, name)

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        async with self._upload(document.id, original) as stored:
            await self._documents.put(document, stored)

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        async with self._upload(document.id, original) as stored:
            return await self._documents.amend(document, held, until, stored)

    async def original(self, id: str, number: int) -> bytes | None:
        file = None if number == EXTERNAL_PIECE_NUMBER else await self.encrypted_file(id)
        if file is None:
            return await self._documents.original(id, number)
        span = file.place(number)
        return None if span is None else file.opened(number, await self._blobs.get(file.name, *span))

    async def remove(self, id: str) -> bool:
        async with self.deleting([id]):
            return await self._documents.remove(id)

    async def encrypted_file(self, id: str) -> EncryptedFile | None:
        record = await self._documents.original(id, EXTERNAL_PIECE_NUMBER)
        return None if record is None else EncryptedFile.decode(record)

    async def encrypted_files(self) -> dict[str, EncryptedFile]:
        """The encrypted file of every document whose original is in the BlobStore."""
        ids = [document.id for document in await self._documents.list_all(2**31) if document.original]
        found = {id: await self.encrypted_file(id) for id in ids}
        return {id: file for id, file in found.items() if file is not None}

    @asynccontextmanager
    async def deleting(self, ids: Sequence[str]) -> AsyncIterator[None]:
        """Wrap a step that may delete the originals of these documents: their files are deleted after it."""
        before = [file.name for id in ids if (file := await self.encrypted_file(id)) is not None]
        for name in before:
            await self._note(name)
        yield
        remaining = {file.name for id in ids if (file := await self.encrypted_file(id)) is not None}
        await self.delete_unused(before, remaining)

    async def delete_unused(self, names: Sequence[str], used: set[str]) -> None:
        """Delete the noted files that nothing refers to, and the notes. A failed deletion is tried again later."""
        for name in names:
            try:
                if name not in used:
                    await self._blobs.delete([name])
                await self._journal.put_setting(ORIGINAL_SETTING_PREFIX + name, None)
            except HoldfastError as failure:
                log.warning("the file %s of an original cannot be removed yet: %s", name, failure)

    @asynccontextmanager
    async def _upload(self, id: str, original: Path | bytes | None) -> AsyncIterator[bytes | None]:
        """Encrypt and upload an original, and yield the record that its profile stores. A replaced file is deleted."""
        if not isinstance(original, Path):
            yield original
            return
        with tempfile.TemporaryDirectory(prefix="holdfast-original-") as folder:
            encrypted = Path(folder) / "shut"
            file = await asyncio.to_thread(encrypt_file, original, encrypted)
            await self._note(file.name)
            try:
                async with self.deleting([id]):
                    await self._blobs.put(file.name, encrypted)
                    yield file.encode()
            finally:
                current = await self.encrypted_file(id)
                await self.delete_unused([file.name], set() if current is None else {current.name})

    async def _note(self, name: str) -> None:
        await self._journal.put_setting(ORIGINAL_SETTING_PREFIX + name, iso_text(now()))
