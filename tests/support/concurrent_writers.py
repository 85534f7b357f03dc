"""Threads that write numbered items over HTTP until the server goes away, and what they were promised.

An item is acknowledged when its response begins with a good status, even if a kill cuts the rest. One whose connection
broke before that may have been written or not, once at most. Anything else the server says is a refusal.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx2 as httpx

from .server_process import ADMIN_TOKEN, ServerProcess

PROFILE_PATH = "/v1/namespaces/default/profiles/log"
PAGE = 1000


@dataclass
class WriteOutcomes:
    acknowledged: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    """Responses that began and did not come whole: none of them in a stop that was asked for."""

    def wait_until_acknowledged(self, count: int, timeout: float = 300.0) -> None:
        """Wait for this many acknowledgements, so that a test does the same work on a slow machine as on a fast one."""
        until = time.monotonic() + timeout
        while len(self.acknowledged) < count:
            assert time.monotonic() < until, f"{len(self.acknowledged)} of {count} writes were acknowledged in time"
            time.sleep(0.01)


class Writers:
    """As many threads as given; every second one ingests, the others remember."""

    def __init__(self, server: ServerProcess, promises: WriteOutcomes, cycle: int = 0, count: int = 4) -> None:
        self._base, self._promises = server.client.base_url, promises
        named = [f"{'line' if n % 2 else 'note'} {cycle}-{n}" for n in range(count)]
        self._threads = [threading.Thread(target=self._write, args=(name,), daemon=True) for name in named]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        """The server is gone by now, or soon."""
        for thread in self._threads:
            thread.join(300)
            assert not thread.is_alive()

    def _write(self, name: str) -> None:
        with httpx.Client(base_url=self._base, timeout=120) as client:
            for n in range(1_000_000):
                item = f"{name}-{n}"
                if not write_item(client, item, self._promises):
                    return


def write_item(client: httpx.Client, item: str, promises: WriteOutcomes) -> bool:
    """Whether to go on writing."""
    path, body = request_for(item)
    try:
        headers = {"authorization": f"Bearer {ADMIN_TOKEN}", "idempotency-key": item}
        with client.stream("POST", path, json=body, headers=headers) as response:
            if response.is_success:
                promises.acknowledged.add(item)
            try:
                said = response.read()
            except httpx.TransportError as cut:
                promises.cut.append(f"{item}: {response.status_code}, {cut}")
                return False
    except httpx.TransportError:
        promises.unsure.add(item)
        return False
    if not response.is_success:
        promises.refused.append(f"{item}: {response.status_code} {said!r}")
    return response.is_success


def request_for(item: str) -> tuple[str, dict[str, Any]]:
    if item.startswith("note"):
        return PROFILE_PATH + "/remember", {"content": item}
    session = item.rpartition("-")[0].replace(" ", "-")
    return PROFILE_PATH + "/ingest", {"messages": [{"role": "user", "content": item}], "session_id": session}


def item_counts(server: ServerProcess) -> Counter[str]:
    """How often each item is in the profile."""
    messages = server.call_json("GET", PROFILE_PATH + "/messages", params={"limit": 100_000})["messages"]
    found = Counter(message["content"] for message in messages if message["content"].startswith("line"))
    asked: dict[str, Any] = {"limit": PAGE}
    while True:
        page = server.call_json("POST", PROFILE_PATH + "/memories/list", json=asked)
        found.update(memory["content"] for memory in page["memories"] if memory["content"].startswith("note"))
        if page["cursor"] is None:
            return found
        asked["cursor"] = page["cursor"]


def assert_nothing_lost_or_doubled(server: ServerProcess, promises: WriteOutcomes) -> None:
    found = item_counts(server)
    assert promises.refused == []
    assert [item for item, times in found.items() if times > 1] == [], "doubled"
    assert promises.acknowledged - set(found) == set(), "lost"
    assert set(found) - promises.acknowledged - promises.unsure == set(), "from nowhere"


def repeat_writes(server: ServerProcess, promises: WriteOutcomes) -> None:
    """As a client would that missed an answer, write all doubtful items again, and some that are sure: once is once."""
    for item in [*sorted(promises.unsure), *sorted(promises.acknowledged)[::20]]:
        assert write_item(server.client, item, promises), promises.refused
    promises.unsure.clear()
    assert_nothing_lost_or_doubled(server, promises)


def assert_digestion_ends(server: ServerProcess) -> None:
    server.settle(PROFILE_PATH)
    stats = server.call_json("GET", PROFILE_PATH + "/stats")
    assert (stats["pending"], stats["set_aside"], stats["unembedded"]) == (0, 0, 0)
