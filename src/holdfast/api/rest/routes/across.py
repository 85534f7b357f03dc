"""Queries over several profiles. The route admits every credential; the right is checked in each named profile."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import existing_namespace, named_profile, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, found_json, hits_json
from holdfast.api.rest.routes.memories import IN, ContextBody, RecallBody, SearchBody, streamed_answer
from holdfast.domain.results import Answer, Context, Origin
from holdfast.service.across import AsyncAcross, named_profiles, unreadable_profile

router = GuardedRouter("Across profiles")
among = Depends(requires("read", among=True))


class ProfilePlace(Body):
    namespace: str
    profile: str


class Among(Body):
    """`profiles` lists profiles by name, or with the namespace of each."""

    profiles: list[str | ProfilePlace] = Field(min_length=1)
    """Names of profiles of this namespace, or objects with namespace and profile."""


class SearchAcross(SearchBody, Among): ...


class RecallAcross(RecallBody, Among): ...


class ContextAcross(ContextBody, Among): ...


@router.post(IN + "/search", dependencies=[among], response_model=response_models.Hits)
async def search(request: Request, body: SearchAcross) -> Json:
    """Search several profiles. All hits are ranked together; each has its origin."""
    asked: Any = body.asked()
    return Json({"hits": hits_json(await (await _across(request, body)).search(body.query, **asked), body.explain)})


@router.post(IN + "/recall", dependencies=[among], response_model=Answer)
async def recall(request: Request, body: RecallAcross) -> Json:
    """Answer a question from several profiles. Each citation has its origin."""
    asked: Any = body.asked()
    return Json(found_json(await (await _across(request, body)).recall(body.query, **asked), body.explain))


@router.post(IN + "/recall/stream", dependencies=[among], response_class=StreamingResponse)
async def recall_stream(request: Request, body: RecallAcross) -> StreamingResponse:
    """Answer a question from several profiles as server-sent events, in the same format as for one profile."""
    asked: Any = body.asked()
    return await streamed_answer((await _across(request, body)).recall_stream(body.query, **asked), body.explain)


@router.post(IN + "/context", dependencies=[among], response_model=Context)
async def context(request: Request, body: ContextAcross) -> Json:
    """Return a block of text from several profiles to paste into a prompt, within a token budget."""
    asked: Any = body.asked()
    return Json(found_json(await (await _across(request, body)).context(body.query, **asked), body.explain))


async def _across(request: Request, body: Among) -> AsyncAcross:
    given = [each if isinstance(each, str) else Origin(each.namespace, each.profile) for each in body.profiles]
    found = []
    for n, place in enumerate(named_profiles(request.state.namespace, given)):
        profile = named_profile(request, place.namespace, place.profile, "read")
        if profile is None:
            raise unreadable_profile(n)
        await existing_namespace(request, place.namespace)
        found.append(profile)
    return AsyncAcross(found)
