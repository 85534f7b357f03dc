"""Issues, checks, grants, rotates and revokes credentials. The only module that reads or changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.domain import identifiers, tracing
from holdfast.domain.credentials import (
    RIGHTS,
    Credential,
    Grant,
    new_credential,
    token_id_and_digest,
    token_matches,
    with_grant,
)
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.ports.storage import Credentials
from holdfast.domain.records import AdminAction, CredentialReach
from holdfast.domain.visibility import Reads

MAX_CACHED_TOKENS = 10_000
"""How many tokens are cached after their first use. Revoking or replacing a token removes it from the cache at once."""
USE_NOTED_EVERY = timedelta(minutes=1)
"""The time of last use is stored at most this often."""


class Access:
    def __init__(self, held: Credentials, clock: Callable[[], datetime]) -> None:
        self._held = held
        self._clock = clock
        self._known: dict[str, tuple[Credential, bytes]] = {}
        self._lent: dict[str, tuple[Credential, bytes]] = {}
        """Tokens that are valid only while this process runs; they are never stored."""
        self._changes = 0
        """Counts the tokens that were revoked or replaced, to detect a change during a lookup."""

    async def credential(self, token: str) -> Credential | None:
        """Return the credential of this token; None when the token is unknown, mistyped, expired or revoked."""
        id, _ = token_id_and_digest(token)
        if id in self._lent:
            return self._lent[id][0] if token_matches(token, self._lent[id][1]) else None
        seen = self._changes
        found = self._known.get(id) or await self._held.find(id)
        now = self._clock()
        if found is None or not token_matches(token, found[1]) or not found[0].valid(now):
            return None
        credential, digest = found
        if credential.used_at is None or now - credential.used_at >= USE_NOTED_EVERY:
            credential = replace(credential, used_at=now)
            await self._held.used(id, now)
        if len(self._known) >= MAX_CACHED_TOKENS:
            self._known.clear()
        if seen == self._changes:  # else it may have been revoked during the lookup
            self._known[id] = (credential, digest)
        return credential

    def lent(self) -> str:
        """Return an unstored token with every right, valid while this process runs, for other processes of the user."""
        made, secret = new_credential("admin", "this machine", RIGHTS, now=self._clock())
        self._lent[made.id] = (made, token_id_and_digest(secret)[1])
        return secret

    async def issue(
        self,
        kind: str,
        name: str,
        rights: Iterable[str],
        *,
        namespace: str | None = None,
        profile: str | None = None,
        expires_at: datetime | None = None,
        token: str | None = None,
        grants: Iterable[Grant] = (),
        agent: str | None = None,
        reads: Reads = None,
    ) -> tuple[Credential, str]:
        """Issue a credential. Return it with its token, which cannot be read again later."""
        made, secret = new_credential(
            kind, name, rights, now=self._clock(), namespace=namespace, profile=profile, expires_at=expires_at,
            token=token, grants=grants, agent=agent, reads=reads,
        )  # fmt: skip
        await self._held.add(made, token_id_and_digest(secret)[1])
        self._drop(made.id)
        await self.note("credential.issued", made.id)
        for grant in made.grants:
            await self._note_grant(made.id, grant)
        return made, secret

    async def grant(self, id: str, namespace: str, profile: str, rights: Iterable[str]) -> Credential:
        """Give a credential rights in one more profile. They replace the rights that it was granted there before."""
        held = await self._still(id)
        wanted = Grant(
            identifiers.validate_namespace(namespace), identifiers.validate_profile(profile), frozenset(rights)
        )
        if not wanted.rights:
            raise InvalidInput("No rights are given; withdraw the grant instead.", field="rights")
        made = with_grant(held, wanted)
        await self._held.grant(id, wanted)
        self._drop(id)
        await self._note_grant(id, wanted)
        return made

    async def withdraw(self, id: str, namespace: str, profile: str) -> bool:
        """Withdraw a grant; False when there was none."""
        held = await self._found(id)
        nothing = Grant(identifiers.validate_namespace(namespace), identifiers.validate_profile(profile), frozenset())
        if not any((each.namespace, each.profile) == (namespace, profile) for each in held.grants):
            return False
        await self._held.grant(id, nothing)
        self._drop(id)
        await self._note_grant(id, nothing)
        return True

    async def reaching(self, namespace: str, profile: str) -> list[CredentialReach]:
        """List the valid credentials that have rights in this profile, which rights and by what; newest first."""
        place = (identifiers.validate_namespace(namespace), identifiers.validate_profile(profile))
        now = self._clock()
        return [
            CredentialReach(
                each.id,
                each.kind,
                each.name,
                rights,
                _reached_by(each, *place),
                each.agent,
                each.reads,
                each.expires_at,
            )
            for each in await self._held.list_all()
            if each.valid(now) and (rights := each.rights_in(*place))
        ]

    async def acts_on(self, namespace: str, profile: str, limit: int = 100) -> list[AdminAction]:
        """List the grants and withdrawals of rights in this profile and who made them, newest first."""
        place = _place(identifiers.validate_namespace(namespace), identifiers.validate_profile(profile))
        return [act for act in await self._held.acts(2**31) if place in act.thing.split(" ")][:limit]

    async def _note_grant(self, id: str, grant: Grant) -> None:
        rights = ",".join(sorted(grant.rights))
        what = "credential.granted" if rights else "credential.withdrawn"
        await self.note(what, f"{id} {_place(grant.namespace, grant.profile)} {rights}".rstrip())

    async def admin(self, token: str | None = None) -> str | None:
        """Ensure that an admin token exists: the given one, or else a generated one, which is returned."""
        now = self._clock()
        held = [each for each in await self._held.list_all() if each.kind == "admin" and each.valid(now)]
        if token is not None:
            given = token_id_and_digest(token)[0]
            for each in held:
                if each.name == "preset" and each.id != given:  # a preset token that the given one replaces
                    await self.revoke(each.id)
            if not any(each.id == given for each in held):
                await self.issue("admin", "preset", RIGHTS, token=token)
        elif token is None and not held:
            return (await self.issue("admin", "first", RIGHTS))[1]
        return None

    async def rotate(self, id: str, overlap: timedelta = timedelta(0)) -> tuple[Credential, str]:
        """Issue a new token with the same rights and scope; the old one ends now, or after `overlap`."""
        old = await self._still(id)
        made = await self.issue(
            old.kind, old.name, old.rights, namespace=old.namespace, profile=old.profile, expires_at=old.expires_at,
            grants=old.grants, agent=old.agent, reads=old.reads,
        )  # fmt: skip
        await self.revoke(id, self._clock() + overlap)
        return made

    async def revoke(self, id: str, at: datetime | None = None) -> None:
        await self._found(id)
        await self._held.end(id, at or self._clock())
        self._drop(id)
        await self.note("credential.revoked", id)

    async def list_all(self) -> list[Credential]:
        return await self._held.list_all()

    async def note(self, what: str, thing: str) -> None:
        """Record an administrative action of the current caller."""
        await self._held.note(AdminAction(self._clock(), tracing.caller().credential, what, thing))

    async def acts(self, limit: int = 100) -> list[AdminAction]:
        return await self._held.acts(limit)

    def forget(self) -> None:
        """Clear the token cache: deleting a profile deletes its credentials too."""
        self._changes += 1
        self._known.clear()

    def _drop(self, id: str) -> None:
        self._changes += 1
        self._known.pop(id, None)

    async def _still(self, id: str) -> Credential:
        found = await self._found(id)
        if not found.valid(self._clock()):
            raise NotFound(f"The credential {id!r} has expired or was revoked.", field="id", fix="Issue a new one.")
        return found

    async def _found(self, id: str) -> Credential:
        found = await self._held.find(id)
        if found is None:
            raise NotFound(f"There is no credential {id!r}.", field="id")
        return found[0]


def _reached_by(credential: Credential, namespace: str, profile: str) -> str:
    if not credential.covers(namespace, profile):
        return "grant"
    return "profile" if credential.profile else "namespace" if credential.namespace else "everywhere"


def _place(namespace: str, profile: str) -> str:
    """Name a profile by a hash: admin actions stay for good, and a deleted profile's name must not."""
    return f"{namespace}/{identifiers.fingerprint(profile)}"
