"""One JSON request to an endpoint, whole or as server-sent events, and what every way of failing means.

Only the configured address is ever called: redirects are not followed and no proxy is taken from the environment.
Answers are read up to `LARGEST` bytes and never decompressed, so that no server can fill the memory. Whatever a
provider says about a failure is quoted without the key.
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

from ... import __version__
from ...errors import ModelError, ModelUnavailable
from ...spending import Usage
from .endpoint import Endpoint

LARGEST = 16 * 1024 * 1024
LONGEST_LINE = 1024 * 1024
CONNECT_SECONDS = 10.0
DONE: Final = object()
"""Stands for the event with which OpenAI ends a stream."""
_PASSING = {408, 409, 429}
_SPENT = {"insufficient_quota", "billing_error", "billing_hard_limit_reached"}
_QUOTED = 300
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-\S+", re.IGNORECASE)


class Unanswered(ModelUnavailable):
    """This attempt failed; the next one may not. `after`: the seconds that the provider asks to wait."""

    def __init__(
        self, message: str, *, after: float | None = None, silent: bool = False, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.after = after
        self.silent = silent
        """Nothing was wrong but that it took too long."""
        self.usage = usage
        """What the attempt cost all the same."""


class BadRequest(ModelError):
    """The provider says that the request is wrong, and perhaps which parameter."""

    def __init__(self, message: str, said: str, parameter: str | None) -> None:
        super().__init__(message)
        self.said = said
        self.parameter = parameter


class Wire:
    """The connections to one endpoint."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str]) -> None:
        self.endpoint = endpoint
        self._headers = headers | {"accept-encoding": "identity", "user-agent": f"holdfast/{__version__}"}

    @cached_property
    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(headers=self._headers, trust_env=False, follow_redirects=False)

    async def post(self, path: str, body: dict[str, Any], seconds: float) -> Any:
        """The answer's JSON."""
        async with self._asked(path, body, seconds) as answer:
            return self._read(await _whole(answer))

    async def events(self, path: str, body: dict[str, Any], seconds: float) -> AsyncGenerator[Any, None]:
        """The JSON of each event of a stream, and DONE where it says so; it may end too early.

        A server that cannot stream answers with JSON as ever: that is the only event then.
        """
        async with self._asked(path, body, seconds) as answer:
            if answer.headers.get("content-type", "").startswith("application/json"):
                yield self._read(await _whole(answer))
                yield DONE
                return
            async for data in _data(answer):
                if data.strip() == b"[DONE]":
                    yield DONE
                    return
                yield self._read(data)

    def failed(self, status: int, error: Any, after: float | None = None) -> ModelError:
        """What it means that the provider answered with this status and this error object."""
        name, setting = self.endpoint.name, f"HOLDFAST_{self.endpoint.setting.upper()}"
        code, said, parameter = _read_error(error)
        said = self._without_keys(said)
        quoted = f": {said[:_QUOTED].rstrip('.')}" if said else ""
        if code in _SPENT or status == 402:
            return ModelUnavailable(
                f"The account behind {name} has no credit left.", fix=f"Fill it, or change {setting}."
            )
        if status in _PASSING or status >= 500:
            return Unanswered(f"{name} answered {status}{quoted}.", after=after)
        if status == 401:
            return ModelUnavailable(f"{name} does not accept the key.", fix=f"Set {setting}_KEY.")
        if status == 403:
            return ModelUnavailable(f"{name} forbids this{quoted}.", fix=f"Set {setting}_KEY to a key that may use it.")
        if status == 404:
            return ModelUnavailable(f"{name} is not there{quoted}.", fix=f"Correct {setting} or {setting}_URL.")
        if 300 <= status < 400:
            return ModelUnavailable(f"{name} wants to be asked elsewhere.", fix=f"Correct {setting}_URL.")
        return BadRequest(f"{name} answered {status}{quoted}.", said, parameter)

    def unreadable(self, why: str) -> ModelError:
        return ModelError(f"{self.endpoint.name} answered what cannot be read: {why}.")

    async def close(self) -> None:
        if "_http" in self.__dict__:
            await self._http.aclose()

    @asynccontextmanager
    async def _asked(self, path: str, body: dict[str, Any], seconds: float) -> AsyncIterator[httpx.Response]:
        url, content = self.endpoint.url + path, _json(body)
        limits = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        headers = {"content-type": "application/json"}
        with self._reached():
            async with self._http.stream("POST", url, content=content, headers=headers, timeout=limits) as answer:
                if not answer.is_success:
                    error = _json_or_none(await _whole(answer))
                    raise self.failed(answer.status_code, error, retry_after(answer.headers))
                if answer.headers.get("content-encoding", "identity") != "identity":
                    raise self.unreadable("it is compressed")
                yield answer

    @contextmanager
    def _reached(self) -> Iterator[None]:
        name = self.endpoint.name
        try:
            yield
        except httpx.TimeoutException as error:
            raise Unanswered(f"{name} did not answer in time.", silent=True) from error
        except httpx.TransportError as error:
            raise Unanswered(f"{name} cannot be reached or broke off ({type(error).__name__}).") from error

    def _read(self, data: bytes) -> Any:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            raise self.unreadable("it is no JSON") from None

    def _without_keys(self, said: str) -> str:
        if self.endpoint.key:
            said = said.replace(self.endpoint.key, "…")
        return " ".join(_KEY_LIKE.sub("…", said).split())


def retry_after(headers: httpx.Headers) -> float | None:
    """How many seconds a provider asks to wait: it may be given in milliseconds, in seconds or as a date."""
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
        raise ModelError(f"What is asked cannot be written as JSON: {error}.") from None


def _json_or_none(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _read_error(body: Any) -> tuple[str, str, str | None]:
    """The code, the message and the parameter of an error: OpenAI's, Anthropic's and the plain ones of others."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return "", error, None
    if not isinstance(error, dict):
        return "", "", None
    code, said, parameter = (error.get(name) for name in ("code", "message", "param"))
    code = code if isinstance(code, str) else error.get("type")
    return str(code or ""), said if isinstance(said, str) else "", parameter if isinstance(parameter, str) else None


async def _whole(answer: httpx.Response) -> bytes:
    return b"".join([chunk async for chunk in _chunks(answer)])


async def _chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    read = 0
    async for chunk in answer.aiter_raw():
        read += len(chunk)
        if read > LARGEST:
            raise ModelError(f"A model's answer is longer than {LARGEST >> 20} MB.")
        yield chunk


async def _data(answer: httpx.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event; its lines may end in any of the three ways."""
    rest = b""
    lines: list[bytes] = []
    async for chunk in _chunks(answer):
        *ended, rest = _LINE_END.split(rest + chunk)
        if len(rest) > LONGEST_LINE:
            raise ModelError(f"A line of a model's answer is longer than {LONGEST_LINE >> 20} MB.")
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
