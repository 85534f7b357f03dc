"""An address → a file: fetched from public hosts only, within bounds of size and time.

The guard stands where the connection is made, inside the HTTP client: it resolves the name, refuses if any answer is
not public, and dials the very address it has checked. A name that changes its mind between check and use gains nothing,
and neither does a redirect: each step goes through the same gate. No proxy, no cookies, no credentials.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import httpcore2 as httpcore
import httpx2 as httpx

from ..errors import Unreachable, shown
from .addresses import Address, Policy, Refused, literal
from .receive import write
from .types import DocumentError

Resolve = Callable[[str, int], Awaitable[list[str]]]
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_LATER = frozenset((408, 425, 429))
_DIALS = 4
ALLOW = "To fetch from it all the same, name it in the setting fetch_allow."
_URL_CHARS = 8_192
_HEADERS = (
    ("User-Agent", "Holdfast"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.8"),
    ("Accept-Encoding", "gzip, deflate"),
)


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier fetch was told, to ask whether anything has changed since."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    path: Path
    url: str
    """Where it was found, after redirects."""
    content_type: str | None = None
    name: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    unchanged: bool = False
    """The server says that it is as it was `Known`; nothing was written."""


async def resolved(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in found]


@dataclass(frozen=True, slots=True)
class Network:
    """How names are resolved and connections made; tests have their own."""

    resolve: Resolve = resolved
    dial: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)


async def fetched(
    url: str, policy: Policy, into: Path, known: Known | None = None, network: Network | None = None
) -> Fetched:
    """Write what the address holds to the file `into`. Raises Refused, DocumentError or, if it may help to try again,
    Unreachable; then there is no file."""
    if not policy.enabled:
        raise Refused("Fetching documents from addresses is switched off here.", field="url")
    try:
        async with asyncio.timeout(policy.seconds):
            return await _followed(url, policy, into, known or Known(), network or Network())
    except TimeoutError:
        raise Unreachable(f"{shown(url)} takes longer than {policy.seconds:g} seconds.", field="url") from None
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise Unreachable(f"{shown(url)} cannot be fetched: {error or type(error).__name__}.", field="url") from None
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise Unreachable(f"{shown(url)}: no such host is known.", field="url") from None
        raise


async def _followed(url: str, policy: Policy, into: Path, known: Known, network: Network) -> Fetched:
    at = checked(url, policy)
    guard = Guarded(policy, network)
    context = httpx.create_ssl_context(trust_env=False)
    async with httpcore.AsyncConnectionPool(ssl_context=context, network_backend=guard, max_connections=2) as pool:
        for _ in range(policy.redirects + 1):
            async with pool.stream("GET", _plain(at), headers=_headers(known), extensions=_timeouts(policy)) as answer:
                headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
                if answer.status not in _REDIRECTS or "location" not in headers:
                    return await _received(answer, headers, at, policy, into)
                at = checked(_joined(at, headers["location"]), policy)
    raise DocumentError(f"{shown(url)} redirects more than {policy.redirects} times.", field="url")


def checked(url: str, policy: Policy) -> httpx.URL:
    """The address, if it is one to try at all. Whether its host is public shows when it is dialled."""
    text = url.strip()
    if len(text) > _URL_CHARS or re.search(r"[\s\\\x00-\x1f\x7f]", text):
        raise Refused(f"{shown(url)} is not the address of a document.", field="url")
    found = re.match(r"https?://([^/?#]+)", text, re.I)
    if not found:
        raise Refused(f"{shown(url)}: only addresses that begin with http:// or https:// can be fetched.", field="url")
    if "@" in found.group(1):
        raise Refused("The address contains a user name or password; remove it.", field="url")
    try:
        parsed = httpx.URL(text)
        host = parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError) as bad:
        raise Refused(f"{shown(url)} is not an address: {bad}.", field="url") from None
    if "%" in host or not host:
        raise Refused(f"{shown(url)} names no host.", field="url")
    address = literal(host)
    if address is not None:
        _admit(policy, host, [address])
    elif policy.only_allowed and not policy.names(host):
        raise Refused(f"{shown(host)} is not among the hosts that documents may come from.", field="url")
    port = (443 if parsed.scheme == "https" else 80) if parsed.port is None else parsed.port
    if not policy.opens(host, port):
        raise Refused(
            f"Port {port} is not one to fetch from; allowed are {_listed(policy.ports)}.", field="url", fix=ALLOW
        )
    return parsed.copy_with(fragment=None)


class Guarded(httpcore.AsyncNetworkBackend):
    """The gate that every connection goes through."""

    def __init__(self, policy: Policy, network: Network) -> None:
        self.policy, self.network = policy, network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        if not self.policy.opens(host, port):
            raise Refused(f"Port {port} is not one to fetch from.", field="url", fix=ALLOW)
        failure: Exception | None = None
        for address in (await self._admitted(host, port))[:_DIALS]:
            try:
                return await self.network.dial.connect_tcp(str(address), port, timeout=timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def _admitted(self, host: str, port: int) -> list[Address]:
        """The host's addresses, all of which may be dialled."""
        address = literal(host)
        if address is not None:
            found = [address]
        else:
            found = [ipaddress.ip_address(text) for text in dict.fromkeys(await self.network.resolve(host, port))]
        _admit(self.policy, host, found)
        return found

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise Refused("A local socket is not one to fetch from.", field="url")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _admit(policy: Policy, host: str, found: list[Address]) -> None:
    """Refuse a host with even one address that may not be dialled: the next answer could be that one alone."""
    if not all(policy.admits(host, address) for address in found):
        # The address itself is not told: who asks might use this to map a network.
        said = f"{shown(host)} is not a public host; documents come from public addresses only."
        raise Refused(said, field="url", fix=ALLOW)


async def _received(
    answer: httpcore.Response, headers: dict[str, str], at: httpx.URL, policy: Policy, into: Path
) -> Fetched:
    told = Fetched(
        into, str(at), headers.get("content-type"), _name(headers, at), headers.get("etag"),
        headers.get("last-modified"),
    )  # fmt: skip
    if answer.status == 304:
        return Fetched(into, told.url, None, told.name, told.etag, told.last_modified, unchanged=True)
    if answer.status != 200:
        raise _status_error(answer.status, at)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > policy.received_bytes:
        raise DocumentError(f"{shown(str(at))} is larger than {policy.received_bytes:,} bytes.", field="url")
    try:
        with into.open("wb") as file:
            await write(answer.aiter_stream(), headers.get("content-encoding", ""), policy, file)
    except BaseException:
        into.unlink(missing_ok=True)
        raise
    return told


def _status_error(status: int, at: httpx.URL) -> Exception:
    message = f"{shown(str(at))} answers with status {status}."
    if status >= 500 or status in _LATER:
        return Unreachable(message, field="url")
    return DocumentError(message, field="url")


def _plain(at: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path)


def _joined(at: httpx.URL, location: str) -> str:
    try:
        return str(at.join(location.strip()))
    except (httpx.InvalidURL, UnicodeError, ValueError) as bad:
        raise Refused(f"{shown(str(at))} redirects to what is no address: {bad}.", field="url") from None


def _headers(known: Known) -> list[tuple[str, str]]:
    asked = [*_HEADERS]
    if known.etag:
        asked.append(("If-None-Match", known.etag))
    if known.last_modified:
        asked.append(("If-Modified-Since", known.last_modified))
    return asked


def _timeouts(policy: Policy) -> dict[str, dict[str, float]]:
    return {"timeout": {step: min(15.0, policy.seconds) for step in ("connect", "read", "write", "pool")}}


def _name(headers: dict[str, str], at: httpx.URL) -> str | None:
    """What the server calls the file, else the last step of the path. A name only: no folders, no controls."""
    said = EmailMessage()
    said["content-disposition"] = re.sub(r"[\r\n]", " ", headers.get("content-disposition", ""))
    name = said.get_filename() or unquote(at.path)
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[\x00-\x1f\x7f]", "", last)[:200] or None


def _listed(ports: tuple[int, ...]) -> str:
    return ", ".join(map(str, ports))
