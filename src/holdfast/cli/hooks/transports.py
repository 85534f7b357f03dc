"""Transports from a hook to a profile: a secret URL, a server with a token, or the data folder itself.

The HTTP transports use only the standard library: a hook runs with every prompt, and imports are most of its running
time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

MCP_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
MAX_RESPONSE_BYTES = 1 << 22
"""Bytes of a response that are read. Chosen by hand; not measured."""
RemainingSeconds = Callable[[], float]
"""Returns the seconds that are left."""


class TransportError(Exception):
    """A server answered with an error."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status} {body}")
        self.status = status


@dataclass(frozen=True, slots=True)
class PromptContext:
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

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None: ...


class HttpEndpoint:
    """HTTP with a time limit; follows no redirects and uses no proxy."""

    def __init__(self, url: str, left: RemainingSeconds, headers: dict[str, str] | None = None) -> None:
        self._address = urlsplit(url.rstrip("/"))
        self._left = left
        self._headers = headers or {}

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        import http.client

        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._address.hostname or "", self._address.port, timeout=max(self._left(), 0.05))
        try:
            data = None if body is None else json.dumps(body).encode()
            types = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            connection.request(method, self._address.path + path, data, {**types, **self._headers, **(headers or {})})
            response = connection.getresponse()
            text = response.read(MAX_RESPONSE_BYTES).decode("utf-8", "replace")
            if response.status >= 300:
                raise TransportError(response.status, text[:200])
            streamed = response.headers.get("content-type", "").startswith("text/event-stream")
            return json.loads(_last_event(text) if streamed else text)
        finally:
            connection.close()

    def listens(self) -> bool:
        """Whether a server accepts connections at this address."""
        import socket

        try:
            socket.create_connection((self._address.hostname or "", self._address.port or 80), 0.3).close()
        except OSError:
            return False
        return True


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

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        self._call("ingest", {"messages": messages, **({"session_id": session} if session else {})}, agent)

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
    """A profile on a server, by token. The first write creates the namespace if the token has the right to."""

    def __init__(self, web: HttpEndpoint, namespace: str, profile: str) -> None:
        self._web = web
        self._namespace = namespace
        self._path = f"/v1/namespaces/{quote(namespace, safe='')}/profiles/{quote(profile, safe='')}"

    def summary(self, tokens: int) -> str:
        return str(self._web.request("GET", f"{self._path}/summary")["summary"])

    def context(self, query: str, how: PromptContext) -> str:
        return str(self._web.request("POST", f"{self._path}/context", {"query": query, **how.arguments})["text"])

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        body = {"messages": messages, "session_id": session, "agent": agent}
        try:
            self._web.request("POST", f"{self._path}/ingest", body)
        except TransportError as error:
            if error.status != 404:
                raise
            self._web.request("POST", "/v1/namespaces", {"name": self._namespace})
            self._web.request("POST", f"{self._path}/ingest", body)


class FolderTransport:
    """The data folder itself, when no other process has it open. Opening it is slower than connecting to a server."""

    def __init__(self, data: str | None, namespace: str, profile: str, left: RemainingSeconds) -> None:
        self._data = data
        self._names = namespace, profile
        self._left = left

    def summary(self, tokens: int) -> str:
        from holdfast.service.sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            return holdfast.profile(*self._names).summary()

    def context(self, query: str, how: PromptContext) -> str:
        from holdfast.service.sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            return holdfast.profile(*self._names).context(query, **how.arguments).text

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        from holdfast.service.sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            profile = holdfast.profile(*self._names)
            profile.ingest(messages, session_id=session, agent=agent)
            profile.settle(max(self._left() - 0.3, 0.0))  # no other process would digest the messages
