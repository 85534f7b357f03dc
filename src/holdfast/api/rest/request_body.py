"""Bounds what a request body may cost: bytes by route, time, bytes in flight, and JSON parsed off the event loop.

A body is read only after the route has checked the caller's rights: until then `RequestBody` gives out no more than a
stranger may send. A route without such a check keeps that limit.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Of most routes: a memory's content, value and metadata, each character written as an escape of six."""
MAX_INGEST_BYTES = 32 * 1024 * 1024
"""500 messages of the largest size, with room for escapes."""
MAX_ARCHIVE_BYTES = 1024 * 1024 * 1024
MAX_FORM_BYTES = 1024 * 1024
"""Of a form, beside its file."""
MAX_UNAUTHENTICATED_BYTES = 65_536
MAX_BYTES_IN_FLIGHT = 128 * 1024 * 1024
MAX_BYTES_IN_FLIGHT_OF_ONE = 64 * 1024 * 1024
"""Bodies held in memory, of all callers and of one credential. An archive or a file goes to disk and does not count."""
GRACE_SECONDS = 30.0
MIN_BYTES_PER_SECOND = 16_384
"""A body may take the grace, and as long again as its bytes take at this rate. Chosen by hand; a modem is faster."""
MAX_BYTES_ON_EVENT_LOOP = 65_536
MAX_JSON_TOKENS = 250_000
"""Strings, commas and brackets of a large body. Parsing a quarter of a million takes 0.1 s, in which no other thread
runs; 500 messages with twenty fields of metadata each have 75,000."""
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{,]', re.S)
SCOPE_KEY = "holdfast.body"


class BodyTooLarge(HTTPException):
    """An HTTPException, because FastAPI would answer 400 to any other error while it reads a body."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(413, f"{message} {fix}")
        self.fix = fix


class BytesInFlight:
    """Counts the bytes of request bodies that are held in memory, by credential."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def take(self, owner: str, many: int) -> None:
        """Count more bytes; 503 when there are too many."""
        if self._held[owner] + many > MAX_BYTES_IN_FLIGHT_OF_ONE or self._held.total() + many > MAX_BYTES_IN_FLIGHT:
            raise HTTPException(
                503, "Too many large requests are being read; try again in a moment.", {"retry-after": "1"}
            )
        self._held[owner] += many

    def release(self, owner: str, many: int) -> None:
        self._held[owner] -= many
        if not self._held[owner]:
            del self._held[owner]


class RequestBody:
    """The body of one request as it arrives."""

    def __init__(self, receive: Receive, in_flight: BytesInFlight, declared: bytes | None) -> None:
        self._receive = receive
        self._in_flight = in_flight
        self._declared = int(declared) if declared is not None and declared.isdigit() else 0
        self._limit = BodyLimit(MAX_UNAUTHENTICATED_BYTES)
        self._owner = ""
        self._began: float | None = None
        self._taken = self._counted = 0
        self._ended = False

    def allow(self, owner: str, limit: BodyLimit) -> None:
        """Give out as much as the limit allows to the request of this credential."""
        self._owner, self._limit = owner, limit

    async def receive(self) -> Message:
        if self._ended:  # whatever comes now is no body: a disconnect, which may take for ever
            return await self._receive()
        self._check_size(max(self._declared, self._taken))
        self._began = self._began or time.monotonic()
        allowed = GRACE_SECONDS + self._taken / MIN_BYTES_PER_SECOND
        try:
            async with asyncio.timeout(self._began + allowed - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"The body did not arrive in time: {self._taken:,} bytes so far.") from None
        size = len(message.get("body", b""))
        self._taken += size
        self._check_size(self._taken)
        if not self._limit.streamed and self._taken > MAX_BYTES_ON_EVENT_LOOP:
            self._in_flight.take(self._owner, self._taken - self._counted)
            self._counted = self._taken
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    def release(self) -> None:
        """The request is answered: its bytes are no longer held."""
        if self._counted:
            self._in_flight.release(self._owner, self._counted)
            self._counted = 0

    def _check_size(self, size: int) -> None:
        limit = self._limit
        if size > limit.bytes + limit.form_bytes:
            raise BodyTooLarge(f"The {limit.of_what} is larger than {limit.bytes:,} bytes.", limit.fix)


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How large a route's body may be; a `streamed` one is written to disk as it arrives, not held in memory."""

    bytes: int = MAX_BODY_BYTES
    streamed: bool = False
    of_what: str = "body"
    form_bytes: int = 0
    """Of the form around what is limited."""
    fix: str = "Send less at a time."

    def of(self, request: Request) -> BodyLimit:
        return self


class DocumentLimit(BodyLimit):
    """The limit of routes that take a document: as a file in a form, or its text as JSON."""

    def of(self, request: Request) -> BodyLimit:
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            return BodyLimit(
                request.app.state.holdfast.document_bytes, True, "file", MAX_FORM_BYTES,
                "Split it, or raise the setting document_bytes.",
            )  # fmt: skip
        return TEXT_LIMIT


INGEST_LIMIT = BodyLimit(MAX_INGEST_BYTES)
TEXT_LIMIT = BodyLimit(MAX_INGEST_BYTES, fix="Send the text as a file, in a form.")
ARCHIVE_LIMIT = BodyLimit(MAX_ARCHIVE_BYTES, streamed=True)
DOCUMENT_LIMIT = DocumentLimit()


class JsonRequest(Request):
    """A request whose large JSON body is checked and parsed in a thread."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await parse_json(await self.body())
        return self._json


async def parse_json(body: bytes) -> Any:
    """Parse a body; the event loop does not wait for a large one."""
    if len(body) <= MAX_BYTES_ON_EVENT_LOOP:
        return json.loads(body)
    return await asyncio.to_thread(_parse_large_json, body)


def _parse_large_json(body: bytes) -> Any:
    check_json_tokens(body)
    return json.loads(body)


def check_json_tokens(body: bytes) -> None:
    """Refuse JSON with so many values that parsing it would stop every other thread for long."""
    for count, _ in enumerate(_TOKEN.finditer(body)):
        if count >= MAX_JSON_TOKENS:
            raise BodyTooLarge(f"The body has more than {MAX_JSON_TOKENS:,} JSON values.", BodyLimit().fix)
