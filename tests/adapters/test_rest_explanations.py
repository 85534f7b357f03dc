"""Explanations of hits over real HTTP: only for those who ask, and the same as a local profile gives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.testing import HashingEmbedder
from support.http_server import http_server

QUESTION = "Where do I live?"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncHoldfast]:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
        said = [{"role": "user", "content": text} for text in ("I live in Lisbon.", "I keep bees.")]
        await holdfast.profile("app", "ana").ingest(said, session_id="s")
        await holdfast.profile("app", "ana").settle()
        yield holdfast


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("verb", ["search", "recall", "context", "recall/stream"])
async def test_hits_have_features_for_those_who_ask(memory: AsyncHoldfast, verb: str, across: bool) -> None:
    token = await memory.access.admin() or ""
    place = "/v1/namespaces/app" if across else "/v1/namespaces/app/profiles/ana"
    asked: dict[str, Any] = {"query": QUESTION} | ({"profiles": ["ana"]} if across else {})
    async with (
        http_server(memory) as url,
        httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=120) as http,
    ):

        async def hits(**more: Any) -> list[dict[str, Any]]:
            answer = await http.post(f"{place}/{verb}", json=asked | more)
            assert answer.is_success, answer.text
            if verb != "recall/stream":
                return list(answer.json()["hits"])
            last = answer.text.strip().splitlines()[-1]
            return list(json.loads(last.removeprefix("data: "))["answer"]["hits"])

        plain, explained = await hits(), await hits(explain=True)
    assert plain
    assert all(hit["features"]["words"] >= 0 for hit in explained)
    assert plain == [{name: value for name, value in hit.items() if name != "features"} for hit in explained]


async def test_hits_of_a_remote_profile_are_those_of_a_local_one(memory: AsyncHoldfast) -> None:
    token = await memory.access.admin() or ""
    local = memory.profile("app", "ana")
    async with http_server(memory) as url, RemoteHoldfast(url, token) as server:
        remote = server.profile("app", "ana")
        found = await remote.search(QUESTION)
        assert found == await local.search(QUESTION)
        assert found[0].features
        assert (await remote.recall(QUESTION)).hits == (await local.recall(QUESTION)).hits
        assert (await remote.context(QUESTION)).hits == (await local.context(QUESTION)).hits


async def test_hits_of_a_secret_url_have_no_features(memory: AsyncHoldfast) -> None:
    _, secret = await memory.access.issue("url", "phone", ["read"], namespace="app", profile="ana")
    async with http_server(memory) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        found = (await http.get(f"/s/{secret}/api/search", params={"q": QUESTION})).json()["results"]
    assert found
    assert not any("features" in hit for hit in found)
