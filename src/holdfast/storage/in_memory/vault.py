"""All profiles in dictionaries."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.domain import identifiers
from holdfast.domain.errors import AlreadyExists, NotFound
from holdfast.domain.results import Namespace, ProfileInfo
from holdfast.domain.timestamps import now
from holdfast.domain.types import Json
from holdfast.storage.in_memory.credentials import MemoryCredentials
from holdfast.storage.in_memory.store import MemoryStore


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
        created = Namespace(identifiers.memory_id(at), identifiers.validate_namespace(name), at, at)
        if name in self._namespaces:
            raise AlreadyExists(f"The namespace {name!r} exists already.", field="name")
        self._namespaces[name] = created
        return created

    async def delete_namespace(self, name: str) -> None:
        for profile in await self.profiles(name):
            await self.delete(name, profile.name)
        self._credentials.delete_of(name, None)
        self._settings.pop(name, None)
        del self._namespaces[name]

    async def settings(self, namespace: str) -> dict[str, Json]:
        return dict(sorted(self._settings.get(namespace, {}).items()))

    async def put_setting(self, namespace: str, name: str, value: Json) -> None:
        self._check_namespace(namespace)
        settings = self._settings.setdefault(namespace, {})
        settings.pop(name, None)
        if value is not None:
            settings[name] = value

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        self._check_namespace(namespace)
        return [info for (space, _), (info, _) in sorted(self._profiles.items()) if space == namespace]

    async def open(self, namespace: str, profile: str, *, create: bool) -> MemoryStore:
        self._check_namespace(namespace)
        who = (namespace, profile)
        if who not in self._profiles:
            if not create:
                raise NotFound(f"There is no profile {profile!r} in namespace {namespace!r}.", field="profile")
            store = MemoryStore(lambda: self._changed(namespace, profile))
            self._profiles[who] = ProfileInfo(namespace, profile, now()), store
        return self._profiles[who][1]

    async def delete(self, namespace: str, profile: str) -> bool:
        self._check_namespace(namespace)
        self._rested.pop((namespace, profile), None)
        self._credentials.delete_of(namespace, profile)
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

    def _check_namespace(self, namespace: str) -> None:
        if namespace not in self._namespaces:
            raise NotFound(
                f"There is no namespace {namespace!r}.",
                field="namespace",
                fix="Create it, or write to a profile in it from Python or the CLI.",
            )
