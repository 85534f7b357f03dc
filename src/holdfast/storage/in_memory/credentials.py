"""A vault's credentials in a dictionary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from holdfast.domain.credentials import Credential, Grant, with_grant
from holdfast.domain.records import AdminAction


class MemoryCredentials:
    def __init__(self) -> None:
        self._credentials: dict[str, tuple[Credential, bytes]] = {}
        self._acts: list[AdminAction] = []

    async def add(self, credential: Credential, digest: bytes) -> None:
        self._credentials[credential.id] = (credential, digest)

    async def grant(self, id: str, grant: Grant) -> None:
        if id in self._credentials:
            credential, digest = self._credentials[id]
            self._credentials[id] = (with_grant(credential, grant), digest)

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        return self._credentials.get(id)

    async def list_all(self) -> list[Credential]:
        by_id = sorted((credential for credential, _ in self._credentials.values()), key=lambda each: each.id)
        return sorted(by_id, key=lambda each: each.created_at, reverse=True)

    async def end(self, id: str, at: datetime) -> bool:
        credential, digest = self._credentials.get(id, (None, b""))
        if credential is None or (credential.revoked_at is not None and credential.revoked_at <= at):
            return False
        self._credentials[id] = (replace(credential, revoked_at=at), digest)
        return True

    async def used(self, id: str, at: datetime) -> None:
        if id in self._credentials:
            credential, digest = self._credentials[id]
            self._credentials[id] = (replace(credential, used_at=at), digest)

    async def note(self, act: AdminAction) -> None:
        self._acts.append(act)

    async def acts(self, limit: int) -> list[AdminAction]:
        return self._acts[::-1][:limit]

    def delete_of(self, namespace: str, profile: str | None) -> None:
        """Delete the credentials of a deleted namespace or profile, and the grants of others in it."""
        self._credentials = {
            id: (_without(credential, namespace, profile), digest)
            for id, (credential, digest) in self._credentials.items()
            if credential.namespace != namespace or (profile is not None and credential.profile != profile)
        }


def _without(credential: Credential, namespace: str, profile: str | None) -> Credential:
    grants = [each for each in credential.grants if each.namespace != namespace or profile not in (None, each.profile)]
    return replace(credential, grants=tuple(grants))
