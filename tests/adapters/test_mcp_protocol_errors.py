"""Every line over stdio gets a response that names what is wrong with it, and so does every malformed request."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from holdfast.api.mcp.protocol_errors import line_error
from support.mcp_clients import LEGACY, call, legacy_session, plain_env, site

PING = '{"jsonrpc": "2.0", "id": 7, "method": "ping"}'


@pytest.mark.parametrize(
    ("line", "id", "code", "said"),
    [
        ("{bad json", None, -32700, "The line is not JSON: "),
        ("[" * 2_000, None, -32700, "The line is not JSON: "),
        ("[]", None, -32600, "The line is a list; batches are not supported."),
        (f"[{PING}]", None, -32600, "The line is a list; batches are not supported."),
        ("5", None, -32600, "The line is 5; send one JSON-RPC object in each line."),
        ('{"id": 100, "method": "ping"}', 100, -32600, "jsonrpc is missing; give '2.0'."),
        ('{"jsonrpc": "1.0", "id": "a", "method": "ping"}', "a", -32600, "jsonrpc is '1.0'; give '2.0'."),
        ('{"jsonrpc": "2.0", "id": 1}', 1, -32600, "method is missing; give the name of a method"),
        ('{"jsonrpc": "2.0", "id": 1, "method": 5}', 1, -32600, "method is 5; give the name of a method"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "x", "params": []}', 1, -32600, "params is []; give an object."),
        ('{"id": 3, "result": {}}', None, -32600, "jsonrpc is missing; give '2.0'."),
    ],
)
def test_a_line_that_is_no_message_is_named(line: str, id: int | str | None, code: int, said: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    told = line_error(wrong.value)
    assert told is not None
    assert (told.id, told.error.code) == (id, code)
    assert told.error.message.startswith(said)


@pytest.mark.parametrize("line", ["", "  ", "\r\n"])
def test_an_empty_line_needs_no_response(line: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    assert line_error(wrong.value) is None


async def test_over_stdio_no_line_is_left_without_a_response(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "holdfast", "mcp", "--data", str(tmp_path), env=plain_env(),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    async def answer(line: Any) -> dict[str, Any]:
        process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")  # type: ignore[union-attr]
        return dict(json.loads(await asyncio.wait_for(process.stdout.readline(), 60)))  # type: ignore[union-attr]

    def request(id: int, method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}

    try:
        early = (await answer(request(1, "tools/call", name="recall", arguments={"query": "x"})))["error"]
        assert (early["code"], early["data"]["field"]) == (-32602, "method")
        assert early["message"].startswith("tools/call came before initialize; send initialize first")
        assert (await answer("{bad json"))["error"]["code"] == -32700
        assert (await answer("\n[]"))["error"]["code"] == -32600
        assert (await answer({"id": 100, "method": "ping"}))["id"] == 100
        client = {"name": "bare", "version": "1"}
        begun = request(2, "initialize", protocolVersion=LEGACY, capabilities={}, clientInfo=client)
        assert "result" in await answer(begun)
        assert (await answer("not json"))["error"]["code"] == -32700
        unnamed = (await answer(request(3, "tools/call")))["error"]
        assert (unnamed["code"], unnamed["message"]) == (-32602, "tools/call: params.name is missing.")
        listed = (await answer(request(4, "tools/call", name="recall", arguments=[])))["error"]
        assert (listed["message"], listed["data"]["field"]) == (
            "tools/call: params.arguments is []; give an object.",
            "params.arguments",
        )
        assert "result" in await answer(request(5, "ping"))
    finally:
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_a_tool_names_tools_and_its_own_arguments(tmp_path: Path) -> None:
    async with site(tmp_path) as here, Client(await here.url()) as client:

        async def told(tool: str, **arguments: Any) -> str:
            content: Any = (await client.call_tool(tool, arguments)).content[0]
            return str(json.loads(content.text)["error"]["message"])

        await here.profile().remember("Keeps bees")
        assert (await told("forget", id="nope")).endswith(
            "Give an id; list_memories and search show the ids of memories."
        )
        assert (await told("recall", question="Where?")).endswith(" Did you mean 'query'?")
        assert (await told("remember", text="Keeps bees")).endswith(" Did you mean 'content'?")


async def test_over_http_a_malformed_request_is_named_too(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        url = await here.url()
        modern = (await call(here.http, url, "recall", [])).json()["error"]
        assert modern["code"] == -32602
        session = await legacy_session(here.http, url)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": []}}
        headers = {"accept": "application/json, text/event-stream", "mcp-session-id": session}
        older = (await here.http.post(url, json=body, headers=headers)).json()["error"]
        for told in (modern, older):
            assert told["message"] == "tools/call: params.arguments is []; give an object."
