"""wrangler, unmodified: only its base URL leads to Holdfast."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.client_processes import AgentMemoryServer

pytestmark = pytest.mark.slow
Wrangler = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def wrangler(server: AgentMemoryServer, modules: Path, node_env: dict[str, str], tmp_path: Path) -> Wrangler:
    def run(*words: str, token: str = server.token) -> subprocess.CompletedProcess[str]:
        base = {"CLOUDFLARE_API_BASE_URL": f"{server.base}/client/v4", "CLOUDFLARE_ACCOUNT_ID": "local"}
        return subprocess.run(
            [str(modules / ".bin" / "wrangler"), "agent-memory", "namespace", *words], cwd=tmp_path,
            env=node_env | base | {"CLOUDFLARE_API_TOKEN": token}, capture_output=True, text=True, timeout=400,
        )  # fmt: skip

    return run


def test_wrangler_creates_lists_gets_and_deletes_a_namespace(wrangler: Wrangler) -> None:
    made = wrangler("create", "from-wrangler")
    assert made.returncode == 0, made.stderr
    assert 'Created Agent Memory namespace "from-wrangler"' in made.stdout
    space = json.loads(wrangler("get", "from-wrangler", "--json").stdout)
    assert set(space) >= {"id", "name", "created_at", "updated_at"}
    assert json.loads(wrangler("get", space["id"], "--json").stdout) == space
    assert space["id"] in wrangler("get", "from-wrangler").stdout
    assert space in json.loads(wrangler("list", "--json").stdout)
    assert space["id"] in wrangler("list").stdout
    gone = wrangler("delete", "from-wrangler", "--force")
    assert gone.returncode == 0, gone.stderr
    assert "Deleted Agent Memory namespace from-wrangler" in gone.stdout
    assert space["id"] not in wrangler("list").stdout
    again = json.loads(wrangler("create", "from-wrangler", "--json").stdout)
    assert again["id"] != space["id"]
    assert wrangler("delete", "from-wrangler", "-y").returncode == 0


def test_wrangler_lists_every_page(wrangler: Wrangler, server: AgentMemoryServer) -> None:
    names = [f"page-{n:02}" for n in range(45)]
    for name in names:
        assert server.ask("POST", "/namespaces", json={"name": name}).status_code == 201
    listed = [space["name"] for space in json.loads(wrangler("list", "--json").stdout)]
    assert [name for name in listed if name.startswith("page-")] == names
    for name in names:
        server.ask("DELETE", f"/namespaces/{name}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("create", "taken"), "The namespace 'taken' exists already. [code: 10008]"),
        (("create", "Not_OK"), "namespace 'Not_OK' is not a name"),
        (("get", "nowhere"), 'Agent Memory namespace "nowhere" not found.'),
        (("delete", "nowhere", "-y"), 'Agent Memory namespace "nowhere" not found.'),
    ],
)
def test_wrangler_tells_what_is_wrong(
    wrangler: Wrangler, server: AgentMemoryServer, words: tuple[str, ...], told: str
) -> None:
    server.ask("POST", "/namespaces", json={"name": "taken"})
    wrong = wrangler(*words)
    assert wrong.returncode == 1
    assert told in wrong.stdout + wrong.stderr


def test_wrangler_is_refused_with_a_wrong_token(wrangler: Wrangler) -> None:
    wrong = wrangler("list", token="hf_wrong")
    assert wrong.returncode == 1
    assert "Authentication error" in wrong.stdout + wrong.stderr
