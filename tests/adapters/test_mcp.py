"""One memory over every MCP transport: tools, schemas, cursors, prompts, resources, plain HTTP, and `holdfast mcp`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from holdfast.api.mcp.tools import NAMED, TOOLS
from holdfast.storage.sqlite.server_address import load_address
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece
from support.mcp_clients import (
    Site,
    call,
    connected_client,
    modern_request,
    plain_env,
    site,
    stdio_server,
    token_client,
)
from support.server_process import free_port
from support.waiting import until

TRANSPORTS = ("modern", "legacy", "sse", "stdio")
BUDGET = 2200


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path / "data") as made:
        yield made


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer, which its own output schema allows and its text repeats."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    jsonschema.validate(answer.structured_content, NAMED[tool].output)
    assert json.loads(answer.content[0].text) == answer.structured_content  # type: ignore[union-attr]
    return answer.structured_content


async def refusal_of(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer
    assert answer.structured_content is None
    return str(json.loads(answer.content[0].text)["error"]["code"])  # type: ignore[union-attr]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_tool_over_every_transport(here: Site, tmp_path: Path, transport: str) -> None:
    async with connected_client(transport, here, tmp_path / "own") as client:
        assert await call_tool(client, "list_memories") == {"memories": []}
        said = [
            {"role": "user", "content": "I live in Porto.", "timestamp": "2026-03-02T10:00:00Z"},
            {"role": "assistant", "content": "A fine town.", "speaker": "Scout"},
        ]
        assert await call_tool(client, "ingest", messages=said, session_id="s") == {
            "session_id": "s",
            "new": 2,
            "known": 0,
        }
        assert await call_tool(client, "ingest", messages=said, session_id="s") == {
            "session_id": "s",
            "new": 0,
            "known": 2,
        }
        kept = await call_tool(client, "remember", content="Remind me to water the ferns tomorrow", key="ferns")
        assert (kept["kind"], kept["key"]) == ("task", "ferns")
        assert (await call_tool(client, "remember", content="Tea at four", kind="instruction"))["kind"] == "instruction"
        found = (await call_tool(client, "search", query="ferns", limit=3))["results"]
        assert found[0]["id"] == kept["id"]
        assert {"title", "text", "url"} <= set(found[0])
        whole = await call_tool(client, "fetch", id=kept["id"])
        assert (whole["text"], whole["metadata"]["kind"]) == (kept["content"], "task")
        ferns = await call_tool(client, "correct", id=kept["id"], content="Remind me to water the ferns and the ivy")
        assert (ferns["kind"], ferns["key"]) == ("task", "ferns")
        assert ferns["id"] == kept["id"], "a memory keeps its id"
        assert (await call_tool(client, "fetch", id=kept["id"]))["text"] == ferns["content"]
        assert (await call_tool(client, "fetch", id=f"{kept['id']}@1"))["text"] == kept["content"], "it is history"
        assert [each["content"] for each in (await call_tool(client, "list_memories", kind="task"))["memories"]] == [
            ferns["content"]
        ]
        await call_tool(client, "remember", content="The user's sister Marta works at Acme Robotics.")
        marta = await call_tool(client, "about", name="Marta")
        assert (marta["name"], marta["type"]) == ("Marta", "person")
        assert "Marta works-at Acme Robotics" in marta["links"]
        assert [each["content"] for each in marta["memories"]] == ["The user's sister Marta works at Acme Robotics."]
        assert (await call_tool(client, "about", name="Zorblax"))["memories"] == []

        async def known() -> bool:  # once what was said is digested
            return "Porto" in (await call_tool(client, "recall", query="Where do I live?"))["answer"]

        await until(known)
        assert 0 < (await call_tool(client, "recall", query="Where do I live?"))["confidence"] <= 1
        block = await call_tool(client, "get_context", query="ferns", tokens=60)
        assert block["tokens"] <= 60
        assert "ferns" in block["context"]
        assert (await call_tool(client, "forget", id=ferns["id"]))["memories"] == [kept["id"]]
        assert await refusal_of(client, "fetch", id=kept["id"]) == "not_found"
        assert await refusal_of(client, "recall", query="") == "invalid_input"
        with pytest.raises(MCPError, match="There is no tool"):
            await client.call_tool("no_such_tool", {})


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_prompts_and_resources_over_every_transport(here: Site, tmp_path: Path, transport: str) -> None:
    async with connected_client(transport, here, tmp_path / "own") as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["remember_context"]
        nothing = (await client.get_prompt("remember_context")).messages[0].content.text  # type: ignore[union-attr]
        kept = await call_tool(client, "remember", content="Drinks green tea", key="drink/ü")
        for arguments in (None, {"topic": "tea"}):
            known = (await client.get_prompt("remember_context", arguments)).messages[0].content.text  # type: ignore[union-attr]
            assert "green tea" in known
            assert "green tea" not in nothing
        uri = str((await client.list_resources()).resources[0].uri)
        own = uri.removesuffix("/summary")
        assert "green tea" in (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
        (template,) = (await client.list_resource_templates()).resource_templates
        one = await client.read_resource(template.uri_template.replace("{id}", kept["id"]))
        assert json.loads(one.contents[0].text)["text"] == "Drinks green tea"  # type: ignore[union-attr]
        for elsewhere in ("holdfast://team/bob/summary", f"{own}x/summary", f"{own}/../bob/summary", f"{own}/", own):
            with pytest.raises(MCPError, match="There is no resource") as wrong:
                await client.read_resource(elsewhere)
            assert wrong.value.error.data["code"] == "not_found"
        with pytest.raises(MCPError, match="There is no prompt"):
            await client.get_prompt("another")


async def test_a_page_is_ingested_by_its_address_and_no_file_is(here: Site) -> None:
    async with Client(await here.url()) as client:
        page = await call_tool(client, "ingest", url="http://localhost/page")
        assert (page["document"][:4], page["new"]) == ("doc-", 0)
        for wrong in ({}, {"url": "/etc/passwd"}, {"url": "http://127.0.0.1/"}, {"url": "file:///etc/passwd"}):
            assert (await client.call_tool("ingest", wrong)).is_error
        both = {"url": "http://localhost/page", "messages": [{"role": "user", "content": "x"}]}
        assert (await client.call_tool("ingest", both)).is_error


async def test_tools_say_what_they_do_in_few_words(here: Site) -> None:
    async with Client(await here.url()) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema or {})
        hints = tool.annotations
        assert hints is not None
        assert hints.read_only_hint == (NAMED[tool.name].right == "read")
        assert hints.destructive_hint == (tool.name == "forget")
        assert hints.idempotent_hint == (tool.name not in ("remember", "correct"))
        assert hints.open_world_hint is False
    pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
    told = [(tool.name, tool.description or "", tool.input_schema, tool.output_schema) for tool in tools]
    assert sum(len(pieces.ids(_compact(part))) for parts in told for part in parts) <= BUDGET
    assert "$ref" not in json.dumps(told)  # some clients cannot follow one


def _compact(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, separators=(",", ":"))


async def test_questions_leave_out_a_session_and_what_is_beside_the_point(here: Site) -> None:
    async with Client(await here.url()) as client:
        for session, text in (("old", "The deploy day is Thursday."), ("running", "The deploy of today failed.")):
            await call_tool(client, "ingest", messages=[{"role": "user", "content": text}], session_id=session)
        for tool in ("search", "get_context", "recall"):
            assert "failed" in json.dumps(await call_tool(client, tool, query="deploy failed today")), tool
            told = await call_tool(client, tool, query="deploy failed today", exclude_session="running")
            assert "failed" not in json.dumps(told), tool
        none = await call_tool(client, "get_context", query="quantum chromodynamics", min_relevance=0.9)
        assert none == {"context": "", "tokens": 0}
        assert await call_tool(client, "search", query="quantum", min_relevance=0.9) == {"results": []}


async def test_a_listing_goes_on_at_its_cursor(here: Site) -> None:
    kept = [(await here.profile().remember(f"Owns {n} plates")).id for n in range(5)]
    async with Client(await here.url()) as client:
        seen, cursor = [], None
        while True:
            page = await call_tool(client, "list_memories", limit=2, **({"cursor": cursor} if cursor else {}))
            seen += [memory["id"] for memory in page["memories"]]
            cursor = page.get("cursor")
            if cursor is None:
                break
        assert seen == kept[::-1]
        assert await refusal_of(client, "list_memories", cursor="nonsense") == "invalid_input"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_repeated_write_is_one_write(here: Site, mode: str) -> None:
    async with Client(await here.url(), mode=mode) as client:
        first = await call_tool(client, "remember", content="Has a cat", idempotency_key="k1")
        await call_tool(client, "remember", content="Has two cats")
        assert await call_tool(client, "remember", content="Has a cat", idempotency_key="k1") == first
        assert await refusal_of(client, "remember", content="Has a dog", idempotency_key="k1") == "key_reused"
        for _ in range(2):
            gone = await call_tool(client, "forget", id=first["id"], idempotency_key="k2")
            assert gone == {"memories": [first["id"]], "messages": [], "shortened": []}
        assert await refusal_of(client, "forget", id=first["id"]) == "not_found"
        assert len((await call_tool(client, "list_memories"))["memories"]) == 1
        said = [{"role": "user", "content": "Hello there"}]
        once = await call_tool(client, "ingest", messages=said, session_id="s", idempotency_key="k3")
        assert await call_tool(client, "ingest", messages=said, session_id="s", idempotency_key="k3") == once


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_write_knows_its_credential_and_agent(here: Site, mode: str) -> None:
    made, token = await here.holdfast.access.issue("key", "ci", ["write"], namespace="team", profile="alice")
    async with token_client(f"{here.base}/mcp", token, mode) as client:
        own = await call_tool(client, "remember", content="The client's own name is the agent")
    async with token_client(f"{here.base}/mcp", token, mode, **{"holdfast-agent": "t%C3%A9a"}) as client:
        named = await call_tool(client, "remember", content="A header names the agent")
    agents = [(await here.profile().get(each["id"])).agent for each in (own, named)]
    assert agents == ["mcp", "téa"]
    wrote = [trace.caller for trace in (await here.profile().traces()).items if trace.operation == "remember"]
    assert [(caller.credential, caller.agent) for caller in wrote] == [(made.id, "téa"), (made.id, "mcp")]


async def test_a_client_of_any_name_may_write(here: Site) -> None:
    url = await here.url()
    for name in ("", " ", "x" * 10_000, "nul\0"):
        body, headers = modern_request(
            "tools/call", {"name": "remember", "arguments": {"content": f"From {len(name)}"}}
        )
        body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = name
        answer = (await here.http.post(url, json=body, headers=headers)).json()
        assert not answer["result"]["isError"], answer


async def test_the_plain_routes_need_no_protocol(here: Site) -> None:
    _, token = await here.holdfast.access.issue("key", "k", ["read", "write"], namespace="team", profile="alice")
    places = ((await here.url(), {}), (f"{here.base}/mcp", {"authorization": f"Bearer {token}"}))
    for n, (url, headers) in enumerate(places):

        async def post(path: str, body: Any, **more: str) -> httpx.Response:
            return await here.http.post(f"{url}/{path}", json=body, headers=headers | more)  # noqa: B023

        asked = {"content": f"Plants {n} elms", "key": f"elms-{n}"}
        kept = [await post("tools/add_memory", asked, **{"idempotency-key": f"p{n}"}) for _ in range(2)]
        assert [answer.status_code for answer in kept] == [201, 201]
        assert kept[0].json() == kept[1].json()
        results = (await post("tools/search_memory", {"query": "elms", "limit": 1})).json()["results"]
        assert "elms" in results[0]["content"]
        assert "elms" in (await post("prompts/remember_context", {"topic": "elms"})).json()["text"]
        for path, body in (("tools/add_memory", {"content": 5}), ("tools/search_memory", {"q": "x"})):
            wrong = await post(path, body)
            assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "invalid_input")


async def test_a_bad_body_and_a_far_too_large_one_are_told(here: Site) -> None:
    url = await here.url()
    _, headers = modern_request("tools/call", {"name": "remember"})
    broken = await here.http.post(url, content=b'{"jsonrpc": ', headers=headers | {"content-type": "application/json"})
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)
    large = await call(here.http, url, "remember", {"content": "x" * 5_000_000})
    assert large.status_code == 413
    assert (await here.http.put(url)).status_code == 405


async def test_two_processes_of_ours_share_the_folder_that_a_server_has_open(tmp_path: Path) -> None:
    async with beside(tmp_path) as server, Client(stdio_server(tmp_path)) as one, Client(stdio_server(tmp_path)) as two:
        kept = await call_tool(one, "remember", content="Shares one folder")
        assert (await call_tool(two, "fetch", id=kept["id"]))["text"] == "Shares one folder"
        await call_tool(two, "remember", content="And writes to it")
        assert len((await call_tool(one, "list_memories"))["memories"]) == 2
        assert server.returncode is None


@asynccontextmanager
async def beside(data: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`holdfast serve` on the folder, in a process of its own."""
    command = ["-m", "holdfast", "serve", "--quiet", "--data", str(data), "--port", str(free_port())]
    server = await asyncio.create_subprocess_exec(
        sys.executable, *command, env=plain_env(), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        await asyncio.wait_for(server.stdout.readline(), 120)
        while load_address(data) is None:  # noqa: ASYNC110  (it is a file)
            await asyncio.sleep(0.05)
        yield server
    finally:
        server.terminate()
        await server.communicate()


async def test_one_process_takes_the_folder_over_from_another(tmp_path: Path) -> None:
    """Without a server, whoever comes second waits until the first is gone."""
    async with Client(stdio_server(tmp_path)) as first:
        kept = await call_tool(first, "remember", content="Was here first")
    async with Client(stdio_server(tmp_path)) as second:
        assert (await call_tool(second, "fetch", id=kept["id"]))["text"] == "Was here first"


async def test_a_server_may_be_named_by_its_address(here: Site) -> None:
    _, token = await here.holdfast.access.issue("key", "all", ("read", "write"), namespace="team")
    near = StdioServerParameters(
        command=sys.executable, args=["-m", "holdfast", "mcp", "--namespace", "team", "--profile", "alice"],
        env=plain_env() | {"HOLDFAST_URL": here.base, "HOLDFAST_TOKEN": token},
    )  # fmt: skip
    async with Client(near) as client:
        kept = await call_tool(client, "remember", content="Lives elsewhere")
    assert (await here.holdfast.profile("team", "alice").get(kept["id"])).content == "Lives elsewhere"
