"""Kinds with schemas over HTTP. Registering and migrating a kind needs the admin right.

A migration takes a mapping only: a request can never contain a function.
"""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json
from holdfast.api.rest.routes.memories import OF
from holdfast.domain.json_codec import encode
from holdfast.domain.reports import KindInfo, Migrated

router = GuardedRouter("Kinds")


class Registration(Body):
    schema_: dict[str, Any] = Field(alias="schema")
    """The JSON Schema."""
    version: int = 1
    """The number of this version."""
    reverse: dict[str, Any] | list[dict[str, Any]] | None = None
    """The mapping of values back to the previous version."""


class Migrate(Body):
    to: int
    """The target version."""
    using: dict[str, Any] | list[dict[str, Any]] | None = None
    """The mapping of values; they stay unchanged by default."""
    dry_run: bool = True
    """Only report what would change."""


class Rollback(Body):
    to: int
    """The target version."""
    dry_run: bool = True
    """Only report what would change."""


@router.get(OF + "/kinds", dependencies=[Depends(requires("read"))], response_model=response_models.Kinds)
async def kinds(request: Request) -> Json:
    """List every kind that has a schema."""
    return Json({"kinds": encode(await (await profile_of(request)).kinds())})


@router.get(OF + "/kinds/{kind}", dependencies=[Depends(requires("read"))], response_model=KindInfo)
async def kind(request: Request, kind: str) -> Json:
    """Return one kind's schemas, and the number of memories at each version."""
    return Json(encode(await (await profile_of(request)).kind(kind)))


@router.put(OF + "/kinds/{kind}", dependencies=[Depends(requires("admin"))], response_model=KindInfo)
async def register_kind(request: Request, kind: str, body: Registration) -> Json:
    """Register a JSON Schema that new values of a kind must satisfy."""
    profile = await profile_of(request)
    made = await profile.register_kind(kind, body.schema_, version=body.version, reverse=body.reverse)
    return Json(encode(made))


@router.delete(OF + "/kinds/{kind}", dependencies=[Depends(requires("admin"))], response_model=response_models.Dropped)
async def drop_kind(request: Request, kind: str, force: bool = False) -> Json:
    """Remove a kind's schemas. Refused while the kind has memories, unless `force` is set."""
    return Json({"dropped": await (await profile_of(request)).drop_kind(kind, force=force)})


@router.post(OF + "/kinds/{kind}/migrate", dependencies=[Depends(requires("admin"))], response_model=Migrated)
async def migrate_kind(request: Request, kind: str, body: Migrate) -> Json:
    """Convert a kind's memories to a version with a mapping. `dry_run`, the default, only reports what would change."""
    profile = await profile_of(request)
    return Json(encode(await profile.migrate_kind(kind, to=body.to, using=body.using, dry_run=body.dry_run)))


@router.post(OF + "/kinds/{kind}/rollback", dependencies=[Depends(requires("admin"))], response_model=Migrated)
async def rollback_kind(request: Request, kind: str, body: Rollback) -> Json:
    """Restore the values that a kind's memories had at a lower version. `dry_run`, the default, only reports what would
    change."""
    return Json(encode(await (await profile_of(request)).rollback_kind(kind, to=body.to, dry_run=body.dry_run)))
