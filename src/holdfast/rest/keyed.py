"""The key-value and vector memory of an agent about an entity: write, get, search, list, delete.

An agent is a namespace and an entity is a profile in it; an item is a memory that somebody keyed by hand.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from ..agent_memory import AsyncAgentMemory, Item, item
from ..errors import NotFound
from . import shapes
from .gate import needs, profile_of
from .segments import segment
from .wire import Body, Json, Once, plain

OF = "/v1/agents/{namespace}/entities/{profile}"
router = APIRouter(tags=["Key-value"])


class Write(Body):
    kind: str
    key: str | None = None
    value: Any = None
    content: str | None = None
    metadata: dict[str, Any] | None = None
    embed: bool = True
    ttl: float | None = None


class Search(Body):
    query: str
    limit: int = Field(10, ge=1, le=1000)
    kind: str | list[str] | None = None
    filters: dict[str, Any] | None = None


@router.post(OF + "/items", dependencies=[Depends(needs("write"))], status_code=201, response_model=Item)
async def write(request: Request, body: Write, once: Once = None) -> Json:
    """Write a value under its kind and key; a key that is taken is overwritten, and its history kept."""
    profile = await profile_of(request)
    return Json(
        plain(item(await profile.remember(**dict(body), trust="agent", topic=False, idempotency_key=once))), 201
    )


@router.get(OF + "/items/{kind}/{key}", dependencies=[Depends(needs("read"))], response_model=Item)
async def get(request: Request, kind: str, version: int | None = None) -> Json:
    """One item; with `version`, its value as that version of the kind's schema has it."""
    key = segment(request, "key")
    found = await (await _memory(request)).get(kind, key, version=version)
    if found is None:
        raise NotFound(f"There is no {kind} with key {key!r}.", field="key")
    return Json(plain(found))


@router.post(OF + "/search", dependencies=[Depends(needs("read"))], response_model=shapes.Items)
async def search(request: Request, body: Search) -> Json:
    """The items that answer best, by meaning, words and key."""
    found = await (await _memory(request)).search(body.query, limit=body.limit, kind=body.kind, filters=body.filters)
    return Json({"items": plain(found)})


@router.get(OF + "/items", dependencies=[Depends(needs("read"))], response_model=shapes.Items)
async def listed(
    request: Request,
    kind: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    order_by: Literal["recent"] = "recent",
) -> Json:
    """Items, the most recent first."""
    return Json({"items": plain(await (await _memory(request)).list(kind, limit=limit, order_by=order_by))})


@router.delete(OF + "/items/{kind}/{key}", dependencies=[Depends(needs("forget"))], response_model=shapes.Deleted)
async def delete(request: Request, kind: str) -> Json:
    return Json({"deleted": await (await _memory(request)).delete(kind, segment(request, "key"))})


async def _memory(request: Request) -> AsyncAgentMemory:
    return AsyncAgentMemory(await profile_of(request))
