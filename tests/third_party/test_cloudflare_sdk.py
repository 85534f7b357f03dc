"""Cloudflare's Python SDK, by its raw calls: only its base URL leads to Holdfast."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.client_processes import AgentMemoryServer
from support.paths import CHILDREN

pytestmark = pytest.mark.slow
ENDPOINTS = (
    "POST N", "GET N", "GET N/X", "DELETE N/X", "GET N/X/profiles", "DELETE P", "DELETE P/sessions/X", "POST P/ingest",
    "POST P/remember", "POST P/recall", "GET P/memories", "GET P/memories/X", "DELETE P/memories/X", "POST P/summary",
)  # fmt: skip


def test_the_sdk_reaches_every_endpoint(server: AgentMemoryServer, sdk_python: Path) -> None:
    child = CHILDREN / "cloudflare_sdk_client.py"
    done = subprocess.run([sdk_python, child, server.base, server.token], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    requests = json.loads(done.stdout)
    for endpoint in ENDPOINTS:
        method, path = endpoint.split(" ")
        path = path.replace("P", "N/X/profiles/X").replace("N", ".*/agent-memory/namespaces")
        pattern = path.replace("X", "[^/?]+") + r"(\?.*)?"
        assert any(re.fullmatch(f"{method} {pattern}", request) for request in requests), endpoint
