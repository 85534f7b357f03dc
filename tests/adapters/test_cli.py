"""The command line as a user meets it: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.cli.app import app
from support.cli import CliResult, Run, all_commands, data, run
from support.paths import SOURCE

__all__ = ["data", "run"]
CHAT = "Mara: I live in Berlin.\nAssistant: Noted.\nMara: I'm allergic to peanuts.\n"


def process(*arguments: str | bytes, stdin: bytes = b"", **environment: str) -> CliResult:
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
        timeout=400,
    )
    return CliResult(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def test_on_a_new_install_every_question_finds_nothing_and_makes_nothing(run: Run, data: Path) -> None:
    for command in (["recall", "Where do I live?"], ["search", "boat"], ["context", "boat"], ["list"], ["summary"],
                    ["stats"], ["profiles"], ["documents"], ["graph"], ["notes", "list"], ["usage"], ["kinds"],
                    ["audit"], ["review"], ["undo", "--list"]):  # fmt: skip
        told = run(*command)
        assert told.code == 0, command
        assert told.err.startswith(f"warning: Nothing is stored in {data} yet."), command
        assert "holdfast remember" in told.err
    assert not data.exists()
    assert run("profiles", "--json").json == {"profiles": []}
    assert run("search", "boat", "--with", "team", "--json").json == {"hits": []}
    assert run("namespaces", "--json").json == {"namespaces": []}
    assert run("get", "01NOBODY").code == 3


def test_a_transcript_becomes_memories_that_recall_cites(run: Run) -> None:
    told = run("ingest", "--session", "s1", stdin=CHAT)
    assert told.code == 0
    assert told.out.startswith("Session s1: 3 new messages, ")
    assert "Mara lives in Berlin." in told.out
    asked = run("recall", "Where does Mara live?", "--json").json
    assert "Berlin" in asked["answer"]
    assert asked["citations"][0]["hit"] in {hit["id"] for hit in asked["hits"]}


def test_a_session_and_what_is_beside_the_point_can_be_left_out(run: Run) -> None:
    run("ingest", "--session", "old", stdin="user: The deploy day is Thursday.\n")
    run("ingest", "--session", "running", stdin="user: The deploy of today failed.\n")
    for command in ("search", "context", "recall"):
        assert "failed" in run(command, "deploy", "--json").out, command
        told = run(command, "deploy", "--exclude-session", "running", "--json").out
        assert "failed" not in told, command
    assert "Thursday" in run("context", "deploy day", "--min-relevance", "0.1").out
    assert run("context", "quantum chromodynamics", "--min-relevance", "0.9", "--json").json["text"] == ""


def test_nothing_known_is_said_and_is_no_error(run: Run) -> None:
    run("remember", "Prefers window seats")
    asked = run("recall", "zebra quantum harpsichord")
    assert (asked.code, asked.out) == (0, "Nothing known about that.\n")
    assert run("recall", "zebra quantum harpsichord", "--json").json["answer"] == ""


def test_ingesting_the_same_file_twice_changes_nothing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(CHAT)
    first, second = (run("ingest", str(file), "--json").json for _ in range(2))
    assert first["session_id"] == second["session_id"]
    assert [message["new"] for message in second["messages"]] == [False] * 3
    assert {memory["id"] for memory in first["memories"]} == {memory["id"] for memory in second["memories"]}


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "I live in Rome."}, {"role": "assistant", "content": "Nice."}]',
        '{"session_id": "s", "messages": [{"role": "user", "content": "I live."}, {"role": "tool", "content": "."}]}',
        '{"role": "user", "content": "I live in Rome."}\n\n{"role": "user", "content": "And I like it."}\n',
        "user: I live in Rome.\r\nSYSTEM: be kind\r\n",
        "\ufeffUser: I live in Rome.\nand like it\nGiulia Rossi: me too",
    ],
    ids=["list", "object", "lines", "transcript", "byte-order-mark"],
)
def test_every_format_is_recognised(run: Run, text: str) -> None:
    told = run("ingest", "-", "--json", stdin=text)
    assert told.code == 0, told.err
    assert len(told.json["messages"]) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [("chat.json", "not json {"), ("chat.json", '"Mara: hello"'), ("chat.jsonl", "Mara: hello"), ("a.ndjson", "hello")],
)
def test_a_file_named_json_is_not_taken_for_a_conversation_in_text(
    run: Run, tmp_path: Path, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    refused = run("ingest", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert f"{file} " in refused.err
    assert refused.err.endswith("If it is a conversation in text: --format text.\n")
    assert run("messages", "--json").json["messages"] == []
    assert run("ingest", str(file), "--format", "text").code == 0


def test_a_transcript_keeps_names_continuations_and_times(run: Run, data: Path) -> None:
    run(
        "ingest",
        "--session",
        "s",
        stdin="[2025-03-04 18:20] Giulia Rossi: one\n  at 10:30, see https://a.b\n\nTool: two",
    )
    with Holdfast.open(data) as holdfast:
        first, second = holdfast.profile("default", "default").messages("s")
    assert (first.role, first.speaker, first.content) == ("user", "Giulia Rossi", "one\n  at 10:30, see https://a.b")
    assert first.said_at.isoformat() == "2025-03-04T18:20:00+00:00"
    assert (second.role, second.speaker, second.content) == ("tool", None, "two")


def test_more_than_a_batch_becomes_one_session(run: Run) -> None:
    lines = "\n".join(json.dumps({"role": "user", "content": f"Note number {n}"}) for n in range(1203))
    told = run("ingest", "--no-wait", "--json", stdin=lines).json
    assert len(told["messages"]) == 1203
    stats = run("stats", "--json").json
    assert (stats["messages"], stats["sessions"]) == (1203, 1)


def test_a_bad_message_in_a_late_batch_changes_nothing(run: Run) -> None:
    messages = [{"role": "user", "content": f"Note {n}"} for n in range(700)]
    messages[650]["role"] = "queen"
    told = run("ingest", "--json", stdin=json.dumps(messages))
    assert (told.code, told.error["field"]) == (2, "messages[650].role")
    assert run("namespaces", "--json").json == {"namespaces": []}


@pytest.mark.parametrize(
    ("arguments", "stdin", "field"),
    [
        (["ingest"], b"User: ol\xe9 ol\xe9", "file"),
        (["ingest"], b"", "messages"),
        (["ingest"], b'[{"role": "user", "content": "x"', "file"),
        (["ingest", "--format", "jsonl"], b'{"role": "user", "content": "x"}\n{oops', "file"),
        (["ingest", "--format", "yaml"], b"x", "format"),
        (["ingest"], b'{"messages": 3}', "messages"),
        (["ingest", "no-such-file.txt"], b"", "file"),
        (["ingest"], b"[" * 100_000, "file"),
        (["ingest", "--session", "s" * 65], b"User: x", "session_id"),
        (["remember", "x", "--metadata", "{"], b"", "metadata"),
        (["remember", "x", "--ttl", "soon"], b"", "ttl"),
        (["remember", "x", "--kind", "No Kind"], b"", "kind"),
        (["search", "x", "--filter", '{"metadata.a": {"like": 1}}'], b"", "filter.metadata.a"),
        (["search", "x", "--since", "yesterday"], b"", "since"),
        (["search", "x", "--limit", "0"], b"", "limit"),
        (["search", "x", "--limit", "many"], b"", "limit"),
        (["search", "x", "-n", "No Name"], b"", "namespace"),
        (["forget"], b"", "id"),
        (["namespaces", "rename"], b"", "action"),
        (["namespaces", "create"], b"", "name"),
    ],
)
def test_bad_input_is_refused_by_field(run: Run, arguments: list[str], stdin: bytes, field: str) -> None:
    run("remember", "something")
    refused = run(*arguments, "--json", stdin=stdin)
    assert (refused.code, refused.out) == (2, "")
    assert refused.error["field"] == field
    assert refused.error["code"] == "invalid_input"
    plain = run(*arguments, stdin=stdin)
    assert plain.err.startswith("error: ")
    assert plain.err.count("\n") == 1


def test_a_wrong_command_is_one_line_and_status_two(run: Run) -> None:
    wrong = run("remembr", "x")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "error: There is no command 'remembr'. Did you mean 'remember'? See: holdfast --help\n"
    assert "Did you mean '--limit'?" in run("list", "--limt", "3").err
    assert run("xyzzy").err == "error: There is no command 'xyzzy'. See: holdfast --help\n"
    assert run("search", "--json").error["code"] == "invalid_input"


def test_without_a_command_there_is_a_short_start(run: Run) -> None:
    start = run()
    assert (start.code, start.err) == (0, "")
    assert len(start.out.splitlines()) < 15
    named = {line.split()[1] for line in start.out.splitlines() if line.startswith("  holdfast ")}
    assert named <= set(all_commands(app()))


def test_invalid_utf8_names_the_byte(run: Run) -> None:
    assert "byte 0xe9 at offset 8" in run("ingest", stdin=b"User: ol\xe9").err
    assert "line 2" in run("ingest", "--format", "jsonl", stdin="{}\n{oops").err


def test_an_unwritten_profile_is_empty_and_a_missing_memory_is_not_found(run: Run) -> None:
    assert run("list", "--json").json["memories"] == []
    run("remember", "something")
    assert run("list", "-p", "nobody", "--json").json["memories"] == []
    assert run("get", "nothing").code == 3
    tea = run("remember", "Likes tea", "--key", "drink", "--json").json["id"]
    assert f"'drink' is a key; give the id: {tea}." in run("forget", "drink").err
    assert "There is no namespace 'defalt'. Did you mean 'default'?" in run("list", "-n", "defalt").err
    run("remember", "something", "-p", "alice")
    told = run("search", "something", "-p", "alise")
    assert (told.code, told.out) == (0, "Nothing known about that.\n")
    assert "There is no profile 'alise' in namespace 'default'. Did you mean 'alice'?" in told.err
    assert run("forget", "--profile-data", "--yes", "-p", "nobody").code == 3


def test_a_key_is_superseded_and_its_history_read(run: Run) -> None:
    run("remember", "Prefers window seats", "--key", "seat")
    kept = run("remember", "Prefers aisle seats", "--key", "seat", "--metadata", '{"by": "phone"}', "--json").json
    assert (kept["version"], kept["metadata"], kept["created_at"][-1]) == (2, {"by": "phone"}, "Z")
    listed = run("list", "--key-prefix", "se", "--json").json
    assert [item["content"] for item in listed["memories"]] == ["Prefers aisle seats"]
    versions = run("history", kept["id"]).out
    assert versions.index("aisle") < versions.index("window")
    assert "Prefers aisle seats" in run("get", kept["id"]).out


@pytest.mark.parametrize("command", ["list", "search milk", "recall milk?", "facets", "forget --dry-run", "edit --pin"])
def test_a_kind_that_does_not_exist_is_answered_with_those_that_do(run: Run, command: str) -> None:
    words = command.split()
    run("remember", "Oat milk", "--kind", "shopping")
    misspelt = run(*words, "--kind", "task", "--kind", "shoping").err
    assert "There is no memory of kind 'shoping'. Did you mean 'shopping'?" in misspelt
    unlike = run(*words, "--kind", "zzz").err
    assert "The kinds are fact, event, instruction, task, summary, message, shopping." in unlike
    for kind in ("task", "message", "shopping"):
        assert "no memory of kind" not in run(*words, "--kind", kind).err


def test_a_kind_of_another_profile_is_known_when_both_are_asked(run: Run) -> None:
    run("remember", "Oat milk", "--kind", "shopping", "-p", "ana")
    run("remember", "Green tea", "-p", "ben")
    assert "no memory of kind" in run("search", "milk", "-p", "ben", "--kind", "shopping").err
    assert "no memory of kind" not in run("search", "milk", "-p", "ben", "--with", "ana", "--kind", "shopping").err


def test_listing_goes_page_by_page(run: Run) -> None:
    for n in range(3):
        run("remember", f"Thing {n}", "--key", f"k{n}", "--kind", "note")
    first = run("list", "--limit", "2", "--kind", "note", "--json").json
    second = run("list", "--limit", "2", "--kind", "note", "--cursor", first["cursor"], "--json").json
    assert len(first["memories"]) == 2
    assert [len(second["memories"]), second["cursor"]] == [1, None]


def test_search_context_and_summary_read_what_was_written(run: Run) -> None:
    run("ingest", "--session", "s1", stdin=CHAT)
    hits = run("search", "peanuts", "--kind", "message", "--session", "s1", "--json").json["hits"]
    assert "peanuts" in hits[0]["content"]
    assert "peanuts" in run("context", "what to cook", "--tokens", "200").out
    assert "## Facts" in run("summary").out


def test_a_memory_with_a_ttl_says_when_it_expires(run: Run) -> None:
    kept = run("remember", "Door code", "--ttl", "2h", "--json").json
    assert kept["expires_at"] > kept["created_at"]


def test_forgetting_a_session_leaves_nothing_of_it(run: Run) -> None:
    run("ingest", "--session", "s1", stdin=CHAT)
    assert run("forget", "--session", "s1").code == 2  # nobody can be asked
    assert "3 messages" in run("forget", "--session", "s1", "--yes").out
    assert run("stats", "--json").json["messages"] == 0
    assert run("forget", "--session", "s1").out == "There was nothing to forget in profile 'default'.\n"


def test_deleting_a_profile_needs_a_yes(run: Run) -> None:
    run("remember", "something")
    refused = run("forget", "--profile-data")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert run("forget", "--profile-data", "--yes").code == 0
    assert run("profiles").out == "No profiles yet.\n"


def test_namespaces_are_created_listed_and_deleted(run: Run) -> None:
    assert run("namespaces", "create", "support").code == 0
    assert run("namespaces", "create", "support").code == 4
    assert [each["name"] for each in run("namespaces", "--json").json["namespaces"]] == ["support"]
    assert run("namespaces", "delete", "support").code == 2
    assert run("namespaces", "delete", "support", "--yes").code == 0
    assert run("namespaces").out == "No namespaces yet.\n"


def test_namespace_and_profile_come_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "support")
    monkeypatch.setenv("HOLDFAST_PROFILE", "alice")
    run("remember", "something")
    profiles = run("profiles", "--json").json["profiles"]
    assert [(each["namespace"], each["name"]) for each in profiles] == [("support", "alice")]


def test_stored_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    kept = run("remember", "red \x1b[31malert\x07", "--json").json
    for shown in (run("get", kept["id"]), run("list"), run("search", "alert")):
        assert "\x1b" not in shown.out
        assert "␛[31malert" in shown.out


def test_a_folder_in_use_is_busy(run: Run, data: Path) -> None:
    with Holdfast.open(data):
        refused = run("stats", "--json")
        checked = run("doctor", "--json")
    assert (refused.code, refused.error["code"], refused.error["retryable"]) == (6, "busy", True)
    assert checked.code == 0
    assert any(
        each["level"] == "ok" and "has the data folder open" in each["what"] for each in checked.json["findings"]
    )


def failures(said: CliResult) -> list[str]:
    return [each["what"] for each in said.json["findings"] if each["level"] == "fail"]


def test_the_doctor_finds_a_healthy_folder_healthy(run: Run) -> None:
    assert run("doctor").code == 0
    run("ingest", stdin=CHAT)
    checked = run("doctor", "--json")
    assert (failures(checked), checked.code, checked.json["ok"]) == ([], 0, True)


def test_the_doctor_names_the_damaged_profile_only(run: Run, data: Path) -> None:
    run("remember", "something", "-p", "alice")
    (alice,) = (data / "profiles").rglob("*.db")
    run("remember", "something", "-p", "bob")
    alice.write_bytes(os.urandom(8192))
    alice.with_name(alice.name + "-wal").unlink()  # a young file is whole in its log
    checked = run("doctor", "--json")
    assert checked.code == 1
    assert [what.split(":")[0] for what in failures(checked)] == ["Profile default/alice"]
    assert run("list", "-p", "bob").code == 0
    assert run("list", "-p", "alice", "--json").error["code"] == "damaged"
    alice.unlink()
    assert "is missing" in failures(run("doctor", "--json"))[0]


def test_the_doctor_notices_a_damaged_log(run: Run, data: Path) -> None:
    with Holdfast.open(data / "crashed", embedder="potion") as memory:
        for n in range(3):
            memory.profile("default", "default").remember(f"Thing {n}")
        shutil.copytree(data / "crashed", data, dirs_exist_ok=True)  # as a crash leaves it: all is in the log
    (log,) = (data / "profiles").rglob("*.db-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    assert "its log" in failures(run("doctor", "--json"))[0]


def test_nothing_written_is_readable_on_disk(run: Run, data: Path) -> None:
    run("remember", "something")
    (file,) = (data / "profiles").rglob("*.db")
    assert file.read_bytes()[:15] != b"SQLite format 3"
    assert b"something" not in file.read_bytes()


@pytest.mark.parametrize("keyring", [None, "{}", "not json", json.dumps({"master_key": "00" * 32})])
def test_the_doctor_survives_a_keyring_that_is_lost_or_wrong(run: Run, data: Path, keyring: str | None) -> None:
    run("remember", "something")
    (data / "keyring").unlink() if keyring is None else (data / "keyring").write_text(keyring)
    checked = run("doctor", "--json")
    assert (checked.code, len(failures(checked))) == (1, 1)
    assert run("stats", "--json").error["code"] == "key_missing"


def test_the_doctor_warns_of_an_open_keyring_strays_and_waiting_work(run: Run, data: Path) -> None:
    run("ingest", "--no-wait", stdin="\n".join(f"User: Note {n}" for n in range(400)))
    (data / "keyring").chmod(0o644)
    (data / "profiles" / "stray.db").touch()
    checked = run("doctor", "--json")
    warned = " ".join(each["what"] for each in checked.json["findings"] if each["level"] == "warn")
    assert checked.code == 0
    assert "can be read by others (0644)" in warned
    assert "stray.db" in warned


def test_the_doctor_survives_settings_and_folders_that_make_no_sense(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("doctor", "--data", __file__).code == 1
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "crystal-ball")
    assert run("doctor").code == 1
    assert run("stats", "--json").error["field"] == "embedder"


def test_the_demo_fits_a_screen_and_leaves_the_users_folder_alone(run: Run, data: Path) -> None:
    shown = run("demo")
    assert shown.code == 0
    assert len(shown.out.splitlines()) < 40
    for sign in ("supersedes “Mara lives in Berlin.”", "← “We moved to Lisbon last weekend!”", "Nothing known", " ms"):
        assert sign in shown.out
    assert not data.exists()
    own = "remember", "recall", "forget --profile-data"
    assert all("-p demo" in line for line in shown.out.splitlines() if any(f"holdfast {each}" in line for each in own))
    assert run("demo", "--json").json["questions"][-1]["answer"] == ""


def test_the_version_is_told(run: Run) -> None:
    assert run("version").out.startswith("holdfast ")
    assert run("--version").out.strip() == run("version", "--json").json["version"]


def test_every_command_has_help_and_the_common_options(run: Run) -> None:
    lines = run("--help").out.split("Everyday:")[1].splitlines()
    commands = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(commands) == sorted(name for name, each in all_commands(app()).items() if not each.hidden)
    assert [line for line in lines if line and not line.startswith("  ")] == [
        "Correct:",
        "Move:",
        "Serve:",
        "Administer:",
    ]
    assert not [line for line in lines if len(line) > 80 or line.endswith("...")], "each command has one whole line"
    for command in commands:
        said = run(command, "--help")
        assert said.code == 0
        own = {
            "serve": ("--data",),
            "background": ("--data",),
            "mcp": ("--data", "--namespace", "--profile"),
            "transfer": ("--namespace", "--profile", "--json"),
        }
        common = own.get(command, ("--data", "--namespace", "--profile", "--json"))
        assert all(option in said.out for option in common)


def test_a_process_reads_stdin_and_speaks_utf8_in_any_locale(data: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    told = process("ingest", stdin="Zoë: Ich wohne in Köln. 東京も好き。".encode(), **plain)
    assert told.code == 0, told.err
    kept = process("remember", "mag Käse 🧀".encode(), "--json", **plain)
    assert kept.json["content"] == "mag Käse 🧀"
    assert "東京" in process("search", "東京".encode(), **plain).out


def test_a_process_refuses_bytes_that_are_no_text(data: Path) -> None:
    refused = process("ingest", stdin=b"User: \xff\xfe")
    assert (refused.code, refused.out, "offset 6" in refused.err) == (2, "", True)
    refused = process("get", b"ab\xff", "--json")
    assert (refused.code, refused.error["field"]) == (2, "id")
    assert "Traceback" not in refused.err


def test_an_interrupt_says_what_is_stored_and_ends_with_130(data: Path) -> None:
    waiting = subprocess.Popen(
        [
            sys.executable,
            "-c",
            # whoever is started in the background by a shell ignores it from the beginning
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "from holdfast.cli import main; print(1, flush=True); sys.exit(main(['ingest']))",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert waiting.stdin is not None
    waiting.stdin.write(b"x" * 300_000)  # more than a pipe holds, so that this ends when it has begun to read
    waiting.stdin.flush()
    assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=400)
    assert (waiting.returncode, err) == (130, b"Interrupted. Nothing was stored.\n")


def test_starting_loads_neither_rich_nor_a_model() -> None:
    code = (
        "import sys; from holdfast.cli import main; main(['--help']); "
        "sys.exit(any(name.split('.')[0] in ('rich', 'onnxruntime', 'apsw') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SOURCE)}).returncode == 0
