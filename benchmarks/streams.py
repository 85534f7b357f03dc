"""Thousands of idle event streams on one server: memory and CPU of each, and how long a write takes to reach all.

python -m benchmarks.streams [--streams 5000] [--seconds 60] [--out docs/results/streams.md]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.service import TOKEN, server_process

PROFILES = 50


async def main(streams: int, seconds: float, out: str | None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder, server_process(Path(folder)) as server:
        before = memory(server.pid)
        listeners = [await listen(server.port, f"p{n % PROFILES}") for n in range(streams)]
        await asyncio.sleep(2)
        held, busy = memory(server.pid) - before, server.cpu()
        await asyncio.sleep(seconds)
        idle = (server.cpu() - busy) / seconds
        alive = sum(not reader.at_eof() for reader, _ in listeners)
        reached = await one_write(server.port, listeners)
        lines = [
            "# Idle event streams", "",
            f"{streams:,} streams of {PROFILES} profiles on one process, {seconds:.0f} s idle. "
            "`python -m benchmarks.streams` measures it again.", "",
            "| | |", "|---|---|",
            f"| memory per stream | {held / streams / 1024:.1f} KiB |",
            f"| CPU while idle, all streams (a heartbeat each 15 s) | {idle * 100:.1f} % of one core |",
            f"| still open after {seconds:.0f} s | {alive:,} |",
            f"| a write to one profile reaches its {streams // PROFILES:,} listeners | {reached * 1000:.0f} ms |",
        ]  # fmt: skip
        print("\n".join(lines))
        if out:
            Path(out).write_text("\n".join(lines) + "\n")


async def listen(port: int, profile: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = f"/v1/namespaces/default/profiles/{profile}/events"
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode())
    await reader.readuntil(b": listening")
    return reader, writer


async def one_write(port: int, listeners: list[Any]) -> float:
    """Seconds until every listener of the first profile has heard of it."""
    mine = [reader for n, (reader, _) in enumerate(listeners) if n % PROFILES == 0]
    heard = [asyncio.create_task(reader.readuntil(b"event: memory.added")) for reader in mine]
    body = json.dumps({"content": "Prefers window seats"})
    start = time.perf_counter()
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /v1/namespaces/default/profiles/p0/remember HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
    )
    await asyncio.wait_for(asyncio.gather(*heard), 30)
    return time.perf_counter() - start


def memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--out")
    given = parser.parse_args()
    asyncio.run(main(given.streams, given.seconds, given.out))
