"""A stop that is asked for: what is in flight ends well, what was acknowledged stays, what waited goes on."""

from __future__ import annotations

import itertools
import signal
import threading

import httpx2 as httpx
import pytest

from support.concurrent_writers import (
    PROFILE_PATH,
    WriteOutcomes,
    Writers,
    assert_digestion_ends,
    assert_nothing_lost_or_doubled,
    repeat_writes,
)
from support.server_process import ServerProcess
from support.waiting import block_until

SOON = 120.0
LONG = [{"role": "user", "content": f"On day {n} we met at the harbour, and I like pier {n}."} for n in range(100)]


@pytest.fixture
def served(server: ServerProcess) -> ServerProcess:
    return server


@pytest.mark.parametrize(
    ("number", "statuses"),
    [(signal.SIGTERM, {0}), pytest.param(signal.SIGINT, {0, 130}, marks=pytest.mark.slow)],
)
def test_a_stop_under_load_keeps_every_promise(
    served: ServerProcess, number: signal.Signals, statuses: set[int]
) -> None:
    promises, sessions, waiting = WriteOutcomes(), 0, 0
    for cycle in range(4):  # with ever more work, until the stop leaves some of it
        with Writers(served, promises, cycle, count=6):
            promises.wait_until_acknowledged(len(promises.acknowledged) + 25)
            for _ in range(4**cycle):
                ingested = {"messages": LONG, "session_id": f"long-{sessions}"}
                served.call_json("POST", PROFILE_PATH + "/ingest", json=ingested)
                sessions += 1
            served.send(number)
            status = served.wait(SOON)
        assert promises.cut == []
        assert status in statuses, f"exit status {status}\n{served.log_tail()}"
        served.start()
        if waiting := served.call_json("GET", PROFILE_PATH + "/stats")["pending"]:
            break
    assert waiting, "nothing was left to digest"
    assert_nothing_lost_or_doubled(served, promises)
    repeat_writes(served, promises)
    assert_digestion_ends(served)
    for n in range(sessions):
        kept = served.call_json("GET", PROFILE_PATH + "/messages", params={"session_id": f"long-{n}"})["messages"]
        assert len(kept) == len(LONG)


def test_a_request_in_flight_is_answered_before_the_end(served: ServerProcess) -> None:
    answers: list[httpx.Response] = []

    def ask(session: str) -> None:
        body = {"messages": LONG, "session_id": session, "wait": True}
        answers.append(served.ask("POST", PROFILE_PATH + "/ingest", json=body))

    for attempt in itertools.count():  # until one is seen in flight
        answers.clear()
        asking = threading.Thread(target=ask, args=(f"long-{attempt}",))
        asking.start()
        block_until(lambda: answers or served.call_json("GET", PROFILE_PATH + "/stats")["pending"])
        if not answers:
            break
    served.send(signal.SIGTERM)
    status = served.wait(SOON)
    asking.join(SOON)
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["messages"]) == len(LONG)
    assert status == 0, f"exit status {status}\n{served.log_tail()}"
