"""Requests made up from the service's own description: none fails on the server's side, none is answered unheard of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.server_process import ADMIN_TOKEN, ServerProcess

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
OF_ITS_OWN = "SystemError: AST constructor recursion depth mismatch"
"""A fault of CPython 3.11 that the tool runs into now and then while it describes its own functions."""
PLACE = "/v1/namespaces/fuzz/profiles/alice"


@pytest.mark.parametrize(
    ("phases", "examples"),
    [("examples,fuzzing", 1), pytest.param("examples,coverage,fuzzing", 8, marks=pytest.mark.slow)],
)
def test_every_route_keeps_to_its_description(
    server: ServerProcess, tmp_path: Path, phases: str, examples: int
) -> None:
    server.call_json("POST", "/v1/namespaces", json={"name": "fuzz"})
    memory = server.call_json("POST", PLACE + "/remember", json={"content": "Prefers window seats", "key": "seat"})
    issue = {"kind": "url", "name": "fuzz", "namespace": "fuzz", "profile": "alice"}
    secret = server.call_json("POST", "/v1/credentials", json=issue)["token"]
    (tmp_path / "schemathesis.toml").write_text(
        f"""
        headers = {{ Authorization = "Bearer {ADMIN_TOKEN}" }}
        [parameters]
        "path.namespace" = "fuzz"
        "path.profile" = "alice"
        "path.secret" = "{secret}"
        "path.id" = ["{memory["id"]}", "nothing", "é %2F"]
        "path.kind" = ["fact", "turn"]
        "path.key" = ["seat", "a/b"]
        """
    )
    for _ in range(4):
        done = _asked(server, tmp_path, phases, examples)
        if OF_ITS_OWN not in done.stdout + done.stderr:
            break
    assert done.returncode == 0, _wrong(done.stdout) + done.stderr[-2000:]
    assert " passed" in done.stdout


def _asked(server: ServerProcess, folder: Path, phases: str, examples: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.client.base_url}/openapi.json",
            "--checks", CHECKS, "--max-examples", str(examples), "--phases", phases, "--workers", "1",
            "--exclude-path-regex", r"(events|{namespace}|{profile})$",  # endless; and those that delete the place
            "--suppress-health-check", "all", "--generation-database", "none", "--no-color",
            "--request-timeout", "120",
        ],
        cwd=folder, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip


def _wrong(report: str) -> str:
    """What it says of failures and faults, without the long list of hints behind them."""
    begins = re.search(r"^=+ (ERRORS|FAILURES) =+$", report, re.MULTILINE)
    return report[begins.start() if begins else 0 :][:20_000]
