"""Sends JSON requests to an endpoint, reads whole answers and server-sent events, and maps each failure to an error.

Only the configured address is ever called: redirects are not followed, and proxy settings from the environment are
ignored. Answers are read up to `MAX_ANSWER_BYTES` and never decompressed, so that no server can exhaust the memory.
Error messages of a provider are quoted without the key.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, Final

import httpx2 as httpx
import orjson

from holdfast import __version__
from holdfast.domain.errors import ModelError, ModelUnavailable
from holdfast.domain.usage import Usage
from holdfast.models.llm.endpoint import Endpoint

MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
CONNECT_SECONDS = 10.0
"""Maximum bytes of an answer and of a line of a stream; seconds to connect. Chosen by hand; not measured."""
STREAM_END: Final = object()
"""The event that ends a stream of OpenAI's API."""
_TRANSIENT_STATUSES = {408, 409, 429}
_NO_CREDIT_CODES = {"insufficient_quota", "billing_error", "billing_hard_limit_reached"}
_MAX_QUOTED_CHARACTERS = 300
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-\S+", re.IGNORECASE)


class Unanswered(ModelUnavailable):
    """A failed attempt that may succeed when retried. `after`: the seconds that the provider asks to wait.

    Users see the name of this class in the reasons of failed digestions and in traces.
    """

    def __init__(
        self, message: str, *, after: float | None = None, silent: bool = False, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.after = after
        self.silent = silent
        """Whether the attempt failed only because it took too long."""
        self.usage = usage
        """The tokens that the failed attempt still cost."""


class BadRequest(ModelError):
    """A request that the provider rejects as invalid, with the offending parameter if the provider names it."""

    def __init__(self, message: str, said: str, parameter: str | None) -> None:
        super().__init__(message)
        self.said = said
        self.parameter = parameter


class EndpointClient:
    """An HTTP client for one endpoint."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str]) -> None:
        self.endpoint = endpoint
        self._headers = headers | {"accept-encoding": "identity", "user-agent": f"holdfast/{__version__}"}

    @cached_property
    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(headers=self._headers, trust_env=False, follow_redirects=False)

    async def post(self, path: str, body: dict[str, Any], seconds: float) -> Any:
        """Sends a request; returns the answer's JSON."""
        async with self._request(path, body, seconds) as answer:
            return self._parse(await _read_body(answer))

    async def events(self, path: str, body: dict[str, Any], seconds: float) -> AsyncGenerator[Any, None]:
        """Sends a request; yields the JSON of each event of a stream, then STREAM_END. A broken stream may end without
        it.

        A server that cannot stream answers with plain JSON, which is then the only event.
        """
        async with self._request(path, body, seconds) as answer:
            if answer.headers.get("content-type", "").startswith("application/json"):
                yield self._parse(await _read_body(answer))
                yield STREAM_END
                return
            async for data in _read_events(answer):
                if data.strip() == b"[DONE]":
                    yield STREAM_END
                    return
                yield self._parse(data)

    def error_of_status(self, status: int, error: Any, after: float | None = None) -> ModelError:
        """The error for a provider's answer with this status and this error object."""
        name, setting = self.endpoint.name, f"HOLDFAST_{self.endpoint.setting.upper()}"
        code, said, parameter = _parse_error(error)
        said = self._without_keys(said)
        quoted = f": {said[:_MAX_QUOTED_CHARACTERS].rstrip('.')}" if said else ""
        if code in _NO_CREDIT_CODES or status == 402:
            return ModelUnavailable(
                f"The account behind {name} has no credit left.", fix=f"Add credit, or change {setting}."
            )
        if status in _TRANSIENT_STATUSES or status >= 500:
            return Unanswered(f"{name} answered {status}{quoted}.", after=after)
        if status == 401:
            return ModelUnavailable(f"{name} does not accept the key.", fix=f"Set {setting}_KEY.")
        if status == 403:
            return ModelUnavailable(f"{name} forbids this{quoted}.", fix=f"Set {setting}_KEY to a key that may use it.")
        if status == 404:
            return ModelUnavailable(f"{name} does not exist{quoted}.", fix=f"Correct {setting} or {setting}_URL.")
        if 300 <= status < 400:
            return ModelUnavailable(f"{name} redirects to another URL.", fix=f"Correct {setting}_URL.")
        return BadRequest(f"{name} answered {status}{quoted}.", said, parameter)

    def unreadable(self, why: str) -> ModelError:
        return ModelError(f"{self.endpoint.name} returned a response that cannot be read: {why}.")

    async def close(self) -> None:
        if "_http" in self.__dict__:
            await self._http.aclose()

    @asynccontextmanager
    async def _request(self, path: str, body: dict[str, Any], seconds: float) -> AsyncIterator[httpx.Response]:
        url, content = self.endpoint.url + path, _json(body)
        limits = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        headers = {"content-type": "application/json"}
        with self._transport_errors():
            async with self._http.stream("POST", url, content=content, headers=headers, timeout=limits) as answer:
                if not answer.is_success:
                    error = _json_or_none(await _read_body(answer))
                    raise self.error_of_status(answer.status_code, error, retry_after_seconds(answer.headers))
                if answer.headers.get("content-encoding", "identity") != "identity":
                    raise self.unreadable("it is compressed")
                yield answer

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        name = self.endpoint.name
        try:
            yield
        except httpx.TimeoutException as error:
            raise Unanswered(f"{name} did not answer in time.", silent=True) from error
        except httpx.TransportError as error:
            raise Unanswered(
                f"{name} cannot be reached, or the connection was lost ({type(error).__name__})."
            ) from error

    def _parse(self, data: bytes) -> Any:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            raise self.unreadable("it is not JSON") from None

    def _without_keys(self, said: str) -> str:
        if self.endpoint.key:
            said = said.replace(self.endpoint.key, "…")
        return " ".join(_KEY_LIKE.sub("…", said).split())


def retry_after_seconds(headers: httpx.Headers) -> float | None:
    """The seconds that a provider asks to wait, given in milliseconds, in seconds or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _json(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise ModelError(f"The request cannot be encoded as JSON: {error}.") from None


def _json_or_none(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _parse_error(body: Any) -> tuple[str, str, str | None]:
    """The code, the message and the parameter of an error in OpenAI's, Anthropic's or a plain format."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return "", error, None
    if not isinstance(error, dict):
        return "", "", None
    code, said, parameter = (error.get(name) for name in ("code", "message", "param"))
    code = code if isinstance(code, str) else error.get("type")
    return str(code or ""), said if isinstance(said, str) else "", parameter if isinstance(parameter, str) else None


async def _read_body(answer: httpx.Response) -> bytes:
    return b"".join([chunk async for chunk in _read_chunks(answer)])


async def _read_chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in answer.aiter_raw():
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise ModelError(f"A model's answer is longer than {MAX_ANSWER_BYTES >> 20} MB.")
        yield chunk


async def _read_events(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yields the data of each server-sent event; lines may end in CR, LF or both."""
    rest = b""
    lines: list[bytes] = []
    async for chunk in _read_chunks(answer):
        *ended, rest = _LINE_END.split(rest + chunk)
        if len(rest) > MAX_LINE_BYTES:
            raise ModelError(f"A line of a model's answer is longer than {MAX_LINE_BYTES >> 20} MB.")
        for line in ended:
            if line.startswith(b"data:"):
                lines.append(line[5:].removeprefix(b" "))
            elif not line and lines:
                yield b"\n".join(lines)
                lines = []
    if rest.startswith(b"data:"):
        lines.append(rest[5:].removeprefix(b" "))
    if lines:
        yield b"\n".join(lines)
