"""kill -9 under HTTP load, again and again, on one data folder: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import random
import signal
import time

import pytest

from support.concurrent_writers import (
    WriteOutcomes,
    Writers,
    assert_digestion_ends,
    assert_nothing_lost_or_doubled,
    repeat_writes,
)
from support.server_process import ServerProcess


@pytest.mark.parametrize("cycles", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_no_kill_loses_or_doubles_an_acknowledged_write(server: ServerProcess, cycles: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice, promises = random.Random(seed), WriteOutcomes()
    for cycle in range(cycles):
        with Writers(server, promises, cycle):
            promises.wait_until_acknowledged(len(promises.acknowledged) + dice.randint(10, 60))
            time.sleep(dice.uniform(0.0, 0.05))
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        server.start()
        assert_nothing_lost_or_doubled(server, promises)
    repeat_writes(server, promises)
    assert_digestion_ends(server)
    server.stop()
    found = server.doctor()
    assert [finding for finding in found["findings"] if finding["level"] != "ok"] == []
