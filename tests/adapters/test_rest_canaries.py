"""What comes back: every route × every set of rights, searched for texts that those rights may not see.

Each set of rights gets a profile of its own, full of canary words that no request contains. Whatever the service
answers (bodies, headers, errors, dry runs), a caller without the right to read is shown none of them, and an agent that
reads only its own writing none of another agent's.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from fastapi.routing import APIRoute

from holdfast import AsyncHoldfast
from holdfast.api.mcp.tools import TOOLS
from holdfast.api.rest.app import ROUTERS
from holdfast.api.rest.routes.memories import IN, OF
from holdfast.domain.arguments import DocumentSource
from holdfast.testing import HashingEmbedder
from support.http_server import http_server
from support.mcp_clients import modern_request

CANARY = re.compile(r"canary[0-9a-f]{12}", re.I)
RIGHTS = [rights for many in (1, 2, 3) for rights in combinations(("read", "write", "forget"), many)]
STREAMS = {OF + "/events", "/s/{secret}/events", "/sse/{secret}", "/sse/{secret}/messages", "/s/{secret}/mcp", "/mcp"}
"""Event streams never end (test_rest listens to them); MCP is asked by its tools below."""
KEYED = "/v1/agents/{namespace}/entities/{profile}"
CONTRACT = "/client/v4/accounts/{account}/agent-memory/namespaces/{namespace}/profiles/{profile}"
TEXT = "The user keeps bees"


def canary() -> str:
    return f"canary{secrets.token_hex(6)}"


@dataclass
class Known:
    """Ids of what the profile holds; they are no secret, their texts are."""

    memory: str
    keyed: str
    message: str
    document: str
    job: str
    trace: str
    change: str
    edit: str
    archive: bytes
    words: set[str] = field(default_factory=set)


class Words:
    """Makes canaries and keeps them."""

    def __init__(self) -> None:
        self.made: set[str] = set()

    def __str__(self) -> str:
        word = canary()
        self.made.add(word)
        return word


async def filled(holdfast: AsyncHoldfast, name: str, agent: str | None) -> Known:
    """A profile with something in every place that can hold a text, all of it written by this agent."""
    word = Words()
    owner = holdfast.profile("app", name)
    mine: Any = owner if agent is None else owner.as_agent(agent)
    said = {"role": "user", "content": f"My sister Marta lives in {word}.", "metadata": {"mark": str(word)}}
    receipt = await mine.ingest([said], session_id="talk")
    about = {"metadata": {"mark": str(word)}, "session_id": "talk", "value": {"code": str(word)}}
    keyed = await mine.remember(f"The locker code is {word}", key="locker", **about)
    plain = await mine.remember(f"The bicycle is called {word}", **about)
    await mine.remember(TEXT, kind="fact", session_id=str(word), occurred_at="2020-05-05")  # what a writer may repeat
    await mine.remember(f"Opened with {word}", kind="note", key="file:/workspace/locker", metadata={"mark": str(word)})
    document = await mine.add(
        DocumentSource(data=b"Bees sleep at night."), name=str(word), metadata={"mark": str(word)}
    )
    await mine.settle()
    if agent is None:
        await owner.set_retention({"ttl": {str(word): "30d"}})
        await owner.merge_entities("user", ["locker"], name=str(word))
    doubted = await mine.remember(f"Perhaps the code is {word}", metadata={"mark": str(word)})
    edited = await mine.mark(doubted.id, right=False)
    await mine.search(str(word))
    trace = next(iter(await mine.traces(limit=1)))
    changes = await owner.entity_changes()
    archive = b"".join([line async for line in owner.exported()])
    archive = CANARY.sub("brought", archive.decode()).encode()  # a caller brings none of the canaries
    return Known(
        plain.id, keyed.id, receipt.messages[0].id, document.id, receipt.job or "none", trace.id,
        changes[0].id if changes else "none", edited.undo or "none", archive, word.made,
    )  # fmt: skip


def requests(method: str, path: str, known: Known) -> Iterator[dict[str, Any]]:
    """The requests that are made of a route, with `id` as its path parameter where it has one."""
    ids = {"id": known.memory} if "/memories/" in path or "/memory/" in path else {"id": known.document}
    ids = {"id": known.job} if "/jobs/" in path else {"id": known.trace} if "/traces/" in path else ids
    every = {"filter": {"kind": {"exists": True}}}
    bodies: dict[str, list[Any]] = {
        OF + "/ingest": [
            {"messages": [{"role": "user", "content": "She moved to Oslo."}], "session_id": "talk", "wait": wait}
            for wait in (False, True)
        ],
        CONTRACT + "/ingest": [{"messages": [{"role": "user", "content": "She is glad."}], "sessionId": "talk"}],
        OF + "/remember": [{"content": TEXT}, {"content": "new", "key": "locker"}, {"content": TEXT, "kind": "bad/"}],
        CONTRACT + "/remember": [{"content": TEXT}],
        OF + "/memories/{id}": [{"metadata": {"seen": True}}, {"kind": "event"}],
        OF + "/memories/merge": [{"ids": [known.memory, known.keyed]}],
        OF + "/memories/revise": [{"change": {"pinned": True}, "dry_run": dry, **every} for dry in (True, False)],
        OF + "/memories/{id}/split": [{"into": ["one", "two"]}],
        OF + "/memories/{id}/mark": [{"right": True}],
        OF + "/review/{id}": [{"answer": "keep"}],
        OF + "/undo": [{"dry_run": True}, {"id": known.edit}, {}],
        OF + "/audit": [{"fix": "junk", "dry_run": True}, {"fix": "duplicates"}],
        OF + "/entities/merge": [{"into": "user", "others": ["Marta"]}],
        OF + "/entities/split": [{"entity": "Marta", "name": "Another", "memories": [known.memory]}],
        OF + "/entities/undo": [{"id": known.change}, {}],
        OF + "/forget": [{"dry_run": True, **every}, {"person": "Marta", "dry_run": True}, {"source": known.message}],
        OF + "/redigest": [{"dry_run": True}],
        OF + "/retention": [{"rules": {"ttl": {"event": "30d"}}}],
        OF + "/retention/apply": [{"dry_run": True}, {}],
        OF + "/summaries": [{"cadence": "daily at 03:00"}],
        OF + "/documents": [{"text": "Bees sleep at night."}, {"text": "Bees sleep at night.", "name": "mine"}],
        OF + "/notes": [{"path": "locker", "text": "Another note"}],
        OF + "/notes/move": [{"old": "locker", "new": "cellar"}],
        KEYED + "/items": [{"kind": "fact", "key": "locker", "value": 1}],
        **{f"{root}{verb}": [{"query": "locker", "profiles": ["home"]}] for root in (IN,) for verb in ASKING},
        **{f"{OF}{verb}": [{"query": "locker"}] for verb in (*ASKING, "/notes/search")},
        KEYED + "/search": [{"query": "locker"}],
        CONTRACT + "/recall": [{"query": "locker"}],
    }
    for prefix in ("/s/{secret}", ""):
        bodies[prefix + "/api/memory"] = [{"content": TEXT}]
        bodies[prefix + "/mcp/tools/add_memory"] = [{"content": TEXT}]
        bodies[prefix + "/mcp/tools/search_memory"] = [{"query": "locker"}]
        bodies[prefix + "/mcp/prompts/remember_context"] = [{"topic": "locker"}]
    if path == OF + "/import":
        for more in ("", "?force=true&dry_run=true", "?force=true&replace=true"):
            yield {"ids": ids, "query": more, "content": known.archive}
    elif method in ("POST", "PUT", "PATCH"):
        for body in bodies.get(path, [{}]):
            yield {"ids": ids, "json": body}
    else:
        named = {"entity": "user", "start": "user", "end": "Marta", "path": "locker", "q": "locker", "dry_run": "true"}
        yield {"ids": ids, "named": named}
        yield {"ids": ids, "headers": {"if-match": '"nothing"', "if-none-match": "*"}, "named": named}


ASKING = ("/search", "/recall", "/recall/stream", "/context")


@dataclass
class Site:
    url: str
    holdfast: AsyncHoldfast
    client: httpx.AsyncClient

    async def shown(self, tokens: dict[str, str], route: APIRoute, known: Known) -> list[str]:
        """Everything that a caller with these tokens is answered by a route."""
        answers = []
        for method in route.methods - {"HEAD"}:
            for sent in requests(method, route.path, known):
                filled_in = {"namespace": "app", "profile": "home", "account": "a", "kind": "fact", "key": "locker",
                             "session_id": "talk", "secret": tokens["url"], **sent["ids"]}  # fmt: skip
                path = route.path.replace(":path", "").format_map(filled_in) + sent.get("query", "")
                takes = {each.alias for each in route.dependant.query_params}
                params = {name: value for name, value in sent.get("named", {}).items() if name in takes}
                more = {name: sent[name] for name in ("json", "content") if name in sent}
                headers = {"authorization": f"Bearer {tokens['key']}", **sent.get("headers", {})}
                answer = await self.client.request(method, self.url + path, params=params, headers=headers, **more)
                assert answer.status_code < 500, f"{method} {path}: {answer.text}"
                answers.append(f"{answer.status_code} {dict(answer.headers)} {answer.text}")
        return answers


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with (
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast,
        http_server(holdfast) as url,
        httpx.AsyncClient(timeout=120) as client,
    ):
        yield Site(url, holdfast, client)


async def issued(site: Site, rights: tuple[str, ...], **more: Any) -> dict[str, str]:
    place = {"namespace": "app", "profile": "home"}
    return {kind: (await site.holdfast.access.issue(kind, kind, rights, **place, **more))[1] for kind in ("key", "url")}


def routes() -> list[APIRoute]:
    """All routes; those that destroy most come last."""
    found = [each for router in ROUTERS for each in router.routes if isinstance(each, APIRoute)]
    found = [route for route in found if route.path not in STREAMS]
    return sorted(found, key=lambda route: ("DELETE" in route.methods, route.path.endswith(("/forget", "/apply"))))


@pytest.mark.parametrize("rights", RIGHTS, ids="+".join)
async def test_an_answer_shows_no_more_than_the_right_to_read_allows(site: Site, rights: tuple[str, ...]) -> None:
    known = await filled(site.holdfast, "home", None)
    tokens = await issued(site, rights)
    showing = set()
    for route in routes():
        for answer in await site.shown(tokens, route, known):
            seen = known.words & set(CANARY.findall(answer))
            assert "read" in rights or not seen, f"{route.methods} {route.path} with {rights}: {answer}"
            showing |= {route.path} if seen else set()
    assert len(showing) > 30 or "read" not in rights, showing


@pytest.mark.parametrize("rights", [("read", "write", "forget"), ("write", "forget")], ids="+".join)
async def test_an_answer_shows_an_agent_nothing_of_another_agent(site: Site, rights: tuple[str, ...]) -> None:
    known = await filled(site.holdfast, "home", "sales")
    tokens = await issued(site, rights, agent="support", reads="own")
    for route in routes():
        for answer in await site.shown(tokens, route, known):
            assert not known.words & set(CANARY.findall(answer)), f"{route.methods} {route.path}: {answer}"
    left = await site.holdfast.profile("app", "home").list(limit=100)
    assert known.memory in {memory.id for memory in left.items}, "it erased what it does not see"


async def test_counts_are_those_of_what_an_agent_sees(site: Site) -> None:
    await filled(site.holdfast, "home", "sales")
    tokens = await issued(site, ("read",), agent="support", reads="own")
    place, headers = f"{site.url}/v1/namespaces/app/profiles/home", {"authorization": f"Bearer {tokens['key']}"}
    stats = (await site.client.get(f"{place}/stats", headers=headers)).json()
    assert {name: value for name, value in stats.items() if value} == {}
    for what in ("usage", "sessions", "jobs", "entities", "documents", "review", "edits"):
        found = (await site.client.get(f"{place}/{what}", headers=headers)).json()
        assert found[what] == [], what


@pytest.mark.parametrize("rights", RIGHTS, ids="+".join)
async def test_a_tool_of_mcp_shows_no_more_than_the_right_to_read_allows(site: Site, rights: tuple[str, ...]) -> None:
    known = await filled(site.holdfast, "home", None)
    url = f"{site.url}/s/{(await issued(site, rights))['url']}/mcp"
    given: dict[str, dict[str, Any]] = {
        "recall": {"query": "locker"}, "search": {"query": "locker"}, "fetch": {"id": known.memory},
        "get_context": {"query": "locker"}, "list_memories": {}, "about": {"name": "me"},
        "remember": {"content": TEXT}, "correct": {"id": known.memory, "content": "Another"},
        "ingest": {"messages": [{"role": "user", "content": "She moved."}], "session_id": "talk"},
        "enter_directory": {"path": "/workspace"}, "write_note": {"path": "locker", "text": "Another"},
        "forget": {"id": known.keyed},
    }  # fmt: skip
    assert set(given) == {tool.name for tool in TOOLS}
    showing = set()
    for method, params in [
        *(("tools/call", {"name": name, "arguments": arguments}) for name, arguments in given.items()),
        ("tools/list", {}), ("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {}),
        ("resources/read", {"uri": "holdfast://app/home/summary"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "remember_context"},
                                 "argument": {"name": "topic", "value": "c"}}),
    ]:  # fmt: skip
        body, headers = modern_request(method, params)
        answer = (await site.client.post(url, json=body, headers=headers)).text
        seen = known.words & set(CANARY.findall(answer))
        assert "read" in rights or not seen, f"{method} {params} with {rights}: {answer}"
        showing |= {json.dumps(params)} if seen else set()
    assert len(showing) >= 4 or "read" not in rights, showing
