"""Threads that write numbered items over HTTP until the server goes away, and what they were promised.

An item is acknowledged when its response begins with a good status, even if a kill cuts the rest. One whose connection
broke before that may have been written or not, once at most. Anything else the server says is a refusal.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx2 as httpx
from server import ADMIN, Server

PLACE = "/v1/namespaces/default/profiles/log"
PAGE = 1000


@dataclass
class Promises:
    acknowledged: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    """Responses that began and did not come whole: none of them in a stop that was asked for."""


class Writers:
    """As many threads as given; every second one ingests, the others remember."""

    def __init__(self, server: Server, promises: Promises, cycle: int = 0, count: int = 4) -> None:
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
            thread.join(30)
            assert not thread.is_alive()

    def _write(self, name: str) -> None:
        with httpx.Client(base_url=self._base, timeout=30) as client:
            for n in range(1_000_000):
                item = f"{name}-{n}"
                if not written(client, item, self._promises):
                    return


def written(client: httpx.Client, item: str, promises: Promises) -> bool:
    """Whether to go on writing."""
    path, body = request_for(item)
    try:
        with client.stream("POST", path, json=body, headers={"authorization": f"Bearer {ADMIN}"}) as response:
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
        return PLACE + "/remember", {"content": item}
    session = item.rpartition("-")[0].replace(" ", "-")
    return PLACE + "/ingest", {"messages": [{"role": "user", "content": item}], "session_id": session}


def kept(server: Server) -> Counter[str]:
    """How often each item is in the profile."""
    messages = server.told("GET", PLACE + "/messages", params={"limit": 100_000})["messages"]
    found = Counter(message["content"] for message in messages if message["content"].startswith("line"))
    asked: dict[str, Any] = {"limit": PAGE}
    while True:
        page = server.told("POST", PLACE + "/memories/list", json=asked)
        found.update(memory["content"] for memory in page["memories"] if memory["content"].startswith("note"))
        if page["cursor"] is None:
            return found
        asked["cursor"] = page["cursor"]


def nothing_is_lost_or_doubled(server: Server, promises: Promises) -> None:
    found = kept(server)
    assert promises.refused == []
    assert [item for item, times in found.items() if times > 1] == [], "doubled"
    assert promises.acknowledged - set(found) == set(), "lost"
    assert set(found) - promises.acknowledged - promises.unsure == set(), "from nowhere"


def repeated(server: Server, promises: Promises) -> None:
    """As a client would that missed an answer, write all doubtful items again, and some that are sure: once is once."""
    for item in [*sorted(promises.unsure), *sorted(promises.acknowledged)[::20]]:
        assert written(server.client, item, promises), promises.refused
    promises.unsure.clear()
    nothing_is_lost_or_doubled(server, promises)


def digestion_comes_to_its_end(server: Server) -> None:
    assert server.told("POST", PLACE + "/settle", params={"timeout": 30}) == {"settled": True}
    stats = server.told("GET", PLACE + "/stats")
    assert (stats["pending"], stats["set_aside"], stats["unembedded"]) == (0, 0, 0)
