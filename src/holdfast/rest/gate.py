"""Who may pass: a bearer token, or a secret in the path; its rights and its scope, route by route.

The right and the place come from the route, never from the URL's text. Without a valid token the answer is 401, with
one that lacks the right 403. A secret URL that is unknown, revoked or expired is the same 404 as any unknown path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request

from ..access import Access
from ..credentials import Credential
from ..errors import HoldfastError, NotFound
from ..profile import LocalProfile
from .segments import segment

ULID = 26


class Unauthorised(HoldfastError):
    code = "unauthorised"


class Forbidden(HoldfastError):
    code = "forbidden"


class NoSuchPath(HoldfastError):
    code = "no_such_path"


@dataclass(frozen=True, slots=True)
class Need:
    """What a route needs; `right` None lets every valid credential in."""

    right: str | None


def needs(right: str | None, *, bound: bool = False) -> Callable[[Request], Awaitable[Credential]]:
    """A dependency that lets a request pass only with this right in the namespace and profile of its path.

    A `bound` route names no place: it leads to the one profile that the credential is for.
    """

    async def check(request: Request) -> Credential:
        credential = await _asking(request)
        here = (credential.namespace, credential.profile)
        namespace, profile = here if bound else await _place(request, credential)
        if right is not None and not credential.allows(right, namespace, profile):
            raise Forbidden(
                f"The credential {credential.id} ({credential.name!r}) may not {right} here.",
                fix="Use one with this right in this namespace and profile.",
            )
        request.state.credential, request.state.namespace = credential, namespace
        return credential

    check.need = Need(right)  # type: ignore[attr-defined]
    return check


async def _place(request: Request, credential: Credential) -> tuple[str | None, str | None]:
    """Where the route leads: as its path says, or for a secret URL, to its one profile."""
    if credential.kind == "url":
        return credential.namespace, credential.profile
    named = request.path_params
    namespace = segment(request, "namespace") if "namespace" in named else None
    if namespace is not None and len(namespace) == ULID:
        with suppress(NotFound):
            namespace = (await request.app.state.holdfast.namespace(namespace)).name
    return namespace, segment(request, "profile") if "profile" in named else None


async def _asking(request: Request) -> Credential:
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
        raise Unauthorised("Authentication error", fix="Send Authorization: Bearer with a valid token.")
    return found


async def profile_of(request: Request) -> LocalProfile:
    """The profile that the request was let into; a namespace is never implicit over HTTP."""
    space = await request.app.state.holdfast.namespace(request.state.namespace)
    found: LocalProfile = request.app.state.holdfast.profile(space.name, segment(request, "profile"))
    return found
