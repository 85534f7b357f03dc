"""A scripted language model server on a real local socket.

    async with ModelServer(lambda asked: '{"items": []}') as server:
        chat = OpenAiChat(endpoint(f"{server.url}#any-model"))

It supports OpenAI's chat completions and embeddings and Anthropic's messages, whole and streamed. The script is a
function from the request to the text of the answer, or to a `Fault`; it may be a coroutine function.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from holdfast.testing.llm_faults import FAULT_STATUSES, FAULT_TEXTS, HOSTILE_ANSWERS, Fault
from holdfast.testing.llm_responses import (
    ScriptedAnswer,
    anthropic_events,
    anthropic_response,
    embeddings_response,
    error_body,
    error_event,
    openai_events,
    openai_response,
)


@dataclass(frozen=True, slots=True)
class Asked:
    system: str
    user: str
    """For embeddings: the texts, one per line."""
    schema: dict[str, Any] | None
    stream: bool
    path: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as received over HTTP."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Script = Callable[[Asked], "str | Fault | Awaitable[str | Fault]"]


class ModelServer:
    """Answers on 127.0.0.1 while the block runs. An exception raised by the script is raised again at the end of the
    block."""

    def __init__(self, script: Script, *, retry_after: str = "0", dimensions: int = 64, pace: float = 0.0) -> None:
        self.script = script
        self.retry_after = retry_after
        self.dimensions = dimensions
        self.pace = pace
        """Seconds between two events of a stream."""
        self.seen: list[Seen] = []
        self.at_once = 0
        """The most requests that were being answered at the same time."""
        self.left = 0
        """How many callers closed the connection before they received their answer."""
        self._answering = 0
        self._hostile = 0
        self._systems: set[str] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    @property
    def url(self) -> str:
        """The address up to the version, as an endpoint needs it."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        if self._failure is not None and kind is None:
            raise self._failure

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left += 1
        except asyncio.CancelledError:
            pass  # the block ended
        except Exception as failure:
            self._failure = self._failure or failure
        finally:
            self._connections.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handles one request; returns whether another may follow on this connection."""
        first = await reader.readline()
        if not first:
            return False
        path = first.split()[1].decode()
        headers: dict[str, str] = {}
        while (line := (await reader.readline()).decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = orjson.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        seen = Seen(path, headers, body)
        self.seen.append(seen)
        self._answering += 1
        self.at_once = max(self.at_once, self._answering)
        try:
            return await _RequestHandler(self, seen, reader, writer).answer()
        finally:
            self._answering -= 1

    async def said(self, asked: Asked) -> str | Fault:
        answer = self.script(asked)
        return await answer if inspect.isawaitable(answer) else answer

    def hostility(self) -> str:
        self._hostile += 1
        return HOSTILE_ANSWERS[(self._hostile - 1) % len(HOSTILE_ANSWERS)]

    def cached(self, system: str) -> int:
        """How many tokens of this system text a provider would have in its cache. The text counts as cached from now
        on."""
        known = system in self._systems
        self._systems.add(system)
        return len(system) // 4 if known else 0


class _RequestHandler:
    """Answers one request."""

    def __init__(
        self, server: ModelServer, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._seen, self._reader, self._writer = server, seen, reader, writer
        self._anthropic = seen.path.endswith("/messages")
        self._asked = _parse_request(seen)

    async def answer(self) -> bool:
        answer = await self._server.said(self._asked)
        match answer:
            case Fault.SLOW:
                await self._reader.read(1)  # returns when the caller disconnects
                self._server.left += 1
                return False
            case Fault.GONE:
                return False
            case Fault.STATUS_400 if "temperature" not in self._seen.body:
                answer = "{}"
            case Fault.MID_STREAM if self._asked.stream:
                await self._mid_stream()
                return False
            case Fault.REDIRECT:
                await self._send(307, b"", {"location": self._server.url + "/elsewhere"})
                return True
        if isinstance(answer, Fault) and answer in FAULT_STATUSES:
            headers = {"retry-after": self._server.retry_after} if answer is Fault.STATUS_429 else {}
            body = error_body(answer, self._key, anthropic=self._anthropic)
            await self._send(FAULT_STATUSES[answer][0], orjson.dumps(body), headers)
            return True
        return await self._send_answer(answer)

    async def _send_answer(self, answer: str | Fault) -> bool:
        whole = answer is not Fault.HANG_UP
        if answer is Fault.UNREADABLE:
            await self._send(200, b'{"result": {"response": ["of", "another", "protocol"]}}')
        elif self._seen.path.endswith("/embeddings"):
            await self._send(200, orjson.dumps(self._vectors(answer)), whole=whole)
        elif self._asked.stream:
            await self._stream(self._model_answer(answer), whole=whole)
        else:
            make = anthropic_response if self._anthropic else openai_response
            await self._send(200, orjson.dumps(make(self._model_answer(answer))), whole=whole)
        return whole

    @property
    def _key(self) -> str:
        headers = self._seen.headers
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def _model_answer(self, answer: str | Fault) -> ScriptedAnswer:
        ends = (
            {Fault.TRUNCATED: "length", Fault.REFUSAL: "refusal"}.get(answer, "stop")
            if isinstance(answer, Fault)
            else "stop"
        )
        if answer is Fault.HOSTILE:
            text = self._server.hostility()
        else:
            text = FAULT_TEXTS.get(answer, "{}") if isinstance(answer, Fault) else answer
        tokens = (len(self._asked.system) + len(self._asked.user)) // 4
        return ScriptedAnswer(
            text, str(self._seen.body.get("model")), ends, tokens, self._server.cached(self._asked.system)
        )

    def _vectors(self, answer: str | Fault) -> dict[str, Any]:
        body = self._seen.body
        dimensions = body.get("dimensions", self._server.dimensions) - (answer is Fault.WRONG_DIMENSION)
        return embeddings_response(body["input"], body["model"], dimensions)

    async def _send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, whole: bool = True
    ) -> None:
        lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + (body if whole else body[: len(body) // 2]))
        await self._writer.drain()

    async def _stream(self, answer: ScriptedAnswer, *, whole: bool) -> None:
        options = self._seen.body.get("stream_options") or {}
        events = list(
            anthropic_events(answer)
            if self._anthropic
            else openai_events(answer, usage=bool(options.get("include_usage")))
        )
        await self._begin_stream()
        for event in events if whole else events[: len(events) // 2]:
            await self._chunk(event)
        if whole:
            await self._chunk(b"")

    async def _mid_stream(self) -> None:
        answer = self._model_answer(Fault.MID_STREAM)
        events = list(anthropic_events(answer) if self._anthropic else openai_events(answer, usage=False))
        await self._begin_stream()
        for event in events[: len(events) // 2]:
            await self._chunk(event)
        await self._chunk(error_event(Fault.MID_STREAM, self._key, anthropic=self._anthropic))
        await self._chunk(b"")

    async def _begin_stream(self) -> None:
        self._writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    async def _chunk(self, data: bytes) -> None:
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()
        if data and self._server.pace:
            await asyncio.sleep(self._server.pace)


def _parse_request(seen: Seen) -> Asked:
    body = seen.body
    stream = body.get("stream") is True
    if seen.path.endswith("/embeddings"):
        return Asked("", "\n".join(body["input"]), None, stream, seen.path)
    if seen.path.endswith("/messages"):
        system = "".join(block["text"] for block in body["system"])
        schema = body.get("output_config", {}).get("format", {}).get("schema")
    else:
        system = next((each["content"] for each in body["messages"] if each["role"] == "system"), "")
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    user = next(each["content"] for each in body["messages"] if each["role"] == "user")
    return Asked(system, user, schema, stream, seen.path)
