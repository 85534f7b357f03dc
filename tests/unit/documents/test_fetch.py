"""Fetching: public hosts only, whatever the address looks like, whoever answers for the name, wherever it leads on."""

from __future__ import annotations

import gzip
import ipaddress
import ssl
import zlib
from pathlib import Path

import pytest

from holdfast.documents.fetch.addresses import AddressRefused, FetchPolicy, is_public
from holdfast.documents.fetch.http import CacheValidators, fetch_file
from holdfast.documents.types import DocumentError
from holdfast.domain.errors import InvalidInput, Unreachable
from support.documents.fake_network import (
    PUBLIC_ADDRESS,
    FakeDialler,
    FakeResolver,
    fake_network,
    loopback_server,
    redirect,
    reply,
    self_signed_certificate,
)
from support.documents.private_addresses import PRIVATE_IPV4, PRIVATE_IPV6, all_spellings

LOCAL_NAMES = (
    "localhost",
    "localhost.",
    "LOCALHOST",
    "ip6-localhost",
    "metadata.google.internal",
    "kubernetes.default",
)
FORMS = all_spellings()


def test_there_are_more_than_two_hundred_forms() -> None:
    assert len(set(FORMS)) >= 200


@pytest.mark.parametrize("url", FORMS, ids=lambda url: ascii(url)[:50])
async def test_no_spelling_leads_inside(url: str, tmp_path: Path) -> None:
    dialler = FakeDialler()
    names = FakeResolver({"public.example": [[PUBLIC_ADDRESS]], "localhost": [["127.0.0.1"]]})
    with pytest.raises(InvalidInput):
        await fetch_file(url, FetchPolicy(), tmp_path / "x", network=fake_network(names, dialler))
    assert dialler.dialled == []
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("address", [*PRIVATE_IPV4, *PRIVATE_IPV6, "fe80::1%eth0", "::1%lo", "2606:4700::1111%eth0"])
async def test_a_name_that_leads_inside_is_refused_also_among_public_answers(address: str, tmp_path: Path) -> None:
    for answers in (
        [address],
        [PUBLIC_ADDRESS, address],
        [address, PUBLIC_ADDRESS],
        [PUBLIC_ADDRESS, PUBLIC_ADDRESS, address],
    ):
        dialler = FakeDialler()
        names = FakeResolver({"sly.example": [answers]})
        with pytest.raises(AddressRefused):
            await fetch_file(
                "https://sly.example/", FetchPolicy(), tmp_path / "x", network=fake_network(names, dialler)
            )
        assert dialler.dialled == []


@pytest.mark.parametrize("name", LOCAL_NAMES)
async def test_names_of_the_inside_are_refused_by_where_they_lead(name: str, tmp_path: Path) -> None:
    dialler = FakeDialler()
    names = FakeResolver({name.lower().rstrip("."): [["127.0.0.1", "::1"]]})
    with pytest.raises(AddressRefused):
        await fetch_file(f"http://{name}/", FetchPolicy(), tmp_path / "x", network=fake_network(names, dialler))
    assert names.asked
    assert dialler.dialled == []


async def test_a_redirect_to_the_inside_is_refused(tmp_path: Path) -> None:
    targets = [form for form in FORMS if form.startswith(("http", "ftp", "file", "//"))]
    targets = [target for target in targets if target.isascii() and target.isprintable() and len(target) < 500]
    async with loopback_server(lambda path, _: redirect(targets[int(path[1:])])) as port:
        for number, target in enumerate(targets):
            dialler = FakeDialler({(PUBLIC_ADDRESS, 80): port})
            names = FakeResolver({"public.example": [[PUBLIC_ADDRESS]], "localhost": [["127.0.0.1"]]})
            with pytest.raises((AddressRefused, DocumentError, Unreachable)) as error:
                await fetch_file(
                    f"http://public.example/{number}",
                    FetchPolicy(redirects=1),
                    tmp_path / "x",
                    network=fake_network(names, dialler),
                )
            assert set(dialler.dialled) == {(PUBLIC_ADDRESS, 80)}, (target, error)
    assert len(targets) > 100


async def test_a_name_that_changes_its_mind_gains_nothing(tmp_path: Path) -> None:
    async with loopback_server(lambda path, _: redirect("/again") if path == "/" else reply(b"secret")) as port:
        dialler = FakeDialler({(PUBLIC_ADDRESS, 80): port, ("127.0.0.1", 80): port})
        names = FakeResolver({"rebind.example": [[PUBLIC_ADDRESS], ["127.0.0.1"]]})
        with pytest.raises(AddressRefused):
            await fetch_file(
                "http://rebind.example/", FetchPolicy(), tmp_path / "x", network=fake_network(names, dialler)
            )
        assert dialler.dialled == [(PUBLIC_ADDRESS, 80)]


async def test_what_is_dialled_is_what_was_checked(tmp_path: Path) -> None:
    async with loopback_server(lambda *_: reply(b"text")) as port:
        dialler = FakeDialler({(PUBLIC_ADDRESS, 80): port})
        names = FakeResolver({"rebind.example": [[PUBLIC_ADDRESS], ["10.0.0.1"]]})
        await fetch_file("http://rebind.example/", FetchPolicy(), tmp_path / "x", network=fake_network(names, dialler))
        assert (names.asked, dialler.dialled) == (["rebind.example"], [(PUBLIC_ADDRESS, 80)])


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", PUBLIC_ADDRESS, "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


async def test_a_document_is_fetched_with_what_the_server_says_of_it(tmp_path: Path) -> None:
    def answer(path: str, headers: dict[str, str]) -> bytes:
        assert headers["host"] == "public.example"
        assert not {"authorization", "cookie", "proxy-authorization"} & set(headers)
        if path == "/":
            return redirect("/docs/")
        said = {"etag": '"v1"', "last-modified": "Mon, 04 Mar 2024 18:20:00 GMT", "content-encoding": "gzip"}
        named = {
            "content-disposition": 'attachment; filename="../../evil/re\x01port.pdf"',
            "content-type": "application/pdf",
        }
        return reply(gzip.compress(b"%PDF-1.7"), **said, **named)

    async with loopback_server(answer) as port:
        names = FakeResolver({"public.example": [[PUBLIC_ADDRESS]]})
        net = fake_network(names, FakeDialler({(PUBLIC_ADDRESS, 80): port}))
        found = await fetch_file("http://public.example/#part", FetchPolicy(), tmp_path / "x", network=net)
    assert found.path.read_bytes() == b"%PDF-1.7"
    assert (found.url, found.name) == ("http://public.example/docs/", "report.pdf")
    assert (found.content_type, found.etag) == ("application/pdf", '"v1"')
    assert found.last_modified == "Mon, 04 Mar 2024 18:20:00 GMT"


async def test_what_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    def answer(path: str, headers: dict[str, str]) -> bytes:
        return reply(b"", "304 Not Modified") if headers.get("if-none-match") == '"v1"' else reply(b"new")

    async with loopback_server(answer) as port:
        net = fake_network(
            FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 80): port})
        )
        found = await fetch_file("http://public.example/a", FetchPolicy(), tmp_path / "x", CacheValidators('"v1"'), net)
        assert found.unchanged
        assert not found.path.exists()
        assert not (
            await fetch_file("http://public.example/a", FetchPolicy(), tmp_path / "x", CacheValidators('"v0"'), net)
        ).unchanged


async def test_a_certificate_must_be_vouched_for_and_name_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, trusted, good in (("public.example", True, True), ("other.example", True, False),
                                ("public.example", False, False)):  # fmt: skip
        certificate = self_signed_certificate(name, tmp_path)
        server, client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
        server.load_cert_chain(certificate)
        if trusted:
            client.load_verify_locations(certificate)
        monkeypatch.setattr("holdfast.documents.fetch.http.httpx.create_ssl_context", lambda client=client, **_: client)
        async with loopback_server(lambda *_: reply(b"sealed"), server) as port:
            net = fake_network(
                FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 443): port})
            )
            reading = fetch_file("https://public.example/", FetchPolicy(), tmp_path / "x", network=net)
            if good:
                assert (await reading).path.read_bytes() == b"sealed"
            else:
                with pytest.raises(Unreachable, match="certificate"):
                    await reading


async def test_five_redirects_are_one_too_many(tmp_path: Path) -> None:
    def answer(path: str, _: dict[str, str]) -> bytes:
        left = int(path[1:])
        return redirect(f"/{left - 1}") if left else reply(b"there")

    async with loopback_server(answer) as port:
        net = fake_network(
            FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 80): port})
        )
        assert (await fetch_file("http://public.example/4", FetchPolicy(), tmp_path / "x", network=net)).url.endswith(
            "/0"
        )
        with pytest.raises(DocumentError, match="redirects more than 4 times"):
            await fetch_file("http://public.example/5", FetchPolicy(), tmp_path / "y", network=net)


BOMB = gzip.compress(bytes(40_000_000))
TOO_MUCH = {
    "too long, and says so": reply(b"x", **{"content-length": "9999999999"}),
    "too long, and does not say so": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + bytes(2_000_000),
    "a bomb": reply(BOMB, **{"content-encoding": "gzip"}),
    "a bomb of the other kind": reply(zlib.compress(bytes(40_000_000)), **{"content-encoding": "deflate"}),
    "packed twice": reply(gzip.compress(BOMB), **{"content-encoding": "gzip, gzip"}),
    "packed unasked": reply(b"x", **{"content-encoding": "br"}),
    "packed and broken": reply(b"no gzip at all", **{"content-encoding": "gzip"}),
    "nothing": reply(b""),
    "not there": reply(b"no", "404 Not Found"),
    "forbidden": reply(b"no", "403 Forbidden"),
}


@pytest.mark.parametrize("body", TOO_MUCH.values(), ids=TOO_MUCH.keys())
async def test_what_is_too_much_or_too_little_is_an_error_and_leaves_no_file(body: bytes, tmp_path: Path) -> None:
    policy = FetchPolicy(received_bytes=1_000_000, decoded_bytes=5_000_000)
    async with loopback_server(lambda *_: body) as port:
        net = fake_network(
            FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 80): port})
        )
        with pytest.raises(DocumentError):
            await fetch_file("http://public.example/a", policy, tmp_path / "x", network=net)
    assert list(tmp_path.iterdir()) == []


LATER = {
    "down": reply(b"", "503 Service Unavailable"),
    "busy": reply(b"", "429 Too Many Requests"),
    "cut off": reply(b"abc", **{"content-length": "10"}),
    "cut off while packed": reply(gzip.compress(b"text" * 1000)[:-12], **{"content-encoding": "gzip"}),
    "nonsense": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"x-a: " + b"a" * 300_000,
}


@pytest.mark.parametrize("body", LATER.values(), ids=LATER.keys())
async def test_what_may_come_right_can_be_tried_again(body: bytes, tmp_path: Path) -> None:
    async with loopback_server(lambda *_: body) as port:
        net = fake_network(
            FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 80): port})
        )
        with pytest.raises(Unreachable) as error:
            await fetch_file("http://public.example/a", FetchPolicy(), tmp_path / "x", network=net)
    assert error.value.retryable
    assert list(tmp_path.iterdir()) == []


async def test_a_server_that_never_ends_is_given_up(tmp_path: Path) -> None:
    async with loopback_server(lambda *_: b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n") as port:
        net = fake_network(
            FakeResolver({"public.example": [[PUBLIC_ADDRESS]]}), FakeDialler({(PUBLIC_ADDRESS, 80): port})
        )
        with pytest.raises(Unreachable):
            await fetch_file("http://public.example/a", FetchPolicy(seconds=0.5), tmp_path / "x", network=net)


async def test_the_off_switch_and_the_list_of_hosts(tmp_path: Path) -> None:
    async with loopback_server(lambda *_: reply(b"text")) as port:
        mapped = {("10.1.2.3", 80): port, ("10.1.2.3", 8080): port, (PUBLIC_ADDRESS, 80): port}
        names = {"wiki.corp": [["10.1.2.3"]], "public.example": [[PUBLIC_ADDRESS]], "meta.corp": [["169.254.169.254"]]}

        async def allowed(url: str, policy: FetchPolicy) -> bool:
            dialler = FakeDialler(dict(mapped))
            try:
                await fetch_file(url, policy, tmp_path / "x", network=fake_network(FakeResolver({**names}), dialler))
            except AddressRefused:
                assert dialler.dialled == []
                return False
            return True

        assert not await allowed("http://public.example/", FetchPolicy(enabled=False))
        assert not await allowed("http://wiki.corp/", FetchPolicy())
        assert await allowed("http://wiki.corp/", FetchPolicy(allow=("wiki.corp",)))
        assert await allowed("http://WIKI.corp./", FetchPolicy(allow=("*.corp",)))
        assert not await allowed("http://wiki.corp:8080/", FetchPolicy(allow=("wiki.corp",)))
        assert await allowed("http://wiki.corp:8080/", FetchPolicy(allow=("wiki.corp:8080",)))
        assert await allowed("http://10.1.2.3/", FetchPolicy(allow=("10.1.0.0/16",)))
        assert not await allowed("http://10.2.2.3/", FetchPolicy(allow=("10.1.0.0/16",)))
        assert not await allowed("http://public.example/", FetchPolicy(allow=("*.corp",), only_allowed=True))
        assert not await allowed("http://meta.corp/", FetchPolicy(allow=("*.corp",)))
        assert not await allowed(
            "http://evilwiki.corp.public.example/", FetchPolicy(allow=("wiki.corp",), only_allowed=True)
        )


@pytest.mark.parametrize("entry", ["", "http://x/", "a b", "*", "10.0.0.0/99", "x:port", "*.*.corp"])
def test_a_list_of_hosts_that_makes_no_sense_is_refused(entry: str) -> None:
    with pytest.raises(InvalidInput, match="is not a host"):
        FetchPolicy(allow=(entry,))
