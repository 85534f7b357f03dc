"""The service over real HTTP: events, traces, jobs, repeats, versions, limits, audit, metrics, keys and values."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import (
    AgentMemory,
    AsyncAgentMemory,
    AsyncHoldfast,
    Forbidden,
    Holdfast,
    InvalidInput,
    NotFound,
    TooMany,
    Unauthorised,
    Unreachable,
    acting,
)
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.api.rest.app import ServiceLimits
from holdfast.api.rest.request_body import MAX_BODY_BYTES
from holdfast.service.subscriptions import Subscriptions
from holdfast.testing import HashingEmbedder
from support.http_server import http_server

OF = "/v1/namespaces/app/profiles/alice"


@dataclass
class Site:
    holdfast: AsyncHoldfast
    url: str
    http: httpx.AsyncClient
    token: str

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return await self.http.request(method, path, **more)

    async def call_json(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.ask(method, path, **more)
        assert answer.is_success, answer.text
        return answer.json()

    async def key(self, *rights: str, kind: str = "key", profile: str = "alice") -> str:
        made = await self.call_json(
            "POST",
            "/v1/credentials",
            json={"kind": kind, "name": "k", "rights": [*rights], "namespace": "app", "profile": profile},
        )
        return str(made["token"])


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
        await holdfast.create_namespace("app")
        token = await holdfast.access.admin() or ""
        async with (
            http_server(holdfast, ServiceLimits("20/hour", ("https://app.example",))) as url,
            httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=120) as http,
        ):
            yield Site(holdfast, url, http, token)


async def next_events(
    site: Site, path: str, count: int, headers: dict[str, str] | None = None, listening: asyncio.Event | None = None
) -> list[dict[str, Any]]:
    """The next events of a stream, which sets `listening` once the server said that it listens."""
    found: list[dict[str, Any]] = []
    async with site.http.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for line in answer.aiter_lines():
            if line == ": listening" and listening is not None:
                listening.set()
            if line.startswith("data:"):
                found.append(json.loads(line[5:]))
            if len(found) == count:
                break
    return found


async def test_a_write_reaches_every_listener_of_its_profile_and_no_other(site: Site) -> None:
    secret = await site.key("read", kind="url")
    paths = (OF + "/events", f"/s/{secret}/events")
    listening = [asyncio.Event() for _ in range(7)]
    places = [path for path in paths for _ in range(3)]
    near = [
        asyncio.create_task(next_events(site, *each))
        for each in zip(places, [1] * 6, [None] * 6, listening[:6], strict=True)
    ]
    bob = "/v1/namespaces/app/profiles/bob/events"
    other = asyncio.create_task(next_events(site, bob, 1, listening=listening[-1]))
    await asyncio.gather(*(each.wait() for each in listening))
    kept = await site.call_json("POST", OF + "/remember", json={"content": "Prefers window seats"})
    events = await asyncio.wait_for(asyncio.gather(*near), 120)
    assert {event["id"] for (event,) in events} == {kept["id"]}
    assert not other.done()
    other.cancel()
    await site.call_json("POST", OF + "/remember", json={"content": "Hates loud trains"})
    last = events[0][0]["n"]
    for missed in (
        await next_events(site, OF + "/events", 1, {"last-event-id": str(last)}),
        await next_events(site, f"{OF}/events?after={last}", 1),
    ):
        assert (missed[0]["type"], missed[0]["n"]) == ("memory.added", last + 1)
    assert (await site.ask("GET", OF + "/events", headers={"last-event-id": "x"})).status_code == 400


async def test_a_stream_says_that_it_listens_once_nothing_is_missed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when finding the newest event takes long: what is written after the word is told."""
    reach, written = Subscriptions._reach, asyncio.Event()

    async def slowly(self: Subscriptions, who: tuple[str, str]) -> tuple[int, int]:
        with suppress(TimeoutError):  # if word was given before this, the write is made and would be missed
            await asyncio.wait_for(written.wait(), 0.5)
        return await reach(self, who)

    monkeypatch.setattr(Subscriptions, "_reach", slowly)
    async with site.http.stream("GET", OF + "/events") as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == ": listening"
        kept = await site.holdfast.profile("app", "alice").remember("Said at once")
        written.set()
        told = [line async for line in aslice(lines, 4)]
        assert kept.id in told[-1]


async def aslice(lines: AsyncIterator[str], count: int) -> AsyncIterator[str]:
    for _ in range(count):
        yield await asyncio.wait_for(anext(lines), 120)


async def test_a_stream_ends_when_its_credential_does(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.api.rest.routes.journal.HEARTBEAT_SECONDS", 0.05)
    secret = await site.key("read", kind="url")
    async with site.http.stream("GET", f"/s/{secret}/events") as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == ": listening"
        listed = await site.call_json("GET", "/v1/credentials")
        id = next(each["id"] for each in listed["credentials"] if each["kind"] == "url")
        await site.call_json("DELETE", f"/v1/credentials/{id}")
        async with asyncio.timeout(120):
            async for _ in lines:
                pass


async def test_a_turns_traces_tell_what_was_in_context_and_why(site: Site) -> None:
    kept = await site.call_json("POST", OF + "/remember", json={"content": "Prefers aisle seats"})
    about = {"holdfast-agent": "desk", "holdfast-session": "s%201", "holdfast-turn": "t1"}
    await site.call_json("POST", OF + "/context", json={"query": "seats"}, headers=about)
    found = await site.call_json("GET", OF + "/traces", params={"session": "s 1", "turn": "t1"})
    (trace,) = found["traces"]
    assert (trace["operation"], trace["caller"]["agent"]) == ("context", "desk")
    assert trace["details"]["packed"] == [kept["id"]]
    assert trace["details"]["searches"][0]["channels"]["words"] == [kept["id"]]
    admin = next(each for each in await site.holdfast.access.list_all() if each.kind == "admin")
    assert trace["caller"]["credential"] == admin.id
    assert await site.call_json("GET", f"{OF}/traces/{trace['id']}") == trace
    (item,) = (await site.call_json("GET", f"{OF}/traces/{trace['id']}/items"))["items"]
    assert (item["id"], item["content"]) == (kept["id"], kept["content"])


async def test_writes_may_be_repeated_with_a_key(site: Site) -> None:
    once = {"idempotency-key": "r1"}
    told = {"messages": [{"role": "user", "content": "I live in Porto."}]}
    receipts = [await site.call_json("POST", OF + "/ingest", json=told, headers=once) for _ in range(2)]
    assert receipts[0] == receipts[1]
    job = await site.call_json("GET", f"{OF}/jobs/{receipts[0]['job']}")
    assert job["state"] in ("waiting", "done")
    assert (await site.call_json("GET", OF + "/jobs"))["jobs"][0]["id"] == receipts[0]["job"]
    issue = {"name": "k", "namespace": "app"}
    tokens = [await site.call_json("POST", "/v1/credentials", json=issue, headers=once) for _ in range(2)]
    assert tokens[0] == tokens[1]
    assert (await site.ask("POST", "/v1/namespaces", json={"name": "x"}, headers=once)).status_code == 422
    other = await site.ask("POST", OF + "/remember", json={"content": "x"}, headers=once)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "key_reused")


async def test_a_memory_is_changed_only_as_it_was_seen(site: Site) -> None:
    made = await site.ask("POST", OF + "/remember", json={"content": "Porto", "key": "city"})
    id, etag = made.json()["id"], made.headers["etag"]
    same = await site.ask("GET", f"{OF}/memories/{id}", headers={"if-none-match": etag})
    assert (same.status_code, same.content) == (304, b"")
    newer = await site.ask("PATCH", f"{OF}/memories/{id}", json={"content": "Lisbon"}, headers={"if-match": etag})
    assert (newer.status_code, newer.json()["version"]) == (200, 2)
    for method in ("PATCH", "DELETE"):
        stale = await site.ask(method, f"{OF}/memories/{id}", json={"content": "Faro"}, headers={"if-match": etag})
        assert (stale.status_code, stale.json()["error"]["code"]) == (412, "stale")
    current = newer.json()["id"]
    gone = await site.ask("DELETE", f"{OF}/memories/{current}", headers={"if-match": newer.headers["etag"]})
    assert gone.status_code == 200


async def test_forgetting_by_filter_source_and_session_tells_first(site: Site) -> None:
    told = {"messages": [{"role": "user", "content": "I live in Porto."}], "session_id": "s", "wait": True}
    receipt = await site.call_json("POST", OF + "/ingest", json=told)
    await site.call_json("POST", OF + "/remember", json={"content": "x", "metadata": {"room": 4}})
    (source,) = [message["id"] for message in receipt["messages"]]
    for wish in ({"source": source}, {"session_id": "s"}, {"kind": "fact", "filter": {"trust": "user"}}):
        would = await site.call_json("POST", OF + "/forget", json={**wish, "dry_run": True})
        assert source in would["messages"]
    assert (await site.ask("POST", OF + "/forget", json={"dry_run": True})).status_code == 400
    room = await site.call_json("POST", OF + "/forget", json={"filter": {"metadata.room": 4}})
    assert (len(room["memories"]), room["messages"]) == (1, [])
    assert [session["id"] for session in (await site.call_json("GET", OF + "/sessions"))["sessions"]] == ["s"]


async def test_one_who_asks_too_much_is_told_when_to_come_back(site: Site) -> None:
    token = await site.key("read")
    await site.call_json("POST", OF + "/remember", json={"content": "x"})
    headers = {"authorization": f"Bearer {token}"}
    answers = [await site.ask("GET", OF + "/stats", headers=headers) for _ in range(30)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 10
    assert 0 < int(answers[-1].headers["retry-after"]) <= 3600
    assert (await site.ask("GET", OF + "/stats")).status_code == 200  # an admin may


async def test_only_listed_pages_may_call_from_a_browser(site: Site) -> None:
    for origin, allowed in (("https://app.example", "https://app.example"), ("https://evil.example", None)):
        answer = await site.ask("GET", "/v1/namespaces", headers={"origin": origin})
        assert answer.headers.get("access-control-allow-origin") == allowed


async def test_a_body_beyond_all_bounds_is_refused(site: Site) -> None:
    large = await site.ask("POST", OF + "/remember", json={"content": "x" * MAX_BODY_BYTES})
    assert (large.status_code, large.json()["error"]["message"].startswith("The body is larger")) == (413, True)


async def test_administration_is_audited_and_no_log_prints_a_secret(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast.access")
    secret = await site.key("read", kind="url")
    await site.ask("GET", f"/s/{secret}/api/search?q=hello")
    await site.ask("GET", f"/s/{secret}/wrong/path")
    acts = (await site.call_json("GET", "/v1/audit"))["acts"]
    assert [act["what"] for act in acts[:3]] == ["credential.issued", "credential.issued", "namespace.created"]
    assert acts[0]["credential"] == acts[1]["thing"]
    assert "GET /s/{secret}/api/search 200" in caplog.text
    assert secret not in caplog.text
    assert "hello" not in caplog.text


async def test_metrics_count_and_health_answers(site: Site) -> None:
    assert (await httpx.AsyncClient(base_url=site.url, timeout=120).get("/metrics")).status_code == 401
    await site.ask("GET", "/v1/namespaces")
    text = (await site.ask("GET", "/metrics")).text
    assert 'holdfast_requests_total{method="GET",route="/v1/namespaces",status="200"} 1.0' in text
    assert (await site.ask("GET", "/readyz")).json() == (await site.ask("GET", "/healthz")).json() == {"ok": True}


async def test_items_are_kept_under_kind_and_key(site: Site) -> None:
    of = "/v1/agents/app/entities/team%2Fana"
    for seat in ("aisle", "window"):
        kept = await site.call_json(
            "POST", of + "/items", json={"kind": "preference", "key": "a/b", "value": {"seat": seat}}
        )
    assert kept["version"] == 2
    assert (await site.call_json("GET", of + "/items/preference/a%2Fb"))["value"] == {"seat": "window"}
    await site.call_json("POST", of + "/items", json={"kind": "turn", "value": "hello", "embed": False, "ttl": 60})
    found = await site.call_json(
        "POST", of + "/search", json={"query": "window seat", "filters": {"kind": "preference"}}
    )
    assert [item["key"] for item in found["items"]] == ["a/b"]
    listed = await site.call_json("GET", of + "/items", params={"kind": "turn", "order_by": "recent"})
    assert [item["value"] for item in listed["items"]] == ["hello"]
    assert await site.call_json("DELETE", of + "/items/preference/a%2Fb") == {"deleted": True}
    assert (await site.ask("GET", of + "/items/preference/a%2Fb")).status_code == 404


async def test_the_remote_client_is_an_agents_memory_too(site: Site) -> None:
    async with AsyncHoldfast.connect(site.url, site.token) as far:
        memory = AsyncAgentMemory(far.profile("desk", "ana"))
        assert (await memory.get("preference", "seat"), await memory.search("seat"), await memory.list()) == (
            None,
            [],
            [],
        )
        await memory.write("preference", "seat", "window")
        assert [item.value for item in await memory.search("seat window")] == ["window"]
        assert await memory.delete("preference", "seat")
        events = far.profile("desk", "ana").events(after=0)
        first = await anext(events)
        assert first is not None
        assert first.type == "memory.added"
        await events.aclose()  # type: ignore[attr-defined]


async def test_the_remote_client_names_what_stands_in_its_way(site: Site) -> None:
    token = await site.key("read")
    for wrong, act, error in (
        (token, lambda far: far.create_namespace("x"), Forbidden),
        ("nonsense", lambda far: far.namespaces(), Unauthorised),
    ):
        async with RemoteHoldfast(site.url, wrong) as far:
            with pytest.raises(error):
                await act(far)
    async with RemoteHoldfast(site.url, token) as far:
        await site.call_json("POST", OF + "/remember", json={"content": "x"})
        alice = far.profile("app", "alice")
        with pytest.raises(TooMany, match=r"retry in \d+ s"):
            await asyncio.gather(*(alice.stats() for _ in range(30)))
    async with RemoteHoldfast("http://127.0.0.1:9", token) as far:
        with pytest.raises(Unreachable, match="holdfast serve"):
            await far.namespaces()


async def test_without_a_loop_the_remote_client_is_the_same(site: Site) -> None:
    def use() -> list[Any]:
        with Holdfast.connect(site.url, site.token) as far:
            alice = far.profile("app", "alice")
            alice.remember("Prefers window seats", key="seat")
            desk = AgentMemory(agent="app", entity="alice", memory=far)
            return [alice.search("window")[0].key, next(alice.events(after=0)).type, desk.get("fact", "seat").value]  # type: ignore[union-attr]

    assert await asyncio.to_thread(use) == ["seat", "memory.added", "Prefers window seats"]


async def test_no_name_is_a_step_in_an_address(site: Site) -> None:
    await site.call_json("POST", OF + "/remember", json={"content": "x", "session_id": "s"})
    async with RemoteHoldfast(site.url, site.token) as far:
        alice = far.profile("app", "alice")
        for act in (
            lambda: alice.forget(".."),
            lambda: alice.forget_session(".."),
            lambda: far.delete_profile("app", ".."),
            lambda: alice.remember("x", session_id=".."),
            lambda: alice.remember("x", key="."),
        ):
            with pytest.raises(InvalidInput):
                await act()
        assert len(await alice.list()) == 1


async def test_a_token_that_is_revoked_while_it_is_used_stays_revoked(site: Site) -> None:
    for _ in range(10):
        made, token = await site.holdfast.access.issue("key", "k", ["read"])
        access = site.holdfast.access
        await asyncio.gather(access.credential(token), access.revoke(made.id), access.credential(token))
        assert await access.credential(token) is None
        with pytest.raises(NotFound):
            await access.rotate(made.id)


async def test_a_busy_stream_ends_with_its_credential_too(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.api.rest.routes.journal.HEARTBEAT_SECONDS", 0.2)
    made, secret = await site.holdfast.access.issue("url", "u", ["read"], namespace="app", profile="alice")
    async with site.http.stream("GET", f"/s/{secret}/events") as answer:
        await site.holdfast.access.revoke(made.id)

        async def write() -> None:
            for n in itertools.count():
                await site.holdfast.profile("app", "alice").remember(f"thing {n}")
                await asyncio.sleep(0.05)

        writing = asyncio.create_task(write())
        async with asyncio.timeout(120):  # the writing goes on for longer
            async for _ in answer.aiter_lines():
                pass
        assert not writing.done()
        writing.cancel()


async def test_an_idempotency_key_belongs_to_its_caller(site: Site) -> None:
    """Another caller may use the same key, learns nothing of the first request, and does not occupy it."""
    keys = [await site.key("read", "write") for _ in range(2)]
    for n, key in enumerate(keys):
        headers = {"authorization": f"Bearer {key}", "idempotency-key": "turn-1"}
        body = {"content": f"thing {n}"}
        made = [(await site.ask("POST", OF + "/remember", json=body, headers=headers)).json() for _ in range(2)]
        assert made[0]["id"] == made[1]["id"]
        assert made[0]["content"] == f"thing {n}"
        other = await site.ask("POST", OF + "/remember", json={"content": "other"}, headers=headers)
        assert (other.status_code, "'turn-1'" in other.text) == (422, True)


async def test_strangers_are_not_listened_to_for_long(site: Site) -> None:
    large = {"content": "x" * 100_000}
    answer = await httpx.AsyncClient(base_url=site.url, timeout=120).post(OF + "/remember", json=large)
    assert answer.status_code == 401  # nothing of the body was read
    answer = await httpx.AsyncClient(base_url=site.url, timeout=120).post("/ui/session", json={"token": "x" * 100_000})
    assert answer.status_code == 413
    assert (await site.ask("POST", OF + "/remember", json=large)).status_code == 400  # known, and told the real limit


async def test_far_away_means_the_same_as_here(site: Site) -> None:
    async with RemoteHoldfast(site.url, site.token) as far:
        alice = far.profile("app", "alice")
        with acting(session_id="s1", turn_id="t1"):
            await alice.ingest(
                ({"role": "user", "content": word, "agent": "a"} for word in ("one", "two")), session_id="x"
            )
        await alice.remember("kept", session_id="x")
        assert [trace.operation for trace in await alice.traces(session_id="s1", turn_id="t1")] == ["ingest"]
        assert not len(await alice.traces(session_id="nobody"))
        gone = await alice.forget_where(session_id="x")
        assert (len(gone.memories), gone.messages) == (1, ())
        for wrong in ({"filter": {}}, {"key_prefix": ""}):
            with pytest.raises(InvalidInput, match="No memories are selected") as caught:
                await alice.forget_where(**wrong)  # type: ignore[arg-type]
            assert caught.value.fix
        with pytest.raises(InvalidInput, match="not JSON"):
            await alice.remember("x", value=float("nan"))


async def test_a_fault_of_ours_is_told_counted_and_safe(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("holdfast.service.profile.memories.MemoryVerbs.stats", broken)
    await site.call_json("POST", OF + "/remember", json={"content": "x"})
    answer = await site.ask("GET", OF + "/stats")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 'status="500"' in (await site.ask("GET", "/metrics")).text


@pytest.mark.parametrize("path", ["/memories/list", "/traces?cursor=" + "9" * 5000])
async def test_a_cursor_of_somebody_else_is_refused_kindly(site: Site, path: str) -> None:
    await site.call_json("POST", OF + "/remember", json={"content": "x"})
    method, body = ("POST", {"cursor": "__________8"}) if "list" in path else ("GET", None)
    assert (await site.ask(method, OF + path, json=body)).status_code in (200, 400)
