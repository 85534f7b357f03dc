"""Middleware of every request: body size limit, security headers, an access log without secrets, metrics."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.rest import errors
from holdfast.api.rest.metrics import RequestCounts
from holdfast.api.rest.request_body import SCOPE_KEY, BytesInFlight, RequestBody
from holdfast.domain import tracing
from holdfast.domain.errors import HoldfastError

log = logging.getLogger("holdfast.access")
faults = logging.getLogger("holdfast")
MAX_SEND_SECONDS = 60.0
"""How long a client may leave a part of its response unread. Chosen by hand; not measured."""
BOOKMARK = "holdfast-bookmark"
"""In the response to a write: the position of the database's log after it. In a read request: the position that the
read must include, whichever server and replica answers."""
SAFE = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every response that does not set them itself."""


class SlowReader(Exception):
    """A client does not read its response."""


class ServiceMiddleware:
    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts
        self._in_flight = BytesInFlight()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        begun = False
        marks: tracing.Bookmarks | None = None

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                set_here = {name.lower() for name, _ in message["headers"]}
                headers = [*message["headers"], *(each for each in SAFE if each[0] not in set_here)]
                if marks is not None and marks.bookmark:
                    headers.append((BOOKMARK.encode(), marks.bookmark.encode()))
                message["headers"] = headers
                self._note(scope, message["status"], time.perf_counter() - start)
            try:
                async with asyncio.timeout(MAX_SEND_SECONDS):
                    await send(message)
            except TimeoutError:
                raise SlowReader from None

        asked = dict(scope["headers"])
        after = asked.get(BOOKMARK.encode(), b"").decode("latin-1") or None
        body = RequestBody(receive, self._in_flight, asked.get(b"content-length"))
        scope[SCOPE_KEY] = body
        try:
            with tracing.acting(after=after) as marks:
                await self._app(scope, body.receive, answer)
        except SlowReader:  # the server closes a connection whose response is not complete
            log.warning("%s: the client did not read for %.0f s", _route(scope), MAX_SEND_SECONDS)
        except HoldfastError as wrong:  # the storage failed during authentication
            if begun:
                raise
            await (await errors.error_response(Request(scope), wrong))(scope, receive, answer)
        except Exception as wrong:
            faults.exception("%s %s failed at %s", scope["method"], _route(scope), _place(wrong))
            if begun:
                raise
            await errors.blamed_field(Request(scope), wrong)(scope, receive, answer)
        finally:
            body.release()

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        credential = scope.get("state", {}).get("credential")
        self._counts.requests.labels(scope["method"], route, status).inc()
        self._counts.seconds.labels(scope["method"], route).observe(seconds)
        who = "-" if credential is None else credential.id
        log.info("%s %s %d %.1f ms %s", scope["method"], route, status, seconds * 1000, who)


def _route(scope: Scope) -> str:
    """The route's template; a path would log secrets, names and other input of strangers."""
    return str(getattr(scope.get("route"), "path", "-"))


def _place(wrong: Exception) -> str:
    """The file and line that an error comes from."""
    *_, last = traceback.extract_tb(wrong.__traceback__)
    return f"{last.filename}:{last.lineno}: {type(wrong).__name__}"
