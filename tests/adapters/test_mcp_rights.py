"""Who may do what over MCP: the same as over REST, for every tool and every kind of credential."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from holdfast.api.mcp.tools import NAMED
from holdfast.api.rest.app import ServiceLimits
from holdfast.service.credentials import Access
from support.expired import issue_expired
from support.mcp_clients import ACCEPT, ALL_RIGHTS, LEGACY, Site, call, legacy_session, modern_request, site

PLACE = "/v1/namespaces/team/profiles/alice"
SAID = {"messages": [{"role": "user", "content": "Hello"}]}
SAME: dict[str, tuple[dict[str, Any], str, str, Any]] = {
    "recall": ({"query": "seats"}, "POST", "/recall", {"query": "seats"}),
    "search": ({"query": "seats"}, "POST", "/search", {"query": "seats"}),
    "fetch": ({"id": "{id}"}, "GET", "/memories/{id}", None),
    "get_context": ({"query": "seats"}, "POST", "/context", {"query": "seats"}),
    "list_memories": ({}, "POST", "/memories/list", {}),
    "remember": ({"content": "Likes rye"}, "POST", "/remember", {"content": "Likes rye"}),
    "correct": ({"id": "{id}", "content": "Likes spelt"}, "PATCH", "/memories/{id}", {"content": "Likes oats"}),
    "about": ({"name": "Marta"}, "GET", "/entities?query=Marta", None),
    "ingest": (SAID, "POST", "/ingest", SAID),
    "enter_directory": ({"path": "/src"}, "GET", "/notes/entering?root=/&directory=/src", None),
    "write_note": ({"path": "/src", "text": "x"}, "PUT", "/notes", {"path": "/src", "text": "x", "root": "/"}),
    "forget": ({"id": "{id}"}, "DELETE", "/memories/{id}", None),
}
"""Each tool's call, and the same over REST."""
KEYS: dict[str, tuple[tuple[str, ...], str | None, str | None]] = {
    "reader": (("read",), "team", "alice"),
    "writer": (("write",), "team", "alice"),
    "forgetter": (("forget",), "team", "alice"),
    "all": (ALL_RIGHTS, "team", "alice"),
    "expired": (ALL_RIGHTS, "team", "alice"),
    "revoked": (ALL_RIGHTS, "team", "alice"),
    "of another profile": (ALL_RIGHTS, "team", "bob"),
    "of another namespace": (ALL_RIGHTS, "other", None),
    "of the namespace": (ALL_RIGHTS, "team", None),
    "reader of all": (("read",), None, None),
    "admin": (("admin",), None, None),
}
HERE = "?namespace=team&profile=alice"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as made:
        await made.holdfast.create_namespace("other")
        yield made


async def test_rest_and_mcp_agree_for_every_tool_and_credential(here: Site) -> None:
    assert set(SAME) == set(NAMED)
    for name in KEYS:
        token = await issue_url(here, name)
        bearer = {"authorization": f"Bearer {token}"}
        for tool, (arguments, method, path, body) in SAME.items():
            ids = [(await here.profile().remember(f"{tool} {name} {n}")).id for n in range(2)]
            asked = await here.http.request(
                method, here.base + PLACE + path.format(id=ids[0]), json=body, headers=bearer
            )
            over_rest = "done" if asked.is_success else asked.json()["error"]["code"]
            filled = {field: ids[1] if value == "{id}" else value for field, value in arguments.items()}
            over_mcp = outcome(await call(here.http, f"{here.base}/mcp{HERE}", tool, filled, **bearer))
            assert over_mcp == over_rest, (name, tool)
            left = await here.http.get(f"{here.base}{PLACE}/memories/{ids[1]}", headers=await admin(here))
            assert left.is_success != (tool == "forget" and over_mcp == "done")


async def test_a_secret_url_does_what_its_rights_say(here: Site) -> None:
    for right in ALL_RIGHTS:
        url = await here.url(rights=(right,))
        listed = (await ask(here, url, "tools/list", {})).json()["result"]["tools"]
        allowed = {name for name, tool in NAMED.items() if set(tool.rights) <= {right}}
        assert {tool["name"] for tool in listed} == allowed
        for tool, (arguments, *_) in SAME.items():
            kept = (await here.profile().remember(f"{tool} {right}")).id
            filled = {field: kept if value == "{id}" else value for field, value in arguments.items()}
            expected = "done" if tool in allowed else "forbidden"
            assert outcome(await call(here.http, url, tool, filled)) == expected, (tool, right)
        plain = (("tools/add_memory", {"content": "x"}, "write"), ("tools/search_memory", {"query": "x"}, "read"),
                 ("prompts/remember_context", {}, "read"))  # fmt: skip
        for path, body, needed in plain:
            assert (await here.http.post(f"{url}/{path}", json=body)).is_success == (needed == right)
        read = await ask(here, url, "resources/read", {"uri": "holdfast://team/alice/summary"})
        begun = await ask(here, url, "prompts/get", {"name": "remember_context"})
        for answer in (read.json(), begun.json()):
            assert ("result" in answer) == (right == "read")
            assert right == "read" or answer["error"]["data"]["code"] == "forbidden"


async def test_an_ended_secret_url_is_an_unknown_path(here: Site) -> None:
    made, secret = await here.holdfast.access.issue("url", "u", ALL_RIGHTS, namespace="team", profile="alice")
    url, stream = f"{here.base}/s/{secret}/mcp", f"{here.base}/sse/{secret}"
    session = await legacy_session(here.http, url)
    assert await status_of_use(here, url, session) == 200
    await here.holdfast.access.revoke(made.id)
    nowhere = (await here.http.get(f"{here.base}/s/hf_unknown/mcp")).json()
    for ended in (await call(here.http, url, "recall", {"query": "x"}), await here.http.get(stream)):
        assert (ended.status_code, ended.json()) == (404, nowhere)
    assert await status_of_use(here, url, session) == 404


async def test_an_address_leads_where_its_credential_may_go_or_nowhere(here: Site) -> None:
    async def status(name: str, query: str) -> int:
        bearer = {"authorization": f"Bearer {await issue_url(here, name)}"}
        return (await call(here.http, f"{here.base}/mcp{query}", "remember", {"content": "x"}, **bearer)).status_code

    assert await status("all", "") == 200
    assert await status("all", HERE) == 200
    assert await status("all", "?profile=bob") == 403
    assert await status("of the namespace", "?namespace=other&profile=alice") == 403
    assert await status("of the namespace", "?profile=carol") == 200
    assert await status("admin", "") == 400
    assert await status("admin", "?namespace=team") == 400
    assert await status("admin", "?namespace=nowhere&profile=x") == 404
    assert await status("admin", "?namespace=No%20Name&profile=x") == 404
    assert await status("admin", f"?namespace={(await here.holdfast.namespace('team')).id}&profile=dora") == 200
    assert {space.name for space in await here.holdfast.namespaces()} == {"team", "other"}
    assert {profile.name for profile in await here.holdfast.profiles("team")} == {"alice", "carol", "dora"}


async def test_a_session_is_its_credentials_own(here: Site) -> None:
    one, same, other = await here.url(), await here.url(), await here.url("bob")
    session = await legacy_session(here.http, one)
    assert [await status_of_use(here, url, session) for url in (one, same, other)] == [200, 404, 404]
    ended = await here.http.delete(other, headers={"mcp-session-id": session})
    assert (ended.status_code, await status_of_use(here, one, session)) == (404, 200)
    bearer, place = await admin(here), f"{here.base}/mcp?namespace=team&profile="
    session = await legacy_session(here.http, place + "alice", **bearer)
    assert [await status_of_use(here, place + who, session, **bearer) for who in ("alice", "bob")] == [200, 404]


async def test_an_older_stream_is_its_credentials_own(here: Site) -> None:
    one, other = await here.secret(), await here.secret("bob")
    known: list[str] = []
    async with Client(sse_client(f"{here.base}/sse/{one}", on_session_created=known.append), mode="legacy") as client:
        path, body = f"messages?session_id={known[0]}", {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
        strange = await here.http.post(f"{here.base}/sse/{other}/{path}", json=body)
        assert strange.status_code == 404
        assert (await client.list_tools()).tools


async def test_no_strangers_page_asks_through_a_browser(here: Site) -> None:
    """As after DNS rebinding, when a stranger's name leads to this machine."""
    url = await here.url()
    evil = {"host": "evil.example", "origin": "http://evil.example"}

    async def asked(**headers: str) -> int:
        return (await call(here.http, url, "list_memories", {}, **headers)).status_code

    assert [await asked(**evil), await asked(origin="http://evil.example"), await asked(origin="null")] == [403] * 3
    assert (await here.http.get(url.replace("/s/", "/sse/").removesuffix("/mcp"), headers=evil)).status_code == 403
    for origin in ("http://localhost:6274", "http://127.0.0.1:3000", "http://[::1]:1", "app://-"):
        assert await asked(origin=origin) == 200
    assert await asked(host="memory.example") == 200  # a proxy on this machine


async def ask(here: Site, url: str, method: str, params: dict[str, Any]) -> httpx.Response:
    body, headers = modern_request(method, params)
    return await here.http.post(url, json=body, headers=headers)


async def status_of_use(here: Site, url: str, session: str, **headers: str) -> int:
    told = {"accept": ACCEPT, "mcp-session-id": session, "mcp-protocol-version": LEGACY, **headers}
    answer = await here.http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=told)
    return answer.status_code


async def issue_url(here: Site, name: str) -> str:
    rights, namespace, profile = KEYS[name]
    kind = "admin" if name == "admin" else "key"
    issue = issue_expired if name == "expired" else Access.issue
    made, token = await issue(here.holdfast.access, kind, name, rights, namespace=namespace, profile=profile)
    if name == "revoked":
        await here.holdfast.access.revoke(made.id)
    return token


async def admin(here: Site) -> dict[str, str]:
    return {"authorization": f"Bearer {await issue_url(here, 'admin')}"}


def outcome(answer: httpx.Response) -> str:
    told = answer.json()
    if not answer.is_success:
        return str(told["error"]["code"])
    result = told["result"]
    return str(json.loads(result["content"][0]["text"])["error"]["code"]) if result["isError"] else "done"


async def test_an_origin_in_the_settings_is_let_in(tmp_path: Path) -> None:
    async with site(tmp_path, ServiceLimits(origins=("https://app.example",))) as here:
        url = await here.url()
        answers = [
            (await call(here.http, url, "list_memories", {}, origin=origin)).status_code
            for origin in ("https://app.example", "https://evil.example")
        ]
    assert answers == [200, 403]
