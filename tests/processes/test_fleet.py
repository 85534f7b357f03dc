"""Several servers on one database behave as one: what is done at one holds at the others, and any of them may die."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.postgres import database
from support.postgres_cluster import Cluster, cluster_url
from support.server_fleet import (
    PROFILE_PATH,
    FleetMember,
    Load,
    assert_everything_there_once,
    current_memories,
    running_fleet,
    store_url,
    wait_until_settled,
)

LIMIT = 40
HOUR = 3600
MANY = 400


@dataclass(frozen=True)
class Pair:
    """Two servers on one database, and within how many seconds one of them knows what the other did: far more than it
    takes, since only word from the other makes it known at all."""

    one: FleetMember
    two: FleetMember
    soon: float = 60.0

    def becomes(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + self.soon
        while not holds():
            assert time.monotonic() < until, f"not within {self.soon} s"
            time.sleep(0.02)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with database() as dsn, running_fleet(2, folder, store_url(dsn), rate_limit=f"{LIMIT}/hour") as made:
        yield Pair(*made)


def place(profile: str, namespace: str = "default") -> str:
    return f"/v1/namespaces/{namespace}/profiles/{profile}"


def issue_key(pair: Pair, **wish: Any) -> tuple[str, str]:
    """A new key: its id and its token."""
    made = pair.one.call_json("POST", "/v1/credentials", json={"name": "tried", **wish})
    return made["credential"]["id"], made["token"]


def test_a_listener_hears_what_another_server_writes(pair: Pair) -> None:
    pair.one.call_json("POST", place("heard") + "/remember", json={"content": "before"})
    path, heard = place("heard") + "/events", threading.Event()
    ids: list[str] = []

    def listen() -> None:
        with pair.two.client.stream("GET", path, headers=pair.two.known()) as stream:
            for line in stream.iter_lines():
                if line == ": listening":
                    heard.set()
                elif line.startswith("data: "):
                    ids.append(json.loads(line.removeprefix("data: "))["id"])
                    return

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    assert heard.wait(120)
    kept = pair.one.call_json("POST", place("heard") + "/remember", json={"content": "after"})
    listening.join(pair.soon)
    assert ids == [kept["id"]]


def test_a_revoked_token_ends_everywhere(pair: Pair) -> None:
    id, token = issue_key(pair)
    pair.two.call_json("POST", place("revoked") + "/remember", token, json={"content": "while it was good"})
    pair.one.call_json("DELETE", f"/v1/credentials/{id}")
    pair.becomes(lambda: pair.two.ask("GET", place("revoked") + "/stats", token).status_code == 401)


def test_what_is_deleted_is_gone_everywhere(pair: Pair) -> None:
    pair.one.call_json("POST", "/v1/namespaces", json={"name": "doomed"})
    for profile in ("one", "two"):
        pair.one.call_json("POST", place(profile, "doomed") + "/remember", json={"content": "soon gone"})
        pair.two.call_json("GET", place(profile, "doomed") + "/stats")
    pair.one.call_json("DELETE", place("one", "doomed"))
    pair.becomes(lambda: pair.two.call_json("GET", place("one", "doomed") + "/stats")["memories"] == 0)
    pair.two.call_json("GET", place("two", "doomed") + "/stats")
    pair.one.call_json("DELETE", "/v1/namespaces/doomed")
    pair.becomes(lambda: pair.two.ask("GET", "/v1/namespaces/doomed").status_code == 404)
    assert pair.two.ask("GET", place("two", "doomed") + "/stats").status_code == 404


def test_a_repeat_at_another_server_is_no_second_write(pair: Pair) -> None:
    once = {"headers": {"idempotency-key": "once"}, "json": {"content": "first", "key": "k"}}
    kept = pair.one.call_json("POST", place("once") + "/remember", **once)
    pair.two.call_json("POST", place("once") + "/remember", json={"content": "second", "key": "k"})
    assert pair.two.call_json("POST", place("once") + "/remember", **once)["id"] == kept["id"]
    versions = pair.one.call_json("GET", f"{place('once')}/memories/{kept['id']}/history")["versions"]
    assert [version["content"] for version in versions] == ["second", "first"]
    other = {**once, "json": {"content": "another", "key": "k"}}
    assert pair.two.ask("POST", place("once") + "/remember", **other).status_code == 422


def test_a_job_is_known_everywhere(pair: Pair) -> None:
    said = [{"role": "user", "content": "I bought a lamp at the market."}]
    job = pair.one.call_json("POST", place("job") + "/ingest", json={"messages": said})["job"]
    pair.two.settle(place("job"))
    found = pair.two.call_json("GET", f"{place('job')}/jobs/{job}")
    assert (found["state"], found["total"], len(found["memories"])) == ("done", 1, 1)


def test_a_limit_is_one_limit(pair: Pair) -> None:
    for _ in range(2):  # the count begins anew with every hour
        began = time.time()
        _, token = issue_key(pair, rights=["read"])
        answers = [
            each.ask("GET", "/v1/namespaces", token).status_code for _ in range(LIMIT) for each in (pair.one, pair.two)
        ]
        if began // HOUR == time.time() // HOUR:
            break
    assert answers.count(200) == LIMIT
    assert set(answers) == {200, 429}
    assert int(pair.two.ask("GET", "/v1/namespaces", token).headers["retry-after"]) > 0


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[list[FleetMember], Cluster]]:
    with Cluster() as cluster, running_fleet(3, tmp_path, cluster_url(cluster)) as made:
        yield made, cluster


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_kill_loses_or_doubles_anything(three: tuple[list[FleetMember], Cluster]) -> None:
    servers, cluster = three
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice, cycles = random.Random(seed), 25
    with Load(servers) as load:
        for _ in range(cycles):
            time.sleep(dice.uniform(0.3, 1.0))
            one = dice.choice(servers)
            assert one.stop(signal.SIGKILL) == -signal.SIGKILL
            one.start()
    told = load.told
    took = wait_until_settled(servers[0], 60)
    assert {outcome.partition(":")[0] for outcome in told.outcomes} <= {"ok", "refused", "broken", "503"}
    assert_everything_there_once(servers[1], told)
    digested = "SELECT sum((data::json ->> 'digested')::int) FROM event WHERE type = 'digestion.progress'"
    assert cluster.ask(digested) == sum(told.of("line").values()), "each message is digested once"
    print(f"{cycles} kills, {len(told.acknowledged)} acknowledged, none lost or doubled, {dict(told.outcomes)}, "
          f"longest gap {told.longest_gap:.1f} s, all done after {took:.0f} s")  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_rolling_restart_is_not_noticed(three: tuple[list[FleetMember], Cluster]) -> None:
    """But by clients that are refused a connection or asked to wait, and then ask another server."""
    servers, _ = three
    rounds = 3
    with Load(servers, keep=False, pause=0.02) as load:
        for one in servers * rounds:
            time.sleep(0.5)
            assert one.stop(signal.SIGTERM) == 0, one.log_tail()
            one.start()
    told = load.told
    took = wait_until_settled(servers[0], 60)
    assert set(told.outcomes) <= {"ok", "refused", "503"}
    assert_everything_there_once(servers[1], told)
    print(f"{rounds * len(servers)} restarts, {len(told.acknowledged)} acknowledged, none lost or doubled, "
          f"{dict(told.outcomes)}, longest gap {told.longest_gap:.1f} s, all done after {took:.0f} s")  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_that_was_thought_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    """It comes back in the middle of its work, takes more, and is gone for good: the other must see that, too."""
    with Cluster() as cluster, running_fleet(2, tmp_path, cluster_url(cluster)) as (stays, goes):
        goes.call_json("POST", PROFILE_PATH + "/ingest", json={"messages": bought(0), "session_id": "early"})
        goes.send(signal.SIGSTOP)
        until = time.monotonic() + 90
        while cluster.ask("SELECT rested_under FROM profile WHERE name = 'log'") is None:
            assert time.monotonic() < until, "nobody took over"
            time.sleep(0.5)
        goes.send(signal.SIGCONT)
        time.sleep(0.5)
        goes.call_json("POST", PROFILE_PATH + "/ingest", json={"messages": bought(MANY), "session_id": "late"})
        goes.stop(signal.SIGKILL)
        assert stays.call_json("GET", PROFILE_PATH + "/stats")["pending"] > 0, (
            "nothing was left to digest: the test is too easy"
        )
        wait_until_settled(stays, 60)
        drawn = [memory for memory in current_memories(stays) if memory["sources"]]
        assert len(drawn) == 2 * MANY


def bought(first: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"I bought lamp {n} at the market."} for n in range(first, first + MANY)]
