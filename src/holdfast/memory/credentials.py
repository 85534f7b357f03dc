"""Credentials in a dictionary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ..credentials import Credential, Grant, granted
from ..records import Act


class MemoryCredentials:
    def __init__(self) -> None:
        self._held: dict[str, tuple[Credential, bytes]] = {}
        self._acts: list[Act] = []

    async def add(self, credential: Credential, digest: bytes) -> None:
        self._held[credential.id] = (credential, digest)

    async def grant(self, id: str, grant: Grant) -> None:
        if id in self._held:
            credential, digest = self._held[id]
            self._held[id] = (granted(credential, grant), digest)

    async def find(self, id: str) -> tuple[Credential, bytes] | None:
        return self._held.get(id)

    async def listed(self) -> list[Credential]:
        held = sorted((credential for credential, _ in self._held.values()), key=lambda each: each.id)
        return sorted(held, key=lambda each: each.created_at, reverse=True)

    async def end(self, id: str, at: datetime) -> bool:
        credential, digest = self._held.get(id, (None, b""))
        if credential is None or (credential.revoked_at is not None and credential.revoked_at <= at):
            return False
        self._held[id] = (replace(credential, revoked_at=at), digest)
        return True

    async def used(self, id: str, at: datetime) -> None:
        if id in self._held:
            credential, digest = self._held[id]
            self._held[id] = (replace(credential, used_at=at), digest)

    async def note(self, act: Act) -> None:
        self._acts.append(act)

    async def acts(self, limit: int) -> list[Act]:
        return self._acts[::-1][:limit]

    def drop(self, namespace: str, profile: str | None) -> None:
        """A deleted place takes its credentials along, and what others were granted in it."""
        self._held = {
            id: (_without(credential, namespace, profile), digest)
            for id, (credential, digest) in self._held.items()
            if credential.namespace != namespace or (profile is not None and credential.profile != profile)
        }


def _without(credential: Credential, namespace: str, profile: str | None) -> Credential:
    left = [each for each in credential.grants if each.namespace != namespace or profile not in (None, each.profile)]
    return replace(credential, grants=tuple(left))
