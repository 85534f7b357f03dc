"""Cloudflare Agent Memory's HTTP contract, unchanged: clients written for it need only another base URL."""

from __future__ import annotations

import base64
import math
import re
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from holdfast.api.rest import auth
from holdfast.api.rest.auth import requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Json, Once, agent_memory_entry, full_entry
from holdfast.api.rest.request_body import INGEST_LIMIT
from holdfast.api.rest.response_models import Envelope
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.identifiers import validate_text
from holdfast.domain.json_codec import encode
from holdfast.domain.limits import MAX_CONTENT_BYTES
from holdfast.domain.types import Memory
from holdfast.recall.answer.synthesis import LEVELS
from holdfast.service.profile.local import LocalProfile

ROOT = "/client/v4/accounts/{account}/agent-memory"
IN = ROOT + "/namespaces/{namespace}"
OF = IN + "/profiles/{profile}"
PROFILE_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
MAX_PROFILE_CHARACTERS = 100
MAX_CONTRACT_QUERY_BYTES = 1_024
TYPES = Literal["fact", "event", "instruction", "task"]
router = GuardedRouter("Agent Memory")


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class ContractNamespace(_Body):
    name: str


class ContractMessage(_Body):
    role: Literal["system", "user", "assistant"]
    content: str
    timestamp: str | float | None = None


class ContractIngest(_Body):
    messages: list[ContractMessage]
    session_id: str | None = Field(None, alias="sessionId")


class ContractRemember(_Body):
    content: str
    session_id: str | None = Field(None, alias="sessionId")


class ContractRecall(_Body):
    query: str
    thinking_level: Literal["low", "medium", "high"] = Field("low", alias="thinkingLevel")
    response_length: Literal["short", "medium", "long"] = Field("medium", alias="responseLength")
    reference_date: str | float | None = Field(None, alias="referenceDate")


class ContractSummary(_Body):
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
    envelope = {"result": encode(result), "success": True, "errors": [], "messages": []}
    return Json(envelope | ({"result_info": info} if info is not None else {}), status)


def page_reply(found: list[Any], page: Paging, by: str = "name") -> Json:
    """One page of a sorted list that is at hand; the cursor is the last name shown, so that deleting skips nothing."""
    names = [getattr(each, by) for each in found]
    start = 0 if not page.cursor else _after(names, _decoded_cursor(page.cursor))
    shown_here = found[start : start + page.per_page]
    left = start + len(shown_here) < len(found)
    cursor = _encoded_cursor(names[start + len(shown_here) - 1]) if left else ""
    return reply(shown_here, info={"count": len(shown_here), "per_page": page.per_page, "cursor": cursor})


def _after(names: list[str], last: str) -> int:
    """Where the list goes on after a name, in its own order, whether or not that name is still there."""
    falling = len(names) > 1 and names[0] > names[-1]
    return next((n for n, name in enumerate(names) if (name < last if falling else name > last)), len(names))


def _encoded_cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _decoded_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise InvalidInput(
            f"cursor {quoted_value(cursor)} is not valid; pass the cursor of the previous page unchanged.",
            field="cursor",
        ) from None


async def profile_of(request: Request) -> LocalProfile:
    """The profile of the path, under the contract's stricter rule for its name."""
    name = str(request.path_params["profile"])
    if not PROFILE_PATTERN.fullmatch(name) or len(name) > MAX_PROFILE_CHARACTERS:
        raise InvalidInput(
            f"profile {quoted_value(name)} is not a valid name; use 1 to {MAX_PROFILE_CHARACTERS} of a-z, 0-9 and "
            "inner hyphens.",
            field="profile",
        )
    found = await auth.profile_of(request, unwritten=True)
    if request.state.reading:
        await found.profile_context.store()  # the contract wants a 404, where Holdfast's own API finds nothing
    return found


@router.post(ROOT + "/namespaces", dependencies=[Depends(requires("admin"))], status_code=201, response_model=Envelope)
async def create_namespace(request: Request, body: ContractNamespace) -> Json:
    """Create a namespace."""
    try:
        made = await request.app.state.holdfast.create_namespace(body.name)
    except InvalidInput as wrong:
        raise InvalidInput(str(wrong), field="name") from wrong
    return reply(made, status=201)


@router.get(ROOT + "/namespaces", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def list_namespaces(
    request: Request, page: Page, order: Literal["id", "name"] = "name", direction: Literal["asc", "desc"] = "asc"
) -> Json:
    """List namespaces by page."""
    found = await request.app.state.holdfast.namespaces()
    ordered = sorted(found, key=lambda each: getattr(each, order), reverse=direction == "desc")
    return page_reply(ordered, page, order)


@router.get(IN, dependencies=[Depends(requires("read"))], response_model=Envelope)
async def get_namespace(request: Request) -> Json:
    """Return one namespace."""
    return reply(await request.app.state.holdfast.namespace(request.state.namespace))


@router.delete(IN, dependencies=[Depends(requires("admin"))], response_model=Envelope)
async def delete_namespace(request: Request) -> Json:
    """Delete a namespace with all its profiles."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.delete_namespace(space.name)
    return reply(None)


@router.get(IN + "/profiles", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def list_profiles(request: Request, page: Page) -> Json:
    """List the profiles of a namespace by page."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    return page_reply(await request.app.state.holdfast.profiles(space.name), page)


@router.delete(OF, dependencies=[Depends(requires("admin"))], response_model=Envelope)
async def delete_profile(request: Request) -> Json:
    """Delete a profile."""
    profile = await profile_of(request)
    if not await request.app.state.holdfast.delete_profile(profile.namespace, profile.name):
        raise NotFound(f"There is no profile {profile.name!r} in namespace {profile.namespace!r}.", field="profile")
    return reply(None)


@router.delete(OF + "/sessions/{session_id}", dependencies=[Depends(requires("forget"))], response_model=Envelope)
async def delete_session(request: Request) -> Json:
    """Forget a session: its messages and the memories based on it alone. An unknown session is not an error."""
    try:
        await (await profile_of(request)).forget_session(str(request.path_params["session_id"]))
    except NotFound as absent:  # neither a missing session nor an unwritten profile is an error
        if absent.field != "profile":
            raise
    return reply(None)


@router.post(OF + "/ingest", dependencies=[Depends(requires("write", body=INGEST_LIMIT))], response_model=Envelope)
async def ingest(request: Request, body: ContractIngest, once: Once = None) -> Json:
    """Store messages. Memories are extracted in the background."""
    for n, said in enumerate(body.messages):  # Holdfast's own limits are wider
        validate_text(said.content, f"messages[{n}].content", limit=MAX_CONTENT_BYTES)
    messages = [said.model_dump(exclude_none=True) for said in body.messages]
    await (await profile_of(request)).ingest(messages, session_id=body.session_id, idempotency_key=once)
    return reply(None)


@router.post(OF + "/remember", dependencies=[Depends(requires("write"))], status_code=201, response_model=Envelope)
async def remember(request: Request, body: ContractRemember, once: Once = None) -> Json:
    """Write one memory. Its kind is chosen from its content."""
    profile = await profile_of(request)
    kind = await request.app.state.holdfast.kind_of(body.content)
    kept = await profile.remember(body.content, kind=kind, session_id=body.session_id, idempotency_key=once)
    return reply(full_entry(kept), status=201)


@router.post(OF + "/recall", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def recall(request: Request, body: ContractRecall) -> Json:
    """Answer a question from memory, and return the memories that match it."""
    profile = await profile_of(request)
    validate_text(body.query, "query", limit=MAX_CONTRACT_QUERY_BYTES)  # Holdfast's own limit is wider
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


@router.get(OF + "/memories", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def list_memories(request: Request, page: Page, session_id: str | None = None, type: TYPES | None = None) -> Json:
    """List current memories by page, without their content."""
    profile = await profile_of(request)
    found = await profile.list(limit=page.per_page, cursor=page.cursor or None, session_id=session_id, kind=type)
    info = {"count": len(found), "per_page": page.per_page, "cursor": found.cursor or ""}
    return reply([agent_memory_entry(memory) for memory in found], info=info)


@router.get(OF + "/memories/{id}", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def get_memory(request: Request, id: str) -> Json:
    """Return one memory with its content."""
    return reply(full_entry(await _memory(await profile_of(request), id)))


@router.delete(OF + "/memories/{id}", dependencies=[Depends(requires("forget"))], response_model=Envelope)
async def delete_memory(request: Request, id: str) -> Json:
    """Forget a memory, its versions and the messages it is based on, whole; return the memory. Other memories stay."""
    profile = await profile_of(request)
    memory = await _memory(profile, id)
    await profile.forget(id, sources=True)
    return reply(full_entry(memory))


@router.post(OF + "/summary", dependencies=[Depends(requires("read"))], response_model=Envelope)
async def summary(request: Request, body: ContractSummary | None = None) -> Json:
    """Summarise the profile, or one session, as Markdown."""
    session = None if body is None else body.session_id
    return reply({"summary": await (await profile_of(request)).summary(session)})


async def _memory(profile: LocalProfile, id: str) -> Memory:
    found = await profile.get(id)
    if not isinstance(found, Memory):
        raise NotFound(f"There is no memory {quoted_value(id)} in this profile.", field="id")
    return found


def _share(score: float) -> float:
    """A ranker's score as 0 to 1."""
    return round(1 / (1 + math.exp(-score / 3)), 4)
