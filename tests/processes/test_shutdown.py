"""A stop that is asked for: what is in flight ends well, what was acknowledged stays, what waited goes on."""

from __future__ import annotations

import signal
import threading
import time

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

SOON = 120.0
LONG = [{"role": "user", "content": f"On day {n} we met at the harbour, and I like pier {n}."} for n in range(300)]


@pytest.fixture
def served(server: ServerProcess) -> ServerProcess:
    return server


@pytest.mark.parametrize(("number", "statuses"), [(signal.SIGTERM, {0}), (signal.SIGINT, {0, 130})])
def test_a_stop_under_load_keeps_every_promise(
    served: ServerProcess, number: signal.Signals, statuses: set[int]
) -> None:
    promises = WriteOutcomes()
    with Writers(served, promises, count=6):
        promises.wait_until_acknowledged(25)
        served.call_json("POST", PROFILE_PATH + "/ingest", json={"messages": LONG, "session_id": "long"})
        served.send(number)
        status = served.wait(SOON)
    assert promises.cut == []
    served.start()
    waiting = served.call_json("GET", PROFILE_PATH + "/stats")["pending"]
    assert waiting > 0, "nothing was left to digest: the test is too easy"
    assert_nothing_lost_or_doubled(served, promises)
    repeat_writes(served, promises)
    assert_digestion_ends(served)
    assert len(served.call_json("GET", PROFILE_PATH + "/messages", params={"session_id": "long"})["messages"]) == len(
        LONG
    )
    assert status in statuses, f"exit status {status}\n{served.log_tail()}"


def test_a_request_in_flight_is_answered_before_the_end(served: ServerProcess) -> None:
    answers: list[httpx.Response] = []
    body = {"messages": LONG, "session_id": "long", "wait": True}
    asking = threading.Thread(target=lambda: answers.append(served.ask("POST", PROFILE_PATH + "/ingest", json=body)))
    asking.start()
    until = time.monotonic() + 120
    while served.call_json("GET", PROFILE_PATH + "/stats")["pending"] == 0:
        assert time.monotonic() < until, "the messages never arrived"
        time.sleep(0.02)
    assert not answers, "it was answered too soon to be in flight"
    served.send(signal.SIGTERM)
    status = served.wait(SOON)
    asking.join(SOON)
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["messages"]) == len(LONG)
    assert status == 0, f"exit status {status}\n{served.log_tail()}"
