"""Curation over HTTP: edit, review, undo, audit.

Every change returns the memories in their new state, and `undo`, the id with which it can be undone.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query, Request

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, Once
from holdfast.api.rest.routes.memories import OF, Match, NarrowedBody, etag_of
from holdfast.domain.json_codec import encode
from holdfast.domain.reports import Audit
from holdfast.domain.results import Edited, Undone

router = GuardedRouter("Native")
reads, writes = Depends(requires("read")), Depends(requires("write", "read"))


class MergeBody(Body):
    ids: list[str]
    """The ids of two or more memories."""
    content: str | None = None
    """The text of the new memory; by default that of the best of them."""
    kind: str | None = None
    """The kind of the new memory."""
    key: str | None = None
    """The key of the new memory."""
    metadata: dict[str, Any] | None = None
    """Metadata of the new memory."""


class Piece(Body):
    content: str
    kind: str | None = None
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None


class SplitBody(Body):
    into: list[str | Piece]
    """The new memories: texts, or objects with a content."""


class MarkBody(Body):
    right: bool = True
    """True for right, false for wrong."""


class ReviseWhere(NarrowedBody):
    change: dict[str, Any]
    """The new values: kind, metadata, trust, occurred_at, expires_at, ttl, pinned or right."""
    dry_run: bool = False
    """Only report what would change."""


class Resolve(Body):
    answer: str
    """`right`, `wrong`, `keep`, `edit` (with `content`), or `replace` for a conflict."""
    content: str | None = None
    """The new text, for `edit`."""


class UndoBody(Body):
    id: str | None = None
    """The id of a change; by default the last changes are undone."""
    steps: int = 1
    """How many of the last changes to undo."""
    dry_run: bool = False
    """Only report what would change."""


class Mend(Body):
    fix: str | None = None
    """`duplicates`, `contradictions`, `stale-tasks`, `orphans`, `junk`, `unproved` or `secrets`."""
    dry_run: bool = False
    """Only report what would change."""
    examples: int = 5
    """At most this many examples per finding."""


@router.post(OF + "/memories/merge", dependencies=[writes], response_model=Edited)
async def merge(request: Request, body: MergeBody, once: Once = None) -> Json:
    """Replace several memories by one. They stay in its history."""
    return Json(encode(await (await profile_of(request)).merge(**dict(body), idempotency_key=once)))


@router.post(OF + "/memories/revise", dependencies=[writes], response_model=Edited)
async def revise_where(request: Request, body: ReviseWhere, once: Once = None) -> Json:
    """Edit every current memory that satisfies all conditions; `dry_run` only reports what would change."""
    given: Any = {"dry_run": body.dry_run, "idempotency_key": once, **body.narrowing()}
    return Json(encode(await (await profile_of(request)).revise_where(body.change, **given)))


@router.post(OF + "/memories/{id}/split", dependencies=[writes], response_model=Edited)
async def split(request: Request, id: str, body: SplitBody, match: Match = None, once: Once = None) -> Json:
    """Replace one memory by several."""
    into = [each if isinstance(each, str) else each.model_dump(exclude_none=True) for each in body.into]
    etag = None if match is None else etag_of(match)
    return Json(encode(await (await profile_of(request)).split(id, into, etag=etag, idempotency_key=once)))


@router.post(OF + "/memories/{id}/mark", dependencies=[writes], response_model=Edited)
async def mark(request: Request, id: str, body: MarkBody, once: Once = None) -> Json:
    """Mark a memory as right or wrong. A wrong mark retires it until a right one or a review brings it back."""
    return Json(encode(await (await profile_of(request)).mark(id, right=body.right, idempotency_key=once)))


@router.get(OF + "/review", dependencies=[reads], response_model=response_models.Reviews)
async def review(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Json:
    """List the memories that need a decision, most urgent first, with the reason and the possible answers."""
    return Json({"review": encode(await (await profile_of(request)).review(limit=limit))})


@router.post(OF + "/review/{id}", dependencies=[writes], response_model=Edited)
async def resolve(request: Request, id: str, body: Resolve) -> Json:
    """Answer a review. The memory leaves the queue."""
    return Json(encode(await (await profile_of(request)).resolve(id, body.answer, content=body.content)))


@router.get(OF + "/edits", dependencies=[reads], response_model=response_models.Edits)
async def edits(request: Request, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> Json:
    """List the changes that can be undone, newest first."""
    return Json({"edits": encode(await (await profile_of(request)).edits(limit=limit))})


@router.post(OF + "/undo", dependencies=[writes], response_model=Undone)
async def undo(request: Request, body: UndoBody | None = None) -> Json:
    """Undo a change by its id, or the last changes. Returns 409 when a later change depends on it."""
    given = body or UndoBody()
    done = await (await profile_of(request)).undo(given.id, steps=given.steps, dry_run=given.dry_run)
    return Json(encode(done))


@router.get(OF + "/audit", dependencies=[reads], response_model=Audit)
async def audit(request: Request, examples: Annotated[int, Query(ge=1, le=100)] = 5) -> Json:
    """Find duplicates, contradictions, past tasks, memories without a source, and texts that are not memories."""
    return Json(encode(await (await profile_of(request)).audit(examples=examples)))


@router.post(OF + "/audit", dependencies=[writes], response_model=Audit)
async def mend(request: Request, body: Mend) -> Json:
    """Audit the memories and apply one of the fixes; `dry_run` only reports what the fix would change."""
    given: Any = dict(body)
    return Json(encode(await (await profile_of(request)).audit(**given)))
