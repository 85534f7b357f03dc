"""Holdfast's own API under /v1: every verb of a profile, with everything it knows."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ..errors import InvalidInput
from ..moments import moment
from .gate import needs, profile_of
from .segments import segment
from .wire import Json, plain

IN = "/v1/namespaces/{namespace}"
OF = IN + "/profiles/{profile}"
MOMENT = str | float | None
router = APIRouter(tags=["Native"])


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewNamespace(_Body):
    name: str


class Said(_Body):
    role: str
    content: str
    speaker: str | None = None
    timestamp: MOMENT = None
    metadata: dict[str, Any] | None = None


class Ingest(_Body):
    messages: list[Said]
    session_id: str | None = None
    agent: str | None = None
    wait: bool = False


class Remember(_Body):
    content: str | None = None
    kind: str = "fact"
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    agent: str | None = None
    trust: str | None = None
    occurred_at: MOMENT = None
    expires_at: MOMENT = None
    ttl: float | None = None


class Narrowed(_Body):
    kind: str | list[str] | None = None
    key: str | None = None
    key_prefix: str | None = None
    session_id: str | None = None
    agent: str | None = None
    since: MOMENT = None
    until: MOMENT = None
    filter: dict[str, Any] | None = None

    def narrowing(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Narrowed.model_fields if getattr(self, name) is not None}


class Search(Narrowed):
    query: str
    limit: int = Field(10, ge=1, le=1000)
    reference_date: MOMENT = None


class InContext(Narrowed):
    query: str
    tokens: int = Field(1000, ge=20, le=1_000_000)
    reference_date: MOMENT = None


class Listing(Narrowed):
    limit: int = Field(20, ge=1, le=1000)
    cursor: str | None = None


class NewCredential(_Body):
    kind: Literal["key", "url"] = "key"
    name: str = Field(max_length=100)
    rights: list[Literal["read", "write", "forget", "admin"]] = ["read", "write", "forget"]
    namespace: str | None = None
    profile: str | None = None
    expires_at: MOMENT = None


@router.get("/v1/namespaces", dependencies=[Depends(needs("read"))])
async def namespaces(request: Request) -> Json:
    return Json({"namespaces": plain(await request.app.state.holdfast.namespaces())})


@router.post("/v1/namespaces", dependencies=[Depends(needs("admin"))], status_code=201)
async def create_namespace(request: Request, body: NewNamespace) -> Json:
    return Json(plain(await request.app.state.holdfast.create_namespace(body.name)), 201)


@router.delete(IN, dependencies=[Depends(needs("admin"))])
async def delete_namespace(request: Request) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.delete_namespace(space.name)
    return Json({"deleted": True})


@router.get(IN + "/profiles", dependencies=[Depends(needs("read"))])
async def profiles(request: Request) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    return Json({"profiles": plain(await request.app.state.holdfast.profiles(space.name))})


@router.delete(OF, dependencies=[Depends(needs("admin"))])
async def delete_profile(request: Request) -> Json:
    profile = await profile_of(request)
    return Json({"deleted": await request.app.state.holdfast.delete_profile(profile.namespace, profile.name)})


@router.post(OF + "/ingest", dependencies=[Depends(needs("write"))])
async def ingest(request: Request, body: Ingest) -> Json:
    messages = [said.model_dump(exclude_none=True) for said in body.messages]
    profile = await profile_of(request)
    receipt = await profile.ingest(messages, session_id=body.session_id, agent=body.agent, wait=body.wait)
    return Json(plain(receipt))


@router.post(OF + "/remember", dependencies=[Depends(needs("write"))], status_code=201)
async def remember(request: Request, body: Remember) -> Json:
    return Json(plain(await (await profile_of(request)).remember(**dict(body))), 201)


@router.post(OF + "/search", dependencies=[Depends(needs("read"))])
async def search(request: Request, body: Search) -> Json:
    asked: Any = {"limit": body.limit, "reference_date": body.reference_date, **body.narrowing()}
    return Json({"hits": plain(await (await profile_of(request)).search(body.query, **asked))})


@router.post(OF + "/recall", dependencies=[Depends(needs("read"))])
async def recall(request: Request, body: Search) -> Json:
    asked: Any = {"limit": body.limit, "reference_date": body.reference_date, **body.narrowing()}
    return Json(plain(await (await profile_of(request)).recall(body.query, **asked)))


@router.post(OF + "/context", dependencies=[Depends(needs("read"))])
async def context(request: Request, body: InContext) -> Json:
    asked: Any = {"tokens": body.tokens, "reference_date": body.reference_date, **body.narrowing()}
    return Json(plain(await (await profile_of(request)).context(body.query, **asked)))


@router.post(OF + "/memories/list", dependencies=[Depends(needs("read"))])
async def list_memories(request: Request, body: Listing) -> Json:
    asked: Any = {"limit": body.limit, "cursor": body.cursor, **body.narrowing()}
    found = await (await profile_of(request)).list(**asked)
    return Json({"memories": plain(found.items), "cursor": found.cursor})


@router.get(OF + "/memories/{id}", dependencies=[Depends(needs("read"))])
async def get(request: Request, id: str) -> Json:
    return Json(plain(await (await profile_of(request)).get(id)))


@router.get(OF + "/memories/{id}/history", dependencies=[Depends(needs("read"))])
async def history(request: Request, id: str) -> Json:
    return Json({"versions": plain(await (await profile_of(request)).history(id))})


@router.delete(OF + "/memories/{id}", dependencies=[Depends(needs("forget"))])
async def forget(request: Request, id: str) -> Json:
    return Json(plain(await (await profile_of(request)).forget(id)))


@router.get(OF + "/messages", dependencies=[Depends(needs("read"))])
async def messages(
    request: Request, session_id: str | None = None, limit: Annotated[int, Query(ge=1, le=100_000)] = 1000
) -> Json:
    return Json({"messages": plain(await (await profile_of(request)).messages(session_id, limit=limit))})


@router.delete(OF + "/sessions/{session_id}", dependencies=[Depends(needs("forget"))])
async def forget_session(request: Request) -> Json:
    return Json(plain(await (await profile_of(request)).forget_session(segment(request, "session_id"))))


@router.get(OF + "/summary", dependencies=[Depends(needs("read"))])
async def summary(request: Request, session_id: str | None = None) -> Json:
    return Json({"summary": await (await profile_of(request)).summary(session_id)})


@router.get(OF + "/stats", dependencies=[Depends(needs("read"))])
async def stats(request: Request) -> Json:
    return Json(plain(await (await profile_of(request)).stats()))


@router.post(OF + "/settle", dependencies=[Depends(needs("read"))])
async def settle(request: Request, timeout: Annotated[float, Query(ge=0, le=60)] = 10) -> Json:
    return Json({"settled": await (await profile_of(request)).settle(timeout)})


@router.get("/v1/credentials", dependencies=[Depends(needs("admin"))])
async def credentials(request: Request) -> Json:
    return Json({"credentials": plain(await request.app.state.access.listed())})


@router.post("/v1/credentials", dependencies=[Depends(needs("admin"))], status_code=201)
async def issue(request: Request, body: NewCredential) -> Json:
    expires = None if body.expires_at is None else moment(body.expires_at, "expires_at")
    if body.profile is not None and body.namespace is None:
        raise InvalidInput("A profile needs its namespace.", field="namespace")
    made, token = await request.app.state.access.issue(
        body.kind, body.name, body.rights, namespace=body.namespace, profile=body.profile, expires_at=expires
    )
    return Json({"credential": plain(made), "token": token}, 201)


@router.post("/v1/credentials/{id}/rotate", dependencies=[Depends(needs("admin"))], status_code=201)
async def rotate(request: Request, id: str, overlap: Annotated[float, Query(ge=0, le=30 * 86400)] = 0) -> Json:
    made, token = await request.app.state.access.rotate(id, timedelta(seconds=overlap))
    return Json({"credential": plain(made), "token": token}, 201)


@router.delete("/v1/credentials/{id}", dependencies=[Depends(needs("admin"))])
async def revoke(request: Request, id: str) -> Json:
    await request.app.state.access.revoke(id)
    return Json({"revoked": True})
