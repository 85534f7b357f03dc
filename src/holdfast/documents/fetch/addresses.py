"""Pure: which IP addresses a document may be fetched from.

The rule applies to addresses, not names: every address that a name resolves to must be public. `ipaddress.is_global` is
not used: it calls some of these public (6to4, Teredo and NAT64 contain a private IPv4 address), and its answers differ
between Python releases.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from holdfast.domain.errors import InvalidInput, quoted_value

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_PRIVATE_4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's virtual address for its machines, which looks public
    )
)  # fmt: skip
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_PRIVATE_6 = tuple(
    ipaddress.IPv6Network(net) for net in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "3ffe::/16")
)
_ALWAYS_REFUSED = tuple(
    ipaddress.ip_network(net)
    for net in ("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8", "::/128")
)
"""Refused even for a host that is allowed by name: cloud metadata services with credentials, or no host at all."""
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)
_HOST_NAME = re.compile(r"(?=.{1,253}\.?$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*\.?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


class AddressRefused(InvalidInput):
    """This address may not be fetched from; no connection was made."""


def is_public(address: IPAddress) -> bool:
    """Whether the address is a host of the public internet and contains no private address."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in net for net in _PRIVATE_4)
    if address.scope_id or address not in _GLOBAL_6 or any(address in net for net in _PRIVATE_6):
        return False
    return (int(address) >> 32 & 0xFFFFFFFF) not in _ISATAP_MARKS


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Where documents may be fetched from, and the limits of size and time, which were chosen by hand; not measured."""

    enabled: bool = True
    allow: tuple[str, ...] = ()
    """Exceptions to public addresses and the usual ports: `wiki.corp`, `*.corp`, `wiki.corp:8080`, `10.1.0.0/16`."""
    only_allowed: bool = False
    """Fetch from the hosts in `allow` and no others."""
    ports: tuple[int, ...] = (80, 443)
    redirects: int = 4
    received_bytes: int = 64 * 1024 * 1024
    decoded_bytes: int = 256 * 1024 * 1024
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for entry in self.allow:
            _parse_rule(entry)

    def allows_name(self, host: str) -> bool:
        """Whether the host is allowed by its name."""
        return any(rule.name and rule.covers(host) for rule in map(_parse_rule, self.allow))

    def allows_port(self, host: str, port: int) -> bool:
        return port in self.ports or any(
            rule.port == port and rule.name and rule.covers(host) for rule in map(_parse_rule, self.allow)
        )

    def allows_address(self, host: str, address: IPAddress) -> bool:
        if any(rule.net is not None and _is_inside(address, rule.net) for rule in map(_parse_rule, self.allow)):
            return True
        if self.allows_name(host):
            return not _is_scoped(address) and not any(_is_inside(address, net) for net in _ALWAYS_REFUSED)
        return not self.only_allowed and is_public(address)


@dataclass(frozen=True, slots=True)
class _AllowRule:
    name: str = ""
    port: int | None = None
    net: IPNetwork | None = None

    def covers(self, host: str) -> bool:
        plain = host.lower().rstrip(".")
        return plain.endswith(self.name[1:]) if self.name.startswith("*.") else plain == self.name


def _parse_rule(entry: str) -> _AllowRule:
    text = entry.strip().lower()
    try:
        return _AllowRule(net=ipaddress.ip_network(text))
    except ValueError:
        name, _, port = text.partition(":")
    if not _HOST_NAME.fullmatch(name.removeprefix("*.")) or (port and not port.isdecimal()):
        raise InvalidInput(
            f"{quoted_value(entry)} is not a host, host:port or network; write wiki.corp, *.corp, "
            f"wiki.corp:8080 or "
            "10.1.0.0/16.",
            field="allow",
        )
    return _AllowRule(name.rstrip("."), int(port) if port else None)


def _is_inside(address: IPAddress, net: Any) -> bool:
    return address.version == net.version and not _is_scoped(address) and address in net


def _is_scoped(address: IPAddress) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None


def ip_literal(host: str) -> IPAddress | None:
    """The IP address that the host is written as; None for a name. Unusual spellings of numbers are refused."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host):
        raise AddressRefused(f"{quoted_value(host)} is not the name of a host.", field="url")
    if _NUMERIC_LABEL.fullmatch(host.rstrip(".").rsplit(".", 1)[-1]):
        raise AddressRefused(
            f"{quoted_value(host)} is a number, but not an IP address in the usual notation.", field="url"
        )
    return None
