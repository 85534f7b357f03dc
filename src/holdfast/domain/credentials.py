"""Credentials and grants: rights, scopes and tokens. A token is shown once; only its SHA-256 is stored.

A token is `hf_`, the credential's id, 256 random bits and a checksum, so that a mistyped token can be told apart from
an unknown one, and secret scanners can recognise it. An admin token may do everything. A key has rights in its scope:
all namespaces, one namespace, or one profile. A secret URL is a key for one profile with its token in the path. Grants
add rights in further profiles, one by one. A credential may belong to an agent: it writes as that agent, and `reads`
limits what it reads of other agents' writing.
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

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.visibility import Reads, Visibility, validate_agent, validate_reads

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID, RANDOM, CHECK = 10, 43, 6
RIGHTS = ("read", "write", "forget", "admin")
ALL_RIGHTS = frozenset(RIGHTS)
GRANTABLE_RIGHTS = ("read", "write", "forget")
MAX_GRANTS = 500
CREDENTIAL_KINDS = ("admin", "key", "url")
_TOKEN = re.compile(rf"hf_([0-9A-Za-z]{{{ID}}})([0-9A-Za-z]{{{RANDOM}}})([0-9A-Za-z]{{{CHECK}}})")


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights in one more profile."""

    namespace: str
    profile: str
    rights: frozenset[str]


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential, without its token. Without `namespace` it is valid in every namespace, without `profile` in every
    profile of its namespace."""

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
    """Everything written with this credential is recorded as written by this agent."""
    reads: tuple[str, ...] | None = None
    """The other agents whose writing it may read, besides its own agent's and what no agent wrote; None for all."""

    def valid(self, now: datetime) -> bool:
        ended = min((at for at in (self.expires_at, self.revoked_at) if at is not None), default=None)
        return ended is None or now < ended

    def allows(self, right: str, namespace: str | None = None, profile: str | None = None) -> bool:
        """Whether it has the right in this place. None means all namespaces, or all profiles of one."""
        return right in self.rights_in(namespace, profile)

    def rights_in(self, namespace: str | None, profile: str | None) -> frozenset[str]:
        """The rights that it has in this place, by its scope and its grants."""
        granted = (each.rights for each in self.grants if (each.namespace, each.profile) == (namespace, profile))
        return (self.own_rights if self.covers(namespace, profile) else frozenset()).union(*granted)

    @property
    def own_rights(self) -> frozenset[str]:
        return ALL_RIGHTS if "admin" in self.rights else self.rights

    def covers(self, namespace: str | None, profile: str | None) -> bool:
        """Whether its scope includes this place. Grants do not count here."""
        if self.namespace is None:
            return True
        return self.namespace == namespace and (self.profile is None or self.profile == profile)

    @property
    def sight(self) -> Visibility:
        return Visibility(self.agent, self.reads)


def new_credential(
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
    """Create a credential and its token, which cannot be read again later. A preset `token` is used when given."""
    given = frozenset(rights)
    if kind not in CREDENTIAL_KINDS:
        raise InvalidInput(f"The kind is {quoted_value(kind)}; use one of {', '.join(CREDENTIAL_KINDS)}.", field="kind")
    if not given or not given <= set(RIGHTS):
        raise InvalidInput(
            f"The rights are {quoted_value(sorted(given))}; use some of {', '.join(RIGHTS)}.", field="rights"
        )
    if profile is not None and namespace is None:
        raise InvalidInput("profile is given without namespace; give both.", field="namespace")
    if kind == "url" and (profile is None or "admin" in given):
        raise InvalidInput("A secret URL needs a profile and cannot have the admin right.", field="profile")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"expires_at is {expires_at.isoformat()}, which is in the past.", field="expires_at")
    by = None if agent is None else validate_agent(agent)
    seen = validate_reads(reads, by)
    if seen is not None and "admin" in given:
        raise InvalidInput("A credential with the admin right reads everything; leave out reads.", field="reads")
    id = token_id_and_digest(token)[0] if token else _random_token(ID)
    made = Credential(id, kind, name, given, now, namespace, profile, expires_at, agent=by, reads=seen)
    for each in grants:
        made = with_grant(made, each)
    return made, token or _validate(id + _random_token(RANDOM))


def with_grant(credential: Credential, grant: Grant) -> Credential:
    """The credential with this grant instead of its grant for the same profile; empty rights remove the grant."""
    if not grant.rights <= set(GRANTABLE_RIGHTS):
        told = quoted_value(sorted(grant.rights))
        raise InvalidInput(f"The rights granted are {told}; use some of {', '.join(GRANTABLE_RIGHTS)}.", field="rights")
    if credential.namespace is None:
        raise InvalidInput(
            "A credential without a namespace already has its rights in every profile.", field="namespace",
            fix="Issue one for a namespace, or for a namespace and a profile.",
        )  # fmt: skip
    place = (grant.namespace, grant.profile)
    others = [each for each in credential.grants if (each.namespace, each.profile) != place]
    if len(others) >= MAX_GRANTS and grant.rights:
        raise InvalidInput(f"The credential has {MAX_GRANTS} grants, which is the limit.", field="grants")
    kept = [*others, *([grant] if grant.rights else [])]
    return replace(credential, grants=tuple(sorted(kept, key=lambda each: (each.namespace, each.profile))))


def token_id_and_digest(token: str) -> tuple[str, bytes]:
    """The id and the hash of a token. For a preset token of another format, the id is derived from the token's hash."""
    m = _TOKEN.fullmatch(token)
    digest = hashlib.sha256(token.encode()).digest()
    if m and _validate(m[1] + m[2]) == token:
        return m[1], digest
    return _base62(int.from_bytes(hashlib.sha256(b"id:" + token.encode()).digest()[:8], "big"), ID), digest


def token_matches(token: str, digest: bytes) -> bool:
    return hmac.compare_digest(hashlib.sha256(token.encode()).digest(), digest)


def _validate(body: str) -> str:
    return f"hf_{body}{_base62(zlib.crc32(body.encode()), CHECK)}"


def _random_token(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
