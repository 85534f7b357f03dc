"""The key-value and vector memory of an agent about an entity: write, get, search, list, delete.

An agent is a namespace and an entity is a profile in it. An item is a memory with a key chosen by the caller.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, Once
from holdfast.domain.errors import AlreadyExists, NotFound
from holdfast.domain.json_codec import encode
from holdfast.service.facades.agent_memory import AsyncAgentMemory, Item, item_of
from holdfast.service.profile.local import LocalProfile

OF = "/v1/agents/{namespace}/entities/{profile}"
router = GuardedRouter("Key-value")


class Write(Body):
    kind: str
    """The kind of the item."""
    key: str | None = None
    """The key of the item; items without a key accumulate."""
    value: Any = None
    """Any JSON value."""
    content: str | None = None
    """The text to find the item by; derived from the value by default."""
    metadata: dict[str, Any] | None = None
    """Metadata to store with it."""
    embed: bool = True
    """Whether it can be found by meaning; otherwise only by its words and key."""
    ttl: float | None = None
    """Seconds until it expires."""


class ItemSearchBody(Body):
    query: str
    """What to search for."""
    limit: int = Field(10, ge=1, le=1000)
    """At most this many items."""
    kind: str | list[str] | None = None
    """Only this kind, or one of these."""
    filters: dict[str, Any] | None = None
    """Conditions, such as `{"metadata.price": {"gte": 10}}`."""


@router.post(OF + "/items", dependencies=[Depends(requires("write"))], status_code=201, response_model=Item)
async def write(request: Request, body: Write, once: Once = None) -> Json:
    """Write a value under a kind and key. An item with the same key is overwritten and stays in the history.

    An agent is a namespace. The first write creates it if the credential may administer everywhere; otherwise create it
    with `POST /v1/namespaces`.
    """
    profile = await _writable_profile(request)
    return Json(
        encode(item_of(await profile.remember(**dict(body), trust="agent", topic=False, idempotency_key=once))), 201
    )


@router.get(OF + "/items/{kind}/{key}", dependencies=[Depends(requires("read"))], response_model=Item)
async def get(request: Request, kind: str, version: int | None = None) -> Json:
    """Return one item; `version` converts its value to that version of the kind's schema."""
    key = str(request.path_params["key"])
    found = await (await _memory(request)).get(kind, key, version=version)
    if found is None:
        raise NotFound(f"There is no {kind} with key {key!r}.", field="key")
    return Json(encode(found))


@router.post(OF + "/search", dependencies=[Depends(requires("read"))], response_model=response_models.ItemsResponse)
async def search(request: Request, body: ItemSearchBody) -> Json:
    """Search items by meaning, words and key, best first."""
    found = await (await _memory(request)).search(body.query, limit=body.limit, kind=body.kind, filters=body.filters)
    return Json({"items": encode(found)})


@router.get(OF + "/items", dependencies=[Depends(requires("read"))], response_model=response_models.ItemsResponse)
async def listed(
    request: Request,
    kind: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    order_by: Literal["recent"] = "recent",
) -> Json:
    """List items, most recent first."""
    return Json({"items": encode(await (await _memory(request)).list(kind, limit=limit, order_by=order_by))})


@router.delete(
    OF + "/items/{kind}/{key}", dependencies=[Depends(requires("forget"))], response_model=response_models.Deleted
)
async def delete(request: Request, kind: str) -> Json:
    """Delete an item with its history."""
    return Json({"deleted": await (await _memory(request)).delete(kind, str(request.path_params["key"]))})


async def _writable_profile(request: Request) -> LocalProfile:
    """The entity's profile. The first write creates the agent's namespace if the credential may create one, as
    `AgentMemory` does."""
    try:
        return await profile_of(request)
    except NotFound as absent:
        if absent.field != "namespace":
            raise
        if not request.state.credential.allows("admin", None, None):
            raise NotFound(
                f"There is no namespace {request.state.namespace!r}, where this agent's items would be.",
                field="namespace",
                fix="Create it with POST /v1/namespaces, or write with a credential that may administer everywhere.",
            ) from None
        with suppress(AlreadyExists):  # another request created it in the meantime
            await request.app.state.holdfast.create_namespace(request.state.namespace)
    return await profile_of(request)


async def _memory(request: Request) -> AsyncAgentMemory:
    return AsyncAgentMemory(await profile_of(request, unwritten=True))
