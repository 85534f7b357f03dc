"""Limits of requests and connections: rights come before the body, and nobody waits for a hostile or slow client."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.api.rest import connections, middleware, request_body
from holdfast.api.rest.app import ROUTERS
from holdfast.api.rest.connections import LimitedProtocol
from holdfast.testing import HashingEmbedder
from support.http_server import http_server
from support.waiting import until

OF = "/v1/namespaces/app/profiles/ana"
HUGE = 900_000_000


class Site(NamedTuple):
    holdfast: AsyncHoldfast
    url: str
    http: httpx.AsyncClient

    async def token(self, *rights: str) -> str:
        return (await self.holdfast.access.issue("key", "k", rights, namespace="app", profile="ana"))[1]

    async def raw(self, head: str, body: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which these bytes were sent."""
        place = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(head.replace("\n", "\r\n").encode() + body)
        await writer.drain()
        return reader, writer

    async def status(self, head: str, body: bytes = b"") -> int:
        reader, writer = await self.raw(head, body)
        line = await asyncio.wait_for(reader.readline(), 120)
        writer.close()
        return int(line.split()[1])

    async def alive(self) -> bool:
        return (await self.http.get(self.url + "/healthz")).status_code == 200


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with (
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast,
        http_server(holdfast) as url,
        httpx.AsyncClient(timeout=120) as http,
    ):
        await holdfast.profile("app", "ana").remember("Prefers window seats")
        yield Site(holdfast, url, http)


def head(method: str, path: str, token: str, length: int) -> str:
    return (
        f"{method} {path} HTTP/1.1\nhost: x\nauthorization: Bearer {token}\ncontent-type: application/json\n"
        f"content-length: {length}\n\n"
    )


@pytest.mark.parametrize(
    ("method", "path", "rights", "expected"),
    [
        ("PATCH", "/memories/import", ("read",), 403),
        ("POST", "/ingest", ("read",), 403),
        ("POST", "/import", ("read",), 403),
        ("POST", "/documents", ("read",), 403),
        ("PATCH", "/memories/import", ("read", "write"), 413),
        ("POST", "/remember", ("write",), 413),
        ("POST", "/search", ("read",), 413),
        ("POST", "/ingest", ("write",), 413),
        ("DELETE", "/memories/import", ("forget",), 404),
    ],
)
async def test_a_huge_body_is_refused_before_it_is_sent(
    site: Site, method: str, path: str, rights: tuple[str, ...], expected: int
) -> None:
    """Only a few bytes of the body are sent: an answer that waited for the rest would never come."""
    assert await site.status(head(method, OF + path, await site.token(*rights), HUGE), b'{"a": ') == expected


@pytest.mark.parametrize(
    ("path", "type", "said", "fix"),
    [
        ("/remember", "application/json", "The body is larger than 2,097,152 bytes.", "Send less at a time."),
        (
            "/documents", "application/json", "The body is larger than 33,554,432 bytes.",
            "Send the text as a file, in a form.",
        ),
        (
            "/documents", "multipart/form-data; boundary=x", "The file is larger than 67,108,864 bytes.",
            "Split it, or raise the setting document_bytes.",
        ),
    ],
)  # fmt: skip
async def test_what_is_too_large_is_told_with_its_limit_and_what_to_do(
    site: Site, path: str, type: str, said: str, fix: str
) -> None:
    sent = head("POST", OF + path, await site.token("write"), HUGE).replace("application/json", type)
    reader, writer = await site.raw(sent)
    answer = await asyncio.wait_for(reader.readuntil(b"}}"), 120)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")
    told = {"code": "invalid_input", "message": said, "field": None, "fix": fix}
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == told


async def test_no_route_reads_a_body_before_it_knows_the_caller(site: Site) -> None:
    """Every route, without a token: the answer comes while the body is still to be sent."""
    routes = [route for router in ROUTERS for route in router.routes]
    for route in routes:
        path = route.path.replace(":path", "").format_map(Named())  # type: ignore[attr-defined]
        for method in route.methods - {"HEAD", "GET"}:  # type: ignore[attr-defined]
            assert await site.status(head(method, path, "hf_unknown", HUGE), b"{") in (401, 404), (method, path)


class Named(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "app" if name == "namespace" else "ana"


async def test_a_body_of_very_many_values_is_refused(site: Site) -> None:
    token = await site.token("write")
    body = b'{"messages": [' + b"[]," * 1_000_000 + b"[]]}"
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    answer = await site.http.post(site.url + OF + "/ingest", content=body, headers=headers)
    assert (answer.status_code, "JSON values" in answer.text) == (413, True)
    texts = [{"role": "user", "content": f"{n} " + ",[{" * 10_000} for n in range(10)]  # within strings, none counts
    answer = await site.http.post(site.url + OF + "/ingest", json={"messages": texts}, headers=headers)
    assert answer.status_code == 200, answer.text


async def test_an_mcp_call_of_very_many_values_is_refused(site: Site) -> None:
    _, secret = await site.holdfast.access.issue("url", "u", ["write"], namespace="app", profile="ana")
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": [' + b"[]," * 1_000_000 + b"[]]}}"
    answer = await site.http.post(f"{site.url}/s/{secret}/mcp", content=body)
    assert (answer.status_code, "JSON values" in answer.text) == (413, True)


async def test_a_body_that_trickles_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "GRACE_SECONDS", 0.2)
    assert await site.status(head("POST", OF + "/ingest", await site.token("write"), 1000), b'{"messages"') == 408


async def test_large_bodies_at_once_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "MAX_BYTES_IN_FLIGHT_OF_ONE", 300_000)
    token, some = await site.token("write"), b'{"messages": ["' + b"x" * 200_000
    waiting = [await site.raw(head("POST", OF + "/ingest", token, 1_000_000), some) for _ in range(2)]
    lines = [asyncio.create_task(reader.readline()) for reader, _ in waiting]
    done, left = await asyncio.wait(lines, timeout=120, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().split()[1] for task in done] == [b"503"]
    other = await site.token("write")
    assert await site.status(head("POST", OF + "/ingest", other, len(some)), some) == 400  # another's are its own
    for task in left:
        task.cancel()
    for _, writer in waiting:
        writer.close()
    headers = {"authorization": f"Bearer {token}"}
    body = {"messages": [{"role": "user", "content": "word " * 6_000}] * 6}

    async def taken() -> bool:
        return (await site.http.post(site.url + OF + "/ingest", json=body, headers=headers)).status_code == 200

    await until(taken)  # the bytes of requests that ended are no longer counted


async def test_a_line_of_an_archive_is_bounded(site: Site) -> None:
    headers = {"authorization": f"Bearer {await site.token('write')}"}
    line = gzip.compress(json.dumps({"type": "header", "a": "x" * 20_000_000}).encode())
    answer = await site.http.post(site.url + OF + "/import", content=line, headers=headers)
    assert answer.status_code == 400, answer.text


async def test_half_open_connections_give_way(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "most", 8)
    held = [await site.raw("GET /healthz HTTP/1.1\nhost: x\nx-slow: ") for _ in range(40)]
    for n in range(3):
        async with httpx.AsyncClient(timeout=120) as known:
            headers = {"authorization": f"Bearer {await site.token('write')}"}
            answer = await known.post(site.url + OF + "/remember", json={"content": f"thing {n}"}, headers=headers)
            assert answer.status_code == 201
    for _, writer in held:
        writer.close()


async def test_busy_connections_are_not_cut_for_new_ones(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "most", 4)
    token = await site.token("read")
    streams: list[Any] = []
    for _ in range(4):
        streams.append(await site.raw(f"GET {OF}/events HTTP/1.1\nhost: x\nauthorization: Bearer {token}\n\n"))
        assert (await asyncio.wait_for(streams[-1][0].readline(), 120)).split()[1] == b"200"
    assert await site.status("GET /healthz HTTP/1.1\nhost: x\n\n") == 503
    streams[0][1].close()

    async def let_in() -> bool:
        return await site.status("GET /healthz HTTP/1.1\nhost: x\n\n") == 200

    await until(let_in)  # the place of a connection that ended is given to another
    for _, writer in streams[1:]:
        writer.close()


async def test_a_head_that_never_ends_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    for begin in ("", "GET /hea", "GET /healthz HTTP/1.1\nhost: x\nx-slow: a"):
        reader, writer = await site.raw(begin)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 120) == b""
        writer.close()
    monkeypatch.undo()  # a busy machine may need as long for a whole head
    assert await site.alive()


async def test_a_client_that_does_not_read_is_left(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(middleware, "MAX_SEND_SECONDS", 0.2)
    profile = site.holdfast.profile("app", "ana")
    for n in range(120):
        await profile.remember(f"Picture {n}", value={"bytes": "x" * 200_000}, embed=False)
    reader, writer = await site.raw(
        f"GET {OF}/export HTTP/1.1\nhost: x\nauthorization: Bearer {await site.token('read')}\n\n"
    )
    await until(lambda: "did not read" in caplog.text)
    got = 0
    with suppress(ConnectionResetError, asyncio.IncompleteReadError):
        while piece := await asyncio.wait_for(reader.read(1_000_000), 120):
            got += len(piece)
    writer.close()
    assert got < 20_000_000  # the whole archive has more
    monkeypatch.undo()
    assert await site.alive()


async def test_an_integer_of_too_many_digits_is_named(site: Site) -> None:
    headers = {"authorization": f"Bearer {await site.token('write')}", "content-type": "application/json"}
    body = b'{"content": "x", "metadata": {"n": ' + b"9" * 5000 + b"}}"
    answer = await site.http.post(site.url + OF + "/remember", content=body, headers=headers)
    assert (answer.status_code, "digits" in answer.json()["error"]["message"]) == (400, True)
