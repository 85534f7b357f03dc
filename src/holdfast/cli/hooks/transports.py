"""Transports from a hook to its profiles: a secret URL, or a server with a token.

They use only the standard library, and http.client only for HTTPS: a hook runs with every prompt, and imports are most
of its running time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

MCP_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
MAX_RESPONSE_BYTES = 1 << 22
"""Bytes of a response that are read. Chosen by hand; not measured."""
MAX_PERSONAL_SHARE = 0.4
"""The most of a session's start that is about the user; the rest is about the project. Chosen by hand; not measured."""
RemainingSeconds = Callable[[], float]
"""Returns the seconds that are left."""
LAST_SESSION_TITLE = "## Last session"
UNKNOWN, UNREADABLE = (404,), (403, 404)
"""Statuses for a place that nobody has written to, and for one that the token may not read."""
MIN_SUMMARY_TOKENS = 20
HttpAnswer = tuple[int, str, bytes]
"""Status, content type and body."""
_ORIGIN = r", of [^,\]]*(?=[,\]])"


class TransportError(Exception):
    """A server answered with an error."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status} {body}")
        self.status = status


class Conversation(NamedTuple):
    """What a hook stores."""

    messages: list[dict[str, Any]]
    personal: list[dict[str, Any]]
    """What of it is about the user, for the personal profile."""
    session: str | None
    agent: str | None


class PromptContext(NamedTuple):
    """How much memory a prompt gets, and which."""

    tokens: int
    min_relevance: float
    session: str | None
    """The running session: the agent has its messages in its window."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `context` in Python, REST and MCP."""
        excluded = {"exclude_session": self.session} if self.session else {}
        return {"tokens": self.tokens, "min_relevance": self.min_relevance, **excluded}


class HookTransport(Protocol):
    def summary(self, tokens: int) -> str: ...

    def context(self, query: str, how: PromptContext) -> str: ...

    def ingest(self, talk: Conversation) -> None: ...


def is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and (address.port or 80) > 0
    except ValueError:
        return False


class HttpEndpoint:
    """HTTP with a time limit; follows no redirects and uses no proxy."""

    def __init__(self, url: str, left: RemainingSeconds, headers: dict[str, str] | None = None) -> None:
        self._address = urlsplit(url.rstrip("/"))
        self._left = left
        self._headers = headers or {}

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        types = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        exchange = self._exchange_https if self._address.scheme == "https" else self._exchange_http
        status, kind, answer = exchange(
            method, self._address.path + path, data, {**types, **self._headers, **(headers or {})}
        )
        text = answer.decode("utf-8", "replace")
        if status >= 300:
            raise TransportError(status, text[:200])
        try:
            return json.loads(_last_event(text) if kind.startswith("text/event-stream") else text)
        except ValueError:
            raise TransportError(502, "The server's answer is not JSON.") from None

    def _exchange_https(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> HttpAnswer:
        import http.client

        connection = http.client.HTTPSConnection(self._address.hostname or "", self._address.port, timeout=self._wait())
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, response.headers.get("content-type", ""), response.read(MAX_RESPONSE_BYTES)
        finally:
            connection.close()

    def _exchange_http(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> HttpAnswer:
        """One exchange of HTTP/1.0, in which the end of the answer is the end of the connection."""
        import socket

        lines = {"host": self._address.netloc.rpartition("@")[2], "content-length": str(len(data)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        address = (self._address.hostname or "", self._address.port or 80)
        with socket.create_connection(address, self._wait()) as connection:
            connection.sendall(f"{method} {path} HTTP/1.0\r\n{head}\r\n".encode() + data)
            received = bytearray()
            while len(received) < MAX_RESPONSE_BYTES:
                connection.settimeout(self._wait())
                piece = connection.recv(1 << 16)
                if not piece:
                    break
                received += piece
        return _parse_answer(bytes(received))

    def _wait(self) -> float:
        return max(self._left(), 0.001)


def _parse_answer(received: bytes) -> HttpAnswer:
    head, end, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = first.split(" ")[1:2]
    if not end or not first.startswith("HTTP/") or not status or not status[0].isdigit():
        raise TransportError(502, "The server's answer is not HTTP.")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status[0]), fields.get("content-type", ""), body


def _last_event(stream: str) -> str:
    return next((line[5:] for line in reversed(stream.splitlines()) if line.startswith("data:")), "null")


class SecretUrlTransport:
    """The profile of a secret URL, through its MCP tools."""

    def __init__(self, web: HttpEndpoint) -> None:
        self._web = web

    def summary(self, tokens: int) -> str:
        """The text of the MCP prompt `remember_context`, without its introduction."""
        return str(self._web.request("POST", "/mcp/prompts/remember_context", {})["text"]).partition("\n\n")[2]

    def context(self, query: str, how: PromptContext) -> str:
        return str(self._call("get_context", {"query": query, **how.arguments}).get("context", ""))

    def ingest(self, talk: Conversation) -> None:
        session = {"session_id": talk.session} if talk.session else {}
        self._call("ingest", {"messages": talk.messages, **session}, talk.agent)

    def _call(self, tool: str, arguments: dict[str, Any], agent: str | None = None) -> dict[str, Any]:
        meta = {f"{_META}protocolVersion": MCP_VERSION, f"{_META}clientCapabilities": {}}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        headers = {"mcp-protocol-version": MCP_VERSION, "mcp-method": "tools/call", "mcp-name": tool}
        headers |= {"holdfast-agent": agent} if agent else {}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result = self._web.request("POST", "/mcp", request, headers).get("result") or {}
        if not isinstance(result, dict) or result.get("isError"):
            raise TransportError(200, json.dumps(result)[:200])
        found = result.get("structuredContent") or {}
        return found if isinstance(found, dict) else {}


class TokenTransport:
    """The project's profile and the personal one beside it on a server, by token. The first write creates the
    namespace if the token has the right to."""

    def __init__(self, web: HttpEndpoint, namespace: str, profile: str, personal: str | None) -> None:
        self._web = web
        self._namespace = namespace
        self._profile = profile
        self._personal = personal if personal != profile else None

    def summary(self, tokens: int) -> str:
        if self._personal is None:
            return self._summary(self._profile, tokens, UNKNOWN)
        user = self._summary(self._personal, int(tokens * MAX_PERSONAL_SHARE), UNREADABLE)
        user = user.partition(LAST_SESSION_TITLE)[0].strip()  # of another project, perhaps
        project = self._summary(self._profile, tokens - len(user.encode()) // 4, UNKNOWN)
        parts = ("# About the user", user), ("# About this project", project)
        return "\n\n".join(f"{title}\n\n{text}" for title, text in parts if text)

    def context(self, query: str, how: PromptContext) -> str:
        asked = {"query": query, **how.arguments}
        if self._personal is not None:
            path = f"/v1/namespaces/{quote(self._namespace, safe='')}/context"
            profiles = [self._profile, self._personal]
            together = self._read("POST", path, {**asked, "profiles": profiles}, UNREADABLE)
            if together is not None:
                return _without_repeated_lines(str(together["text"]))
        alone = self._read("POST", f"{self._path(self._profile)}/context", asked, UNKNOWN)
        return "" if alone is None else str(alone["text"])

    def ingest(self, talk: Conversation) -> None:
        self._ingest(self._profile, talk.messages, talk)
        if self._personal is not None and talk.personal:
            self._ingest(self._personal, talk.personal, talk)

    def _summary(self, profile: str, tokens: int, absent: tuple[int, ...]) -> str:
        path = f"{self._path(profile)}/summary?tokens={max(tokens, MIN_SUMMARY_TOKENS)}"
        found = self._read("GET", path, None, absent)
        return "" if found is None else str(found["summary"]).strip()

    def _read(self, method: str, path: str, body: Any, absent: tuple[int, ...]) -> dict[str, Any] | None:
        """The answer, or None where its status says that there is nothing to read."""
        try:
            found: dict[str, Any] = self._web.request(method, path, body)
        except TransportError as error:
            if error.status not in absent:
                raise
            return None
        return found

    def _ingest(self, profile: str, messages: list[dict[str, Any]], talk: Conversation) -> None:
        body = {"messages": messages, "session_id": talk.session, "agent": talk.agent}
        try:
            self._web.request("POST", f"{self._path(profile)}/ingest", body)
        except TransportError as error:
            if error.status not in UNKNOWN:
                raise
            self._web.request("POST", "/v1/namespaces", {"name": self._namespace})
            self._web.request("POST", f"{self._path(profile)}/ingest", body)

    def _path(self, profile: str) -> str:
        return f"/v1/namespaces/{quote(self._namespace, safe='')}/profiles/{quote(profile, safe='')}"


def _without_repeated_lines(text: str) -> str:
    """Each line once: what users say about themselves stands in the project's profile and in the personal one."""
    lines = {re.sub(_ORIGIN, "", line, count=1): None for line in text.splitlines()}
    return "\n".join(lines)
