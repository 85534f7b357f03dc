"""The journal of a profile in the native API: live events, traces, jobs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import StreamingResponse

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import bound_profile, credential_of, profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Json, encode_json
from holdfast.api.rest.routes.memories import OF
from holdfast.domain.errors import HoldfastError, InvalidInput, quoted_value
from holdfast.domain.identifiers import LAST_EVENT
from holdfast.domain.json_codec import encode
from holdfast.domain.ports.profile.journal import HEARTBEAT_SECONDS
from holdfast.domain.records import Event, JobStatus, Trace
from holdfast.service.profile.journal import trace_items
from holdfast.service.profile.local import LocalProfile

router = GuardedRouter("Journal")
Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[int | None, Query(ge=0, le=LAST_EVENT)]


@router.get(OF + "/jobs", dependencies=[Depends(requires("read"))], response_model=response_models.Jobs)
async def jobs(request: Request, limit: Limit = 20, cursor: str | None = None) -> Json:
    """List jobs, newest first, with their progress, by page."""
    found = await (await profile_of(request)).jobs(limit=limit, cursor=cursor)
    return Json({"jobs": encode(found.items), "cursor": found.cursor})


@router.get(OF + "/jobs/{id}", dependencies=[Depends(requires("read"))], response_model=JobStatus)
async def job(request: Request, id: str) -> Json:
    """Return the progress of one job: the digestion of the messages of one ingest."""
    return Json(encode(await (await profile_of(request)).job(id)))


@router.get(OF + "/traces", dependencies=[Depends(requires("read"))], response_model=response_models.Traces)
async def traces(
    request: Request, session: str | None = None, turn: str | None = None, limit: Limit = 20, cursor: str | None = None
) -> Json:
    """List the traces of reads and writes, newest first; `session` and `turn` select those of one turn of an agent."""
    found = await (await profile_of(request)).traces(session_id=session, turn_id=turn, limit=limit, cursor=cursor)
    return Json({"traces": encode(found.items), "cursor": found.cursor})


@router.get(OF + "/traces/{id}", dependencies=[Depends(requires("read"))], response_model=Trace)
async def trace(request: Request, id: str) -> Json:
    """Return one trace."""
    return Json(encode(await (await profile_of(request)).trace(id)))


@router.get(
    OF + "/traces/{id}/items",
    dependencies=[Depends(requires("read"))],
    response_model=response_models.NamedItemsResponse,
)
async def items(request: Request, id: str) -> Json:
    """List the memories and messages that a trace names, in their current state, without forgotten ones."""
    profile = await profile_of(request)
    return Json({"items": encode(await trace_items(profile.profile_context, await profile.trace(id)))})


@router.get(OF + "/events", dependencies=[Depends(requires("read"))], response_class=StreamingResponse)
async def events(request: Request, after: After = None) -> StreamingResponse:
    """Stream the changes of the profile as server-sent events. `Last-Event-ID` or `after` resumes after an event."""
    return await streamed(request, await profile_of(request), after)


@router.get(
    "/s/{secret}/events", dependencies=[Depends(requires("read", bound=True))], response_class=StreamingResponse
)
async def events_of_url(request: Request, after: After = None) -> StreamingResponse:
    """Stream the changes of the profile of the secret URL as server-sent events."""
    return await streamed(request, bound_profile(request), after)


async def streamed(request: Request, profile: LocalProfile, after: int | None) -> StreamingResponse:
    """The stream. A change after the head of the response is among its events, so who reads then misses nothing."""
    last = request.headers.get("last-event-id")
    if last is not None and after is None:
        if not last.isdecimal() or len(last) > 19 or int(last) > LAST_EVENT:
            raise InvalidInput(
                f"Last-Event-ID is {quoted_value(last)}; give the id of an event.", field="last-event-id"
            )
        after = int(last)
    unbuffered = {"x-accel-buffering": "no"}  # otherwise nginx would buffer events until it has a page of them
    events = profile.events(after=LAST_EVENT if after is None else after, heartbeat=HEARTBEAT_SECONDS)
    if after is None:
        await anext(events, None)  # a reset to the newest event: from here on nothing is missed
    return StreamingResponse(_lines(request, events), media_type="text/event-stream", headers=unbuffered)


async def _lines(request: Request, events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    """Events as lines; a comment now and then keeps the connection, as long as the credential is good."""
    with request.app.state.counts.streams.track_inprogress():
        yield b": listening\n\n"
        asked = time.monotonic()
        async for event in events:
            if event is None or time.monotonic() - asked >= HEARTBEAT_SECONDS:
                if not await _still(request):
                    return
                asked = time.monotonic()
            yield b": still here\n\n" if event is None else _line(event)


async def _still(request: Request) -> bool:
    """Whether the credential is still good."""
    try:
        await credential_of(request)
    except HoldfastError:
        return False
    return True


def _line(event: Event) -> bytes:
    data = encode_json({"n": event.n, "at": encode(event.at), "type": event.type, **event.data})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.n, event.type.encode(), data)
