"""Port: Holdfast itself, in this process or on a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from holdfast.domain.ports.credentials import CredentialAdmin
    from holdfast.domain.ports.profile import AsyncProfile
    from holdfast.domain.ports.profile.recall import ProfileRecall
    from holdfast.domain.results import Namespace, ProfileInfo
    from holdfast.domain.types import Json

Places = Iterable[str | tuple[str, str]]
"""Profiles by name, or by namespace and name."""


class HoldfastPort(Protocol):
    """Namespaces, their profiles, and access to them."""

    @property
    def access(self) -> CredentialAdmin: ...

    def profile(self, namespace: str, profile: str) -> AsyncProfile: ...

    def across(self, namespace: str, profiles: Places) -> ProfileRecall: ...

    async def namespaces(self) -> list[Namespace]: ...

    async def namespace(self, name_or_id: str) -> Namespace: ...

    async def create_namespace(self, name: str) -> Namespace: ...

    async def delete_namespace(self, name: str) -> None: ...

    async def set_namespace_retention(self, namespace: str, rules: Mapping[str, Json] | None) -> None: ...

    async def profiles(self, namespace: str) -> list[ProfileInfo]: ...

    async def delete_profile(self, namespace: str, profile: str) -> bool: ...

    async def kind_of(self, content: str) -> str | None: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None: ...
