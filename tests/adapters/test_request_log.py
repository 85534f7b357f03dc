"""What the log and the metrics say of a request: its route, never its path; of a failed one also where it failed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server

TOKEN = "preset-admin-token-of-the-tests"


@dataclass
class Site:
    http: httpx.AsyncClient
    secret: str


@pytest.fixture
async def site(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Site]:
    caplog.set_level(logging.INFO, "holdfast.access")
    made = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    async with made as memory:
        await memory.access.admin(TOKEN)
        await memory.create_namespace("app")
        _, secret = await memory.access.issue("url", "phone", ["read", "write"], namespace="app", profile="ana")
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with http_server(memory) as url, httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as http:
            yield Site(http, secret)


@pytest.mark.parametrize(
    ("method", "route"),
    [
        ("POST", "/s/{secret}/mcp"),
        ("PUT", "/s/{secret}/mcp"),
        ("POST", "/mcp"),
        ("POST", "/sse/{secret}/messages"),
        ("POST", "/sse/{secret}"),
    ],
)
async def test_mcp_is_named_by_its_route(site: Site, caplog: pytest.LogCaptureFixture, method: str, route: str) -> None:
    answer = await site.http.request(method, route.format(secret=site.secret), json={})
    assert f"{method} {route} {answer.status_code} " in caplog.text
    assert site.secret not in caplog.text
    metrics = (await site.http.get("/metrics")).text
    assert f'method="{method}",route="{route}",status="{answer.status_code}"' in metrics


@pytest.mark.parametrize(
    ("method", "path", "shown"),
    [
        ("POST", "/s/{}/mcp/tools/addmemory", "There is no POST /s/…/mcp/tools/addmemory."),
        ("PUT", "/s/{}/mcp", "/s/…/mcp does not support PUT."),
        ("POST", "/sse/{}", "/sse/… does not support POST."),
        ("GET", "/proxy/s/{}/mcp", "There is no GET /proxy/s/…/mcp."),
        ("GET", "/s%2F{}", "…"),
        ("GET", "//s//{}/api/nothing", "There is no GET //s//…/api/nothing."),
        ("GET", "/client/v4/s/{}", "There is no GET /client/v4/s/…."),
    ],
)
async def test_an_error_masks_the_secret_of_its_path(
    site: Site, caplog: pytest.LogCaptureFixture, method: str, path: str, shown: str
) -> None:
    answer = await site.http.request(method, str(site.http.base_url) + path.format(site.secret), json={})
    assert shown in answer.text
    assert answer.status_code in (404, 405)
    assert site.secret not in answer.text + caplog.text


async def test_an_unknown_secret_is_not_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    assert (await site.http.get("/sse/guessed")).status_code == 404
    assert "GET /sse/{secret} 404" in caplog.text
    assert "guessed" not in caplog.text


async def test_a_failed_request_is_logged_with_its_route_file_and_line(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("not today")

    monkeypatch.setattr(LocalProfile, "search", fails)
    answer = await site.http.post(f"/s/{site.secret}/mcp/tools/search_memory", json={"query": "x"})
    assert answer.status_code == 500
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    place = f"{__file__}:{fails.__code__.co_firstlineno + 1}"
    assert line == f"POST /s/{{secret}}/mcp/tools/search_memory failed at {place}: RuntimeError"


@pytest.mark.parametrize("body", [{}, {"topic": "cheese"}])
async def test_what_is_remembered_starts_a_conversation(site: Site, body: dict[str, str]) -> None:
    answer = await site.http.post(f"/s/{site.secret}/mcp/prompts/remember_context", json=body)
    assert (answer.status_code, list(answer.json())) == (200, ["text"])
