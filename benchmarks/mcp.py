"""Cost of MCP: `python -m benchmarks.mcp [--quick] [--out docs/results/mcp.md]`.

What a tools/call costs the server process beyond the same call on the library, in this process and on a copy of the
folder, in turns; what an idle listener holds; and how long a call takes on a profile that was closed meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embedded import QUESTIONS, TEXTS, fill
from benchmarks.service import EMBEDDER, LENGTH, TOKEN, WHO, Server, server_process, table
from benchmarks.streams import memory

from holdfast import AsyncHoldfast
from holdfast.service.profile.local import LocalProfile

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ROUNDS = 5
PAUSE = 0.001
"""Seconds that a server waits for the next request of one busy client, about."""
LISTENED = 50
"""Profiles that the listeners share."""
CALL_BAR, WAKE_BAR = 1.0, 20.0
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Call:
    """A tool, and the same on the library."""

    tool: str
    count: int
    arguments: Callable[[str], dict[str, Any]]
    direct: Callable[[LocalProfile, str], Awaitable[Any]]
    given: Callable[[random.Random, int], str]

    def inputs(self, run: str) -> list[str]:
        dice = random.Random(self.tool)
        return [self.given(dice, n).replace("{run}", run) for n in range(self.count)]


def calls(ids: list[str], quick: bool) -> list[Call]:
    few, many = (60, 300) if quick else (200, 1000)
    return [
        Call("fetch", many, lambda id: {"id": id}, lambda p, id: p.get(id), lambda dice, _: dice.choice(ids)),
        Call("search", few, lambda q: {"query": q}, lambda p, q: p.search(q), lambda dice, _: dice.choice(QUESTIONS)),
        Call("remember", few, lambda t: {"content": t, "kind": "fact"}, lambda p, t: p.remember(t),
             lambda dice, n: f"{dice.choice(TEXTS)} [{n} {{run}}]"),
    ]  # fmt: skip


def http_request(body: dict[str, Any], where: tuple[str, str], *more: str) -> bytes:
    content = json.dumps(body).encode()
    head = [
        f"POST /mcp?namespace={where[0]}&profile={where[1]} HTTP/1.1", "host: localhost",
        f"authorization: Bearer {TOKEN}", "content-type: application/json",
        "accept: application/json, text/event-stream", f"content-length: {len(content)}", *more,
    ]  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def mcp_request(method: str, params: dict[str, Any], where: tuple[str, str], session: str | None = None) -> bytes:
    """One request: of the stateless revision, or in a session."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if session is not None:
        return http_request(body, where, f"mcp-protocol-version: {LEGACY}", f"mcp-session-id: {session}")
    named = (f"mcp-name: {params['name']}",) if "name" in params else ()
    body["params"] = params | {"_meta": META}
    return http_request(body, where, f"mcp-protocol-version: {MODERN}", f"mcp-method: {method}", *named)


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, server: Server) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = await self.reader.readexactly(int(length[1]) if length else 0)
        if b"transfer-encoding: chunked" in head.lower():
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readexactly(2)
        if not head.startswith(b"HTTP/1.1 2") or b'"isError":true' in body:
            sys.exit(f"{request!r}\n{head!r}{body!r}")
        return head, body

    async def began(self, where: tuple[str, str]) -> str:
        """A session of the handshake era."""
        told = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": told}
        head, _ = await self.ask(http_request(first, where))
        session = next(line[16:] for line in head.decode().lower().splitlines() if line.startswith("mcp-session-id: "))
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.ask(http_request(done, where, f"mcp-protocol-version: {LEGACY}", f"mcp-session-id: {session}"))
        return session


async def on_the_library(profile: LocalProfile, call: Call, turn: int, pause: float) -> float:
    """CPU ms a call; with a pause before each, as a server waits for the next request, but for the pause itself."""
    inputs = call.inputs(f"library {pause} {turn}")
    start = time.process_time()
    for _ in inputs if pause else ():
        await asyncio.sleep(pause)
    waited = time.process_time() - start
    for given in inputs:
        if pause:
            await asyncio.sleep(pause)
        await call.direct(profile, given)
    await profile.settle()
    return (time.process_time() - start - 2 * waited) / len(inputs) * 1e3


async def over_mcp(server: Server, call: Call, turn: int, session: bool) -> float:
    """CPU ms a call of the server."""
    connection = await Connection.to(server)
    held = await connection.began(WHO) if session else None
    requests = [
        mcp_request("tools/call", {"name": call.tool, "arguments": call.arguments(given)}, WHO, held)
        for given in call.inputs(f"{'legacy' if session else 'modern'} {turn}")
    ]
    start = server.cpu()
    for request in requests:
        await connection.ask(request)
    await asyncio.sleep(0.2)  # the digestion of the last
    spent = (server.cpu() - start) / len(requests) * 1e3
    connection.writer.close()
    return spent


async def costs(folder: Path, messages: int, quick: bool) -> list[dict[str, Any]]:
    async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
        await fill(holdfast.profile(*WHO), messages, random.Random(1))
    shutil.copytree(folder / "library", folder / "served")
    rows = []
    async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
        profile = holdfast.profile(*WHO)
        ids = [message.id for message in await profile.messages(limit=1000)]
        with server_process(folder / "served") as server:
            for call in calls(ids, quick):
                spent: dict[str, list[float]] = {"row": [], "library": [], "modern": [], "legacy": []}
                for turn in range(ROUNDS + 1):  # the first to warm up
                    spent["row"].append(await on_the_library(profile, call, turn, 0))
                    spent["library"].append(await on_the_library(profile, call, turn, PAUSE))
                    spent["modern"].append(await over_mcp(server, call, turn, session=False))
                    spent["legacy"].append(await over_mcp(server, call, turn, session=True))
                rows.append(
                    comparison_row(call.tool, {way: statistics.median(each[1:]) for way, each in spent.items()})
                )
                print(rows[-1], flush=True)
    return rows


def comparison_row(tool: str, spent: dict[str, float]) -> dict[str, Any]:
    added = {way: spent[way] - spent["library"] for way in ("modern", "legacy")}
    verdict = f"≤ {CALL_BAR:g} ms: {'met' if added['modern'] <= CALL_BAR else 'missed'}"
    return {
        "tool": tool, "library, without a pause": spent["row"], "library": spent["library"], MODERN: spent["modern"],
        "added": added["modern"], "bar": verdict, LEGACY: spent["legacy"], "added there": added["legacy"],
    }  # fmt: skip


async def measure_listeners(server: Server, count: int, session: bool) -> dict[str, Any]:
    """So many listeners, idle; then one write to the first profile."""
    before = memory(server.pid)
    held = [await listener(server, (WHO[0], f"l{n % LISTENED}"), session) for n in range(count)]
    await asyncio.sleep(2)
    each, busy = (memory(server.pid) - before) / count / 1024, server.cpu()
    await asyncio.sleep(20)
    idle = (server.cpu() - busy) / 20
    heard = [asyncio.create_task(c.reader.readuntil(b"resources/updated")) for c in held[::LISTENED]]
    start = time.perf_counter()
    arguments = {"content": f"Prefers window seats {session}", "kind": "fact"}
    told = {"name": "remember", "arguments": arguments}
    await (await Connection.to(server)).ask(mcp_request("tools/call", told, (WHO[0], "l0")))
    await asyncio.wait_for(asyncio.gather(*heard), 30)
    reached = time.perf_counter() - start
    for connection in held:
        connection.writer.close()
    return {
        "listeners": f"{count:,} × {'GET stream of a session' if session else 'subscriptions/listen'}",
        "KiB each": each, "CPU of all while idle, % of a core": idle * 100, "a write reaches its listeners in ms":
        reached * 1e3,
    }  # fmt: skip


async def listener(server: Server, where: tuple[str, str], session: bool) -> Connection:
    connection = await Connection.to(server)
    uri = f"holdfast://{where[0]}/{where[1]}/summary"
    if not session:
        connection.writer.write(
            mcp_request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}}, where)
        )
        await connection.reader.readuntil(b"subscriptions/acknowledged")
        return connection
    id = await connection.began(where)
    await connection.ask(mcp_request("resources/subscribe", {"uri": uri}, where, id))
    connection.writer.write(
        f"GET /mcp?namespace={where[0]}&profile={where[1]} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
        f"authorization: Bearer {TOKEN}\r\nmcp-protocol-version: {LEGACY}\r\nmcp-session-id: {id}\r\n\r\n".encode()
    )
    await connection.reader.readuntil(b"\r\n\r\n")
    return connection


async def wakes(folder: Path, messages: int) -> list[dict[str, Any]]:
    """A call on a profile that is closed, since only few may be open, beside the same call when it is open."""
    async with await AsyncHoldfast.open(folder, embedder=EMBEDDER) as holdfast:
        for n in range(8):
            await fill(holdfast.profile(WHO[0], f"w{n}"), messages if n == 0 else 40, random.Random(n))
        known = {n: (await holdfast.profile(WHO[0], f"w{n}").messages(limit=1))[0].id for n in range(8)}
    os.environ["HOLDFAST_OPEN_FILES"] = "4"
    closed: dict[str, list[float]] = {"fetch": [], "remember": []}
    opened: dict[str, list[float]] = {"fetch": [], "remember": []}
    with server_process(folder) as server:
        await listener(server, (WHO[0], "w0"), session=False)  # it is only listened to meanwhile
        connection = await Connection.to(server)

        async def call(n: int, tool: str, arguments: dict[str, Any]) -> float:
            start = time.perf_counter()
            await connection.ask(mcp_request("tools/call", {"name": tool, "arguments": arguments}, (WHO[0], f"w{n}")))
            return (time.perf_counter() - start) * 1e3

        for turn in range(30):
            for tool in closed:
                for n in range(1, 8):
                    await call(n, "fetch", {"id": known[n]})
                for times in (closed, opened):
                    text = {"content": f"Prefers seat {turn} {len(opened[tool])} {times is closed}", "kind": "fact"}
                    times[tool].append(await call(0, tool, text if tool == "remember" else {"id": known[0]}))
                await asyncio.sleep(0.3)
    del os.environ["HOLDFAST_OPEN_FILES"]
    return [wakeup_row(tool, opened[tool], closed[tool]) for tool in closed]


def wakeup_row(tool: str, opened: list[float], closed: list[float]) -> dict[str, Any]:
    usual = statistics.median(closed)
    return {
        "call": tool, "open, p50 ms": statistics.median(opened), "closed, p50 ms": usual,
        "closed, p95 ms": statistics.quantiles(closed, n=20)[-1],
        "bar": f"≤ {WAKE_BAR:g} ms: {'met' if usual <= WAKE_BAR else 'missed'}",
    }  # fmt: skip


async def measure(folder: Path, messages: int, quick: bool, listeners: int) -> list[list[dict[str, Any]]]:
    called = await costs(folder, messages, quick)
    held = []
    for session in (False, True):
        with server_process(folder / "served") as server:
            for n in range(LISTENED):  # what a profile costs is not the listeners'
                told = {"name": "remember", "arguments": {"content": "Is here", "kind": "fact"}}
                await (await Connection.to(server)).ask(mcp_request("tools/call", told, (WHO[0], f"l{n}")))
            held.append(await measure_listeners(server, listeners, session))
            print(held[-1], flush=True)
    return [called, held, await wakes(folder / "many", messages)]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="fewer calls")
    options.add_argument("--listeners", type=int, default=2000)
    options.add_argument("--out", type=Path, help="write the page here")
    chosen = options.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    messages, folder = 1_000, Path(tempfile.mkdtemp())
    try:
        called, held, woken = asyncio.run(measure(folder, messages, chosen.quick, chosen.listeners))
    finally:
        shutil.rmtree(folder)
    page = f"""# Cost of MCP

`python -m benchmarks.mcp{" --quick" if chosen.quick else ""}`, Python {platform.python_version()}, \
{os.cpu_count()} cores, a profile of {messages:,} messages, the `{EMBEDDER}` embedder on both sides.

## What a tools/call adds

{table(called)}

CPU ms of the whole process; the same calls on the library and over MCP, in turns, one client on a kept-alive
connection. Medians of {ROUNDS} rounds. A process that waits between calls, as every server does, wakes its threads and
fills its caches again, which costs the library itself more than calls without a pause; what MCP adds is beyond that.

## Idle listeners

{table(held)}

{LISTENED} profiles share the listeners. A burst of changes is told once, a fifth of a second after it began.

## Waking

{table(woken)}

Four profiles may be open, seven others were asked in the meantime, and one idle listener stays on the profile.
Wall time.
"""
    print(page)
    if chosen.out:
        chosen.out.write_text(page)


if __name__ == "__main__":
    main()
