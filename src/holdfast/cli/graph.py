"""The command about entities and links: what hangs together with what, and whose a name is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInput, shown
from . import views
from .output import Block, Entry, Note, Reply, Table
from .place import Place, add

if TYPE_CHECKING:
    from ..graphs import Entity, EntityChange, Graph
    from ..sync import Profile

ACTIONS = ("show", "list", "about", "path", "merge", "split", "changes", "undo")
NEEDS = {"about": 1, "path": 2, "merge": 2, "split": 2}


def graph(
    place: Place,
    action: Annotated[str, typer.Argument(metavar="[" + "|".join(ACTIONS), help="What to do; shows without.")] = "show",
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...]", help="Entities, by any of their names; undo: an id."),
    ] = None,
    depth: Annotated[int, typer.Option(metavar="N", help="show: how many links away.")] = 1,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")] = 50,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="As it was known then.")] = None,
    past: Annotated[bool, typer.Option("--past", help="show, path: with links that have ended.")] = False,
    called: Annotated[str | None, typer.Option("--called", metavar="NAME", help="merge: how to write it.")] = None,
    memory: Annotated[
        list[str] | None,
        typer.Option("--memory", metavar="ID", help="split: a memory that means it; repeatable."),
    ] = None,
    other_name: Annotated[
        list[str] | None, typer.Option("--name", metavar="NAME", help="split: a name that is its; repeatable.")
    ] = None,
) -> Reply:
    """Who and what memories are about, and how they hang together.

    show [NAME] shows an entity's links, or the most mentioned entities; path A B how two are connected; merge INTO
    NAME… makes names one entity's; split ENTITY NEW takes names or memories from one; undo takes the last change back.
    """
    given = names or []
    if action not in ACTIONS:
        raise InvalidInput(f"{shown(action)} is nothing to do with a graph; use {', '.join(ACTIONS)}.", field="action")
    if len(given) < NEEDS.get(action, 0):
        raise InvalidInput(f"Which entity? Give: holdfast graph {action} NAME…", field="names")
    with place.memory() as profile:
        if action in ("show", "path"):
            two = action == "path"
            found = (
                profile.path(given[0], given[1], as_of=as_of, past=past) if two
                else profile.graph(given[0] if given else None, depth=depth, as_of=as_of, past=past, limit=limit)
            )  # fmt: skip
            from ..graphs import drawn

            return Reply(drawn(found), _drawn(found))
        if action == "list":
            listed = profile.entities(given[0] if given else None, as_of=as_of, limit=limit)
            return Reply({"entities": listed}, _listed(listed))
        if action == "about":
            memories = profile.about(given[0], as_of=as_of, limit=limit)
            return Reply({"memories": memories}, views.memories(memories))
        if action == "changes":
            changes = profile.entity_changes()
            return Reply({"changes": changes}, tuple(map(_told, changes)) or (Note("Nothing was decided."),))
        change = _decided(profile, action, given, called, (other_name or [], memory or []))
    return Reply(change, (_told(change), Note(f"To take it back: holdfast graph undo {change.id}")))


def _decided(
    profile: Profile, action: str, given: list[str], called: str | None, taken: tuple[list[str], list[str]]
) -> EntityChange:
    if action == "merge":
        return profile.merge_entities(given[0], given[1:], name=called)
    if action == "split":
        return profile.split_entity(given[0], given[1], names=taken[0], memories=taken[1])
    return profile.undo_entity_change(given[0] if given else None)


def _drawn(found: Graph) -> tuple[Block, ...]:
    names = {each.id: each.name for each in found.entities}
    if not found.entities:
        return (Note("They are not connected."),)
    if not found.links:
        return _listed(found.entities)
    rows = []
    for link in found.links:
        span = " – ".join("" if at is None else f"{at:%Y-%m-%d}" for at in (link.since, link.until)).strip()
        told = "ended" if link.ended and link.until is None else span
        rows.append((names[link.subject], link.relation, names[link.object], "" if told == "–" else told))
    more = (Note("There are more; raise --limit."),) if found.truncated else ()
    return Table(tuple(rows)), *more


def _listed(found: tuple[Entity, ...]) -> tuple[Block, ...]:
    rows = tuple((each.name, each.type, f"{each.memories:,}", ", ".join(each.names)) for each in found)
    return (Table(rows, ("entity", "type", "memories", "also called")),) if rows else (Note("No entities yet."),)


def _told(change: EntityChange) -> Block:
    if change.act == "merge":
        told = f"{', '.join(change.names)} → {change.entity}"
    else:
        taken = [*change.names, *change.memories]
        told = f"{change.entity} ⇢ {change.shown}: {', '.join(taken)}"
    return Entry(told, f"{change.act} {change.id}")


def add_to(app: typer.Typer) -> None:
    add(app, "graph", graph)
