"""Holdfast's own API under /v1: every verb of a profile, with everything it knows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, Field, WithJsonSchema
from starlette.responses import Response, StreamingResponse

from ..errors import InvalidInput
from ..redigest import Redigested
from ..results import Answer, Context, Receipt, Stats
from ..types import Forgotten, Memory, Message
from . import shapes
from .gate import needs, profile_of
from .segments import segment
from .wire import Body, Json, Moment, Once, plain

IN = "/v1/namespaces/{namespace}"
OF = IN + "/profiles/{profile}"
router = APIRouter(tags=["Native"])
Match = Annotated[str | None, Header(alias="If-Match", description="Only if the memory still has this ETag.")]


class Said(BaseModel):
    """As it is described; ingest checks it, since chat clients send fields of their own beside these."""

    role: Literal["system", "user", "assistant", "tool", "document", "developer", "function"]
    content: str | list[str | dict[str, Any]] | None = Field(description="Text, or a list of parts; null says nothing.")
    speaker: str | None = None
    name: str | None = Field(None, description="The speaker's name, or the tool's.")
    agent: str | None = None
    timestamp: Moment = None
    metadata: dict[str, Any] | None = None


class Ingest(Body):
    messages: list[Annotated[dict[str, Any], WithJsonSchema(Said.model_json_schema())]]
    session_id: str | None = None
    agent: str | None = None
    wait: bool = False
    """Answer when everything is digested, with the memories that came of it."""


class Remember(Body):
    content: str | None = None
    kind: str | None = None
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    agent: str | None = None
    trust: str | None = None
    occurred_at: Moment = None
    expires_at: Moment = None
    ttl: float | None = None
    embed: bool = True
    topic: bool = True


class Revision(Body):
    content: str | None = None
    kind: str | None = None
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None
    trust: str | None = None
    occurred_at: Moment = None
    expires_at: Moment = None
    ttl: float | None = None


class Narrowed(Body):
    kind: str | list[str] | None = None
    key: str | None = None
    key_prefix: str | None = None
    session_id: str | None = None
    agent: str | None = None
    since: Moment = None
    until: Moment = None
    filter: dict[str, Any] | None = None

    def narrowing(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Narrowed.model_fields if getattr(self, name) is not None}


class Search(Narrowed):
    query: str
    limit: int = Field(10, ge=1, le=1000)
    min_relevance: float = Field(0.0, ge=0, le=1)
    reference_date: Moment = None
    as_of: Moment = None
    """Answer from what was known at that moment."""

    def asked(self) -> dict[str, Any]:
        names = ("limit", "min_relevance", "reference_date", "as_of")
        return {name: getattr(self, name) for name in names} | self.narrowing()


class Recall(Narrowed):
    query: str
    limit: int | None = Field(None, ge=1, le=1000)
    thinking_level: Literal["low", "medium", "high"] = "low"
    response_length: Literal["short", "medium", "long"] = "medium"
    reference_date: Moment = None
    as_of: Moment = None

    def asked(self) -> dict[str, Any]:
        names = ("limit", "thinking_level", "response_length", "reference_date", "as_of")
        return {name: getattr(self, name) for name in names} | self.narrowing()


class InContext(Narrowed):
    query: str
    tokens: int = Field(1000, ge=20, le=1_000_000)
    summaries: bool = False
    reference_date: Moment = None
    as_of: Moment = None


class Listing(Narrowed):
    limit: int = Field(20, ge=1, le=1000)
    cursor: str | None = None
    version: int | None = None
    """Of one kind's schema: the values as readers of this version know them."""
    as_of: Moment = None
    superseded: bool = False
    expired: bool = False


class Redigest(Body):
    session_id: str | None = None
    since: Moment = None
    aside: bool = False
    dry_run: bool = False


class Forget(Narrowed):
    """A source (a message's id), a person, or everything of which all the rest holds."""

    source: str | None = None
    person: str | None = None
    dry_run: bool = False


@router.post(OF + "/ingest", dependencies=[Depends(needs("write"))], response_model=Receipt)
async def ingest(request: Request, body: Ingest, once: Once = None) -> Json:
    profile = await profile_of(request)
    receipt = await profile.ingest(
        body.messages, session_id=body.session_id, agent=body.agent, wait=body.wait, idempotency_key=once
    )
    return Json(plain(receipt))


@router.post(OF + "/remember", dependencies=[Depends(needs("write"))], status_code=201, response_model=Memory)
async def remember(request: Request, body: Remember, once: Once = None) -> Json:
    return shown(await (await profile_of(request)).remember(**dict(body), idempotency_key=once), 201)


@router.post(OF + "/search", dependencies=[Depends(needs("read"))], response_model=shapes.Hits)
async def search(request: Request, body: Search) -> Json:
    asked: Any = body.asked()
    return Json({"hits": plain(await (await profile_of(request)).search(body.query, **asked))})


@router.post(OF + "/recall", dependencies=[Depends(needs("read"))], response_model=Answer)
async def recall(request: Request, body: Recall) -> Json:
    asked: Any = body.asked()
    return Json(plain(await (await profile_of(request)).recall(body.query, **asked)))


@router.post(OF + "/recall/stream", dependencies=[Depends(needs("read"))], response_class=StreamingResponse)
async def recall_stream(request: Request, body: Recall) -> StreamingResponse:
    """The answer's words as server-sent events while they come, and the whole answer last, which is the one that holds.

    Every event's data is `{"text": "…"}`, and the last one's `{"answer": {…}}`.
    """
    asked: Any = body.asked()
    return await streamed_answer((await profile_of(request)).recall_stream(body.query, **asked))


async def streamed_answer(pieces: AsyncIterator[str | Answer]) -> StreamingResponse:
    first = await anext(pieces)  # what is wrong with the question is an error, not a stream
    return StreamingResponse(_told(first, pieces), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _told(first: str | Answer, pieces: AsyncIterator[str | Answer]) -> AsyncIterator[bytes]:
    yield _event(first)
    async for piece in pieces:
        yield _event(piece)


def _event(piece: str | Answer) -> bytes:
    name, data = ("text", {"text": piece}) if isinstance(piece, str) else ("answer", {"answer": plain(piece)})
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(data))


@router.post(OF + "/context", dependencies=[Depends(needs("read"))], response_model=Context)
async def context(request: Request, body: InContext) -> Json:
    asked: Any = {"tokens": body.tokens, "summaries": body.summaries, "reference_date": body.reference_date}
    asked |= {"as_of": body.as_of, **body.narrowing()}
    return Json(plain(await (await profile_of(request)).context(body.query, **asked)))


@router.post(OF + "/memories/list", dependencies=[Depends(needs("read"))], response_model=shapes.Memories)
async def list_memories(request: Request, body: Listing) -> Json:
    names = ("limit", "cursor", "version", "as_of", "superseded", "expired")
    asked: Any = {name: getattr(body, name) for name in names}
    asked |= body.narrowing()
    found = await (await profile_of(request)).list(**asked)
    return Json({"memories": plain(found.items), "cursor": found.cursor})


@router.get(
    OF + "/memories/{id}",
    dependencies=[Depends(needs("read"))],
    responses={304: {"description": "Same"}},
    response_model=Memory | Message,
)
async def get(
    request: Request,
    id: str,
    version: int | None = None,
    as_of: str | None = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """One memory, current or not, or message; with `version`, its value as that version of its kind's schema has it.

    With `as_of`, as it stood at that moment; of a version that came later, the one there was.
    """
    found = await (await profile_of(request)).get(id, version=version, as_of=as_of)
    if isinstance(found, Memory) and if_none_match is not None and found.seen_as(tag(if_none_match)):
        return Response(status_code=304, headers={"etag": f'"{found.etag}"'})
    return shown(found) if isinstance(found, Memory) else Json(plain(found))


@router.patch(OF + "/memories/{id}", dependencies=[Depends(needs("write"))], response_model=Memory)
async def revise(request: Request, id: str, body: Revision, match: Match = None, once: Once = None) -> Json:
    """A new version with the fields given; a metadata field given as null is removed."""
    given: Any = body.model_dump(exclude_unset=True)
    profile = await profile_of(request)
    etag = None if match is None else tag(match)
    return shown(await profile.revise(id, etag=etag, idempotency_key=once, **given))


@router.get(OF + "/memories/{id}/history", dependencies=[Depends(needs("read"))], response_model=shapes.Versions)
async def history(request: Request, id: str, as_of: str | None = None) -> Json:
    return Json({"versions": plain(await (await profile_of(request)).history(id, as_of=as_of))})


@router.delete(OF + "/memories/{id}", dependencies=[Depends(needs("forget"))], response_model=Forgotten)
async def forget(request: Request, id: str, dry_run: bool = False, match: Match = None, once: Once = None) -> Json:
    """Remove a memory, its versions and the messages they rest on, or a message, for good."""
    profile = await profile_of(request)
    etag = None if match is None else tag(match)
    return Json(plain(await profile.forget(id, dry_run=dry_run, etag=etag, idempotency_key=once)))


@router.post(OF + "/forget", dependencies=[Depends(needs("forget"))], response_model=Forgotten)
async def forget_where(request: Request, body: Forget, once: Once = None) -> Json:
    """Remove by source, session or filter; with `dry_run` only tell what would go."""
    profile = await profile_of(request)
    how: Any = {"dry_run": body.dry_run, "idempotency_key": once}
    given: Any = body.narrowing()
    if sum((body.source is not None, body.person is not None, bool(given))) > 1:
        raise InvalidInput("Give a source, a person, or what must hold; one of them.", field="source")
    if body.source is not None:
        return Json(plain(await profile.forget(body.source, **how)))
    if body.person is not None:
        return Json(plain(await profile.forget_person(body.person, **how)))
    if set(given) == {"session_id"}:
        return Json(plain(await profile.forget_session(**given, **how)))
    return Json(plain(await profile.forget_where(**how, **given)))


@router.get(OF + "/messages", dependencies=[Depends(needs("read"))], response_model=shapes.Messages)
async def messages(
    request: Request, session_id: str | None = None, limit: Annotated[int, Query(ge=1, le=100_000)] = 1000
) -> Json:
    return Json({"messages": plain(await (await profile_of(request)).messages(session_id, limit=limit))})


@router.get(OF + "/sessions", dependencies=[Depends(needs("read"))], response_model=shapes.Sessions)
async def sessions(request: Request) -> Json:
    """Every conversation: its id, how many messages it has, when it began and when it was last added to."""
    return Json({"sessions": plain(await (await profile_of(request)).sessions())})


@router.delete(OF + "/sessions/{session_id}", dependencies=[Depends(needs("forget"))], response_model=Forgotten)
async def forget_session(request: Request, dry_run: bool = False, once: Once = None) -> Json:
    session_id = segment(request, "session_id")
    profile = await profile_of(request)
    return Json(plain(await profile.forget_session(session_id, dry_run=dry_run, idempotency_key=once)))


@router.get(OF + "/summary", dependencies=[Depends(needs("read"))], response_model=shapes.Summary)
async def summary(
    request: Request, session_id: str | None = None, tokens: Annotated[int | None, Query(ge=20, le=1_000_000)] = None
) -> Json:
    return Json({"summary": await (await profile_of(request)).summary(session_id, tokens=tokens)})


@router.get(OF + "/stats", dependencies=[Depends(needs("read"))], response_model=Stats)
async def stats(request: Request) -> Json:
    return Json(plain(await (await profile_of(request)).stats()))


@router.get(OF + "/usage", dependencies=[Depends(needs("read"))], response_model=shapes.Used)
async def usage(request: Request, month: str | None = None) -> Json:
    """What language models were asked in a month such as 2026-11, or in all: calls and tokens by model and task."""
    return Json({"usage": plain(await (await profile_of(request)).usage(month))})


@router.post(OF + "/redigest", dependencies=[Depends(needs("forget"))], response_model=Redigested)
async def redigest(request: Request, body: Redigest) -> Json:
    """Digest again what was said, after a better model or prompt; what was drawn from it before goes."""
    given: Any = dict(body)
    return Json(plain(await (await profile_of(request)).redigest(**given)))


@router.post(OF + "/settle", dependencies=[Depends(needs("read"))], response_model=shapes.Settled)
async def settle(request: Request, timeout: Annotated[float, Query(ge=0, le=60)] = 10) -> Json:
    return Json({"settled": await (await profile_of(request)).settle(timeout)})


def shown(memory: Memory, status: int = 200) -> Json:
    """A memory with its ETag."""
    return Json(plain(memory), status, {"etag": f'"{memory.etag}"'})


def tag(header: str) -> str:
    """The ETags of a header, without quotes; proxies may have made them weak."""
    return ",".join(each.strip().removeprefix("W/").strip('"') for each in header.split(","))
