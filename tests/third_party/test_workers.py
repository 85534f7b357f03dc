"""A Worker written for Cloudflare's Agent Memory binding, under `wrangler dev`, with Holdfast behind the binding."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from support.client_processes import WORKERS, AgentMemoryServer, answers_with, background_process, free_port

pytestmark = pytest.mark.slow


@pytest.fixture
def workers(modules: Path, tmp_path: Path) -> Path:
    """A copy of integrations/workers, as after `npm install`."""
    copy = tmp_path / "workers"
    shutil.copytree(WORKERS, copy, ignore=shutil.ignore_patterns(".*", "node_modules"))
    (copy / "node_modules").symlink_to(modules)
    return copy


@contextmanager
def wrangler_dev(workers: Path, env: dict[str, str], url: str, token: str, *statuses: int) -> Iterator[httpx.Client]:
    """The example and the shim in one `wrangler dev`; the client asks the example."""
    (workers / ".dev.vars").write_text(f"HOLDFAST_URL={url}\nHOLDFAST_TOKEN={token}\n")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    configs = ["-c", "example/wrangler.jsonc", "-c", "wrangler.jsonc"]
    command = [workers / "node_modules" / ".bin" / "wrangler", "dev", *configs, "--ip", "127.0.0.1", "--port", port]
    with (
        background_process(command, workers, env, lambda: answers_with(f"{base}/nobody/summary", *statuses)),
        httpx.Client(base_url=base, timeout=120) as client,
    ):
        yield client


def test_the_shim_is_the_binding_to_the_compiler(workers: Path, node_env: dict[str, str]) -> None:
    checked = subprocess.run(["npm", "run", "check"], cwd=workers, env=node_env, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_unchanged_worker_remembers_through_holdfast(
    workers: Path, node_env: dict[str, str], server: AgentMemoryServer
) -> None:
    assert server.ask("POST", "/namespaces", json={"name": "chat"}).status_code == 201
    with wrangler_dev(workers, node_env, server.base, server.token, 200) as worker:
        a_profile_is_there_before_its_first_write(worker)
        what_was_said_is_recalled(worker, server)
        memories_are_kept_listed_read_and_deleted(worker)
        a_session_goes_with_all_that_was_said_in_it(worker)
        what_the_server_refuses_is_an_error_with_its_message(worker)
        no_name_leads_to_another_path(worker)
        a_profile_goes_with_everything(worker, server)


def a_profile_is_there_before_its_first_write(worker: httpx.Client) -> None:
    assert worker.get("/new/memories").json() == {"memories": []}
    assert worker.get("/new/recall", params={"q": "Who am I?"}).json() == {"count": 0, "answer": "", "candidates": []}
    assert worker.get("/new/summary").json() == {"summary": ""}
    assert worker.delete("/new/sessions", params={"session": "s"}).json() == {"done": True}
    assert worker.delete("/new").json() == {"done": True}


def what_was_said_is_recalled(worker: httpx.Client, server: AgentMemoryServer) -> None:
    said = [
        {"role": "user", "content": "I moved to Lisbon yesterday.", "at": "2026-03-02T10:00:00Z"},
        {"role": "assistant", "content": "Good luck there!", "at": "2026-03-02T10:00:05Z"},
    ]
    assert worker.post("/ana/messages", params={"session": "chat:1"}, json=said).json() == {"done": True}
    settle(server, "ana")
    found = worker.get("/ana/recall", params={"q": "Where do I live?", "today": "2026-03-05T00:00:00Z"}).json()
    assert found["answer"] == "The user lives in Lisbon."
    assert found["count"] == len(found["candidates"]) > 0
    assert set(found["candidates"][0]) == {"id", "summary", "sessionId", "score"}
    assert found["candidates"][0]["sessionId"] == "chat:1"
    listed = worker.get("/ana/memories", params={"session": "chat:1", "type": "event"}).json()
    assert "1 March 2026" in listed["memories"][0]["summary"]  # the message's own date arrived
    assert "Lisbon" in worker.get("/ana/summary").json()["summary"]
    assert "Lisbon" in worker.get("/ana/summary", params={"session": "chat:1"}).json()["summary"]


def memories_are_kept_listed_read_and_deleted(worker: httpx.Client) -> None:
    kept = [worker.post("/bo/memories", content=f"Prefers seat {n}").json() for n in range(5)]
    assert set(kept[0]) - {"ageInSeconds"} == {
        "id", "type", "summary", "content", "sessionId", "createdAt", "updatedAt"
    }  # fmt: skip
    assert kept[0]["sessionId"] is None
    assert 0 <= kept[0]["ageInSeconds"] < 60  # the Worker called createdAt.getTime()
    read = worker.get(f"/bo/memories/{kept[0]['id']}").json()
    assert read | {"ageInSeconds": 0} == kept[0] | {"ageInSeconds": 0}
    pages = list(pages_of(worker, "/bo/memories", limit=2))
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {memory["id"] for page in pages for memory in page} == {memory["id"] for memory in kept}
    assert "content" not in pages[0][0]
    gone = worker.delete(f"/bo/memories/{kept[0]['id']}").json()
    assert (gone["id"], gone["content"]) == (kept[0]["id"], "Prefers seat 0")
    assert len(worker.get("/bo/memories").json()["memories"]) == 4


def a_session_goes_with_all_that_was_said_in_it(worker: httpx.Client) -> None:
    odd = "a/b:c ü?#%"
    worker.post("/cy/memories", params={"session": odd}, content="Drinks green tea")
    worker.post("/cy/memories", params={"session": "other"}, content="Plays the cello")
    assert len(worker.get("/cy/memories", params={"session": odd}).json()["memories"]) == 1
    for _ in range(2):
        assert worker.delete("/cy/sessions", params={"session": odd}).json() == {"done": True}
    assert [memory["sessionId"] for memory in worker.get("/cy/memories").json()["memories"]] == ["other"]


def what_the_server_refuses_is_an_error_with_its_message(worker: httpx.Client) -> None:
    unknown = "There is no memory or message 'nothing' in this profile."
    assert refusal_code(worker.get("/cy/memories/nothing")).startswith(unknown)
    assert refusal_code(worker.delete("/cy/memories/nothing")).startswith("There is no memory")
    assert refusal_code(worker.post("/cy/memories", content="")) == "content is empty."
    assert refusal_code(worker.get("/cy/recall", params={"q": "é" * 600})).startswith("query is 1,200 bytes")
    assert "role" in refusal_code(worker.post("/cy/messages", json=[{"role": "tool", "content": "x"}]))
    assert "per_page" in refusal_code(worker.get("/cy/memories", params={"limit": 5000}))


def no_name_leads_to_another_path(worker: httpx.Client) -> None:
    assert "cannot be used in a path" in refusal_code(worker.delete("/cy/sessions", params={"session": ".."}))
    assert "is not a name" in refusal_code(worker.get("/Not%20OK/summary"))
    assert "is not a name" in refusal_code(worker.delete("/..%2Fcy"))
    assert len(worker.get("/cy/memories").json()["memories"]) == 1


def a_profile_goes_with_everything(worker: httpx.Client, server: AgentMemoryServer) -> None:
    assert worker.delete("/bo").json() == {"done": True}
    assert worker.get("/bo/memories").json() == {"memories": []}
    left = server.ask("GET", "/namespaces/chat/profiles").json()["result"]
    assert [profile["name"] for profile in left] == ["ana", "cy"]


def test_a_refused_token_and_a_silent_server_are_told(
    workers: Path, node_env: dict[str, str], server: AgentMemoryServer
) -> None:
    with wrangler_dev(workers, node_env, server.base, "hf_wrong", 500) as worker:
        assert refusal_code(worker.get("/ana/memories")) == "Authentication error"
    nobody = f"http://127.0.0.1:{free_port()}"
    with wrangler_dev(workers, node_env, nobody, server.token, 500) as worker:
        assert refusal_code(worker.get("/ana/memories")).startswith(f"Holdfast at {nobody} cannot be reached")


def settle(server: AgentMemoryServer, profile: str) -> None:
    """Wait until everything said has become memories."""
    url = f"{server.base}/v1/namespaces/chat/profiles/{profile}/settle"
    assert httpx.post(url, headers={"authorization": f"Bearer {server.token}"}, timeout=120).json()["settled"]


def pages_of(worker: httpx.Client, path: str, **asked: Any) -> Iterator[list[dict[str, Any]]]:
    page = worker.get(path, params=asked).json()
    yield page["memories"]
    if "cursor" in page:
        yield from pages_of(worker, path, **(asked | {"cursor": page["cursor"]}))


def refusal_code(answer: httpx.Response) -> str:
    assert answer.status_code == 500, answer.text
    message: str = answer.json()["error"]
    return message
