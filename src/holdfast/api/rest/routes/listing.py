"""Listings in the native API: memories by page and by facet, messages."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Json, Moment
from holdfast.api.rest.routes.memories import OF, NarrowedBody
from holdfast.domain.json_codec import encode
from holdfast.domain.results import Facets
from holdfast.domain.types import Facet, Order

router = GuardedRouter("Native")


class ListedBody(NarrowedBody):
    limit: int = Field(20, ge=1, le=1000)
    as_of: Moment = None
    """Use the memories that were current at this time."""
    superseded: bool = False
    """Include superseded versions."""
    expired: bool = False
    """Include expired memories that are not yet removed."""


class ListBody(ListedBody):
    cursor: str | None = None
    """The `cursor` of the previous page."""
    version: int | None = None
    """The schema version of the values; requires one kind."""
    order: Order = "written"
    """By which time to list, newest first; with `_asc`, oldest first."""
    total: bool = False
    """Also count the memories on all pages."""


class FacetsBody(ListedBody):
    by: list[Facet] | None = None
    """What to count by; everything by default."""


@router.post(OF + "/memories/list", dependencies=[Depends(requires("read"))], response_model=response_models.Memories)
async def list_memories(request: Request, body: ListBody) -> Json:
    """List current memories, newest first, by page."""
    names = ("limit", "cursor", "version", "as_of", "superseded", "expired", "order", "total")
    asked: Any = {name: getattr(body, name) for name in names} | body.narrowing()
    found = await (await profile_of(request)).list(**asked)
    return Json({"memories": encode(found.items), "cursor": found.cursor, "total": found.total})


@router.post(OF + "/memories/facets", dependencies=[Depends(requires("read"))], response_model=Facets)
async def facets(request: Request, body: FacetsBody) -> Json:
    """Count the memories that a listing would have, by kind, key, person, agent, tag and month."""
    names = ("by", "limit", "as_of", "superseded", "expired")
    asked: Any = {name: getattr(body, name) for name in names} | body.narrowing()
    return Json(encode(await (await profile_of(request)).facets(**asked)))


@router.get(OF + "/messages", dependencies=[Depends(requires("read"))], response_model=response_models.Messages)
async def messages(
    request: Request,
    session_id: str | None = None,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 1000,
    cursor: str | None = None,
) -> Json:
    """List messages in order, of one session or of all, by page."""
    found = await (await profile_of(request)).messages(session_id, limit=limit, cursor=cursor)
    return Json({"messages": encode(found.items), "cursor": found.cursor})
