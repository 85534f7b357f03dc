"""Port: export into an archive; import of archives and of other products' exports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from holdfast.domain.reports import Exported, Imported


class ProfileArchive(Protocol):
    """Export into an archive; import of archives and of other products' exports."""

    async def export_to(
        self, path: str | Path | BinaryIO, *, vectors: bool = False, seen: Callable[[int], None] = lambda lines: None
    ) -> Exported:
        """Write the whole profile into an archive; compressed when the file's name ends in .gz.

        With `vectors`, the archive includes the embedding vectors. The file appears only when it is complete. `seen` is
        called with the number of lines written.
        """
        ...

    def exported(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        """Yield the lines of an archive as they are produced."""
        ...

    async def import_from(
        self,
        path: str | Path | BinaryIO,
        *,
        format: str = "auto",
        replace: bool = False,
        force: bool = False,
        dry_run: bool = False,
        seen: Callable[[int], None] = lambda items: None,
    ) -> Imported:
        """Import an archive or another product's export. A repeated import adds nothing; existing items stay.

        Formats: archive, mem0, supermemory, chatgpt, claude, langgraph, markdown; auto detects the format from the
        content. An archive is checked as a whole before anything is written; `force` imports the readable part of a
        damaged one. When the profile uses a key for another memory, the conflict is reported; with `replace` the
        archive's memory supersedes the profile's, which stays in the history. `dry_run` only reports what would be
        done. `seen` is called with the number of messages and memories done.
        """
        ...
