"""Ports: one profile's documents (part of every Store, see storage.py), and the blob storage for their originals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from holdfast.domain.results import Document

EXTERNAL_PIECE_NUMBER = -1
"""The piece number of the record that locates an original stored outside the profile's own storage."""


@runtime_checkable
class DocumentStore(Protocol):
    """One profile's documents and their originals. Forgetting a document's message deletes that document's original."""

    async def put(self, document: Document, original: Path | bytes | None = None) -> None:
        """Store a document atomically and replace the one with its id; any lease on it ends.

        `original` is the path of a file, whose bytes are stored in pieces, or bytes, which are stored as the piece
        EXTERNAL_PIECE_NUMBER. None leaves the stored original as it is.
        """
        ...

    async def get(self, id: str) -> Document | None: ...

    async def list_all(self, limit: int) -> list[Document]:
        """List documents, newest first."""
        ...

    async def claim(self, now: datetime, until: datetime) -> Document | None:
        """Lease the oldest waiting document until `until`; None while another document of this profile is leased."""
        ...

    async def amend(
        self, document: Document, held: datetime, until: datetime | None, original: Path | bytes | None = None
    ) -> bool:
        """Store a leased document like `put`, and renew its lease. False and no change if the lease is not `held`."""
        ...

    async def original(self, id: str, number: int) -> bytes | None:
        """Return the piece of the original with this number, from 0; None past the end."""
        ...

    async def remove(self, id: str) -> bool:
        """Delete a document with its original; False when there was none."""
        ...

    async def waiting(self) -> int:
        """Count the documents that wait to be read."""
        ...

    async def lent(self, now: datetime) -> int:
        """Count the documents that are leased at `now`."""
        ...


@runtime_checkable
class BlobStore(Protocol):
    """Files by name, on another disk or server."""

    async def put(self, name: str, file: Path) -> None:
        """Store a file atomically; it is on the other side's disk when this returns."""
        ...

    async def get(self, name: str, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to `stop`. Raises Damaged when the file is missing."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files; unknown names are ignored."""
        ...
