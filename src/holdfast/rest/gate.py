"""Who may pass: a bearer token, a browser's cookie or a secret in the path; its rights and its scope, route by route.

The right and the place come from the route, never from the URL's text. Without a valid token the answer is 401, with
one that lacks the right 403, with one that asks too much 429. A secret URL that is unknown, revoked or expired is the
same 404 as any unknown path.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from fastapi import Request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from .. import trail
from ..access import Access
from ..credentials import Credential
from ..errors import Forbidden, HoldfastError, InvalidInput, NotFound, TooMany, Unauthorised
from ..names import NAMESPACE, PROFILE_BYTES, text
from ..ports import Rates
from ..profile import LocalProfile
from ..records import Caller
from ..sent import READS, named_reads
from ..sights import Sight, agent_of, reads_of
from .segments import segment
from .signin import cookie_token, refuse_strangers
from .ways import refuse_unknown_query

ULID = 26


class NoSuchPath(HoldfastError):
    code = "no_such_path"


@dataclass(frozen=True, slots=True)
class Need:
    """What a route needs; `right` None lets every valid credential in."""

    right: str | None
    among: bool = False
    """It is needed in each of the profiles that the body names; the route itself lets every credential in."""


class Limiter:
    """How much one credential may ask; admin tokens may ask anything."""

    def __init__(self, rate: str | None, shared: Rates | None = None) -> None:
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
        raise TooMany(f"The credential {credential.id} asks more than {self._rate}; wait {after} s.", after)


def needs(right: str | None, *, bound: bool = False, among: bool = False) -> Callable[[Request], Awaitable[Credential]]:
    """A dependency that lets a request pass only with this right in the namespace and profile of its path.

    A `bound` route names no place: it leads to the one profile that the credential is for. One `among` several profiles
    asks `named_profile` for each of them.
    """

    async def check(request: Request) -> Credential:
        credential = await asking(request)
        request.state.credential = credential
        await request.app.state.limiter.count(credential)
        here = (credential.namespace, credential.profile)
        namespace, profile = here if bound else await _place(request, credential)
        if right is not None and not among and not credential.allows(right, namespace, profile):
            raise Forbidden(
                f"The credential {credential.id} ({credential.name!r}) may not {right} here.",
                fix="Use one with this right in this namespace and profile.",
            )
        request.state.namespace = namespace
        request.state.reading = right == "read"
        request.state.sight = _sight(request, credential)
        trail.act(_caller(request, credential))
        refuse_unknown_query(request)
        return credential

    check.need = Need(right, among)  # type: ignore[attr-defined]
    return check


def _caller(request: Request, credential: Credential) -> Caller:
    """Who asks, with what they tell of themselves; header values are percent-encoded UTF-8."""
    told = {}
    for field in ("agent", "session", "turn"):
        name = f"holdfast-{field}"
        value = request.headers.get(name)
        told[field] = None if value is None else text(unquote(value), name, limit=PROFILE_BYTES)
    return Caller(credential.id, credential.agent or told["agent"], told["session"], told["turn"])


def _sight(request: Request, credential: Credential) -> Sight:
    """What the credential may see, or less of it when the request says as which agent it reads."""
    told = request.headers.get(READS)
    if told is None:
        return credential.sight
    given = request.headers.get("holdfast-agent")
    agent = credential.agent if given is None else agent_of(unquote(given), "holdfast-agent")
    if credential.agent not in (None, agent):
        raise Forbidden(f"The credential {credential.id} is another agent's.", field="holdfast-agent")
    return credential.sight.narrowed(Sight(agent, reads_of(named_reads(told), agent)))


async def _place(request: Request, credential: Credential) -> tuple[str | None, str | None]:
    """Where the route leads: as its path says, or for a secret URL, to its one profile."""
    named = request.path_params
    if "secret" in named:
        return credential.namespace, credential.profile
    namespace = segment(request, "namespace") if "namespace" in named else None
    if namespace is not None and len(namespace) == ULID:
        with suppress(NotFound):
            namespace = (await request.app.state.holdfast.namespace(namespace)).name
    return namespace, segment(request, "profile") if "profile" in named else None


async def asking(request: Request) -> Credential:
    """Whose request this is."""
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
        found = await _signed_in(request)
    if found is None:
        raise Unauthorised("Authentication error.", fix="Send Authorization: Bearer with a valid token.")
    return found


async def _signed_in(request: Request) -> Credential | None:
    """Whose browser this is; only a request without a token of its own is asked for its cookie."""
    token = None if "authorization" in request.headers else cookie_token(request)
    if token is None:
        return None
    access: Access = request.app.state.access
    found = await access.credential(token)
    if found is not None:
        refuse_strangers(request)
    return found


async def profile_of(request: Request) -> LocalProfile:
    """The profile that the request was let into. A namespace is never made by it: where there is none, there is nothing
    to read, and nothing can be written."""
    named: str = request.state.namespace
    try:
        named = (await request.app.state.holdfast.namespace(named)).name
    except NotFound:
        if not request.state.reading or not NAMESPACE.fullmatch(named):  # or an id that was pasted
            raise
    return seen_profile(request, named, segment(request, "profile"))


def seen_profile(request: Request, namespace: str, profile: str) -> LocalProfile:
    """A profile as whoever asks may see it; who may ask is checked already."""
    found: LocalProfile = request.app.state.holdfast.profile(namespace, profile)
    return found._seen_with(request.state.sight)


def named_profile(request: Request, namespace: str, profile: str, right: str) -> LocalProfile | None:
    """A profile that the body names; None when the credential lacks the right in it."""
    credential: Credential = request.state.credential
    if not credential.allows(right, namespace, profile):
        return None
    return seen_profile(request, namespace, profile)


def bound_profile(request: Request) -> LocalProfile:
    """The one profile of the credential."""
    credential: Credential = request.state.credential
    if credential.namespace is None or credential.profile is None:
        raise InvalidInput(
            "This path serves one profile, and the credential is not bound to one.",
            fix="Use a secret URL, or a key issued for one namespace and profile.",
        )
    return seen_profile(request, credential.namespace, credential.profile)
