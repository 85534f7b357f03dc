"""Cost of the HTTP service: `python -m benchmarks.service [--quick] [--out docs/results/service.md]`.

One `holdfast serve` process with one profile of 10,000 messages, asked over kept-alive connections by 1, 8 and 64
clients in this process. CPU is the server process's own, so that a busy machine changes it little. The same calls are
made on the library, in this process and on a copy of the folder, in turns with the server: the difference is what
serving costs. Both use the cheap embedder (potion), so that the model does not hide it. Writes include their digestion.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embedded import QUESTIONS, TEXTS, fill

from holdfast import AsyncHoldfast
from holdfast.service.profile.local import LocalProfile

TOKEN = "preset-admin-token-of-the-benchmark"
EMBEDDER = "potion"
WHO = ("bench", "p")
PLACE = "/v1/namespaces/{}/profiles/{}".format(*WHO)
CLIENTS = (1, 8, 64)
ROUNDS = 5
TICKS = os.sysconf("SC_CLK_TCK")
LENGTH = re.compile(rb"content-length: (\d+)", re.I)
SETTLE = f"POST {PLACE}/settle?timeout=60 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode()
GET_BAR, SEARCH_BAR = 1.0, 2.0
"""CPU ms: a get in all, a search beyond the library's own."""


@dataclass(frozen=True)
class Call:
    """One kind of call: what it says over HTTP, and the same in this process."""

    name: str
    count: int
    """How many to a round."""
    method: str
    path: str
    body: Callable[[str], Any]
    direct: Callable[[LocalProfile, str], Awaitable[Any]]
    given: Callable[[random.Random, int], str]
    """What the n-th call is about: an id, a question or a text."""

    def inputs(self, run: str) -> list[str]:
        """The same for every run, but for a mark that keeps written texts apart."""
        dice = random.Random(self.name)
        return [self.given(dice, n).format(run=run) for n in range(self.count)]

    def request(self, given: str) -> bytes:
        body = b"" if self.method == "GET" else json.dumps(self.body(given)).encode()
        head = (
            f"{self.method} {PLACE}{self.path.format(id=given)} HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def calls(ids: list[str], quick: bool) -> list[Call]:
    def text(dice: random.Random, n: int) -> str:
        return f"{dice.choice(TEXTS)} [{n} ".replace("{", "(").replace("}", ")") + "{run}]"

    def said(given: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": given}]

    gets, searches, writes = (500, 60, 40) if quick else (1000, 200, 100)
    return [
        Call("get", gets, "GET", "/memories/{id}", lambda _: None, lambda p, id: p.get(id),
             lambda dice, _: dice.choice(ids)),
        Call("search", searches, "POST", "/search", lambda q: {"query": q}, lambda p, q: p.search(q),
             lambda dice, _: dice.choice(QUESTIONS)),
        Call("ingest", writes, "POST", "/ingest", lambda t: {"messages": said(t), "session_id": "live"},
             lambda p, t: p.ingest(said(t), session_id="live"), text),
        Call("remember", writes, "POST", "/remember", lambda t: {"content": t}, lambda p, t: p.remember(t), text),
    ]  # fmt: skip


async def in_process(profile: LocalProfile, call: Call, turn: int) -> float:
    """CPU ms a call on the library."""
    inputs = call.inputs(f"library {turn}")
    start = time.process_time()
    for given in inputs:
        await call.direct(profile, given)
    await profile.settle()
    return (time.process_time() - start) / len(inputs) * 1e3


@dataclass(frozen=True)
class Server:
    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds that all its threads have used so far."""
        after_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / TICKS


@contextmanager
def server_process(folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "holdfast", "serve", "--data", str(folder), "--port", str(port)]
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}  # embedded sets it
    settings = own | {"HOLDFAST_ADMIN_TOKEN": TOKEN, "HOLDFAST_EMBEDDER": EMBEDDER}
    process = subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if process.poll() is not None:
                sys.exit("holdfast serve ended while starting")
            time.sleep(0.05)
        yield Server(process.pid, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


class Connection:
    """One kept-alive connection: as little client as will do."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, server: Server) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    async def ask(self, request: bytes) -> None:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1]) if length else 0)
        if not head.startswith(b"HTTP/1.1 2"):
            sys.exit(f"{request!r}\n{head!r}{body!r}")

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def over_http(server: Server, call: Call, clients: int, turn: int) -> tuple[float, float, list[float]]:
    """CPU ms a call of the server, seconds in all, and each call's latency in ms."""
    waiting = iter([call.request(given) for given in call.inputs(f"{clients} clients {turn}")])
    connections = [await Connection.to(server) for _ in range(clients)]
    walls: list[float] = []

    async def work(connection: Connection) -> None:
        for request in waiting:
            start = time.perf_counter()
            await connection.ask(request)
            walls.append((time.perf_counter() - start) * 1e3)

    cpu, began = server.cpu(), time.perf_counter()
    await asyncio.gather(*(work(connection) for connection in connections))
    wall = time.perf_counter() - began
    await connections[0].ask(SETTLE)
    cpu = (server.cpu() - cpu) / len(walls) * 1e3
    for connection in connections:
        await connection.close()
    return cpu, wall, walls


async def rounds(server: Server, profile: LocalProfile, call: Call) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The library and the server in turns, the first turn to warm up; what serving adds, and a row for each load."""
    library: list[float] = []
    served: dict[int, list[tuple[float, float, list[float]]]] = {clients: [] for clients in CLIENTS}
    for turn in range(ROUNDS + 1):
        library.append(await in_process(profile, call, turn))
        for clients in CLIENTS:
            served[clients].append(await over_http(server, call, clients, turn))
    rows = [row(call, clients, served[clients][1:]) for clients in CLIENTS]
    return comparison_row(call.name, statistics.median(library[1:]), rows[0]["CPU ms"]), rows


def row(call: Call, clients: int, turns: list[tuple[float, float, list[float]]]) -> dict[str, Any]:
    cpu = statistics.median(cpu for cpu, _, _ in turns)
    walls = sorted(wall for _, _, walls in turns for wall in walls)
    centiles = statistics.quantiles(walls, n=100)
    return {
        "call": call.name, "clients": clients, "CPU ms": cpu, "requests / CPU s": 1e3 / cpu,
        "requests / s": len(walls) / sum(seconds for _, seconds, _ in turns),
        **{f"p{share} ms": centiles[share - 1] for share in (50, 95, 99)},
    }  # fmt: skip


def comparison_row(name: str, library: float, served: float) -> dict[str, Any]:
    """The library's CPU beside the service's with one client, which takes turns as the library does."""
    added = served - library
    bars = {"get": (served, GET_BAR, "in all"), "search": (added, SEARCH_BAR, "beyond the library")}
    cost, bar, of = bars.get(name, (0.0, 0.0, ""))
    verdict = f"≤ {bar:g} ms {of}: {'met' if cost <= bar else 'missed'}" if bar else ""
    return {"call": name, "library CPU ms": library, "service CPU ms": served, "added": added, "bar": verdict}


def table(rows: list[dict[str, Any]]) -> str:
    def shown(value: Any) -> str:
        return f"{value:,.0f}" if isinstance(value, float) and value >= 100 else (
            f"{value:.2f}" if isinstance(value, float) else str(value)
        )  # fmt: skip

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return "\n".join(lines + ["| " + " | ".join(map(shown, row.values())) + " |" for row in rows])


async def measure(folder: Path, messages: int, quick: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
        await fill(holdfast.profile(*WHO), messages, random.Random(1))
    shutil.copytree(folder / "library", folder / "served")
    added, rows = [], []
    async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
        profile = holdfast.profile(*WHO)
        ids = [message.id for message in await profile.messages(limit=1000)]
        with server_process(folder / "served") as server:
            for call in calls(ids, quick):
                beside, loads = await rounds(server, profile, call)
                added.append(beside)
                rows += loads
                print(beside, *loads, sep="\n", flush=True)
    return added, rows


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="1,000 messages and fewer calls")
    options.add_argument("--out", type=Path, help="write the page here")
    chosen = options.parse_args()
    messages = 1_000 if chosen.quick else 10_000
    folder = Path(tempfile.mkdtemp())
    try:
        added, rows = asyncio.run(measure(folder, messages, chosen.quick))
    finally:
        shutil.rmtree(folder)
    page = f"""# Cost of the HTTP service

`python -m benchmarks.service{" --quick" if chosen.quick else ""}`, Python {platform.python_version()}, \
{os.cpu_count()} cores, a profile of {messages:,} messages, the `{EMBEDDER}` embedder on both sides.
CPU is all of the server process's, user and system. Writes are durable when they return and include their digestion.

## What serving adds

{table(added)}

One client; the same calls one after another on the library and over HTTP, in turns. Medians of {ROUNDS} rounds.

## Under load

{table(rows)}

Latency as the client sees it, over kept-alive connections on one machine, the clients sharing its cores.
"""
    print(page)
    if chosen.out:
        chosen.out.write_text(page)


if __name__ == "__main__":
    main()
