"""Authorises each request by route: bearer token, cookie or secret in the path, with its rights and scope.

The required right and the profile come from the route, never from the URL's text. Without a valid token the response is
401, without the right 403, above the rate limit 429. An unknown, revoked or expired secret URL gets the same 404 as any
unknown path.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from fastapi import Request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from holdfast.api.client.request import READ_AS_EMPTY, READS_HEADER, UNWRITTEN_HEADER, parse_reads_header
from holdfast.api.rest.request_body import SCOPE_KEY, BodyLimit, RequestBody
from holdfast.api.rest.route_lookup import refuse_unknown_query
from holdfast.api.rest.sessions import cookie_token, refuse_strangers
from holdfast.domain import tracing
from holdfast.domain.credentials import Credential
from holdfast.domain.errors import (
    Forbidden,
    HoldfastError,
    InvalidInput,
    NotFound,
    TooMany,
    Unauthorised,
    nearest_names,
)
from holdfast.domain.identifiers import NAMESPACE_PATTERN, validate_text
from holdfast.domain.limits import MAX_PROFILE_BYTES
from holdfast.domain.ports.storage import RateLimiter
from holdfast.domain.records import Caller
from holdfast.domain.visibility import Visibility, validate_agent, validate_reads
from holdfast.service.credentials import Access
from holdfast.service.profile.local import LocalProfile

ULID = 26
CHECKED_KEY = "holdfast.checked"


class NoSuchPath(HoldfastError):
    code = "no_such_path"


@dataclass(frozen=True, slots=True)
class Need:
    """The rights that a route needs, all of them; none lets every valid credential in."""

    rights: tuple[str, ...]
    among: bool = False
    """The right is required in each profile that the body names; the route itself admits every credential."""


class Limiter:
    """The rate limit of a credential; admin tokens have none."""

    def __init__(self, rate: str | None, shared: RateLimiter | None = None) -> None:
        self._shared = shared
        try:
            self._rate: RateLimitItem | None = None if rate is None else parse(rate)
        except ValueError as bad:
            raise InvalidInput(
                f"The setting rate_limit is {rate!r}; write it like 100/second, 6000/minute or none.",
                field="rate_limit",
            ) from bad
        self._counts = FixedWindowRateLimiter(MemoryStorage())

    async def count(self, credential: Credential) -> None:
        if self._rate is None or credential.kind == "admin":
            return
        if self._shared is None:
            if self._counts.hit(self._rate, credential.id):
                return
            ends = self._counts.get_window_stats(self._rate, credential.id).reset_time
        else:
            seconds = self._rate.get_expiry()
            if await self._shared.allows(credential.id, self._rate.amount, seconds):
                return
            ends = (time.time() // seconds + 1) * seconds
        after = max(1, round(ends - time.time()))
        raise TooMany(
            f"The credential {credential.id} exceeds the rate limit of {self._rate}; retry in {after} s.", after
        )


def requires(
    *rights: str, bound: bool = False, among: bool = False, body: BodyLimit = BodyLimit()
) -> Callable[[Request], Awaitable[Credential]]:
    """A dependency that lets a request pass only with these rights in the namespace and profile of its path.

    A route that answers with more than its caller sent needs `read` beside the right to do what it does.

    A `bound` route has no namespace and profile in its path: it uses the one profile of the credential. A route with
    `among` names several profiles in its body and checks each of them with `named_profile`.
    """

    async def check(request: Request) -> Credential:
        if request.scope.get(CHECKED_KEY) is check:  # the route ran it before it read the body
            return cast(Credential, request.state.credential)
        credential = await credential_of(request)
        request.state.credential = credential
        await request.app.state.limiter.count(credential)
        here = (credential.namespace, credential.profile)
        namespace, profile = here if bound else await _place(request, credential)
        if not among:
            for right in rights:
                check_right(credential, right, namespace, profile)
        request.state.namespace = namespace
        request.state.reading = rights == ("read",)
        request.state.sight = _visibility(request, credential)
        tracing.set_caller(_caller(request, credential))
        refuse_unknown_query(request)
        request.scope[CHECKED_KEY] = check
        cast(RequestBody, request.scope[SCOPE_KEY]).allow(credential.id, body.of(request))
        return credential

    check.need = Need(rights, among)  # type: ignore[attr-defined]
    return check


def check_right(credential: Credential, right: str, namespace: str | None, profile: str | None) -> None:
    if not credential.allows(right, namespace, profile):
        raise Forbidden(
            f"The credential {credential.id} ({credential.name!r}) does not have the right {right!r} here.",
            fix=f"Use one that has it {'in this namespace and profile' if namespace else 'everywhere'}.",
        )


def _caller(request: Request, credential: Credential) -> Caller:
    """The caller, with the agent, session and turn from its headers; header values are percent-encoded UTF-8."""
    told = {}
    for field in ("agent", "session", "turn"):
        name = f"holdfast-{field}"
        value = request.headers.get(name)
        told[field] = None if value is None else validate_text(unquote(value), name, limit=MAX_PROFILE_BYTES)
    return Caller(credential.id, credential.agent or told["agent"], told["session"], told["turn"])


def _visibility(request: Request, credential: Credential) -> Visibility:
    """What the credential may see, narrowed when the request names an agent to read as."""
    told = request.headers.get(READS_HEADER)
    if told is None:
        return credential.sight
    given = request.headers.get("holdfast-agent")
    agent = credential.agent if given is None else validate_agent(unquote(given), "holdfast-agent")
    if credential.agent not in (None, agent):
        raise Forbidden(f"The credential {credential.id} belongs to another agent.", field="holdfast-agent")
    return credential.sight.narrowed(Visibility(agent, validate_reads(parse_reads_header(told), agent)))


async def _place(request: Request, credential: Credential) -> tuple[str | None, str | None]:
    """The namespace and profile of the route: from its path, or for a secret URL, those of the credential."""
    named = request.path_params
    if "secret" in named:
        return credential.namespace, credential.profile
    namespace = str(request.path_params["namespace"]) if "namespace" in named else None
    if namespace is not None and len(namespace) == ULID:
        with suppress(NotFound):
            namespace = (await request.app.state.holdfast.namespace(namespace)).name
    return namespace, str(request.path_params["profile"]) if "profile" in named else None


async def credential_of(request: Request) -> Credential:
    """Return the credential of a request."""
    access: Access = request.app.state.access
    secret = request.path_params.get("secret")
    if secret is not None:
        found = await access.credential(secret)
        if found is None or found.kind != "url":
            raise NoSuchPath("There is nothing here.")
        return found
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    found = await access.credential(token.strip()) if scheme.lower() == "bearer" and token else None
    if found is None or found.kind == "url":
        found = await _cookie_credential(request)
    if found is None:
        raise Unauthorised(_refusal(request), fix="Send Authorization: Bearer with a valid token.")
    return found


def _refusal(request: Request) -> str:
    """Why a request has no credential, told from what it sent alone: an expired token is told like an unknown one."""
    header = request.headers.get("authorization")
    if header is None:
        if cookie_token(request) is not None:
            return "This browser's sign-in is no longer valid."
        return "The header Authorization is missing."
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token:
        return "The header Authorization does not have the form 'Bearer TOKEN'."
    return "The token is unknown, mistyped, expired or revoked, or belongs to a secret URL."


async def _cookie_credential(request: Request) -> Credential | None:
    """The credential of a browser's cookie, which is used only when the request has no token."""
    token = None if "authorization" in request.headers else cookie_token(request)
    if token is None:
        return None
    access: Access = request.app.state.access
    found = await access.credential(token)
    if found is not None:
        refuse_strangers(request)
    return found


async def profile_of(request: Request, *, unwritten: bool = False) -> LocalProfile:
    """The profile that the request was admitted to. It never creates a namespace: without one, there is no profile.
    With `unwritten`, or for a caller that asks for it, reads of such a profile find nothing."""
    named = await existing_namespace(request, request.state.namespace, unwritten=unwritten and request.state.reading)
    return seen_profile(request, named, str(request.path_params["profile"]))


async def existing_namespace(request: Request, named: str, *, unwritten: bool = False) -> str:
    """The name of a namespace, given by name or id. The error about an unknown one has the names most like it, of those
    that the caller may read."""
    holdfast = request.app.state.holdfast
    try:
        return str((await holdfast.namespace(named)).name)
    except NotFound as absent:
        asked = request.state.reading and request.headers.get(UNWRITTEN_HEADER) == READ_AS_EMPTY
        if (unwritten or asked) and NAMESPACE_PATTERN.fullmatch(named):  # or else a pasted namespace id
            return named
        credential: Credential = request.state.credential
        names = [each.name for each in await holdfast.namespaces()]
        alike = nearest_names(named, [name for name in names if credential.allows("read", name, None)])
        fix = "Otherwise create it first: POST /v1/namespaces." if alike else absent.fix
        raise NotFound(f"There is no namespace {named!r}.{alike}", field="namespace", fix=fix) from None


def seen_profile(request: Request, namespace: str, profile: str) -> LocalProfile:
    """A profile as the caller may see it; its rights have been checked before."""
    found: LocalProfile = request.app.state.holdfast.profile(namespace, profile)
    credential: Credential = request.state.credential
    rights = credential.rights_in(namespace, profile)
    return LocalProfile(found.profile_context.restricted(request.state.sight, rights))


def named_profile(request: Request, namespace: str, profile: str, right: str) -> LocalProfile | None:
    """A profile that the body names; None when the credential lacks the right in it."""
    credential: Credential = request.state.credential
    if not credential.allows(right, namespace, profile):
        return None
    return seen_profile(request, namespace, profile)


def bound_profile(request: Request) -> LocalProfile:
    """The one profile that the credential is bound to."""
    credential: Credential = request.state.credential
    if credential.namespace is None or credential.profile is None:
        raise InvalidInput(
            "This path serves one profile, and the credential is not bound to one.",
            fix="Use a secret URL, or a key issued for one namespace and profile.",
        )
    return seen_profile(request, credential.namespace, credential.profile)
