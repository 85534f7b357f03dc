"""Hooks as a coding agent runs them: real processes, its JSON on stdin, a served Holdfast or none."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
import pytest

import holdfast.api.mcp.server  # noqa: F401  (a server loads it with its first request, which may take long)
from holdfast import AsyncHoldfast, Holdfast
from holdfast.cli import main
from holdfast.cli.hooks.agent_transcripts import parse_transcript
from holdfast.cli.hooks.background import running_server, stop_background
from holdfast.cli.hooks.hook_state import HookState
from holdfast.cli.hooks.personal import personal_text
from holdfast.cli.hooks.project import project_profile
from holdfast.cli.hooks.run import fitting_lines
from holdfast.cli.hooks.session_page import compact_page, without_empty_headings
from holdfast.domain.errors import NotFound
from holdfast.service.settings import Settings
from holdfast.storage.sqlite.server_address import ServerAddress, announce
from holdfast.testing import HashingEmbedder
from support.cli import PATIENT_HOLDFAST
from support.http_server import http_server
from support.paths import SOURCE

CLAUDE = [
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: added by the agent"}},
    {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["not said"]}},
    {
        "type": "user",
        "timestamp": "2026-03-04T10:00:00.000Z",
        "message": {"role": "user", "content": "We deploy on Thursdays.<system-reminder>not said</system-reminder>"},
    },
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "not said"}]}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash"}]}},
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "not said"}]}},
    {"type": "user", "message": {"role": "user", "content": "<local-command-stdout>not said</local-command-stdout>"}},
    {"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": "not said"}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Noted: Thursdays."}]}},
    {"type": "assistant", "message": {"role": "assistant", "model": "<synthetic>", "content": "not said"}},
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>not said</environment_context>"}],
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "# AGENTS: added"}]},
    },
    {
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": [{"type": "text", "text": "We deploy on Thursdays."}]},
        },
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "output": "not said"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Noted: Thursdays."}],
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "A summary that nobody said."}],
        },
    },
    {"type": "compacted", "payload": {"message": "Go on from here: A summary that nobody said."}},
]
CURSOR = [
    {
        "role": "user",
        "message": {"content": [{"type": "text", "text": "<user_query>\nWe deploy on Thursdays.\n</user_query>"}]},
    },
    {
        "role": "assistant",
        "message": {"content": [{"type": "text", "text": "Noted: Thursdays."}, {"type": "tool_use", "name": "Shell"}]},
    },
]
GEMINI_PROMPT = "<hook_context>&lt;holdfast-memory&gt; not said</hook_context>\n\nWe deploy on Thursdays."
SAID = [("user", "We deploy on Thursdays."), ("assistant", "Noted: Thursdays.")]


class Ran(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float

    @property
    def context(self) -> str:
        return str(json.loads(self.out)["hookSpecificOutput"]["additionalContext"])


def hook(event: str, payload: Any = None, *options: str, hurried: bool = False, **environment: str) -> Ran:
    """One event; in a hurry, as an agent runs it: with a time limit, and storing in a process of its own."""
    start = time.monotonic()
    ran = subprocess.run(
        [sys.executable, *(("-m", "holdfast") if hurried else ("-c", PATIENT_HOLDFAST)), "hook", event, *options],
        input=payload if isinstance(payload, bytes) else json.dumps(payload or {}).encode(),
        capture_output=True,
        env=clean(**environment),
        timeout=400,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode(), time.monotonic() - start)


def clean(**environment: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "CLAUDE", "CURSOR"))}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "HOLDFAST_EMBEDDER": "potion",
        "HOLDFAST_HOOK_SECONDS": "300",
        **environment,
    }


class Site(NamedTuple):
    url: str
    secret: str
    admin: str
    holdfast: AsyncHoldfast

    async def hook(self, event: str, payload: Any = None, *options: str, **environment: str) -> Ran:
        return await asyncio.to_thread(hook, event, payload, *options, **{"HOLDFAST_URL": self.secret, **environment})

    async def said(self, namespace: str = "team", profile: str = "ana") -> list[tuple[str, str]]:
        found = await self.holdfast.profile(namespace, profile).messages()
        return [(message.role, message.content) for message in found]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as holdfast:
        await holdfast.create_namespace("team")
        everything = ["read", "write", "forget"]
        _, secret = await holdfast.access.issue("url", "test", everything, namespace="team", profile="ana")
        admin = await holdfast.access.admin("a-token-of-twenty-characters")
        async with http_server(holdfast) as url:
            yield Site(url, f"{url}/s/{secret}", admin or "a-token-of-twenty-characters", holdfast)


def transcript(folder: Path, lines: list[Any]) -> str:
    file = folder / "transcript.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n{broken\n")
    return str(file)


async def test_a_session_starts_with_the_summary_within_its_budget(site: Site) -> None:
    ana = site.holdfast.profile("team", "ana")
    await ana.remember("Answer in British English", kind="instruction")
    for n in range(60):
        await ana.remember(f"Fact number {n} about the project and its many parts", key=f"k{n}")
    started = await site.hook("SessionStart", {"session_id": "s", "source": "startup"}, HOLDFAST_HOOK_DEBUG="1")
    assert (started.code, started.err) == (0, "")
    assert json.loads(started.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert started.context.startswith("<holdfast-memory>")
    assert "British English" in started.context
    small = await site.hook("SessionStart", {}, "--tokens", "60")
    assert len(small.context) < 500 < len(started.context) < 4000


async def test_a_prompt_brings_what_is_known_about_it(site: Site) -> None:
    await site.holdfast.profile("team", "ana").remember("The staging database is called Heron")
    asked = {"session_id": "s", "prompt": "What is the staging database called?"}
    assert "Heron" in (await site.hook("UserPromptSubmit", asked)).context
    cursor = json.loads((await site.hook("beforeSubmitPrompt", asked)).out)
    assert cursor["continue"] is True
    assert "Heron" in cursor["additional_context"]
    for other in ("/clear", "ok", "", "<local-command-stdout>database</local-command-stdout>"):
        assert (await site.hook("UserPromptSubmit", {"prompt": other})).out == ""


@pytest.mark.parametrize("door", ["secret URL", "token"])
async def test_a_prompt_gets_nothing_beside_the_point_and_nothing_of_its_own_session(tmp_path: Path, door: str) -> None:
    async with await AsyncHoldfast.open(tmp_path / "data", embedder="potion") as holdfast:
        await holdfast.create_namespace("team")
        ana = holdfast.profile("team", "ana")
        said = ["We deploy on Thursdays.", "The gateway runs on port 8443.", "Nora plays the piano."]
        await ana.ingest([{"role": "user", "content": text} for text in said], session_id="before", wait=True)
        now = [{"role": "user", "content": "We never deploy in December."}]
        await ana.ingest(now, session_id="running", wait=True)
        _, secret = await holdfast.access.issue("url", "test", ["read"], namespace="team", profile="ana")
        _, token = await holdfast.access.issue("key", "test", ["read"])
        async with http_server(holdfast) as url:
            keyed = {"HOLDFAST_TOKEN": token, "HOLDFAST_NAMESPACE": "team", "HOLDFAST_PROFILE": "ana"}
            place = {"HOLDFAST_URL": f"{url}/s/{secret}"} if door == "secret URL" else {"HOLDFAST_URL": url, **keyed}

            async def ask(prompt: str, *options: str, session: str = "running") -> str:
                payload = {"session_id": session, "prompt": prompt}
                return (await asyncio.to_thread(hook, "UserPromptSubmit", payload, *options, **place)).out

            assert await ask("Write a haiku about autumn.") == ""
            assert "Thursdays" in await ask("Write a haiku about autumn.", "--min-relevance", "0")
            asked = await ask("When do we deploy?")
            assert "Thursdays" in asked
            assert "December" not in asked
            assert "December" in await ask("When do we deploy?", session="another")


async def test_an_empty_memory_says_nothing(site: Site) -> None:
    for event in ("SessionStart", "UserPromptSubmit", "sessionStart"):
        ran = await site.hook(event, {"prompt": "What is the staging database called?"})
        assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "stop"])
async def test_the_end_of_a_turn_keeps_what_was_said_once(site: Site, tmp_path: Path, event: str) -> None:
    ended = {"session_id": "s1", "transcript_path": transcript(tmp_path, CLAUDE)}
    for _ in range(2):
        ran = await site.hook(event, ended, HOLDFAST_HOOK_DEBUG="1")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert await site.said() == SAID
    (first, _) = await site.holdfast.profile("team", "ana").messages("s1")
    assert first.said_at.isoformat() == "2026-03-04T10:00:00+00:00"


@pytest.mark.parametrize(("lines", "agent"), [(CLAUDE, "claude-code"), (CODEX, "codex"), (CURSOR, "cursor")])
def test_only_what_people_and_agents_said_is_read(lines: list[Any], agent: str) -> None:
    read = parse_transcript(json.dumps(line) for line in lines)
    assert [(turn.role, turn.content) for turn in read.turns] == SAID
    assert read.agent == agent


async def test_gemini_tells_each_turn_in_its_json(site: Site) -> None:
    turn = {"session_id": "s1", "prompt": GEMINI_PROMPT, "prompt_response": "Noted: Thursdays."}
    await site.hook("AfterAgent", turn, "--client", "gemini")
    assert await site.said() == SAID
    asked = await site.hook("BeforeAgent", {"session_id": "s2", "prompt": "When do we deploy?"})
    assert json.loads(asked.out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert "Thursdays" in asked.context


def test_a_transcript_may_hold_anything() -> None:
    odd = [
        "",
        "null",
        "[]",
        '"x"',
        "{",
        '{"type": "user"}',
        '{"type": "user", "message": {"content": 3}}',
        "[" * 99_999,
    ]
    odd += [json.dumps({"type": "user", "message": {"content": "\ud800 a\0b" + "é" * 40_000}})]
    (turn,) = parse_transcript(odd).turns
    assert turn.content.startswith("? ab")
    assert len(turn.content.encode()) <= 32_768


async def test_the_last_reply_is_kept_before_it_is_in_the_file(site: Site, tmp_path: Path) -> None:
    ended = {"session_id": "s1", "transcript_path": transcript(tmp_path, CLAUDE[:4])}
    await site.hook("Stop", {**ended, "last_assistant_message": "Noted: Thursdays."})
    await site.hook("Stop", {**ended, "transcript_path": transcript(tmp_path, CLAUDE)})
    assert await site.said() == SAID


async def test_what_is_kept_by_itself_is_kept_without_passwords(site: Site, tmp_path: Path) -> None:
    asked = {"type": "user", "message": {"role": "user", "content": "Use ghp_abcdefghijklmnopqrstuvwxyz0123 for it."}}
    await site.hook("Stop", {"session_id": "s1", "transcript_path": transcript(tmp_path, [asked])})
    assert await site.said() == [("user", "Use [redacted] for it.")]


async def test_of_a_long_transcript_the_end_is_kept(site: Site, tmp_path: Path) -> None:
    lines = [{"type": "user", "message": {"role": "user", "content": f"{n} " + "word " * 4000}} for n in range(20)]
    await site.hook("Stop", {"session_id": "s1", "transcript_path": transcript(tmp_path, lines)})
    kept = [content.partition(" ")[0] for _, content in await site.said()]
    assert kept == [str(n) for n in range(20 - len(kept), 20)]
    assert 2 < len(kept) < 8


async def test_a_token_leads_to_the_projects_own_profile(site: Site, tmp_path: Path) -> None:
    ended = {"session_id": "s1", "cwd": str(tmp_path), "transcript_path": transcript(tmp_path, CODEX)}
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:Acme/Widget.git\n')
    keyed = {"HOLDFAST_URL": site.url, "HOLDFAST_TOKEN": site.admin, "HOLDFAST_NAMESPACE": "fresh"}
    await site.hook("Stop", ended, **keyed)
    assert await site.said("fresh", "github.com/Acme/Widget") == SAID
    asked = {"session_id": "s2", "cwd": str(tmp_path), "prompt": "When do we deploy things?"}
    assert "Thursdays" in (await site.hook("UserPromptSubmit", asked, **keyed)).context
    same = await site.hook("UserPromptSubmit", {**asked, "session_id": "s1"}, **keyed)
    assert "Thursdays" not in same.out  # the agent has its own session before it


async def test_the_server_that_has_the_folder_is_found(site: Site, tmp_path: Path) -> None:
    announce(tmp_path / "data", ServerAddress(site.url, site.admin))
    ended = {"session_id": "s1", "transcript_path": transcript(tmp_path, CURSOR)}
    place = {"HOLDFAST_URL": "", "HOLDFAST_DATA": str(tmp_path / "data"), "HOLDFAST_PROFILE": "ben"}
    assert (await site.hook("Stop", ended, **place)).code == 0
    assert await site.said("default", "ben") == SAID


async def test_a_clients_own_settings_say_where_holdfast_is(site: Site, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'[mcp_servers.holdfast]\nurl = "{site.secret}/mcp"\n')
    ended = {"session_id": "s1", "transcript_path": transcript(tmp_path, CODEX)}
    await site.hook("Stop", ended, "--client", "codex", HOLDFAST_URL="", CODEX_HOME=str(tmp_path))
    assert await site.said() == SAID


def settle(what: Callable[[], bool]) -> None:
    """Wait for another process to have done its work."""
    deadline = time.monotonic() + 300
    while not what():
        assert time.monotonic() < deadline, "the other process did not do its work"
        time.sleep(0.1)


@pytest.fixture
def own_folder(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A data folder that no process has open; a background process that a hook starts there is ended."""
    place = {"HOLDFAST_DATA": str(tmp_path / "data"), "HOLDFAST_PROFILE": "work", "XDG_CACHE_HOME": str(tmp_path)}
    yield place
    stop_background(tmp_path / "data")


def test_a_hook_starts_the_background_process_and_the_first_prompt_makes_up_for_it(
    tmp_path: Path, own_folder: dict[str, str]
) -> None:
    with Holdfast.open(tmp_path / "data", embedder="potion") as holdfast:
        holdfast.profile("default", "work").remember("We deploy on Thursdays")
    session = {"session_id": "s1"}
    started = hook("SessionStart", session, hurried=True, **own_folder)
    assert json.loads(started.out)["systemMessage"].startswith("Holdfast: memory is starting")
    settle(lambda: running_server(Settings(data=tmp_path / "data")) is not None)
    asked = hook("UserPromptSubmit", {**session, "prompt": "Write a haiku about autumn."}, **own_folder)
    assert "We deploy on Thursdays" in asked.context  # the summary that the start of the session went without
    assert hook("UserPromptSubmit", {**session, "prompt": "Write a haiku about autumn."}, **own_folder).out == ""
    assert stop_background(tmp_path / "data")
    assert not stop_background(tmp_path / "data")


def test_storing_goes_on_after_the_hook_and_waits_for_the_background_process(
    tmp_path: Path, own_folder: dict[str, str]
) -> None:
    ended = {"session_id": "s1", "transcript_path": transcript(tmp_path, CLAUDE)}
    ran = hook("Stop", ended, hurried=True, **own_folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "")

    def is_stored() -> bool:
        server = running_server(Settings(data=tmp_path / "data"))
        if server is None:
            return False
        with Holdfast.connect(*server) as holdfast:
            try:
                return len(holdfast.profile("default", "work").messages()) == len(SAID)
            except NotFound:
                return False

    settle(is_stored)


def test_a_conversation_that_could_not_be_stored_is_told_with_the_next_hook(tmp_path: Path) -> None:
    said = {"session_id": "s1", "transcript_path": transcript(tmp_path, CLAUDE)}
    place = {"HOLDFAST_URL": NOWHERE, "XDG_CACHE_HOME": str(tmp_path)}
    assert hook("Stop", said, hurried=True, **place).out == ""
    settle((tmp_path / "holdfast" / "hook-failure.txt").exists)
    told = json.loads(hook("UserPromptSubmit", {"prompt": "yes"}, **place).out)["systemMessage"]
    assert "the last conversation was not stored: no server answers. See" in told
    assert hook("UserPromptSubmit", {"prompt": "yes"}, **place).out == ""


async def test_what_a_user_says_about_themselves_is_known_next_door(site: Site, tmp_path: Path) -> None:
    said = [{"role": "user", "content": text} for text in ("We deploy on Thursdays.", "I prefer pnpm to npm.")]
    keyed = {"HOLDFAST_URL": site.url, "HOLDFAST_TOKEN": site.admin, "HOLDFAST_NAMESPACE": "team"}
    (tmp_path / "here").mkdir()
    (tmp_path / "next door").mkdir()
    ended = {"session_id": "s1", "cwd": str(tmp_path / "here"), "messages": said}
    await site.hook("Stop", ended, **keyed)
    assert await site.said("team", "default") == [("user", "I prefer pnpm to npm.")]

    async def ask(folder: str, **more: str) -> str:
        asked = {
            "session_id": "s2",
            "cwd": str(tmp_path / folder),
            "prompt": "Do I prefer pnpm, and when do we deploy?",
        }
        return (await site.hook("UserPromptSubmit", asked, "--min-relevance", "0", **keyed, **more)).out

    assert "pnpm" in await ask("next door")
    assert "Thursdays" not in await ask("next door")
    assert "Thursdays" in await ask("here")
    assert (await ask("here")).count("I prefer pnpm to npm.") == 1  # not once for each profile
    assert await ask("next door", HOLDFAST_PERSONAL="off") == ""
    started = await site.hook("SessionStart", {"cwd": str(tmp_path / "next door")}, **keyed)
    assert "# About the user" in started.context
    assert "Thursdays" not in started.context


async def test_a_token_for_the_project_alone_still_gives_the_project(site: Site) -> None:
    await site.holdfast.profile("team", "work").remember("The staging database is called Heron")
    _, token = await site.holdfast.access.issue("key", "test", ["read"], namespace="team", profile="work")
    keyed = {
        "HOLDFAST_URL": site.url,
        "HOLDFAST_TOKEN": token,
        "HOLDFAST_NAMESPACE": "team",
        "HOLDFAST_PROFILE": "work",
    }
    asked = {"session_id": "s", "prompt": "What is the staging database called?"}
    assert "Heron" in (await site.hook("UserPromptSubmit", asked, **keyed)).context
    assert "Heron" in (await site.hook("SessionStart", {}, **keyed)).context


@pytest.mark.parametrize(
    ("text", "personal"),
    [
        ("We deploy on Thursdays. I prefer pnpm.", "I prefer pnpm."),
        ("My timezone is CET.\nI'm a backend developer", "My timezone is CET. I'm a backend developer"),
        ("I never use semicolons. Fix the tests. Call me Bo.", "I never use semicolons. Call me Bo."),
        ("I prefer this approach. I use it here. We prefer npm.", ""),
        ("I want to fix the tests. Why do I always get an error?", ""),
        ("I run the tests and they fail now. I like that.", ""),
    ],
)
def test_only_lasting_statements_about_oneself_are_personal(text: str, personal: str) -> None:
    assert personal_text(text) == personal


NOWHERE = "http://127.0.0.1:9/s/secret"


@pytest.mark.parametrize(
    ("event", "payload", "environment"),
    [
        ("SessionStart", {}, {"HOLDFAST_URL": NOWHERE}),
        ("Stop", {"transcript_path": "/"}, {"HOLDFAST_URL": NOWHERE}),
        ("Stop", {"last_assistant_message": "Something said"}, {"HOLDFAST_URL": NOWHERE}),
        ("UserPromptSubmit", {"prompt": "Where do I live now?"}, {"HOLDFAST_URL": "http://127.0.0.1:9"}),
        ("UserPromptSubmit", {"prompt": "Where do I live now?"}, {"HOLDFAST_URL": "ftp://[broken"}),
        ("SessionStart", b"{broken", {"HOLDFAST_URL": NOWHERE}),
        ("SessionStart", b"", {"HOLDFAST_URL": NOWHERE}),
        ("SessionStart", b"[1, 2]", {"HOLDFAST_URL": NOWHERE}),
        ("SessionStart", b"\xff\xfe", {"HOLDFAST_URL": NOWHERE}),
        ("NoSuchEvent", {}, {"HOLDFAST_URL": NOWHERE}),
        ("SessionStart", {}, {"HOLDFAST_DATA": __file__}),
        ("SessionStart", {}, {"HOLDFAST_EMBEDDER": "crystal-ball"}),
        ("SessionStart", {}, {"HOLDFAST_HOOK_SECONDS": "soon"}),
        ("SessionStart", {}, {"HOLDFAST_HOOK_SECONDS": "nan"}),
    ],
)
def test_whatever_goes_wrong_the_agent_goes_on_and_its_user_is_told(
    tmp_path: Path, event: str, payload: Any, environment: dict[str, str]
) -> None:
    ran = hook(event, payload, XDG_CACHE_HOME=str(tmp_path), **environment)
    assert (ran.code, ran.err) == (0, "")
    if event == "NoSuchEvent":
        assert ran.out == ""
    else:
        told = json.loads(ran.out)["systemMessage"]
        assert told.startswith(("Holdfast: memory is off, ", "Holdfast: memory is starting"))
        assert told.endswith("holdfast doctor")
        assert "secret" not in ran.out.replace("secret URL", "")


def test_debugging_says_in_one_line_what_went_wrong() -> None:
    ran = hook("SessionStart", {}, HOLDFAST_URL=NOWHERE, HOLDFAST_HOOK_DEBUG="1")
    assert (ran.code, json.loads(ran.out).keys()) == (0, {"systemMessage"})
    assert ran.err.startswith("holdfast hook: no server answers (ConnectionRefusedError")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("payload", "environment", "reason"),
    [
        (b"{broken", {"HOLDFAST_URL": "http://127.0.0.1:9"}, "the agent's input is not JSON"),
        ({}, {"HOLDFAST_URL": "ftp://[broken"}, "the address of Holdfast (HOLDFAST_URL) is not a URL"),
        ({}, {"HOLDFAST_HOOK_SECONDS": "soon"}, "HOLDFAST_HOOK_SECONDS is not a number: 'soon'"),
    ],
)
def test_the_reason_is_in_plain_words(tmp_path: Path, payload: Any, environment: dict[str, str], reason: str) -> None:
    ran = hook("SessionStart", payload, XDG_CACHE_HOME=str(tmp_path), **environment)
    assert json.loads(ran.out)["systemMessage"] == f"Holdfast: memory is off, {reason}. See: holdfast doctor"


@pytest.mark.parametrize(
    ("event", "options", "payload", "reason"),
    [
        ("SessionStart", [], {}, "nothing is known yet"),
        ("UserPromptSubmit", [], {"prompt": "Where do I live now?"}, "nothing that is known is about this prompt"),
        ("UserPromptSubmit", [], {"prompt": "yes"}, "a command or a very short prompt gets no memory"),
        ("Stop", [], {"transcript_path": "/no/such/file"}, "there is nothing to store"),
        ("NoSuchEvent", [], {}, "'NoSuchEvent' is not a known event"),
        ("Stop", ["--client", "emacs"], {"last_assistant_message": "Said"}, "'emacs' is not a known client"),
    ],
)
async def test_debugging_says_why_there_is_nothing(
    site: Site, event: str, options: list[str], payload: Any, reason: str
) -> None:
    ran = await site.hook(event, payload, *options, HOLDFAST_HOOK_DEBUG="1")
    assert (ran.out, ran.err.startswith(f"holdfast hook: {reason}"), ran.err.count("\n")) == ("", True, 1)
    off = await site.hook("Stop", {}, HOLDFAST_HOOK_DEBUG="1", HOLDFAST_HOOKS="off")
    assert off.err == "holdfast hook: hooks are off (HOLDFAST_HOOKS)\n"


def test_a_session_without_a_conversation_is_no_failure(tmp_path: Path) -> None:
    ended = {"session_id": "s1", "transcript_path": str(tmp_path / "never-written.jsonl")}
    ran = hook("SessionEnd", ended, HOLDFAST_URL=NOWHERE, XDG_CACHE_HOME=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (0, "", "")


async def test_a_refused_secret_is_no_error_and_off_is_off(site: Site) -> None:
    await site.holdfast.profile("team", "ana").remember("The staging database is called Heron")
    refused = await site.hook("SessionStart", {}, HOLDFAST_URL=f"{site.url}/s/wrong-secret")
    assert "refuses this token or secret URL" in json.loads(refused.out)["systemMessage"]
    off = await site.hook("SessionStart", {}, HOLDFAST_HOOKS="off")
    assert json.loads(off.out) == {"systemMessage": "Holdfast: memory is off (HOLDFAST_HOOKS)."}
    assert (await site.hook("UserPromptSubmit", {"prompt": "Where is Heron?"}, HOLDFAST_HOOKS="off")).out == ""
    cursor = json.loads((await site.hook("sessionStart", {}, HOLDFAST_HOOKS="off")).out)
    assert cursor == {"user_message": "Holdfast: memory is off (HOLDFAST_HOOKS)."}
    assert "Heron" in (await site.hook("SessionStart", {})).out


@pytest.fixture
def silent_socket() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(120)
        yield listening


@pytest.fixture
def silent(silent_socket: socket.socket) -> str:
    """A server that takes every connection and never answers."""
    return f"http://127.0.0.1:{silent_socket.getsockname()[1]}/s/secret"


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_a_server_that_never_answers_holds_nobody_up(silent: str, tmp_path: Path, event: str) -> None:
    said = {"prompt": "Where do I live now?", "last_assistant_message": "Something said"}
    ran = hook(event, said, hurried=True, HOLDFAST_URL=silent, HOLDFAST_HOOK_SECONDS="", XDG_CACHE_HOME=str(tmp_path))
    assert (ran.code, ran.err) == (0, "")
    late = {"SessionStart": "this session started", "UserPromptSubmit": "this prompt went"}
    assert f"{late[event]} without memory" in ran.out if event in late else ran.out == ""
    assert HookState(Settings(cache=str(tmp_path / "holdfast"))).late_hooks() == (event in late)
    assert ran.seconds < 120  # it gives up after 0.15 s; the rest is for a busy machine


def start_waiting_hook(silent: str, cache: Path, seconds: str = "60", **stdin: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook", "SessionStart"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean(HOLDFAST_URL=silent, HOLDFAST_HOOK_SECONDS=seconds, XDG_CACHE_HOME=str(cache)),
        **stdin,
    )


STARTED_SLOWLY = "import sys, time; time.sleep(0.3); from holdfast.cli import main; main()"
"""A hook on a machine that takes longer to start Python than an agent waits."""


async def test_a_hook_that_started_too_slowly_brings_no_memory_but_stores(site: Site, tmp_path: Path) -> None:
    async def late_hook(event: str, payload: dict[str, Any]) -> dict[str, Any]:
        place = {"HOLDFAST_URL": site.secret, "HOLDFAST_HOOK_SECONDS": "0.2", "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", STARTED_SLOWLY, "hook", event]
        ran = await asyncio.to_thread(
            subprocess.run, command, input=json.dumps(payload).encode(), capture_output=True, env=clean(**place)
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        return dict(json.loads(ran.stdout or b"{}"))

    await site.hook("Stop", {"session_id": "s1", "transcript_path": transcript(tmp_path, CLAUDE)})
    asked = {"session_id": "s2", "prompt": "When do we deploy things?"}
    assert "Thursdays" in (await site.hook("UserPromptSubmit", asked)).context
    told = await late_hook("UserPromptSubmit", asked)
    assert list(told) == ["systemMessage"]
    assert "this prompt went without memory" in told["systemMessage"]
    ended = {"session_id": "s3", "messages": [{"role": "user", "content": "Berlin is far."}]}
    assert await late_hook("Stop", ended) == {}
    while ("user", "Berlin is far.") not in await site.said():  # noqa: ASYNC110  another process stores it
        await asyncio.sleep(0.1)


def test_input_that_never_ends_holds_nobody_up(silent: str, tmp_path: Path) -> None:
    hung = start_waiting_hook(silent, tmp_path, "0.15", stdin=subprocess.PIPE)
    assert hung.wait(400) == 0


def test_an_interrupt_is_no_failure(silent: str, silent_socket: socket.socket, tmp_path: Path) -> None:
    hung = start_waiting_hook(silent, tmp_path, stdin=subprocess.DEVNULL)
    connection, _ = silent_socket.accept()
    assert connection.recv(65_536)  # now it waits for the answer
    hung.send_signal(signal.SIGINT)
    out, err = hung.communicate(timeout=400)
    connection.close()
    assert (hung.returncode, out, err) == (0, b"", b"")


def test_a_hook_loads_next_to_nothing() -> None:
    code = (
        "import sys; from holdfast.cli import main; main(['hook', 'SessionStart']); "
        "heavy = ('numpy', 'onnxruntime', 'apsw', 'click', 'rich', 'pydantic', 'httpx2', 'asyncio', 'dataclasses', "
        "'inspect', 'tempfile', 'subprocess', 'http.client'); "
        "sys.exit(' '.join(name for name in heavy if name in sys.modules) or 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=b"{}", capture_output=True, env=clean(HOLDFAST_URL=NOWHERE)
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("home", ["", " ", "/elsewhere"])
def test_the_users_folders_are_those_of_the_platform(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE"):
        monkeypatch.delenv(f"HOLDFAST_{name}", raising=False)
        monkeypatch.setenv(f"XDG_{name}_HOME", home)
    assert Settings().folder == platformdirs.user_data_path("holdfast", appauthor=False)
    assert Settings().cache_folder == platformdirs.user_cache_path("holdfast", appauthor=False)


@pytest.mark.parametrize(
    ("url", "profile"),
    [
        ("git@github.com:Acme/Widget.git", "github.com/Acme/Widget"),
        ("https://ana:secret@GitHub.com/Acme/Widget", "github.com/Acme/Widget"),
        ("ssh://git@git.example:2222/team/deep/widget.git/", "git.example/team/deep/widget"),
        ("https://git.example/widget?token=secret", "git.example/widget"),
    ],
)
def test_every_clone_of_a_repository_shares_a_profile(tmp_path: Path, url: str, profile: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[core]\n[remote "up"]\n url = x:y/z\n[remote "origin"]\n url = {url}\n')
    (tmp_path / "deep" / "down").mkdir(parents=True)
    assert project_profile(tmp_path / "deep" / "down") == profile


def test_a_worktree_is_its_repository_and_a_plain_folder_is_itself(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    (git / "worktrees" / "side").mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n url = https://git.example/widget\n')
    (git / "worktrees" / "side" / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side" / ".git").write_text(f"gitdir: {git / 'worktrees' / 'side'}\n")
    assert project_profile(tmp_path / "side") == "git.example/widget"
    (tmp_path / "plain").mkdir()
    (tmp_path / "local" / ".git").mkdir(parents=True)
    (tmp_path / "local" / ".git" / "config").write_text('[remote "origin"]\n url = /srv/widget.git\n')
    for name in ("plain", "local"):
        assert project_profile(tmp_path / name).startswith(f"{name}-")
        assert project_profile(tmp_path / name) == project_profile(tmp_path / name)


def test_a_dot_is_the_profile_of_this_folders_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    given = ["--data", str(tmp_path / "data"), "--profile", "."]
    assert main(["remember", "Something", *given]) == 0
    assert main(["profiles", "--json", *given]) == 0
    assert project_profile(tmp_path) in capsys.readouterr().out


def test_a_budget_is_whole_lines() -> None:
    text = "\n".join(f"line number {n}" for n in range(50))
    assert fitting_lines(text, 16) == "line number 0\nline number 1\nline number 2\nline number 3"
    assert fitting_lines(text, 10_000) == text
    assert fitting_lines("", 10) == ""


PAGE = """# About the user

## Instructions
- I prefer pnpm to npm.

# About this project

## Instructions
- I prefer pnpm to npm

## Facts
- We deploy on Thursdays.
- Ana reviews. We deploy on Thursdays.
- (2 more)

## Tasks
- Fix the login

## Last session (2026-11-17)
- user: We deploy on Thursdays. I prefer pnpm to npm. The build is slow.
- user: I prefer pnpm to npm.
- assistant: Done. Noted: pnpm"""


def test_a_session_starts_with_each_line_once_and_no_empty_heading() -> None:
    assert compact_page(PAGE) == (
        "# About the user\n\n## Instructions\n- I prefer pnpm to npm.\n\n"
        "# About this project\n\n## Facts\n- We deploy on Thursdays.\n- Ana reviews. We deploy on Thursdays.\n"
        "- (2 more)\n\n## Tasks\n- Fix the login\n\n"
        "## Last session (2026-11-17)\n- user: The build is slow.\n- assistant: Done. Noted: pnpm"
    )
    assert without_empty_headings("# A\n\n## B\n- b\n\n# C\n\n## D") == "# A\n\n## B\n- b"
    assert compact_page("") == ""
