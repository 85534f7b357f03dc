"""Several `holdfast serve` processes on one database, and clients that turn to another server when one fails them."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import httpx2 as httpx
import psycopg

from .server_process import ADMIN_TOKEN, ServerProcess

PROFILE_PATH = "/v1/namespaces/default/profiles/log"
KEY_COUNT = 5
MAX_SECONDS = 120.0
"""How many seconds an item may take to be acknowledged, whatever happens to the servers."""


class FleetMember(ServerProcess):
    """A server that keeps everything in the database; leaving the `with` block kills it."""

    def __init__(self, folder: Path, store: str, more: Mapping[str, str]) -> None:
        super().__init__(folder)
        self._told = {"HOLDFAST_STORE": store, **{f"HOLDFAST_{name.upper()}": value for name, value in more.items()}}

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = ADMIN_TOKEN,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        return self.client.request(method, path, headers={**self.known(token), **(headers or {})}, **more)

    def known(self, token: str | None = ADMIN_TOKEN) -> dict[str, str]:
        return {} if token is None else {"authorization": f"Bearer {token}"}

    def _command(self, *arguments: str) -> list[str]:
        told = [f"{name}={value}" for name, value in self._told.items()]
        return ["env", *told, sys.executable, "-m", "holdfast", *arguments]


@contextmanager
def running_fleet(count: int, folder: Path, store: str, **more: str) -> Iterator[list[FleetMember]]:
    """So many servers on one database, started together."""
    made = [FleetMember(folder / f"member-{n}", store, more) for n in range(count)]
    with ExitStack() as running, ThreadPoolExecutor(count) as together:
        list(together.map(running.enter_context, made))
        yield made


def store_url(dsn: str) -> str:
    """A connection string in the form that HOLDFAST_STORE takes."""
    parts = {name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(dsn).items() if value}
    return f"postgresql:///{parts.pop('dbname')}?{urlencode(parts, safe='/,')}"


@dataclass
class WriteLog:
    """What the servers answered, and when."""

    acknowledged: dict[str, float] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of every attempt: ok, refused (no connection), broken (no answer), or what else was said."""
    stuck: list[str] = field(default_factory=list)

    def of(self, kind: str) -> Counter[str]:
        """What must be there, each once."""
        return Counter(content(item) for item in self.acknowledged if item.startswith(kind))

    @property
    def longest_gap(self) -> float:
        times = sorted(self.acknowledged.values())
        return max((later - sooner for sooner, later in itertools.pairwise(times)), default=0.0)


class Load:
    """Threads that write numbered items, each at the next server, and again at the one after until it is acknowledged.

    A line is a message, a note a memory without a key, a turn a version of one of a few keys that all threads share.
    """

    def __init__(
        self, servers: Sequence[ServerProcess], *, threads: int = 4, pause: float = 0.1, keep: bool = True
    ) -> None:
        self._servers, self._pause, self._keep = servers, pause, keep
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(threads)]
        self.told = WriteLog()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(MAX_SECONDS + 30)
            assert not thread.is_alive()

    def _write(self, thread: int) -> None:
        kept = None if self._keep else 0
        with httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=kept)) as client:
            for n in itertools.count(thread):
                if self._over.is_set():
                    return
                self._until_acknowledged(client, f"{('line', 'note', 'turn')[n % 3]} {thread}-{n}", n)
                time.sleep(self._pause)

    def _until_acknowledged(self, client: httpx.Client, item: str, first: int) -> None:
        until = time.monotonic() + MAX_SECONDS
        for n in itertools.count(first):
            outcome = attempt_write(client, self._servers[n % len(self._servers)], item)
            self.told.outcomes[outcome] += 1
            if outcome == "ok":
                self.told.acknowledged[item] = time.monotonic()
                return
            if time.monotonic() > until:
                self.told.stuck.append(item)
                return
            time.sleep(0.05)


def attempt_write(client: httpx.Client, server: ServerProcess, item: str) -> str:
    path, body = request_for(item)
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    if not item.startswith("note"):
        headers["idempotency-key"] = item
    try:
        answer = client.post(server.client.base_url.join(path), json=body, headers=headers)
    except httpx.ConnectError:
        return "refused"
    except httpx.TransportError as broken:
        return f"broken: {type(broken).__name__}"
    if answer.is_success:
        return "ok"
    if answer.status_code == 503 and "retry-after" in answer.headers:
        return "503"
    return f"{answer.status_code} {answer.text}"


def content(item: str) -> str:
    kind, number = item.split()
    return f"I bought lamp {number} at the market." if kind == "line" else item


def request_for(item: str) -> tuple[str, dict[str, Any]]:
    kind, number = item.split()
    thread, n = number.split("-")
    if kind == "line":
        said = {"role": "user", "content": content(item)}
        return PROFILE_PATH + "/ingest", {"messages": [said], "session_id": f"thread-{thread}"}
    return PROFILE_PATH + "/remember", {"content": item} | (
        {"key": f"turn-{int(n) % KEY_COUNT}"} if kind == "turn" else {}
    )


def assert_everything_there_once(server: ServerProcess, told: WriteLog) -> None:
    """Every acknowledged item, and nothing else, is kept and was digested once."""
    assert told.stuck == []
    messages = server.call_json("GET", PROFILE_PATH + "/messages", params={"limit": 100_000})["messages"]
    assert Counter(message["content"] for message in messages) == told.of("line")
    memories = current_memories(server)
    notes = Counter(each["content"] for each in memories if each["content"].startswith("note"))
    assert notes == told.of("note")
    heads = [each for each in memories if each["key"] is not None]
    assert Counter(each["key"] for each in heads) == Counter({f"turn-{n}": 1 for n in range(KEY_COUNT)})
    chains = [server.call_json("GET", f"{PROFILE_PATH}/memories/{head['id']}/history")["versions"] for head in heads]
    assert Counter(version["content"] for chain in chains for version in chain) == told.of("turn")
    for chain in chains:
        assert [version["version"] for version in chain] == list(range(len(chain), 0, -1))
    drawn = Counter(source for each in memories for source in each["sources"])
    assert drawn == Counter(message["id"] for message in messages), "a message makes one memory"
    assert len(memories) == len(heads) + len(messages) + sum(notes.values())


def current_memories(server: ServerProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"limit": 1000}
    while True:
        page = server.call_json("POST", PROFILE_PATH + "/memories/list", json=asked)
        found += page["memories"]
        if page["cursor"] is None:
            return found
        asked["cursor"] = page["cursor"]


def wait_until_settled(server: ServerProcess, seconds: float) -> float:
    """Wait until nothing is left to do; how long that took."""
    start = time.monotonic()
    while True:
        stats = server.call_json("GET", PROFILE_PATH + "/stats")
        left = {name: stats[name] for name in ("pending", "set_aside", "unembedded")}
        if not any(left.values()):
            break
        assert time.monotonic() - start < seconds, f"still waiting after {seconds} s: {left}"
        time.sleep(0.2)
    states = Counter(
        job["state"] for job in server.call_json("GET", PROFILE_PATH + "/jobs", params={"limit": 1000})["jobs"]
    )
    assert set(states) <= {"done"}, states
    return time.monotonic() - start
