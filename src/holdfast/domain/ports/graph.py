"""Port: one profile's graph of entities and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from holdfast.domain.graph import EntityChange, MemoryReading, Mention, Scope, Tie
    from holdfast.domain.types import Memory


@runtime_checkable
class GraphStore(Protocol):
    """One profile's mentions, ties and curated entity changes. Forgetting a memory deletes its mentions and ties."""

    async def unread(self, version: int, limit: int) -> list[Memory]:
        """List memories, superseded ones included, that no reader of this version has read, oldest first."""
        ...

    async def learn(self, version: int, read: Sequence[MemoryReading]) -> None:
        """Store what was found in memories that `unread` returned, in that order. A memory forgotten meanwhile is left
        out. The first call with a new version deletes what other versions found.
        """
        ...

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        """List the newest mentions of each name, at most `limit` of each."""
        ...

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        """List the newest ties with each name as subject or object, at most `limit` of each name; newest first.

        A tie of a superseded memory ends when its successor was written, unless it ended before.
        """
        ...

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        """List pairs of names of one entity, taken from the newest memories that state one."""
        ...

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        """List the most mentioned names with the number of memories that mention them; equal counts by name."""
        ...

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        """Count the memories that mention a name of each group; without `as_of`, ones that just expired may count."""
        ...

    async def changes(self) -> list[EntityChange]:
        """List the entity changes, oldest first."""
        ...

    async def keep(self, change: EntityChange) -> None:
        """Append an entity change to the sequence."""
        ...

    async def undo(self, id: str) -> bool:
        """Remove an entity change from the sequence; False when it is not there."""
        ...
