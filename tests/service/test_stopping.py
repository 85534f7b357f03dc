"""A stop that is asked for: what is in flight ends well, what was acknowledged stays, what waited goes on."""

from __future__ import annotations

import signal
import threading
import time

import httpx2 as httpx
import pytest
from server import Server
from writers import PLACE, Promises, Writers, digestion_comes_to_its_end, nothing_is_lost_or_doubled, repeated

SOON = 10.0
LONG = [{"role": "user", "content": f"On day {n} we met at the harbour, and I like pier {n}."} for n in range(300)]


@pytest.fixture
def served(server: Server) -> Server:
    return server


@pytest.mark.parametrize(("number", "statuses"), [(signal.SIGTERM, {0}), (signal.SIGINT, {0, 130})])
def test_a_stop_under_load_keeps_every_promise(served: Server, number: signal.Signals, statuses: set[int]) -> None:
    promises = Promises()
    with Writers(served, promises, count=6):
        time.sleep(0.7)
        served.told("POST", PLACE + "/ingest", json={"messages": LONG, "session_id": "long"})
        served.send(number)
        status = served.ended(SOON)
    assert promises.cut == []
    assert len(promises.acknowledged) > 20
    served.start()
    waiting = served.told("GET", PLACE + "/stats")["pending"]
    assert waiting > 0, "nothing was left to digest: the test is too easy"
    nothing_is_lost_or_doubled(served, promises)
    repeated(served, promises)
    digestion_comes_to_its_end(served)
    assert len(served.told("GET", PLACE + "/messages", params={"session_id": "long"})["messages"]) == len(LONG)
    assert status in statuses, f"exit status {status}\n{served.said()}"


def test_a_request_in_flight_is_answered_before_the_end(served: Server) -> None:
    answers: list[httpx.Response] = []
    body = {"messages": LONG, "session_id": "long", "wait": True}
    asking = threading.Thread(target=lambda: answers.append(served.ask("POST", PLACE + "/ingest", json=body)))
    asking.start()
    time.sleep(0.2)
    assert not answers, "it was answered too soon to be in flight"
    served.send(signal.SIGTERM)
    status = served.ended(SOON)
    asking.join(SOON)
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["messages"]) == len(LONG)
    assert status == 0, f"exit status {status}\n{served.said()}"
