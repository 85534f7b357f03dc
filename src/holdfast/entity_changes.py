"""Decide which names are whose, and take it back.

A decision is a row of its own, in a sequence that identity.py reads. Nothing that memories say is touched by it, so
that taking it back brings back exactly what was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .errors import InvalidInput, NotFound, shown
from .graph import MOST_NAMES, Seeing, known, name_of
from .graphs import EntityChange
from .ports import Store


async def merged(seen: Seeing, into: str, others: Sequence[str], change: EntityChange) -> EntityChange:
    """The change that makes other names, mentioned or not, names of one entity."""
    entity = await known(seen, into, "into")
    names = [name for other in others if (name := seen.identity.of(name_of(other, "others"))) != entity]
    if not names:
        raise InvalidInput("There is nothing to merge.", field="others", fix="Name another entity, or another name.")
    made = replace(change, entity=entity, names=tuple(dict.fromkeys(names)))
    await seen.store.graph.keep(made)
    return made


async def split(
    seen: Seeing, entity: str, taken: tuple[Sequence[str], Sequence[str]], change: EntityChange
) -> EntityChange:
    """The change that makes some of an entity's names, or its mentions in some memories, another entity's."""
    start, into = await known(seen, entity), name_of(change.shown, "name")
    names, memories = tuple(name_of(name, "names") for name in taken[0]), tuple(taken[1])
    mentions = await seen.mentions(start, MOST_NAMES)
    for field, given, had in (
        ("names", names, {*seen.identity.names(start)}),
        ("memories", memories, {each.memory for each in mentions}),
    ):
        for each in given:
            if each not in had:
                raise NotFound(f"{shown(each)} is none of the {field} of {shown(entity)}.", field=field)
    if not names and not memories:
        raise InvalidInput("Say which names, or which memories, are of another entity.", field="memories")
    if into == start:
        raise InvalidInput(f"{shown(change.shown)} is its name already; give the other one another.", field="name")
    made = replace(change, entity=start, into=into, names=names, memories=memories)
    await seen.store.graph.keep(made)
    return made


async def undone(store: Store, id: str | None) -> EntityChange:
    """The change that is taken back: this one, or the last."""
    changes = await store.graph.changes()
    found = [change for change in changes if id in (None, change.id)]
    if not found or not await store.graph.undo(found[-1].id):
        raise NotFound(f"There is no change {shown(id)}." if id else "There is no change to undo.", field="id")
    return found[-1]
