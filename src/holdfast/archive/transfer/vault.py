"""Copies everything in one vault into another and proves that it arrived.

No progress is stored: each pass compares both sides and copies what is missing, so a transfer that was killed continues
at the next start, and one whose source is in use catches up. At the end both sides are read back and compared; equal
SHA-256 sums are the proof. Settings, usage and documents are copied too (extras.py). Events, jobs, answers of
idempotent requests and traces are not copied: they are about the source.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.archive.transfer.extras import ExtrasTransfer
from holdfast.archive.transfer.profile import ProfileTransfer, TransferProgress
from holdfast.domain.credentials import Credential
from holdfast.domain.errors import AlreadyExists, Conflict, InvalidInput, NotFound, StorageError
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.records import AdminAction
from holdfast.domain.timestamps import to_micros
from holdfast.storage.inventory import NO_LIMIT

ProfileAddress = tuple[str, str]
MAX_CONCURRENT_PROFILES = 4
"""How many profiles are copied at once: each mostly waits for I/O. Chosen by hand; not measured."""
MAX_ROUNDS = 3
"""How often to check again for profiles that changed meanwhile. Chosen by hand; not measured."""
MAX_CHANGES = 1
"""How often a profile may change while it is copied before the next round. Chosen by hand; not measured."""
MAX_PASSES = 8
"""How often to compare a profile that does not change before giving up. Chosen by hand; not measured."""


@dataclass(frozen=True, slots=True)
class TransferResult:
    """The result of a transfer. `checksum` is None while the two sides differ."""

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
    """Profiles of the same namespaces that only the target has; they are left alone."""


@dataclass(frozen=True, slots=True)
class _AgreedProfile:
    """A profile that was equal on both sides when `event` was the newest event of the source."""

    event: int
    source: bytes
    target: bytes
    messages: int
    memories: int


@dataclass(frozen=True, slots=True)
class TransferScope:
    """What to copy: everything, one namespace, or one profile of it."""

    namespace: str | None = None
    profile: str | None = None

    def __post_init__(self) -> None:
        if self.profile is not None and self.namespace is None:
            raise InvalidInput("profile is given without namespace.", field="namespace", fix="Give --namespace too.")

    def has(self, credential: Credential) -> bool:
        within = self.namespace in (None, credential.namespace)
        return within and self.profile in (None, credential.profile)

    def narrowed(self, credential: Credential) -> Credential:
        """The credential without grants outside of the scope."""
        place = (self.namespace, self.profile)
        grants = [g for g in credential.grants if place[0] in (None, g.namespace) and place[1] in (None, g.profile)]
        return replace(credential, grants=tuple(grants))


class Transfer:
    """One transfer. `seen` is called with the progress after every batch."""

    def __init__(
        self,
        source: Vault,
        target: Vault,
        scope: TransferScope = TransferScope(),
        *,
        replacing: bool = False,
        seen: Callable[[TransferProgress], None] = lambda tally: None,
    ) -> None:
        self._source = source
        self._target = target
        self._scope = scope
        self._replacing = replacing
        self._tally = TransferProgress()
        self._call = seen
        self._agreed: dict[ProfileAddress, _AgreedProfile] = {}
        self._created: set[ProfileAddress] = set()
        """Profiles that this run created in the target."""
        self._ours: dict[ProfileAddress, set[str]] = {}

    async def run(self) -> TransferResult:
        places: list[ProfileAddress] = []
        for _ in range(MAX_ROUNDS):
            places = await self._places()
            await self._drop_deleted(places)
            due = [who for who in places if await self._changed(who)]
            self._tally.of, self._tally.profiles = len(places), len(places) - len(due)
            await self._copy_all(due)
            await self._copy_credentials()
            if not due:
                break
        return await self._result(places)

    def _seen(self) -> None:
        self._call(self._tally)

    async def _places(self) -> list[ProfileAddress]:
        """Every profile to copy; missing namespaces are created in the target."""
        scope = self._scope
        known = {namespace.name for namespace in await self._target.namespaces()}
        places: list[ProfileAddress] = []
        for name in await self._namespaces(self._source):
            found = [each.name for each in await self._source.profiles(name)]
            if scope.profile is not None and scope.profile not in found:
                raise NotFound(f"There is no profile {scope.profile!r} in namespace {name!r}.", field="profile")
            if name not in known:
                await self._make_namespace(name)
            if scope.profile is None:
                await self._copy_settings(name)
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

    async def _copy_settings(self, name: str) -> None:
        """Copy the settings of a namespace."""
        held = await self._target.settings(name)
        for setting, value in (await self._source.settings(name)).items():
            if held.get(setting) != value:
                await self._target.put_setting(name, setting, value)

    async def _drop_deleted(self, places: Iterable[ProfileAddress]) -> None:
        """Delete copied profiles that were deleted in the source meanwhile."""
        for who in self._created - set(places):
            await self._target.delete(*who)
            self._created.discard(who)
            self._agreed.pop(who, None)

    async def _changed(self, who: ProfileAddress) -> bool:
        known = self._agreed.get(who)
        try:
            return known is None or await self._newest_event(who) != known.event
        except NotFound:
            return True

    async def _newest_event(self, who: ProfileAddress) -> int:
        store = await self._source.open(*who, create=False)
        return (await store.journal.reach())[1]

    async def _copy_all(self, due: list[ProfileAddress]) -> None:
        left = iter(due)

        async def work() -> None:
            for who in left:
                await self._copy(who)
                self._tally.profiles += who in self._agreed
                self._seen()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(MAX_CONCURRENT_PROFILES):
                    group.create_task(work())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _copy(self, who: ProfileAddress) -> None:
        self._agreed.pop(who, None)
        seen: list[bytes] = []
        while len(seen) < MAX_PASSES and len(set(seen)) <= MAX_CHANGES:
            try:
                event = await self._newest_event(who)
                source = await self._source.open(*who, create=False)
            except NotFound:
                return
            target, empty = await self._store(who)
            moving = ProfileTransfer("/".join(who), source, target, self._tally, self._seen)
            wanted, held = await moving.compare(empty=empty)
            checksums = wanted.checksum, held.checksum
            if checksums[0] == checksums[1]:
                extras = ExtrasTransfer("/".join(who), source, target, self._ours.setdefault(who, set()))
                more = await extras.run(replacing=self._replacing, seen=self._seen)
                both = [hashlib.sha256(mine + rest).digest() for mine, rest in zip(checksums, more, strict=True)]
                self._agreed[who] = _AgreedProfile(event, both[0], both[1], len(wanted.messages), len(wanted.memories))
                return
            seen.append(checksums[0])
            await self._target.expect_work(*who)
            try:
                await moving.copy_missing(wanted, held, self._ours.setdefault(who, set()), replacing=self._replacing)
            except Conflict:
                continue  # the source changed meanwhile; compare again
        if len(set(seen)) == 1:
            raise StorageError(
                f"Profile {'/'.join(who)} differs in the target, although the source did not change.",
                fix="Stop other writers to the target and repeat.",
            )

    async def _store(self, who: ProfileAddress) -> tuple[Store, bool]:
        """Open the store of the target; return it and whether it was just created."""
        try:
            return await self._target.open(*who, create=False), False
        except NotFound:
            self._created.add(who)
            return await self._target.open(*who, create=True), True

    async def _copy_credentials(self) -> None:
        held = self._target.credentials
        for credential in await self._credentials(self._source):
            found = await self._source.credentials.find(credential.id)
            if found is None:
                continue
            there = await held.find(credential.id)
            credential = self._scope.narrowed(found[0])
            wanted = (credential if there is None else _merged_credential(credential, there[0]), found[1])
            if wanted != there:
                await held.add(*wanted)
        if self._scope == TransferScope():
            known = Counter(await held.acts(NO_LIMIT))
            for act in await self._acts(self._source):
                if known[act]:
                    known[act] -= 1
                else:
                    await held.note(act)

    async def _credentials(self, vault: Vault) -> list[Credential]:
        return [each for each in await vault.credentials.list_all() if self._scope.has(each)]

    async def _acts(self, vault: Vault) -> list[AdminAction]:
        return (await vault.credentials.acts(NO_LIMIT))[::-1] if self._scope == TransferScope() else []

    async def _result(self, places: list[ProfileAddress]) -> TransferResult:
        behind = [who for who in places if await self._changed(who)]
        ids = {credential.id for credential in await self._credentials(self._source)}
        acts = Counter(await self._acts(self._source))
        sums = [await self._checksum(vault, places, ids, acts) for vault in (self._source, self._target)]
        agreed = [self._agreed[who] for who in places if who in self._agreed]
        return TransferResult(
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

    async def _checksum(
        self, vault: Vault, places: list[ProfileAddress], ids: set[str], acts: Counter[AdminAction]
    ) -> str:
        """The SHA-256 of everything in scope, as this vault has it."""
        sha = hashlib.sha256()
        for who in sorted(places):
            known = self._agreed.get(who)
            if known is not None:
                sha.update(
                    _checksum_line("profile", *who, (known.source if vault is self._source else known.target).hex())
                )
        wanted = set(await self._namespaces(self._source))
        for name in await self._namespaces(vault):
            if name in wanted:
                sha.update(_checksum_line("namespace", name))
        for id in sorted(ids):
            found = await vault.credentials.find(id)
            if found is not None:
                sha.update(
                    _checksum_line("credential", *_lasting_fields(self._scope.narrowed(found[0])), found[1].hex())
                )
        for act in await self._acts(vault):
            if acts[act]:
                sha.update(_checksum_line("act", act.at, act.credential, act.what, act.thing))
        return sha.hexdigest()

    async def _others(self, places: list[ProfileAddress]) -> tuple[str, ...]:
        if self._scope.profile is not None:
            return ()
        known = set(places)
        spaces = await self._namespaces(self._source)
        there = [(name, each.name) for name in spaces for each in await self._target.profiles(name)]
        return tuple("/".join(who) for who in there if who not in known)


def _merged_credential(source: Credential, target: Credential) -> Credential:
    """The credential of the source; revoked if it was revoked on either side."""
    ends = [at for at in (source.revoked_at, target.revoked_at) if at is not None]
    uses = [at for at in (source.used_at, target.used_at) if at is not None]
    return replace(source, revoked_at=min(ends, default=None), used_at=max(uses, default=None))


def _lasting_fields(credential: Credential) -> tuple[Any, ...]:
    """The fields that do not change with use or revocation."""
    return (
        credential.id, credential.kind, credential.name, sorted(credential.rights), credential.namespace,
        credential.profile, credential.created_at, credential.expires_at, credential.agent, credential.reads,
        [(each.namespace, each.profile, sorted(each.rights)) for each in credential.grants],
    )  # fmt: skip


def _checksum_line(*fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False, default=to_micros).encode() + b"\n"
