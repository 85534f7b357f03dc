"""The service over real HTTP: the Agent Memory contract, the native API, secret URLs, and who may do what."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import uvicorn
from fastapi.routing import APIRoute
from starlette.routing import Route

from holdfast import AsyncHoldfast
from holdfast.api.rest.app import ROUTERS, app_of
from holdfast.api.rest.server import serve
from holdfast.domain.credentials import Credential
from holdfast.domain.errors import Busy
from holdfast.service.credentials import Access
from holdfast.service.settings import Settings
from holdfast.testing import HashingEmbedder
from support.expired import issue_expired

CONTRACT = "/client/v4/accounts/any/agent-memory"
PLACE = CONTRACT + "/namespaces/support/profiles/alice"
NATIVE = "/v1/namespaces/support/profiles/al%20ice%2F1"


@dataclass
class Service:
    """A running server, and what a test may ask of it."""

    base: str
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=120))
    tokens: dict[str, str] = field(default_factory=dict)
    credentials: dict[str, Credential] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)

    def ask(self, method: str, path: str, token: str | None = "admin", **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["authorization"] = f"Bearer {self.tokens.get(token, token)}"
        with self.client.stream(method, self.base + path, headers=headers, **more) as answer:
            if answer.headers.get("content-type") != "text/event-stream; charset=utf-8":  # that one never ends
                answer.read()
            return answer


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ready, stopped, made = threading.Event(), threading.Event(), Service("")
    thread = threading.Thread(target=lambda: asyncio.run(_run(tmp_path_factory.mktemp("data"), made, ready, stopped)))
    thread.start()
    assert ready.wait(120)
    yield made
    made.client.close()
    stopped.set()
    thread.join(120)
    assert not thread.is_alive()


async def _run(folder: Path, service: Service, ready: threading.Event, stopped: threading.Event) -> None:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        await _issue(holdfast, service)
        app = app_of(holdfast)
        service.routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off", timeout_keep_alive=600))
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(0.01)
        service.base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        ready.set()
        await asyncio.to_thread(stopped.wait)
        server.should_exit = True
        await serving


async def _issue(holdfast: AsyncHoldfast, service: Service) -> None:
    for name in ("support", "other"):
        await holdfast.create_namespace(name)
        await holdfast.profile(name, "alice").remember("Prefers window seats", key="seat")
    everything = ["read", "write", "forget"]
    places: dict[str, tuple[str, list[str], str | None, str | None]] = {
        "reader": ("key", ["read"], None, None),
        "support admin": ("key", ["admin"], "support", None),
        "support writer": ("key", ["write"], "support", None),
        "support reader": ("key", ["read"], "support", None),
        "support forgetter": ("key", ["forget"], "support", None),
        "other": ("key", everything, "other", None),
        "alice": ("key", everything, "support", "alice"),
        "url": ("url", everything, "support", "alice"),
        "revoked": ("key", everything, None, None),
        "expired": ("key", everything, None, None),
    }
    service.tokens["admin"] = await holdfast.access.admin() or ""
    for name, (kind, rights, namespace, profile) in places.items():
        issue = issue_expired if name == "expired" else Access.issue
        made, token = await issue(holdfast.access, kind, name, rights, namespace=namespace, profile=profile)
        service.tokens[name], service.credentials[name] = token, made
    await holdfast.access.revoke(service.credentials["revoked"].id)


def test_the_contract_from_first_to_last(service: Service) -> None:
    made = service.ask("POST", CONTRACT + "/namespaces", json={"name": "brief"})
    assert made.status_code == 201
    assert made.json()["success"] is True
    space = made.json()["result"]
    assert set(space) == {"id", "name", "created_at", "updated_at"}
    assert service.ask("GET", f"{CONTRACT}/namespaces/{space['id']}").json()["result"] == space
    place = CONTRACT + "/namespaces/brief/profiles/bob"
    said = {"messages": [{"role": "user", "content": "I live in Porto."}], "sessionId": "chat:1/2"}
    assert service.ask("POST", place + "/ingest", json=said).json()["result"] is None
    kept = service.ask("POST", place + "/remember", json={"content": "Remind me to call mum tomorrow"})
    assert (kept.status_code, kept.json()["result"]["type"]) == (201, "task")
    assert service.ask("POST", "/v1/namespaces/brief/profiles/bob/settle?timeout=60").json() == {"settled": True}
    found = service.ask("POST", place + "/recall", json={"query": "Where do I live?"}).json()["result"]
    assert found["answer"] == "The user lives in Porto."
    assert set(found["candidates"][0]) == {"id", "summary", "sessionId", "score"}
    listed = service.ask("GET", place + "/memories?perPage=1").json()
    assert (len(listed["result"]), listed["result_info"]["per_page"]) == (1, 1)
    assert "content" not in listed["result"][0]
    rest = service.ask("GET", f"{place}/memories?per_page=1&cursor={listed['result_info']['cursor']}").json()
    assert rest["result_info"]["cursor"] == ""
    id = kept.json()["result"]["id"]
    assert service.ask("GET", f"{place}/memories/{id}").json()["result"] == kept.json()["result"]
    gone = service.ask("DELETE", f"{place}/memories/{id}", headers={"content-type": "application/json"})
    assert gone.json()["result"]["id"] == id
    assert service.ask("GET", f"{place}/memories/{id}").status_code == 404
    assert "Porto" in service.ask("POST", place + "/summary", json={}).json()["result"]["summary"]
    assert service.ask("GET", place + "/summary").status_code == 404
    for _ in range(2):
        assert service.ask("DELETE", place + "/sessions/chat%3A1%2F2").status_code == 200
    assert service.ask("GET", place + "/memories").json()["result"] == []
    assert service.ask("DELETE", place).json()["result"] is None
    assert service.ask("DELETE", CONTRACT + "/namespaces/brief").status_code == 200
    assert service.ask("POST", CONTRACT + "/namespaces", json={"name": "brief"}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "pointer"),
    [
        ("POST", "/namespaces", {"name": "support"}, 409, 10008, "/name"),
        ("POST", "/namespaces", {"name": "No Name"}, 400, 10001, "/name"),
        ("POST", "/namespaces", {}, 400, 10001, "/name"),
        ("GET", "/namespaces/nowhere", None, 404, 1003, "/namespace"),
        ("POST", "/namespaces/nowhere/profiles/a/ingest", {"messages": [{"role": "user", "content": "x"}]}, 404, 1003,
         "/namespace"),
        ("POST", "/namespaces/support/profiles/Not-OK/remember", {"content": "x"}, 400, 10001, "/profile"),
        ("POST", "/namespaces/support/profiles/alice/recall", {"query": "é" * 600}, 400, 10001, "/query"),
        ("POST", "/namespaces/support/profiles/alice/recall", {"query": 5}, 400, 10001, "/query"),
        ("POST", "/namespaces/support/profiles/alice/ingest", {"messages": []}, 400, 10001, "/messages"),
        ("POST", "/namespaces/support/profiles/alice/ingest", {"messages": [{"role": "tool", "content": "x"}]}, 400,
         10001, "/messages/0/role"),
        ("GET", "/namespaces/support/profiles/alice/memories?per_page=1001", None, 400, 10001, "/per_page"),
        ("GET", "/namespaces/support/profiles/alice/memories/nothing", None, 404, 10007, "/id"),
        ("POST", "/namespaces/support/profiles/nobody/recall", {"query": "x"}, 404, 10007, "/profile"),
        ("POST", "/namespaces/support/profiles/nobody/summary", {}, 404, 10007, "/profile"),
        ("GET", "/namespaces/support/profiles/nobody/memories", None, 404, 10007, "/profile"),
        ("GET", "/namespaces/nowhere/profiles/nobody/memories", None, 404, 1003, "/namespace"),
        ("POST", "/namespaces/nowhere/profiles/nobody/recall", {"query": "x"}, 404, 1003, "/namespace"),
        ("GET", "/nothing", None, 404, 10003, None),
    ],
)  # fmt: skip
def test_the_contracts_errors(
    service: Service, method: str, path: str, body: Any, status: int, code: int, pointer: str | None
) -> None:
    wrong = service.ask(method, CONTRACT + path, json=body)
    assert wrong.status_code == status
    told = wrong.json()
    assert (told["result"], told["success"]) == (None, False)
    assert told["errors"][0]["code"] == code
    assert told["errors"][0].get("source", {}).get("pointer") == pointer
    assert (wrong.headers.get("x-should-retry") == "false") == (status == 409)


def test_the_native_api_knows_every_verb(service: Service) -> None:
    talk = [{"role": "user", "speaker": "Ana", "content": "I live in Porto and I'm allergic to nuts."}]
    receipt = service.ask("POST", NATIVE + "/ingest", json={"messages": talk, "session_id": "s", "wait": True}).json()
    assert [message["new"] for message in receipt["messages"]] == [True]
    assert {memory["key"] for memory in receipt["memories"]} >= {"ana.home-city"}
    first = service.ask("POST", NATIVE + "/remember", json={"content": "Tea at four", "key": "tea"}).json()
    second = service.ask("POST", NATIVE + "/remember", json={"content": "Tea at five", "key": "tea"}).json()
    versions = service.ask("GET", f"{NATIVE}/memories/{second['id']}/history").json()["versions"]
    assert [version["id"] for version in versions] == [second["id"], first["id"]]
    hits = service.ask("POST", NATIVE + "/search", json={"query": "tea", "kind": "fact", "limit": 1}).json()["hits"]
    assert [hit["content"] for hit in hits] == ["Tea at five"]
    assert hits[0]["channels"]
    assert service.ask("POST", NATIVE + "/recall", json={"query": "Where does Ana live?"}).json()["citations"]
    assert "Porto" in service.ask("POST", NATIVE + "/context", json={"query": "Where does Ana live?"}).json()["text"]
    assert len(service.ask("GET", NATIVE + "/messages?session_id=s").json()["messages"]) == 1
    assert service.ask("GET", NATIVE + "/stats").json()["messages"] == 1
    assert service.ask("GET", NATIVE + "/summary").json()["summary"]
    gone = service.ask("DELETE", NATIVE + "/sessions/s").json()
    assert len(gone["messages"]) == 1
    assert [p["name"] for p in service.ask("GET", "/v1/namespaces/support/profiles").json()["profiles"]] == [
        "al ice/1",
        "alice",
    ]
    wrong = service.ask("POST", NATIVE + "/search", json={"query": "x", "colour": "red"})
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "colour")


def test_a_secret_url_opens_one_profile_and_ends_at_once(service: Service) -> None:
    issue = {"kind": "url", "name": "phone", "namespace": "other", "profile": "carol"}
    made = service.ask("POST", "/v1/credentials", json=issue).json()
    path = f"/s/{made['token']}/api"
    kept = service.ask("POST", path + "/memory", token=None, json={"content": "I prefer window seats"})
    assert kept.status_code == 201
    results = service.ask("GET", path + "/search?q=seats", token=None).json()["results"]
    assert [result["content"] for result in results] == ["I prefer window seats"]
    assert service.ask("DELETE", f"{path}/memory/{kept.json()['id']}", token=None).status_code == 200
    assert service.ask("GET", "/v1/namespaces/other/profiles/carol/stats", made["token"]).status_code == 401
    rotated = service.ask("POST", f"/v1/credentials/{made['credential']['id']}/rotate").json()
    ended = service.ask("GET", path + "/search?q=seats", token=None)
    unknown = service.ask("GET", "/s/hf_nothing/api/search?q=seats", token=None)
    assert (ended.status_code, ended.json()) == (404, unknown.json())
    assert service.ask("GET", f"/s/{rotated['token']}/api/search?q=seats", token=None).status_code == 200
    shown = service.ask("GET", "/v1/credentials").text
    assert made["token"] not in shown
    assert rotated["token"] not in shown


def test_a_profile_key_serves_the_memory_api_as_a_bearer(service: Service) -> None:
    assert service.ask("GET", "/api/search?q=seats", "alice").status_code == 200
    assert service.ask("GET", "/api/search?q=seats", "reader").status_code == 400
    assert service.ask("GET", "/api/search?q=seats", token=None).status_code == 401


def test_answers_are_not_cached_framed_or_sniffed(service: Service) -> None:
    headers = service.ask("GET", "/v1/namespaces").headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


def test_every_route_lets_in_whom_the_policy_lets_in_and_nobody_else(service: Service) -> None:
    """Each route × each credential against one table: the route's right, and the credential's scope."""
    checked = 0
    for route in service.routes:
        depends = route.dependant.dependencies if isinstance(route, APIRoute) else []
        asked = [route.endpoint, *(each.call for each in depends)]
        need = next(call.need for call in asked if hasattr(call, "need"))
        for name in (*service.tokens, None, "garbage"):
            for method in (route.methods or set()) - {"HEAD"}:
                expected = _expected(service, route.path, () if need.among else need.rights, name)
                if method == "DELETE" and route.path.endswith(("{namespace}", "{profile}")) and expected == "past":
                    continue  # it would take the others' place away; the contract's test does it
                path = route.path.format_map(_Filled(service.tokens.get(name or "", "hf_none")))
                token = None if "{secret}" in route.path else name
                got = service.ask(method, path.replace(":path", ""), token, content=b"{")
                assert (got.status_code if got.status_code in (401, 403) else _hidden(got)) == expected, (
                    f"{method} {route.path} as {name}: {got.status_code} {got.text[:200]}"
                )
                checked += 1
    assert checked > 300


class _Filled(dict[str, str]):
    """Path parameters: support's alice; an id that exists nowhere."""

    def __init__(self, secret: str) -> None:
        super().__init__(account="x", namespace="support", profile="alice", id="nothing", secret=secret)

    def __missing__(self, name: str) -> str:
        return "nothing"


def _expected(service: Service, path: str, rights: tuple[str, ...], name: str | None) -> Any:
    credential = service.credentials.get(name or "")
    valid = name == "admin" or (credential is not None and name not in ("revoked", "expired"))
    if "{secret}" in path:
        return "past" if valid and name == "url" else "hidden"
    if not valid or name == "url":
        return 401
    if credential is None:
        return "past"
    bound = path.startswith(("/api", "/mcp"))
    namespace = credential.namespace if bound else ("support" if "{namespace}" in path else None)
    profile = credential.profile if bound else ("alice" if "{profile}" in path else None)
    return "past" if all(credential.allows(right, namespace, profile) for right in rights) else 403


def _hidden(got: httpx.Response) -> str:
    return "hidden" if got.status_code == 404 and "nothing here" in got.text else "past"


def test_numbers_of_any_size_come_back(service: Service) -> None:
    body = b'{"content": "big", "metadata": {"n": 3747014684801157300224}}'
    kept = service.ask("POST", NATIVE + "/remember", content=body, headers={"content-type": "application/json"})
    forgotten = service.ask("POST", NATIVE + "/remember", content=body)
    assert (forgotten.status_code, "application/json" in forgotten.text) == (400, True)
    assert (kept.status_code, kept.json()["metadata"]["n"]) == (201, 3747014684801157300224)


def test_numbers_of_any_size_come_back_in_a_stream(service: Service) -> None:
    number = 3747014684801157300224
    body = b'{"content": "The vault code word is osprey", "metadata": {"n": %d}}' % number
    service.ask("POST", NATIVE + "/remember", content=body, headers={"content-type": "application/json"})
    asked = {"query": "What is the vault code word?"}
    admin = {"authorization": f"Bearer {service.tokens['admin']}"}
    answer = service.client.post(f"{service.base}{NATIVE}/recall/stream", json=asked, headers=admin)
    assert answer.status_code == 200
    (told,) = re.findall(r"^event: answer\ndata: (.+)$", answer.text, re.M)
    assert number in [hit["metadata"].get("n") for hit in json.loads(told)["answer"]["hits"]]


def test_a_body_that_is_no_json_is_told_where(service: Service) -> None:
    wrong = service.ask(
        "POST", NATIVE + "/remember", content=b'{"content": "x"', headers={"content-type": "application/json"}
    )
    assert wrong.status_code == 400
    assert "not valid JSON, at character 15" in wrong.json()["error"]["message"]


async def test_a_taken_port_is_refused_before_any_token_is_made(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
            with pytest.raises(Busy, match=r"Cannot listen.*HOLDFAST_PORT"):
                await serve(holdfast, Settings(port=taken.getsockname()[1]), print, print)
            assert await holdfast.access.list_all() == []
