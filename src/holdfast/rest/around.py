"""Around every request: a limit on its size, safe headers, one line of log without secrets, and its count."""

from __future__ import annotations

import logging
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import trail
from ..access import Access
from ..errors import HoldfastError
from . import failures
from .signin import cookie_token

log = logging.getLogger("holdfast.access")
faults = logging.getLogger("holdfast")
MOST_BYTES = 32 * 1024 * 1024
"""More than 500 messages of the largest size need."""
ARCHIVE_BYTES = 1024 * 1024 * 1024
STRANGERS_BYTES = 65_536
FORM_BYTES = 1024 * 1024
"""What a form may have beside its file."""
BOOKMARK = "holdfast-bookmark"
"""On a write's answer: how far the database was then. On a read: what it must see, whichever server and replica."""
SAFE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Counts:
    """What /metrics tells."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("holdfast_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "holdfast_request_seconds", "Time to the first byte of the answer.", ("method", "route"),
            registry=self.registry, buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
        )  # fmt: skip
        self.streams = Gauge("holdfast_event_streams", "Open event streams.", registry=self.registry)


class Around:
    def __init__(self, app: ASGIApp, counts: Counts, access: Access, documents: int = 0) -> None:
        """Files of so many bytes may be sent where documents are taken."""
        self._app = app
        self._documents = documents
        self._counts = counts
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        begun = False
        marks: trail.Marks | None = None

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
                if marks is not None and marks.bookmark:
                    headers[BOOKMARK] = marks.bookmark
                self._note(scope, message["status"], time.perf_counter() - start)
            await send(message)

        asked = dict(scope["headers"])
        after = asked.get(BOOKMARK.encode(), b"").decode("latin-1") or None
        try:
            with trail.acting(after=after) as marks:
                await self._app(scope, _bounded(receive, await self._most(asked, scope)), answer)
        except HoldfastError as wrong:  # the storage did not even say who asks
            if begun:
                raise
            await (await failures.ours(Request(scope), wrong))(scope, receive, answer)
        except Exception as wrong:
            faults.exception("a request failed")
            if begun:
                raise
            await failures.blamed(Request(scope), wrong)(scope, receive, answer)

    async def _most(self, asked: dict[bytes, bytes], scope: Scope) -> int:
        """How much of a body is read: little of a stranger's, since it is read before anybody asks who they are."""
        path = scope["path"].split("/")
        told = (
            asked.get(b"authorization", b"").decode("latin-1").partition(" ")[2] or cookie_token(Request(scope)) or ""
        )
        token = path[2] if path[1:2] in (["s"], ["sse"]) and len(path) > 2 else told.strip()
        known = bool(token) and await self._access.credential(token) is not None
        if not known:
            return STRANGERS_BYTES
        sent = asked.get(b"content-type", b"").startswith(b"multipart/form-data")
        if sent and (path[-1] == "documents" or path[-2:] == ["process", "file"]):
            return self._documents + FORM_BYTES
        return ARCHIVE_BYTES if path[-1] == "import" else MOST_BYTES

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        credential = scope.get("state", {}).get("credential")
        self._counts.requests.labels(scope["method"], route, status).inc()
        self._counts.seconds.labels(scope["method"], route).observe(seconds)
        who = "-" if credential is None else credential.id
        log.info("%s %s %d %.1f ms %s", scope["method"], route, status, seconds * 1000, who)


def _route(scope: Scope) -> str:
    """The route's own text: a path would print secrets, names and whatever a stranger typed."""
    return str(getattr(scope.get("route"), "path", "-"))


def _bounded(receive: Receive, most: int) -> Receive:
    taken = 0

    async def take() -> Message:
        nonlocal taken
        message: dict[str, Any] = dict(await receive())
        taken += len(message.get("body", b""))
        if taken > most:
            raise HTTPException(413, f"The body is larger than {most:,} bytes; send less at a time.")
        return message

    return take
