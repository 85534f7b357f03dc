"""MCP over HTTP: Streamable HTTP at a secret URL or with a bearer token, the older SSE transport, and two tools and a
prompt as plain HTTP for clients without MCP.

Sessions of the handshake era live in the process that began them, and belong to the credential that began them. Where
several servers share a store there are none: every request stands alone, as it does in the newer revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..across import AsyncAcross
from ..credentials import Credential
from ..errors import Forbidden, HoldfastError, InvalidInput, shown
from ..results import Origin
from ..service import AsyncHoldfast
from ..types import Memory
from .gate import Need, asking, bound_profile, needs, seen_profile
from .shapes import Found
from .wire import Body, Json, Once, plain

if TYPE_CHECKING:
    from ..mcp.server import Guest
    from ..mcp.several import Shared
    from ..profile import LocalProfile

router = APIRouter(tags=["MCP"])
STREAMS = ("/s/{secret}/mcp", "/mcp")
MOST_BYTES = 4 * 1024 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Hosted:
    """The protocol's server of one app. Nothing of it is loaded before the first request."""

    at_once = True
    """No tool says anything before its answer, so none is given a stream to say it in."""

    def __init__(self, holdfast: AsyncHoldfast, origins: tuple[str, ...] = ()) -> None:
        self._holdfast = holdfast
        self.origins = origins
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    @cached_property
    def server(self) -> Any:
        from ..mcp.server import server

        return server(lambda ctx: ctx.request.state.guest)

    @cached_property
    def manager(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        return StreamableHTTPSessionManager(
            self.server, json_response=self.at_once, stateless=self._holdfast.shared, max_request_body_size=MOST_BYTES
        )

    @cached_property
    def sse(self) -> Any:
        from mcp.server.sse import SseServerTransport

        return SseServerTransport("/messages", max_request_body_size=MOST_BYTES)

    async def streamed(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="holdfast-mcp")
        await self._ready.wait()
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]  # not every parser of HTTP does
        await self.manager.asgi_app({**scope, "headers": headers}, receive, send)

    async def _run(self) -> None:
        async with self.manager.run():
            self._ready.set()
            await self._holdfast.ending.wait()

    async def connected(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "root_path": f"/sse/{scope['path_params']['secret']}"}
        async with self.sse.connect_sse(scope, receive, send) as (incoming, outgoing):
            await self.server.run(incoming, outgoing, self.server.create_initialization_options())


class Handed(Response):
    """The answer is another app's."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _welcome(request: Request, namespace: str | None = None, profile: str | None = None) -> Hosted:
    """Tell the protocol who asks; a session is its credential's own."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    hosted: Hosted = request.app.state.mcp
    _check_origin(request, hosted.origins)
    guest = await _guest(request, namespace, profile)
    request.state.guest = guest
    owner = f"{guest.credential} {guest.namespace}/{guest.name}"
    request.scope["user"] = AuthenticatedUser(AccessToken(token="-", client_id=owner, scopes=[]))
    return hosted


def _check_origin(request: Request, allowed: tuple[str, ...]) -> None:
    """No page of a stranger's may ask through somebody's browser, not even one whose name was made to lead here.

    What comes from this very machine may have come by such a name, so only pages of this machine are at home then.
    """
    origin = request.headers.get("origin")
    if origin is None or origin in allowed or "*" in allowed:
        return
    page = urlsplit(origin)
    local = (request.scope.get("server") or ("",))[0] in LOOPBACK
    at_home = page.hostname in LOOPBACK or (not local and page.netloc == request.headers.get("host"))
    if not at_home and (page.scheme in ("http", "https") or origin == "null"):  # an app's own scheme is nobody's page
        raise Forbidden(f"Pages of {shown(origin)} may not ask here.", fix="Add it to the setting `cors`.")


async def _guest(request: Request, namespace: str | None, profile: str | None) -> Guest:
    from ..mcp.server import Guest

    credential: Credential = request.state.credential
    holdfast: AsyncHoldfast = request.app.state.holdfast
    for own, asked in ((credential.namespace, namespace), (credential.profile, profile)):
        if own is not None and asked is not None and own != asked:
            raise Forbidden(f"The credential {credential.id} is not for {asked!r}.")
    if namespace is not None:
        namespace = (await holdfast.namespace(namespace)).name  # over HTTP a namespace is never implicit
    namespace, profile = credential.namespace or namespace, credential.profile or profile
    if namespace is None or profile is None:
        raise InvalidInput(
            "This token is not bound to one profile, and the address names none.",
            fix="Add ?namespace=…&profile=… to it, use a secret URL, or a key issued for one profile.",
        )

    def allows(right: str) -> bool:
        return credential.allows(right, namespace, profile)

    async def still() -> bool:
        try:
            await asking(request)
        except HoldfastError:
            return False
        return True

    agent = request.headers.get("holdfast-agent")
    return Guest(
        seen_profile(request, namespace, profile), holdfast.kind_of, namespace, profile, allows, credential.id,
        credential.agent or (None if agent is None else unquote(agent)), still, _shared(request, namespace, profile),
    )  # fmt: skip


def _shared(request: Request, namespace: str, profile: str) -> Shared:
    """What the credential was granted beside its own profile."""
    from ..mcp.several import Shared

    granted: Credential = request.state.credential
    others = [each for each in granted.grants if (each.namespace, each.profile) != (namespace, profile)]

    def opened(place: Origin) -> LocalProfile:
        return seen_profile(request, place.namespace, place.profile)

    return Shared(
        tuple(Origin(each.namespace, each.profile) for each in others if "read" in each.rights),
        tuple(Origin(each.namespace, each.profile) for each in others if "write" in each.rights),
        lambda places: AsyncAcross([opened(place) for place in places]),
        opened,
    )


Endpoint = Callable[[Request], Awaitable[Response]]


def _plain(path: str, *methods: str) -> Callable[[Endpoint], None]:
    """A route without what FastAPI does around one, which costs as much as a tool; every valid credential passes."""
    let_in = needs(None, bound=True)

    def add(answer: Endpoint) -> None:
        async def gated(request: Request) -> Response:
            await let_in(request)
            return await answer(request)

        gated.need = Need(None)  # type: ignore[attr-defined]
        router.add_route(path, gated, [*methods])

    return add


@_plain("/s/{secret}/mcp", "GET", "POST", "DELETE")
async def at_a_secret_url(request: Request) -> Response:
    return Handed((await _welcome(request)).streamed)


@_plain("/mcp", "GET", "POST", "DELETE")
async def with_a_token(request: Request) -> Response:
    named = request.query_params
    return Handed((await _welcome(request, named.get("namespace"), named.get("profile"))).streamed)


@_plain("/sse/{secret}", "GET")
async def older_stream(request: Request) -> Response:
    return Handed((await _welcome(request)).connected)


@_plain("/sse/{secret}/messages", "POST")
async def older_messages(request: Request) -> Response:
    return Handed((await _welcome(request)).sse.handle_post_message)


class AddMemory(Body):
    content: str
    kind: str | None = None
    key: str | None = None


class SearchMemory(Body):
    query: str
    limit: Annotated[int, Query(ge=1, le=100)] = 10


class RememberContext(Body):
    topic: str | None = None


for prefix in STREAMS:

    @router.post(
        prefix + "/tools/add_memory", dependencies=[Depends(needs("write", bound=True))], status_code=201,
        response_model=Memory,
    )  # fmt: skip
    async def add_memory(request: Request, body: AddMemory, once: Once = None) -> Json:
        """Keep one thing on purpose."""
        kind = body.kind or await request.app.state.holdfast.kind_of(body.content)
        kept = await bound_profile(request).remember(body.content, kind=kind, key=body.key, idempotency_key=once)
        return Json(plain(kept), 201)

    @router.post(
        prefix + "/tools/search_memory", dependencies=[Depends(needs("read", bound=True))], response_model=Found
    )
    async def search_memory(request: Request, body: SearchMemory) -> Json:
        """Memories and messages about something, best first."""
        return Json({"results": plain(await bound_profile(request).search(body.query, limit=body.limit))})

    @router.post(prefix + "/prompts/remember_context", dependencies=[Depends(needs("read", bound=True))])
    async def remember_context(request: Request, body: RememberContext) -> dict[str, str]:
        """What is remembered, to begin a conversation with."""
        from ..mcp.server import context_prompt

        return {"text": await context_prompt(bound_profile(request), body.topic)}
