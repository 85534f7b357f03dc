"""Fetches a URL into a file, from public hosts only, within limits of size and time.

The check is made where the HTTP client connects: it resolves the name, refuses if any address is not public, and
connects to the very address it has checked. So neither DNS rebinding nor a redirect gets around it. No proxy, cookies
or credentials are used.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import httpcore2 as httpcore
import httpx2 as httpx

from holdfast.documents.fetch.addresses import AddressRefused, FetchPolicy, IPAddress, ip_literal
from holdfast.documents.fetch.body import write_body
from holdfast.documents.types import DocumentError
from holdfast.domain.errors import Unreachable, quoted_value

HostResolver = Callable[[str, int], Awaitable[list[str]]]
_REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
_RETRY_STATUSES = frozenset((408, 425, 429))
_MAX_CONNECT_ATTEMPTS = 4
"""How many addresses of a host are tried. Chosen by hand; not measured."""
ALLOW_FIX = "To allow it, add it to the setting fetch_allow."
_MAX_URL_CHARS = 8_192
"""Longer URLs are refused. Chosen by hand; not measured."""
_FIXED_HEADERS = (
    ("User-Agent", "Holdfast"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.8"),
    ("Accept-Encoding", "gzip, deflate"),
)


@dataclass(frozen=True, slots=True)
class CacheValidators:
    """ETag and Last-Modified of an earlier fetch, for a conditional request."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A fetched file with the properties that the server reported."""

    path: Path
    url: str
    """The final URL, after redirects."""
    content_type: str | None = None
    name: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    unchanged: bool = False
    """The server answered that nothing has changed; no file was written."""


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a host name with the resolver of the system."""
    records = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(record[4][0]) for record in records]


@dataclass(frozen=True, slots=True)
class FetchNetwork:
    """How names are resolved and connections made; tests replace it."""

    resolve: HostResolver = resolve_host
    dial: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)


async def fetch_file(
    url: str, policy: FetchPolicy, into: Path, known: CacheValidators | None = None, network: FetchNetwork | None = None
) -> FetchedFile:
    """Write the content of a URL to the file `into`.

    Raise AddressRefused, DocumentError or, if trying again may help, Unreachable; then there is no file.
    """
    if not policy.enabled:
        raise AddressRefused("Fetching documents from URLs is disabled.", field="url")
    try:
        async with asyncio.timeout(policy.seconds):
            return await _fetch_with_redirects(url, policy, into, known or CacheValidators(), network or FetchNetwork())
    except TimeoutError:
        raise Unreachable(f"{quoted_value(url)} takes longer than {policy.seconds:g} seconds.", field="url") from None
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise Unreachable(
            f"{quoted_value(url)} cannot be fetched: {error or type(error).__name__}.", field="url"
        ) from None
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise Unreachable(f"{quoted_value(url)}: the host is unknown.", field="url") from None
        raise


async def _fetch_with_redirects(
    url: str, policy: FetchPolicy, into: Path, known: CacheValidators, network: FetchNetwork
) -> FetchedFile:
    at = validated_url(url, policy)
    guard = GuardedBackend(policy, network)
    context = httpx.create_ssl_context(trust_env=False)
    async with httpcore.AsyncConnectionPool(ssl_context=context, network_backend=guard, max_connections=2) as pool:
        for _ in range(policy.redirects + 1):
            async with pool.stream(
                "GET", _core_url(at), headers=_request_headers(known), extensions=_timeouts(policy)
            ) as answer:
                headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
                if answer.status not in _REDIRECT_STATUSES or "location" not in headers:
                    return await _receive(answer, headers, at, policy, into)
                at = validated_url(_redirect_url(at, headers["location"]), policy)
    raise DocumentError(f"{quoted_value(url)} redirects more than {policy.redirects} times.", field="url")


def validated_url(url: str, policy: FetchPolicy) -> httpx.URL:
    """The parsed URL. Raise AddressRefused if it may not be fetched; names are resolved and checked on connecting."""
    text = url.strip()
    if len(text) > _MAX_URL_CHARS or re.search(r"[\s\\\x00-\x1f\x7f]", text):
        raise AddressRefused(f"{quoted_value(url)} is not a URL that can be fetched.", field="url")
    authority = re.match(r"https?://([^/?#]+)", text, re.I)
    if not authority:
        raise AddressRefused(
            f"{quoted_value(url)}: only URLs that begin with http:// or https:// can be fetched.", field="url"
        )
    if "@" in authority.group(1):
        raise AddressRefused("The URL contains a user name or password; remove it.", field="url")
    try:
        parsed = httpx.URL(text)
        host = parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError) as bad:
        raise AddressRefused(f"{quoted_value(url)} is not an address: {bad}.", field="url") from None
    if "%" in host or not host:
        raise AddressRefused(f"{quoted_value(url)} names no host.", field="url")
    address = ip_literal(host)
    if address is not None:
        _require_allowed(policy, host, [address])
    elif policy.only_allowed and not policy.allows_name(host):
        raise AddressRefused(
            f"{quoted_value(host)} is not one of the hosts that documents may be fetched from.", field="url"
        )
    port = (443 if parsed.scheme == "https" else 80) if parsed.port is None else parsed.port
    if not policy.allows_port(host, port):
        raise AddressRefused(
            f"Fetching from port {port} is not allowed; allowed are {_port_list(policy.ports)}.",
            field="url",
            fix=ALLOW_FIX,
        )
    return parsed.copy_with(fragment=None)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """The network backend that checks every connection before it is made."""

    def __init__(self, policy: FetchPolicy, network: FetchNetwork) -> None:
        self.policy, self.network = policy, network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        if not self.policy.allows_port(host, port):
            raise AddressRefused(f"Fetching from port {port} is not allowed.", field="url", fix=ALLOW_FIX)
        failure: Exception | None = None
        for address in (await self._resolve_allowed(host, port))[:_MAX_CONNECT_ATTEMPTS]:
            try:
                return await self.network.dial.connect_tcp(str(address), port, timeout=timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def _resolve_allowed(self, host: str, port: int) -> list[IPAddress]:
        """Resolve the host to its addresses; raise AddressRefused unless all of them are allowed."""
        address = ip_literal(host)
        if address is not None:
            addresses = [address]
        else:
            addresses = [ipaddress.ip_address(text) for text in dict.fromkeys(await self.network.resolve(host, port))]
        _require_allowed(self.policy, host, addresses)
        return addresses

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("Fetching from a local socket is not allowed.", field="url")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _require_allowed(policy: FetchPolicy, host: str, addresses: list[IPAddress]) -> None:
    """Refuse a host with even one address that is not allowed: the next lookup could return that one alone."""
    if not all(policy.allows_address(host, address) for address in addresses):
        # The message does not contain the address, which a caller could use to map a private network.
        message = f"{quoted_value(host)} is not a public host; documents come from public addresses only."
        raise AddressRefused(message, field="url", fix=ALLOW_FIX)


async def _receive(
    answer: httpcore.Response, headers: dict[str, str], at: httpx.URL, policy: FetchPolicy, into: Path
) -> FetchedFile:
    fetched_file = FetchedFile(
        into, str(at), headers.get("content-type"), _file_name(headers, at), headers.get("etag"),
        headers.get("last-modified"),
    )  # fmt: skip
    if answer.status == 304:
        return replace(fetched_file, content_type=None, unchanged=True)
    if answer.status != 200:
        raise _status_error(answer.status, at)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > policy.received_bytes:
        raise DocumentError(f"{quoted_value(str(at))} is larger than {policy.received_bytes:,} bytes.", field="url")
    try:
        with into.open("wb") as file:
            await write_body(answer.aiter_stream(), headers.get("content-encoding", ""), policy, file)
    except BaseException:
        into.unlink(missing_ok=True)
        raise
    return fetched_file


def _status_error(status: int, at: httpx.URL) -> Exception:
    message = f"{quoted_value(str(at))} answers with status {status}."
    if status >= 500 or status in _RETRY_STATUSES:
        return Unreachable(message, field="url")
    return DocumentError(message, field="url")


def _core_url(at: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path)


def _redirect_url(at: httpx.URL, location: str) -> str:
    try:
        return str(at.join(location.strip()))
    except (httpx.InvalidURL, UnicodeError, ValueError) as bad:
        raise AddressRefused(f"{quoted_value(str(at))} redirects to an invalid URL: {bad}.", field="url") from None


def _request_headers(known: CacheValidators) -> list[tuple[str, str]]:
    headers = [*_FIXED_HEADERS]
    if known.etag:
        headers.append(("If-None-Match", known.etag))
    if known.last_modified:
        headers.append(("If-Modified-Since", known.last_modified))
    return headers


def _timeouts(policy: FetchPolicy) -> dict[str, dict[str, float]]:
    return {"timeout": {step: min(15.0, policy.seconds) for step in ("connect", "read", "write", "pool")}}


def _file_name(headers: dict[str, str], at: httpx.URL) -> str | None:
    """The file name that the server gives, else the last part of the path, without folders and control characters."""
    parser = EmailMessage()
    parser["content-disposition"] = re.sub(r"[\r\n]", " ", headers.get("content-disposition", ""))
    name = parser.get_filename() or unquote(at.path)
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[\x00-\x1f\x7f]", "", last)[:200] or None


def _port_list(ports: tuple[int, ...]) -> str:
    return ", ".join(map(str, ports))
