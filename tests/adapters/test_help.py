"""The documentation at /help: pages of the packed site with a strict policy, or a page that says where it is."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.api.web import documentation
from holdfast.testing import HashingEmbedder
from support.http_server import http_server

SCRIPT = "document.body.dataset.theme = 'auto';"
PAGE = f'<!doctype html><style>p {{}}</style><p style="opacity: 50%">Hello</p><script>{SCRIPT}</script>'
FILES = {"index.html": PAGE, "start/tutorial.html": "<p>Tutorial", "_static/site.js": "1", "objects.inv": "no type"}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the packed site belongs; there is none yet."""
    path = tmp_path / "help.zip"
    monkeypatch.setattr(documentation, "ARCHIVE", path)
    return path


def pack(archive: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(archive, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as holdfast,
        http_server(holdfast) as base,
        httpx.AsyncClient(base_url=base, timeout=120) as client,
    ):
        yield client


async def test_help_is_served_to_everybody_below_one_folder(archive: Path, http: httpx.AsyncClient) -> None:
    pack(archive, FILES)
    bare = await http.get("/help")
    assert (bare.status_code, bare.headers["location"]) == (308, "help/")
    assert (await http.get("/help/")).text == PAGE
    assert (await http.get("/help/start/tutorial.html")).text == "<p>Tutorial"
    assert (await http.get("/help/_static/site.js")).headers["content-type"] == "text/javascript; charset=utf-8"


async def test_the_policy_allows_what_the_page_has_by_its_hash_and_nothing_else(
    archive: Path, http: httpx.AsyncClient
) -> None:
    pack(archive, FILES)
    policy = (await http.get("/help/")).headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == f"'self' 'sha256-{digest}'"
    assert parts["style-src"].count("sha256-") == 2
    assert "unsafe-inline" not in policy
    assert "sha256-" not in (await http.get("/help/start/tutorial.html")).headers["content-security-policy"]


async def test_a_page_is_kept_until_it_changes(archive: Path, http: httpx.AsyncClient) -> None:
    pack(archive, FILES)
    first = await http.get("/help/")
    again = await http.get("/help/", headers={"if-none-match": first.headers["etag"]})
    assert (first.headers["cache-control"], again.status_code) == ("no-cache", 304)
    pack(archive, FILES | {"index.html": "<p>New"})
    assert (await http.get("/help/", headers={"if-none-match": first.headers["etag"]})).text == "<p>New"


@pytest.mark.parametrize(
    "name", ["nothing.html", "objects.inv", "..%2findex.html", "%2e%2e/index.html", "start/", "a%00.js"]
)
async def test_no_other_file_is_served(archive: Path, http: httpx.AsyncClient, name: str) -> None:
    pack(archive, FILES)
    assert (await http.get(f"/help/{name}")).status_code == 404


async def test_without_the_site_help_says_where_it_is(archive: Path, http: httpx.AsyncClient) -> None:
    assert not archive.exists()
    page = await http.get("/help/")
    assert page.status_code == 200
    assert "make docs" in page.text
    assert (await http.get("/help/start/tutorial.html")).status_code == 404
