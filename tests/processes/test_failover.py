"""A primary with a standby: nothing acknowledged is lost with the one, and reads may be answered by the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from support.postgres_cluster import Cluster, cluster_url
from support.server_fleet import (
    PROFILE_PATH,
    FleetMember,
    Load,
    assert_everything_there_once,
    running_fleet,
    wait_until_settled,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
OUTAGE = 8.0
"""Longer than a request waits for the database."""
STALE = 5.0
turns = count()


@pytest.fixture
def couple() -> Iterator[tuple[Cluster, Cluster]]:
    with Cluster() as primary, Cluster(primary) as standby:
        primary.until(lambda: primary.ask("SELECT count(*) FROM pg_stat_replication") == 1, "nobody follows")
        yield primary, standby


@pytest.fixture
def synchronous(couple: tuple[Cluster, Cluster]) -> tuple[Cluster, Cluster]:
    """No commit returns before the standby has it."""
    primary, standby = couple
    primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{standby.name}'")
    primary.ask("SELECT pg_reload_conf()")
    primary.until(lambda: primary.ask("SELECT sync_state FROM pg_stat_replication") == "sync", "it is not synchronous")
    return couple


def test_a_failover_loses_nothing(synchronous: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    primary, standby = synchronous
    store = cluster_url(primary, standby, target_session_attrs="read-write")
    with running_fleet(2, tmp_path, store) as servers:
        with Load(servers) as load:
            time.sleep(3)
            primary.kill()
            at = time.monotonic()
            asked_in_vain(servers)
            time.sleep(max(0.0, at + OUTAGE - time.monotonic()))
            standby.promote()
            promoted = time.monotonic()
            time.sleep(8)
        told = load.told
        assert set(told.outcomes) == {"ok", "503"}
        back = min(each for each in told.acknowledged.values() if each > promoted) - promoted
        took = wait_until_settled(servers[0], 60)
        assert_everything_there_once(servers[1], told)
        print(f"{len(told.acknowledged)} acknowledged, none lost or doubled, {dict(told.outcomes)}; no primary for "
              f"{promoted - at:.1f} s, longest gap {told.longest_gap:.1f} s, {back:.1f} s after the promotion; "
              f"nothing left to do after {took:.0f} s")  # fmt: skip
        assert back < 5
        hears_again(*servers)


def test_a_primary_that_hangs_is_given_up(synchronous: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """Its connections stay open and nobody answers, while another is primary already."""
    primary, standby = synchronous
    with running_fleet(2, tmp_path, cluster_url(primary, standby, target_session_attrs="read-write")) as servers:
        with Load(servers) as load:
            time.sleep(3)
            primary.pause()
            standby.promote()
            time.sleep(60)
        told = load.told
        assert set(told.outcomes) == {"ok", "503"}
        wait_until_settled(servers[0], 60)
        assert_everything_there_once(servers[1], told)
        hears_again(*servers)
        print(f"{len(told.acknowledged)} acknowledged, none lost or doubled, {dict(told.outcomes)}, "
              f"longest gap {told.longest_gap:.1f} s")  # fmt: skip


def asked_in_vain(servers: list[FleetMember]) -> None:
    """Whatever is asked of whomever while there is no primary, the answer is to come back in a moment."""
    ask: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", PROFILE_PATH + "/stats", {}),
        ("POST", PROFILE_PATH + "/search", {"json": {"query": "lamp"}}),
        ("POST", PROFILE_PATH + "/remember", {"json": {"content": "unheard"}, "token": "nobody's token"}),
        ("GET", "/v1/namespaces", {}),
        ("GET", "/v1/credentials", {}),
        ("DELETE", PROFILE_PATH, {}),
        ("GET", "/readyz", {"token": None}),
    ]
    calls = [(server, *each) for server in servers for each in ask]
    with ThreadPoolExecutor(len(calls)) as together:
        answers = list(together.map(lambda call: call[0].ask(call[1], call[2], **call[3]), calls))
    told = {f"{call[1]} {call[2]}": answer.status_code for call, answer in zip(calls, answers, strict=True)}
    assert set(told.values()) == {503}, told
    unhelpful = [path for (_, _, path, _), answer in zip(calls, answers, strict=True) if _says_nothing(answer)]
    assert set(unhelpful) <= {"/readyz"}
    assert all(server.ask("GET", "/healthz", None).is_success for server in servers)


def _says_nothing(answer: httpx.Response) -> bool:
    return int(answer.headers.get("retry-after", 0)) < 1


def hears_again(one: FleetMember, two: FleetMember) -> None:
    """Listening begins anew at the new primary."""
    listening, heard = threading.Event(), threading.Event()

    def listen() -> None:
        with two.client.stream("GET", PROFILE_PATH + "/events", headers=two.known()) as stream:
            for line in stream.iter_lines():
                listening.set()
                if line.startswith("event: memory.added"):
                    heard.set()
                    return

    threading.Thread(target=listen, daemon=True).start()
    assert listening.wait(10)
    time.sleep(0.3)
    one.call_json("POST", PROFILE_PATH + "/remember", json={"content": "after the failover"})
    assert heard.wait(1)


def test_what_the_standby_has_not_got_is_not_acknowledged(synchronous: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """However long it takes: a limit on how long a statement may run must not end the wait of a commit."""
    primary, standby = synchronous
    with running_fleet(1, tmp_path, cluster_url(primary)) as (server,):
        server.call_json("POST", PROFILE_PATH + "/remember", json={"content": "both have it"})
        wait_until_settled(server, 10)  # or the commit that waits is not ours
        standby.pause()
        write = {"json": {"content": "one of them has it"}, "headers": {"idempotency-key": "k"}}
        try:
            answer = server.ask("POST", PROFILE_PATH + "/remember", timeout=35, **write)
            assert answer.status_code == 503, f"acknowledged: {answer.text}"
        except httpx.ReadTimeout:
            pass
        standby.resume()
        kept = server.call_json("POST", PROFILE_PATH + "/remember", **write)
        found = server.call_json("POST", PROFILE_PATH + "/memories/list", json={})["memories"]
        assert [memory["content"] for memory in found] == ["one of them has it", "both have it"]
        assert found[0]["id"] == kept["id"]


@pytest.fixture
def readers(
    couple: tuple[Cluster, Cluster], tmp_path: Path
) -> Iterator[tuple[Cluster, Cluster, FleetMember, FleetMember]]:
    """Two servers that may read from the standby; it has all there is, and replays no more."""
    primary, standby = couple
    with running_fleet(2, tmp_path, cluster_url(primary), replica=cluster_url(standby)) as (one, two):
        one.call_json("POST", PROFILE_PATH + "/remember", json={"content": "old"})
        soon(lambda: seen_memories(two) == (["old"], "replica"))
        standby.ask("SELECT pg_wal_replay_pause()")
        standby.until(lambda: standby.ask("SELECT pg_get_wal_replay_pause_state()") == "paused", "it goes on")
        yield primary, standby, one, two


def test_a_reader_sees_what_it_knows_of(readers: tuple[Cluster, Cluster, FleetMember, FleetMember]) -> None:
    _, standby, one, two = readers
    answer = one.ask("POST", PROFILE_PATH + "/remember", json={"content": "new"})
    written = time.monotonic()
    bookmark = {"holdfast-bookmark": answer.headers["holdfast-bookmark"]}
    assert seen_memories(one) == (["new", "old"], "primary"), "it wrote it itself"
    assert seen_memories(two, bookmark) == (["new", "old"], "primary"), "it was told of it"
    assert seen_memories(two) == (["old"], "replica"), "it was not, and the replica is a moment behind"
    while time.monotonic() - written < STALE + 0.5:
        seen_memories(two)
        time.sleep(0.2)
    assert seen_memories(two) == (["new", "old"], "primary"), "the replica is too far behind"
    standby.ask("SELECT pg_wal_replay_resume()")
    soon(
        lambda: seen_memories(one) == seen_memories(two, bookmark) == seen_memories(two) == (["new", "old"], "replica")
    )
    assert two.ask(
        "POST", PROFILE_PATH + "/search", json={"query": "new"}, headers={"holdfast-bookmark": "x"}
    ).is_client_error


def test_a_search_sees_what_it_knows_of(readers: tuple[Cluster, Cluster, FleetMember, FleetMember]) -> None:
    """The servers hold the profile in memory; the state they hold may be newer than the replica's, or older."""
    _, standby, one, two = readers

    def found(server: FleetMember, headers: dict[str, str] | None = None) -> set[str]:
        answer = server.ask("POST", PROFILE_PATH + "/search", json={"query": "old or new"}, headers=headers or {})
        return {hit["content"] for hit in answer.json()["hits"]}

    assert found(one) == found(two) == {"old"}
    answer = one.ask("POST", PROFILE_PATH + "/remember", json={"content": "new"})
    bookmark = {"holdfast-bookmark": answer.headers["holdfast-bookmark"]}
    assert found(one) == {"old", "new"}, "it wrote it itself"
    assert found(two, bookmark) == {"old", "new"}, "it was told of it"
    assert "old" in found(two), "it was not told of it"
    assert found(two, bookmark) == {"old", "new"}, "it is told of it again"
    standby.ask("SELECT pg_wal_replay_resume()")
    soon(lambda: found(one) == found(two) == {"old", "new"})


def test_one_who_did_not_look_for_a_while_is_told_nothing_old(
    readers: tuple[Cluster, Cluster, FleetMember, FleetMember],
) -> None:
    _, _, one, two = readers
    one.call_json("POST", PROFILE_PATH + "/remember", json={"content": "new"})
    time.sleep(STALE + 1)
    assert seen_memories(two) == (["new", "old"], "primary")


def test_without_a_replica_the_primary_answers(readers: tuple[Cluster, Cluster, FleetMember, FleetMember]) -> None:
    _, standby, one, two = readers
    standby.kill()
    one.call_json("POST", PROFILE_PATH + "/remember", json={"content": "new"})
    assert seen_memories(one) == (["new", "old"], "primary")
    assert seen_memories(two) == (["new", "old"], "primary")


def test_without_a_primary_readers_are_answered_or_asked_to_wait(
    readers: tuple[Cluster, Cluster, FleetMember, FleetMember],
) -> None:
    primary, _, one, two = readers
    primary.kill()
    until = time.monotonic() + STALE + 8
    answers: list[int] = []
    while time.monotonic() < until:
        answers += [server.ask("POST", PROFILE_PATH + "/memories/list", json={}).status_code for server in (one, two)]
        time.sleep(0.2)
    assert set(answers) <= {200, 503}
    assert answers[-1] == 503, "nobody knows any more how old it is"


def seen_memories(server: FleetMember, headers: dict[str, str] | None = None) -> tuple[list[str], str]:
    """What a listing has, and which of the two it came from, as its trace says."""
    turn = f"turn-{next(turns)}"
    told = {"holdfast-session": "reading", "holdfast-turn": turn, **(headers or {})}
    found = server.call_json("POST", PROFILE_PATH + "/memories/list", json={}, headers=told)["memories"]
    (trace,) = server.call_json("GET", PROFILE_PATH + "/traces", params={"session": "reading", "turn": turn})["traces"]
    return [memory["content"] for memory in found], trace["details"]["read_from"]


def soon(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(0.1)
