"""The key-value routes: expiry in every answer, and the namespace of a new agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.testing import HashingEmbedder
from support.http_server import http_server

ITEMS = "/v1/agents/concierge/entities/ana"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[AsyncHoldfast, str]]:
    async with (
        await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as holdfast,
        http_server(holdfast) as url,
    ):
        yield holdfast, url


async def client(holdfast: AsyncHoldfast, url: str, *rights: str, **bound: Any) -> httpx.AsyncClient:
    _, token = await holdfast.access.issue("key", "test", rights, **bound)
    return httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=120)


async def test_every_answer_shows_when_an_item_expires(served: tuple[AsyncHoldfast, str]) -> None:
    async with await client(*served, "read", "write", "admin") as http:
        kept = await http.post(f"{ITEMS}/items", json={"kind": "pref", "key": "seat", "value": "window", "ttl": 3600})
        assert kept.status_code == 201
        expires = kept.json()["expires_at"]
        assert expires is not None
        assert (await http.get(f"{ITEMS}/items/pref/seat")).json()["expires_at"] == expires
        assert (await http.get(f"{ITEMS}/items")).json()["items"][0]["expires_at"] == expires
        found = (await http.post(f"{ITEMS}/search", json={"query": "window seat"})).json()["items"]
        assert found[0]["expires_at"] == expires


async def test_a_first_write_creates_the_agents_namespace_for_one_who_may(served: tuple[AsyncHoldfast, str]) -> None:
    holdfast, _ = served
    body = {"kind": "pref", "key": "seat", "value": "window"}
    async with await client(*served, "read", "write") as http:
        refused = await http.post(f"{ITEMS}/items", json=body)
        assert refused.status_code == 404
        assert "POST /v1/namespaces" in refused.json()["error"]["message"] + str(refused.json()["error"])
        assert (await http.get(f"{ITEMS}/items")).json() == {"items": []}
    assert await holdfast.namespaces() == []
    async with await client(*served, "read", "write", "admin") as http:
        assert (await http.post(f"{ITEMS}/items", json=body)).status_code == 201
        assert (await http.get(f"{ITEMS}/items/pref/seat")).json()["value"] == "window"
    assert [each.name for each in await holdfast.namespaces()] == ["concierge"]
