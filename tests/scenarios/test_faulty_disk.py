"""A disk that is full, fails or tears a write: acknowledged writes stay, others are there once at most."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from holdfast import HoldfastError, Profile, StorageError, StorageFull
from support.children.write_and_die import open_memory
from support.faulty_disk import Fault, FaultyDisk

FAULTS: tuple[Fault, ...] = ("full", "io", "torn")
LENGTHS = (1, 4, 100_000)
"""How many operations fail: one, the retries with it, or everything from then on."""
LAST_OPERATION = 500
"""Opening, making a profile and the writes of a run take somewhat fewer operations than this."""


class Promises:
    """What was written, acknowledged or not."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.unsure: set[str] = set()
        self.forgotten: set[str] = set()
        self.errors: list[HoldfastError] = []

    def write(self, ana: Profile, dice: random.Random, n: int) -> None:
        content = f"note {n}" if dice.random() < 0.6 else f"line {n}"
        try:
            if content.startswith("note"):
                id = ana.remember(content, key=f"k{n}").id
            else:
                id = ana.ingest([{"role": "user", "content": content}], session_id="s").messages[0].id
            self.acknowledged.add(content)
            if dice.random() < 0.2:
                self.unsure.add(content)
                self.acknowledged.discard(content)
                ana.forget(id)
                self.unsure.discard(content)
                self.forgotten.add(content)
        except StorageError as failure:
            self.errors.append(failure)
            if content not in self.acknowledged:
                self.unsure.add(content)

    def check(self, folder: Path) -> None:
        with open_memory(folder) as memory:
            ana = memory.profile("app", "ana")
            found = Counter(each.content for each in (*ana.list(limit=1000).items, *ana.messages(limit=1000)))
            assert self.acknowledged - set(found) == set(), "lost"
            assert [content for content, times in found.items() if times > 1] == [], "doubled"
            assert set(found) - self.acknowledged - self.unsure == set(), "from nowhere"
            assert ana.remember("it goes on", key="after").content == "it goes on"
            assert ana.settle(120)


def run_on_faulty_disk(folder: Path, seed: int) -> FaultyDisk:
    dice, promises = random.Random(seed), Promises()
    fault, length = dice.choice(FAULTS), dice.choice(LENGTHS)
    with FaultyDisk(dice.randrange(1, LAST_OPERATION), fault, length) as disk:
        try:
            with open_memory(folder) as memory:
                for n in range(15):
                    promises.write(memory.profile("app", "ana"), dice, n)
        except StorageError as failure:  # it did not even open
            promises.errors.append(failure)
    for failure in promises.errors:
        assert failure.fix, failure
        assert isinstance(failure, StorageFull) or fault != "full", failure
    promises.check(folder)
    return disk


@pytest.mark.parametrize("seed", range(6))
def test_a_faulty_disk_loses_nothing_acknowledged(tmp_path: Path, seed: int) -> None:
    run_on_faulty_disk(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_200_faulty_disks_lose_nothing_acknowledged(tmp_path: Path) -> None:
    first = random.randrange(2**32)
    broke = 0
    for seed in range(first, first + 200):
        print(f"seed {seed}")  # pytest shows the last one when the test fails
        broke += run_on_faulty_disk(tmp_path / str(seed), seed).broke > 0
    print(f"{broke} of 200 disks broke")
    assert broke > 100
