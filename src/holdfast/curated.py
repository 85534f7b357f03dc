"""Curation of one profile of this process's data folder: set right, look over, take back, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Unpack

from . import audit, filters, review, undo
from .curate import Curating
from .errors import InvalidInput
from .given import Narrowed
from .kinds import Kind
from .once import once
from .recorder import traced
from .records import EDITS, Edit, Once
from .reported import Reported, id_of, limit_of
from .results import Audit, Edited, Review, Undone
from .types import Json


class Curated(Reported):
    """A profile, as far as somebody sets right what it knows."""

    @traced
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
        """One memory in the place of several, which stay as its history; it rests on all that they rested on.

        Its text is `content`, or that of the best of them: somebody's own word, marked right, sure, new.
        """
        given = {"content": content, "kind": kind, "key": key, "metadata": metadata}
        async with self._writing():
            return await (await self._curating(once(idempotency_key, "merge", ids, given))).merge(ids, given)

    @traced
    async def split(
        self,
        id: str,
        into: Sequence[str | Mapping[str, Json]],
        *,
        etag: str | None = None,
        idempotency_key: str | None = None,
    ) -> Edited:
        """Several memories in the place of one: texts, or objects with content, kind, key, value and metadata.

        Each rests on what it rested on. The first is its next version, and keeps its key unless it is given another.
        """
        async with self._writing():
            return await (await self._curating(once(idempotency_key, "split", id, into))).split(id_of(id), into, etag)

    @traced
    async def mark(self, id: str, *, right: bool = True, idempotency_key: str | None = None) -> Edited:
        """Say that a memory is right, or wrong: each mark moves it a little in search, at most five count."""
        async with self._writing():
            return await (await self._curating(once(idempotency_key, "mark", id, right))).mark(id_of(id), right)

    @traced
    async def revise_where(
        self,
        change: Mapping[str, Json],
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Edited:
        """Edit every current memory of which all that is given holds: kind, metadata, trust, occurred_at, expires_at,
        ttl, pinned, right. All or none, and undone as one; with `dry_run` only tell."""
        where = filters.parse(**narrowed)
        if where is None or not filters.says_something(where):
            every = 'For all of them, the filter {"kind": {"exists": true}}.'
            raise InvalidInput("Say which memories to edit.", field="filter", fix=every)
        wanted = once(idempotency_key, "revise_where", change, narrowed, dry_run)
        async with self._writing():
            return await (await self._curating(wanted, dry_run)).revise_where(where, change)

    @traced
    async def review(self, *, limit: int = 20) -> tuple[Review, ...]:
        """What somebody should look at, most urgent first, each with the reason and what may be answered."""
        return await review.waiting(await self._curating(reading=True), limit_of(limit))

    @traced
    async def resolve(self, id: str, answer: str, *, content: str | None = None) -> Edited:
        """Answer a review: right, wrong, keep, edit (with `content`), or of a conflict replace. It leaves the queue."""
        async with self._writing():
            return await review.resolve(await self._curating(), id_of(id), answer, content)

    @traced
    async def edits(self, *, limit: int = 20) -> tuple[Edit, ...]:
        """What was changed on purpose lately, newest first: what `undo` takes back."""
        return tuple(await (await self._read()).journal.edits(limit_of(limit, most=EDITS)))

    @traced
    async def undo(self, id: str | None = None, *, steps: int = 1, dry_run: bool = False) -> Undone:
        """Take back a change by its id, or the last `steps` of them: everything is as it was before.

        Refused when something stands on it, naming what. A forget cannot be undone.
        """
        async with self._writing():
            store = await self._store()
            done, gone = await undo.undo(store, None if id is None else id_of(id), steps, rehearsed=dry_run)
        if not dry_run:
            self._holdfast._recorder.forget(self._who, gone, None)
        return done

    @traced
    async def audit(self, *, fix: str | None = None, dry_run: bool = False, examples: int = 5) -> Audit:
        """How good the memory is: duplicates, contradictions, stale-tasks, orphans and junk, with examples.

        `fix` mends one of them in one edit, which can be undone; with `dry_run` only tell what it would make.
        """
        many = limit_of(examples, most=100)
        if fix is None or dry_run:
            return await audit.audit(await self._curating(rehearsed=True, reading=True), fix, many)
        async with self._writing():
            return await audit.audit(await self._curating(), fix, many)

    async def _curating(
        self, wanted: Once | None = None, rehearsed: bool = False, *, reading: bool = False
    ) -> Curating:
        now, kinds = self._holdfast._clock(), await self._kinds_in_use()
        return Curating(await (self._read() if reading else self._store()), now, kinds, wanted, rehearsed)

    if TYPE_CHECKING:

        def _writing(self) -> AbstractAsyncContextManager[None]: ...

        async def _kinds_in_use(self) -> dict[str, Kind]: ...
