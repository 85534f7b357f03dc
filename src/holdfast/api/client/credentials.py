"""A server's namespaces, profiles and credentials, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast.api.client.call import documented_by
from holdfast.api.client.request import profile_path, quoted_segment
from holdfast.domain.credentials import Credential, Grant
from holdfast.domain.json_codec import decode
from holdfast.domain.records import AdminAction, CredentialReach
from holdfast.domain.results import Namespace, ProfileInfo
from holdfast.domain.timestamps import iso_text
from holdfast.domain.visibility import Reads
from holdfast.service.credentials import Access

if TYPE_CHECKING:
    from holdfast.api.client.holdfast import RemoteHoldfast


class RemoteAccess:
    """Administration of credentials on a server, with the methods of `Access`."""

    def __init__(self, holdfast: RemoteHoldfast) -> None:
        self._holdfast = holdfast

    @documented_by(Access.issue)
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
    ) -> tuple[Credential, str]:
        listed = [{"namespace": g.namespace, "profile": g.profile, "rights": sorted(g.rights)} for g in grants]
        body = {
            "kind": kind, "name": name, "rights": sorted(rights), "namespace": namespace, "profile": profile,
            "expires_at": None if expires_at is None else iso_text(expires_at), "grants": listed, "agent": agent,
            "reads": "all" if reads is None else reads if isinstance(reads, str) else [*reads],
        }  # fmt: skip
        return _issued_credential(await self._holdfast.ask("POST", "/v1/credentials", body))

    @documented_by(Access.rotate)
    async def rotate(self, id: str, overlap: timedelta = timedelta(0)) -> tuple[Credential, str]:
        asked = {"overlap": overlap.total_seconds()}
        return _issued_credential(
            await self._holdfast.ask("POST", f"/v1/credentials/{quoted_segment(id, 'id')}/rotate", None, asked)
        )

    @documented_by(Access.revoke)
    async def revoke(self, id: str) -> None:
        await self._holdfast.ask("DELETE", f"/v1/credentials/{quoted_segment(id, 'id')}")

    @documented_by(Access.grant)
    async def grant(self, id: str, namespace: str, profile: str, rights: Iterable[str]) -> Credential:
        body = {"namespace": namespace, "profile": profile, "rights": sorted(rights)}
        return decode(
            Credential, await self._holdfast.ask("POST", f"/v1/credentials/{quoted_segment(id, 'id')}/grants", body)
        )

    @documented_by(Access.withdraw)
    async def withdraw(self, id: str, namespace: str, profile: str) -> bool:
        place = {"namespace": namespace, "profile": profile}
        told = await self._holdfast.ask("DELETE", f"/v1/credentials/{quoted_segment(id, 'id')}/grants", None, place)
        return bool(told["withdrawn"])

    @documented_by(Access.list_all)
    async def list_all(self) -> list[Credential]:
        return decode(list[Credential], (await self._holdfast.ask("GET", "/v1/credentials"))["credentials"])

    @documented_by(Access.reaching)
    async def reaching(self, namespace: str, profile: str) -> list[CredentialReach]:
        return decode(list[CredentialReach], (await self._reached(namespace, profile))["credentials"])

    @documented_by(Access.acts_on)
    async def acts_on(self, namespace: str, profile: str, limit: int = 100) -> list[AdminAction]:
        return decode(list[AdminAction], (await self._reached(namespace, profile))["acts"])[:limit]

    @documented_by(Access.acts)
    async def acts(self, limit: int = 100) -> list[AdminAction]:
        return decode(list[AdminAction], (await self._holdfast.ask("GET", "/v1/audit", None, {"limit": limit}))["acts"])

    async def _reached(self, namespace: str, profile: str) -> Any:
        return await self._holdfast.ask(
            "GET",
            f"{profile_path(namespace, profile)}/access",
        )


def _issued_credential(told: Any) -> tuple[Credential, str]:
    return decode(Credential, told["credential"]), str(told["token"])


class RemoteAdministration:
    """The part of a remote Holdfast that manages namespaces and profiles."""

    @property
    def access(self: RemoteHoldfast) -> RemoteAccess:  # type: ignore[misc]
        """Administration of credentials."""
        return RemoteAccess(self)

    async def namespaces(self: RemoteHoldfast) -> list[Namespace]:  # type: ignore[misc]
        return decode(list[Namespace], (await self.ask("GET", "/v1/namespaces"))["namespaces"])

    async def namespace(self: RemoteHoldfast, name_or_id: str) -> Namespace:  # type: ignore[misc]
        return decode(Namespace, await self.ask("GET", f"/v1/namespaces/{quoted_segment(name_or_id, 'namespace')}"))

    async def create_namespace(self: RemoteHoldfast, name: str) -> Namespace:  # type: ignore[misc]
        return decode(Namespace, await self.ask("POST", "/v1/namespaces", {"name": name}))

    async def delete_namespace(self: RemoteHoldfast, name: str) -> None:  # type: ignore[misc]
        await self.ask("DELETE", f"/v1/namespaces/{quoted_segment(name, 'name')}")

    async def profiles(self: RemoteHoldfast, namespace: str) -> list[ProfileInfo]:  # type: ignore[misc]
        found = await self.ask("GET", f"/v1/namespaces/{quoted_segment(namespace, 'namespace')}/profiles")
        return decode(list[ProfileInfo], found["profiles"])

    async def delete_profile(self: RemoteHoldfast, namespace: str, profile: str) -> bool:  # type: ignore[misc]
        path = profile_path(namespace, profile)
        return bool((await self.ask("DELETE", path))["deleted"])

    async def set_namespace_retention(  # type: ignore[misc]
        self: RemoteHoldfast, namespace: str, rules: Mapping[str, Any] | None
    ) -> None:
        await self.ask("PUT", f"/v1/namespaces/{quoted_segment(namespace, 'namespace')}/retention", {"rules": rules})

    async def kind_of(self: RemoteHoldfast, content: str) -> str | None:  # type: ignore[misc]
        return str((await self.ask("POST", "/v1/kind-of", {"content": content}))["kind"])
