"""Quotas: how much one profile, and one namespace, may hold. Checked before a write, so a refused write wrote nothing.

Counts are cached and counted on by this process's own writes; before a write is refused they are read afresh. Other
processes' writes are seen after `CACHED_SECONDS`. Digestion is not refused: a profile that has as many memories as it
may have takes no new messages instead.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, fields

from holdfast.domain.errors import InvalidInput, NotFound, QuotaExceeded, quoted_value
from holdfast.domain.ports.storage import Vault

Who = tuple[str, str]
CACHED_SECONDS = 60.0
MAX_CACHED = 10_000
"""How many profiles and namespaces are cached before all are dropped. Chosen by hand; not measured."""
_UNITS = {"": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_PART = re.compile(r"(?P<name>[a-z]+)\s*=\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)", re.I)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Counts of what is stored, or is to be stored."""

    messages: int = 0
    memories: int = 0
    bytes: int = 0
    profiles: int = 0

    def __add__(self, more: Amounts) -> Amounts:
        return Amounts(*(getattr(self, each.name) + getattr(more, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that a profile or a namespace may hold; None is no limit."""

    messages: int | None = None
    memories: int | None = None
    bytes: int | None = None
    profiles: int | None = None

    def exceeded(self, would_hold: Amounts) -> str | None:
        """The name of the first limit that these amounts exceed."""
        for each in fields(self):
            limit = getattr(self, each.name)
            if limit is not None and getattr(would_hold, each.name) > limit:
                return each.name
        return None


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quota of each profile, and of each namespace."""

    profile: Quota = Quota()
    namespace: Quota = Quota()


def parse_quota(text: str | None, setting: str) -> Quota:
    """Parse `messages=100000, memories=50000, bytes=1GB`."""
    found: dict[str, int] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        m = _PART.fullmatch(part.strip())
        unit = _UNITS.get(m["unit"].lower()) if m else None
        known = [each.name for each in fields(Quota)]
        if m is None or unit is None or m["name"] not in known or (m["unit"] and m["name"] != "bytes"):
            raise InvalidInput(
                f"The setting {setting} has {quoted_value(part.strip())}; write it like messages=100000, bytes=1GB. "
                f"The names are {', '.join(known)}.",
                field=setting,
            )
        found[m["name"]] = int(float(m["number"]) * unit)
    return Quota(**found)


class QuotaGuard:
    """Refuses writes beyond the quotas of this process's settings."""

    def __init__(self, vault: Vault, model: str, quotas: Quotas) -> None:
        self._vault = vault
        self._model = model
        self._profile = quotas.profile
        self._namespace = quotas.namespace
        self._cached: dict[str | Who, tuple[float, Amounts]] = {}

    async def check(self, who: Who, adding: Amounts) -> None:
        """Raise QuotaExceeded if the profile or its namespace would hold more than it may; else count it on."""
        if self._profile != Quota():
            await self._check(who, f"profile {who[0]}/{who[1]}", self._profile, "profile_quota", adding)
        if self._namespace != Quota():
            if not await self._exists(who):
                adding += Amounts(profiles=1)
            await self._check(who[0], f"namespace {who[0]}", self._namespace, "namespace_quota", adding)

    async def _check(self, place: str | Who, name: str, quota: Quota, setting: str, adding: Amounts) -> None:
        at, held = self._cached.get(place, (-CACHED_SECONDS, Amounts()))
        if time.monotonic() - at >= CACHED_SECONDS or quota.exceeded(held + adding):
            at, held = time.monotonic(), await self._count(place)
        if what := quota.exceeded(held + adding):
            has, more, limit = getattr(held, what), getattr(adding, what), getattr(quota, what)
            raise QuotaExceeded(
                f"The {name} holds {has:,} {what}, and {more:,} more would exceed its quota of {limit:,}.",
                field=what,
                fix=f"Forget something, or raise the setting {setting}.",
            )
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        self._cached[place] = (at, held + adding)

    async def _count(self, place: str | Who) -> Amounts:
        if isinstance(place, tuple):
            return await self._count_profile(place)
        infos = await self._profiles(place)
        total = Amounts(profiles=len(infos))
        for who in infos:
            total += await self._count_profile(who)
        return total

    async def _count_profile(self, who: Who) -> Amounts:
        try:
            stats = await (await self._vault.open(*who, create=False)).stats(self._model)
        except NotFound:
            return Amounts()
        return Amounts(stats.messages, stats.memories + stats.superseded, stats.bytes)

    async def _profiles(self, namespace: str) -> list[Who]:
        try:
            return [(info.namespace, info.name) for info in await self._vault.profiles(namespace)]
        except NotFound:
            return []

    async def _exists(self, who: Who) -> bool:
        try:
            await self._vault.open(*who, create=False)
        except NotFound:
            return False
        return True
