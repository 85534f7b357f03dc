"""The native API's administration: namespaces, profiles, credentials, and what was done to them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from ..credentials import Credential, Grant
from ..errors import InvalidInput
from ..moments import moment
from ..results import Namespace
from . import shapes
from .gate import needs, profile_of
from .repeats import Repeats
from .wire import Body, Json, Moment, Once, plain

IN = "/v1/namespaces/{namespace}"
router = APIRouter(tags=["Administration"])
Right = Literal["read", "write", "forget", "admin"]


class NewNamespace(Body):
    name: str


class Statement(Body):
    content: str = Field(max_length=32_768)


class NewGrant(Body):
    namespace: str
    profile: str
    rights: list[Literal["read", "write", "forget"]] = Field(min_length=1)


class NewCredential(Body):
    kind: Literal["key", "url"] = "key"
    name: str = Field(max_length=100)
    rights: list[Right] = Field(default_factory=lambda: list[Right](["read", "write", "forget"]))
    namespace: str | None = None
    profile: str | None = None
    expires_at: Moment = None
    grants: list[NewGrant] = Field(default_factory=list)
    """Rights in further profiles."""
    agent: str | None = None
    """Everything written with it counts as this agent's."""
    reads: Literal["all", "own"] | list[str] = "all"
    """Of what other agents wrote: everything, nothing, or that of these agents."""


@router.get("/v1/namespaces", dependencies=[Depends(needs("read"))], response_model=shapes.Namespaces)
async def namespaces(request: Request) -> Json:
    return Json({"namespaces": plain(await request.app.state.holdfast.namespaces())})


@router.post("/v1/namespaces", dependencies=[Depends(needs("admin"))], status_code=201, response_model=Namespace)
async def create_namespace(request: Request, body: NewNamespace, once: Once = None) -> Json:
    async def make() -> Json:
        return Json(plain(await request.app.state.holdfast.create_namespace(body.name)), 201)

    return await _repeats(request).first(request, once, body, make)


@router.get(IN, dependencies=[Depends(needs("read"))], response_model=Namespace)
async def get_namespace(request: Request) -> Json:
    return Json(plain(await request.app.state.holdfast.namespace(request.state.namespace)))


@router.delete(IN, dependencies=[Depends(needs("admin"))], response_model=shapes.Deleted)
async def delete_namespace(request: Request) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.delete_namespace(space.name)
    return Json({"deleted": True})


@router.get(IN + "/profiles", dependencies=[Depends(needs("read"))], response_model=shapes.Profiles)
async def profiles(request: Request) -> Json:
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    return Json({"profiles": plain(await request.app.state.holdfast.profiles(space.name))})


@router.delete(IN + "/profiles/{profile}", dependencies=[Depends(needs("admin"))], response_model=shapes.Deleted)
async def delete_profile(request: Request) -> Json:
    profile = await profile_of(request)
    return Json({"deleted": await request.app.state.holdfast.delete_profile(profile.namespace, profile.name)})


@router.get("/v1/credentials", dependencies=[Depends(needs("admin"))], response_model=shapes.Credentials)
async def credentials(request: Request) -> Json:
    return Json({"credentials": plain(await request.app.state.access.listed())})


@router.post("/v1/credentials", dependencies=[Depends(needs("admin"))], status_code=201, response_model=shapes.Issued)
async def issue(request: Request, body: NewCredential, once: Once = None) -> Json:
    """A new key or secret URL; its token is in this answer and nowhere else."""
    expires = None if body.expires_at is None else moment(body.expires_at, "expires_at")
    if body.profile is not None and body.namespace is None:
        raise InvalidInput("A profile needs its namespace.", field="namespace")

    async def make() -> Json:
        grants = [Grant(each.namespace, each.profile, frozenset(each.rights)) for each in body.grants]
        made, token = await request.app.state.access.issue(
            body.kind, body.name, body.rights, namespace=body.namespace, profile=body.profile, expires_at=expires,
            grants=grants, agent=body.agent, reads=body.reads,
        )  # fmt: skip
        return Json({"credential": plain(made), "token": token}, 201)

    return await _repeats(request).first(request, once, body, make)


@router.post(
    "/v1/credentials/{id}/rotate", dependencies=[Depends(needs("admin"))], status_code=201, response_model=shapes.Issued
)
async def rotate(
    request: Request, id: str, overlap: Annotated[float, Query(ge=0, le=30 * 86400)] = 0, once: Once = None
) -> Json:
    """A new token of the same rights; the old one ends now, or after `overlap` seconds."""

    async def make() -> Json:
        made, token = await request.app.state.access.rotate(id, timedelta(seconds=overlap))
        return Json({"credential": plain(made), "token": token}, 201)

    return await _repeats(request).first(request, once, overlap, make)


@router.delete("/v1/credentials/{id}", dependencies=[Depends(needs("admin"))], response_model=shapes.Revoked)
async def revoke(request: Request, id: str) -> Json:
    await request.app.state.access.revoke(id)
    return Json({"revoked": True})


@router.post("/v1/credentials/{id}/grants", dependencies=[Depends(needs("admin"))], response_model=Credential)
async def grant(request: Request, id: str, body: NewGrant) -> Json:
    """Rights in one more profile, in place of those it was granted there."""
    made = await request.app.state.access.grant(id, body.namespace, body.profile, body.rights)
    return Json(plain(made))


@router.delete("/v1/credentials/{id}/grants", dependencies=[Depends(needs("admin"))], response_model=shapes.Withdrawn)
async def withdraw(request: Request, id: str, namespace: str, profile: str) -> Json:
    return Json({"withdrawn": await request.app.state.access.withdraw(id, namespace, profile)})


@router.get(IN + "/profiles/{profile}/access", dependencies=[Depends(needs("admin"))], response_model=shapes.Reached)
async def reaching(request: Request) -> Json:
    """Who can reach this profile: every valid credential with its rights here and why it has them, and who granted and
    withdrew any."""
    profile = await profile_of(request)
    access, place = request.app.state.access, (profile.namespace, profile.name)
    return Json({"credentials": plain(await access.reaching(*place)), "acts": plain(await access.acts_on(*place))})


@router.post("/v1/kind-of", dependencies=[Depends(needs(None))], response_model=shapes.Kind)
async def kind_of(request: Request, body: Statement) -> Json:
    """Which kind of memory the extractor takes a statement for."""
    return Json({"kind": await request.app.state.holdfast.kind_of(body.content)})


@router.get("/v1/audit", dependencies=[Depends(needs("admin"))], response_model=shapes.Acts)
async def audit(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Json:
    """Administrative acts, newest first, with the credential that did each. Reads and writes are in traces."""
    return Json({"acts": plain(await request.app.state.access.acts(limit))})


def _repeats(request: Request) -> Repeats:
    found: Repeats = request.app.state.repeats
    return found
