"""What a profile's owner laid down, as it travels: settings, and as one of them what was decided about entities."""

from __future__ import annotations

import json

from . import stored
from .errors import InvalidInput, shown
from .graphs import EntityChange
from .ports import Store
from .records import travels
from .types import Json

DECISIONS = "entity-changes"


async def settings(store: Store) -> dict[str, Json]:
    """By name, without those of the place where the profile lies."""
    held = {name: value for name, value in (await store.journal.settings()).items() if travels(name)}
    decided = [json.loads(stored.entity_change_data(change)) for change in await store.graph.changes()]
    return held | ({DECISIONS: decided} if decided else {})


async def lay_down(store: Store, name: str, value: Json) -> None:
    """Keep it in place of the one before; None removes it."""
    if name != DECISIONS:
        await store.journal.lay_down(name, value)
        return
    wanted = [_decision(each) for each in value or ()]
    if wanted != await store.graph.changes():
        for change in await store.graph.changes():
            await store.graph.undo(change.id)
        for change in wanted:
            await store.graph.keep(change)


def _decision(told: Json) -> EntityChange:
    try:
        found = stored.entity_change(json.dumps(told))
        lists, texts = (found.names, found.memories), (found.id, found.entity, found.into, found.shown)
        sound = all(isinstance(each, str) for group in (*lists, texts) for each in group)
        if found.act not in ("merge", "split") or not sound or found.at.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError, AttributeError, KeyError):
        raise InvalidInput(f"{shown(told)} is no decision about entities.", field=DECISIONS) from None
    return found
