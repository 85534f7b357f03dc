"""The ways from a hook to a profile: a secret URL, a server with a token, or the data folder itself.

Only the standard library on the way over HTTP: a hook starts with every prompt, and its start is most of its cost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

MCP_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
MOST = 1 << 22
"""Bytes of an answer that are read."""
Left = Callable[[], float]
"""How many seconds are left."""


class Refused(Exception):
    """A server answered, and not with what was asked for."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status} {said}")
        self.status = status


class Door(Protocol):
    def summary(self, tokens: int) -> str: ...

    def context(self, query: str, tokens: int, session: str | None) -> str: ...

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None: ...


class Web:
    """HTTP with a limit on the time; follows no redirect and obeys no proxy."""

    def __init__(self, url: str, left: Left, headers: dict[str, str] | None = None) -> None:
        self._address = urlsplit(url.rstrip("/"))
        self._left = left
        self._headers = headers or {}

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        import http.client

        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        line = kind(self._address.hostname or "", self._address.port, timeout=max(self._left(), 0.05))
        try:
            data = None if body is None else json.dumps(body).encode()
            about = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            line.request(method, self._address.path + path, data, {**about, **self._headers, **(headers or {})})
            answer = line.getresponse()
            text = answer.read(MOST).decode("utf-8", "replace")
            if answer.status >= 300:
                raise Refused(answer.status, text[:200])
            streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
            return json.loads(_last_event(text) if streamed else text)
        finally:
            line.close()

    def listens(self) -> bool:
        """Whether anybody is there at all."""
        import socket

        try:
            socket.create_connection((self._address.hostname or "", self._address.port or 80), 0.3).close()
        except OSError:
            return False
        return True


def _last_event(stream: str) -> str:
    return next((line[5:] for line in reversed(stream.splitlines()) if line.startswith("data:")), "null")


class Secret:
    """One profile behind a secret URL, by the tools it has for agents."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def summary(self, tokens: int) -> str:
        """After the words that introduce it."""
        return str(self._web.ask("POST", "/mcp/prompts/remember_context", {})["text"]).partition("\n\n")[2]

    def context(self, query: str, tokens: int, session: str | None) -> str:
        return str(self._call("get_context", {"query": query, "tokens": tokens}).get("context", ""))

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        self._call("ingest", {"messages": messages, **({"session_id": session} if session else {})}, agent)

    def _call(self, tool: str, arguments: dict[str, Any], agent: str | None = None) -> dict[str, Any]:
        told = {f"{_META}protocolVersion": MCP_VERSION, f"{_META}clientCapabilities": {}}
        params = {"name": tool, "arguments": arguments, "_meta": told}
        headers = {"mcp-protocol-version": MCP_VERSION, "mcp-method": "tools/call", "mcp-name": tool}
        headers |= {"holdfast-agent": agent} if agent else {}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result = self._web.ask("POST", "/mcp", request, headers).get("result") or {}
        if not isinstance(result, dict) or result.get("isError"):
            raise Refused(200, json.dumps(result)[:200])
        found = result.get("structuredContent") or {}
        return found if isinstance(found, dict) else {}


class Keyed:
    """A profile on a server that takes a token; a first write makes the namespace when the token may."""

    def __init__(self, web: Web, namespace: str, profile: str) -> None:
        self._web = web
        self._namespace = namespace
        self._path = f"/v1/namespaces/{quote(namespace, safe='')}/profiles/{quote(profile, safe='')}"

    def summary(self, tokens: int) -> str:
        return str(self._web.ask("GET", f"{self._path}/summary")["summary"])

    def context(self, query: str, tokens: int, session: str | None) -> str:
        asked = {"query": query, "tokens": tokens, **elsewhere(session)}
        return str(self._web.ask("POST", f"{self._path}/context", asked)["text"])

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        body = {"messages": messages, "session_id": session, "agent": agent}
        try:
            self._web.ask("POST", f"{self._path}/ingest", body)
        except Refused as refused:
            if refused.status != 404:
                raise
            self._web.ask("POST", "/v1/namespaces", {"name": self._namespace})
            self._web.ask("POST", f"{self._path}/ingest", body)


class Folder:
    """The data folder, when no other process has it open. Slow to start: a server is the better way."""

    def __init__(self, data: str | None, namespace: str, profile: str, left: Left) -> None:
        self._data = data
        self._place = namespace, profile
        self._left = left

    def summary(self, tokens: int) -> str:
        from ..sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            return holdfast.profile(*self._place).summary()

    def context(self, query: str, tokens: int, session: str | None) -> str:
        from ..sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            narrowed: Any = elsewhere(session)
            return holdfast.profile(*self._place).context(query, tokens=tokens, **narrowed).text

    def ingest(self, messages: list[dict[str, Any]], session: str | None, agent: str | None) -> None:
        from ..sync import Holdfast

        with Holdfast.open(self._data) as holdfast:
            profile = holdfast.profile(*self._place)
            profile.ingest(messages, session_id=session, agent=agent)
            profile.settle(max(self._left() - 0.3, 0.0))  # nobody else would digest them


def elsewhere(session: str | None) -> dict[str, Any]:
    """Not what was said in this session: the agent has that before it."""
    return {"filter": {"not": {"session_id": session}}} if session else {}
