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


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (None, "The header Authorization is missing."),
        (TOKEN, "The header Authorization does not have the form 'Bearer TOKEN'."),
        ("Bearer", "The header Authorization does not have the form 'Bearer TOKEN'."),
        ("Basic YTpi", "The header Authorization does not have the form 'Bearer TOKEN'."),
        ("Bearer hf_nobody", "The token is unknown, mistyped, expired or revoked, or belongs to a secret URL."),
    ],
)
async def test_a_request_without_a_credential_is_told_what_it_lacks(
    http: httpx.AsyncClient, header: str | None, said: str
) -> None:
    answer = await http.get("/v1/namespaces", headers={} if header is None else {"authorization": header})
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (401, "unauthorised")
    assert told["message"].startswith(said)
    assert told["fix"] == "Send Authorization: Bearer with a valid token."


async def test_a_revoked_token_and_a_secret_urls_are_answered_like_an_unknown_one(
    http: httpx.AsyncClient,
) -> None:
    revoked = await issue(http, name="lost")
    done = await http.delete(
        f"/v1/credentials/{revoked['credential']['id']}", headers={"authorization": f"Bearer {TOKEN}"}
    )
    assert done.json() == {"revoked": True}
    secret = await issue(http, kind="url", name="phone", namespace="app", profile="ana")
    tokens = ["hf_nobody", revoked["token"], secret["token"]]
    answers = [await http.get("/v1/namespaces", headers={"authorization": f"Bearer {token}"}) for token in tokens]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1


async def test_a_missing_right_and_a_missing_namespace_are_told_with_what_to_do(http: httpx.AsyncClient) -> None:
    made = await issue(http, name="app", rights=["read"], namespace="app")
    own, admin = ({"authorization": f"Bearer {token}"} for token in (made["token"], TOKEN))
    told = (await http.get("/v1/audit", headers=own)).json()["error"]
    assert told["message"].startswith(
        f"The credential {made['credential']['id']} ('app') does not have the right 'admin'"
    )
    assert told["fix"] == "Use one that has it everywhere."
    told = (await http.post("/v1/namespaces/nope/profiles/ana/remember", json={"content": "x"}, headers=admin)).json()
    assert "POST /v1/namespaces" in told["error"]["fix"]


async def test_the_first_admin_token_stays_beside_a_preset_one_until_it_is_revoked(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        first = await memory.access.admin()
        assert first is not None
        assert await memory.access.admin(TOKEN) is None
        held = await memory.access.credential(first)
        assert held is not None
        assert (held.kind, held.name) == ("admin", "first")  # how docs/service.md says to find it
        await memory.access.revoke(held.id)
        assert await memory.access.credential(first) is None
        assert await memory.access.credential(TOKEN) is not None
