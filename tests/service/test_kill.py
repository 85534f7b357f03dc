"""kill -9 under HTTP load, again and again, on one data folder: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import random
import signal
import time

import pytest
from server import Server
from writers import Promises, Writers, digestion_comes_to_its_end, nothing_is_lost_or_doubled, repeated


@pytest.mark.parametrize("cycles", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_no_kill_loses_or_doubles_an_acknowledged_write(server: Server, cycles: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice, promises = random.Random(seed), Promises()
    for cycle in range(cycles):
        with Writers(server, promises, cycle):
            time.sleep(dice.uniform(0.3, 1.0))
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        server.start()
        nothing_is_lost_or_doubled(server, promises)
    repeated(server, promises)
    digestion_comes_to_its_end(server)
    assert len(promises.acknowledged) > 20 * cycles
    server.stop()
    found = server.doctor()
    assert [finding for finding in found["findings"] if finding["level"] != "ok"] == []
