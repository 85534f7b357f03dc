"""Credentials over HTTP: what a new one comes with, and what a request with a wrong one is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server

TOKEN = "preset-admin-token-of-the-tests"


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    made = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    async with made as memory:
        await memory.access.admin(TOKEN)
        await memory.create_namespace("app")
        async with http_server(memory) as url, httpx.AsyncClient(base_url=url, timeout=120) as client:
            yield client


async def issue(http: httpx.AsyncClient, path: str = "/v1/credentials", **asked: Any) -> dict[str, Any]:
    answer = await http.post(path, json=asked or None, headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_a_secret_url_comes_whole(http: httpx.AsyncClient) -> None:
    made = await issue(http, kind="url", name="phone", namespace="app", profile="ana")
    again = await issue(http, f"/v1/credentials/{made['credential']['id']}/rotate?overlap=60")
    for each in (made, again):
        assert each["url"] == str(http.base_url.join(f"/s/{each['token']}"))
        assert (await http.get(f"{each['url']}/api/search", params={"q": "x"})).status_code == 200
    assert (await issue(http, name="app", namespace="app"))["url"] is None


async def test_a_credential_for_a_namespace_that_does_not_exist_comes_with_a_warning(http: httpx.AsyncClient) -> None:
    grants = [{"namespace": name, "profile": "team", "rights": ["read"]} for name in ("app", "later")]
    assert (await issue(http, name="everywhere"))["warnings"] == []
    told = await issue(http, name="early", namespace="nope", profile="ana", grants=grants)
    assert told["warnings"] == [
        f"There is no namespace '{name}' yet. Create it with POST /v1/namespaces." for name in ("nope", "later")
    ]
