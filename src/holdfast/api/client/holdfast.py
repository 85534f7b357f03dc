"""RemoteHoldfast: a Holdfast on a server, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from urllib.parse import quote

import httpx2 as httpx
import orjson

from holdfast.api.client.across import RemoteAcross
from holdfast.api.client.credentials import RemoteAdministration
from holdfast.api.client.profile import RemoteProfile
from holdfast.api.client.request import (
    READ_AS_EMPTY,
    READS_HEADER,
    UNWRITTEN_HEADER,
    caller_headers,
    encode_body,
    reads_header,
)
from holdfast.domain import errors, tracing
from holdfast.domain.errors import (
    Closed,
    HoldfastError,
    InvalidInput,
    TooMany,
    Unreachable,
    quoted_value,
)
from holdfast.domain.ports.holdfast import Places
from holdfast.domain.ports.profile.journal import HEARTBEAT_SECONDS
from holdfast.domain.tracing import later_bookmark
from holdfast.domain.visibility import Reads, validate_agent, validate_reads

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT_SECONDS = 60.0
LONG_TIMEOUT_SECONDS = 3600.0
ERRORS = {
    kind.code: kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HoldfastError)
}  # fmt: skip


class RemoteHoldfast(RemoteAdministration):
    """Memory for many profiles on a server: `RemoteHoldfast(url, token)`; close it, or use `async with`."""

    def __init__(self, url: str, token: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(f"The address is {quoted_value(url)}; write it like http://127.0.0.1:8420.", field="url")
        if not token or not token.isascii():
            raise InvalidInput("The token is empty or not ASCII; give the one that the server printed.", field="token")
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"authorization": f"Bearer {token}", UNWRITTEN_HEADER: READ_AS_EMPTY},
            timeout=timeout,
            trust_env=False,
            verify=url.startswith("https://"),  # without TLS, certificates would be loaded for nothing
        )
        self._closed = False
        self.extra_headers: dict[str, str] = {}
        """Headers of every request, in addition to those about the caller."""
        self.bookmark = ""
        """The bookmark of the last write, sent with each request, so that any server or replica includes that write."""

    def profile(self, namespace: str, profile: str) -> RemoteProfile:
        """Return one profile. Its first write creates it; until then it is empty."""
        return RemoteProfile(self, namespace, profile)

    def across(self, namespace: str, profiles: Places) -> RemoteAcross:
        """Return several profiles to query together, given by name or as pairs of namespace and name."""
        return RemoteAcross(self, namespace, profiles)

    async def close(self) -> None:
        self._closed = True
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    async def ask(
        self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None, **headers: str
    ) -> Any:
        """Send a request and return the JSON of the response; raise the error that the server reports."""
        content = None if body is None else encode_body(body)
        sent = {"content-type": "application/json"} | headers
        # Not orjson: it would round numbers of more than 64 bits.
        return (await self.answer(method, path, sent, params=query, content=content)).json()

    async def answer(self, method: str, path: str, headers: dict[str, str], **more: Any) -> httpx.Response:
        """Send a request with any content and return the response; raise the error that the server reports."""
        if self._closed:
            raise Closed("This connection was closed.")
        sent = self._about() | headers
        seen = later_bookmark(self.bookmark, tracing.needed_bookmark())
        if seen:
            sent["holdfast-bookmark"] = seen
        with self._reached():
            answer = await self._http.request(method, path, headers=sent, **more)
        reached = answer.headers.get("holdfast-bookmark")
        if reached:
            self.bookmark = later_bookmark(self.bookmark, reached)
            tracing.note_bookmark(reached)
        _raise_error(answer)
        return answer

    async def lines(
        self, path: str, query: dict[str, Any] | None = None, body: dict[str, Any] | None = None
    ) -> AsyncIterator[str]:
        """Yield the lines of a streamed response."""
        sent: dict[str, Any] = {"params": query, "headers": self._about()}
        if body is not None:
            sent |= {"content": encode_body(body)}
            sent["headers"] |= {"content-type": "application/json"}
        sent["timeout"] = httpx.Timeout(TIMEOUT_SECONDS, read=3 * HEARTBEAT_SECONDS)
        with self._reached():
            async with self._http.stream("GET" if body is None else "POST", path, **sent) as answer:
                if not answer.is_success:
                    await answer.aread()
                    _raise_error(answer)
                async for line in answer.aiter_lines():
                    yield line

    async def chunks(self, path: str, query: dict[str, Any]) -> AsyncIterator[bytes]:
        """Yield the bytes of a long response as they arrive."""
        with self._reached():
            async with self._http.stream("GET", path, params=query, headers=self._about()) as answer:
                if not answer.is_success:
                    await answer.aread()
                    _raise_error(answer)
                async for chunk in answer.aiter_bytes():
                    yield chunk

    async def send(self, path: str, query: dict[str, Any], body: AsyncIterator[bytes]) -> Any:
        """Stream a long request body. The read timeout is long, because processing may take a while."""
        headers = {"content-type": "application/octet-stream"} | self._about()
        patience = httpx.Timeout(TIMEOUT_SECONDS, read=LONG_TIMEOUT_SECONDS)
        with self._reached():
            answer = await self._http.post(path, content=body, params=query, headers=headers, timeout=patience)
        _raise_error(answer)
        return answer.json()

    def _about(self) -> dict[str, str]:
        return caller_headers() | self.extra_headers

    def as_agent(self, agent: str, reads: Reads) -> RemoteHoldfast:
        """The same connection, with requests made as this agent."""
        by = validate_agent(agent)
        found = copy(self)
        found.extra_headers = {
            "holdfast-agent": quote(by, safe=""),
            READS_HEADER: reads_header(validate_reads(reads, by)),
        }
        return found

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as failure:
            raise Unreachable(
                f"{self._http.base_url} does not answer: {type(failure).__name__} {failure}".rstrip() + ".",
                fix="Is `holdfast serve` running there?",
            ) from failure


def _raise_error(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    try:
        told = orjson.loads(answer.content)["error"]
        code, message, field, fix = told["code"], told["message"], told["field"], told.get("fix")
    except (ValueError, KeyError, TypeError):
        raise HoldfastError(f"The server answered {answer.status_code}: {answer.text[:200]}") from None
    if code == TooMany.code:
        raise TooMany(message, int(answer.headers.get("retry-after", "1")))
    raise ERRORS.get(code, HoldfastError)(message, field=field, fix=fix)
