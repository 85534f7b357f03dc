"""Holdfast's own API under /v1: the verbs of memories and messages, search, recall and context."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, ClassVar, Literal

from fastapi import Depends, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from starlette.responses import Response, StreamingResponse

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, Moment, Once, encode_json, found_json, hits_json
from holdfast.api.rest.request_body import INGEST_LIMIT
from holdfast.domain.errors import InvalidInput
from holdfast.domain.json_codec import encode
from holdfast.domain.reports import Redigested
from holdfast.domain.results import Answer, Context, Receipt, Stats
from holdfast.domain.types import Forgotten, Memory, Message, SearchOrder

IN = "/v1/namespaces/{namespace}"
OF = IN + "/profiles/{profile}"
router = GuardedRouter("Native")
Match = Annotated[str | None, Header(alias="If-Match", description="Only write if the memory still has this ETag.")]


class MessageBody(BaseModel):
    """A message. Other fields that OpenAI's and Anthropic's clients send are accepted and ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    role: Literal["system", "user", "assistant", "tool", "document", "developer", "function"]
    """Who said it; `developer` is stored as `system`, `function` as `tool`."""
    content: str | list[str | dict[str, Any]] | None
    """Text, or a list of parts, as OpenAI's and Anthropic's clients send them. A message with null is skipped."""
    speaker: str | None = None
    """The name of the person who said it."""
    name: str | None = None
    """The speaker as OpenAI's clients call it; for a tool, the name of the tool."""
    agent: str | None = None
    """The agent that it belongs to; that of the request by default."""
    timestamp: Moment = None
    """When it was said: ISO 8601, or Unix seconds."""
    metadata: dict[str, Any] | None = None
    """Fields of your own, for filters."""


class IngestBody(Body):
    messages: list[Annotated[dict[str, Any], WithJsonSchema(MessageBody.model_json_schema())]]
    """The messages of a conversation, in order."""
    session_id: str | None = None
    """The session of the messages; derived from their content by default."""
    agent: str | None = None
    """The agent that the messages belong to."""
    wait: bool = False
    """Respond when everything is digested, with the resulting memories."""


class RememberBody(Body):
    hints: ClassVar[dict[str, str]] = dict.fromkeys(("text", "memory", "message"), "Did you mean 'content'?")
    content: str | None = None
    """The text of the memory; not needed when `value` is given."""
    kind: str | None = None
    """`fact`, `event`, `instruction`, `task`, or a kind of your own."""
    key: str | None = None
    """What it is about. A memory with the same kind and key is superseded."""
    value: Any = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    agent: str | None = None
    trust: str | None = None
    """Where it comes from: `user`, `agent`, `document` or `tool`."""
    occurred_at: Moment = None
    expires_at: Moment = None
    ttl: float | None = None
    embed: bool = True
    """Whether it can be found by meaning; otherwise only by its words and key."""
    topic: bool = True
    """Whether it gets a key from its content when none is given."""


class RevisionBody(Body):
    content: str | None = None
    kind: str | None = None
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None
    """Metadata fields to set; null removes a field."""
    trust: str | None = None
    """Where it comes from: `user`, `agent`, `document` or `tool`."""
    occurred_at: Moment = None
    expires_at: Moment = None
    ttl: float | None = None


class NarrowedBody(Body):
    kind: str | list[str] | None = None
    """Only this kind, or one of these; `message` selects messages."""
    key: str | None = None
    key_prefix: str | None = None
    """Only keys that start with this."""
    session_id: str | None = None
    """Only this session."""
    agent: str | None = None
    """Only what this agent wrote."""
    since: Moment = None
    """Only from this time on."""
    until: Moment = None
    """Only before this time."""
    filter: dict[str, Any] | None = None
    """Conditions on any field, such as `{"metadata.price": {"gte": 10}}`."""

    def narrowing(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in NarrowedBody.model_fields if getattr(self, name) is not None}


class QueryBody(NarrowedBody):
    query: str
    exclude_session: str | None = None
    """Leave out this session, which the caller has in its window, and memories that are based on nothing else."""
    explain: bool = False
    """Whether hits have `features`: every number that their rank is based on."""

    def asked(self) -> dict[str, Any]:
        others = ("query", "profiles", "explain")
        given = {name: getattr(self, name) for name in type(self).model_fields if name not in others}
        return {name: value for name, value in given.items() if value is not None}


class SearchBody(QueryBody):
    limit: int = Field(10, ge=1, le=1000)
    min_relevance: float = Field(0.0, ge=0, le=1)
    """Only hits at least this relevant."""
    reference_date: Moment = None
    """The time that words such as “yesterday” are relative to; now by default."""
    as_of: Moment = None
    """Use what was known at this time."""
    order: SearchOrder = "relevance"
    """By what the hits are sorted."""


class RecallBody(QueryBody):
    limit: int | None = Field(None, ge=1, le=1000)
    """At most this many hits; by default the thinking level decides."""
    thinking_level: Literal["low", "medium", "high"] = "low"
    """How many hits to read, and how long a language model thinks."""
    response_length: Literal["short", "medium", "long"] = "medium"
    """The length of a language model's answer."""
    reference_date: Moment = None
    """The time that words such as “yesterday” are relative to; now by default."""
    as_of: Moment = None
    """Use what was known at this time."""


class ContextBody(QueryBody):
    tokens: int = Field(1000, ge=20, le=1_000_000)
    summaries: bool = False
    """Whether summaries replace the messages and memories that they cover."""
    min_relevance: float = Field(0.0, ge=0, le=1)
    """Only hits at least this relevant."""
    reference_date: Moment = None
    """The time that words such as “yesterday” are relative to; now by default."""
    as_of: Moment = None
    """Use what was known at this time."""


class RedigestBody(Body):
    session_id: str | None = None
    """Only this session."""
    since: Moment = None
    """Only messages from this time on."""
    aside: bool = False
    """Only messages that were set aside."""
    dry_run: bool = False
    """Only report what would change."""


class ForgetBody(NarrowedBody):
    """Give one of: `source` (the id of a memory or message), `person`, or conditions that must all hold."""

    hints: ClassVar[dict[str, str]] = {"id": "Give the id of a memory or message as 'source', or DELETE memories/{id}."}
    source: str | None = None
    """The id of a memory or message."""
    person: str | None = None
    dry_run: bool = False
    """Only report what would be forgotten."""


@router.post(OF + "/ingest", dependencies=[Depends(requires("write", body=INGEST_LIMIT))], response_model=Receipt)
async def ingest(request: Request, body: IngestBody, once: Once = None) -> Json:
    """Store messages. Search finds them when this returns; memories are extracted in the background, or before the
    response with `wait`."""
    profile = await profile_of(request)
    receipt = await profile.ingest(
        body.messages, session_id=body.session_id, agent=body.agent, wait=body.wait, idempotency_key=once
    )
    return Json(encode(receipt))


@router.post(OF + "/remember", dependencies=[Depends(requires("write"))], status_code=201, response_model=Memory)
async def remember(request: Request, body: RememberBody, once: Once = None) -> Json:
    """Write one memory. A memory with the same kind and key is superseded and stays in the history."""
    return memory_response(await (await profile_of(request)).remember(**dict(body), idempotency_key=once), 201)


@router.post(OF + "/search", dependencies=[Depends(requires("read"))], response_model=response_models.Hits)
async def search(request: Request, body: SearchBody) -> Json:
    """Search memories and messages, and return the hits ranked by relevance."""
    asked: Any = body.asked()
    hits = await (await profile_of(request)).search(body.query, **asked)
    return Json({"hits": hits_json(hits, body.explain)})


@router.post(OF + "/recall", dependencies=[Depends(requires("read"))], response_model=Answer)
async def recall(request: Request, body: RecallBody) -> Json:
    """Answer a question from memory, with citations. The answer is empty when nothing supports one."""
    asked: Any = body.asked()
    return Json(found_json(await (await profile_of(request)).recall(body.query, **asked), body.explain))


@router.post(OF + "/recall/stream", dependencies=[Depends(requires("read"))], response_class=StreamingResponse)
async def recall_stream(request: Request, body: RecallBody) -> StreamingResponse:
    """Answer a question as server-sent events.

    Each event but the last has a piece of the answer: `{"text": "…"}`. The last event has the complete answer, which is
    authoritative: `{"answer": {…}}`.
    """
    asked: Any = body.asked()
    return await streamed_answer((await profile_of(request)).recall_stream(body.query, **asked), body.explain)


async def streamed_answer(pieces: AsyncIterator[str | Answer], explain: bool) -> StreamingResponse:
    first = await anext(pieces)  # an invalid question is an error, not a stream
    return StreamingResponse(
        _stream_event(first, pieces, explain), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


async def _stream_event(
    first: str | Answer, pieces: AsyncIterator[str | Answer], explain: bool
) -> AsyncIterator[bytes]:
    yield _event(first, explain)
    async for piece in pieces:
        yield _event(piece, explain)


def _event(piece: str | Answer, explain: bool) -> bytes:
    data: dict[str, Any] = {"text": piece} if isinstance(piece, str) else {"answer": found_json(piece, explain)}
    return b"event: %s\ndata: %s\n\n" % (next(iter(data)).encode(), encode_json(data))


@router.post(OF + "/context", dependencies=[Depends(requires("read"))], response_model=Context)
async def context(request: Request, body: ContextBody) -> Json:
    """Return a block of text about a query to paste into a prompt, within a token budget."""
    asked: Any = body.asked()
    return Json(found_json(await (await profile_of(request)).context(body.query, **asked), body.explain))


@router.get(
    OF + "/memories/{id}",
    dependencies=[Depends(requires("read"))],
    responses={304: {"description": "The memory still has the ETag of If-None-Match."}},
    response_model=Memory | Message,
)
async def get(
    request: Request,
    id: str,
    version: int | None = None,
    as_of: str | None = None,
    expired: bool = False,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return one memory, current or superseded, or one message.

    `version` converts the value to that version of the schema of its kind. `as_of` returns the state at that time; for
    the id of a later version, the version that was current then. An expired memory is not found unless `expired`.
    """
    found = await (await profile_of(request)).get(id, version=version, as_of=as_of, expired=expired)
    if isinstance(found, Memory) and if_none_match is not None and found.seen_as(etag_of(if_none_match)):
        return Response(status_code=304, headers={"etag": f'"{found.etag}"'})
    return memory_response(found) if isinstance(found, Memory) else Json(encode(found))


@router.patch(OF + "/memories/{id}", dependencies=[Depends(requires("write", "read"))], response_model=Memory)
async def revise(request: Request, id: str, body: RevisionBody, match: Match = None, once: Once = None) -> Json:
    """Write a new version of a memory with the given fields. A metadata field given as null is removed."""
    given: Any = body.model_dump(exclude_unset=True)
    profile = await profile_of(request)
    etag = None if match is None else etag_of(match)
    return memory_response(await profile.revise(id, etag=etag, idempotency_key=once, **given))


@router.get(
    OF + "/memories/{id}/history", dependencies=[Depends(requires("read"))], response_model=response_models.Versions
)
async def history(request: Request, id: str, as_of: str | None = None, expired: bool = False) -> Json:
    """List every version of a memory, newest first; with `as_of`, those that existed at that time. Expired versions are
    left out unless `expired`."""
    return Json({"versions": encode(await (await profile_of(request)).history(id, as_of=as_of, expired=expired))})


@router.delete(OF + "/memories/{id}", dependencies=[Depends(requires("forget"))], response_model=Forgotten)
async def forget(
    request: Request, id: str, dry_run: bool = False, sources: bool = False, match: Match = None, once: Once = None
) -> Json:
    """Forget a memory and its words in the messages it is based on (with `sources`, these messages), or a message."""
    how: Any = {"dry_run": dry_run, "etag": None if match is None else etag_of(match), "sources": sources}
    return Json(encode(await (await profile_of(request)).forget(id, **how, idempotency_key=once)))


@router.post(OF + "/forget", dependencies=[Depends(requires("forget"))], response_model=Forgotten)
async def forget_where(request: Request, body: ForgetBody, once: Once = None) -> Json:
    """Forget a source, a person, a session, or every memory that satisfies all conditions; `dry_run` only reports what
    would be forgotten."""
    profile = await profile_of(request)
    how: Any = {"dry_run": body.dry_run, "idempotency_key": once}
    given: Any = body.narrowing()
    if sum((body.source is not None, body.person is not None, bool(given))) > 1:
        raise InvalidInput("Give one of: source, person, or conditions.", field="source")
    if body.source is not None:
        return Json(encode(await profile.forget(body.source, **how)))
    if body.person is not None:
        return Json(encode(await profile.forget_person(body.person, **how)))
    if set(given) == {"session_id"}:
        return Json(encode(await profile.forget_session(**given, **how)))
    return Json(encode(await profile.forget_where(**how, **given)))


@router.get(OF + "/sessions", dependencies=[Depends(requires("read"))], response_model=response_models.Sessions)
async def sessions(request: Request) -> Json:
    """List the sessions, with the number of messages and the times of the first and the last message."""
    return Json({"sessions": encode(await (await profile_of(request)).sessions())})


@router.delete(OF + "/sessions/{session_id}", dependencies=[Depends(requires("forget"))], response_model=Forgotten)
async def forget_session(request: Request, dry_run: bool = False, once: Once = None) -> Json:
    """Forget a session: its messages and the memories based on it alone. An unknown session is not an error."""
    session_id = str(request.path_params["session_id"])
    profile = await profile_of(request)
    return Json(encode(await profile.forget_session(session_id, dry_run=dry_run, idempotency_key=once)))


@router.get(OF + "/summary", dependencies=[Depends(requires("read"))], response_model=response_models.SummaryResponse)
async def summary(
    request: Request, session_id: str | None = None, tokens: Annotated[int | None, Query(ge=20, le=1_000_000)] = None
) -> Json:
    """Summarise the profile, or one session, as Markdown."""
    return Json({"summary": await (await profile_of(request)).summary(session_id, tokens=tokens)})


@router.get(OF + "/stats", dependencies=[Depends(requires("read"))], response_model=Stats)
async def stats(request: Request) -> Json:
    """Count the messages, memories and sessions of a profile."""
    return Json(encode(await (await profile_of(request)).stats()))


@router.get(OF + "/usage", dependencies=[Depends(requires("read"))], response_model=response_models.Used)
async def usage(request: Request, month: str | None = None) -> Json:
    """Report calls and tokens of language models by month, model and task; `month` selects one, such as 2026-11."""
    return Json({"usage": encode(await (await profile_of(request)).usage(month))})


@router.post(OF + "/redigest", dependencies=[Depends(requires("forget"))], response_model=Redigested)
async def redigest(request: Request, body: RedigestBody) -> Json:
    """Digest messages again, after a change of model or prompt. The memories extracted from them before are removed;
    memories written by hand stay."""
    given: Any = dict(body)
    return Json(encode(await (await profile_of(request)).redigest(**given)))


@router.post(OF + "/settle", dependencies=[Depends(requires("read"))], response_model=response_models.Settled)
async def settle(request: Request, timeout: Annotated[float, Query(ge=0, le=60)] = 10) -> Json:
    """Wait until everything written so far is digested; `settled` is false when that takes longer than `timeout`
    seconds."""
    return Json({"settled": await (await profile_of(request)).settle(timeout)})


def memory_response(memory: Memory, status: int = 200) -> Json:
    """A memory with its ETag."""
    return Json(encode(memory), status, {"etag": f'"{memory.etag}"'})


def etag_of(header: str) -> str:
    """The ETags of a header, without quotes; proxies may have made them weak."""
    return ",".join(each.strip().removeprefix("W/").strip('"') for each in header.split(","))
