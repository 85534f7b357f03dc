"""The command about the graph: entities, the links between them, and decisions about names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import CommandTarget, add_command
from holdfast.cli.output import views
from holdfast.cli.output.render import Block, CommandResult, Entry, Remark, Table
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, quoted_value

if TYPE_CHECKING:
    from holdfast.domain.graph import Entity, EntityChange, Graph
    from holdfast.service.sync import Profile

GRAPH_ACTIONS = ("show", "list", "about", "path", "merge", "split", "changes", "undo")
MIN_NAMES = {"about": 1, "path": 2, "merge": 2, "split": 2}


def graph(
    target: CommandTarget,
    action: Annotated[str, Argument(metavar="[" + "|".join(GRAPH_ACTIONS), help="What to do; default: show.")] = "show",
    names: Annotated[
        list[str] | None,
        Argument(metavar="NAME...]", help="Entities, by any of their names; for undo, the id of a change."),
    ] = None,
    depth: Annotated[int, Option(metavar="N", help="show: follow this many links.")] = 1,
    limit: Annotated[int, Option("--limit", metavar="N", help="At most this many.")] = 50,
    as_of: Annotated[str | None, Option("--as-of", metavar="TIME", help="Use what was known at this time.")] = None,
    past: Annotated[bool, Option("--past", help="show, path: include links that have ended.")] = False,
    called: Annotated[str | None, Option("--called", metavar="NAME", help="merge: the name to show.")] = None,
    memory: Annotated[
        list[str] | None,
        Option("--memory", metavar="ID", help="split: a memory that means the new entity; repeatable."),
    ] = None,
    other_name: Annotated[
        list[str] | None, Option("--name", metavar="NAME", help="split: a name of the new entity; repeatable.")
    ] = None,
) -> CommandResult:
    """Show the people and things in memories, and their links.

    show [NAME]: an entity's links, or the most mentioned entities. path A B: how two entities are connected.
    merge INTO NAME…: make several names one entity. split ENTITY NEW: move names or memories to a new entity.
    undo [ID]: undo a merge or split.
    """
    given = names or []
    if action not in GRAPH_ACTIONS:
        raise InvalidInput(f"action is {quoted_value(action)}; use one of {', '.join(GRAPH_ACTIONS)}.", field="action")
    if len(given) < MIN_NAMES.get(action, 0):
        raise InvalidInput(f"Which entity? Give: holdfast graph {action} NAME…", field="names")
    with target.open_profile() as profile:
        if action in ("show", "path"):
            two = action == "path"
            found = (
                profile.path(given[0], given[1], as_of=as_of, past=past) if two
                else profile.graph(given[0] if given else None, depth=depth, as_of=as_of, past=past, limit=limit)
            )  # fmt: skip
            from holdfast.domain.graph import graph_json

            return CommandResult(
                graph_json(found), _graph_table(found, "They are not connected." if two else "No entities yet.")
            )
        if action == "list":
            listed = profile.entities(given[0] if given else None, as_of=as_of, limit=limit)
            return CommandResult({"entities": listed}, _entity_table(listed))
        if action == "about":
            memories = profile.about(given[0], as_of=as_of, limit=limit)
            return CommandResult({"memories": memories}, views.memory_blocks(memories))
        if action == "changes":
            changes = profile.entity_changes()
            return CommandResult(
                {"changes": changes}, tuple(map(_change_entry, changes)) or (Remark("No merges or splits yet."),)
            )
        change = _apply_change(profile, action, given, called, (other_name or [], memory or []))
    undo = target.command_here(f"holdfast graph undo {change.id}")
    return CommandResult(change, (_change_entry(change), Remark(f"To undo: {undo}")))


def _apply_change(
    profile: Profile, action: str, given: list[str], called: str | None, taken: tuple[list[str], list[str]]
) -> EntityChange:
    if action == "merge":
        return profile.merge_entities(given[0], given[1:], name=called)
    if action == "split":
        return profile.split_entity(given[0], given[1], names=taken[0], memories=taken[1])
    return profile.undo_entity_change(given[0] if given else None)


def _graph_table(found: Graph, empty: str) -> tuple[Block, ...]:
    names = {each.id: each.name for each in found.entities}
    if not found.entities:
        return (Remark(empty),)
    if not found.links:
        return _entity_table(found.entities)
    rows = []
    for link in found.links:
        span = " – ".join("" if at is None else f"{at:%Y-%m-%d}" for at in (link.since, link.until)).strip()
        period = "ended" if link.ended and link.until is None else span
        rows.append((names[link.subject], link.relation, names[link.object], "" if period == "–" else period))
    more = (Remark("There are more; raise --limit."),) if found.truncated else ()
    return Table(tuple(rows)), *more


def _entity_table(found: tuple[Entity, ...]) -> tuple[Block, ...]:
    rows = tuple((each.name, each.type, f"{each.memories:,}", ", ".join(each.names)) for each in found)
    return (Table(rows, ("entity", "type", "memories", "also called")),) if rows else (Remark("No entities yet."),)


def _change_entry(change: EntityChange) -> Block:
    if change.act == "merge":
        text = f"{', '.join(change.names)} → {change.entity}"
    else:
        taken = [*change.names, *change.memories]
        text = f"{change.entity} ⇢ {change.shown}: {', '.join(taken)}"
    return Entry(text, f"{change.act} {change.id}")


def add_to(app: Commands) -> None:
    add_command(app, "graph", graph)
