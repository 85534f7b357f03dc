"""One file of a folder is flipped, cut off or deleted after a kill: all data is there, or an error names the loss."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holdfast import Damaged, HoldfastError, KeyMissing
from holdfast.archive.backup import create_backup, verify_backup
from holdfast.cli import main
from holdfast.storage.sqlite.connection import CATALOGUE_LABEL, connect, profile_label, query
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.health import check_file, list_profiles, load_master_key
from holdfast.storage.sqlite.witness import log_path
from support import previous_version
from support.children.write_and_die import open_memory, write
from support.paths import CHILDREN, SOURCE, TESTS
from support.server_process import free_port

CHILD = CHILDREN / "write_and_die.py"
VARIANTS = ("fresh", "reopened", "large", "forgotten")
KINDS = ("flip", "truncate", "delete")
EVIDENCE = (".db", ".db-wal", ".db-witness", "keyring")


@dataclass(frozen=True)
class KilledFolder:
    """A folder whose process was killed, and what it had acknowledged."""

    path: Path
    kept: dict[str, list[str]]
    live: str
    revoked: str
    files: dict[str, Path] = field(default_factory=dict)
    """The profiles' files, relative to the folder."""

    def copy_to(self, path: Path) -> Path:
        shutil.copytree(self.path, path)
        return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KilledFolder]:
    found = {}
    for variant in VARIANTS:
        path = tmp_path_factory.mktemp("killed") / variant
        environment = os.environ | {"PYTHONPATH": f"{TESTS}:{SOURCE}"}
        command = [sys.executable, CHILD, path, variant]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.stdout, done.stderr
        looked = shutil.copytree(path, path.with_name("looked"))
        profiles = list_profiles(looked, load_master_key(path / "keyring"))
        files = {each.profile: each.path.relative_to(looked) for each in profiles}
        shutil.rmtree(looked)
        found[variant] = KilledFolder(path, files=files, **json.loads(done.stdout))
    return found


def spoil(file: Path, kind: str, dice: random.Random) -> str:
    """Flip a bit of a file, cut it off or delete it; what was done, in words."""
    content = bytearray(file.read_bytes())
    if kind == "delete" or not content:
        file.unlink()
        return f"delete {file.name}"
    at = dice.randrange(len(content))
    if kind == "truncate":
        file.write_bytes(content[:at])
    else:
        content[at] ^= 1 << dice.randrange(8)
        file.write_bytes(content)
    return f"{kind} {file.name} at {at} of {len(content)}"


def evidence(folder: Path) -> dict[Path, bytes]:
    """Everything that a later repair could need."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.name.endswith(EVIDENCE)}


def unchanged(before: dict[Path, bytes], files: Path) -> bool:
    """Whether a file and what lies beside it are as they were; an empty log may have been made."""
    return all(path.read_bytes() == content for path, content in before.items() if path.name.startswith(files.name))


def folder_problems(folder: Path) -> list[str]:
    """What `holdfast doctor` would say about the files."""
    found = []
    try:
        key = load_master_key(folder / "keyring")
        found += check_file(folder / "catalogue.db", key, CATALOGUE_LABEL).problems
        profiles = list_profiles(folder, key)
    except HoldfastError as bad:
        return [str(bad)]
    for each in profiles:
        try:
            found += check_file(each.path, each.key, each.label).problems
        except HoldfastError as bad:
            found.append(str(bad))
    return found


def contents(memory: Any, profile: str) -> list[str]:
    held = memory.profile("app", profile)
    items = held.list(limit=1000).items
    assert {hit.id for hit in held.search("note", limit=1000)} <= {
        *(each.id for each in items),
        *(each.id for each in held.messages()),
    }
    return sorted([*(each.content for each in items), *(each.content for each in held.messages(limit=1000))])


def read_everything(folder: Path, state: KilledFolder) -> dict[str, HoldfastError]:
    """Open the folder and compare all of it; the errors by what they are about."""
    errors: dict[str, HoldfastError] = {}
    try:
        memory = open_memory(folder)
    except (Damaged, KeyMissing) as bad:
        return {"catalogue": bad}
    with memory:
        for name, kept in state.kept.items():
            try:
                assert contents(memory, name) == sorted(kept), f"{name} has less, without an error"
            except Damaged as bad:
                errors[name] = bad
        access = memory._inner.access
        try:
            assert memory._loop.run(access.credential(state.live)) is not None
            assert memory._loop.run(access.credential(state.revoked)) is None, "it came back to life"
        except Damaged as bad:
            errors["catalogue"] = bad
    return errors


def names_what_and_says_what_to_do(about: str, bad: HoldfastError) -> bool:
    text = str(bad)
    if about == "catalogue":
        return ("catalogue" in text or "keyring" in text) and bool(bad.fix)
    return f"Profile app/{about}" in text and "from a backup" in text and "holdfast doctor" in text


def damage_and_open(state: KilledFolder, folder: Path, name: str, kind: str, dice: random.Random) -> str:
    """One run: damage one file of a copy, open it, and check the promise. Returns what came of it."""
    state.copy_to(folder)
    did = spoil(folder / name, kind, dice)
    before = evidence(folder)
    said = folder_problems(folder)
    assert evidence(folder).items() >= before.items(), f"{did}: a check changed a file"
    errors = read_everything(folder, state)
    for about, bad in errors.items():
        file = state.files.get(about, Path("catalogue.db"))
        assert names_what_and_says_what_to_do(about, bad), f"{did}: {bad}"
        assert name.startswith(str(file)) or name == "keyring", f"{did}: it was not confined: {bad}"
        if " is damaged or was encrypted" not in str(bad):  # refused when it was opened
            assert unchanged(before, file), f"{did}: opening changed the evidence"
        assert said, f"{did}: doctor found nothing"
        assert folder_problems(folder), f"{did}: doctor finds nothing any more"
    return f"error after {kind} of {Path(name).suffix or name}" if errors else "all"


def run_places(killed: dict[str, KilledFolder], tmp_path: Path, places: int, seed: int) -> dict[str, int]:
    dice = random.Random(seed)
    outcomes: dict[str, int] = {}
    for n in range(places):
        state = killed[dice.choice(VARIANTS)]
        names = sorted(str(path.relative_to(state.path)) for path in state.path.rglob("*") if path.is_file())
        folder = tmp_path / str(n)
        outcome = damage_and_open(state, folder, dice.choice(names), dice.choice(KINDS), dice)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        shutil.rmtree(folder)
    return outcomes


@pytest.mark.parametrize("seed", [1, 2])
def test_damage_anywhere_is_noticed_or_harmless(killed: dict[str, KilledFolder], tmp_path: Path, seed: int) -> None:
    assert sum(run_places(killed, tmp_path, 12, seed).values()) == 12


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damage_at_500_places_is_noticed_or_harmless(killed: dict[str, KilledFolder], tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    outcomes = run_places(killed, tmp_path, 500, seed)
    print(json.dumps(outcomes, indent=1))
    assert 50 < outcomes["all"] < 450


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_killed_folder_that_nobody_touched_opens_with_everything(
    killed: dict[str, KilledFolder], tmp_path: Path, variant: str
) -> None:
    state = killed[variant]
    assert folder_problems(state.copy_to(tmp_path / "data")) == []
    assert read_everything(tmp_path / "data", state) == {}
    assert read_everything(tmp_path / "data", state) == {}
    with open_memory(tmp_path / "data") as memory:
        write(memory, 500, 3)


def kill_damage_and_open(path: Path, seed: int) -> str:
    """Kill a process at any of its writes, damage one file or none, and open what is left."""
    dice = random.Random(seed)
    environment = os.environ | {"PYTHONPATH": f"{TESTS}:{SOURCE}"}
    done = subprocess.run(
        [sys.executable, CHILD, path, "any", str(dice.randrange(1, 3000))],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    acknowledged = {line for line in done.stdout.splitlines(keepends=True) if line.endswith("\n")}
    unsure = {line.removeprefix("forgetting ") for line in acknowledged if line.startswith("forgetting")}
    kept = {line.strip() for line in acknowledged - unsure if line.startswith("note")}
    did = "nothing"
    if files := sorted(file for file in path.rglob("*") if file.is_file()):
        did = spoil(dice.choice(files), dice.choice(KINDS), dice) if dice.random() < 0.8 else did
    failure = None
    try:
        with open_memory(path) as memory:
            found = {each.content for each in memory.profile("app", "ana").list(limit=1000).items}
    except (Damaged, KeyMissing) as bad:
        failure = bad
    if failure is not None:
        assert did != "nothing", failure
        assert re.search("Profile app/ana|catalogue|keyring", str(failure)), failure
        return "error"
    assert kept <= found, f"{did}: {kept - found} is lost without an error"
    return "all"


def test_damage_after_a_kill_at_any_write_is_noticed_or_harmless(tmp_path: Path) -> None:
    assert [kill_damage_and_open(tmp_path / str(seed), seed) for seed in range(3)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damage_after_150_kills_at_any_write_is_noticed_or_harmless(tmp_path: Path) -> None:
    first = random.randrange(2**32)
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + 150):
        print(f"seed {seed}")  # pytest shows the last one when the test fails
        outcomes[kill_damage_and_open(tmp_path / str(seed), seed)] += 1
        shutil.rmtree(tmp_path / str(seed), ignore_errors=True)
    print(dict(outcomes))
    assert min(outcomes["all"], outcomes["error"]) > 15


# Pieces by name

CATALOGUE_LOSSES = (
    ("catalogue.db",),
    ("catalogue.db-wal",),
    ("catalogue.db", "catalogue.db-wal"),
    ("catalogue.db", "catalogue.db-wal", "catalogue.db-shm", "catalogue.db-witness"),
)


@pytest.mark.parametrize("lost", CATALOGUE_LOSSES, ids=len)
def test_a_lost_catalogue_is_never_replaced_by_a_new_one(
    killed: dict[str, KilledFolder],
    tmp_path: Path,
    lost: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = killed["fresh"].copy_to(tmp_path / "data")
    monkeypatch.setenv("HOLDFAST_DATA", str(folder))
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    for name in lost:
        (folder / name).unlink()
    before = evidence(folder)
    assert main(["doctor", "--json"]) == 1
    for command in (["list"], ["serve", "--port", str(free_port())], ["remember", "x"], ["doctor", "--accept-loss"]):
        capsys.readouterr()
        assert main(command) in ((1, 7) if "doctor" in command else (7,))
        said = capsys.readouterr()
        assert "atalogue" in said.err + said.out
        assert "backup" in said.err + said.out
    with pytest.raises(Damaged):
        create_backup(folder, folder / "keyring", tmp_path / "kept", with_keys=False)
    assert main(["doctor", "--json"]) == 1
    if "catalogue.db" in lost:
        assert evidence(folder) == before
    for name in CATALOGUE_LOSSES[-1]:
        shutil.copy(killed["fresh"].path / name, folder / name)
    assert read_everything(folder, killed["fresh"]) == {}


def test_a_log_that_was_moved_into_the_file_and_then_damaged_brings_no_old_pages_back(tmp_path: Path) -> None:
    """The readable beginning of such a log is older than the file."""
    path = tmp_path / "some.db"
    with ThreadPoolExecutor(2) as pool:
        asyncio.run(_move_log_into_file(path, pool))
    log = log_path(path)
    whole = log.read_bytes()
    log.write_bytes(whole[:-1000])
    with pytest.raises(Damaged, match="log"), ThreadPoolExecutor(2) as pool:
        DatabaseFile(path, bytes(32), profile_label("app", "ana"), pool)
    assert log.read_bytes() == whole[:-1000]


async def _move_log_into_file(path: Path, pool: ThreadPoolExecutor) -> None:
    file = DatabaseFile(path, bytes(32), profile_label("app", "ana"), pool, new=True)
    for n in range(5):
        await file.write(lambda db, n=n: query(db, "INSERT INTO setting VALUES (?, '1')", (f"s{n}",)))
    assert await file._run(lambda db: file._checkpoint(db, "PASSIVE"), writing=True)
    file._close_connections()  # as a kill would, without truncating the log


@pytest.mark.parametrize("spoilt", ["log", "witness", "no witness"])
def test_whoever_accepts_the_loss_keeps_what_is_left(
    killed: dict[str, KilledFolder],
    tmp_path: Path,
    spoilt: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = killed["fresh"]
    folder = state.copy_to(tmp_path / "data")
    monkeypatch.setenv("HOLDFAST_DATA", str(folder))
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    file = folder / state.files["ana"]
    spoilt_file = Path(f"{file}{'-wal' if spoilt == 'log' else '-witness'}")
    content = bytearray(spoilt_file.read_bytes())
    content[3 * len(content) // 4] ^= 1
    spoilt_file.unlink() if spoilt == "no witness" else spoilt_file.write_bytes(content)
    damaged = evidence(folder)
    assert main(["doctor"]) == 1
    assert evidence(folder) == damaged
    assert main(["doctor", "--accept-loss"]) == 0
    said = capsys.readouterr().out
    assert "Profile app/ana: " in said
    assert "Kept what could be read" in said
    aside = {path.name: path.read_bytes() for path in (folder / "damaged").rglob("*") if path.name.endswith(EVIDENCE)}
    assert aside == {path.name: data for path, data in damaged.items() if path.name.startswith(file.name)}
    with open_memory(folder) as memory:
        left = contents(memory, "ana")
        assert set(left) < set(state.kept["ana"]) if spoilt == "log" else left == sorted(state.kept["ana"])
        assert contents(memory, "bob") == sorted(state.kept["bob"])
        write(memory, 500, 3)
    assert main(["doctor", "--accept-loss"]) == 0
    assert "Kept" not in capsys.readouterr().out


def test_what_cannot_be_read_at_all_stays_as_it_is(
    killed: dict[str, KilledFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = killed["reopened"]
    folder = state.copy_to(tmp_path / "data")
    file = folder / state.files["ana"]
    file.write_bytes(b"not a database " * 10_000)
    damaged = evidence(folder)
    monkeypatch.setenv("HOLDFAST_DATA", str(folder))
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    assert main(["doctor", "--accept-loss"]) == 1
    assert {path: data for path, data in evidence(folder).items() if "damaged" not in path.parts} == damaged
    assert set(read_everything(folder, state)) == {"ana"}
    with open_memory(folder) as memory:
        assert memory.delete_profile("app", "ana")
        assert contents(memory, "ana") == []


# Folders without witnesses


def read_previous_version(folder: Path) -> dict[str, HoldfastError]:
    """Open the folder that 0.1.0 wrote and compare its texts; the errors by what they are about."""
    errors: dict[str, HoldfastError] = {}
    try:
        memory = open_memory(folder)
    except Damaged as bad:
        return {"catalogue": bad}
    with memory:
        for name in previous_version.PROFILES:
            profile = memory.profile(previous_version.NAMESPACE, name)
            try:
                items = [*profile.list(limit=1000).items, *profile.messages(limit=1000)]
                assert sorted(each.content for each in items) == previous_version.expected_texts(name)
            except Damaged as bad:
                errors[name] = bad
    return errors


def test_a_folder_of_the_previous_version_gets_its_witnesses(tmp_path: Path) -> None:
    folder = previous_version.unpack_folder(tmp_path)
    make_backup_and_verify(folder, tmp_path / "kept")
    assert list(folder.rglob("*.db-witness")) == []
    assert read_previous_version(folder) == {}
    assert len(list(folder.rglob("*.db-witness"))) == 3
    for path in folder.rglob("*.db-witness"):
        path.unlink()
    assert set(read_previous_version(folder)) == {"catalogue"}


def make_backup_and_verify(folder: Path, target: Path) -> None:
    create_backup(folder, folder / "keyring", target, with_keys=False)
    assert verify_backup(target, folder / "keyring").opened == 2


def log_of_previous_version(folder: Path, name: str) -> Path:
    """Write to a profile of the folder without closing it as Holdfast would; return its log."""
    (file,) = [each for each in list_profiles(folder, load_master_key(folder / "keyring")) if each.profile == name]
    db = connect(file.path, file.key, writing=True)
    query(db, "PRAGMA wal_checkpoint(TRUNCATE)")
    for n in range(5):
        query(db, "INSERT INTO setting VALUES (?, '1')", (f"s{n}",))
    db.close()
    return log_path(file.path)


def test_a_damaged_log_of_the_previous_version_is_refused(tmp_path: Path) -> None:
    folder = previous_version.unpack_folder(tmp_path)
    log = log_of_previous_version(folder, "ana")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    before = evidence(folder)
    errors = read_previous_version(folder)
    assert "committed changes in its log cannot be read" in str(errors["ana"])
    assert unchanged(before, Path(log.name.removesuffix("-wal")))


def test_a_kill_within_the_last_frame_is_no_damage_to_a_file_without_a_witness(tmp_path: Path) -> None:
    folder = previous_version.unpack_folder(tmp_path)
    log = log_of_previous_version(folder, "ana")
    frame = log.read_bytes()[-(24 + 4096) :]
    log.write_bytes(log.read_bytes() + frame[:24])  # SQLite writes the header of a frame before its page
    assert read_previous_version(folder) == {}


def test_a_damaged_profile_is_not_backed_up_as_if_it_were_whole(
    killed: dict[str, KilledFolder], tmp_path: Path
) -> None:
    state = killed["fresh"]
    folder = state.copy_to(tmp_path / "data")
    log_path(folder / state.files["bob"]).unlink()
    with pytest.raises(Damaged, match=r"Profile app/bob: .* log .* is missing"):
        create_backup(folder, folder / "keyring", tmp_path / "kept", with_keys=False)


def test_one_profile_is_restored_from_a_backup(killed: dict[str, KilledFolder], tmp_path: Path) -> None:
    state = killed["fresh"]
    folder = state.copy_to(tmp_path / "data")
    make_backup_and_verify(folder, tmp_path / "kept")
    file = folder / state.files["ana"]
    log_path(file).write_bytes(b"")
    assert set(read_everything(folder, state)) == {"ana"}
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    for suffix in ("", "-witness"):
        shutil.copy(f"{tmp_path / 'kept' / state.files['ana']}{suffix}", f"{file}{suffix}")
    assert read_everything(folder, state) == {}
