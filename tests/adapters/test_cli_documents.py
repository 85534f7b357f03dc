"""Documents on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Run, data, run
from support.documents.killed_parser import killed_parsers
from support.paths import SOURCE

__all__ = ["data", "killed_parsers", "run"]


def test_files_and_folders_are_read_and_found_with_their_heading(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / ".hidden").mkdir(parents=True)
    (folder / "birds.md").write_text("# Herons\n\nThe heron is a patient bird.\n")
    (folder / "empty.md").write_text("")
    (folder / ".hidden" / "secret.md").write_text("The zorblax is hidden.")
    said = run("add", str(folder), "--metadata", '{"shelf": "B"}')
    assert said.code == 0, said.err
    assert said.out.startswith("• birds.md: Herons\n  done · markdown · 1 passage · ")
    found = run("search", "patient bird", "--filter", '{"metadata.shelf": "B"}')
    assert "document · birds.md, Herons · " in found.out
    listed = run("documents", "--json").json["documents"]
    assert [each["name"] for each in listed] == ["birds.md"]
    (folder / "herons.txt").write_bytes((folder / "birds.md").read_bytes())
    assert [each["id"] for each in run("add", str(folder), "--json").json["documents"]] == [listed[0]["id"]] * 2


def test_standard_input_is_a_document_with_a_name(run: Run, tmp_path: Path) -> None:
    said = run("add", "-", "--name", "piped.txt", stdin="The heron is a patient bird.")
    assert said.out.startswith("• piped.txt\n")
    id = run("documents", "--json").json["documents"][0]["id"]
    assert run("documents", id, "--save", str(tmp_path / "copy")).code == 0
    assert (tmp_path / "copy").read_text() == "The heron is a patient bird."
    assert run("documents", id, "--forget").out == "Forgot the document 'piped.txt', with 1 passage and 0 memories.\n"
    assert run("documents").out == "There are no documents.\n"
    assert run("documents", id).code == 3


def test_what_cannot_be_read_is_told_with_its_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing")
    said = run("add", str(tmp_path / "broken.pdf"))
    assert said.code == 2
    assert "failed, reading · The PDF is broken" in said.out
    id = run("documents", "--json").json["documents"][0]["id"]
    assert run("documents", id, "--retry").code == 2
    assert run("add", "no-such-file.pdf", "--json").error["field"] == "sources"
    assert run("add", "http://127.0.0.1/", "--json").error["field"] == "url"
    assert run("documents", "--retry", "--json").error["field"] == "id"


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers of signals are Linux's")
def test_a_parser_that_was_killed_is_told_in_plain_words(
    run: Run, tmp_path: Path, killed_parsers: Callable[[int], None]
) -> None:
    killed_parsers(signal.SIGSEGV)
    (tmp_path / "page.md").write_text("The heron is a patient bird.")
    said = run("add", str(tmp_path / "page.md"))
    why = "The parser was killed by signal 11 (SIGSEGV) while reading page.md; the file is probably damaged."
    assert (said.code, why in " ".join(said.out.split())) == (2, True)
    assert run("documents", "--json").json["documents"][0]["error"].startswith(why)


def test_one_that_is_refused_does_not_keep_the_others_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DOCUMENT_BYTES", "1000")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("word " * 1000)
    (folder / "b.md").write_text("# Ok\n\nThe kettle is blue.\n")
    said = run("add", str(folder))
    assert said.code == 2
    assert "b.md: Ok" in said.out
    assert "a.txt: 'a.txt' is larger than 1,000 bytes. Split it, or raise the setting document_bytes." in said.out
    assert list(run("add", str(folder), "--json").json["refused"]) == [str(folder / "a.txt")]


@pytest.mark.parametrize("name", ["nothing", "ftp://a.example/b", "empty.txt"])
def test_what_is_not_there_is_told_with_what_to_do(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    said = run("add", name if "://" in name else str(tmp_path / name))
    assert said.code == 2
    told = {"nothing": "Name a file", "ftp://a.example/b": "only http:// and https://", "empty.txt": "is empty"}
    assert told[name] in said.err


def test_keys_of_a_data_folder_are_never_read(run: Run, data: Path) -> None:
    run("remember", "something")
    (data.parent / "birds.md").write_text("The heron is a patient bird.")
    assert [each["name"] for each in run("add", str(data.parent), "--json").json["documents"]] == ["birds.md"]
    assert run("add", str(data / "keyring"), "--json").error["field"] == "source"


def test_a_watched_folder_is_followed(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "birds.md").write_text("The heron is a patient bird.")
    command = [sys.executable, "-m", "holdfast", "add", str(folder), "--watch"]
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "• birds.md\n"
        child.stdout.readline()
        (tmp_path / "new").write_text("The heron is no longer a patient bird, and the page says so.")
        (tmp_path / "new").replace(folder / "birds.md")  # whole, whenever the folder is looked at
        assert child.stdout.readline() == "• birds.md\n"
        child.stdout.readline()
    finally:
        child.terminate()  # a shell's background processes ignore an interrupt
        child.wait(400)
        child.stdout.close()


@pytest.mark.parametrize("option", ["--help"])
def test_help_names_what_can_be_added(run: Run, option: str) -> None:
    assert "FILE|URL|DIR" in run("add", option).out
