"""Transfers what a profile has besides messages and memories: settings, usage, documents with their originals."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from holdfast.archive import settings as owned
from holdfast.domain.errors import AlreadyExists, StorageError
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Document
from holdfast.domain.timestamps import to_micros
from holdfast.domain.usage import Usage
from holdfast.storage.inventory import NO_LIMIT, canonical_numbers


class ExtrasTransfer:
    """Transfers the extras of one profile; `ours` collects the documents that this run has copied."""

    def __init__(self, name: str, source: Store, target: Store, ours: set[str]) -> None:
        self._name = name
        self._source = source
        self._target = target
        self._ours = ours

    async def run(self, *, replacing: bool, seen: Callable[[], None]) -> tuple[bytes, bytes]:
        """Copy the extras, after all passages; return the digests of the source's and the target's extras."""
        await self._copy_settings(replacing=replacing)
        await self._copy_usage()
        await self._copy_documents(replacing=replacing, seen=seen)
        names = set(await owned.load_settings(self._source))
        return await _extras_digest(self._source, names), await _extras_digest(self._target, names)

    async def _copy_settings(self, *, replacing: bool) -> None:
        wanted, held = await owned.load_settings(self._source), await owned.load_settings(self._target)
        for name in held.keys() - wanted.keys() if replacing else ():
            await owned.write_setting(self._target, name, None)
        for name, value in wanted.items():
            if name not in held or canonical_numbers(held[name]) != canonical_numbers(value):
                await owned.write_setting(self._target, name, value)

    async def _copy_usage(self) -> None:
        """Raise the counts of the target to those of the source where these are higher."""
        held = {(each.month, each.model, each.task): each for each in await self._target.journal.spent(None)}
        for spent in await self._source.journal.spent(None):
            had = held.get((spent.month, spent.model, spent.task))
            calls, *tokens = (
                max(0, getattr(spent, name) - (0 if had is None else getattr(had, name)))
                for name in ("calls", "input", "output", "cached")
            )
            if calls or any(tokens):
                await self._target.journal.spend(spent.month, Usage(spent.model, spent.task, *tokens), calls)

    async def _copy_documents(self, *, replacing: bool, seen: Callable[[], None]) -> None:
        wanted = {document.id: document for document in await self._source.documents.list_all(NO_LIMIT)}
        held = {document.id: document for document in await self._target.documents.list_all(NO_LIMIT)}
        for id in held.keys() - wanted.keys():
            # A document with passages was checked with all messages; one without any has to be checked here.
            if not replacing and not held[id].chunks and id not in self._ours:
                raise AlreadyExists(
                    f"Profile {self._name} in the target has the document {held[id].name!r} ({id}), which the source "
                    "does not have.", fix="Repeat with --replace to delete it there, or use another target.",
                )  # fmt: skip
            await self._target.documents.remove(id)
        for id, document in wanted.items():
            if held.get(id) != document:
                self._ours.add(id)
                await self._copy_document(document)
                seen()

    async def _copy_document(self, document: Document) -> None:
        with tempfile.TemporaryDirectory(prefix="holdfast-moving-") as folder:
            path, sha, number = Path(folder) / "original", hashlib.sha256(), 0
            while piece := await self._source.documents.original(document.id, number):
                with path.open("ab") as file:
                    file.write(piece)
                sha.update(piece)
                number += 1
            await self._target.documents.put(document, path if number else None)
        if number and await _original_sha256(self._target, document.id) != sha.digest():
            raise StorageError(
                f"The original of {document.name!r} in profile {self._name} differs from the source.",
                fix="Repeat.",
            )


async def _original_sha256(store: Store, id: str) -> bytes:
    sha, number = hashlib.sha256(), 0
    while piece := await store.documents.original(id, number):
        sha.update(piece)
        number += 1
    return sha.digest()


async def _extras_digest(store: Store, names: set[str]) -> bytes:
    """The SHA-256 of the documents and of the settings with these names."""
    settings = {
        name: canonical_numbers(value) for name, value in (await owned.load_settings(store)).items() if name in names
    }
    documents = [asdict(each) for each in sorted(await store.documents.list_all(NO_LIMIT), key=lambda each: each.id)]
    text = json.dumps([settings, documents], ensure_ascii=False, sort_keys=True, default=to_micros)
    return hashlib.sha256(text.encode()).digest()
