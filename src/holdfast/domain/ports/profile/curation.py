"""Port: editing, review, undo and audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack

if TYPE_CHECKING:
    from holdfast.domain.arguments import Narrowed
    from holdfast.domain.records import Edit
    from holdfast.domain.reports import Audit
    from holdfast.domain.results import Edited, Review, Undone
    from holdfast.domain.types import Json


class ProfileCuration(Protocol):
    """Editing, review, undo and audit."""

    async def merge(
        self,
        ids: Sequence[str],
        *,
        content: str | None = None,
        kind: str | None = None,
        key: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        idempotency_key: str | None = None,
    ) -> Edited:
        """Replace several memories by one. They stay as its history, and it has all of their sources.

        Its text is `content`, or that of the best of them, chosen in this order: not from a document or tool, marked
        right, higher confidence, newer.
        """
        ...

    async def split(
        self,
        id: str,
        into: Sequence[str | Mapping[str, Json]],
        *,
        etag: str | None = None,
        idempotency_key: str | None = None,
    ) -> Edited:
        """Replace one memory by several: texts, or objects with content, kind, key, value and metadata.

        Each has the sources of the original. The first becomes its next version and keeps its key unless given one.
        """
        ...

    async def mark(self, id: str, *, right: bool = True, idempotency_key: str | None = None) -> Edited:
        """Mark a memory as right or wrong. A right mark raises its rank in search a little; at most five count.

        A wrong mark retires it: it leaves search, lists and answers, stays in its history, and waits for a review. The
        same statement does not come back from the same words; what it had superseded when its message was digested
        does. A right mark brings it back; AlreadyExists names the
        memory that has its key or its text by now.
        """
        ...

    async def revise_where(
        self,
        change: Mapping[str, Json],
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Edited:
        """Edit every current memory that satisfies all conditions. `change` may set kind, metadata, trust, occurred_at,
        expires_at, ttl, pinned and right. The edit is atomic and is undone as one; `dry_run` only reports what it would
        change."""
        ...

    async def review(self, *, limit: int = 20) -> tuple[Review, ...]:
        """List the memories that need review, most urgent first, each with the reason and the possible answers."""
        ...

    async def resolve(self, id: str, answer: str, *, content: str | None = None) -> Edited:
        """Answer a review: right, wrong, keep, edit (with `content`), or replace (a conflict). It leaves the queue."""
        ...

    async def edits(self, *, limit: int = 20) -> tuple[Edit, ...]:
        """List recent edits made on purpose, newest first; `undo` can revert them."""
        ...

    async def undo(self, id: str | None = None, *, steps: int = 1, dry_run: bool = False) -> Undone:
        """Undo an edit by its id, or the last `steps` edits: everything is as it was before.

        Raises CannotUndo, with the reason, when later changes depend on an edit. A forget cannot be undone.
        """
        ...

    async def audit(self, *, fix: str | None = None, dry_run: bool = False, examples: int = 5) -> Audit:
        """Check the quality of the memories: duplicates, contradictions, stale-tasks, orphans, junk, unproved
        and secrets, with examples.

        `fix` names one of these to repair in one edit, which can be undone; `dry_run` only reports the changes.
        """
        ...
