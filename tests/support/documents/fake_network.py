"""A network for tests of fetching: names as a test says, and a dialler that reaches loopback servers only."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpcore2 as httpcore
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from holdfast.documents.fetch.http import FetchNetwork

PUBLIC_ADDRESS = "93.184.216.34"
Answer = Callable[[str, dict[str, str]], bytes]


@dataclass
class FakeResolver:
    """A resolver: each name has a list of answers, given one after another; the last one stays. Numbers are themselves,
    in every spelling that the system's own resolver takes."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        known = self.answers.get(host.rstrip("."))
        if known:
            return known.pop(0) if len(known) > 1 else known[0]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(answer[4][0]) for answer in found]


@dataclass
class FakeDialler(httpcore.AsyncNetworkBackend):
    """Records every address it is asked for, and reaches only those that a test has mapped to a server of its own."""

    mapped: dict[tuple[str, int], int] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        if (host, port) not in self.mapped:
            raise httpcore.ConnectError(f"nothing is at {host}:{port}")
        return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", self.mapped[host, port], timeout=timeout)


def fake_network(names: FakeResolver | None = None, dialler: FakeDialler | None = None) -> FetchNetwork:
    return FetchNetwork(names or FakeResolver(), dialler or FakeDialler())


@asynccontextmanager
async def loopback_server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on loopback that answers each request by its path and headers; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *rest = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
            writer.write(answer(first.split(" ")[1], headers))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has had enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    named = {"content-length": str(len(body)), "connection": "close", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def self_signed_certificate(name: str, folder: Path) -> Path:
    """A certificate with its key, that nobody but itself vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path = folder / f"{name}.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + pem)
    return path


def redirect(to: str) -> bytes:
    return reply(b"", "302 Found", location=to)
