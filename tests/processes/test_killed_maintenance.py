"""Backup, import, upgrade and transfer killed at any write: nothing is lost, and a second run ends the work."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast import Damaged
from holdfast.archive.backup import verify_backup
from support import previous_version
from support.children.maintain import maintain
from support.children.write_and_die import open_memory, write
from support.paths import CHILDREN, SOURCE, TESTS

CHILD = CHILDREN / "maintain.py"
OPERATIONS = ("backup", "import", "upgrade", "transfer")
ITEMS = 4


class Prepared:
    """A folder of two profiles, an archive of one, and how many writes and syncs each operation takes."""

    def __init__(self, path: Path) -> None:
        self.folder, self.archive = path / "data", path / "ana.jsonl"
        with open_memory(self.folder) as memory:
            self.kept = write(memory, 0, ITEMS)
            memory.profile("app", "ana").settle(120)
            memory.profile("app", "ana").export_to(self.archive)
        self.old = previous_version.unpack_folder(path / "old")
        self.kept_of_old = {name: previous_version.expected_texts(name) for name in previous_version.PROFILES}
        self.lengths: dict[str, int] = {}

    def start(self, operation: str, path: Path, at: int) -> tuple[int, str]:
        """Run an operation in a process of its own on a copy of the folder; its exit status and what it printed."""
        shutil.copytree(self.old if operation == "upgrade" else self.folder, path / "data")
        target = self.archive if operation == "import" else path / "target"
        done = subprocess.run(
            [sys.executable, CHILD, operation, path / "data", target, str(at)],
            capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": f"{TESTS}:{SOURCE}"},
        )  # fmt: skip
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode, done.stdout

    def length(self, operation: str, path: Path) -> int:
        if operation not in self.lengths:
            self.lengths[operation] = int(self.start(operation, path / f"whole {operation}", 0)[1])
        return self.lengths[operation]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("prepared"))


def assert_whole(folder: Path, kept: dict[str, list[str]], namespace: str = "app") -> None:
    with open_memory(folder) as memory:
        for name, wanted in kept.items():
            profile = memory.profile(namespace, name)
            found = [each.content for each in (*profile.list(limit=1000).items, *profile.messages(limit=1000))]
            assert Counter(found) == Counter(wanted), name


def kill_and_finish(prepared: Prepared, operation: str, path: Path, at: int) -> bool:
    """Kill an operation at a write, check what is there, and let a second run finish it. Whether it was killed."""
    status, _ = prepared.start(operation, path, at)
    folder, target = path / "data", path / "target"
    imported = {"imported": prepared.kept["ana"]} if operation == "import" else {}
    if operation == "backup":
        if not (target / "backup.json").exists() and target.exists():
            with pytest.raises(Damaged):
                verify_backup(target, folder / "keyring")
        maintain(operation, folder, target) if status else None
        assert verify_backup(target, folder / "keyring").opened == 2
        assert_whole(target, prepared.kept)
    elif operation == "import":
        maintain(operation, folder, prepared.archive)
    elif operation == "transfer":
        assert maintain(operation, folder, target) is not None
        assert_whole(target, prepared.kept)
    if operation == "upgrade":
        assert_whole(folder, prepared.kept_of_old, previous_version.NAMESPACE)
    else:
        assert_whole(folder, prepared.kept | imported)
    assert len(list(folder.rglob("*.db-witness"))) >= 3
    return status != 0


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_maintenance_is_finished_by_a_second_run(prepared: Prepared, tmp_path: Path, operation: str) -> None:
    at = prepared.length(operation, tmp_path) // 2
    assert kill_and_finish(prepared, operation, tmp_path, at)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_maintenance_killed_at_200_random_writes_is_finished_by_a_second_run(
    prepared: Prepared, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice = random.Random(seed)
    killed: Counter[str] = Counter()
    for n in range(200):
        operation = OPERATIONS[n % len(OPERATIONS)]
        at = dice.randrange(1, prepared.length(operation, tmp_path))
        print(operation, at)
        killed[operation] += kill_and_finish(prepared, operation, tmp_path / str(n), at)
        shutil.rmtree(tmp_path / str(n))
    print(dict(killed), prepared.lengths)
    assert sum(killed.values()) > 150
