"""Writes and undoes decisions about entities: merge, split.

A decision is a separate row, in a sequence that identity.py reads. It changes no memory, so undoing it restores exactly
the state before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.graph import EntityChange
from holdfast.domain.identifiers import referenced_id
from holdfast.domain.ports.storage import Store
from holdfast.graph.queries import MAX_NAMES, GraphSnapshot, find_entity, validate_name


async def merge_entities(view: GraphSnapshot, into: str, others: Sequence[str], change: EntityChange) -> EntityChange:
    """Make other names, mentioned or not, names of one entity."""
    entity = await find_entity(view, into, "into")
    names = [name for other in others if (name := view.identity.of(validate_name(other, "others"))) != entity]
    if not names:
        raise InvalidInput("There is nothing to merge.", field="others", fix="Name another entity, or another name.")
    made = replace(change, entity=entity, names=tuple(dict.fromkeys(names)))
    await view.store.graph.keep(made)
    return made


async def split_entity(
    view: GraphSnapshot, entity: str, taken: tuple[Sequence[str], Sequence[str]], change: EntityChange
) -> EntityChange:
    """Give some of an entity's names, or its mentions in some memories, to another entity."""
    start, into = await find_entity(view, entity), validate_name(change.shown, "name")
    names = tuple(validate_name(name, "names") for name in taken[0])
    memories = tuple(dict.fromkeys(map(referenced_id, taken[1])))
    mentions = await view.mentions(start, MAX_NAMES)
    for field, given, had in (
        ("names", names, {*view.identity.names(start)}),
        ("memories", memories, {referenced_id(each.memory) for each in mentions}),
    ):
        for each in given:
            if each not in had:
                raise NotFound(
                    f"{quoted_value(each)} is not one of the {field} of {quoted_value(entity)}.", field=field
                )
    if not names and not memories:
        raise InvalidInput("Give the names or the memories that belong to the new entity.", field="memories")
    if into == start:
        raise InvalidInput(
            f"{quoted_value(change.shown)} is already a name of this entity; give the new entity another name.",
            field="name",
        )
    made = replace(change, entity=start, into=into, names=names, memories=memories)
    await view.store.graph.keep(made)
    return made


async def undo_change(store: Store, id: str | None) -> EntityChange:
    """Undo a change: the one with this id, or the latest."""
    changes = await store.graph.changes()
    found = [change for change in changes if id in (None, change.id)]
    if not found or not await store.graph.undo(found[-1].id):
        raise NotFound(f"There is no change {quoted_value(id)}." if id else "There is no change to undo.", field="id")
    return found[-1]
