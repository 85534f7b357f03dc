"""Several profiles asked at once. The route lets every credential in; each profile named is checked for the right."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from ..across import AsyncAcross, placed, unreadable
from ..results import Answer, Context, Origin
from . import shapes
from .gate import named_profile, needs
from .native import IN, InContext, Recall, Search, streamed_answer
from .wire import Body, Json, plain

router = APIRouter(tags=["Across profiles"])
among = Depends(needs("read", among=True))


class Place(Body):
    namespace: str
    profile: str


class Among(Body):
    """By name, or with a namespace of their own."""

    profiles: list[str | Place] = Field(min_length=1)


class SearchAcross(Search, Among): ...


class RecallAcross(Recall, Among): ...


class ContextAcross(InContext, Among): ...


@router.post(IN + "/search", dependencies=[among], response_model=shapes.Hits)
async def search(request: Request, body: SearchAcross) -> Json:
    """Ranked together, each hit with its origin."""
    asked: Any = body.asked()
    return Json({"hits": plain(await (await _across(request, body)).search(body.query, **asked))})


@router.post(IN + "/recall", dependencies=[among], response_model=Answer)
async def recall(request: Request, body: RecallAcross) -> Json:
    """One answer; each citation says which profile it is from."""
    asked: Any = body.asked()
    return Json(plain(await (await _across(request, body)).recall(body.query, **asked)))


@router.post(IN + "/recall/stream", dependencies=[among], response_class=StreamingResponse)
async def recall_stream(request: Request, body: RecallAcross) -> StreamingResponse:
    """As for one profile: the answer's words as server-sent events, and the whole answer last."""
    asked: Any = body.asked()
    return await streamed_answer((await _across(request, body)).recall_stream(body.query, **asked))


@router.post(IN + "/context", dependencies=[among], response_model=Context)
async def context(request: Request, body: ContextAcross) -> Json:
    asked: Any = {"tokens": body.tokens, "summaries": body.summaries, "reference_date": body.reference_date}
    asked |= {"as_of": body.as_of, **body.narrowing()}
    return Json(plain(await (await _across(request, body)).context(body.query, **asked)))


async def _across(request: Request, body: Among) -> AsyncAcross:
    given = [each if isinstance(each, str) else Origin(each.namespace, each.profile) for each in body.profiles]
    found = []
    for n, place in enumerate(placed(request.state.namespace, given)):
        profile = named_profile(request, place.namespace, place.profile, "read")
        if profile is None:
            raise unreadable(n)
        found.append(profile)
    return AsyncAcross(found)
