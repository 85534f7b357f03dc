"""The promise that documents are kept: a part of every Store (ports.py)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from .results import Document

ELSEWHERE = -1
"""The number of the piece that tells where an original lies which is not kept in the profile's own storage."""


@runtime_checkable
class Shelf(Protocol):
    """One profile's documents and their originals. Forgetting a document's message drops that document's original."""

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        """Keep it in place of the one before, lent to nobody; whole or not at all.

        With the bytes of a file when given, or, when bytes are, with these as the piece ELSEWHERE.
        """
        ...

    async def get(self, id: str) -> Document | None: ...

    async def listed(self, limit: int) -> list[Document]:
        """Newest first."""
        ...

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        """Lend the oldest that waits, until then; none while another of this profile is lent."""
        ...

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        """As `put`, and lent on; False, and nothing is done, when it is no longer lent until `held`."""
        ...

    async def original(self, id: str, number: int) -> bytes | None:
        """The original's piece of this number, from 0; None past the end."""
        ...

    async def remove(self, id: str) -> bool:
        """With its original; False when there was none."""
        ...

    async def waiting(self) -> int: ...

    async def lent(self, now: datetime) -> int: ...


@runtime_checkable
class Blobs(Protocol):
    """Files by name, on some other disk or server."""

    async def put(self, name: str, file: Path) -> None:
        """Whole or not at all; on disk there when this returns."""
        ...

    async def get(self, name: str, start: int, stop: int) -> bytes:
        """Raises NotFound."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Names that are not there are fine."""
        ...
