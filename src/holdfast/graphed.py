"""The graph of one profile: entities, links, the way between two, and who is decided to be whom."""

from __future__ import annotations

from collections.abc import Sequence

from . import entity_changes, graph, moments, names
from .errors import InvalidInput, shown
from .given import Moment
from .graph import Seeing
from .graphs import Entity, EntityChange, Graph, Scope
from .recorder import traced
from .reported import Reported, id_of, limit_of
from .trail import note
from .types import Memory

DEEPEST = 4
MOST = 5_000


class Graphed(Reported):
    """A profile of this process's data folder, as far as its memories hang together."""

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
        """An entity with its neighbours, or with all that is no more than `depth` links away; without one, those that
        most memories mention.

        `as_of` shows what was known at a moment. With `past`, links that have ended since are there too. No more than
        `limit` entities: `truncated` says whether there are more.
        """
        if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= DEEPEST:
            raise InvalidInput(f"depth is {shown(depth)}; give 1 to {DEEPEST}.", field="depth")
        most = limit_of(limit, MOST)
        seen = await self._seeing(as_of, past)
        found = await (graph.whole(seen, most) if entity is None else graph.around(seen, entity, depth, most))
        note(entities=len(found.entities), links=len(found.links))
        return found

    @traced
    async def path(self, start: str, end: str, *, as_of: Moment | None = None, past: bool = False) -> Graph:
        """The shortest way between two entities, in order; without entities when there is none."""
        return await graph.path(await self._seeing(as_of, past), start, end)

    @traced
    async def entities(
        self,
        query: str | None = None,
        *,
        type: str | None = None,
        as_of: Moment | None = None,
        limit: int = 100,
    ) -> tuple[Entity, ...]:
        """Who and what memories mention, most mentioned first; with `query`, those with that in one of their names."""
        most = limit_of(limit, MOST)
        seen = await self._seeing(as_of, False)
        found = await graph.listed(seen, query)
        described = (await seen.described(found if type is not None else found[:most])).values()
        return tuple([each for each in described if type in (None, each.type)][:most])

    @traced
    async def about(self, entity: str, *, as_of: Moment | None = None, limit: int = 20) -> tuple[Memory, ...]:
        """The memories that mention an entity, by any of its names, newest first."""
        return tuple(await graph.about(await self._seeing(as_of, False), entity, limit_of(limit)))

    @traced
    async def merge_entities(self, into: str, others: Sequence[str], *, name: str | None = None) -> EntityChange:
        """Have other names, mentioned or not, be names of one entity; `name` is how to write it from now on."""
        listed = [others] if isinstance(others, str) else list(others)
        change = self._change("merge", name)
        return await entity_changes.merged(await self._seeing(None, True), into, listed, change)

    @traced
    async def split_entity(
        self, entity: str, name: str, *, names: Sequence[str] = (), memories: Sequence[str] = ()
    ) -> EntityChange:
        """Have some of an entity's names, or what some memories mention by its name, be another one, called `name`."""
        change, taken = self._change("split", name), (tuple(names), tuple(memories))
        return await entity_changes.split(await self._seeing(None, True), entity, taken, change)

    async def entity_changes(self) -> tuple[EntityChange, ...]:
        """What was decided about entities and not undone, oldest first."""
        return tuple(await (await self._read()).graph.changes())

    @traced
    async def undo_entity_change(self, id: str | None = None) -> EntityChange:
        """Take back a merge or a split, or the last one: everything is as if it had not been."""
        return await entity_changes.undone(await self._store(), None if id is None else id_of(id))

    def _change(self, act: str, shown_as: str | None) -> EntityChange:
        now = self._holdfast._clock()
        written = "" if shown_as is None else " ".join(names.text(shown_as, "name", limit=200).split())
        return EntityChange(names.memory_id(now), now, "merge" if act == "merge" else "split", "", shown=written)

    async def _seeing(self, as_of: Moment | None, past: bool) -> Seeing:
        then = None if as_of is None else moments.moment(as_of, "as_of")
        return await graph.seeing(await self._read(), Scope(self._holdfast._clock(), then, past))
