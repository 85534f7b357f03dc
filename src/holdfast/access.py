"""Tokens in use: who is asking, new ones, ended ones. The one place that reads or changes credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from . import names, trail
from .credentials import RIGHTS, Credential, Grant, granted, identified, issued, matches
from .errors import InvalidInput, NotFound
from .ports import Credentials
from .records import Act, Reach
from .sights import Reads

KNOWN = 10_000
"""How many tokens are remembered after their first use; ending one forgets it at once."""
NOTED_EVERY = timedelta(minutes=1)
"""The last use is written down no more often than this."""


class Access:
    def __init__(self, held: Credentials, clock: Callable[[], datetime]) -> None:
        self._held = held
        self._clock = clock
        self._known: dict[str, tuple[Credential, bytes]] = {}
        self._lent: dict[str, tuple[Credential, bytes]] = {}
        """Tokens that live and die with this process."""
        self._changes = 0
        """How often a token was ended or replaced."""

    async def credential(self, token: str) -> Credential | None:
        """Whose token this is; None when unknown, mistyped, expired or revoked."""
        id, _ = identified(token)
        if id in self._lent:
            return self._lent[id][0] if matches(token, self._lent[id][1]) else None
        seen = self._changes
        found = self._known.get(id) or await self._held.find(id)
        now = self._clock()
        if found is None or not matches(token, found[1]) or not found[0].valid(now):
            return None
        credential, digest = found
        if credential.used_at is None or now - credential.used_at >= NOTED_EVERY:
            credential = replace(credential, used_at=now)
            await self._held.used(id, now)
        if len(self._known) >= KNOWN:
            self._known.clear()
        if seen == self._changes:  # else it may have been ended while we read
            self._known[id] = (credential, digest)
        return credential

    def lent(self) -> str:
        """A token with every right for as long as this process lives, for others of the same user; written nowhere."""
        made, secret = issued("admin", "this machine", RIGHTS, now=self._clock())
        self._lent[made.id] = (made, identified(secret)[1])
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
        """A new credential and its token; the token is shown this once."""
        made, secret = issued(
            kind, name, rights, now=self._clock(), namespace=namespace, profile=profile, expires_at=expires_at,
            token=token, grants=grants, agent=agent, reads=reads,
        )  # fmt: skip
        await self._held.add(made, identified(secret)[1])
        self._drop(made.id)
        await self.note("credential.issued", made.id)
        for grant in made.grants:
            await self._note_grant(made.id, grant)
        return made, secret

    async def grant(self, id: str, namespace: str, profile: str, rights: Iterable[str]) -> Credential:
        """Give a credential rights in one more profile, in place of those it was granted there."""
        held = await self._still(id)
        wanted = Grant(names.namespace(namespace), names.profile(profile), frozenset(rights))
        if not wanted.rights:
            raise InvalidInput("The rights granted are none; withdraw them instead.", field="rights")
        made = granted(held, wanted)
        await self._held.grant(id, wanted)
        self._drop(id)
        await self._note_grant(id, wanted)
        return made

    async def withdraw(self, id: str, namespace: str, profile: str) -> bool:
        """Take a grant back; False when there was none."""
        held = await self._found(id)
        nothing = Grant(names.namespace(namespace), names.profile(profile), frozenset())
        if not any((each.namespace, each.profile) == (namespace, profile) for each in held.grants):
            return False
        await self._held.grant(id, nothing)
        self._drop(id)
        await self._note_grant(id, nothing)
        return True

    async def reaching(self, namespace: str, profile: str) -> list[Reach]:
        """Every valid credential that may do something in this profile, and by what; newest first."""
        place = (names.namespace(namespace), names.profile(profile))
        now = self._clock()
        return [
            Reach(each.id, each.kind, each.name, rights, _by(each, *place), each.agent, each.reads, each.expires_at)
            for each in await self._held.listed()
            if each.valid(now) and (rights := each.rights_in(*place))
        ]

    async def acts_on(self, namespace: str, profile: str, limit: int = 100) -> list[Act]:
        """Which rights in this profile were granted and withdrawn, by whom, newest first."""
        place = _place(names.namespace(namespace), names.profile(profile))
        return [act for act in await self._held.acts(2**31) if place in act.thing.split(" ")][:limit]

    async def _note_grant(self, id: str, grant: Grant) -> None:
        rights = ",".join(sorted(grant.rights))
        what = "credential.granted" if rights else "credential.withdrawn"
        await self.note(what, f"{id} {_place(grant.namespace, grant.profile)} {rights}".rstrip())

    async def admin(self, token: str | None = None) -> str | None:
        """Make sure that there is an admin token: the given one, or a new one when there is none; returned when new."""
        now = self._clock()
        held = [each for each in await self._held.listed() if each.kind == "admin" and each.valid(now)]
        if token is not None:
            given = identified(token)[0]
            for each in held:
                if each.name == "preset" and each.id != given:  # a preset that was replaced
                    await self.revoke(each.id)
            if not any(each.id == given for each in held):
                await self.issue("admin", "preset", RIGHTS, token=token)
        elif token is None and not held:
            return (await self.issue("admin", "first", RIGHTS))[1]
        return None

    async def rotate(self, id: str, overlap: timedelta = timedelta(0)) -> tuple[Credential, str]:
        """A new token of the same rights and scope; the old one ends now, or after the overlap."""
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

    async def listed(self) -> list[Credential]:
        return await self._held.listed()

    async def note(self, what: str, thing: str) -> None:
        """Write down an administrative act of whoever is asking."""
        await self._held.note(Act(self._clock(), trail.caller().credential, what, thing))

    async def acts(self, limit: int = 100) -> list[Act]:
        return await self._held.acts(limit)

    def forget(self) -> None:
        """Look every token up again: a deleted profile took its credentials along."""
        self._changes += 1
        self._known.clear()

    def _drop(self, id: str) -> None:
        self._changes += 1
        self._known.pop(id, None)

    async def _still(self, id: str) -> Credential:
        found = await self._found(id)
        if not found.valid(self._clock()):
            raise NotFound(f"The credential {id!r} has ended.", field="id", fix="Issue a new one.")
        return found

    async def _found(self, id: str) -> Credential:
        found = await self._held.find(id)
        if found is None:
            raise NotFound(f"There is no credential {id!r}.", field="id")
        return found[0]


def _by(credential: Credential, namespace: str, profile: str) -> str:
    if not credential.covers(namespace, profile):
        return "grant"
    return "profile" if credential.profile else "namespace" if credential.namespace else "everywhere"


def _place(namespace: str, profile: str) -> str:
    """A hash, since a deleted profile's name goes too, and acts are kept for good."""
    return f"{namespace}/{names.fingerprint(profile)}"
