"""Cloudflare Agent Memory's HTTP contract, unchanged: clients written for it need only another base URL."""

from __future__ import annotations

import base64
import math
import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ..errors import InvalidInput, NotFound, shown
from ..names import CONTENT_BYTES, text
from ..profile import LocalProfile
from ..synthesis import LEVELS
from ..types import Memory
from . import gate
from .gate import needs
from .segments import segment
from .shapes import Envelope
from .wire import Json, Once, entry, plain, whole

ROOT = "/client/v4/accounts/{account}/agent-memory"
IN = ROOT + "/namespaces/{namespace}"
OF = IN + "/profiles/{profile}"
PROFILE = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
PROFILE_CHARS = 100
TYPES = Literal["fact", "event", "instruction", "task"]
router = APIRouter(tags=["Agent Memory"])


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class NewNamespace(_Body):
    name: str


class Said(_Body):
    role: Literal["system", "user", "assistant"]
    content: str
    timestamp: str | float | None = None


class Ingest(_Body):
    messages: list[Said]
    session_id: str | None = Field(None, alias="sessionId")


class Remember(_Body):
    content: str
    session_id: str | None = Field(None, alias="sessionId")


class Recall(_Body):
    query: str
    thinking_level: Literal["low", "medium", "high"] = Field("low", alias="thinkingLevel")
    response_length: Literal["short", "medium", "long"] = Field("medium", alias="responseLength")
    reference_date: str | float | None = Field(None, alias="referenceDate")


class Summary(_Body):
    session_id: str | None = Field(None, alias="sessionId")


class Paging(BaseModel):
    per_page: int = Field(20, ge=1, le=1000)
    cursor: str = ""


def paging(
    per_page: Annotated[int | None, Query(ge=1, le=1000)] = None,
    perPage: Annotated[int | None, Query(ge=1, le=1000)] = None,  # noqa: N803  (a third-party client sends it so)
    cursor: str = "",
) -> Paging:
    return Paging(per_page=per_page or perPage or 20, cursor=cursor)


Page = Annotated[Paging, Depends(paging)]


def reply(result: Any, *, status: int = 200, info: dict[str, Any] | None = None) -> Json:
    envelope = {"result": plain(result), "success": True, "errors": [], "messages": []}
    return Json(envelope | ({"result_info": info} if info is not None else {}), status)


def some(found: list[Any], page: Paging, by: str = "name") -> Json:
    """One page of a sorted list that is at hand; the cursor is the last name shown, so that deleting skips nothing."""
    names = [getattr(each, by) for each in found]
    start = 0 if not page.cursor else _after(names, _opened(page.cursor))
    shown_here = found[start : start + page.per_page]
    left = start + len(shown_here) < len(found)
    cursor = _sealed(names[start + len(shown_here) - 1]) if left else ""
    return reply(shown_here, info={"count": len(shown_here), "per_page": page.per_page, "cursor": cursor})


def _after(names: list[str], last: str) -> int:
    """Where the list goes on after a name, in its own order, whether or not that name is still there."""
    falling = len(names) > 1 and names[0] > names[-1]
    return next((n for n, name in enumerate(names) if (name < last if falling else name > last)), len(names))


def _sealed(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _opened(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise InvalidInput(
            f"cursor {shown(cursor)} is none of ours; pass the cursor of the page before, unchanged.", field="cursor"
        ) from None


async def profile_of(request: Request) -> LocalProfile:
    """The profile of the path, under the contract's stricter rule for its name."""
    name = segment(request, "profile")
    if not PROFILE.fullmatch(name) or len(name) > PROFILE_CHARS:
        raise InvalidInput(
            f"profile {shown(name)} is not a name: 1 to {PROFILE_CHARS} of a-z, 0-9 and inner hyphens.", field="profile"
        )
    found = await gate.profile_of(request)
    if request.state.reading:
        await found._store()  # the contract's 404, where Holdfast's own API finds nothing
    return found


@router.post(ROOT + "/namespaces", dependencies=[Depends(needs("admin"))], status_code=201, response_model=Envelope)
async def create_namespace(request: Request, body: NewNamespace) -> Json:
    try:
        made = await request.app.state.holdfast.create_namespace(body.name)
    except InvalidInput as wrong:
        raise InvalidInput(str(wrong), field="name") from wrong
    return reply(made, status=201)


@router.get(ROOT + "/namespaces", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def list_namespaces(
    request: Request, page: Page, order: Literal["id", "name"] = "name", direction: Literal["asc", "desc"] = "asc"
) -> Json:
    found = await request.app.state.holdfast.namespaces()
    ordered = sorted(found, key=lambda each: getattr(each, order), reverse=direction == "desc")
    return some(ordered, page, order)


@router.get(IN, dependencies=[Depends(needs("read"))], response_model=Envelope)
async def get_namespace(request: Request) -> Json:
    return reply(await request.app.state.holdfast.namespace(request.state.namespace))


@router.delete(IN, dependencies=[Depends(needs("admin"))], response_model=Envelope)
async def delete_namespace(request: Request) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.delete_namespace(space.name)
    return reply(None)


@router.get(IN + "/profiles", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def list_profiles(request: Request, page: Page) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    return some(await request.app.state.holdfast.profiles(space.name), page)


@router.delete(OF, dependencies=[Depends(needs("admin"))], response_model=Envelope)
async def delete_profile(request: Request) -> Json:
    profile = await profile_of(request)
    if not await request.app.state.holdfast.delete_profile(profile.namespace, profile.name):
        raise NotFound(f"There is no profile {profile.name!r} in namespace {profile.namespace!r}.", field="profile")
    return reply(None)


@router.delete(OF + "/sessions/{session_id}", dependencies=[Depends(needs("forget"))], response_model=Envelope)
async def delete_session(request: Request) -> Json:
    try:
        await (await profile_of(request)).forget_session(segment(request, "session_id"))
    except NotFound as absent:  # nothing to delete is fine, and so is a profile that nobody wrote to
        if absent.field != "profile":
            raise
    return reply(None)


@router.post(OF + "/ingest", dependencies=[Depends(needs("write"))], response_model=Envelope)
async def ingest(request: Request, body: Ingest, once: Once = None) -> Json:
    for n, said in enumerate(body.messages):  # our own limits are wider
        text(said.content, f"messages[{n}].content", limit=CONTENT_BYTES)
    messages = [said.model_dump(exclude_none=True) for said in body.messages]
    await (await profile_of(request)).ingest(messages, session_id=body.session_id, idempotency_key=once)
    return reply(None)


@router.post(OF + "/remember", dependencies=[Depends(needs("write"))], status_code=201, response_model=Envelope)
async def remember(request: Request, body: Remember, once: Once = None) -> Json:
    profile = await profile_of(request)
    kind = await request.app.state.holdfast.kind_of(body.content)
    kept = await profile.remember(body.content, kind=kind, session_id=body.session_id, idempotency_key=once)
    return reply(whole(kept), status=201)


@router.post(OF + "/recall", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def recall(request: Request, body: Recall) -> Json:
    profile = await profile_of(request)
    found = await profile.recall(
        body.query, thinking_level=body.thinking_level, response_length=body.response_length,
        reference_date=body.reference_date,
    )  # fmt: skip
    limit = LEVELS[body.thinking_level].hits
    asked: Any = {"limit": limit, "reference_date": body.reference_date}
    memories = await profile.search(body.query, **asked, filter={"not": {"kind": "message"}})
    candidates = [
        {"id": hit.id, "summary": hit.summary, "sessionId": hit.session_id, "score": _share(hit.score)}
        for hit in memories
    ]
    return reply({"count": len(candidates), "answer": found.answer, "candidates": candidates})


@router.get(OF + "/memories", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def list_memories(request: Request, page: Page, session_id: str | None = None, type: TYPES | None = None) -> Json:
    profile = await profile_of(request)
    found = await profile.list(limit=page.per_page, cursor=page.cursor or None, session_id=session_id, kind=type)
    info = {"count": len(found), "per_page": page.per_page, "cursor": found.cursor or ""}
    return reply([entry(memory) for memory in found], info=info)


@router.get(OF + "/memories/{id}", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def get_memory(request: Request, id: str) -> Json:
    return reply(whole(await _memory(await profile_of(request), id)))


@router.delete(OF + "/memories/{id}", dependencies=[Depends(needs("forget"))], response_model=Envelope)
async def delete_memory(request: Request, id: str) -> Json:
    profile = await profile_of(request)
    memory = await _memory(profile, id)
    await profile.forget(id)
    return reply(whole(memory))


@router.post(OF + "/summary", dependencies=[Depends(needs("read"))], response_model=Envelope)
async def summary(request: Request, body: Summary | None = None) -> Json:
    session = None if body is None else body.session_id
    return reply({"summary": await (await profile_of(request)).summary(session)})


async def _memory(profile: LocalProfile, id: str) -> Memory:
    found = await profile.get(id)
    if not isinstance(found, Memory):
        raise NotFound(f"There is no memory {shown(id)} in this profile.", field="id")
    return found


def _share(score: float) -> float:
    """A ranker's score as 0 to 1."""
    return round(1 / (1 + math.exp(-score / 3)), 4)
