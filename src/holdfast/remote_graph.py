"""A server's graph of a profile."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .graphs import Graph
from .moments import iso
from .profile import LocalProfile
from .reading import read
from .remote_call import call

if TYPE_CHECKING:
    from .remote import RemoteProfile


class RemoteGraph:
    """A profile of a server, as far as its memories hang together."""

    @functools.wraps(LocalProfile.graph)
    async def graph(self: RemoteProfile, entity: str | None = None, **how: Any) -> Graph:
        return _read(await self._ask("GET", "/graph", None, _query(how | {"entity": entity})))

    @functools.wraps(LocalProfile.path)
    async def path(self: RemoteProfile, start: str, end: str, **how: Any) -> Graph:
        return _read(await self._ask("GET", "/graph/path", None, _query(how | {"start": start, "end": end})))

    entities = call(LocalProfile.entities, "GET", "/entities", "entities")
    about = call(LocalProfile.about, "GET", "/entities/about", "memories")
    merge_entities = call(LocalProfile.merge_entities, "POST", "/entities/merge")
    split_entity = call(LocalProfile.split_entity, "POST", "/entities/split")
    entity_changes = call(LocalProfile.entity_changes, "GET", "/entities/changes", "changes")
    undo_entity_change = call(LocalProfile.undo_entity_change, "POST", "/entities/undo")


def _query(given: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in given.items() if value is not None}
    return {name: iso(value) if isinstance(value, datetime) else value for name, value in told.items()}


def _read(told: dict[str, Any]) -> Graph:
    links = [{**each, "subject": each["from"], "object": each["to"]} for each in told["links"]]
    return read(Graph, told | {"links": links})
