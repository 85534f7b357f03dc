"""MCP's official conformance suite against Holdfast's own stack: app, gate, transports.

The scenarios ask for tools that no memory has, so the stack serves the suite's tools in their place
(support/children/mcp_conformance_server.py); the scenarios that any server must pass are run against Holdfast's own
tools too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.client_processes import answers_with, background_process, free_port
from support.paths import CHILDREN

pytestmark = pytest.mark.slow
EXPECTED = Path(__file__).with_name("mcp_expected_failures.yaml")
OWN = {
    "2025-11-25": ("server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list",
                   "prompts-list", "server-sse-multiple-streams", "dns-rebinding-protection"),
    "2026-07-28": ("tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching",
                   "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams",
                   "input-required-result-unsupported-methods"),
}  # fmt: skip
LACKING = {
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
}  # fmt: skip
"""Checks of server-stateless that need a tool of the suite's; they pass with it, in the other test."""


@contextmanager
def stack(folder: Path, *ours: str) -> Iterator[str]:
    """The address of a stack in a process of its own."""
    port = free_port()
    command = [sys.executable, CHILDREN / "mcp_conformance_server.py", port, folder / "data", *ours]
    ready = f"http://127.0.0.1:{port}/healthz"
    with background_process(command, folder, dict(os.environ), lambda: answers_with(ready, 200)):
        log = (folder / f"{Path(sys.executable).name}.log").read_text()
        path = next(line for line in log.splitlines() if line.startswith("/s/"))
        yield f"http://127.0.0.1:{port}{path}"


@pytest.fixture
def suite(mcp_modules: Path, mcp_node: str, tmp_path: Path) -> Suite:
    return Suite([mcp_node, str(mcp_modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")], tmp_path)


class Suite:
    def __init__(self, command: list[str], folder: Path) -> None:
        self._command, self._folder, self.code = command, folder, 0

    def run(self, url: str, *more: str) -> dict[str, dict[str, str]]:
        """Of each scenario, each check's status."""
        out = self._folder / "-".join(more).replace("/", "_")
        command = [*self._command, "server", "--url", url, "-o", str(out), *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
        self.code = done.returncode
        found: dict[str, dict[str, str]] = {}
        for path in out.glob("*/checks.json"):
            name = path.parent.name.removeprefix("server-").rsplit("-", 6)[0]
            worst = found.setdefault(name, {})
            for check in json.loads(path.read_text()):
                if worst.get(check["id"]) != "FAILURE":
                    worst[check["id"]] = check["status"]
        assert found, done.stdout + done.stderr
        return found


def failed_checks(found: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    wrong = {name: [id for id, status in checks.items() if status == "FAILURE"] for name, checks in found.items()}
    return {name: ids for name, ids in wrong.items() if ids}


@pytest.mark.parametrize(("version", "least"), [("2025-11-25", 33), ("2026-07-28", 40)])
def test_the_stack_conforms(suite: Suite, tmp_path: Path, version: str, least: int) -> None:
    with stack(tmp_path) as url:
        found = suite.run(url, "--suite", "all", "--spec-version", version)
    assert failed_checks(found) == {}
    assert suite.code == 0
    assert len(found) >= least


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_what_each_revision_requires_is_there(suite: Suite, tmp_path: Path, version: str) -> None:
    with stack(tmp_path) as url:
        found = suite.run(url, "--requirements", version, "--expected-failures", str(EXPECTED))
    expected = {line[4:] for line in EXPECTED.read_text().splitlines() if line.startswith("  - ")}
    assert all(name.startswith("tasks-") for name in expected)
    assert set(failed_checks(found)) == (expected if version == "2026-07-28" else set())
    assert suite.code == 0


@pytest.mark.parametrize("version", sorted(OWN))
def test_holdfasts_own_tools_conform(suite: Suite, tmp_path: Path, version: str) -> None:
    with stack(tmp_path, "ours") as url:
        for scenario in OWN[version]:
            found = suite.run(url, "--scenario", scenario, "--spec-version", version)
            assert failed_checks(found) == {}
            assert suite.code == 0
        if version == "2026-07-28":
            stateless = suite.run(url, "--scenario", "server-stateless", "--spec-version", version)
            assert set(failed_checks(stateless).get("server-stateless", ())) == LACKING
