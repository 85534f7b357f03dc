"""Move everything that one vault holds into another, and prove that it arrived.

No file says how far it is: each pass compares both sides and copies what is missing, so a transfer that was killed goes
on at the next start, and one whose source is in use catches up. What is compared at the end is read back from both
sides; the same SHA-256 of both is the proof. Settings, usage and documents go along (luggage.py). Events, jobs, first
answers and traces stay behind: they tell of the source.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .credentials import Credential
from .errors import AlreadyExists, Conflict, InvalidInput, NotFound, StorageError
from .inventory import EVERYTHING
from .luggage import Luggage
from .moments import micros
from .moving import Moving, Tally
from .ports import Store, Vault
from .records import Act

Who = tuple[str, str]
AT_ONCE = 4
"""How many profiles are under way together: each waits for disks and networks most of the time."""
ROUNDS = 3
"""How often to look again at profiles that changed meanwhile."""
CHANGES = 1
"""How often one profile may change under way before others get their turn."""
PASSES = 8
"""How often to compare a profile that does not change."""


@dataclass(frozen=True, slots=True)
class Transferred:
    """What a transfer did. Without a checksum the two sides do not agree yet."""

    checksum: str | None
    profiles: int
    messages: int
    memories: int
    credentials: int
    copied: int
    forgotten: int
    behind: tuple[str, ...]
    """Profiles that changed in the source while they were copied."""
    only_in_target: tuple[str, ...]
    """Profiles of the same namespaces that the source does not have; they are left alone."""


@dataclass(frozen=True, slots=True)
class _Agreed:
    """A profile that was the same on both sides when the source's newest event was this one."""

    event: int
    source: bytes
    target: bytes
    messages: int
    memories: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What to move: everything, one namespace, or one profile of it."""

    namespace: str | None = None
    profile: str | None = None

    def __post_init__(self) -> None:
        if self.profile is not None and self.namespace is None:
            raise InvalidInput("In which namespace is the profile?", field="namespace", fix="Give --namespace too.")

    def has(self, credential: Credential) -> bool:
        within = self.namespace in (None, credential.namespace)
        return within and self.profile in (None, credential.profile)

    def kept(self, credential: Credential) -> Credential:
        """Without grants in places that are not moved."""
        place = (self.namespace, self.profile)
        grants = [g for g in credential.grants if place[0] in (None, g.namespace) and place[1] in (None, g.profile)]
        return replace(credential, grants=tuple(grants))


class Transfer:
    """`seen` is called after every batch; `tally` tells how far it is."""

    def __init__(
        self,
        source: Vault,
        target: Vault,
        scope: Scope = Scope(),
        *,
        replacing: bool = False,
        seen: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        self._source = source
        self._target = target
        self._scope = scope
        self._replacing = replacing
        self._tally = Tally()
        self._call = seen
        self._agreed: dict[Who, _Agreed] = {}
        self._made: set[Who] = set()
        """Profiles that this run made in the target."""
        self._ours: dict[Who, set[str]] = {}

    async def run(self) -> Transferred:
        places: list[Who] = []
        for _ in range(ROUNDS):
            places = await self._places()
            await self._drop_deleted(places)
            due = [who for who in places if await self._changed(who)]
            self._tally.of, self._tally.profiles = len(places), len(places) - len(due)
            await self._move_all(due)
            await self._move_catalogue()
            if not due:
                break
        return await self._told(places)

    def _seen(self) -> None:
        self._call(self._tally)

    async def _places(self) -> list[Who]:
        """Every profile of the source that is to be moved; its namespaces are made in the target."""
        scope = self._scope
        known = {namespace.name for namespace in await self._target.namespaces()}
        places: list[Who] = []
        for name in await self._namespaces(self._source):
            found = [each.name for each in await self._source.profiles(name)]
            if scope.profile is not None and scope.profile not in found:
                raise NotFound(f"There is no profile {scope.profile!r} in namespace {name!r}.", field="profile")
            if name not in known:
                await self._make_namespace(name)
            if scope.profile is None:
                await self._lay_down(name)
            places += [(name, profile) for profile in found if scope.profile in (None, profile)]
        return places

    async def _namespaces(self, vault: Vault) -> list[str]:
        found = sorted(namespace.name for namespace in await vault.namespaces())
        wanted = self._scope.namespace
        if wanted is not None and wanted not in found and vault is self._source:
            raise NotFound(f"There is no namespace {wanted!r} in the source.", field="namespace")
        return [name for name in found if wanted in (None, name)]

    async def _make_namespace(self, name: str) -> None:
        try:
            await self._target.create_namespace(name)
        except AlreadyExists:
            return

    async def _lay_down(self, name: str) -> None:
        """What holds for every profile of a namespace."""
        held = await self._target.settings(name)
        for setting, value in (await self._source.settings(name)).items():
            if held.get(setting) != value:
                await self._target.lay_down(name, setting, value)

    async def _drop_deleted(self, places: Iterable[Who]) -> None:
        """What was deleted in the source after it was copied must not live on in the copy."""
        for who in self._made - set(places):
            await self._target.delete(*who)
            self._made.discard(who)
            self._agreed.pop(who, None)

    async def _changed(self, who: Who) -> bool:
        known = self._agreed.get(who)
        try:
            return known is None or await self._newest_event(who) != known.event
        except NotFound:
            return True

    async def _newest_event(self, who: Who) -> int:
        store = await self._source.open(*who, create=False)
        return (await store.journal.reach())[1]

    async def _move_all(self, due: list[Who]) -> None:
        left = iter(due)

        async def work() -> None:
            for who in left:
                await self._move(who)
                self._tally.profiles += who in self._agreed
                self._seen()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(work())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _move(self, who: Who) -> None:
        self._agreed.pop(who, None)
        seen: list[bytes] = []
        while len(seen) < PASSES and len(set(seen)) <= CHANGES:
            try:
                event = await self._newest_event(who)
                source = await self._source.open(*who, create=False)
            except NotFound:
                return
            target, empty = await self._store(who)
            moving = Moving("/".join(who), source, target, self._tally, self._seen)
            wanted, held = await moving.compared(empty=empty)
            checksums = wanted.checksum, held.checksum
            if checksums[0] == checksums[1]:
                luggage = Luggage("/".join(who), source, target, self._ours.setdefault(who, set()))
                more = await luggage.bring(replacing=self._replacing, seen=self._seen)
                both = [hashlib.sha256(mine + rest).digest() for mine, rest in zip(checksums, more, strict=True)]
                self._agreed[who] = _Agreed(event, both[0], both[1], len(wanted.messages), len(wanted.memories))
                return
            seen.append(checksums[0])
            await self._target.expect_work(*who)
            try:
                await moving.step(wanted, held, self._ours.setdefault(who, set()), replacing=self._replacing)
            except Conflict:
                continue  # the source went on meanwhile; compare again
        if len(set(seen)) == 1:
            raise StorageError(
                f"Profile {'/'.join(who)} does not become the same in the target, though the source did not change.",
                fix="Does something else write to the target? Stop it and repeat.",
            )

    async def _store(self, who: Who) -> tuple[Store, bool]:
        """The target's, and whether it was made just now."""
        try:
            return await self._target.open(*who, create=False), False
        except NotFound:
            self._made.add(who)
            return await self._target.open(*who, create=True), True

    async def _move_catalogue(self) -> None:
        held = self._target.credentials
        for credential in await self._credentials(self._source):
            found = await self._source.credentials.find(credential.id)
            if found is None:
                continue
            there = await held.find(credential.id)
            kept = self._scope.kept(found[0])
            wanted = (kept if there is None else _merged(kept, there[0]), found[1])
            if wanted != there:
                await held.add(*wanted)
        if self._scope == Scope():
            known = Counter(await held.acts(EVERYTHING))
            for act in await self._acts(self._source):
                if known[act]:
                    known[act] -= 1
                else:
                    await held.note(act)

    async def _credentials(self, vault: Vault) -> list[Credential]:
        return [each for each in await vault.credentials.listed() if self._scope.has(each)]

    async def _acts(self, vault: Vault) -> list[Act]:
        return (await vault.credentials.acts(EVERYTHING))[::-1] if self._scope == Scope() else []

    async def _told(self, places: list[Who]) -> Transferred:
        behind = [who for who in places if await self._changed(who)]
        ids = {credential.id for credential in await self._credentials(self._source)}
        acts = Counter(await self._acts(self._source))
        sums = [await self._checksum(vault, places, ids, acts) for vault in (self._source, self._target)]
        agreed = [self._agreed[who] for who in places if who in self._agreed]
        return Transferred(
            checksum=sums[0] if not behind and sums[0] == sums[1] else None,
            profiles=len(places),
            messages=sum(each.messages for each in agreed),
            memories=sum(each.memories for each in agreed),
            credentials=len(ids),
            copied=self._tally.copied,
            forgotten=self._tally.forgotten,
            behind=tuple("/".join(who) for who in behind),
            only_in_target=await self._others(places),
        )

    async def _checksum(self, vault: Vault, places: list[Who], ids: set[str], acts: Counter[Act]) -> str:
        """Of everything that was moved, as this vault has it."""
        sha = hashlib.sha256()
        for who in sorted(places):
            known = self._agreed.get(who)
            if known is not None:
                sha.update(_line("profile", *who, (known.source if vault is self._source else known.target).hex()))
        wanted = set(await self._namespaces(self._source))
        for name in await self._namespaces(vault):
            if name in wanted:
                sha.update(_line("namespace", name))
        for id in sorted(ids):
            found = await vault.credentials.find(id)
            if found is not None:
                sha.update(_line("credential", *_lasting(self._scope.kept(found[0])), found[1].hex()))
        for act in await self._acts(vault):
            if acts[act]:
                sha.update(_line("act", act.at, act.credential, act.what, act.thing))
        return sha.hexdigest()

    async def _others(self, places: list[Who]) -> tuple[str, ...]:
        if self._scope.profile is not None:
            return ()
        known = set(places)
        spaces = await self._namespaces(self._source)
        there = [(name, each.name) for name in spaces for each in await self._target.profiles(name)]
        return tuple("/".join(who) for who in there if who not in known)


def _merged(source: Credential, target: Credential) -> Credential:
    """The source's, but what was revoked on either side stays revoked."""
    ends = [at for at in (source.revoked_at, target.revoked_at) if at is not None]
    uses = [at for at in (source.used_at, target.used_at) if at is not None]
    return replace(source, revoked_at=min(ends, default=None), used_at=max(uses, default=None))


def _lasting(credential: Credential) -> tuple[Any, ...]:
    """Without what becomes of it: when it was used, and revoked."""
    return (
        credential.id, credential.kind, credential.name, sorted(credential.rights), credential.namespace,
        credential.profile, credential.created_at, credential.expires_at, credential.agent, credential.reads,
        [(each.namespace, each.profile, sorted(each.rights)) for each in credential.grants],
    )  # fmt: skip


def _line(*fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False, default=micros).encode() + b"\n"
