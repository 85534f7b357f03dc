"""The native API's record of what happens in a profile: live events, traces, jobs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import StreamingResponse

from ..errors import HoldfastError, InvalidInput, shown
from ..names import LAST_EVENT
from ..profile import LocalProfile
from ..records import Event, JobStatus, Trace
from ..reported import HEARTBEAT
from . import shapes
from .gate import asking, bound_profile, needs, profile_of
from .native import OF
from .wire import Json, plain

router = APIRouter(tags=["Journal"])
Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[int | None, Query(ge=0, le=LAST_EVENT)]


@router.get(OF + "/jobs", dependencies=[Depends(needs("read"))], response_model=shapes.Jobs)
async def jobs(request: Request, limit: Limit = 20) -> Json:
    return Json({"jobs": plain(await (await profile_of(request)).jobs(limit=limit))})


@router.get(OF + "/jobs/{id}", dependencies=[Depends(needs("read"))], response_model=JobStatus)
async def job(request: Request, id: str) -> Json:
    return Json(plain(await (await profile_of(request)).job(id)))


@router.get(OF + "/traces", dependencies=[Depends(needs("read"))], response_model=shapes.Traces)
async def traces(
    request: Request, session: str | None = None, turn: str | None = None, limit: Limit = 20, cursor: str | None = None
) -> Json:
    """What was asked and written, newest first; with `session` and `turn`, what one turn of an agent did."""
    found = await (await profile_of(request)).traces(session_id=session, turn_id=turn, limit=limit, cursor=cursor)
    return Json({"traces": plain(found.items), "cursor": found.cursor})


@router.get(OF + "/traces/{id}", dependencies=[Depends(needs("read"))], response_model=Trace)
async def trace(request: Request, id: str) -> Json:
    return Json(plain(await (await profile_of(request)).trace(id)))


@router.get(OF + "/traces/{id}/items", dependencies=[Depends(needs("read"))], response_model=shapes.Named)
async def items(request: Request, id: str) -> Json:
    """The memories and messages that a trace names, as they are now, without those that were forgotten since."""
    return Json({"items": plain(await (await profile_of(request))._named_in(id))})


@router.get(OF + "/events", dependencies=[Depends(needs("read"))], response_class=StreamingResponse)
async def events(request: Request, after: After = None) -> StreamingResponse:
    """What changes, as it changes, as server-sent events; `Last-Event-ID` or `after` resumes."""
    return streamed(request, await profile_of(request), after)


@router.get("/s/{secret}/events", dependencies=[Depends(needs("read", bound=True))], response_class=StreamingResponse)
async def events_of_url(request: Request, after: After = None) -> StreamingResponse:
    """The same for the one profile of a secret URL."""
    return streamed(request, bound_profile(request), after)


def streamed(request: Request, profile: LocalProfile, after: int | None) -> StreamingResponse:
    last = request.headers.get("last-event-id")
    if last is not None and after is None:
        if not last.isdecimal() or len(last) > 19 or int(last) > LAST_EVENT:
            raise InvalidInput(f"Last-Event-ID is {shown(last)}; give the id of an event.", field="last-event-id")
        after = int(last)
    unbuffered = {"x-accel-buffering": "no"}  # or nginx would keep events until it has a page of them
    return StreamingResponse(_lines(request, profile, after), media_type="text/event-stream", headers=unbuffered)


async def _lines(request: Request, profile: LocalProfile, after: int | None) -> AsyncIterator[bytes]:
    """Events as lines; a comment now and then keeps the connection, as long as the credential is good."""
    with request.app.state.counts.streams.track_inprogress():
        yield b": listening\n\n"
        asked = time.monotonic()
        async for event in profile.events(after=after, heartbeat=HEARTBEAT):
            if event is None or time.monotonic() - asked >= HEARTBEAT:
                if not await _still(request):
                    return
                asked = time.monotonic()
            yield b": still here\n\n" if event is None else _line(event)


async def _still(request: Request) -> bool:
    """Whether the credential is still good."""
    try:
        await asking(request)
    except HoldfastError:
        return False
    return True


def _line(event: Event) -> bytes:
    data = orjson.dumps({"n": event.n, "at": plain(event.at), "type": event.type, **event.data})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.n, event.type.encode(), data)
