"""The native API's side of curation: set right, look over, take back, audit.

Every change answers with the memories as they are now, and with `undo`, the id that takes it back.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from ..results import Audit, Edited, Undone
from . import shapes
from .gate import needs, profile_of
from .native import OF, Match, Narrowed, tag
from .wire import Body, Json, Once, plain

router = APIRouter(tags=["Native"])
reads, writes = Depends(needs("read")), Depends(needs("write"))


class Merge(Body):
    ids: list[str]
    content: str | None = None
    """Without it, the text of the best of them."""
    kind: str | None = None
    key: str | None = None
    metadata: dict[str, Any] | None = None


class Piece(Body):
    content: str
    kind: str | None = None
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None


class Split(Body):
    into: list[str | Piece]


class Mark(Body):
    right: bool = True


class ReviseWhere(Narrowed):
    change: dict[str, Any]
    """kind, metadata, trust, occurred_at, expires_at, ttl, pinned, right"""
    dry_run: bool = False


class Resolve(Body):
    answer: str
    """right, wrong, keep, edit with a content, or of a conflict replace"""
    content: str | None = None


class Undo(Body):
    id: str | None = None
    """Without it, the last ones."""
    steps: int = 1
    dry_run: bool = False


class Mend(Body):
    fix: str | None = None
    """duplicates, contradictions, stale-tasks, orphans or junk"""
    dry_run: bool = False
    examples: int = 5


@router.post(OF + "/memories/merge", dependencies=[writes], response_model=Edited)
async def merge(request: Request, body: Merge, once: Once = None) -> Json:
    """One memory in the place of several."""
    return Json(plain(await (await profile_of(request)).merge(**dict(body), idempotency_key=once)))


@router.post(OF + "/memories/revise", dependencies=[writes], response_model=Edited)
async def revise_where(request: Request, body: ReviseWhere, once: Once = None) -> Json:
    """Edit every current memory of which all that is given holds; with `dry_run` only tell."""
    given: Any = {"dry_run": body.dry_run, "idempotency_key": once, **body.narrowing()}
    return Json(plain(await (await profile_of(request)).revise_where(body.change, **given)))


@router.post(OF + "/memories/{id}/split", dependencies=[writes], response_model=Edited)
async def split(request: Request, id: str, body: Split, match: Match = None, once: Once = None) -> Json:
    """Several memories in the place of one."""
    into = [each if isinstance(each, str) else each.model_dump(exclude_none=True) for each in body.into]
    etag = None if match is None else tag(match)
    return Json(plain(await (await profile_of(request)).split(id, into, etag=etag, idempotency_key=once)))


@router.post(OF + "/memories/{id}/mark", dependencies=[writes], response_model=Edited)
async def mark(request: Request, id: str, body: Mark, once: Once = None) -> Json:
    """Say that a memory is right, or wrong."""
    return Json(plain(await (await profile_of(request)).mark(id, right=body.right, idempotency_key=once)))


@router.get(OF + "/review", dependencies=[reads], response_model=shapes.Reviews)
async def review(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Json:
    """What somebody should look at, most urgent first, with the reason and what may be answered."""
    return Json({"review": plain(await (await profile_of(request)).review(limit=limit))})


@router.post(OF + "/review/{id}", dependencies=[writes], response_model=Edited)
async def resolve(request: Request, id: str, body: Resolve) -> Json:
    """Answer; it leaves the queue."""
    return Json(plain(await (await profile_of(request)).resolve(id, body.answer, content=body.content)))


@router.get(OF + "/edits", dependencies=[reads], response_model=shapes.Edits)
async def edits(request: Request, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> Json:
    """What can be taken back, newest first."""
    return Json({"edits": plain(await (await profile_of(request)).edits(limit=limit))})


@router.post(OF + "/undo", dependencies=[writes], response_model=Undone)
async def undo(request: Request, body: Undo | None = None) -> Json:
    """Take back a change by its id, or the last ones; 409 when something stands on it."""
    given = body or Undo()
    done = await (await profile_of(request)).undo(given.id, steps=given.steps, dry_run=given.dry_run)
    return Json(plain(done))


@router.get(OF + "/audit", dependencies=[reads], response_model=Audit)
async def audit(request: Request, examples: Annotated[int, Query(ge=1, le=100)] = 5) -> Json:
    """How good the memory is, with examples and fixes."""
    return Json(plain(await (await profile_of(request)).audit(examples=examples)))


@router.post(OF + "/audit", dependencies=[writes], response_model=Audit)
async def mend(request: Request, body: Mend) -> Json:
    """The same, and one of the fixes; with `dry_run` only what it would make."""
    given: Any = dict(body)
    return Json(plain(await (await profile_of(request)).audit(**given)))
