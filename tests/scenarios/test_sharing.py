"""One credential, rights in several profiles; a team's profile that people and agents share; who can reach what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, Forbidden, InvalidInput, NotFound
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.domain.credentials import Grant
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

ADMIN = "the-admin-of-these-tests"
READ, WRITE = frozenset({"read"}), frozenset({"read", "write"})
TEAM = "team:platform"


@dataclass
class Office:
    """A served Holdfast, and whoever connects to it."""

    holdfast: AsyncHoldfast
    url: str
    stack: AsyncExitStack

    async def connect(self, token: str) -> RemoteHoldfast:
        return await self.stack.enter_async_context(AsyncHoldfast.connect(self.url, token))

    async def issued(self, name: str, rights: Any = WRITE, **more: Any) -> tuple[str, RemoteHoldfast]:
        place = {"namespace": "acme", "profile": name} | more
        made, token = await self.holdfast.access.issue("key", name, rights, **place)
        return made.id, await self.connect(token)

    async def http(self, method: str, path: str, token: str, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=120) as client:
            headers = {"authorization": f"Bearer {token}"} | more.pop("headers", {})
            return await client.request(method, path, headers=headers, **more)


@pytest.fixture(params=["files", "database"])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        if request.param == "database":
            vault: Any = PostgresVault(stack.enter_context(database()), connections=4)
        else:
            vault = SqliteVault(tmp_path / "data")
        holdfast = await stack.enter_async_context(AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()))
        await holdfast.access.admin(ADMIN)
        await holdfast.create_namespace("acme")
        yield Office(holdfast, await stack.enter_async_context(http_server(holdfast)), stack)


async def test_people_and_agents_share_a_teams_profile(office: Office) -> None:
    """Ada reads the team's memory beside her own; the release bot writes it; Carl has no part in it."""
    _, ada = await office.issued("ada", grants=[Grant("acme", TEAM, READ)])
    _, bot = await office.issued("bot", grants=[Grant("acme", TEAM, WRITE)], agent="release-bot")
    _, carl = await office.issued("carl")
    await bot.profile("acme", TEAM).remember("The release ships on Thursday.", agent="somebody else")
    await ada.profile("acme", "ada").remember("Ada is on holiday from Friday.")
    both = ada.across("acme", ["ada", TEAM])
    answer = await both.recall("When does the release ship?")
    assert "Thursday" in answer.answer
    assert str(answer.citations[0].origin) == f"acme/{TEAM}"
    assert {hit.origin.profile for hit in await both.search("Friday Thursday") if hit.origin} == {"ada", TEAM}
    (kept,) = await ada.profile("acme", TEAM).list()
    assert kept.agent == "release-bot"
    with pytest.raises(Forbidden):
        await ada.profile("acme", TEAM).remember("The release ships on Monday.")
    with pytest.raises(Forbidden):
        await bot.profile("acme", TEAM).forget(kept.id)
    with pytest.raises(Forbidden):
        await carl.profile("acme", TEAM).list()
    with pytest.raises(NotFound):
        await carl.across("acme", ["carl", TEAM]).search("release")


async def test_absent_and_forbidden_are_answered_alike(office: Office) -> None:
    await office.holdfast.profile("acme", "secret").remember("The word is swordfish.")
    await office.holdfast.profile("other", "secret").remember("The word is swordfish.")
    _, token = await office.holdfast.access.issue("key", "carl", ["read", "write"], namespace="acme", profile="carl")
    await office.holdfast.profile("acme", "carl").remember("Carl is here.")
    said = set()
    for named in ("secret", "nobody", {"namespace": "other", "profile": "secret"}, {"namespace": "no", "profile": "x"}):
        for verb in ("search", "recall", "recall/stream", "context"):
            body = {"query": "swordfish", "profiles": ["carl", named]}
            answer = await office.http("POST", f"/v1/namespaces/acme/{verb}", token, json=body)
            said.add((answer.status_code, answer.content, answer.headers["content-type"]))
    assert len(said) == 1
    assert next(iter(said))[0] == 404
    single = set()
    for place in ("acme/profiles/secret", "acme/profiles/nobody", "other/profiles/secret", "no/profiles/x"):
        answer = await office.http("POST", f"/v1/namespaces/{place}/search", token, json={"query": "swordfish"})
        single.add((answer.status_code, answer.content))
    assert len(single) == 1


async def test_a_grant_holds_at_once_and_ends_at_once(office: Office) -> None:
    await office.holdfast.profile("acme", TEAM).remember("The release ships on Thursday.")
    id, ada = await office.issued("ada")
    team, admin = ada.profile("acme", TEAM), await office.connect(ADMIN)
    with pytest.raises(Forbidden):
        await team.list()
    granted = await admin.access.grant(id, "acme", TEAM, ["read"])
    assert granted.grants == (Grant("acme", TEAM, READ),)
    assert len(await team.list()) == 1
    await admin.access.grant(id, "acme", TEAM, ["read", "write"])
    await team.remember("The release ships on Monday.")
    assert await admin.access.withdraw(id, "acme", TEAM)
    assert not await admin.access.withdraw(id, "acme", TEAM)
    with pytest.raises(Forbidden):
        await team.list()


async def test_who_can_reach_a_profile_is_told_with_the_reason(office: Office) -> None:
    admin = await office.connect(ADMIN)
    id, _ = await office.issued("ada", grants=[Grant("acme", TEAM, READ)])
    await office.issued("bob")
    _, own = await office.issued(TEAM, WRITE, agent="bot", reads="own")
    await office.issued("all of acme", READ, profile=None)
    later = office.holdfast.runtime.clock() + timedelta(days=1)
    over, _ = await office.issued("over", READ, profile=None, expires_at=later)
    await admin.access.revoke(over)
    found = {each.name: (each.by, sorted(each.rights), each.agent, each.reads) for each in
             await admin.access.reaching("acme", TEAM)}  # fmt: skip
    every = ["admin", "forget", "read", "write"]
    assert found == {
        "ada": ("grant", ["read"], None, None),
        TEAM: ("profile", ["read", "write"], "bot", ()),
        "all of acme": ("namespace", ["read"], None, None),
        "preset": ("everywhere", every, None, None),
    }
    await admin.access.grant(id, "acme", TEAM, ["read", "write"])
    await admin.access.withdraw(id, "acme", TEAM)
    acts = await admin.access.acts_on("acme", TEAM)
    assert [act.what for act in acts] == ["credential.withdrawn", "credential.granted", "credential.granted"]
    assert all(act.thing.startswith(id) for act in acts)
    assert acts[1].thing.endswith("read,write")
    assert acts[0].credential is not None
    assert await admin.access.acts_on("acme", "bob") == []
    assert TEAM not in repr(await admin.access.acts())  # names of profiles go with them
    with pytest.raises(Forbidden):
        await own.access.reaching("acme", TEAM)


async def test_a_deleted_profile_takes_what_was_granted_in_it_along(office: Office) -> None:
    await office.holdfast.profile("acme", TEAM).remember("The release ships on Thursday.")
    _, ada = await office.issued("ada", grants=[Grant("acme", TEAM, READ)])
    assert len(await ada.profile("acme", TEAM).list()) == 1
    await office.holdfast.delete_profile("acme", TEAM)
    await office.holdfast.profile("acme", TEAM).remember("Another team begins anew.")
    with pytest.raises(Forbidden):
        await ada.profile("acme", TEAM).list()


async def test_a_rotated_credential_keeps_its_grants_and_its_agent(office: Office) -> None:
    id, _ = await office.issued("ada", grants=[Grant("acme", TEAM, READ)], agent="desk", reads=["bot"])
    admin = await office.connect(ADMIN)
    made, _ = await admin.access.rotate(id)
    assert (made.grants, made.agent, made.reads) == ((Grant("acme", TEAM, READ),), "desk", ("bot",))


async def test_a_credential_of_an_agent_reads_as_its_rule_says_and_cannot_pose(office: Office) -> None:
    _, token = await office.holdfast.access.issue(
        "key", "support", ["read", "write", "forget"], namespace="acme", profile="ada", agent="support", reads="own"
    )
    ada = office.holdfast.profile("acme", "ada")
    hidden = await ada.as_agent("sales").remember("The discount is canary percent.", key="discount")
    path = "/v1/namespaces/acme/profiles/ada"
    for pose in ({}, {"holdfast-agent": "sales"}, {"holdfast-agent": "sales", "holdfast-reads": "all"}):
        for method, route, body in (
            ("POST", "/search", {"query": "discount"}), ("POST", "/memories/list", {"agent": "sales"}),
            ("GET", f"/memories/{hidden.id}", None), ("GET", "/summary", None), ("GET", "/export", None),
            ("POST", "/context", {"query": "discount"}), ("GET", "/stats", None),
        ):  # fmt: skip
            answer = await office.http(method, path + route, token, json=body, headers=pose)
            assert "canary" not in answer.text
    refused = await office.http("GET", path + "/stats", token, headers={"holdfast-agent": "x", "holdfast-reads": "all"})
    assert refused.status_code == 403
    said = {"messages": [{"role": "user", "content": "Hello", "agent": "sales"}], "agent": "sales"}
    await office.http("POST", path + "/ingest", token, json=said, headers={"holdfast-agent": "sales"})
    assert [message.agent for message in await ada.messages()] == ["support"]
    asked = [trace.caller for trace in await ada.traces(limit=50) if trace.caller.credential is not None]
    assert {caller.agent for caller in asked} == {"support"}
    same = await office.http("GET", f"{path}/memories/{hidden.id}", token)
    none = await office.http("GET", f"{path}/memories/{hidden.id[:-1]}0", token)
    assert (same.status_code, same.text.replace(hidden.id, "x")) == (
        none.status_code, none.text.replace(f"{hidden.id[:-1]}0", "x"),
    )  # fmt: skip


async def test_what_cannot_be_granted_is_refused(office: Office) -> None:
    issue = office.holdfast.access.issue
    with pytest.raises(InvalidInput):
        await issue("key", "x", ["read"], grants=[Grant("acme", TEAM, READ)])
    with pytest.raises(InvalidInput):
        await issue("key", "x", ["read"], namespace="acme", grants=[Grant("b", TEAM, frozenset({"admin"}))])
    with pytest.raises(InvalidInput):
        await issue("key", "x", ["read"], namespace="acme", reads="own")
    with pytest.raises(InvalidInput):
        await issue("key", "x", ["admin"], namespace="acme", agent="a", reads="own")
    id, _ = await office.issued("ada")
    with pytest.raises(InvalidInput):
        await office.holdfast.access.grant(id, "acme", TEAM, [])
    with pytest.raises(NotFound):
        await office.holdfast.access.grant("nobody", "acme", TEAM, ["read"])
