"""Clients of the Model Context Protocol as the tests use them: the SDK's own over each transport, and bare requests."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from holdfast import AsyncHoldfast
from holdfast.api.rest.app import ServiceLimits
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import HashingEmbedder

from .http_server import http_server

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ALL_RIGHTS = ("read", "write", "forget")
ACCEPT = "application/json, text/event-stream"
_ids = itertools.count(1)


@dataclass
class Site:
    """A served Holdfast with two profiles in one namespace."""

    holdfast: AsyncHoldfast
    base: str
    http: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(timeout=120, trust_env=False))

    async def secret(self, profile: str = "alice", rights: tuple[str, ...] = ALL_RIGHTS) -> str:
        _, token = await self.holdfast.access.issue("url", profile, rights, namespace="team", profile=profile)
        return token

    async def url(self, profile: str = "alice", rights: tuple[str, ...] = ALL_RIGHTS) -> str:
        return f"{self.base}/s/{await self.secret(profile, rights)}/mcp"

    def profile(self, name: str = "alice") -> LocalProfile:
        return self.holdfast.profile("team", name)


@asynccontextmanager
async def site(folder: Path, limits: ServiceLimits = ServiceLimits()) -> AsyncIterator[Site]:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        await holdfast.create_namespace("team")
        async with http_server(holdfast, limits) as base:
            made = Site(holdfast, base)
            async with made.http:
                yield made


@asynccontextmanager
async def connected_client(transport: str, site: Site, folder: Path, **more: Any) -> AsyncIterator[Client]:
    """The SDK's client over one of the transports, on alice's memory (over stdio, on a folder of its own)."""
    secret = await site.secret()
    target: Any = f"{site.base}/s/{secret}/mcp"
    if transport == "sse":
        target = sse_client(f"{site.base}/sse/{secret}")
    if transport == "stdio":
        target = stdio_server(folder)
    async with Client(target, mode="auto" if transport in ("modern", "stdio") else "legacy", **more) as client:
        assert client.protocol_version == (MODERN if transport in ("modern", "stdio") else LEGACY)
        yield client


@asynccontextmanager
async def token_client(url: str, token: str, mode: str, **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx.AsyncClient(
            headers={"authorization": f"Bearer {token}", **headers}, trust_env=False, timeout=120
        ) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def stdio_server(folder: Path, *more: str) -> StdioServerParameters:
    command = ["-m", "holdfast", "mcp", "--data", str(folder), *more]
    return StdioServerParameters(command=sys.executable, args=command, env=plain_env())


def plain_env() -> dict[str, str]:
    """An environment in which only the embedder is chosen: the one that loads at once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return kept | {"HOLDFAST_EMBEDDER": "potion"}


def modern_request(method: str, params: dict[str, Any], id: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of one request of the stateless revision."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": id or next(_ids), "method": method, "params": {"_meta": meta, **params}}
    headers = {"accept": ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": method}
    named = params.get("name", params.get("uri"))
    return body, headers | ({"mcp-name": named} if named is not None else {})


async def call(
    http: httpx.AsyncClient, url: str, tool: str, arguments: Any, *, deeper: int = 0, **headers: str
) -> httpx.Response:
    """tools/call as the stateless revision sends it, with whatever arguments, in that many lists."""
    body, told = modern_request("tools/call", {"name": tool, "arguments": arguments})
    sent = {"content-type": "application/json", **told, **headers}
    text = json.dumps(body).replace(
        f": {json.dumps(arguments)}", f": {'[' * deeper}{json.dumps(arguments)}{']' * deeper}"
    )
    return await http.post(url, content=text.encode(), headers=sent)


async def legacy_session(http: httpx.AsyncClient, url: str, **headers: str) -> str:
    """The session that this address begins in the handshake era."""
    asked = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": asked}
    answer = await http.post(url, json=body, headers={"accept": ACCEPT, **headers})
    assert answer.status_code == 200, answer.text
    return str(answer.headers["mcp-session-id"])
