"""Port: Entities, links and decisions about entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.domain.arguments import Moment
    from holdfast.domain.graph import Entity, EntityChange, Graph
    from holdfast.domain.types import Memory


class ProfileGraph(Protocol):
    """Entities, links and decisions about entities."""

    async def graph(
        self,
        entity: str | None = None,
        *,
        depth: int = 1,
        as_of: Moment | None = None,
        past: bool = False,
        limit: int = 100,
    ) -> Graph:
        """Return an entity with everything at most `depth` links away; without `entity`, the most mentioned entities.

        `as_of` shows what was known at that time. With `past`, links that have ended are included. At most `limit`
        entities are returned; `truncated` says whether there are more.
        """
        ...

    async def path(self, start: str, end: str, *, as_of: Moment | None = None, past: bool = False) -> Graph:
        """Return the shortest path between two entities, in order; without entities when there is none."""
        ...

    async def entities(
        self,
        query: str | None = None,
        *,
        type: str | None = None,
        as_of: Moment | None = None,
        limit: int = 100,
    ) -> tuple[Entity, ...]:
        """List the people and things that memories mention, most mentioned first; `query` matches part of a name."""
        ...

    async def about(self, entity: str, *, as_of: Moment | None = None, limit: int = 20) -> tuple[Memory, ...]:
        """List the memories that mention an entity by any of its names, newest first."""
        ...

    async def merge_entities(self, into: str, others: Sequence[str], *, name: str | None = None) -> EntityChange:
        """Make other names, mentioned or not, names of one entity; `name` is the name to display from now on."""
        ...

    async def split_entity(
        self, entity: str, name: str, *, names: Sequence[str] = (), memories: Sequence[str] = ()
    ) -> EntityChange:
        """Move some of an entity's names, or its mentions in some memories, to another entity, called `name`."""
        ...

    async def entity_changes(self) -> tuple[EntityChange, ...]:
        """List the merges and splits of entities that are in force, oldest first."""
        ...

    async def undo_entity_change(self, id: str | None = None) -> EntityChange:
        """Undo a merge or a split, by default the last one, as if it had not happened."""
        ...
