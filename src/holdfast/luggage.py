"""What moves with a profile besides what was said and is known: settings, usage, documents with their originals."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from . import owned
from .errors import AlreadyExists, StorageError
from .inventory import EVERYTHING, even
from .moments import micros
from .ports import Store
from .results import Document
from .spending import Usage


class Luggage:
    """Of one profile on its way from a source to a target; `ours` gathers the documents that this run brought."""

    def __init__(self, name: str, source: Store, target: Store, ours: set[str]) -> None:
        self._name = name
        self._source = source
        self._target = target
        self._ours = ours

    async def bring(self, *, replacing: bool, seen: Callable[[], None]) -> tuple[bytes, bytes]:
        """Once all passages are there. What the source has of it, and what the target has, as digests."""
        await self._bring_settings(replacing=replacing)
        await self._bring_usage()
        await self._bring_documents(replacing=replacing, seen=seen)
        names = set(await owned.settings(self._source))
        return await _digest(self._source, names), await _digest(self._target, names)

    async def _bring_settings(self, *, replacing: bool) -> None:
        wanted, held = await owned.settings(self._source), await owned.settings(self._target)
        for name in held.keys() - wanted.keys() if replacing else ():
            await owned.lay_down(self._target, name, None)
        for name, value in wanted.items():
            if name not in held or even(held[name]) != even(value):
                await owned.lay_down(self._target, name, value)

    async def _bring_usage(self) -> None:
        """Where the source counts more than the target does, the target counts as much."""
        held = {(each.month, each.model, each.task): each for each in await self._target.journal.spent(None)}
        for spent in await self._source.journal.spent(None):
            had = held.get((spent.month, spent.model, spent.task))
            calls, *tokens = (
                max(0, getattr(spent, name) - (0 if had is None else getattr(had, name)))
                for name in ("calls", "input", "output", "cached")
            )
            if calls or any(tokens):
                await self._target.journal.spend(spent.month, Usage(spent.model, spent.task, *tokens), calls)

    async def _bring_documents(self, *, replacing: bool, seen: Callable[[], None]) -> None:
        wanted = {document.id: document for document in await self._source.shelf.listed(EVERYTHING)}
        held = {document.id: document for document in await self._target.shelf.listed(EVERYTHING)}
        for id in held.keys() - wanted.keys():
            # Passages that the source lacks were looked at with all messages; one without any tells nothing of itself.
            if not replacing and not held[id].chunks and id not in self._ours:
                raise AlreadyExists(
                    f"Profile {self._name} in the target has the document {held[id].name!r} ({id}), which the source "
                    "does not have.", fix="To lose it, repeat with --replace; or move to another target.",
                )  # fmt: skip
            await self._target.shelf.remove(id)
        for id, document in wanted.items():
            if held.get(id) != document:
                self._ours.add(id)
                await self._bring_document(document)
                seen()

    async def _bring_document(self, document: Document) -> None:
        with tempfile.TemporaryDirectory(prefix="holdfast-moving-") as folder:
            path, sha, number = Path(folder) / "original", hashlib.sha256(), 0
            while piece := await self._source.shelf.original(document.id, number):
                with path.open("ab") as file:
                    file.write(piece)
                sha.update(piece)
                number += 1
            await self._target.shelf.put(document, path if number else None)
        if number and await _sha(self._target, document.id) != sha.digest():
            raise StorageError(
                f"The original of {document.name!r} in profile {self._name} did not arrive as it was.", fix="Repeat."
            )


async def _sha(store: Store, id: str) -> bytes:
    sha, number = hashlib.sha256(), 0
    while piece := await store.shelf.original(id, number):
        sha.update(piece)
        number += 1
    return sha.digest()


async def _digest(store: Store, names: set[str]) -> bytes:
    """Of the documents and of these settings."""
    settings = {name: even(value) for name, value in (await owned.settings(store)).items() if name in names}
    documents = [asdict(each) for each in sorted(await store.shelf.listed(EVERYTHING), key=lambda each: each.id)]
    told = json.dumps([settings, documents], ensure_ascii=False, sort_keys=True, default=micros)
    return hashlib.sha256(told.encode()).digest()
