"""Many profiles, each full of words that exist nowhere else: no credential is ever told another profile's."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute

from holdfast.api.rest.app import ROUTERS
from holdfast.api.rest.routes import cloudflare_agent_memory, key_value, memories
from support.server_process import ADMIN_TOKEN, ServerProcess

NAMESPACES = ("north", "south", "west")
CONTRACT = cloudflare_agent_memory.OF.replace("{account}", "any")
NATIVE = memories.OF
KEYED = key_value.OF
ROOTS = {CONTRACT: cloudflare_agent_memory.OF, NATIVE: memories.OF, KEYED: key_value.OF}
PLACES = ("profile", "content", "message", "session", "metadata", "key", "document")
TELLS_NO_WORDS = {
    memories.OF + path
    for path in ("/stats", "/usage", "/retention", "/settle", "/jobs", "/jobs/{id}", "/edits", "/audit")
}
STREAMS = {memories.OF + "/events", "/s/{secret}/events"}  # test_rest listens to them
FEW = 8
CANARY = re.compile(r"canary[0-9a-f]{24}")


@dataclass
class Owner:
    """A profile, what is in it, and the two credentials that open it."""

    namespace: str
    words: dict[str, str] = field(default_factory=lambda: {place: f"canary{secrets.token_hex(12)}" for place in PLACES})
    ids: list[str] = field(default_factory=list)
    job: str = ""
    trace: str = ""
    document: str = "nothing"
    key: str = ""
    url: str = ""

    def at(self, root: str) -> str:
        return root.format(namespace=self.namespace, profile=self.words["profile"])

    def owns(self, text: str) -> bool:
        return set(CANARY.findall(text)) <= set(self.words.values())


class Call(NamedTuple):
    route: str
    """Its path as the server declares it."""
    method: str
    path: str
    more: dict[str, Any]


def settled_in(server: ServerProcess, namespace: str, *, reads: bool) -> Owner:
    """Write everything that this profile holds, with a document if it `reads`."""
    owner = Owner(namespace)
    words, place = owner.words, owner.at(NATIVE)
    said = {
        "role": "user",
        "content": f"My locker word is {words['message']}.",
        "metadata": {"mark": words["metadata"]},
    }
    told = server.call_json("POST", place + "/ingest", json={"messages": [said], "session_id": words["session"]})
    note = {"content": f"The locker code is {words['content']}", "key": words["key"], "session_id": words["session"]}
    kept = server.call_json("POST", place + "/remember", json=note | {"metadata": {"mark": words["metadata"]}})
    server.call_json(
        "POST", place + "/remember", json={"content": f"The user's sister Marta works at `{words['content']}`."}
    )
    server.call_json("POST", place + "/entities/merge", json={"into": words["content"], "others": ["Lockers"]})
    server.call_json("PUT", place + "/notes", json={"path": "locker", "text": f"Opened with {words['message']}"})
    doubted = server.call_json("POST", place + "/remember", json={"content": f"It may be {words['content']}"})
    server.call_json("POST", f"{place}/memories/{doubted['id']}/mark", json={"right": False})  # it waits for a review
    server.call_json("PUT", place + "/kinds/locker", json={"schema": {"title": words["metadata"]}})
    if reads:
        text = {"text": f"The locker key is {words['document']}.", "name": words["document"]}
        owner.document = server.call_json("POST", place + "/documents", json=text)["id"]
    server.call_json("POST", place + "/search", json={"query": words["message"]})
    traces = server.call_json("GET", place + "/traces")["traces"]  # the last one may be a digestion's
    owner.trace = next(trace["id"] for trace in traces if trace["operation"] == "search")
    owner.ids, owner.job = [kept["id"], told["messages"][0]["id"]], told["job"]
    for kind in ("key", "url"):
        wish = {"kind": kind, "name": kind, "namespace": namespace, "profile": words["profile"]}
        setattr(owner, kind, server.call_json("POST", "/v1/credentials", json=wish)["token"])
    return owner


def narrowings(about: Owner, asker: Owner) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"key": about.words["key"]}
    yield {"key_prefix": "canary"}
    yield {"session_id": about.words["session"]}
    yield {"filter": {"metadata.mark": about.words["metadata"]}}
    yield {"filter": {"not": {"metadata.mark": asker.words["metadata"]}}}
    yield {"filter": {"or": [{"kind": "message"}, {"kind": "fact"}]}, "since": "2000-01-01", "until": "2100-01-01"}


def queries(about: Owner) -> Iterator[str]:
    yield "What is the locker word?"
    yield from (about.words[place] for place in PLACES)
    yield f"locker code {about.words['content']} {about.words['session']}"


def profile_calls(target: Owner, about: Owner, asker: Owner) -> Iterator[Call]:
    """Every read route of `target`'s path, with every kind of question about `about`."""

    def call(root: str, rest: str, method: str, suffix: str = "", **more: Any) -> Call:
        return Call(ROOTS[root] + rest, method, target.at(root) + (suffix or rest), more)

    for query in queries(about):
        yield call(CONTRACT, "/recall", "POST", json={"query": query, "thinkingLevel": "high"})
        for verb in ("/search", "/recall", "/recall/stream", "/context"):
            yield call(NATIVE, verb, "POST", json={"query": query})
    for narrowed in narrowings(about, asker):
        yield call(NATIVE, "/memories/list", "POST", json={"limit": 1000, **narrowed})
        yield call(NATIVE, "/memories/facets", "POST", json={"by": ["key", "tag", "person"], **narrowed})
        for verb in ("/search", "/recall", "/context"):
            yield call(NATIVE, verb, "POST", json={"query": "locker", **narrowed})
    for id in about.ids:
        yield call(CONTRACT, "/memories/{id}", "GET", f"/memories/{id}")
        yield call(NATIVE, "/memories/{id}", "GET", f"/memories/{id}")
        yield call(NATIVE, "/memories/{id}/history", "GET", f"/memories/{id}/history")
    for session in (None, about.words["session"]):
        asked = {"session_id": session} if session else {}
        yield call(CONTRACT, "/memories", "GET", params={"per_page": 1000, **asked})
        yield call(CONTRACT, "/summary", "POST", json={"sessionId": session})
        yield call(NATIVE, "/messages", "GET", params=asked)
        yield call(NATIVE, "/summary", "GET", params=asked)
    for query in queries(about):
        named = {"query": query, "profiles": [target.words["profile"]]}
        for verb in ("/search", "/recall", "/recall/stream", "/context"):
            yield Call(
                memories.IN + verb, "POST", memories.IN.format(namespace=target.namespace) + verb, {"json": named}
            )
    yield call(KEYED, "/items/{kind}/{key}", "GET", f"/items/fact/{target.words['key']}")
    yield call(KEYED, "/items", "GET", params={"kind": "fact"})
    for query in queries(about):
        yield call(KEYED, "/search", "POST", json={"query": query, "kind": ["fact", "message"]})
    if about is asker or target is not asker:  # one's own traces tell what one asked about others
        yield call(NATIVE, "/traces/{id}", "GET", f"/traces/{about.trace}")
        yield call(NATIVE, "/traces/{id}/items", "GET", f"/traces/{about.trace}/items")
        yield call(NATIVE, "/traces", "GET")
    yield call(NATIVE, "/jobs/{id}", "GET", f"/jobs/{about.job}")
    yield call(NATIVE, "/jobs", "GET")
    yield call(NATIVE, "/sessions", "GET")
    yield call(NATIVE, "/export", "GET")
    yield call(CONTRACT, "/memories", "GET", params={"type": "fact"})
    yield call(NATIVE, "/notes", "GET")
    for suffix in ("read?path=locker", "entering?directory=", "history?path=locker"):
        yield call(NATIVE, f"/notes/{suffix.partition('?')[0]}", "GET", f"/notes/{suffix}")
    yield call(NATIVE, "/notes/search", "POST", json={"query": about.words["message"]})
    yield call(NATIVE, "/kinds", "GET")
    yield call(NATIVE, "/kinds/{kind}", "GET", "/kinds/locker")
    yield call(NATIVE, "/graph", "GET")
    for name in ("user", "locker", *(about.words[place].upper() for place in PLACES)):  # a refusal names what was asked
        yield call(NATIVE, "/graph", "GET", params={"entity": name})
        yield call(NATIVE, "/graph/path", "GET", params={"start": "user", "end": name})
        yield call(NATIVE, "/entities/about", "GET", params={"entity": name})
        yield call(NATIVE, "/entities", "GET", params={"query": name})
    yield call(NATIVE, "/entities/changes", "GET")
    yield call(NATIVE, "/documents", "GET")
    yield call(NATIVE, "/documents/{id}", "GET", f"/documents/{about.document}")
    yield call(NATIVE, "/documents/{id}/passages", "GET", f"/documents/{about.document}/passages")
    yield call(NATIVE, "/documents/{id}/original", "GET", f"/documents/{about.document}/original")
    yield call(NATIVE, "/stats", "GET")
    yield call(NATIVE, "/usage", "GET")
    yield call(NATIVE, "/retention", "GET")
    yield call(NATIVE, "/review", "GET", params={"limit": 1000})
    yield call(NATIVE, "/edits", "GET", params={"limit": 200})
    yield call(NATIVE, "/audit", "GET", params={"examples": 100})
    yield call(NATIVE, "/settle", "POST")


def placeless_calls(about: Owner) -> Iterator[Call]:
    """Every read route without a profile in its path."""
    for route in (
        cloudflare_agent_memory.ROOT + "/namespaces", cloudflare_agent_memory.IN,
        cloudflare_agent_memory.IN + "/profiles",
        "/v1/namespaces", memories.IN, memories.IN + "/profiles", "/v1/credentials",
    ):  # fmt: skip
        yield Call(route, "GET", route.format(account="any", namespace=about.namespace), {})


def secret_calls(prefix: str, route: str, about: Owner) -> Iterator[Call]:
    for query in queries(about):
        yield Call(route + "/search", "GET", f"{prefix}/search?q={quote(query)}", {})
    yield Call(route + "/search", "GET", f"{prefix}/search?q=locker&limit=100", {})
    yield Call(route + "/job/{id}/status", "GET", f"{prefix}/job/{about.document}/status", {})


def mcp_calls(prefix: str, route: str, about: Owner) -> Iterator[Call]:
    """What MCP offers as plain HTTP; the protocol itself is asked in test_mcp.py."""
    for query in queries(about):
        yield Call(route + "/tools/search_memory", "POST", prefix + "/tools/search_memory", {"json": {"query": query}})
        yield Call(
            route + "/prompts/remember_context",
            "POST",
            prefix + "/prompts/remember_context",
            {"json": {"topic": query}},
        )


@dataclass
class Asking:
    """What one owner asked and was told."""

    server: ServerProcess
    owner: Owner
    shown: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def ask(self, calls: Iterable[Call], token: str | None, *allowed: int) -> None:
        for call in calls:
            answer = self.server.ask(call.method, call.path, token, **call.more)
            told = f"{call} → {answer.status_code} {answer.text}"
            assert self.owner.owns(answer.text), f"{self.owner} was told {told}"
            assert answer.status_code in allowed, told
            self.shown[call.route] = self.shown.get(call.route, "") + answer.text
            self.count += 1


def asked_everything(server: ServerProcess, me: Owner, others: list[Owner]) -> Asking:
    asking = Asking(server, me)
    for about in (me, *others):
        asking.ask(profile_calls(me, about, me), me.key, 200, 404)
        asking.ask(secret_calls("/api", "/api", about), me.key, 200, 404)
        asking.ask(secret_calls(f"/s/{me.url}/api", "/s/{secret}/api", about), None, 200, 404)
        asking.ask(mcp_calls("/mcp", "/mcp", about), me.key, 200)
        asking.ask(mcp_calls(f"/s/{me.url}/mcp", "/s/{secret}/mcp", about), None, 200)
        asking.ask(placeless_calls(about), me.key, 403)
    for other in others:
        asking.ask(profile_calls(other, other, me), me.key, 403, 404)
        asking.ask(list(profile_calls(other, other, me))[::7], me.url, 401)
    asking.ask(list(profile_calls(me, me, me))[::7], me.url, 401)  # a secret URL's token is no bearer token
    asking.ask(list(profile_calls(me, me, me))[::7], None, 401)
    return asking


def made_owners(server: ServerProcess, count: int) -> list[Owner]:
    for name in NAMESPACES:
        server.call_json("POST", "/v1/namespaces", json={"name": name})
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda n: settled_in(server, NAMESPACES[n % len(NAMESPACES)], reads=n % 7 in (0, 3)), range(count))
        )
        list(pool.map(lambda owner: server.settle(owner.at(NATIVE)), made))
    return made


def askers_of(owners: list[Owner]) -> list[tuple[Owner, list[Owner]]]:
    """Who asks about whom: a neighbour in the same namespace and a stranger; of few, each about one of them."""
    if len(owners) == FEW:
        return [(owners[0], [owners[3]]), (owners[3], [owners[7]])]
    return [(owners[n], [owners[n + len(NAMESPACES)], owners[n + 7]]) for n in range(0, 35, 7)]


@pytest.mark.parametrize("count", [FEW, pytest.param(50, marks=pytest.mark.slow)])
def test_no_profile_ever_sees_anothers_canary(server: ServerProcess, count: int) -> None:
    """Owners at once ask every read route about themselves and about others."""
    owners = made_owners(server, count)
    everything = json.dumps([server.call_json("GET", owner.at(NATIVE) + "/messages", ADMIN_TOKEN) for owner in owners])
    assert {owner.words["message"] for owner in owners} <= set(CANARY.findall(everything))
    askers = askers_of(owners)
    with ThreadPoolExecutor(len(askers)) as pool:
        asked = list(pool.map(lambda each: asked_everything(server, *each), askers))
    for asking in asked:
        bearing = {route for route, text in asking.shown.items() if CANARY.search(text)}
        assert bearing == {route for route in asking.shown if leads_to_a_profile(route)} - TELLS_NO_WORDS
        told = "".join(asking.shown.values())
        assert {place for place in PLACES if asking.owner.words[place] in told} >= set(PLACES) - {"profile"}
        assert set(asking.shown) == read_routes()
    assert sum(asking.count for asking in asked) > 400 * len(askers)


def leads_to_a_profile(route: str) -> bool:
    several = route.startswith(memories.IN + "/") and not route.startswith(memories.IN + "/profiles")
    return "{profile}" in route or "/api" in route or "/mcp" in route or several


def read_routes() -> set[str]:
    """As the server declares them: whatever needs the right to read, and the list of credentials."""
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return {route.path for route in routes if rights_of(route) == ("read",)} - STREAMS | {"/v1/credentials"}


def rights_of(route: APIRoute) -> tuple[str, ...]:
    needs = [getattr(dependency.call, "need", None) for dependency in route.dependant.dependencies]
    return next(need.rights for need in needs if need is not None)
