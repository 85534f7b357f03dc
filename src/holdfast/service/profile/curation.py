"""Curation of one profile: edit, review, undo, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from holdfast.domain import filters
from holdfast.domain.arguments import Narrowed, validate_id, validate_limit
from holdfast.domain.errors import InvalidInput
from holdfast.domain.idempotency import idempotent_request
from holdfast.domain.ports.profile.curation import ProfileCuration
from holdfast.domain.records import MAX_EDITS, Edit, Once
from holdfast.domain.reports import Audit
from holdfast.domain.results import Edited, Review, Undone
from holdfast.domain.types import Json
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.lifecycle.curation.edit import Curator


class CurationVerbs(ProfileVerbs, ProfileCuration):
    """Editing, review, undo and audit."""

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
        given = {"content": content, "kind": kind, "key": key, "metadata": metadata}
        async with self._context.write_turn():
            return await (await self._curating(idempotent_request(idempotency_key, "merge", ids, given))).merge(
                ids, given
            )

    @traced
    async def split(
        self,
        id: str,
        into: Sequence[str | Mapping[str, Json]],
        *,
        etag: str | None = None,
        idempotency_key: str | None = None,
    ) -> Edited:
        async with self._context.finding(id), self._context.write_turn():
            return await (await self._curating(idempotent_request(idempotency_key, "split", id, into))).split(
                validate_id(id), into, etag
            )

    @traced
    async def mark(self, id: str, *, right: bool = True, idempotency_key: str | None = None) -> Edited:
        async with self._context.finding(id), self._context.write_turn():
            return await (await self._curating(idempotent_request(idempotency_key, "mark", id, right))).mark(
                validate_id(id), right
            )

    @traced
    async def revise_where(
        self,
        change: Mapping[str, Json],
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Edited:
        where = filters.parse_filter(**narrowed)
        if where is None or not filters.is_restrictive(where):
            every = 'To select all, use the filter {"kind": {"exists": true}}.'
            raise InvalidInput("No memories are selected. Give at least one condition.", field="filter", fix=every)
        wanted = idempotent_request(idempotency_key, "revise_where", change, narrowed, dry_run)
        async with self._context.write_turn():
            return await (await self._curating(wanted, dry_run)).revise_where(where, change)

    @traced
    async def review(self, *, limit: int = 20) -> tuple[Review, ...]:
        from holdfast.lifecycle.curation import review

        return await review.load_queue(await self._curating(reading=True), validate_limit(limit))

    @traced
    async def resolve(self, id: str, answer: str, *, content: str | None = None) -> Edited:
        from holdfast.lifecycle.curation import review

        async with self._context.write_turn():
            return await review.resolve(await self._curating(), validate_id(id), answer, content)

    @traced
    async def edits(self, *, limit: int = 20) -> tuple[Edit, ...]:
        return tuple(await (await self._context.readable_store()).journal.edits(validate_limit(limit, most=MAX_EDITS)))

    @traced
    async def undo(self, id: str | None = None, *, steps: int = 1, dry_run: bool = False) -> Undone:
        from holdfast.lifecycle.curation import undo

        self._context.check_readable()
        async with self._context.write_turn():
            store = await self._context.store()
            async with self._context.erasing(dry_run):
                return await undo.undo(store, None if id is None else validate_id(id), steps, dry_run=dry_run)

    @traced
    async def audit(self, *, fix: str | None = None, dry_run: bool = False, examples: int = 5) -> Audit:
        from holdfast.lifecycle.curation import audit

        many = validate_limit(examples, most=100)
        if fix is None or dry_run:
            return await audit.audit(await self._curating(dry_run=True, reading=True), fix, many)
        async with self._context.write_turn():
            return await audit.audit(await self._curating(), fix, many)

    async def _curating(self, wanted: Once | None = None, dry_run: bool = False, *, reading: bool = False) -> Curator:
        from holdfast.lifecycle.curation.edit import Curator

        self._context.check_readable()
        now, kinds = self._context.now(), await self._context.kinds_in_use()
        return Curator(
            await (self._context.readable_store() if reading else self._context.store()), now, kinds, wanted, dry_run
        )
