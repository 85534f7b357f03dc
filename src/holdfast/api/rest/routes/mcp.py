"""MCP over HTTP: Streamable HTTP at a secret URL or with a bearer token, the older SSE transport, and two tools and a
prompt as plain HTTP for clients without MCP.

Sessions of protocol versions with a handshake live in the process that started them and belong to the credential that
started them. When several servers share a store there are no sessions: every request is independent, as in the newer
protocol version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import Depends, Query, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.rest.auth import Need, bound_profile, credential_of, requires, seen_profile
from holdfast.api.rest.guarded_routes import GuardedRouter, PlainRoute
from holdfast.api.rest.json_response import Body, Json, Once
from holdfast.api.rest.request_body import MAX_BYTES_ON_EVENT_LOOP, BodyLimit, check_json_tokens
from holdfast.api.rest.response_models import ItemsFoundResponse
from holdfast.domain.credentials import Credential
from holdfast.domain.errors import Forbidden, HoldfastError, InvalidInput, quoted_value
from holdfast.domain.json_codec import encode
from holdfast.domain.results import Origin
from holdfast.domain.types import Memory
from holdfast.service.across import AsyncAcross
from holdfast.service.holdfast import AsyncHoldfast

if TYPE_CHECKING:
    from holdfast.api.mcp.server import Guest
    from holdfast.api.mcp.shared_profiles import Shared
    from holdfast.service.profile.local import LocalProfile

router = GuardedRouter("MCP")
STREAMS = ("/s/{secret}/mcp", "/mcp")
MOST_BYTES = 4 * 1024 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Hosted:
    """The MCP server of one app. Its modules are loaded at the first request."""

    at_once = True
    """Tools send nothing before their result, so they get a plain JSON response instead of a stream."""

    def __init__(self, holdfast: AsyncHoldfast, origins: tuple[str, ...] = ()) -> None:
        self._holdfast = holdfast
        self.origins = origins
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    @cached_property
    def server(self) -> Any:
        from holdfast.api.mcp.server import server

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
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]  # not every HTTP parser strips them
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
    """A response that another ASGI app sends. The body was read and checked before; the app receives it again."""

    def __init__(self, app: ASGIApp, body: bytes) -> None:
        super().__init__()
        self._app = app
        self._body: bytes | None = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            if self._body is None:
                return await receive()
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, received, send)


async def _checked_body(request: Request) -> bytes:
    """The body of a call, not so large or so deep that parsing it would hold everybody up."""
    body = await request.body()
    if len(body) > MAX_BYTES_ON_EVENT_LOOP:
        await asyncio.to_thread(check_json_tokens, body)
    return body


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
    if not at_home and (page.scheme in ("http", "https") or origin == "null"):  # an app's own scheme is no web page
        raise Forbidden(
            f"Requests from pages of {quoted_value(origin)} are not allowed.", fix="Add it to the setting `cors`."
        )


async def _guest(request: Request, namespace: str | None, profile: str | None) -> Guest:
    from holdfast.api.mcp.server import Guest

    credential: Credential = request.state.credential
    holdfast: AsyncHoldfast = request.app.state.holdfast
    for own, asked in ((credential.namespace, namespace), (credential.profile, profile)):
        if own is not None and asked is not None and own != asked:
            raise Forbidden(f"The credential {credential.id} is not valid for {asked!r}.")
    if namespace is not None:
        namespace = (await holdfast.namespace(namespace)).name  # over HTTP a namespace is never created implicitly
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
            await credential_of(request)
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
    from holdfast.api.mcp.shared_profiles import Shared

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
    let_in = requires(bound=True, body=BodyLimit(MOST_BYTES))

    def add(answer: Endpoint) -> None:
        async def gated(request: Request) -> Response:
            await let_in(request)
            return await answer(request)

        gated.need = Need(())  # type: ignore[attr-defined]
        router.routes.append(PlainRoute(path, gated, methods=[*methods]))

    return add


@_plain("/s/{secret}/mcp", "GET", "POST", "DELETE")
async def at_a_secret_url(request: Request) -> Response:
    return Handed((await _welcome(request)).streamed, await _checked_body(request))


@_plain("/mcp", "GET", "POST", "DELETE")
async def with_a_token(request: Request) -> Response:
    named = request.query_params
    hosted = await _welcome(request, named.get("namespace"), named.get("profile"))
    return Handed(hosted.streamed, await _checked_body(request))


@_plain("/sse/{secret}", "GET")
async def older_stream(request: Request) -> Response:
    return Handed((await _welcome(request)).connected, await _checked_body(request))


@_plain("/sse/{secret}/messages", "POST")
async def older_messages(request: Request) -> Response:
    return Handed((await _welcome(request)).sse.handle_post_message, await _checked_body(request))


class AddMemory(Body):
    content: str
    """The text of the memory."""
    kind: str | None = None
    """The kind; chosen from the content by default."""
    key: str | None = None
    """What it is about. A memory with the same kind and key is superseded."""


class SearchMemory(Body):
    query: str
    """What to search for."""
    limit: Annotated[int, Query(ge=1, le=100)] = 10
    """At most this many hits."""


class RememberContext(Body):
    topic: str | None = None
    """What the conversation is about."""


for prefix in STREAMS:

    @router.post(
        prefix + "/tools/add_memory", dependencies=[Depends(requires("write", bound=True))], status_code=201,
        response_model=Memory,
    )  # fmt: skip
    async def add_memory(request: Request, body: AddMemory, once: Once = None) -> Json:
        """Write one memory."""
        kind = body.kind or await request.app.state.holdfast.kind_of(body.content)
        kept = await bound_profile(request).remember(body.content, kind=kind, key=body.key, idempotency_key=once)
        return Json(encode(kept), 201)

    @router.post(
        prefix + "/tools/search_memory",
        dependencies=[Depends(requires("read", bound=True))],
        response_model=ItemsFoundResponse,
    )
    async def search_memory(request: Request, body: SearchMemory) -> Json:
        """Search memories and messages, best first."""
        return Json({"results": encode(await bound_profile(request).search(body.query, limit=body.limit))})

    @router.post(
        prefix + "/prompts/remember_context",
        dependencies=[Depends(requires("read", bound=True))],
        response_model=dict[str, str],
    )
    async def remember_context(request: Request, body: RememberContext) -> Json:
        """Return what is remembered, as a text to start a conversation with."""
        from holdfast.api.mcp.server import context_prompt

        return Json({"text": await context_prompt(bound_profile(request), body.topic)})
