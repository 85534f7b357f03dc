"""Retention over HTTP: rules of a profile and of a namespace."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Request

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json
from holdfast.api.rest.routes.memories import IN, OF
from holdfast.domain.json_codec import encode

router = GuardedRouter("Native")


class RulesBody(Body):
    rules: dict[str, Any] | None = None
    """The rules; null falls back to the namespace's rules."""


class Apply(Body):
    dry_run: bool = False
    """Only report what would be forgotten."""


@router.get(OF + "/retention", dependencies=[Depends(requires("read"))], response_model=response_models.Retention)
async def retention(request: Request) -> Json:
    """Return the retention rules in force: the profile's own, or those of its namespace."""
    return Json({"retention": await (await profile_of(request)).retention()})


@router.put(OF + "/retention", dependencies=[Depends(requires("forget"))], response_model=response_models.Retention)
async def set_retention(request: Request, body: RulesBody) -> Json:
    """Set the retention rules of a profile."""
    profile = await profile_of(request)
    await profile.set_retention(body.rules)
    return Json({"retention": body.rules})


@router.post(
    OF + "/retention/apply", dependencies=[Depends(requires("forget"))], response_model=response_models.RetainedResponse
)
async def apply_retention(request: Request, body: Apply | None = None) -> Json:
    """Apply the retention rules now; `dry_run` only reports what would be forgotten."""
    done = await (await profile_of(request)).apply_retention(dry_run=body is not None and body.dry_run)
    return Json({"retained": encode(done)})


@router.put(
    OF + "/summaries", dependencies=[Depends(requires("write"))], response_model=response_models.CadenceResponse
)
async def set_summaries(request: Request, body: response_models.CadenceResponse) -> Json:
    """Set the schedule of summaries: `every 20 turns`, `daily at 03:00` (UTC) or `off`; of messages, or of memories of
    one kind."""
    await (await profile_of(request)).set_summaries(body.cadence)
    return Json({"cadence": body.cadence})


@router.put(IN + "/retention", dependencies=[Depends(requires("admin"))], response_model=response_models.Retention)
async def set_namespace_retention(request: Request, body: RulesBody) -> Json:
    """Set the retention rules of every profile in the namespace that has no rules of its own."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.set_namespace_retention(space.name, body.rules)
    return Json({"retention": body.rules})
