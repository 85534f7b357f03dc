"""The command line on a real terminal: what it asks, and what it shows while and after it works."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.cli import main
from support.cli import Run, data, run
from support.paths import SOURCE

__all__ = ["data", "run"]
MAX_SECONDS = 300
INTERRUPT = b"\x03"


def on_terminal(*arguments: str, answer: bytes = b"", after: bytes = b"[y/N]") -> tuple[int, str]:
    """Run a command on a terminal of its own and type `answer` once `after` is shown; its status and what it showed.

    Ctrl-C is typed again while nothing happens, as people do: one that arrives just before the command waits for input
    takes effect only with the next.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm", "COLUMNS": "100"}
        os.execve(sys.executable, [sys.executable, "-m", "holdfast", *arguments], environment)
    shown, repeated, end = b"", False, time.monotonic() + MAX_SECONDS
    while time.monotonic() < end:
        ready = select.select([terminal], [], [], 1)[0]
        if ready:
            try:
                shown += os.read(terminal, 65_536)
            except OSError:  # the other side is closed
                break
        if answer and after in shown:
            os.write(terminal, answer)
            repeated, answer = answer.endswith(INTERRUPT), b""
        elif repeated and not ready:
            os.write(terminal, INTERRUPT)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_forget_shows_what_goes_and_asks(run: Run) -> None:
    id = run("remember", "Likes green tea", "--json").json["id"]
    code, shown = on_terminal("forget", id, answer=b"n\n")
    assert (code, "Likes green tea" in shown, "Nothing was forgotten." in shown) == (0, True, True)
    assert "Forget 1 memory and 0 messages for good? [y/N]" in shown
    code, shown = on_terminal("forget", id, answer=b"\x03")
    assert (code, "Interrupted. Nothing was deleted." in shown) == (130, True)
    assert run("get", id).code == 0
    code, shown = on_terminal("forget", id, answer=b"y\n")
    assert (code, "Forgot 1 memory and 0 messages." in shown) == (0, True)
    assert run("get", id).code == 3


def test_forget_with_yes_does_not_ask_and_says_what_went(run: Run) -> None:
    id = run("remember", "Likes green tea", "--json").json["id"]
    code, shown = on_terminal("forget", id, "--yes")
    assert (code, "[y/N]" in shown, "Likes green tea" in shown) == (0, False, True)


def test_ctrl_c_while_typing_says_that_nothing_is_stored(data: Path) -> None:
    code, shown = on_terminal("ingest", answer=b"Mara: I live in Berlin.\n\x03", after=b"Ctrl-D")
    assert (code, "Interrupted. Nothing was stored." in shown) == (130, True)
    assert not data.exists()


def test_a_fault_is_one_line_and_its_traceback_can_be_had(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the lid is stuck")

    monkeypatch.setattr("holdfast.cli.commands.installation.CommandResult", fail)
    told = run("version")
    assert told.code == 1
    assert told.err.startswith(
        "error: This should not happen: RuntimeError: the lid is stuck (test_cli_terminal.py, line "
    )
    assert told.err.count("\n") == 1
    assert run("version", "--json").error["code"] == "error"
    monkeypatch.setenv("HOLDFAST_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["version"])


def test_errors_of_the_system_are_told_in_words(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run("list", "--data", str(file)).err == f"error: {file} is a file, not a data folder. Name a folder.\n"
    run("remember", "something")
    for arguments in (["backup", str(file / "x")], ["remember", "x", "--data", str(file / "x")]):
        told = run(*arguments)
        assert told.code in (2, 7)
        assert "Not a directory" in told.err
        assert "Errno" not in told.err


def test_json_has_internals_only_to_explain(run: Run) -> None:
    run("ingest", "--session", "s", stdin="Mara: I live in Berlin.\nMara: My boat is called Wanda.")
    for command in (["search", "boat"], ["recall", "Where does Mara live?"], ["context", "boat"], ["list"]):
        plain, explained = (json.loads(run(*command, *more).out) for more in (["--json"], ["--json", "--explain"]))
        (first, *_), (whole, *_) = (each.get("hits") or each["memories"] for each in (plain, explained))
        hidden = {"keywords", "queries", "extractor", "origin", "last_version"}
        hidden = hidden if command == ["list"] else {"channels", "features", "reasons"}
        assert set(whole) - set(first) == hidden, command
        assert {name: whole[name] for name in first} == first
    kept = run("remember", "x", "--metadata", '{"features": {"keywords": 1}}', "--json").json
    assert kept["metadata"] == {"features": {"keywords": 1}}, "what users store is never left out"


def test_dates_say_what_they_are(run: Run) -> None:
    run("ingest", "--session", "s", stdin="[2025-03-04 18:20] Mara: My flight is on 2041-05-06.")
    assert "Mara · said 2025-03-04 · " in run("search", "flight", "--kind", "message").out
    assert "said 2025-03-04 18:20" in run("messages").out
    listed = run("list", "--kind", "event").out
    assert "event · happens 2041-05-06 · said 2025-03-04 · written 20" in listed
    run("remember", "Likes tea")
    assert "fact · written 20" in run("list", "--kind", "fact").out, "said and written on one day"
    id = run("list", "--kind", "event", "--json").json["memories"][0]["id"]
    shown = run("get", id).out
    assert "\nhappens " in shown
    assert "\nwritten " in shown


def test_a_list_marks_what_is_superseded(run: Run) -> None:
    id = run("remember", "Takes 500 mg", "--key", "dose", "--json").json["id"]
    run("remember", "Takes 1000 mg", "--key", "dose")
    new, old = run("list", "--superseded").out.split("• ")[1:]
    assert "fact · dose · written " in new
    assert "fact · superseded, version 1 · dose · written " in old
    assert old.rstrip().endswith(f" · {id}@1")
    assert "Takes 500 mg" in run("get", f"{id}@1").out


def test_long_results_are_cut_with_a_hint(run: Run) -> None:
    lines = "".join(f"Person{n}: I live in {city}.\n" for n, city in enumerate(["Rome", "Porto", "Oslo"] * 9))
    told = run("ingest", "--session", "s", stdin=lines).out
    assert told.count("\n• ") == 20
    assert told.endswith("And 7 more; see: holdfast list --session s.\n")
    assert run("search", "Rome").out.endswith("The best 10. More: add --limit 20\n")
    id = run("remember", "long " * 1000, "--json").json["id"]
    assert "(3,999 more characters: holdfast get ID)" in run("list", "--limit", "1").out
    assert run("get", id).out.count("long") > 900


def test_a_pipe_that_is_closed_early_ends_the_command(run: Run) -> None:
    run("remember", "something")
    command = f"'{sys.executable}' -m holdfast --help | head -1"
    ended = subprocess.run(command, shell=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(SOURCE)})
    assert (ended.stdout, ended.stderr) == (b"Usage: holdfast [OPTIONS] COMMAND [ARGS]...\n", b"")
