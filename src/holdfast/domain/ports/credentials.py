"""Port: administration of credentials, local or on a server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.domain.credentials import Credential, Grant
    from holdfast.domain.records import AdminAction, CredentialReach
    from holdfast.domain.visibility import Reads


class CredentialAdmin(Protocol):
    """Issue, grant, withdraw, rotate and revoke credentials, and list who has access to which profile."""

    async def issue(
        self,
        kind: str,
        name: str,
        rights: Iterable[str],
        *,
        namespace: str | None = None,
        profile: str | None = None,
        expires_at: datetime | None = None,
        grants: Iterable[Grant] = (),
        agent: str | None = None,
        reads: Reads = None,
    ) -> tuple[Credential, str]: ...

    async def rotate(self, id: str, overlap: timedelta = timedelta(0)) -> tuple[Credential, str]: ...

    async def revoke(self, id: str) -> None: ...

    async def grant(self, id: str, namespace: str, profile: str, rights: Iterable[str]) -> Credential: ...

    async def withdraw(self, id: str, namespace: str, profile: str) -> bool: ...

    async def list_all(self) -> list[Credential]: ...

    async def reaching(self, namespace: str, profile: str) -> list[CredentialReach]: ...

    async def acts(self, limit: int = 100) -> list[AdminAction]: ...

    async def acts_on(self, namespace: str, profile: str, limit: int = 100) -> list[AdminAction]: ...
