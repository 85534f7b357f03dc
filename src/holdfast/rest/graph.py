"""Entities and links over HTTP, in a shape that can be drawn as it comes."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from ..graphs import EntityChange, drawn
from . import shapes
from .gate import needs, profile_of
from .native import OF
from .wire import Body, Json, plain

router = APIRouter(tags=["Graph"])


class Merge(Body):
    into: str
    others: list[str]
    name: str | None = None


class Split(Body):
    entity: str
    name: str
    names: list[str] = Field(default_factory=list)
    memories: list[str] = Field(default_factory=list)


class Undo(Body):
    id: str | None = None


@router.get(OF + "/graph", dependencies=[Depends(needs("read"))], response_model=shapes.Graph)
async def graph(
    request: Request, entity: str | None = None, depth: int = 1, as_of: str | None = None, past: bool = False,
    limit: int = 100,
) -> Json:  # fmt: skip
    """An entity with what is no more than `depth` links away, or the entities that most memories mention."""
    profile = await profile_of(request)
    return Json(plain(drawn(await profile.graph(entity, depth=depth, as_of=as_of, past=past, limit=limit))))


@router.get(OF + "/graph/path", dependencies=[Depends(needs("read"))], response_model=shapes.Graph)
async def path(request: Request, start: str, end: str, as_of: str | None = None, past: bool = False) -> Json:
    """The shortest way between two entities, in order; empty when there is none."""
    return Json(plain(drawn(await (await profile_of(request)).path(start, end, as_of=as_of, past=past))))


@router.get(OF + "/entities", dependencies=[Depends(needs("read"))], response_model=shapes.Entities)
async def entities(
    request: Request, query: str | None = None, type: str | None = None, as_of: str | None = None, limit: int = 100
) -> Json:
    """Who and what memories mention, most mentioned first."""
    found = await (await profile_of(request)).entities(query, type=type, as_of=as_of, limit=limit)
    return Json({"entities": plain(found)})


@router.get(OF + "/entities/about", dependencies=[Depends(needs("read"))], response_model=shapes.About)
async def about(request: Request, entity: str, as_of: str | None = None, limit: int = 20) -> Json:
    """The memories that mention an entity, newest first."""
    return Json({"memories": plain(await (await profile_of(request)).about(entity, as_of=as_of, limit=limit))})


@router.get(OF + "/entities/changes", dependencies=[Depends(needs("read"))], response_model=shapes.EntityChanges)
async def changes(request: Request) -> Json:
    """What was decided about entities and not undone, oldest first."""
    return Json({"changes": plain(await (await profile_of(request)).entity_changes())})


@router.post(OF + "/entities/merge", dependencies=[Depends(needs("write"))], response_model=EntityChange)
async def merge(request: Request, body: Merge) -> Json:
    """Have other names be names of one entity."""
    profile = await profile_of(request)
    return Json(plain(await profile.merge_entities(body.into, body.others, name=body.name)))


@router.post(OF + "/entities/split", dependencies=[Depends(needs("write"))], response_model=EntityChange)
async def split(request: Request, body: Split) -> Json:
    """Have some of an entity's names, or its mentions in some memories, be another entity."""
    profile = await profile_of(request)
    made = await profile.split_entity(body.entity, body.name, names=body.names, memories=body.memories)
    return Json(plain(made))


@router.post(OF + "/entities/undo", dependencies=[Depends(needs("write"))], response_model=EntityChange)
async def undo(request: Request, body: Undo) -> Json:
    """Take back a merge or a split, or the last one."""
    return Json(plain(await (await profile_of(request)).undo_entity_change(body.id)))
