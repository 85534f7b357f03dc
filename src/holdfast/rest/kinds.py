"""Kinds with schemas over HTTP. Whoever may write is held to them; laying them down and migrating is administration.

A migration takes a mapping only: no request ever brings a function along.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from ..kinds import KindInfo
from ..migrate import Migrated
from . import shapes
from .gate import needs, profile_of
from .native import OF
from .wire import Body, Json, plain

router = APIRouter(tags=["Kinds"])


class Registration(Body):
    schema_: dict[str, Any] = Field(alias="schema")
    version: int = 1
    reverse: dict[str, Any] | list[dict[str, Any]] | None = None


class Migrate(Body):
    to: int
    using: dict[str, Any] | list[dict[str, Any]] | None = None
    dry_run: bool = True


class Rollback(Body):
    to: int
    dry_run: bool = True


@router.get(OF + "/kinds", dependencies=[Depends(needs("read"))], response_model=shapes.Kinds)
async def kinds(request: Request) -> Json:
    """Every kind that has a schema."""
    return Json({"kinds": plain(await (await profile_of(request)).kinds())})


@router.get(OF + "/kinds/{kind}", dependencies=[Depends(needs("read"))], response_model=KindInfo)
async def kind(request: Request, kind: str) -> Json:
    """One kind's schemas, and how many memories are at each version."""
    return Json(plain(await (await profile_of(request)).kind(kind)))


@router.put(OF + "/kinds/{kind}", dependencies=[Depends(needs("admin"))], response_model=KindInfo)
async def register_kind(request: Request, kind: str, body: Registration) -> Json:
    """Hold what is written of a kind to a JSON Schema."""
    profile = await profile_of(request)
    made = await profile.register_kind(kind, body.schema_, version=body.version, reverse=body.reverse)
    return Json(plain(made))


@router.delete(OF + "/kinds/{kind}", dependencies=[Depends(needs("admin"))], response_model=shapes.Dropped)
async def drop_kind(request: Request, kind: str, force: bool = False) -> Json:
    """Hold a kind to no schema any more; refused while it has memories, unless `force`."""
    return Json({"dropped": await (await profile_of(request)).drop_kind(kind, force=force)})


@router.post(OF + "/kinds/{kind}/migrate", dependencies=[Depends(needs("admin"))], response_model=Migrated)
async def migrate_kind(request: Request, kind: str, body: Migrate) -> Json:
    """Bring a kind's memories to a version by a mapping; with `dry_run`, as by default, only tell what would be."""
    profile = await profile_of(request)
    return Json(plain(await profile.migrate_kind(kind, to=body.to, using=body.using, dry_run=body.dry_run)))


@router.post(OF + "/kinds/{kind}/rollback", dependencies=[Depends(needs("admin"))], response_model=Migrated)
async def rollback_kind(request: Request, kind: str, body: Rollback) -> Json:
    """Give a kind's memories the values of a lower version again; with `dry_run`, as by default, only tell."""
    return Json(plain(await (await profile_of(request)).rollback_kind(kind, to=body.to, dry_run=body.dry_run)))
