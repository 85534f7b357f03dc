"""The native API's side of keeping: what may be kept for how long, in a profile and in a namespace."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from . import shapes
from .gate import needs, profile_of
from .native import IN, OF
from .wire import Body, Json, plain

router = APIRouter(tags=["Native"])


class Rules(Body):
    rules: dict[str, Any] | None = None
    """None leaves it to the namespace."""


class Apply(Body):
    dry_run: bool = False


@router.get(OF + "/retention", dependencies=[Depends(needs("read"))], response_model=shapes.Retention)
async def retention(request: Request) -> Json:
    """The rules that hold here: the profile's own, or its namespace's."""
    return Json({"retention": await (await profile_of(request)).retention()})


@router.put(OF + "/retention", dependencies=[Depends(needs("forget"))], response_model=shapes.Retention)
async def set_retention(request: Request, body: Rules) -> Json:
    """Lay down what may be kept for how long."""
    profile = await profile_of(request)
    await profile.set_retention(body.rules)
    return Json({"retention": body.rules})


@router.post(OF + "/retention/apply", dependencies=[Depends(needs("forget"))], response_model=shapes.Retained)
async def apply_retention(request: Request, body: Apply | None = None) -> Json:
    """Do now what the rules say; with `dry_run` only tell what would go."""
    done = await (await profile_of(request)).apply_retention(dry_run=body is not None and body.dry_run)
    return Json({"retained": plain(done)})


@router.put(OF + "/summaries", dependencies=[Depends(needs("write"))], response_model=shapes.Cadence)
async def set_summaries(request: Request, body: shapes.Cadence) -> Json:
    """Roll up what is said: every 20 turns, daily at 03:00, or off; of messages, or of memories of one kind."""
    await (await profile_of(request)).set_summaries(body.cadence)
    return Json({"cadence": body.cadence})


@router.put(IN + "/retention", dependencies=[Depends(needs("admin"))], response_model=shapes.Retention)
async def set_namespace_retention(request: Request, body: Rules) -> Json:
    """Lay down what holds in every profile of a namespace that has no rules of its own."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.set_namespace_retention(space.name, body.rules)
    return Json({"retention": body.rules})
