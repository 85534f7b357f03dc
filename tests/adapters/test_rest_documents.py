"""Documents over real HTTP: files and forms, limits, rights, downloads, and the jobs of a secret URL."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.documents.rules import DocumentRules
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.documents.killed_parser import killed_parsers
from support.http_server import http_server

__all__ = ["killed_parsers"]

PLACE = "/v1/namespaces/app/profiles/ana/documents"
MOST = 100_000


@dataclass
class Site:
    http: httpx.AsyncClient
    tokens: dict[str, str]
    ana: LocalProfile
    reader: str

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return await self.http.request(method, path, **more)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    rules = DocumentRules(bytes=MOST)
    memory = AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor(), documents=rules)
    async with memory:
        await memory.create_namespace("app")
        everything = ["read", "write", "forget"]
        place: Any = {"namespace": "app", "profile": "ana"}
        _, key = await memory.access.issue("key", "key", everything, **place)
        _, url = await memory.access.issue("url", "url", everything, **place)
        _, reader = await memory.access.issue("key", "reader", ["read"], **place)
        async with http_server(memory) as base:
            headers = {"authorization": f"Bearer {key}"}
            async with httpx.AsyncClient(base_url=base, headers=headers, timeout=120) as http:
                yield Site(http, {"url": url}, memory.profile("app", "ana"), reader)


def form(data: bytes, name: str = "heron.md", **fields: str) -> dict[str, Any]:
    return {"files": {"file": (name, data)}, "data": fields}


async def test_a_file_is_taken_read_downloaded_and_forgotten(site: Site) -> None:
    text = b"# Herons\n\nThe heron is a patient bird.\n"
    sent = await site.ask("POST", PLACE, **form(text, "../../etc/hérons.md", metadata='{"shelf": "B"}'))
    assert sent.status_code == 202
    assert (sent.json()["name"], sent.json()["metadata"]) == ("hérons.md", {"shelf": "B"})
    at = f"{PLACE}/{sent.json()['id']}"
    assert await site.ana.settle(120)
    told = (await site.ask("GET", at)).json()
    assert (told["state"], told["title"], told["chunks"], told["bytes"]) == ("done", "Herons", 1, len(text))
    listed = (await site.ask("GET", PLACE)).json()["documents"]
    assert [each["id"] for each in listed] == [told["id"]]
    file = await site.ask("GET", at + "/original")
    assert file.content == text
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''h%C3%A9rons.md"
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert file.headers["x-content-type-options"] == "nosniff"
    would = (await site.ask("DELETE", at, params={"dry_run": True})).json()
    gone = (await site.ask("DELETE", at)).json()
    assert gone["messages"] == would["messages"] != []
    for path in (at, at + "/original"):
        assert (await site.ask("GET", path)).status_code == 404
    assert (await site.ask("POST", at + "/retry")).status_code == 404


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers of signals are Linux's")
async def test_a_parser_that_was_killed_is_told_in_plain_words(
    site: Site, killed_parsers: Callable[[int], None]
) -> None:
    killed_parsers(signal.SIGKILL)
    sent = await site.ask("POST", PLACE, **form(b"# Herons", "page.md"))
    assert await site.ana.settle(120)
    told = (await site.ask("GET", f"{PLACE}/{sent.json()['id']}")).json()
    assert told["state"] == "failed"
    assert told["error"].startswith("The parser was killed by signal 9 (SIGKILL) while reading page.md: ")
    assert "memory" in told["error"]
    assert "smaller parts" in told["fix"]
    assert (await site.ana.document(told["id"])).error == told["error"]


async def test_a_file_that_is_too_large_is_refused_before_it_is_kept(site: Site) -> None:
    small = await site.ask("POST", PLACE, **form(b"word " * (MOST // 5)))
    assert small.status_code == 202
    beyond = await site.ask("POST", PLACE, **form(b"word " * (MOST // 5) + b"."))
    assert (beyond.status_code, beyond.json()["error"]["code"]) == (400, "invalid_input")
    far = await site.ask("POST", PLACE, **form(b"word " * MOST))
    assert far.status_code in (400, 413)
    stranger = await site.ask("POST", PLACE, headers={"authorization": "Bearer nobody"}, **form(b"w" * 90_000))
    assert stranger.status_code in (401, 413)
    assert len((await site.ask("GET", PLACE)).json()["documents"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{", b"{}", b'{"text": "a", "url": "http://a.example"}', b'{"text": 7}',
        b'{"text": ""}', b'{"path": "/etc/passwd"}', b'{"text": "a b", "metadata": [1]}', b'{"url": "/etc/passwd"}',
        b'{"url": "file:///etc/passwd"}', b'{"url": "http://127.0.0.1/"}', b'{"url": "http://169.254.169.254/"}',
        b'{"url": "gopher://a.example/"}', b'{"text": "a \\ud800"}',
    ],
)  # fmt: skip
async def test_a_wrong_body_is_told_and_nothing_is_kept(site: Site, body: bytes) -> None:
    answer = await site.ask("POST", PLACE, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
    assert not (await site.ask("GET", PLACE)).json().get("documents")


async def test_a_wrong_form_is_told(site: Site) -> None:
    for wrong in (
        {"data": {"file": "not a file"}, "files": {"other": ("a", b"b")}},
        form(b""),
        form(b"a b", metadata="[1]"),
        form(b"a b", metadata="{"),
    ):
        assert (await site.ask("POST", PLACE, **wrong)).status_code == 400
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert (await site.ask("POST", PLACE, content=b"nonsense", headers=broken)).status_code == 400
    assert (
        await site.ask("POST", PLACE, content=b"", headers={"content-type": "multipart/form-data"})
    ).status_code == 400
    assert (await site.ask("POST", "/api/process/file", json={})).status_code == 400


async def test_an_unknown_field_of_a_form_is_refused_with_the_nearest(site: Site) -> None:
    for fields, name, nearest in (
        ({"metadta": '{"a": 1}'}, "metadta", " Did you mean 'metadata'?"),
        ({"x": "1"}, "x", ""),
    ):
        answer = await site.ask("POST", PLACE, **form(b"a b", **fields))
        told = answer.json()["error"]
        said = f"{name} is not a known field; use one of file, name, metadata.{nearest}"
        assert (answer.status_code, told["field"], told["message"]) == (400, name, said)
    assert (await site.ask("GET", PLACE)).json()["documents"] == []
    assert (await site.ask("POST", "/api/process/file", **form(b"a b", x="1"))).status_code == 202


@pytest.mark.parametrize(
    ("type", "body", "said"),
    [
        ("text/markdown", b"# Herons", "The body must be JSON or a form."),
        ("text/plain", b"", "The body must be JSON or a form."),
        ("application/json", b"# Herons", "The body is not valid JSON: expected value at line 1 column 1."),
        ("application/json", b"", "The body is null; give an object."),
        ("application/json", b'{"txt": "a"}', "txt is not a known field; use one of text, url, name, metadata."),
        ("application/json", b'{"text": true}', "text is true; give text."),
    ],
)
async def test_a_wrong_body_is_told_in_the_words_of_other_routes(site: Site, type: str, body: bytes, said: str) -> None:
    told = (await site.ask("POST", PLACE, content=body, headers={"content-type": type})).json()["error"]
    assert told["message"].startswith(said)
    assert ("JSON or a form" in said) == ("multipart/form-data" in (told["fix"] or ""))


async def test_the_text_of_a_path_is_never_a_file_of_the_server(site: Site, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the zorblax is hidden here")
    sent = await site.ask("POST", PLACE, json={"text": str(secret)})
    assert sent.status_code == 202
    await site.ana.settle(120)
    said = [message.content for message in await site.ana.messages()]
    assert said == [str(secret)]


async def test_who_may_only_read_adds_nothing(site: Site) -> None:
    mine = {"authorization": f"Bearer {site.reader}"}
    kept = (await site.ask("POST", PLACE, json={"text": "The heron is patient."})).json()["id"]
    assert (await site.ask("POST", PLACE, headers=mine, json={"text": "a b"})).status_code == 403
    assert (await site.ask("POST", f"{PLACE}/{kept}/retry", headers=mine)).status_code == 403
    assert (await site.ask("DELETE", f"{PLACE}/{kept}", headers=mine)).status_code == 403
    assert (await site.ask("GET", f"{PLACE}/{kept}", headers=mine)).status_code == 200


@pytest.mark.parametrize("door", ["/s/{url}/api", "/api"])
async def test_the_secret_url_takes_files_and_pages_as_jobs(site: Site, door: str) -> None:
    api = door.format(**site.tokens)
    sent = await site.ask("POST", api + "/process/file", **form(b"The heron is a patient bird."))
    assert sent.status_code == 202, sent.text
    job = sent.json()
    assert (job["status"], job["name"], job["error"]) == ("processing", "heron.md", None)
    await site.ana.settle(120)
    done = (await site.ask("GET", f"{api}/job/{job['jobId']}/status")).json()
    assert (done["status"], done["stage"], done["progress"], done["chunks"]) == ("completed", "done", 100, 1)
    assert (await site.ask("GET", f"{api}/job/nothing/status")).status_code == 404
    found = (await site.ask("GET", f"{api}/search", params={"q": "patient bird"})).json()["results"]
    assert found[0]["metadata"]["document"] == job["jobId"]
    for path, body in (("/process/url", {"url": "http://10.0.0.1/"}), ("/memory", {"content": "http://10.0.0.1/"})):
        refused = await site.ask("POST", api + path, json=body)
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "url")
    page = await site.ask("POST", api + "/memory", json={"content": "http://localhost/page"})
    assert page.status_code == 202
    await site.ana.settle(120)
    failed = (await site.ask("GET", f"{api}/job/{page.json()['jobId']}/status")).json()
    assert failed["status"] == "failed"
    assert "public" in failed["error"]
    kept = await site.ask("POST", api + "/memory", json={"content": "I read http://localhost/page today"})
    assert kept.status_code == 201
    assert json.loads(kept.text)["content"] == "I read http://localhost/page today"
