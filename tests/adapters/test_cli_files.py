"""Files that the user names: devices and pipes are written to, other files replaced; a folder hides no database."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast import Holdfast, InvalidInput
from holdfast.archive.file import Archive, is_replaceable
from holdfast.storage.postgres import connections, pools
from support.cli import Run, data, run
from support.paths import SOURCE

__all__ = ["data", "run"]
STORE = "postgres://holdfast:verysecret@db.example/holdfast"
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")


@pytest.fixture(autouse=True)
def remembered(run: Run) -> None:
    assert run("remember", "Prefers window seats", "--key", "seat").code == 0


def assert_archive(content: bytes, folder: Path) -> None:
    (folder / "checked").write_bytes(content)
    with (folder / "checked").open("rb") as file:
        assert Archive(file).check().counts["memories"] == 1


def export_into_pipe(run: Run, named: Path, pipe: Path) -> bytes:
    received = list[bytes]()
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert run("export", str(named)).code == 0
    reader.join(120)
    return received[0]


@pytest.mark.parametrize("linked", [False, True])
def test_a_named_pipe_is_written_to_and_stays(run: Run, tmp_path: Path, linked: bool) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    assert_archive(export_into_pipe(run, link if linked else pipe, pipe), tmp_path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_pipe_gets_what_its_name_says(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gz")
    assert_archive(gzip.decompress(export_into_pipe(run, tmp_path / "pipe.gz", tmp_path / "pipe.gz")), tmp_path)


@as_root
def test_a_device_is_written_to_and_stays(run: Run, tmp_path: Path) -> None:
    null = tmp_path / "null"  # a device of our own: the machine's would be lost if this went wrong
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.write_bytes(b"x")
    except PermissionError:
        pytest.skip("devices do not work here")
    before = null.stat()
    assert run("export", str(null)).code == 0
    after = null.stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/no-such-device"])
def test_what_lies_in_dev_or_proc_is_never_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(name)
    assert not is_replaceable(Path(name))
    assert not is_replaceable(tmp_path / "link")


def test_a_socket_or_missing_device_is_refused(run: Run) -> None:
    refused = run("export", "/dev/no-such-device")
    assert (refused.code, "cannot be written" in refused.err) == (7, True)
    assert not Path("/dev/no-such-device").exists()


def test_regular_files_are_replaced_as_a_whole_and_links_to_them_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "archive.jsonl", tmp_path / "link.jsonl"
    file.write_text("of yesterday")
    link.symlink_to(file)
    with file.open() as open_since_yesterday:
        refused = run("export", str(link))
        assert (refused.code, "archive" in file.read_text()) == (4, False)
        assert refused.err.endswith("exists already. Choose another name, or add --force to replace it.\n")
        assert run("export", str(link), "--force").code == 0
        assert open_since_yesterday.read() == "of yesterday", "the old file was changed in place"
    assert link.is_symlink()
    assert_archive(file.read_bytes(), tmp_path)
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["archive.jsonl"]


def exported_by_process(data: Path, name: str, out: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "holdfast", "export", name, "--data", str(data)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with out.open("ab") as file:
        return subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=environment, timeout=400)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_standard_output_under_its_own_name_is_the_archive_and_nothing_else(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"before\n")
    inode = out.stat().st_ino
    done = exported_by_process(data, "/dev/stdout", out)
    assert done.returncode == 0, done.stderr
    before, _, archive = out.read_bytes().partition(b"\n")
    assert (before, out.stat().st_ino) == (b"before", inode)
    assert_archive(archive, tmp_path)


@pytest.mark.parametrize("command", [["list"], ["remember", "x"], ["doctor"], ["backup", "copy"], ["serve"], ["mcp"]])
def test_a_folder_beside_a_set_database_is_refused(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", STORE)
    refused = run(*command, "--data", str(data))
    assert refused.code == 2
    assert "--data" in refused.err
    assert "Remove --data to use the database, or HOLDFAST_STORE to use the folder." in refused.err
    assert "verysecret" not in refused.err


def test_a_folder_beside_a_database_in_the_settings_file_is_refused(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "holdfast.toml"
    config.write_text(f'store = "{STORE}"')
    assert f"store in {config}" in run("serve", "--data", str(data), "--config", str(config)).err
    monkeypatch.setenv("HOLDFAST_CONFIG", str(config))
    assert run("list", "--data", f"sqlite://{data}", "--json").error["field"] == "data"
    config.write_text(f'data = "{data}"\nstore = "{STORE}"')
    refused = run("list")
    assert (refused.code, "Remove data to use the database, or store" in refused.err) == (2, True)
    assert "verysecret" not in refused.err


def test_a_folder_and_a_database_as_arguments_are_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="Remove data to use the database, or store to use the folder"):
        Holdfast.open(data, store=STORE)
    monkeypatch.setenv("HOLDFAST_STORE", STORE)  # an argument in code is a decision, and comes before a variable
    with Holdfast.open(data) as memory:
        assert [each.name for each in memory.namespaces()] == ["default"]


def test_a_database_as_data_comes_before_the_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", STORE)
    monkeypatch.setattr(connections, "RETRY_SECONDS", 0)
    monkeypatch.setattr(pools, "RETRY_SECONDS", 0.1)
    refused = run("list", "--data", "postgres://nobody@127.0.0.1:1/none?connect_timeout=1", "--json")
    assert refused.code == 6
    assert "database does not answer" in refused.error["message"]


@pytest.mark.parametrize("format", ["auto", "archive", "mem0", "unknown"])
@pytest.mark.parametrize("content", ["", "Hello.", '{"format": "holdfast-archive"}', None])
def test_an_import_that_is_refused_makes_no_data_folder(
    run: Run, tmp_path: Path, content: str | None, format: str
) -> None:
    path, folder = tmp_path / "given.json", tmp_path / "new"
    if content is not None:
        path.write_text(content)
    assert run("import", str(path), "--format", format, "--data", str(folder)).code != 0
    assert not folder.exists()
