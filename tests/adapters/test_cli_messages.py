"""What commands say when something is missing, half given or cut off, as a user meets it in a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast, Holdfast, InvalidInput
from support.cli import CliResult, Run, data, run
from support.paths import SOURCE

__all__ = ["data", "run"]
Command = Callable[[str], CliResult]
Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A line of a shell in which `holdfast` is the command."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    env = kept | {"PYTHONPATH": str(SOURCE), "HOLDFAST_EMBEDDER": "potion", "HOLDFAST_DATA": str(tmp_path / "data")}

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        script = f'holdfast() {{ "{sys.executable}" -m holdfast "$@"; }}\nset -o pipefail\n{line}'
        return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=400)

    return shell


@pytest.fixture
def command(run: Run) -> Command:
    """A line without anything that only a shell understands, in this process."""
    return lambda line: run(*shlex.split(line))


def test_remember_reads_standard_input(shell: Shell) -> None:
    kept = shell("echo 'Likes green tea' | holdfast remember - --json")
    assert json.loads(kept.stdout)["content"] == "Likes green tea"
    empty = shell("holdfast remember - < /dev/null")
    assert (empty.returncode, empty.stdout) == (2, "")
    broken = shell(r"printf 'caf\xe9' | holdfast remember -")
    assert (broken.returncode, broken.stderr) == (2, "error: Standard input is not valid UTF-8 at byte 3.\n")


def test_a_mark_says_which(command: Command) -> None:
    made = command("remember 'Likes tea' --json").json["id"]
    neither = command(f"mark {made}")
    assert (neither.code, neither.err) == (2, "error: Is 'Likes tea' right or wrong? Add --right or --wrong.\n")
    assert command(f"mark {made} --wrong").code == 0
    assert "marked-wrong" in command("review").out


def test_a_reader_that_goes_away_is_141_however_much_was_to_come(shell: Shell, tmp_path: Path) -> None:
    many = [{"role": "user", "content": f"Number {n}: {'the boat is blue ' * 60}"} for n in range(200)]
    (tmp_path / "many.json").write_text(json.dumps(many))
    assert shell(f"holdfast ingest {tmp_path}/many.json --no-wait").returncode == 0
    for line in ("holdfast search boat --limit 200", "holdfast export", "holdfast search boat --limit 200 --json"):
        cut = shell(f"{line} | head -1")
        assert (cut.returncode, cut.stderr) == (141, ""), line
        assert cut.stdout.count("\n") == 1


def test_an_audit_that_mends_tells_what_it_did_and_what_is_left(command: Command) -> None:
    for given in ("--key dog", ""):
        command(f"remember 'The dog is called Max' {given}")
    would = command("audit --fix duplicates --dry-run")
    assert would.out.startswith("Would fix duplicates: 2 memories")
    done = command("audit --fix duplicates")
    assert done.out.startswith("Fixed duplicates: 2 memories, which now read:\n• The dog is called Max")
    assert "To fix" not in done.out
    assert "To undo: holdfast undo " in done.out
    assert command("audit --fix duplicates").out == "There was nothing to fix: duplicates 0.\n"
    log = command("undo --list --limit 1").out.splitlines()
    assert log[0].split() == ["change", "when", "what", "memories", "text"]
    assert len(log) == 2
    assert "audit duplicates" in log[1]
    assert "The dog is called Max" in log[1]


WRONG = (
    ("review ID edit", "edit needs the new text. Add --content TEXT."),
    ("review ID right --content x", "--content goes with the answer edit, not with 'right'."),
    ("search tea --since yesterday", "since: 'yesterday' is not a valid time; give ISO 8601 (2025-03-04, "),
    ("split ID one", "Give two or more texts, one for each new memory."),
    ("merge ID ID", "Give two or more different ids."),
    ("retention --set nofile.json", "nofile.json cannot be read: No such file or directory. Give a file, or"),
    ("forget", "Give one of: an id, --session, --person, --profile-data, or --kind and --filter."),
    ("forget --profile-data --dry-run", "--profile-data has no dry run."),
)


def test_a_wrong_line_is_told_in_the_words_of_the_command(command: Command) -> None:
    made = command("remember 'Likes tea' --json").json["id"]
    for line, told in WRONG:
        wrong = command(f"{line.replace('ID', made)}")
        assert wrong.code in (2, 3), line
        assert wrong.err.startswith(f"error: {told}"), line


def test_forgetting_by_filter_or_person_can_be_rehearsed_and_asks_first(command: Command) -> None:
    for text, via in (("Mara likes tea", "phone"), ("Mara has a boat", "mail"), ("Otto has a dog", "mail")):
        command(f"""remember "{text}" --metadata '{{"via": "{via}"}}'""")
    by_mail = """--filter '{"metadata.via": "mail"}'"""
    would = command(f"forget {by_mail} --dry-run")
    assert would.out.startswith("Would forget 2 memories and 0 messages.\n• ")
    assert "Otto has a dog" in would.out
    unasked = command(f"forget {by_mail}")
    assert (unasked.code, unasked.out) == (2, "")
    assert unasked.err.endswith("Add --yes.\n")
    assert command("forget --person Otto --yes").out.startswith("Forgot 1 memory and 0 messages.\nmemory ")
    assert command("forget --kind fact --yes").out.startswith("Forgot 2 memories and 0 messages.\nmemory ")
    assert command("forget --kind fact --yes").out == "There was nothing to forget in profile 'default'.\n"


def test_forgetting_one_can_be_rehearsed(command: Command) -> None:
    made = command("remember 'Likes tea' --json").json["id"]
    assert command(f"forget {made} --dry-run --json").json["memories"] == [made]
    assert "Likes tea" in command("list").out
    # The text is not printed again: what stands in a log was not forgotten.
    assert command(f"forget {made}").out == f"Forgot 1 memory and 0 messages.\nmemory {made}\n"


def test_a_cold_start_answers_from_what_was_just_written(shell: Shell) -> None:
    """With the model that takes longest to load, and nothing digested before the question."""
    asked = shell(
        "unset HOLDFAST_EMBEDDER; echo 'user: We moved to Lisbon.' | holdfast ingest - --no-wait > /dev/null; "
        "holdfast recall 'Where do I live?'"
    )
    assert asked.stdout.startswith("The user lives in Lisbon.\n")


def test_an_address_without_a_scheme_is_told_at_once() -> None:
    for connect in (AsyncHoldfast.connect, Holdfast.connect):
        with pytest.raises(InvalidInput, match=r"'127.0.0.1:8499'; write it like http://"):
            connect("127.0.0.1:8499", "token")


def test_an_unknown_embedder_is_told_all_ways_to_name_one(shell: Shell) -> None:
    wrong = shell("HOLDFAST_EMBEDDER=gpt holdfast stats")
    assert "use one of arctic, potion, or a vendor's, such as openai:" in wrong.stderr


FRAMEWORKS = "rich pydantic httpx2 fastapi starlette uvicorn mcp jsonschema onnxruntime"
WRITERS = (
    "holdfast.archive.export holdfast.documents.library holdfast.graph.queries holdfast.ingest.digest "
    "holdfast.models.rules.extractor holdfast.storage.in_memory.store holdfast.storage.sqlite.apply"
)


def test_what_is_not_needed_is_not_loaded(shell: Shell) -> None:
    """Seconds of processor time a day, for whoever has commands in scripts."""
    shell("holdfast remember 'Likes tea'")
    for line, absent in (
        ("--version", "click numpy asyncio"),
        ("--help", "numpy apsw pydantic onnxruntime"),
        ("list", f"numpy {FRAMEWORKS} {WRITERS} holdfast.recall.search holdfast.lifecycle.profile_page"),
        ("recall tea", f"{FRAMEWORKS} {WRITERS} holdfast.text.shortening numkong"),
    ):
        code = f"import sys; from holdfast.cli import main; main('{line}'.split()); print(*sorted(sys.modules))"
        loaded = set(shell(f'"{sys.executable}" -c "{code}"').stdout.splitlines()[-1].split())
        assert not loaded & set(absent.split()), line


def test_a_proposed_command_uses_the_same_profile(command: Command, data: Path) -> None:
    here = f"--data {data} --profile 'the boat'"
    made = command(f"remember 'Likes tea' --json {here}").json["id"]
    parted = command(f"split {made} 'Likes green tea' 'Likes black tea' {here}").out
    proposed = parted.partition("To undo: holdfast ")[2].strip()
    assert proposed.endswith(here)
    assert command(proposed).out.startswith("Undid split")
    for given in ("--key dog", ""):
        command(f"remember 'The dog is called Max' {given} {here}")
    assert f"To fix: holdfast audit --fix duplicates {here}\n" in command(f"audit {here}").out
    assert "--profile" not in command(f"mark {command('remember Tea --json').json['id']} --right").out


def test_a_key_of_one_memory_does_in_place_of_its_id(command: Command) -> None:
    made = command("remember 'Likes tea' --key 'hot drink' --json").json["id"]
    assert command("get 'hot drink' --json").json["id"] == made
    edited = command("edit 'hot drink' --content 'Likes coffee'").out
    assert "Likes coffee" in edited
    assert "Likes tea" in command("history 'hot drink'").out
    assert command(edited.partition("To undo: holdfast ")[2]).out.startswith("Undid")
    assert "Likes tea" in command("get 'hot drink'").out
    asked = command("mark 'hot drink'")
    assert (asked.code, asked.err) == (2, "error: Is 'Likes tea' right or wrong? Add --right or --wrong.\n")
    assert f"'hot drink' is a key; give the id: {made}." in command("forget 'hot drink'").err, "it is for good"
    for kind in ("fact", "instruction"):
        command(f"remember 'Walk the dog as a {kind}' --kind {kind} --key dog")
    assert " is a key; give the id: " in command("get dog").err


def test_a_profile_that_nothing_was_written_to_is_named(command: Command) -> None:
    for line in ("forget nope", "mark nope"):
        assert (
            command(line).err.splitlines()[-1].startswith("error: There is no memory or message 'nope' in profile")
        ), line
    for line in ("undo", "forget --session s --yes", "mark nope --wrong", "split nope a b"):
        told = command(line)
        assert told.code == 3, line
        assert "Nothing is stored in profile 'default' of namespace 'default' yet." in told.err
    command("remember 'Likes tea'")
    command("undo")
    assert command("undo").err.startswith("error: There is nothing to undo in this profile. A remember, edit, ")
    command("remember 'Likes tea'")
    assert command("undo --steps 2").err == "error: There is 1 change that can be undone, not 2. Give at most 1.\n"


def test_an_edit_without_a_change_is_refused(command: Command) -> None:
    made = command("remember 'Likes tea' --json").json["id"]
    refused = command(f"edit {made}")
    assert refused.code == 2
    assert refused.err.startswith("error: Nothing was given to change. Add --content TEXT")
    assert len(command(f"history {made} --json").json["versions"]) == 1


def test_an_unknown_id_names_the_profile_that_was_looked_in(command: Command) -> None:
    made = command("remember 'Likes tea' --json --profile boat").json["id"]
    command("remember 'Likes coffee'")
    for line in (f"get {made}", f"history {made}", f"edit {made} --content Tea", f"mark {made} --right"):
        missed = command(line)
        assert missed.code == 3, line
        assert f"'{made}'" in missed.err, line
        assert " profile 'default'. Give an id; `holdfast list` and " in missed.err, line
        assert "list(" not in missed.err
    assert command("forget --session s-3").out == "There was nothing to forget in profile 'default'.\n"


@pytest.mark.parametrize("path", ["", 5, b"data", True])
def test_what_is_no_path_is_refused_and_makes_nothing(
    path: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="give a path"):
        Holdfast.open(path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
