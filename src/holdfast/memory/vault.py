"""Every profile, in dictionaries."""

from __future__ import annotations

from collections.abc import Callable

from .. import names
from ..errors import AlreadyExists, NotFound
from ..moments import now
from ..results import Namespace, ProfileInfo
from ..types import Json
from .credentials import MemoryCredentials
from .store import MemoryStore


class MemoryVault:
    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}
        self._profiles: dict[tuple[str, str], tuple[ProfileInfo, MemoryStore]] = {}
        self._settings: dict[str, dict[str, Json]] = {}
        self._rested: dict[tuple[str, str], str] = {}
        self._credentials = MemoryCredentials()
        self._changed: Callable[[str, str], None] = lambda namespace, profile: None

    shared = False
    rates = None

    @property
    def credentials(self) -> MemoryCredentials:
        return self._credentials

    def watch(self, changed: Callable[[str, str], None], catalogue: Callable[[], None]) -> None:
        self._changed = changed

    async def namespaces(self) -> list[Namespace]:
        return [self._namespaces[name] for name in sorted(self._namespaces)]

    async def create_namespace(self, name: str) -> Namespace:
        at = now()
        made = Namespace(names.memory_id(at), names.namespace(name), at, at)
        if name in self._namespaces:
            raise AlreadyExists(f"The namespace {name!r} exists already.", field="name")
        self._namespaces[name] = made
        return made

    async def delete_namespace(self, name: str) -> None:
        for profile in await self.profiles(name):
            await self.delete(name, profile.name)
        self._credentials.drop(name, None)
        self._settings.pop(name, None)
        del self._namespaces[name]

    async def settings(self, namespace: str) -> dict[str, Json]:
        return dict(sorted(self._settings.get(namespace, {}).items()))

    async def lay_down(self, namespace: str, name: str, value: Json) -> None:
        self._check(namespace)
        held = self._settings.setdefault(namespace, {})
        held.pop(name, None)
        if value is not None:
            held[name] = value

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        self._check(namespace)
        return [info for (space, _), (info, _) in sorted(self._profiles.items()) if space == namespace]

    async def open(self, namespace: str, profile: str, *, create: bool) -> MemoryStore:
        self._check(namespace)
        who = (namespace, profile)
        if who not in self._profiles:
            if not create:
                raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
            store = MemoryStore(lambda: self._changed(namespace, profile))
            self._profiles[who] = ProfileInfo(namespace, profile, now()), store
        return self._profiles[who][1]

    async def delete(self, namespace: str, profile: str) -> bool:
        self._check(namespace)
        self._rested.pop((namespace, profile), None)
        self._credentials.drop(namespace, profile)
        return self._profiles.pop((namespace, profile), None) is not None

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        return sorted(who for who in self._profiles if self._rested.get(who) != model)

    async def lent(self, namespace: str, profile: str) -> bool:
        return False

    async def expect_work(self, namespace: str, profile: str) -> None:
        self._rested.pop((namespace, profile), None)

    async def rested(self, namespace: str, profile: str, model: str) -> None:
        self._rested[namespace, profile] = model

    async def close(self) -> None:
        return None

    def _check(self, namespace: str) -> None:
        if namespace not in self._namespaces:
            raise NotFound(
                f"There is no namespace {namespace!r}.",
                field="namespace",
                fix="Create it, or write to a profile in it from Python or the CLI.",
            )
