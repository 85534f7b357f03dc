"""A key-value and vector memory of one agent about one entity: write, get, search, list, delete.

An item is a memory that somebody keyed by hand: the agent is a namespace, the entity a profile in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput, shown
from .types import Json, Memory

if TYPE_CHECKING:
    from .profile import LocalProfile
    from .remote import RemoteProfile


@dataclass(frozen=True, slots=True)
class Item:
    """One entry: its value under its kind and key. `score` is set when a search found it."""

    id: str
    kind: str
    key: str | None
    value: Json
    metadata: dict[str, Json] = field(default_factory=dict)
    version: int = 1
    created_at: datetime | None = None
    expires_at: datetime | None = None
    score: float | None = None


def item(memory: Memory) -> Item:
    value = memory.content if memory.value is None else memory.value
    return Item(
        memory.id, memory.kind, memory.key, value, memory.metadata, memory.version, memory.created_at,
        memory.expires_at,
    )  # fmt: skip


class AsyncAgentMemory:
    """The calls, on any profile."""

    def __init__(self, profile: LocalProfile | RemoteProfile) -> None:
        self._profile = profile

    async def write(
        self,
        kind: str,
        key: str | None,
        value: Json,
        *,
        content: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        embed: bool = True,
        ttl: float | timedelta | None = None,
    ) -> Item:
        """Keep a value; a key that is taken is overwritten and its history kept, without a key items accumulate.

        It is found by its text, or by `content` where that says it better; by words and key only without `embed`.
        """
        kept = await self._profile.remember(
            content,
            kind=kind,
            key=key,
            value=value,
            metadata=metadata,
            embed=embed,
            ttl=ttl,
            trust="agent",
            topic=False,
        )
        return item(kept)

    async def get(self, kind: str, key: str, *, version: int | None = None) -> Item | None:
        """The current item of this kind and key, or None; its value as a `version` of the kind's schema has it."""
        page = await self._profile.list(kind=kind, key=key, limit=1, version=version)
        return item(page[0]) if len(page) else None

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        kind: str | Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> list[Item]:
        """The items that answer best, by meaning, words and key."""
        hits = await self._profile.search(query, limit=limit, filter=_items(kind, filters))
        return [
            Item(
                hit.id, hit.kind, hit.key, hit.content if hit.value is None else hit.value, hit.metadata, hit.version,
                hit.created_at, score=hit.score,
            )
            for hit in hits
        ]  # fmt: skip

    async def list(self, kind: str | None = None, *, limit: int = 20, order_by: str = "recent") -> list[Item]:
        """Items, the most recent first."""
        if order_by != "recent":
            raise InvalidInput(f"order_by is {shown(order_by)}; the one order is 'recent'.", field="order_by")
        return [item(memory) for memory in await self._profile.list(kind=kind, limit=limit)]

    async def delete(self, kind: str, key: str) -> bool:
        """Remove an item and its history for good; False when there was none."""
        held = await self.get(kind, key)
        if held is None:
            return False
        await self._profile.forget(held.id)
        return True


def _items(kind: str | Sequence[str] | None, filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Memories only: what was said is not an item."""
    only: dict[str, Any] = {"not": {"kind": "message"}}
    if kind is not None:
        only = {"kind": kind if isinstance(kind, str) else {"in": list(kind)}}
    return only if filters is None else {"and": [only, dict(filters)]}
