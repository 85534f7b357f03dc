"""Administration in the native API: namespaces, profiles, credentials, and the log of administrative actions."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import Depends, Query, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.admin_idempotency import FirstAnswers
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, Moment, Once
from holdfast.domain.credentials import Credential, Grant
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.json_codec import encode
from holdfast.domain.results import Namespace
from holdfast.domain.timestamps import parse_moment

IN = "/v1/namespaces/{namespace}"
router = GuardedRouter("Administration")
Right = Literal["read", "write", "forget", "admin"]


class NamespaceBody(Body):
    name: str
    """The name of the new namespace."""


class StatementBody(Body):
    content: str = Field(max_length=32_768)
    """The statement."""


class NewGrant(Body):
    namespace: str
    profile: str
    rights: list[Literal["read", "write", "forget"]] = Field(min_length=1)
    """Any of read, write and forget."""


class NewCredential(Body):
    kind: Literal["key", "url"] = "key"
    """A key, or a secret URL."""
    name: str = Field(max_length=100)
    """A label that says what it is for."""
    rights: list[Right] = Field(default_factory=lambda: list[Right](["read", "write", "forget"]))
    """Any of read, write, forget and admin."""
    namespace: str | None = None
    """Only this namespace; all of them by default."""
    profile: str | None = None
    """Only this profile of the namespace; all of them by default."""
    expires_at: Moment = None
    """When it expires; never by default."""
    grants: list[NewGrant] = Field(default_factory=list)
    """Rights in further profiles."""
    agent: str | None = None
    """Everything written with it is recorded as this agent's."""
    reads: Literal["all", "own"] | list[str] = "all"
    """Which agents' writing it reads: all, only its own agent's, or that of the listed agents."""


@router.get("/v1/namespaces", dependencies=[Depends(requires("read"))], response_model=response_models.Namespaces)
async def namespaces(request: Request) -> Json:
    """List all namespaces."""
    return Json({"namespaces": encode(await request.app.state.holdfast.namespaces())})


@router.post("/v1/namespaces", dependencies=[Depends(requires("admin"))], status_code=201, response_model=Namespace)
async def create_namespace(request: Request, body: NamespaceBody, once: Once = None) -> Json:
    """Create a namespace."""

    async def make() -> Json:
        return Json(encode(await request.app.state.holdfast.create_namespace(body.name)), 201)

    return await _repeats(request).first(request, once, body, make)


@router.get(IN, dependencies=[Depends(requires("read"))], response_model=Namespace)
async def get_namespace(request: Request) -> Json:
    """Return one namespace."""
    return Json(encode(await request.app.state.holdfast.namespace(request.state.namespace)))


@router.delete(IN, dependencies=[Depends(requires("admin"))], response_model=response_models.Deleted)
async def delete_namespace(request: Request) -> Json:
    """Delete a namespace with all its profiles, and destroy their encryption keys."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    await request.app.state.holdfast.delete_namespace(space.name)
    return Json({"deleted": True})


@router.get(IN + "/profiles", dependencies=[Depends(requires("read"))], response_model=response_models.Profiles)
async def profiles(request: Request) -> Json:
    """List the profiles of a namespace."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    return Json({"profiles": encode(await request.app.state.holdfast.profiles(space.name))})


@router.delete(
    IN + "/profiles/{profile}", dependencies=[Depends(requires("admin"))], response_model=response_models.Deleted
)
async def delete_profile(request: Request) -> Json:
    """Delete a profile, and destroy its encryption key."""
    profile = await profile_of(request)
    return Json({"deleted": await request.app.state.holdfast.delete_profile(profile.namespace, profile.name)})


@router.get(
    "/v1/credentials", dependencies=[Depends(requires("admin"))], response_model=response_models.CredentialsResponse
)
async def credentials(request: Request) -> Json:
    """List all credentials, without their tokens."""
    return Json({"credentials": encode(await request.app.state.access.list_all())})


@router.post(
    "/v1/credentials", dependencies=[Depends(requires("admin"))], status_code=201, response_model=response_models.Issued
)
async def issue(request: Request, body: NewCredential, once: Once = None) -> Json:
    """Issue a key or a secret URL. The response has its token, which cannot be read again later, and the whole URL."""
    expires = None if body.expires_at is None else parse_moment(body.expires_at, "expires_at")
    if body.profile is not None and body.namespace is None:
        raise InvalidInput("profile is given without namespace; give both.", field="namespace")

    async def make() -> Json:
        grants = [Grant(each.namespace, each.profile, frozenset(each.rights)) for each in body.grants]
        made, token = await request.app.state.access.issue(
            body.kind, body.name, body.rights, namespace=body.namespace, profile=body.profile, expires_at=expires,
            grants=grants, agent=body.agent, reads=body.reads,
        )  # fmt: skip
        return await _issued(request, made, token)

    return await _repeats(request).first(request, once, body, make)


@router.post(
    "/v1/credentials/{id}/rotate",
    dependencies=[Depends(requires("admin"))],
    status_code=201,
    response_model=response_models.Issued,
)
async def rotate(
    request: Request, id: str, overlap: Annotated[float, Query(ge=0, le=30 * 86400)] = 0, once: Once = None
) -> Json:
    """Issue a new token with the same rights. The old token becomes invalid at once, or after `overlap` seconds."""

    async def make() -> Json:
        made, token = await request.app.state.access.rotate(id, timedelta(seconds=overlap))
        return await _issued(request, made, token)

    return await _repeats(request).first(request, once, overlap, make)


@router.delete(
    "/v1/credentials/{id}", dependencies=[Depends(requires("admin"))], response_model=response_models.Revoked
)
async def revoke(request: Request, id: str) -> Json:
    """Revoke a credential at once."""
    await request.app.state.access.revoke(id)
    return Json({"revoked": True})


@router.post("/v1/credentials/{id}/grants", dependencies=[Depends(requires("admin"))], response_model=Credential)
async def grant(request: Request, id: str, body: NewGrant) -> Json:
    """Grant a credential rights in one more profile. They replace an earlier grant for that profile."""
    made = await request.app.state.access.grant(id, body.namespace, body.profile, body.rights)
    return Json(encode(made))


@router.delete(
    "/v1/credentials/{id}/grants", dependencies=[Depends(requires("admin"))], response_model=response_models.Withdrawn
)
async def withdraw(request: Request, id: str, namespace: str, profile: str) -> Json:
    """Withdraw the rights that a credential was granted in a profile."""
    return Json({"withdrawn": await request.app.state.access.withdraw(id, namespace, profile)})


@router.get(
    IN + "/profiles/{profile}/access", dependencies=[Depends(requires("admin"))], response_model=response_models.Reached
)
async def reaching(request: Request) -> Json:
    """List every valid credential with rights in this profile and the reason, and the log of grants and withdrawals."""
    profile = await profile_of(request)
    access, place = request.app.state.access, (profile.namespace, profile.name)
    return Json({"credentials": encode(await access.reaching(*place)), "acts": encode(await access.acts_on(*place))})


@router.post("/v1/kind-of", dependencies=[Depends(requires())], response_model=response_models.KindResponse)
async def kind_of(request: Request, body: StatementBody) -> Json:
    """Classify a statement: return the kind of memory that it would become."""
    return Json({"kind": await request.app.state.holdfast.kind_of(body.content)})


@router.get("/v1/audit", dependencies=[Depends(requires("admin"))], response_model=response_models.Acts)
async def audit(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Json:
    """List administrative actions, newest first, each with its credential. Traces record reads and writes."""
    return Json({"acts": encode(await request.app.state.access.acts(limit))})


async def _issued(request: Request, made: Credential, token: str) -> Json:
    url = f"{request.base_url}s/{token}" if made.kind == "url" else None
    warnings = [
        f"There is no namespace {name!r} yet. Create it with POST /v1/namespaces."
        for name in dict.fromkeys((made.namespace, *(each.namespace for each in made.grants)))
        if name is not None and not await _exists(request, name)
    ]
    return Json({"credential": encode(made), "token": token, "url": url, "warnings": warnings}, 201)


async def _exists(request: Request, namespace: str) -> bool:
    try:
        await request.app.state.holdfast.namespace(namespace)
    except NotFound:
        return False
    return True


def _repeats(request: Request) -> FirstAnswers:
    found: FirstAnswers = request.app.state.repeats
    return found
