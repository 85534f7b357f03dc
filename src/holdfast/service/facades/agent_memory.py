"""A key-value and vector memory of one agent about one entity: write, get, search, list, delete.

An item is a memory with a key chosen by the caller. The agent is a namespace, the entity is a profile in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast.domain.arguments import ItemOrder, Kind
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Json, Memory

if TYPE_CHECKING:
    from holdfast.domain.ports.profile import AsyncProfile


@dataclass(frozen=True, slots=True)
class Item:
    """One item: a value under a kind and key. `score` is set by a search."""

    id: str
    kind: str
    key: str | None
    value: Json
    metadata: dict[str, Json] = field(default_factory=dict)
    version: int = 1
    created_at: datetime | None = None
    expires_at: datetime | None = None
    score: float | None = None


def item_of(memory: Memory) -> Item:
    value = memory.content if memory.value is None else memory.value
    return Item(
        memory.id, memory.kind, memory.key, value, memory.metadata, memory.version, memory.created_at,
        memory.expires_at,
    )  # fmt: skip


class AsyncAgentMemory:
    """Key-value calls on any profile."""

    def __init__(self, profile: AsyncProfile) -> None:
        self._profile = profile

    async def write(
        self,
        kind: Kind,
        key: str | None,
        value: Json,
        *,
        content: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        embed: bool = True,
        ttl: float | timedelta | None = None,
    ) -> Item:
        """Store a value. An item with the same key is overwritten and kept as history; items without a key accumulate.

        Search finds the item by the text of its value, or by `content` when given; with `embed=False` by words and key
        only.
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
        return item_of(kept)

    async def get(self, kind: str, key: str, *, version: int | None = None) -> Item | None:
        """Return the current item of this kind and key, or None; `version` selects the schema version of its value."""
        page = await self._profile.list(kind=kind, key=key, limit=1, version=version)
        return item_of(page[0]) if len(page) else None

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        kind: str | Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> list[Item]:
        """Return the best matching items, found by meaning, words and key."""
        hits = await self._profile.search(query, limit=limit, filter=_items(kind, filters))
        return [
            Item(
                hit.id, hit.kind, hit.key, hit.content if hit.value is None else hit.value, hit.metadata, hit.version,
                hit.created_at, hit.expires_at, hit.score,
            )
            for hit in hits
        ]  # fmt: skip

    async def list(self, kind: str | None = None, *, limit: int = 20, order_by: ItemOrder = "recent") -> list[Item]:
        """List items, the most recent first."""
        if order_by != "recent":
            raise InvalidInput(f"order_by is {quoted_value(order_by)}; the only order is 'recent'.", field="order_by")
        return [item_of(memory) for memory in await self._profile.list(kind=kind, limit=limit)]

    async def delete(self, kind: str, key: str) -> bool:
        """Delete an item and its history for good; False when there was none."""
        held = await self.get(kind, key)
        if held is None:
            return False
        await self._profile.forget(held.id)
        return True


def _items(kind: str | Sequence[str] | None, filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """A filter for memories only: messages are not items."""
    only: dict[str, Any] = {"not": {"kind": "message"}}
    if kind is not None:
        only = {"kind": kind if isinstance(kind, str) else {"in": list(kind)}}
    return only if filters is None else {"and": [only, dict(filters)]}
