"""Malformed arguments for every tool: a typed error each time, no crash, and nothing stored."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast.api.mcp.tools import NAMED
from support.mcp_clients import ACCEPT, LEGACY, Site, call, legacy_session, site

ROUNDS = 60
GOOD: dict[str, dict[str, Any]] = {
    "recall": {"query": "tea"},
    "search": {"query": "tea", "limit": 5, "kind": "fact", "session_id": "s"},
    "fetch": {"id": "x"},
    "get_context": {"query": "tea", "tokens": 100},
    "enter_directory": {"path": "/src"},
    "write_note": {"path": "/src/app.py", "text": "Splitting the router"},
    "list_memories": {"kind": "fact", "limit": 5, "cursor": None},
    "remember": {"content": "Likes tea", "kind": "fact", "key": "tea", "idempotency_key": "k"},
    "correct": {"id": "x", "content": "Likes tea", "idempotency_key": "k"},
    "about": {"name": "tea"},
    "ingest": {"messages": [{"role": "user", "content": "Hello", "timestamp": "2026-03-02"}], "session_id": "s",
               "idempotency_key": "k"},
    "forget": {"id": "x", "idempotency_key": "k"},
}  # fmt: skip
NOT_TEXT: tuple[Any, ...] = (0, -1, 1.5, True, [], {}, ["tea"], {"a": 1}, 10**400, float("nan"), float("inf"))
NO_TEXT: tuple[str, ...] = ("", " \n", "\ud800", "tea\udfff", "nul\0", "x" * 2_000_000)
NOT_A_COUNT: tuple[Any, ...] = ("5", 0, -1, 10**9, 10**400, 1.5, float("nan"), True, [], {}, [5])
STRANGE = ("kind", "timestamp", "role")


def deep(levels: int) -> Any:
    made: Any = "tea"
    for n in range(levels):
        made = [made] if n % 2 else {"a": made}
    return made


def malformed_arguments(tool: str, dice: random.Random) -> dict[str, Any]:
    """Good arguments with one thing wrong in them."""
    made: dict[str, Any] = json.loads(json.dumps(GOOD[tool]))
    at = made["messages"][0] if tool == "ingest" and dice.random() < 0.5 else made
    field = dice.choice(sorted(at))
    wrong: tuple[Any, ...] = NOT_A_COUNT if field in ("limit", "tokens") else (*NOT_TEXT, *NO_TEXT)
    if tool in ("search", "list_memories") and field in ("kind", "session_id"):
        wrong = (*NOT_TEXT, "\ud800")  # any text is a filter, if one that nothing passes
    elif field in STRANGE:
        wrong += ("no such thing", "FACT", "2026-13-45")
    if field == "messages":
        wrong = ("tea", 5, {}, [], [None], ["tea"], [[]], [{}], [{"role": "user"}], at["messages"] * 501)
    said = tool == "ingest" and field == "content"  # may say nothing, and may be a list of parts
    if said:
        wrong = tuple(each for each in wrong if each not in ("", " \n", [], ["tea"]))
    if field == "timestamp":  # seconds are one as well
        wrong = tuple(each for each in wrong if not isinstance(each, int | float))
    required = field in ("query", "content", "id", "messages", "role") and not said
    match dice.randrange(8):
        case 0:
            at[dice.choice(("colour", "query ", "__class__", "Content", "\ud800", ""))] = "red"
        case 1:
            at[field] = deep(dice.choice((1, 3, 50, 400)))
        case 2 if required:
            at[field] = None
        case 3 if required:
            del at[field]
        case _:
            at[field] = dice.choice(wrong)
    return made


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as made:
        await made.profile().remember("Keeps bees")
        yield made


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("tool", sorted(NAMED))
async def test_a_malformed_call_is_a_typed_error_and_stores_nothing(here: Site, tool: str, era: str) -> None:
    dice = random.Random(f"{tool} {era}")
    url, before = await here.url(), await contents(here)
    session = await legacy_session(here.http, url) if era == "legacy" else None
    for _ in range(ROUNDS):
        given = malformed_arguments(tool, dice)
        answer = await call_tool(here, url, tool, given, session)
        assert code(answer) in CODES, (repr(given)[:300], answer)
    assert await contents(here) == before
    assert code(await call_tool(here, url, "list_memories", {}, session)) is None


@pytest.mark.parametrize("tool", sorted(NAMED))
async def test_arguments_that_are_none_are_told_so(here: Site, tool: str) -> None:
    url, before = await here.url(), await contents(here)
    for arguments in ("tea", 5, [], [GOOD[tool]], deep(400), True, "deeper"):
        answer = await call(here.http, url, tool, arguments, deeper=100_000 if arguments == "deeper" else 0)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] in (-32602, -32700, -32600)
    assert await contents(here) == before


async def call_tool(here: Site, url: str, tool: str, arguments: Any, session: str | None) -> dict[str, Any]:
    if session is None:
        answer = await call(here.http, url, tool, arguments)
    else:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        told = {"accept": ACCEPT, "mcp-session-id": session, "mcp-protocol-version": LEGACY}
        sent = {**told, "content-type": "application/json"}
        answer = await here.http.post(url, content=json.dumps(body).encode(), headers=sent)
    return body_of(answer)


def body_of(answer: httpx.Response) -> dict[str, Any]:
    """The answer to a request: plain, or in an event of a stream."""
    assert answer.status_code < 500, answer.text
    lines = [line[5:] for line in answer.text.splitlines() if line.startswith("data:") and line[5:].strip()]
    found: dict[str, Any] = json.loads(lines[-1] if lines else answer.text)
    return found


CODES = {"invalid_input", "not_found", "key_reused", "-32602", "-32600", "-32700"}


def code(answer: dict[str, Any]) -> str | None:
    """What went wrong: a tool's error by its code, or one of the protocol's own; None when nothing did."""
    if "error" in answer:
        return str(answer["error"]["code"])
    result = answer["result"]
    return str(json.loads(result["content"][0]["text"])["error"]["code"]) if result["isError"] else None


async def contents(here: Site) -> Any:
    stats = await here.profile().stats()
    page = await here.profile().list(limit=1000)
    return stats.memories, stats.messages, [memory.id for memory in page.items]
