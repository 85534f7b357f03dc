"""A server's namespaces, profiles and credentials, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from .access import Access
from .credentials import Credential, Grant
from .moments import iso
from .reading import read
from .records import Act, Reach
from .results import Namespace, ProfileInfo
from .sent import quoted
from .sights import Reads

if TYPE_CHECKING:
    from .remote import RemoteHoldfast


class RemoteAccess:
    """Who may do what on a server: the same methods as `Access`, for whoever administers it."""

    def __init__(self, holdfast: RemoteHoldfast) -> None:
        self._holdfast = holdfast

    @wraps(Access.issue)
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
            "expires_at": None if expires_at is None else iso(expires_at), "grants": listed, "agent": agent,
            "reads": "all" if reads is None else reads if isinstance(reads, str) else [*reads],
        }  # fmt: skip
        return _issued(await self._holdfast.ask("POST", "/v1/credentials", body))

    @wraps(Access.rotate)
    async def rotate(self, id: str, overlap: timedelta = timedelta(0)) -> tuple[Credential, str]:
        asked = {"overlap": overlap.total_seconds()}
        return _issued(await self._holdfast.ask("POST", f"/v1/credentials/{quoted(id)}/rotate", None, asked))

    @wraps(Access.revoke)
    async def revoke(self, id: str) -> None:
        await self._holdfast.ask("DELETE", f"/v1/credentials/{quoted(id)}")

    @wraps(Access.grant)
    async def grant(self, id: str, namespace: str, profile: str, rights: Iterable[str]) -> Credential:
        body = {"namespace": namespace, "profile": profile, "rights": sorted(rights)}
        return read(Credential, await self._holdfast.ask("POST", f"/v1/credentials/{quoted(id)}/grants", body))

    @wraps(Access.withdraw)
    async def withdraw(self, id: str, namespace: str, profile: str) -> bool:
        place = {"namespace": namespace, "profile": profile}
        told = await self._holdfast.ask("DELETE", f"/v1/credentials/{quoted(id)}/grants", None, place)
        return bool(told["withdrawn"])

    @wraps(Access.listed)
    async def listed(self) -> list[Credential]:
        return read(list[Credential], (await self._holdfast.ask("GET", "/v1/credentials"))["credentials"])

    @wraps(Access.reaching)
    async def reaching(self, namespace: str, profile: str) -> list[Reach]:
        return read(list[Reach], (await self._reached(namespace, profile))["credentials"])

    @wraps(Access.acts_on)
    async def acts_on(self, namespace: str, profile: str, limit: int = 100) -> list[Act]:
        return read(list[Act], (await self._reached(namespace, profile))["acts"])[:limit]

    @wraps(Access.acts)
    async def acts(self, limit: int = 100) -> list[Act]:
        return read(list[Act], (await self._holdfast.ask("GET", "/v1/audit", None, {"limit": limit}))["acts"])

    async def _reached(self, namespace: str, profile: str) -> Any:
        return await self._holdfast.ask("GET", f"/v1/namespaces/{quoted(namespace)}/profiles/{quoted(profile)}/access")


def _issued(told: Any) -> tuple[Credential, str]:
    return read(Credential, told["credential"]), str(told["token"])


class RemoteAdministration:
    """A server, as far as it is about its places."""

    @property
    def access(self: RemoteHoldfast) -> RemoteAccess:  # type: ignore[misc]
        """Who may do what."""
        return RemoteAccess(self)

    async def namespaces(self: RemoteHoldfast) -> list[Namespace]:  # type: ignore[misc]
        return read(list[Namespace], (await self.ask("GET", "/v1/namespaces"))["namespaces"])

    async def namespace(self: RemoteHoldfast, name_or_id: str) -> Namespace:  # type: ignore[misc]
        return read(Namespace, await self.ask("GET", f"/v1/namespaces/{quoted(name_or_id)}"))

    async def create_namespace(self: RemoteHoldfast, name: str) -> Namespace:  # type: ignore[misc]
        return read(Namespace, await self.ask("POST", "/v1/namespaces", {"name": name}))

    async def delete_namespace(self: RemoteHoldfast, name: str) -> None:  # type: ignore[misc]
        await self.ask("DELETE", f"/v1/namespaces/{quoted(name)}")

    async def profiles(self: RemoteHoldfast, namespace: str) -> list[ProfileInfo]:  # type: ignore[misc]
        found = await self.ask("GET", f"/v1/namespaces/{quoted(namespace)}/profiles")
        return read(list[ProfileInfo], found["profiles"])

    async def delete_profile(self: RemoteHoldfast, namespace: str, profile: str) -> bool:  # type: ignore[misc]
        path = f"/v1/namespaces/{quoted(namespace)}/profiles/{quoted(profile)}"
        return bool((await self.ask("DELETE", path))["deleted"])

    async def set_namespace_retention(  # type: ignore[misc]
        self: RemoteHoldfast, namespace: str, rules: Mapping[str, Any] | None
    ) -> None:
        await self.ask("PUT", f"/v1/namespaces/{quoted(namespace)}/retention", {"rules": rules})

    async def kind_of(self: RemoteHoldfast, content: str) -> str | None:  # type: ignore[misc]
        return str((await self.ask("POST", "/v1/kind-of", {"content": content}))["kind"])
