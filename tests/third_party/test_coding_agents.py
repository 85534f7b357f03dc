"""Coding agents as their vendors publish them, a scripted model behind them: from `holdfast connect` to its undo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.cli.hooks.background import running_server, stop_background
from holdfast.cli.hooks.clients import CLIENTS
from holdfast.cli.hooks.project import project_profile
from holdfast.domain.errors import NotFound
from holdfast.service.settings import Settings
from support.paths import ROOT, SOURCE
from support.scripted_agent_model import ANSWER, ScriptedModel, scripted_model

pytestmark = pytest.mark.slow
TOLD = "We deploy on Thursdays. I prefer pnpm to npm."
ASKED = "Which package manager do I prefer, and when do we deploy?"
WENT_ON = "Please go on with the deployment."
MEMORY = "From Holdfast, the user's memory"


@dataclass
class CodingAgent:
    """One client in an empty home, with one project and another beside it."""

    name: str
    tools: Path
    home: Path
    model: ScriptedModel
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in ("project", "next door"):
            (self.home / folder).mkdir(parents=True)
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        self.environment = kept | {
            "HOME": str(self.home), "PATH": f"{self.tools / '.bin'}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb",
            "PYTHONPATH": str(SOURCE), "HOLDFAST_DATA": str(self.home / "data"), "HOLDFAST_EMBEDDER": "potion",
            "HOLDFAST_HOOK_SECONDS": "60",  # of a busy machine
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "sk-ant-scripted", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "OPENAI_API_KEY": "sk-scripted",
            "GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }  # fmt: skip
        for file, text in _own_settings(self).items():
            (self.home / file).parent.mkdir(parents=True, exist_ok=True)
            (self.home / file).write_text(text)

    def holdfast(self, *arguments: str) -> str:
        return self.run([sys.executable, "-m", "holdfast", *arguments])

    def ask(self, prompt: str, *, folder: str = "project", go_on: bool = False, **more: str) -> tuple[str, list[str]]:
        """One turn in a session of its own, or in the last one; what it printed, and what its model was asked."""
        before = len(self.model.requests)
        printed = self.run(_command(self, prompt, go_on), folder, **more)
        return printed, self.model.requests[before:]

    def messages(self, profile: str | None = None) -> list[tuple[str, str]]:
        server = running_server(Settings(data=self.home / "data"))
        assert server is not None
        with Holdfast.connect(*server) as holdfast:
            try:
                found = holdfast.profile("default", profile or project_profile(self.home / "project")).messages()
            except NotFound:
                return []
        return [(message.role, message.content.strip('"\n')) for message in found]

    def run(self, command: list[str], folder: str = "project", **more: str) -> str:
        ran = subprocess.run(
            command, cwd=self.home / folder, env=self.environment | more, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr


def _own_settings(agent: CodingAgent) -> dict[str, str]:
    """The settings that the user of the client has before: bytes that must be there again in the end."""
    options = {"baseURL": f"{agent.model.url}/v1", "apiKey": "x"}
    models = {"scripted": {"name": "Scripted", "limit": {"context": 50_000, "output": 1_000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options, "models": models}
    opencode = {"$schema": "https://opencode.ai/config.json", "provider": {"scripted": provider}}
    scripted = f'{{ name = "scripted", base_url = "{agent.model.url}/v1", wire_api = "responses" }}'
    texts = {
        "claude-code": {".claude/settings.json": '{"includeCoAuthoredBy": false}\n'},
        "codex": {
            ".codex/config.toml": "# mine\n"
            f'model = "scripted"\nmodel_provider = "scripted"\nmodel_providers.scripted = {scripted}\n'
        },
        "gemini": {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
        "opencode": {".config/opencode/opencode.json": json.dumps(opencode, indent=4)},
    }
    return texts[agent.name]


def _command(agent: CodingAgent, prompt: str, go_on: bool) -> list[str]:
    if agent.name == "claude-code":
        return [
            "claude",
            *(["--continue"] if go_on else []),
            "-p",
            prompt,
            "--output-format",
            "stream-json",
            "--verbose",
        ]
    if agent.name == "codex":
        first = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        return [*first, *(["resume", "--last"] if go_on else []), prompt]
    if agent.name == "gemini":
        return ["gemini", "-m", "gemini-2.5-flash", *(["--resume", "latest"] if go_on else []), "-p", prompt]
    return ["opencode", "run", "-m", "scripted/scripted", *(["--continue"] if go_on else []), prompt]


@pytest.fixture(params=["claude-code", "codex", "gemini", "opencode"])
def agent(request: pytest.FixtureRequest, agent_modules: Path, tmp_path: Path) -> Iterator[CodingAgent]:
    with scripted_model() as model:
        yield CodingAgent(request.param, agent_modules, tmp_path / "home", model)
        stop_background(tmp_path / "home" / "data")


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline, "nothing came of it within two minutes"
        time.sleep(0.2)


def test_an_agent_remembers_from_connect_to_undo(agent: CodingAgent) -> None:
    before = {file: (agent.home / file).read_bytes() for file in _own_settings(agent)}
    assert f"({agent.name}): not connected" in agent.holdfast("connect")
    agent.holdfast("connect", agent.name, "--hooks")
    wait_until(lambda: running_server(Settings(data=agent.home / "data")) is not None)
    assert "Memory is on" in agent.holdfast("doctor")

    _, asked = agent.ask(TOLD)
    assert not any(MEMORY in body for body in asked)  # nothing is known yet
    wait_until(lambda: agent.messages() == [("user", TOLD), ("assistant", ANSWER)])
    wait_until(lambda: agent.messages("default") == [("user", "I prefer pnpm to npm.")])

    _, asked = agent.ask(ASKED)
    assert any(MEMORY in body and "Thursdays" in body for body in asked)
    _, asked = agent.ask(ASKED, folder="next door")
    assert any(MEMORY in body and "pnpm" in body for body in asked)
    assert not any("Thursdays" in body for body in asked)

    _compact(agent)
    wait_until(lambda: ("user", WENT_ON) in agent.messages())
    assert {text for role, text in agent.messages() if role == "user"} == {TOLD, ASKED, WENT_ON}
    assert not any("holdfast" in text.lower() for _, text in agent.messages())  # nothing that we said ourselves

    agent.holdfast("connect", "--undo")
    assert {file: (agent.home / file).read_bytes() for file in before} == before
    assert not any("holdfast" in path.read_text() for path in _settings_files(agent) if path.exists())
    _, asked = agent.ask(ASKED)
    assert asked
    assert not any(MEMORY in body for body in asked)


def _compact(agent: CodingAgent) -> None:
    """Go on in a session that is compacted first; Gemini CLI does so on a terminal only."""
    agent.ask(ASKED)
    if agent.name == "claude-code":
        agent.ask(ASKED, go_on=True)  # one turn is too little to compact
        printed, asked = agent.ask("/compact", go_on=True)
        assert asked, printed  # for the summary
    agent.model.long_answers = 1 if agent.name == "opencode" else 0
    if agent.name == "codex":
        config = agent.home / ".codex" / "config.toml"
        text = config.read_text()
        config.write_text("model_auto_compact_token_limit = 5\n" + text)
        printed, asked = agent.ask(WENT_ON, go_on=True)
        config.write_text(text)
        assert "PreCompact" in printed
    else:
        _, asked = agent.ask(WENT_ON, go_on=agent.name != "gemini")
    assert any(MEMORY in body for body in asked)
    assert len(asked) > 1 or agent.name in ("claude-code", "gemini")  # the other one is for the summary


def _settings_files(agent: CodingAgent) -> list[Path]:
    client = CLIENTS[agent.name]
    hooks = client.hooks() if client.hooks else client.file()
    return [agent.home / file.relative_to(Path.home()) for file in (client.file(), hooks)]


def test_an_agent_without_memory_says_so_and_works(agent: CodingAgent) -> None:
    agent.holdfast("connect", agent.name, "--hooks", "--url", "http://127.0.0.1:9/s/nobody")
    printed, asked = agent.ask(ASKED)
    assert asked
    assert ANSWER in printed
    if agent.name != "codex":  # which shows such lines on a terminal only
        assert "Holdfast: memory is off, no server answers" in printed


PLUGIN_COMMANDS = {
    "claude-code": (["claude", "plugin", "marketplace", "add"], ["claude", "plugin", "install", "holdfast@holdfast"]),
    "codex": (["codex", "plugin", "marketplace", "add"], ["codex", "plugin", "add", "holdfast@holdfast"]),
}


@pytest.mark.parametrize("agent", list(PLUGIN_COMMANDS), indirect=True)
def test_the_plugin_brings_memory_and_the_doctor_sees_it(agent: CodingAgent) -> None:
    command = agent.home / "bin" / "holdfast"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast "$@"\n')
    command.chmod(0o755)
    agent.environment["PATH"] = f"{command.parent}{os.pathsep}{agent.environment['PATH']}"
    assert "No coding agent is connected" in agent.holdfast("doctor")
    marketplace, install = PLUGIN_COMMANDS[agent.name]
    agent.run([*marketplace, str(ROOT)])
    agent.run(install)
    title = CLIENTS[agent.name].title
    assert f"{title} has memory from the plugin, with hooks" in agent.holdfast("doctor")
    assert f"{title} ({agent.name}): has memory from the plugin, with hooks" in agent.holdfast("connect")
    agent.ask(TOLD)
    wait_until(lambda: running_server(Settings(data=agent.home / "data")) is not None)
    wait_until(lambda: agent.messages() == [("user", TOLD), ("assistant", ANSWER)])
    assert "Memory is on" in agent.holdfast("doctor")
    _, asked = agent.ask(ASKED)
    assert any(MEMORY in body and "Thursdays" in body for body in asked)
    for _ in range(50):  # the last hook may start the background process after the agent's own server has ended
        if stop_background(agent.home / "data"):
            break
        time.sleep(0.2)
