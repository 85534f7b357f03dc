"""A backup of a folder in use opens, holds what was there, and tells when a byte of it has changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast.storage.sqlite.backup as copying
from holdfast import AlreadyExists, Damaged, Holdfast, InvalidInput, KeyMissing
from holdfast.archive import backup
from holdfast.archive.backup import VerifiedBackup, verify_backup
from holdfast.cli import main
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.paths import CHILDREN

CHILD = CHILDREN / "transfer.py"


def open_memory(folder: Path, **settings: Any) -> Holdfast:
    return Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor(), **settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "data") as memory:
        for name in ("ana", "bob"):
            for n in range(5):
                memory.profile("app", name).remember(f"note {n}", key=f"k{n % 2}")
    return tmp_path / "data"


def make_backup(folder: Path, target: Path, *, with_keys: bool = False) -> backup.CreatedBackup:
    return backup.create_backup(folder, folder / "keyring", target, with_keys=with_keys)


def test_a_backup_holds_everything_and_opens_as_a_folder(folder: Path, tmp_path: Path) -> None:
    done = make_backup(folder, tmp_path / "kept")
    assert (done.profiles, done.files, done.with_keys) == (2, 6, False)
    assert not (tmp_path / "kept" / "keyring").exists()
    found = verify_backup(tmp_path / "kept", folder / "keyring")
    assert found == VerifiedBackup(6, done.bytes, 2, 0, 10)
    assert verify_backup(tmp_path / "kept", folder / "keyring") == found  # a look leaves no trace
    shutil.copytree(tmp_path / "kept", tmp_path / "back")
    with open_memory(tmp_path / "back", keyring=folder / "keyring") as memory, open_memory(folder) as owner:
        for name in ("ana", "bob"):
            for each in owner.profile("app", name).list():
                assert memory.profile("app", name).history(each.id) == owner.profile("app", name).history(each.id)


def test_a_backup_without_its_key_stays_as_it_was_when_it_is_opened(folder: Path, tmp_path: Path) -> None:
    make_backup(folder, tmp_path / "kept")
    with pytest.raises(KeyMissing):
        Holdfast.open(tmp_path / "kept")
    assert verify_backup(tmp_path / "kept", None).opened is None


def test_without_the_keys_the_files_are_compared_and_nothing_is_opened(folder: Path, tmp_path: Path) -> None:
    make_backup(folder, tmp_path / "kept")
    assert verify_backup(tmp_path / "kept", None).opened is None
    assert verify_backup(tmp_path / "kept", tmp_path / "no").opened is None
    make_backup(folder, tmp_path / "keys", with_keys=True)
    assert (tmp_path / "keys" / "keyring").stat().st_mode & 0o077 == 0
    assert verify_backup(tmp_path / "keys", None).opened == 2
    with pytest.raises(KeyMissing):
        backup.create_backup(folder, tmp_path / "no", tmp_path / "other", with_keys=False)


def test_every_kind_of_damage_is_found(folder: Path, tmp_path: Path) -> None:
    make_backup(folder, tmp_path / "kept")
    files = sorted((tmp_path / "kept").rglob("*.db"))
    for path in files:
        whole = path.read_bytes()
        for changed in (whole[:-1], whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:]):
            path.write_bytes(changed)
            assert verify_backup(tmp_path / "kept", None).problems == (
                f"{path.relative_to(tmp_path / 'kept')} was changed after it was written",
            )
        path.unlink()
        assert "is missing" in verify_backup(tmp_path / "kept", None).problems[0]
        path.write_bytes(whole)
    (tmp_path / "kept" / "more").write_text("x")
    assert verify_backup(tmp_path / "kept", None).problems == ("more is not in the manifest",)
    (tmp_path / "kept" / "more").unlink()
    (tmp_path / "kept" / "backup.json").write_text("{}")
    with pytest.raises(Damaged, match="not the manifest"):
        verify_backup(tmp_path / "kept", None)


def test_an_interrupted_backup_is_no_backup_and_is_made_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copying._copy

    def dies(source: Path, target: Path, *more: Any) -> None:
        if source.name != "catalogue.db":
            raise OSError("the machine is gone")
        copy(source, target, *more)

    monkeypatch.setattr(copying, "_copy", dies)
    with pytest.raises(OSError, match="gone"):
        make_backup(folder, tmp_path / "kept")
    with pytest.raises(Damaged, match="interrupted"):
        verify_backup(tmp_path / "kept", None)
    monkeypatch.setattr(copying, "_copy", copy)
    make_backup(folder, tmp_path / "kept")
    assert verify_backup(tmp_path / "kept", folder / "keyring").opened == 2


def test_a_profile_that_is_deleted_meanwhile_is_not_in_the_backup(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copying._copy
    with open_memory(folder) as memory:

        def deletes(source: Path, target: Path, *more: Any) -> None:
            copy(source, target, *more)
            if source.name == "catalogue.db":
                assert memory.delete_profile("app", "ana")

        monkeypatch.setattr(copying, "_copy", deletes)
        assert make_backup(folder, tmp_path / "kept").profiles == 1
    assert verify_backup(tmp_path / "kept", folder / "keyring") == VerifiedBackup(
        4, sum(path.stat().st_size for path in (tmp_path / "kept").rglob("*.db*")), 1, 0, 5
    )


def test_a_backup_goes_nowhere_it_could_do_harm(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="inside"):
        make_backup(folder, folder / "kept")
    make_backup(folder, tmp_path / "kept")
    with pytest.raises(AlreadyExists):
        make_backup(folder, tmp_path / "kept")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, CHILD, "write", tmp_path / "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "under way\n"
        yield child
        child.kill()


def test_a_folder_that_a_process_writes_to_is_backed_up_verified_and_restored(
    writer: subprocess.Popen[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    counts = []
    for n in range(4):
        kept = str(tmp_path / f"kept{n}")
        assert main(["backup", kept, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["profiles"] == 1
        assert main(["verify", kept, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["ok"], found["opened"]) == (True, 1)
        counts.append(found["messages"])
    assert counts == sorted(counts)
    assert counts[-1] > counts[0] >= 20
    writer.communicate("pause\nend\n", timeout=400)
    shutil.copytree(tmp_path / "kept3", tmp_path / "back")
    shutil.copy(tmp_path / "data" / "keyring", tmp_path / "back" / "keyring")
    with open_memory(tmp_path / "back") as memory:
        alice = memory.profile("app", "alice")
        assert len(alice.messages(limit=100_000)) == counts[-1]
        assert alice.settle(120)
        alice.remember("It goes on here", key="k")


def test_the_commands_warn_about_keys_and_show_damage(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(folder))
    monkeypatch.delenv("HOLDFAST_KEYRING", raising=False)
    kept = str(tmp_path / "kept")
    assert main(["backup", kept]) == 0
    assert "does not contain the master key" in capsys.readouterr().out
    assert main(["backup", str(tmp_path / "keys"), "--with-keys"]) == 0
    assert "can read everything in it" in capsys.readouterr().err
    assert main(["verify", kept]) == 0
    assert "2 profiles opened: 0 messages and 10 memories." in capsys.readouterr().out
    (tmp_path / "kept" / "catalogue.db").write_bytes(b"")
    assert main(["verify", kept]) == 7
    assert "✗ catalogue.db was changed after it was written" in capsys.readouterr().out
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "nothing"))
    assert main(["backup", str(tmp_path / "x"), "--json"]) == 3
    assert not (tmp_path / "x").exists()
