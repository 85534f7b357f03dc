"""MCP with a credential that has grants: its tools ask all the memories it shares, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.domain.credentials import Grant
from support.mcp_clients import ALL_RIGHTS, Site, call, modern_request, site

READ, WRITE = frozenset({"read"}), frozenset({"read", "write"})


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as made:
        await made.profile("alice").remember("Alice likes rye bread.")
        await made.profile("crew").remember("The crew sails on Thursday.")
        await made.profile("secret").remember("The secret word is swordfish.")
        yield made


async def shared_url(here: Site, *grants: Grant, **more: Any) -> str:
    made = await here.holdfast.access.issue(
        "url", "alice", ALL_RIGHTS, namespace="team", profile="alice", grants=grants, **more
    )
    return f"{here.base}/s/{made[1]}/mcp"


async def call_tool(here: Site, url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    result = (await call(here.http, url, tool, arguments)).json()["result"]
    assert not result.get("isError"), result
    return dict(result["structuredContent"])


async def refusal_of(here: Site, url: str, tool: str, **arguments: Any) -> str:
    result = (await call(here.http, url, tool, arguments)).json()["result"]
    assert result["isError"]
    return str(result["content"][0]["text"])


async def test_tools_ask_every_memory_that_is_shared(here: Site) -> None:
    url = await shared_url(here, Grant("team", "crew", READ))
    answer = await call_tool(here, url, "recall", query="When does the crew sail?")
    assert "Thursday" in answer["answer"]
    assert answer["sources"][0]["profile"] == "team/crew"
    found = (await call_tool(here, url, "search", query="crew rye"))["results"]
    assert {each["profile"] for each in found} == {"team/alice", "team/crew"}
    block = await call_tool(here, url, "get_context", query="crew rye")
    assert "of team/crew" in block["context"]
    alone = (await call_tool(here, url, "search", query="crew rye", profiles=["alice"]))["results"]
    assert {each["profile"] for each in alone} == {"team/alice"}
    hit = next(each for each in found if each["profile"] == "team/crew")
    assert (await call_tool(here, url, "fetch", id=hit["url"]))["text"] == "The crew sails on Thursday."


async def test_a_memory_that_is_not_shared_is_as_if_it_were_not_there(here: Site) -> None:
    url = await shared_url(here, Grant("team", "crew", READ))
    for name in ("secret", "nobody", "team/secret", "other/secret"):
        assert await refusal_of(here, url, "search", query="swordfish", profiles=[name]) == await refusal_of(
            here, url, "search", query="swordfish", profiles=["nothing"]
        )
    (kept,) = await here.profile("secret").list()
    for link in (f"holdfast://team/secret/memory/{kept.id}", f"holdfast://team/nobody/memory/{kept.id}"):
        assert "swordfish" not in await refusal_of(here, url, "fetch", id=link)
    assert "swordfish" not in str(await call_tool(here, url, "search", query="swordfish"))


async def test_what_was_granted_but_not_written_yet_is_passed_over(here: Site) -> None:
    url = await shared_url(here, Grant("team", "later", WRITE), Grant("team", "crew", READ))
    assert "Thursday" in (await call_tool(here, url, "recall", query="When does the crew sail?"))["answer"]
    await call_tool(here, url, "remember", content="Later is a place.", profile="later")
    assert [each.content for each in await here.profile("later").list()] == ["Later is a place."]
    assert "place" in str(await call_tool(here, url, "search", query="place"))


async def test_only_what_may_be_written_to_is_written_to(here: Site) -> None:
    url = await shared_url(here, Grant("team", "crew", READ), agent="deckhand")
    said = {await refusal_of(here, url, "remember", content="x", profile=name) for name in ("crew", "secret", "nobody")}
    assert len(said) == 1
    await call_tool(here, url, "remember", content="Alice likes salt.", profile="alice")
    newest = (await here.profile("alice").list(limit=1))[0]
    assert (newest.content, newest.agent) == ("Alice likes salt.", "deckhand")


async def test_only_those_who_share_are_told_how(here: Site) -> None:
    async def schema(url: str) -> str:
        body, headers = modern_request("tools/list", {})
        answer = await here.http.post(url, json=body, headers=headers)
        return str([tool["inputSchema"] for tool in answer.json()["result"]["tools"]])

    assert "profiles" not in await schema(await here.url())
    assert "profiles" in await schema(await shared_url(here, Grant("team", "crew", READ)))


async def test_an_agent_that_enters_a_directory_is_told_what_was_going_on(here: Site) -> None:
    url = await here.url()
    assert (await call_tool(here, url, "enter_directory", path="/workspace"))["notes"] == ""
    await call_tool(here, url, "write_note", path="/workspace/src/app.py", text="Splitting the router.")
    await call_tool(here, url, "write_note", path="/workspace", text="Run make check.")
    second = await call_tool(here, url, "write_note", path="/workspace/src/app.py", text="The router is split.")
    assert second == {"path": "/workspace/src/app.py", "version": 2}
    notes = (await call_tool(here, url, "enter_directory", path="/workspace"))["notes"]
    assert [line.partition(" (")[0] for line in notes.splitlines()[1:]] == ["- .", "- src/app.py"]
    assert "The router is split." in notes
    assert "bare" in {memory.agent for memory in await here.profile("alice").list(kind="note")}
    assert "invalid_input" in await refusal_of(here, url, "enter_directory", path="/workspace/../etc")
