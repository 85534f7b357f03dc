"""The command about kinds with schemas: list, show, register, migrate, rollback, drop."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInput, shown
from .output import Block, Note, Reply, Table
from .place import Place, add
from .tell import Yes, count
from .transcript import parsed

if TYPE_CHECKING:
    from ..kinds import KindInfo
    from ..migrate import Migrated

ACTIONS = ("list", "show", "register", "migrate", "rollback", "drop")
FAILED = 1


def kinds(
    place: Place,
    action: Annotated[str, typer.Argument(metavar="[" + "|".join(ACTIONS), help="What to do; lists without.")] = "list",
    kind: Annotated[str | None, typer.Argument(metavar="KIND]", help="Which kind.")] = None,
    schema: Annotated[Path | None, typer.Option(metavar="FILE", help="register: its JSON Schema.")] = None,
    version: Annotated[int, typer.Option("--version", metavar="N", help="register: as which version.")] = 1,
    reverse: Annotated[
        Path | None, typer.Option(metavar="FILE", help="register: the mapping to the version before.")
    ] = None,
    to: Annotated[int | None, typer.Option("--to", metavar="N", help="migrate, rollback: to which version.")] = None,
    by: Annotated[
        Path | None, typer.Option("--with", metavar="FILE", help="migrate: a mapping.json or a migration.py.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="drop: although it has memories.")] = False,
    yes: Yes = False,
) -> Reply:
    """Schemas of kinds, and migrations between their versions.

    migrate and rollback show what they would do; with --yes they do it, and go on where they were interrupted.
    """
    if action not in ACTIONS:
        raise InvalidInput(f"{shown(action)} is nothing to do with kinds; use {', '.join(ACTIONS)}.", field="action")
    if action == "list":
        return _listed(place)
    if kind is None:
        raise InvalidInput(f"Which kind? Give: holdfast kinds {action} KIND", field="kind")
    if action in ("show", "register", "drop"):
        return _one(place, action, kind, schema, version, reverse, force)
    if to is None:
        raise InvalidInput(f"To which version? Give: holdfast kinds {action} {kind} --to N", field="to")
    using = None if by is None or action == "rollback" else _using(by)
    with place.memory() as memory:
        if action == "rollback":
            done = memory.rollback_kind(kind, to=to, dry_run=not yes)
        else:
            done = memory.migrate_kind(kind, to=to, using=using, dry_run=not yes)
        memory.settle(2.0)
    return Reply(done, _report(done), FAILED if done.failed else 0)


def _listed(place: Place) -> Reply:
    with place.memory() as memory:
        found = memory.kinds()
    rows = tuple((each.kind, str(each.current), ", ".join(str(v.version) for v in each.versions)) for each in found)
    blocks: tuple[Block, ...] = (
        (Table(rows, ("kind", "current", "versions")),) if rows else (Note("No kind has a schema."),)
    )
    return Reply({"kinds": found}, blocks)


def _one(
    place: Place, action: str, kind: str, schema: Path | None, version: int, reverse: Path | None, force: bool
) -> Reply:
    if action == "show":
        with place.memory() as memory:
            found = memory.kind(kind)
        return Reply(found, _shown(found))
    if action == "drop":
        with place.memory() as memory:
            gone = memory.drop_kind(kind, force=force)
        return Reply({"dropped": gone}, (f"{kind} has no schema any more." if gone else Note("It had no schema."),))
    if schema is None:
        raise InvalidInput("Which schema? Give --schema FILE.", field="schema")
    given = _json(schema, "schema")
    back = None if reverse is None else _json(reverse, "reverse")
    with place.memory() as memory:
        made = memory.register_kind(kind, given, version=version, reverse=back)
    held = f"Registered version {version} of {kind}; new values must keep version {made.current}."
    next_step = Note(f"To get there: holdfast kinds migrate {kind} --to {version}")
    return Reply(made, (held,) if made.current == version else (held, next_step))


def _shown(found: KindInfo) -> tuple[Block, ...]:
    current = next(each for each in found.versions if each.version == found.current)
    rows = [("current", str(found.current)), ("versions", ", ".join(str(each.version) for each in found.versions))]
    rows += [] if found.migrating is None else [("under way", f"to {found.migrating}")]
    rows += [
        ("memories", f"{number:,} {f'at version {at}' if at else 'of no version'}")
        for at, number in sorted(found.memories.items())
    ]
    return Table(tuple(rows)), Note(json.dumps(current.schema, indent=2, ensure_ascii=False))


def _report(done: Migrated) -> tuple[Block, ...]:
    verb = "Would bring" if done.dry_run else "Brought"
    told = (
        f"{verb} {count(done.migrated, 'memory')} of {done.kind} to version {done.to}; {done.already:,} there already"
    )
    told += f", {done.left:,} of other versions" if done.left else ""
    blocks: list[Block] = [f"{told}, {done.failed:,} failed."]
    for each in done.differences:
        blocks += [Note(each.key or each.id), f"- {_line(each.before)}", f"+ {_line(each.after)}"]
    blocks += [f"✗ {each.key or each.id}: {each.reason}" for each in done.failures]
    if done.undone:
        blocks.append(Note(f"{count(len(done.undone), 'later edit')} only in the history now."))
    if done.dry_run:
        blocks.append(Note("Nothing was changed. To do it, add --yes."))
    return tuple(blocks)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _using(file: Path) -> Any:
    """A mapping; or the function of a Python file, which runs here, with all that its author may do."""
    if file.suffix != ".py":
        return _json(file, "with")
    if not file.is_file():
        raise InvalidInput(f"{file} is no file.", field="with")
    found = runpy.run_path(str(file)).get("migrate")
    if not callable(found):
        raise InvalidInput(f"{file} has no function migrate(value).", field="with")
    return found


def _json(file: Path, field: str) -> Any:
    try:
        return parsed(file.read_text("utf-8"), field, str(file))
    except OSError as bad:
        raise InvalidInput(f"{file} cannot be read: {bad.strerror}.", field=field) from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not valid UTF-8.", field=field) from None


def add_to(app: typer.Typer) -> None:
    add(app, "kinds", kinds)
