"""Connecting clients: what is written into their settings, what is left alone, and the way back."""

from __future__ import annotations

import json
import os
import plistlib
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli import main
from holdfast.cli.hooks import background, clients, config_file, user_service
from holdfast.cli.hooks.hook_state import HookState
from holdfast.cli.hooks.memory_check import memory_findings
from holdfast.service.settings import Settings
from support.example_counts import example_count
from support.paths import ROOT

URL = "http://127.0.0.1:8420/s/hf_verysecret"
FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "vscode": ".config/Code/User/mcp.json",
}
WITH_URL = [name for name, client in clients.CLIENTS.items() if client.remote]
WITH_HOOKS = [name for name, client in clients.CLIENTS.items() if client.hooks]


class CliResult(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., CliResult]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("HOLDFAST_", "CLAUDE", "CODEX", "GEMINI", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(clients, "home", lambda: tmp_path)
    monkeypatch.setattr(user_service, "home", lambda: tmp_path)
    monkeypatch.setattr(user_service, "start_background", lambda data: None)
    monkeypatch.setattr(user_service, "_succeeds", lambda command: False)
    monkeypatch.setattr(background, "stop_background", lambda folder: False)
    monkeypatch.setenv("PATH", "")
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> CliResult:
        return CliResult(main(["connect", *arguments]), *capsys.readouterr())

    return run


def entry(home: Path, name: str) -> Any:
    file = home / FILES[name]
    held = tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())
    return held[clients.CLIENTS[name].servers_key]["holdfast"]


def folder_contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", list(FILES))
def test_a_dry_run_changes_nothing(run: Run, home: Path, name: str) -> None:
    shown = run(name, "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    assert str(home / FILES[name]) in shown.out
    assert "Nothing was changed" in shown.out
    assert folder_contents(home) == {}


@pytest.mark.parametrize("name", list(FILES))
def test_a_client_that_starts_programs_starts_ours(run: Run, home: Path, name: str) -> None:
    assert run(name, "--data", "/srv/memory", "--namespace", "team").code == 0
    ours = entry(home, name)
    command = ours["command"] if name == "opencode" else [ours["command"], *ours["args"]]
    assert Path(command[0]).is_absolute()
    beside = ["--profile", ".", "--with", "default"] if clients.CLIENTS[name].projects else []
    assert command[command.index("mcp") + 1 :] == beside
    passed = ours["environment" if name == "opencode" else "env"]
    assert passed["HOLDFAST_DATA"] == "/srv/memory"
    assert passed["HOLDFAST_NAMESPACE"] == "team"
    assert clients.entry_variables(name)["HOLDFAST_DATA"] == "/srv/memory"


def test_the_personal_profile_can_be_another_or_none(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for personal, beside in (("me", ["--profile", ".", "--with", "me"]), ("off", ["--profile", "."])):
        monkeypatch.setenv("HOLDFAST_PERSONAL", personal)
        run("cursor")
        assert entry(home, "cursor")["args"][-len(beside) :] == beside
        assert entry(home, "cursor")["env"]["HOLDFAST_PERSONAL"] == personal


@pytest.mark.parametrize("name", WITH_URL)
def test_a_url_is_written_and_its_secret_not_shown(run: Run, home: Path, name: str) -> None:
    for ending in ("", "/", "/mcp"):
        written = run(name, "--url", URL + ending)
        assert entry(home, name)[clients.CLIENTS[name].remote] == f"{URL}/mcp"
        assert "verysecret" not in written.out + written.err
    assert "verysecret" not in run(name, "--url", URL, "--json").out
    assert (home / FILES[name]).stat().st_mode & 0o077 == 0
    assert clients.entry_variables(name)["HOLDFAST_URL"] == f"{URL}/mcp"


def test_the_url_may_come_from_the_environment(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", URL)
    assert json.loads(run("cursor", "--json").out)["files"][0]["changes"] is True
    assert entry(home, "cursor")["url"] == f"{URL}/mcp"


@pytest.mark.parametrize("name", [name for name in WITH_HOOKS if clients.CLIENTS[name].events])
def test_hooks_are_added_once_beside_those_of_others(run: Run, home: Path, name: str) -> None:
    file = clients.CLIENTS[name].hooks()  # type: ignore[misc]
    event = clients.CLIENTS[name].events[2]
    theirs = {"command": "say done"} if name == "cursor" else {"hooks": [{"type": "command", "command": "say done"}]}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": {event: [theirs]}, "model": "best"}))
    before = folder_contents(home)
    for _ in range(2):
        assert run(name, "--hooks", "--url", URL).code == 0
    held = json.loads(file.read_text())
    assert held["model"] == "best"
    assert held["hooks"][event] == [theirs, clients.hook_entry(name, event)]
    assert tuple(sorted(held["hooks"])) == tuple(sorted(clients.CLIENTS[name].events))
    assert all(len(each) == 1 + (key == event) for key, each in held["hooks"].items())
    run(name, "--undo")
    assert folder_contents(home) == before


def test_the_plugin_of_opencode_is_written_and_removed(run: Run, home: Path) -> None:
    plugin = home / ".config" / "opencode" / "plugin" / "holdfast.js"
    for _ in range(2):
        assert run("opencode", "--hooks").code == 0
        assert json.dumps(clients.program_command()) in plugin.read_text()
    run("opencode", "--undo")
    assert folder_contents(home) == {}
    plugin.write_text("export const Theirs = 1;\n")
    assert "it is another plugin" in run("opencode", "--hooks").err
    assert folder_contents(home) == {".config/opencode/plugin/holdfast.js": b"export const Theirs = 1;\n"}


def test_without_a_client_all_are_listed_with_what_would_change(run: Run, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "best"\n')
    (home / ".cursor").mkdir()
    run("cursor")
    before = folder_contents(home)
    listed = run()
    assert (listed.code, folder_contents(home)) == (0, before)
    assert "Codex (codex): not connected\n--- " in listed.out
    assert "+[mcp_servers.holdfast]" in listed.out
    assert "best" not in listed.out  # only the lines that change
    assert "Cursor (cursor): connected\n" in listed.out
    assert "Not found: " in listed.out
    assert "OpenCode (opencode)" in listed.out.partition("Not found: ")[2]
    assert "To connect a client: holdfast connect codex --hooks" in listed.out
    found = {each["client"]: each for each in json.loads(run("--hooks", "--json").out)["clients"]}
    assert (found["codex"]["installed"], len(found["codex"]["diffs"])) == (True, 2)
    assert (found["cursor"]["connected"], found["cursor"]["hooks"], len(found["cursor"]["diffs"])) == (True, False, 1)


def test_the_folder_of_a_clients_hooks_shows_that_it_is_installed(run: Run, home: Path) -> None:
    """Claude Code may be an alias of a shell, and writes ~/.claude.json only when it has run."""
    (home / ".claude").mkdir()
    assert "Claude Code (claude-code): not connected" in run().out


def test_undo_without_a_client_restores_all(run: Run, home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text('{"theme":"dark"}')
    before = folder_contents(home)
    for name in clients.CLIENTS:
        run(name, *(["--hooks"] if name in WITH_HOOKS and name != "gemini" else []))
    assert len(folder_contents(home)) > len(before)
    run("--undo")
    assert folder_contents(home) == before
    assert "No client is connected" in run("--undo").out


def test_hooks_bring_a_user_service_where_there_is_a_service_manager(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = home / ".config" / "systemd" / "user" / "holdfast.service"
    assert "hooks start it again" in run("cursor", "--hooks").out
    assert not unit.exists()
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(user_service, "_succeeds", lambda command: ran.append(command) or True)
    assert str(unit) in run("cursor", "--hooks", "--data", "/srv/my memory").out
    assert "background --data '/srv/my memory'\n" in unit.read_text()
    assert ran[-1] == ("systemctl", "--user", "enable", "--now", "holdfast.service")
    run("gemini", "--hooks")
    run("gemini", "--undo")
    assert unit.exists()  # Cursor still has hooks
    run("cursor", "--undo")
    assert folder_contents(home) == {}
    assert ran[-1] == ("systemctl", "--user", "disable", "--now", "holdfast.service")
    monkeypatch.setattr(sys, "platform", "darwin")
    run("cursor", "--hooks")
    plist = plistlib.loads((home / "Library" / "LaunchAgents" / "dev.holdfast.background.plist").read_bytes())
    assert plist["ProgramArguments"] == [*clients.program_command(), "background"]
    run("cursor", "--undo")
    assert folder_contents(home) == {}


BEFORE = {
    "claude-code": '{\n\t"numStartups": 3,\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    "codex": '# mine\nmodel = "best"  # keep\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n\r\n'
    "# about tui\r\n[tui]\r\na = 1\r\n",
    "cursor": '{"mcpServers": {}}',
    "gemini": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    "opencode": '{\n  // mine\n  "model": "best"\n}\n',
    "claude-desktop": '\ufeff{\n  "theme": "dark"\n}',
    "vscode": '{\n  // servers\n  "servers": {\n    "other": { "url": "https://x/mcp" }, // theirs\n  },\n'
    '  "inputs": [],\n}\n',
}


@pytest.mark.parametrize("name", list(FILES))
def test_what_was_there_stays_and_undo_restores_every_byte(run: Run, home: Path, name: str) -> None:
    file = home / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(BEFORE[name].encode())
    file.chmod(0o640)
    before = folder_contents(home)
    for _ in range(2):
        assert run(name).code == 0
    after = file.read_bytes().decode()
    for line in BEFORE[name].replace('{"mcpServers": {}}', '{"mcpServers": {').splitlines():
        assert line.rstrip(" }]") in after, f"{line!r} is lost"
    assert run(name).out.startswith("Already set up in")
    assert "restored" in run(name, "--undo").out
    assert folder_contents(home) == before
    assert file.stat().st_mode & 0o777 == 0o640
    assert "has no entry for Holdfast" in run(name, "--undo").out


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_that_was_not_there_is_removed_again(run: Run, home: Path, name: str) -> None:
    run(name)
    run(name, "--profile", "other")
    run(name, "--undo")
    assert folder_contents(home) == {}
    assert "no such file" in run(name, "--undo").out


@pytest.mark.parametrize("name", list(FILES))
def test_when_others_changed_the_file_only_our_entry_goes(run: Run, home: Path, name: str) -> None:
    file = home / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(BEFORE[name].encode())
    run(name)
    text = file.read_bytes().decode()
    if name == "codex":
        file.write_bytes((text + "\n[later]\nb = 2\n").encode())
    else:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        file.write_bytes((mark + config_file.with_value(text.removeprefix(mark), ("later",), {"b": 2})).encode())
    assert "kept other changes" in run(name, "--undo").out
    after = file.read_bytes().decode().removeprefix("\ufeff")
    held = (
        tomllib.loads(after.replace("\r\n", "\n"))
        if name == "codex"
        else config_file.parse_json_with_comments(after).value
    )
    assert held["later"] == {"b": 2}
    assert "holdfast" not in held.get(clients.CLIENTS[name].servers_key, {})
    assert "# about tui" in after or name != "codex"


def test_another_url_replaces_ours_and_undo_goes_back_to_the_beginning(run: Run, home: Path) -> None:
    file = home / FILES["codex"]
    file.parent.mkdir()
    file.write_text('model = "best"\n')
    run("codex", "--url", URL)
    run("codex", "--url", URL.replace("very", "other"))
    assert "othersecret" in entry(home, "codex")["url"]
    run("codex", "--undo")
    assert file.read_text() == 'model = "best"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '["mcpServers"]'),
        ("cursor", '{"a": 1} {"b": 2}'),
        ("cursor", "{'a': 1}"),
        ("cursor", "[" * 100_000),
        ("codex", "model = "),
        ("codex", 'mcp_servers = { other = { command = "x" } }\n'),
        ("codex", "mcp_servers = 3\n"),
    ],
)
def test_a_broken_file_is_named_and_left_alone(run: Run, home: Path, name: str, text: str) -> None:
    file = home / FILES[name]
    file.parent.mkdir()
    file.write_text(text)
    for arguments in ([], ["--dry-run"], ["--url", URL, "--json"]):
        refused = run(name, *arguments)
        assert (refused.code, refused.out) == (2, "")
        assert str(file) in refused.err
        assert "verysecret" not in refused.err
    assert folder_contents(home) == {FILES[name]: text.encode()}


def test_bytes_that_are_no_text_are_left_alone(run: Run, home: Path) -> None:
    file = home / FILES["cursor"]
    file.parent.mkdir()
    file.write_bytes(b"\xff\xfe{\x00}\x00")
    assert "not valid UTF-8" in run("cursor").err
    assert file.read_bytes() == b"\xff\xfe{\x00}\x00"


@pytest.mark.parametrize("linked", [False, True])
def test_a_device_or_pipe_in_place_of_the_file_is_refused_and_stays(run: Run, home: Path, linked: bool) -> None:
    """A link to /dev/null switches a settings file off; replacing its target would replace the device."""
    pipe = home / "pipe" if linked else home / ".claude.json"
    os.mkfifo(pipe)
    if linked:
        (home / ".claude.json").symlink_to(pipe)
    for arguments in ([], ["--dry-run"], ["--undo"]):
        refused = run("claude-code", *arguments)
        assert (refused.code, "is not a regular file" in refused.err) == (2, True)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(run: Run, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text("{}")
    (home / ".claude.json").symlink_to(home / "dotfiles" / "claude.json")
    run("claude-code")
    assert (home / ".claude.json").is_symlink()
    assert entry(home, "claude-code")["type"] == "stdio"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["emacs"], "client"),
        (["cursor", "--url", "http://127.0.0.1:8420"], "url"),
        (["cursor", "--url", "file:///s/secret"], "url"),
        (["claude-desktop", "--url", URL], "url"),
        (["vscode", "--hooks"], "hooks"),
        (["cursor", "--undo", "--dry-run"], "undo"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(run: Run, home: Path, arguments: list[str], field: str) -> None:
    refused = run(*arguments, "--json")
    assert refused.code == 2
    assert json.loads(refused.err)["error"]["field"] == field
    assert folder_contents(home) == {}


@pytest.mark.parametrize(
    ("system", "file"),
    [
        ("linux", ".config/Code/User/mcp.json"),
        ("darwin", "Library/Application Support/Code/User/mcp.json"),
        ("win32", "AppData/Roaming/Code/User/mcp.json"),
    ],
)
def test_every_system_has_its_own_place(home: Path, monkeypatch: pytest.MonkeyPatch, system: str, file: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.delenv("APPDATA", raising=False)
    assert clients.CLIENTS["vscode"].file() == home / file


def test_clients_with_a_folder_of_their_own_say_where(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    assert clients.CLIENTS["codex"].file() == home / "codex" / "config.toml"
    assert clients.CLIENTS["claude-code"].file() == home / "claude" / ".claude.json"


def test_the_plugin_says_what_connect_says() -> None:
    plugin = ROOT / "integrations" / "claude-code"
    for name, file in (("claude-code", "hooks.json"), ("codex", "codex.json"), ("cursor", "cursor.json")):
        held = json.loads((plugin / "hooks" / file).read_text())["hooks"]
        for event, (item,) in held.items():
            runs, ours = (
                each if name == "cursor" else each["hooks"][0] for each in (item, clients.hook_entry(name, event))
            )
            assert runs["command"].startswith(f"holdfast hook {event} --client {name}")
            assert runs["timeout"] == ours["timeout"]
            assert item.get("matcher") == clients.hook_entry(name, event).get("matcher")
        assert len(held) == 5


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@settings(max_examples=example_count(150), deadline=None)
@given(DOCUMENTS, st.sampled_from([None, 2, 4, "\t"]), st.booleans(), VALUES)
def test_any_document_takes_an_entry_and_gives_it_back(
    held: dict[str, Any], indent: Any, ascii_only: bool, value: Any
) -> None:
    held = {**held, "servers": {"other": 1}} if "x" in held else {k: v for k, v in held.items() if k != "servers"}
    text = json.dumps(held, indent=indent, ensure_ascii=ascii_only)
    added = config_file.with_value(text, ("servers", "holdfast"), value)
    assert json.loads(added) == {**held, "servers": {**held.get("servers", {}), "holdfast": value}}
    again = config_file.with_value(added, ("servers", "holdfast"), 7)
    assert json.loads(again)["servers"]["holdfast"] == 7
    gone = config_file.without_children(again, ("servers",), lambda child: child.key == "holdfast")
    assert json.loads(gone) == {**held, "servers": held.get("servers", {})}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{ }",
        "{\n}",
        '{"a": 1}',
        '{"a": 1,}',
        '{"a": 1 /* , */ }',
        '{"a": 1, // x, y\n}',
        '// top\n{"a": "//"}\n// end',
    ],
)
def test_comments_and_commas_survive(text: str) -> None:
    added = config_file.with_item(config_file.with_value(text, ("b", "c"), {"d": [1]}), ("b", "list"), "item")
    assert config_file.parse_json_with_comments(added).value == {
        **config_file.parse_json_with_comments(text).value,
        "b": {"c": {"d": [1]}, "list": ["item"]},
    }
    for comment in ("/* , */", "// x, y", "// top", "// end"):
        assert (comment in added) == (comment in text)
    gone = config_file.without_children(added, (), lambda child: child.key == "b")
    assert config_file.parse_json_with_comments(gone).value == config_file.parse_json_with_comments(text).value
    for comment in ("/* , */", "// x, y", "// top", "// end"):
        assert (comment in gone) == (comment in text)


def test_the_doctor_says_whether_memory_is_on(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))

    def findings() -> list[tuple[str, str]]:
        return [(each.level, each.what) for each in memory_findings(str(tmp_path / "data"))]

    assert findings() == [("ok", "No coding agent is connected; `holdfast connect` lists those on this machine")]
    run("vscode")
    assert findings() == [("ok", "VS Code is connected, without hooks: it remembers when asked to")]
    run("gemini", "--hooks")
    assert ("ok", "Gemini CLI is connected, with hooks") in findings()
    assert findings()[-1] == ("warn", "Memory is off: no background process or server runs")
    HookState(Settings(cache=str(tmp_path / "cache"))).note_failure("the disk is full")
    assert findings()[-1] == ("warn", "A conversation was not stored: the disk is full")
    assert "late" not in str(findings())
    HookState(Settings(cache=str(tmp_path / "cache"))).note_late()
    (late,) = [each for each in memory_findings(str(tmp_path / "data")) if "late" in each.what]
    assert (late.what[:16], "HOLDFAST_HOOK_SECONDS" in late.fix) == ("1 hook was late ", True)
    run("gemini", "--hooks", "--url", "http://127.0.0.1:9/s/secret")
    assert findings()[2][1].startswith("Memory is off: the server at http://127.0.0.1:9 does not answer")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["claude"], "'claude' is not a known client. Did you mean 'claude-code' or"),
        (["emacs"], "'emacs' is not a known client. Use one of claude-code, "),
        (["claude-code", "cursor"], "Give one client at a time. Run: holdfast connect claude-code && holdfast connect"),
    ],
)
def test_another_name_or_several_are_answered_with_what_to_type(
    run: Run, home: Path, given: list[str], told: str
) -> None:
    refused = run(*given)
    assert refused.code == 2
    assert told in refused.err


def test_a_url_at_which_nothing_answers_is_written_with_a_warning(run: Run, home: Path) -> None:
    written = run("cursor", "--url", "http://127.0.0.1:9/s/hf_verysecret")
    assert written.code == 0
    assert "warning: The server at http://127.0.0.1:9 does not answer as it should: no server answers." in written.err
    assert "verysecret" not in written.err


def doctor_says(data: Path) -> list[tuple[str, str]]:
    return [(each.level, each.what) for each in memory_findings(str(data))]


def turn_plugin_on(home: Path, name: str) -> Path:
    """What the clients write when the plugin is installed: Claude Code 2.1, Codex 0.169, and a link for Cursor."""
    if name == "claude-code":
        file, text = home / ".claude" / "settings.json", '{"enabledPlugins": {"holdfast@holdfast": true}}'
    elif name == "codex":
        file, text = home / ".codex" / "config.toml", '[plugins."holdfast@holdfast"]\nenabled = true\n'
    else:
        folder = home / ".cursor" / "plugins" / "local"
        folder.mkdir(parents=True)
        (folder / "holdfast").symlink_to(ROOT / "integrations" / "claude-code")
        return folder / "holdfast"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", ["claude-code", "codex", "cursor"])
def test_the_doctor_and_the_list_see_the_plugin(
    run: Run, home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    title = clients.CLIENTS[name].title
    file = turn_plugin_on(home, name)
    off = ("warn", f"{title} has the plugin ({file}), but `holdfast` is not on the PATH")
    assert off in doctor_says(home / "data")
    program = home / "bin" / "holdfast"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert doctor_says(home / "data") == [
        ("ok", f"{title} has memory from the plugin, with hooks ({file})"),
        ("warn", "Memory is off: no background process or server runs"),
    ]
    listed = run().out
    assert f"{title} ({name}): has memory from the plugin, with hooks\n" in listed
    assert "still has memory from the plugin" in run("--undo").out
    assert "it runs them twice" in run(name, "--hooks").err
    assert ("warn", f"{title} has our hooks twice: in its settings, and from the plugin") in doctor_says(home / "data")


def test_a_plugin_that_is_turned_off_gives_no_memory(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    file = turn_plugin_on(home, "claude-code")
    file.write_text('{"enabledPlugins": {"holdfast@holdfast": false, "holdfast@other": true}}')
    assert "No coding agent is connected" in doctor_says(home / "data")[0][1]
    project = home / "project" / ".claude"
    project.mkdir(parents=True)
    (project / "settings.json").write_text('{"enabledPlugins": {"holdfast@holdfast": true}}')
    monkeypatch.chdir(project.parent)
    assert str(project / "settings.json") in doctor_says(home / "data")[0][1]
    (project / "settings.local.json").write_text('{"enabledPlugins": {"holdfast@holdfast": false}}')
    assert "No coding agent is connected" in doctor_says(home / "data")[0][1]


@pytest.mark.parametrize("text", ['{\n  // mine\n  "model": "best"\n}\n', '{"model": "best",}'])
def test_a_file_that_claude_code_would_ignore_is_refused(run: Run, home: Path, text: str) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    refused = run("claude-code", "--hooks")
    assert refused.code == 2
    assert f"{file} cannot be changed safely: Claude Code ignores the file" in refused.err
    assert folder_contents(home) == {".claude/settings.json": text.encode()}


def test_a_comment_that_comes_later_is_seen_by_the_doctor_and_undo_works(run: Run, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    run("claude-code", "--hooks")
    file.write_text("// mine\n" + file.read_text())
    level, what = doctor_says(home / "data")[0]
    assert (level, str(file) in what, "Claude Code ignores the file" in what) == ("warn", True, True)
    assert "Claude Code is connected" not in str(doctor_says(home / "data"))
    assert run("claude-code", "--undo").code == 0
    assert "holdfast" not in file.read_text()


@pytest.mark.parametrize("named", [True, False])
def test_a_file_that_broke_after_connecting_is_named(run: Run, home: Path, named: bool) -> None:
    file = home / ".claude" / "settings.json"
    run("claude-code", "--hooks")
    file.write_text(file.read_text() + "}")
    assert any(str(file) in what for level, what in doctor_says(home / "data") if level == "warn")
    undone = run(*(["claude-code"] if named else []), "--undo")
    assert undone.code == 2
    assert f"{file} cannot be changed safely" in undone.out
    assert "remove the entries for Holdfast by hand" in undone.out
    assert not (home / ".claude.json").exists()  # the other file was restored
    still = run(*(["claude-code"] if named else []), "--undo")
    assert (still.code, str(file) in still.out + still.err) == (2, True)


@pytest.mark.parametrize("broken", [b'{"mcpServers": {', b"\xff\xfe{\x00}\x00"])
def test_the_broken_file_of_one_client_does_not_hide_the_others(run: Run, home: Path, broken: bytes) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_bytes(broken)
    run("gemini", "--hooks")
    listed = run()
    assert listed.code == 0
    (line,) = [line for line in listed.out.splitlines() if line.startswith("Cursor (cursor): ")]
    assert str(home / ".cursor" / "mcp.json") in line
    assert "Gemini CLI (gemini): connected, with hooks" in listed.out
    assert any(str(home / ".cursor" / "mcp.json") in what for _, what in doctor_says(home / "data"))
    assert run("--undo").code == 0
    assert list(folder_contents(home)) == [".cursor/mcp.json"]


def test_the_lines_to_add_by_hand_can_be_pasted(run: Run, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("model = ")
    lines = run("codex", "--url", URL).err.partition("\n\n")[0]
    assert tomllib.loads(lines)["mcp_servers"]["holdfast"]["url"].startswith("http://127.0.0.1:8420/s/")
    assert "verysecret" not in lines


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("name", ["codex", "cursor"])
def test_an_empty_file_stays(run: Run, home: Path, name: str, changed: bool) -> None:
    file = home / FILES[name]
    file.parent.mkdir(parents=True)
    file.write_text("")
    run(name)
    if changed:
        file.write_text(file.read_text() + "\n")
    run(name, "--undo")
    assert "".join(file.read_text().split()) in ("", "{}")
    assert list(folder_contents(home)) == [FILES[name]]


def test_the_background_process_ends_with_the_last_hooks_and_memories_stay(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[Path] = []
    monkeypatch.setattr(background, "stop_background", lambda folder: stopped.append(folder) or True)
    for name in ("cursor", "gemini"):
        run(name, "--hooks", "--data", str(home / "memory"))
    first = run("gemini", "--undo")
    assert (stopped, "is stopped" in first.out) == ([], False)  # Cursor still has hooks
    last = run("cursor", "--undo")
    assert stopped == [home / "memory"]
    assert f"The background process of {home / 'memory'} is stopped.\n" in last.out
    assert f"What is remembered stays in {home / 'memory'}.\n" in last.out
    run("cursor", "--hooks", "--url", URL)
    assert "stays in" not in run("cursor", "--undo").out
    assert stopped == [home / "memory"]
