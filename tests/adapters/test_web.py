"""The web UI's server side: its files and their headers, signing in and out, and who may use the cookie for what."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, __version__
from holdfast.api.web import STATIC
from holdfast.testing import HashingEmbedder
from support.http_server import http_server

OURS = {"sec-fetch-site": "same-origin"}
MINE, THEIRS = "/v1/namespaces/support/profiles/alice", "/v1/namespaces/support/profiles/bob"


@dataclass
class Browser:
    """A client that keeps cookies, as browsers do."""

    http: httpx.AsyncClient
    tokens: dict[str, str] = field(default_factory=dict)

    async def enter(self, who: str, **more: object) -> httpx.Response:
        return await self.http.post("/ui/session", json={"token": self.tokens[who], **more}, headers=OURS)


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    async with await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as holdfast:
        await holdfast.create_namespace("support")
        for name in ("alice", "bob"):
            await holdfast.profile("support", name).remember("Prefers window seats", key="seat")
        rights, place = ["read", "write"], {"namespace": "support", "profile": "alice"}
        tokens = {"admin": await holdfast.access.admin() or ""}
        tokens["url"] = (await holdfast.access.issue("url", "link", rights, **place))[1]
        tokens["key"] = (await holdfast.access.issue("key", "app", rights, **place))[1]
        async with http_server(holdfast) as base, httpx.AsyncClient(base_url=base, timeout=120) as http:
            yield Browser(http, tokens)


async def test_the_page_comes_with_a_strict_policy_and_is_not_kept(browser: Browser) -> None:
    page = await browser.http.get("/")
    policy = page.headers["content-security-policy"]
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "<script>" not in page.text
    assert " style=" not in page.text


async def test_built_files_are_packed_tagged_and_kept_for_ever(browser: Browser) -> None:
    page = (await browser.http.get("/")).text
    script = re.search(r'src="\./(assets/[^"]+\.js)"', page)
    assert script is not None
    got = await browser.http.get(f"/{script[1]}")
    assert (got.headers["content-encoding"], got.headers["content-type"]) == ("gzip", "text/javascript; charset=utf-8")
    assert "immutable" in got.headers["cache-control"]
    again = await browser.http.get(f"/{script[1]}", headers={"if-none-match": got.headers["etag"]})
    plain = await browser.http.get(f"/{script[1]}", headers={"accept-encoding": "identity"})
    assert (again.status_code, plain.text) == (304, got.text)


@pytest.mark.parametrize("name", ["..%2findex.html", "..%2f..%2f__init__.py", "nothing.js", ".hidden.js", "a%00.js"])
async def test_no_other_file_is_served(browser: Browser, name: str) -> None:
    assert (await browser.http.get(f"/assets/{name}")).status_code == 404


async def test_signing_in_sets_a_cookie_that_no_script_and_no_other_site_can_use(browser: Browser) -> None:
    assert (await browser.http.get("/ui/session")).json() == {"credential": None, "version": None}
    assert (await browser.http.get(f"{MINE}/stats")).status_code == 401
    answer = await browser.enter("admin")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "max-age" not in cookie
    assert answer.json()["credential"]["kind"] == "admin"
    assert browser.tokens["admin"] not in answer.text
    assert (await browser.http.get(f"{MINE}/stats")).status_code == 200
    assert (await browser.http.get("/ui/session")).json()["credential"]["kind"] == "admin"
    await browser.http.delete("/ui/session", headers=OURS)
    assert (await browser.http.get(f"{MINE}/stats")).status_code == 401


async def test_the_products_version_is_only_for_those_who_are_signed_in(browser: Browser) -> None:
    answers = {path: await browser.http.get(path) for path in ("/", "/docs", "/openapi.json", "/healthz", "/readyz")}
    answers |= {path: await browser.http.get(path) for path in ("/ui/session", "/nothing", f"{MINE}/stats", "/s/x")}
    told = {path: f"{dict(answer.headers)}{answer.text}" for path, answer in answers.items()}
    assert [path for path, text in told.items() if __version__ in text] == []
    assert answers["/openapi.json"].json()["info"]["version"] == "1"
    assert "Holdfast API, version 1" in answers["/docs"].text
    assert (await browser.enter("key")).json()["version"] == __version__
    assert (await browser.http.get("/ui/session")).json()["version"] == __version__


async def test_the_cookie_is_kept_only_when_asked(browser: Browser) -> None:
    assert "max-age=2592000" in (await browser.enter("admin", remember=True)).headers["set-cookie"].lower()


async def test_behind_tls_the_cookie_is_secure(browser: Browser) -> None:
    headers = OURS | {"x-forwarded-proto": "https"}
    body = {"token": browser.tokens["admin"]}
    answer = await browser.http.post("/ui/session", json=body, headers=headers)
    assert "secure" in answer.headers["set-cookie"].lower()


async def test_a_wrong_token_says_what_to_do(browser: Browser) -> None:
    for token in ("hf_none", "", "/", "\\ud800", "ключ"):
        body = f'{{"token": "{token}"}}'.encode()
        answer = await browser.http.post(
            "/ui/session", content=body, headers=OURS | {"content-type": "application/json"}
        )
        assert answer.status_code == 401
        assert "Paste" in answer.json()["error"]["fix"]
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of the same host
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {},
    ],
)
async def test_another_sites_request_cannot_use_the_cookie(browser: Browser, headers: dict[str, str]) -> None:
    await browser.enter("admin")
    body = {"content": "written by another site"}
    assert (await browser.http.post(f"{MINE}/remember", json=body, headers=headers)).status_code == 403
    assert (await browser.http.delete("/ui/session", headers=headers)).status_code == 403
    token = {"token": browser.tokens["url"]}
    assert (await browser.http.post("/ui/session", json=token, headers=headers)).status_code == 403


async def test_our_own_pages_requests_can(browser: Browser) -> None:
    await browser.enter("admin")
    own = {"origin": str(browser.http.base_url).rstrip("/")}
    for headers in (OURS, own):
        body = {"content": f"written here {headers}"}
        assert (await browser.http.post(f"{MINE}/remember", json=body, headers=headers)).status_code == 201


async def test_a_secret_urls_cookie_opens_its_one_profile_and_nothing_else(browser: Browser) -> None:
    await browser.enter("url")
    assert (await browser.http.get(f"{MINE}/stats")).status_code == 200
    for path in (f"{THEIRS}/stats", "/v1/namespaces", "/v1/credentials", "/v1/namespaces/other/profiles/alice/stats"):
        assert (await browser.http.get(path)).status_code == 403, path
    assert (await browser.http.get(f"{MINE}/stats", headers={"sec-fetch-site": "cross-site"})).status_code == 403


async def test_the_cookie_counts_in_the_native_api_only(browser: Browser) -> None:
    await browser.enter("admin")
    for path in ("/client/v4/accounts/x/agent-memory/namespaces", "/api/search?q=seats"):
        assert (await browser.http.get(path)).status_code == 401, path


async def test_a_token_that_is_sent_along_counts_before_the_cookie(browser: Browser) -> None:
    await browser.enter("admin")
    wrong = {"authorization": "Bearer hf_none"}
    assert (await browser.http.get(f"{MINE}/stats", headers=wrong)).status_code == 401


@pytest.mark.parametrize("host", ["x:99999999", "x:abc", "[::1]:80", ":", "x"])
async def test_a_strange_host_is_no_fault_of_ours(browser: Browser, host: str) -> None:
    assert (await browser.http.get("/ui/session", headers={"host": host})).status_code == 200


async def test_a_browser_at_a_secret_url_sees_a_page_and_others_nothing(browser: Browser) -> None:
    html = {"accept": "text/html,application/xhtml+xml"}
    page = await browser.http.get(f"/s/{browser.tokens['url']}", headers=html)
    unknown = await browser.http.get("/s/hf_unknown", headers=html)
    assert (page.status_code, unknown.status_code) == (200, 404)
    assert unknown.text == page.text
    assert browser.tokens["url"] not in page.text
    assert 'src="../assets/' in page.text
    assert "set-cookie" not in page.headers
    assert (await browser.http.get(f"/s/{browser.tokens['url']}")).status_code == 404


async def test_a_pasted_secret_url_signs_in(browser: Browser) -> None:
    url = f"{str(browser.http.base_url).rstrip('/')}/s/{browser.tokens['url']}"
    answer = await browser.http.post("/ui/session", json={"token": url}, headers=OURS)
    assert answer.json()["credential"]["profile"] == "alice"


def test_the_whole_bundle_is_small() -> None:
    """At most 150 KB gzipped, fonts and everything that is loaded later included."""
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in files}
    assert sum(sizes.values()) <= 150 * 1024, sizes
