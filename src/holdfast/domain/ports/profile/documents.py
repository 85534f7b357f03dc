"""Port: adding, listing and reading documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.domain.arguments import DocumentSource
    from holdfast.domain.results import Document
    from holdfast.domain.types import Json, Message


class ProfileDocuments(Protocol):
    """Adding, listing and reading documents."""

    async def add(
        self,
        source: str | Path | bytes | DocumentSource,
        *,
        name: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        wait: bool = False,
        on_progress: Callable[[Document], None] | None = None,
        idempotency_key: str | None = None,
    ) -> Document:
        """Add a file, a page at a URL, or a text as a document.

        The document is on disk when this returns, and is parsed in the background. With `wait`, it is also parsed and
        digested, or `error` says why not. `on_progress` is called at every step, and waits too. Adding the same file
        again changes nothing; a page that has changed replaces its earlier passages.
        """
        ...

    async def documents(self, *, limit: int = 100) -> tuple[Document, ...]:
        """List documents, newest first, with their progress."""
        ...

    async def document(self, id: str) -> Document:
        """Return one document: its stage, its own properties such as title and author, and the error if it failed."""
        ...

    async def retry_document(self, id: str) -> Document:
        """Parse a document again: one that failed, or a page that may have changed."""
        ...

    async def passages(self, id: str, *, after: int = 0, limit: int = 100) -> tuple[Message, ...]:
        """List a document's passages in order, with page and heading in their metadata.

        For the next page of results, pass the `position` of the last passage as `after`.
        """
        ...

    async def original(self, id: str) -> bytes:
        """Return the document's original bytes."""
        ...
