"""The documents of an archive → a profile's shelf, each with its original, whole or not at all.

Their passages are messages and have come by then. A document that was being read is read to its end here. One that the
profile knows is left alone, and reported when it is another version there.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .results import Document

if TYPE_CHECKING:
    from .restore import Restoring

AT_ONCE = 4
"""Pieces of originals in memory together."""


async def unpack(restoring: Restoring) -> None:
    waiting: dict[str, Document] = {}
    packed = restoring.checked.packed
    async for some in restoring.batches("document"):
        for document in some:
            held = await restoring.store.shelf.get(document.id)
            if held is not None:
                restoring.count("known")
                if held.sha256 != document.sha256:
                    restoring.clash("document", document.name)
                continue
            restoring.count("documents")
            if document.id in packed:
                waiting[document.id] = document
            elif not restoring.dry_run:
                await restoring.store.shelf.put(document)
    if waiting and not restoring.dry_run:
        await _unpack_originals(restoring, waiting)


async def _unpack_originals(restoring: Restoring, waiting: dict[str, Document]) -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-unpacking-") as folder:
        path, last = Path(folder) / "original", ""
        async for some in restoring.batches("original", AT_ONCE):
            for id, _, piece in some:
                if id != last and last in waiting:
                    await restoring.store.shelf.put(waiting.pop(last), path)
                    path.unlink()
                last = id
                if id in waiting:
                    await asyncio.to_thread(_appended, path, piece)
        if last in waiting:
            await restoring.store.shelf.put(waiting.pop(last), path)


def _appended(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)
