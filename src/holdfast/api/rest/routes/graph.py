"""Entities and links over HTTP."""

from __future__ import annotations

from fastapi import Depends, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json
from holdfast.api.rest.routes.memories import OF
from holdfast.domain.graph import EntityChange, graph_json
from holdfast.domain.json_codec import encode

router = GuardedRouter("Graph")


class MergeEntitiesBody(Body):
    into: str
    """The entity that the others become part of."""
    others: list[str]
    """The names or entities to merge into it."""
    name: str | None = None
    """The name to show for it."""


class SplitEntityBody(Body):
    entity: str
    """The entity to split."""
    name: str
    """The name of the new entity."""
    names: list[str] = Field(default_factory=list)
    """Names to move to the new entity."""
    memories: list[str] = Field(default_factory=list)
    """Ids of memories whose mentions move to the new entity."""


class UndoEntityChangeBody(Body):
    id: str | None = None
    """The id of a merge or split; by default the last one."""


@router.get(OF + "/graph", dependencies=[Depends(requires("read"))], response_model=response_models.GraphResponse)
async def graph(
    request: Request, entity: str | None = None, depth: int = 1, as_of: str | None = None, past: bool = False,
    limit: int = 100,
) -> Json:  # fmt: skip
    """Return an entity with everything at most `depth` links away; without `entity`, the most mentioned entities."""
    profile = await profile_of(request)
    return Json(encode(graph_json(await profile.graph(entity, depth=depth, as_of=as_of, past=past, limit=limit))))


@router.get(OF + "/graph/path", dependencies=[Depends(requires("read"))], response_model=response_models.GraphResponse)
async def path(request: Request, start: str, end: str, as_of: str | None = None, past: bool = False) -> Json:
    """Return the shortest path between two entities, in order; without entities when there is none."""
    return Json(encode(graph_json(await (await profile_of(request)).path(start, end, as_of=as_of, past=past))))


@router.get(OF + "/entities", dependencies=[Depends(requires("read"))], response_model=response_models.Entities)
async def entities(
    request: Request, query: str | None = None, type: str | None = None, as_of: str | None = None, limit: int = 100
) -> Json:
    """List the people and things that memories mention, most mentioned first."""
    found = await (await profile_of(request)).entities(query, type=type, as_of=as_of, limit=limit)
    return Json({"entities": encode(found)})


@router.get(
    OF + "/entities/about", dependencies=[Depends(requires("read"))], response_model=response_models.AboutResponse
)
async def about(request: Request, entity: str, as_of: str | None = None, limit: int = 20) -> Json:
    """List the memories that mention an entity, newest first."""
    return Json({"memories": encode(await (await profile_of(request)).about(entity, as_of=as_of, limit=limit))})


@router.get(
    OF + "/entities/changes", dependencies=[Depends(requires("read"))], response_model=response_models.EntityChanges
)
async def changes(request: Request) -> Json:
    """List the merges and splits of entities that are in force, oldest first."""
    return Json({"changes": encode(await (await profile_of(request)).entity_changes())})


@router.post(OF + "/entities/merge", dependencies=[Depends(requires("write", "read"))], response_model=EntityChange)
async def merge(request: Request, body: MergeEntitiesBody) -> Json:
    """Make several names the names of one entity."""
    profile = await profile_of(request)
    return Json(encode(await profile.merge_entities(body.into, body.others, name=body.name)))


@router.post(OF + "/entities/split", dependencies=[Depends(requires("write", "read"))], response_model=EntityChange)
async def split(request: Request, body: SplitEntityBody) -> Json:
    """Move some of an entity's names, or its mentions in some memories, to a new entity."""
    profile = await profile_of(request)
    made = await profile.split_entity(body.entity, body.name, names=body.names, memories=body.memories)
    return Json(encode(made))


@router.post(OF + "/entities/undo", dependencies=[Depends(requires("write", "read"))], response_model=EntityChange)
async def undo(request: Request, body: UndoEntityChangeBody) -> Json:
    """Undo a merge or split of entities, by default the last one."""
    return Json(encode(await (await profile_of(request)).undo_entity_change(body.id)))
