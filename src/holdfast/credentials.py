"""Who may do what. A token is shown once; only its SHA-256 is kept.

A token is `hf_`, the credential's id, 256 random bits and a checksum, so that a mistyped one is told from an unknown
one and secret scanners can recognise it. An admin token may do everything. A key has rights in its scope: everywhere,
one namespace, or one profile. A secret URL is a key for one profile whose token stands in the path. Grants give rights
in further profiles, one by one. A credential may be an agent's: what it writes is that agent's, and what it reads of
other agents' is said by `reads`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from .errors import InvalidInput, shown
from .sights import Reads, Sight, agent_of, reads_of

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID, RANDOM, CHECK = 10, 43, 6
RIGHTS = ("read", "write", "forget", "admin")
GRANTED = ("read", "write", "forget")
MOST_GRANTS = 500
KINDS = ("admin", "key", "url")
_TOKEN = re.compile(rf"hf_([0-9A-Za-z]{{{ID}}})([0-9A-Za-z]{{{RANDOM}}})([0-9A-Za-z]{{{CHECK}}})")


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights in one more profile."""

    namespace: str
    profile: str
    rights: frozenset[str]


@dataclass(frozen=True, slots=True)
class Credential:
    """One token, without the token. No namespace means every one, no profile every one of the namespace."""

    id: str
    kind: str
    name: str
    rights: frozenset[str]
    created_at: datetime
    namespace: str | None = None
    profile: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    grants: tuple[Grant, ...] = ()
    agent: str | None = None
    """Everything written with it counts as this agent's."""
    reads: tuple[str, ...] | None = None
    """Whose writing it may read beside its own agent's and what no agent wrote; None for everything."""

    def valid(self, now: datetime) -> bool:
        ended = min((at for at in (self.expires_at, self.revoked_at) if at is not None), default=None)
        return ended is None or now < ended

    def allows(self, right: str, namespace: str | None = None, profile: str | None = None) -> bool:
        """Whether it has the right in this place; None asks for all namespaces, or for all profiles of one."""
        return right in self.rights_in(namespace, profile)

    def rights_in(self, namespace: str | None, profile: str | None) -> frozenset[str]:
        """What it may do in this place."""
        granted = (each.rights for each in self.grants if (each.namespace, each.profile) == (namespace, profile))
        return (self.own_rights if self.covers(namespace, profile) else frozenset()).union(*granted)

    @property
    def own_rights(self) -> frozenset[str]:
        return frozenset(RIGHTS) if "admin" in self.rights else self.rights

    def covers(self, namespace: str | None, profile: str | None) -> bool:
        """Whether its scope does; grants are beside it."""
        if self.namespace is None:
            return True
        return self.namespace == namespace and (self.profile is None or self.profile == profile)

    @property
    def sight(self) -> Sight:
        return Sight(self.agent, self.reads)


def issued(
    kind: str,
    name: str,
    rights: Iterable[str],
    *,
    now: datetime,
    namespace: str | None = None,
    profile: str | None = None,
    expires_at: datetime | None = None,
    token: str | None = None,
    grants: Iterable[Grant] = (),
    agent: str | None = None,
    reads: Reads = None,
) -> tuple[Credential, str]:
    """A new credential and its token, which nobody will see again. A preset `token` becomes the credential's."""
    given = frozenset(rights)
    if kind not in KINDS:
        raise InvalidInput(f"The kind is {shown(kind)}; use one of {', '.join(KINDS)}.", field="kind")
    if not given or not given <= set(RIGHTS):
        raise InvalidInput(f"The rights are {shown(sorted(given))}; use some of {', '.join(RIGHTS)}.", field="rights")
    if profile is not None and namespace is None:
        raise InvalidInput("A profile needs its namespace.", field="namespace")
    if kind == "url" and (profile is None or "admin" in given):
        raise InvalidInput("A secret URL opens one profile and administers nothing.", field="profile")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"It expires at {expires_at.isoformat()}, which is past.", field="expires_at")
    by = None if agent is None else agent_of(agent)
    seen = reads_of(reads, by)
    if seen is not None and "admin" in given:
        raise InvalidInput("An administrator reads everything.", field="reads")
    id = identified(token)[0] if token else _random(ID)
    made = Credential(id, kind, name, given, now, namespace, profile, expires_at, agent=by, reads=seen)
    for each in grants:
        made = granted(made, each)
    return made, token or _checked(id + _random(RANDOM))


def granted(credential: Credential, grant: Grant) -> Credential:
    """The credential with this grant, in place of the one it has for the same profile; without rights, with none."""
    if not grant.rights <= set(GRANTED):
        told = shown(sorted(grant.rights))
        raise InvalidInput(f"The rights granted are {told}; use some of {', '.join(GRANTED)}.", field="rights")
    if credential.namespace is None:
        raise InvalidInput(
            "A credential without a namespace is good in every profile already.", field="namespace",
            fix="Issue one for a namespace, or for a namespace and a profile.",
        )  # fmt: skip
    place = (grant.namespace, grant.profile)
    others = [each for each in credential.grants if (each.namespace, each.profile) != place]
    if len(others) >= MOST_GRANTS and grant.rights:
        raise InvalidInput(f"The credential has {MOST_GRANTS} grants, which is the most.", field="grants")
    kept = [*others, *([grant] if grant.rights else [])]
    return replace(credential, grants=tuple(sorted(kept, key=lambda each: (each.namespace, each.profile))))


def identified(token: str) -> tuple[str, bytes]:
    """The id and the hash of a token. A token of another shape, as an operator may preset, is its own id's source."""
    m = _TOKEN.fullmatch(token)
    digest = hashlib.sha256(token.encode()).digest()
    if m and _checked(m[1] + m[2]) == token:
        return m[1], digest
    return _base62(int.from_bytes(hashlib.sha256(b"id:" + token.encode()).digest()[:8], "big"), ID), digest


def matches(token: str, digest: bytes) -> bool:
    return hmac.compare_digest(hashlib.sha256(token.encode()).digest(), digest)


def _checked(body: str) -> str:
    return f"hf_{body}{_base62(zlib.crc32(body.encode()), CHECK)}"


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
