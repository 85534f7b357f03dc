"""Export and import of one profile: archives, and exports of other products."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from holdfast.domain.errors import (
    Conflict,
    NotFound,
)
from holdfast.domain.ports.profile.archive import ProfileArchive
from holdfast.service.profile.context import ProfileVerbs

if TYPE_CHECKING:
    from holdfast.archive.file import Archive, CheckedArchive
    from holdfast.archive.io import ItemProgress
    from holdfast.domain.reports import Exported, Imported

MAX_EXPORT_TRIES = 3


class ArchiveVerbs(ProfileVerbs, ProfileArchive):
    """Export into an archive, and import from Holdfast archives and from exports of other products."""

    async def export_to(
        self, path: str | Path | BinaryIO, *, vectors: bool = False, seen: ItemProgress = lambda lines: None
    ) -> Exported:
        from holdfast.archive.file import is_replaceable
        from holdfast.archive.io import write_archive

        for attempt in range(MAX_EXPORT_TRIES):
            try:
                return await write_archive(self.exported(vectors=vectors), path, seen)
            except Conflict:
                whole_again = isinstance(path, str | Path) and is_replaceable(Path(path))
                if attempt == MAX_EXPORT_TRIES - 1 or not whole_again:
                    raise
        raise AssertionError("unreachable")

    async def exported(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        from holdfast.archive.export import archive_lines

        self._context.check_whole("An archive")
        store = await self._context.store()
        async for line in archive_lines(store, self._context.namespace, self._context.name, vectors=vectors):
            yield line

    async def import_from(
        self,
        path: str | Path | BinaryIO,
        *,
        format: str = "auto",
        replace: bool = False,
        force: bool = False,
        dry_run: bool = False,
        seen: ItemProgress = lambda items: None,
    ) -> Imported:
        from holdfast.archive.file import Archive
        from holdfast.archive.io import open_import, reads_as_archive
        from holdfast.archive.vendor_import import import_vendor_export
        from holdfast.ingest.kinds.versions import without_validation

        with open_import(path) as file:
            if not reads_as_archive(file, format):
                with without_validation():
                    return await import_vendor_export(self, file, format, dry_run=dry_run, seen=seen)
            assert not isinstance(file, Path)
            reader = Archive(file)
            checked = await asyncio.to_thread(reader.check, force=force)
            return await self._restored(reader, checked, replacing=replace, force=force, dry_run=dry_run, seen=seen)

    async def _restored(self, reader: Archive, checked: CheckedArchive, **how: Any) -> Imported:
        from holdfast.archive.io import full_import
        from holdfast.archive.restore import ArchiveRestore

        how["rights"] = self._context.rights if self._context.visibility.whole else frozenset({"write"})
        if how["dry_run"]:
            try:
                store = await self._context.store()
            except NotFound:
                return full_import(checked)
            return await ArchiveRestore(store, reader, checked, **how).run()
        counts = checked.counts
        await self._context.check_quota(messages=counts["messages"], memories=counts["memories"])
        store = await self._context.writable_store()
        try:
            async with self._context.expecting_work():
                return await ArchiveRestore(store, reader, checked, **how).run()
        finally:
            self._context.invalidate_settings()
            self._context.notify_document_worker()
