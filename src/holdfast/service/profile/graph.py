"""The graph of one profile: entities, links, paths, and decisions on which names belong to one entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.domain import identifiers, timestamps
from holdfast.domain.arguments import Moment, validate_id, validate_limit
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.ports.profile.graph import ProfileGraph
from holdfast.domain.tracing import note
from holdfast.domain.types import Memory
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.domain.graph import Entity, EntityChange, Graph
    from holdfast.graph.queries import GraphSnapshot

MAX_DEPTH = 4
MAX_ENTITIES = 5_000


class GraphVerbs(ProfileVerbs, ProfileGraph):
    """Entities, links and decisions about entities."""

    @traced
    async def graph(
        self,
        entity: str | None = None,
        *,
        depth: int = 1,
        as_of: Moment | None = None,
        past: bool = False,
        limit: int = 100,
    ) -> Graph:
        from holdfast.graph import queries

        if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= MAX_DEPTH:
            raise InvalidInput(f"depth is {quoted_value(depth)}; give 1 to {MAX_DEPTH}.", field="depth")
        most = validate_limit(limit, MAX_ENTITIES)
        seen = await self._seeing(as_of, past)
        found = await (
            queries.load_overview(seen, most)
            if entity is None
            else queries.load_neighbourhood(seen, entity, depth, most)
        )
        note(entities=len(found.entities), links=len(found.links))
        return found

    @traced
    async def path(self, start: str, end: str, *, as_of: Moment | None = None, past: bool = False) -> Graph:
        from holdfast.graph import queries

        return await queries.find_path(await self._seeing(as_of, past), start, end)

    @traced
    async def entities(
        self,
        query: str | None = None,
        *,
        type: str | None = None,
        as_of: Moment | None = None,
        limit: int = 100,
    ) -> tuple[Entity, ...]:
        from holdfast.graph import queries

        most = validate_limit(limit, MAX_ENTITIES)
        seen = await self._seeing(as_of, False)
        found = await queries.list_entities(seen, query)
        described = (await seen.described(found if type is not None else found[:most])).values()
        return tuple([each for each in described if type in (None, each.type)][:most])

    @traced
    async def about(self, entity: str, *, as_of: Moment | None = None, limit: int = 20) -> tuple[Memory, ...]:
        from holdfast.graph import queries

        return tuple(await queries.load_memories_about(await self._seeing(as_of, False), entity, validate_limit(limit)))

    @traced
    async def merge_entities(self, into: str, others: Sequence[str], *, name: str | None = None) -> EntityChange:
        from holdfast.graph import decisions

        listed = [others] if isinstance(others, str) else list(others)
        change = self._change("merge", name)
        return await decisions.merge_entities(await self._seeing(None, True), into, listed, change)

    @traced
    async def split_entity(
        self, entity: str, name: str, *, names: Sequence[str] = (), memories: Sequence[str] = ()
    ) -> EntityChange:
        from holdfast.graph import decisions

        change, taken = self._change("split", name), (tuple(names), tuple(memories))
        return await decisions.split_entity(await self._seeing(None, True), entity, taken, change)

    async def entity_changes(self) -> tuple[EntityChange, ...]:
        return tuple(await (await self._context.readable_store()).graph.changes())

    @traced
    async def undo_entity_change(self, id: str | None = None) -> EntityChange:
        from holdfast.graph import decisions

        self._context.check_readable()
        return await decisions.undo_change(await self._context.store(), None if id is None else validate_id(id))

    def _change(self, act: str, shown_as: str | None) -> EntityChange:
        from holdfast.domain.graph import EntityChange

        self._context.check_readable()
        now = self._context.now()
        written = "" if shown_as is None else " ".join(identifiers.validate_text(shown_as, "name", limit=200).split())
        return EntityChange(identifiers.memory_id(now), now, "merge" if act == "merge" else "split", "", shown=written)

    async def _seeing(self, as_of: Moment | None, past: bool) -> GraphSnapshot:
        from holdfast.domain.graph import Scope
        from holdfast.graph import queries

        then = None if as_of is None else timestamps.parse_moment(as_of, "as_of")
        return await queries.open_graph(await self._context.readable_store(), Scope(self._context.now(), then, past))
