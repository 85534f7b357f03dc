"""Pure: which addresses a document may be fetched from.

The rule is about addresses, not names: a name is nothing until it is resolved, and everything it resolves to must be
public. `ipaddress.is_global` is not asked: it calls some of these public (6to4, Teredo and NAT64 carry a private IPv4
address inside), and its answers differ between releases of Python.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput, shown

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Net = ipaddress.IPv4Network | ipaddress.IPv6Network

_PRIVATE_4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own door to its machines, at an address that looks public
    )
)  # fmt: skip
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_PRIVATE_6 = tuple(
    ipaddress.IPv6Network(net) for net in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "3ffe::/16")
)
_NEVER = tuple(
    ipaddress.ip_network(net)
    for net in ("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8", "::/128")
)
"""Not even for a host that is allowed by name: these are where clouds keep credentials, or no host at all."""
_ISATAP = (0x00005EFE, 0x02005EFE)
_HOST = re.compile(r"(?=.{1,253}\.?$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*\.?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")


class Refused(InvalidInput):
    """This address is not one to fetch from; nothing was dialled."""


def is_public(address: Address) -> bool:
    """Whether the address is a host of the public internet, by no detour."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in net for net in _PRIVATE_4)
    if address.scope_id or address not in _GLOBAL_6 or any(address in net for net in _PRIVATE_6):
        return False
    return (int(address) >> 32 & 0xFFFFFFFF) not in _ISATAP


@dataclass(frozen=True, slots=True)
class Policy:
    """Where documents may be fetched from, and how much."""

    enabled: bool = True
    allow: tuple[str, ...] = ()
    """Exceptions to the rule of public addresses and ports: `wiki.corp`, `*.corp`, `wiki.corp:8080`, `10.1.0.0/16`."""
    only_allowed: bool = False
    """Fetch from nowhere else."""
    ports: tuple[int, ...] = (80, 443)
    redirects: int = 4
    received_bytes: int = 64 * 1024 * 1024
    decoded_bytes: int = 256 * 1024 * 1024
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for entry in self.allow:
            _rule(entry)

    def names(self, host: str) -> bool:
        """Whether the host is allowed by its name."""
        return any(rule.name and rule.covers(host) for rule in map(_rule, self.allow))

    def opens(self, host: str, port: int) -> bool:
        return port in self.ports or any(
            rule.port == port and rule.name and rule.covers(host) for rule in map(_rule, self.allow)
        )

    def admits(self, host: str, address: Address) -> bool:
        if any(rule.net is not None and _inside(address, rule.net) for rule in map(_rule, self.allow)):
            return True
        if self.names(host):
            return not address_is_scoped(address) and not any(_inside(address, net) for net in _NEVER)
        return not self.only_allowed and is_public(address)


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str = ""
    port: int | None = None
    net: Net | None = None

    def covers(self, host: str) -> bool:
        plain = host.lower().rstrip(".")
        return plain.endswith(self.name[1:]) if self.name.startswith("*.") else plain == self.name


def _rule(entry: str) -> _Rule:
    text = entry.strip().lower()
    try:
        return _Rule(net=ipaddress.ip_network(text))
    except ValueError:
        name, _, port = text.partition(":")
    if not _HOST.fullmatch(name.removeprefix("*.")) or (port and not port.isdecimal()):
        raise InvalidInput(
            f"{shown(entry)} is no host, host:port or network to allow; write wiki.corp, *.corp, wiki.corp:8080 or "
            "10.1.0.0/16.",
            field="allow",
        )
    return _Rule(name.rstrip("."), int(port) if port else None)


def _inside(address: Address, net: Any) -> bool:
    return address.version == net.version and not address_is_scoped(address) and address in net


def address_is_scoped(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None


def literal(host: str) -> Address | None:
    """The address that the host is, if it is written as one; None for a name. Odd spellings of numbers are refused."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _HOST.fullmatch(host):
        raise Refused(f"{shown(host)} is not the name of a host.", field="url")
    if _NUMERIC.fullmatch(host.rstrip(".").rsplit(".", 1)[-1]):
        raise Refused(f"{shown(host)} is a number but not an address as addresses are written.", field="url")
    return None
