"""The command about kinds that have schemas: list, show, register, migrate, rollback, drop."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import CommandTarget, Yes, add_command
from holdfast.cli.output.render import Block, CommandResult, Remark, Table
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput, quoted_value

if TYPE_CHECKING:
    from holdfast.domain.reports import KindInfo, Migrated

KIND_ACTIONS = ("list", "show", "register", "migrate", "rollback", "drop")
FAILED_EXIT = 1


def kinds(
    target: CommandTarget,
    action: Annotated[str, Argument(metavar="[" + "|".join(KIND_ACTIONS), help="What to do; default: list.")] = "list",
    kind: Annotated[str | None, Argument(metavar="KIND]", help="The kind.")] = None,
    schema: Annotated[Path | None, Option(metavar="FILE", help="register: the JSON Schema.")] = None,
    version: Annotated[int, Option("--version", metavar="N", help="register: the version number.")] = 1,
    reverse: Annotated[
        Path | None, Option(metavar="FILE", help="register: the mapping back to the previous version.")
    ] = None,
    to: Annotated[int | None, Option("--to", metavar="N", help="migrate, rollback: the target version.")] = None,
    by: Annotated[
        Path | None, Option("--with", metavar="FILE", help="migrate: a mapping.json or a migration.py.")
    ] = None,
    force: Annotated[bool, Option("--force", help="drop: even if it has memories.")] = False,
    yes: Yes = False,
) -> CommandResult:
    """Manage schemas of kinds, and migrate between their versions.

    migrate and rollback show what they would change; --yes applies it. Repeat an interrupted migration to continue it.
    """
    if action not in KIND_ACTIONS:
        raise InvalidInput(f"action is {quoted_value(action)}; use one of {', '.join(KIND_ACTIONS)}.", field="action")
    if action == "list":
        return _list_kinds(target)
    if kind is None:
        raise InvalidInput(f"Which kind? Give: holdfast kinds {action} KIND", field="kind")
    if action in ("show", "register", "drop"):
        return _run_on_kind(target, action, kind, schema, version, reverse, force)
    if to is None:
        raise InvalidInput(f"To which version? Give: holdfast kinds {action} {kind} --to N", field="to")
    using = None if by is None or action == "rollback" else _load_migration(by)
    with target.open_profile() as profile:
        if action == "rollback":
            done = profile.rollback_kind(kind, to=to, dry_run=not yes)
        else:
            done = profile.migrate_kind(kind, to=to, using=using, dry_run=not yes)
        profile.settle(2.0)
    return CommandResult(done, _migration_report(done), FAILED_EXIT if done.failed else 0)


def _list_kinds(target: CommandTarget) -> CommandResult:
    with target.open_profile() as profile:
        found = profile.kinds()
    rows = tuple((each.kind, str(each.current), ", ".join(str(v.version) for v in each.versions)) for each in found)
    blocks: tuple[Block, ...] = (
        (Table(rows, ("kind", "current", "versions")),) if rows else (Remark("No kind has a schema."),)
    )
    return CommandResult({"kinds": found}, blocks)


def _run_on_kind(
    target: CommandTarget, action: str, kind: str, schema: Path | None, version: int, reverse: Path | None, force: bool
) -> CommandResult:
    if action == "show":
        with target.open_profile() as profile:
            found = profile.kind(kind)
        return CommandResult(found, _kind_details(found))
    if action == "drop":
        with target.open_profile() as profile:
            gone = profile.drop_kind(kind, force=force)
        return CommandResult(
            {"dropped": gone}, (f"{kind} no longer has a schema." if gone else Remark(f"{kind} had no schema."),)
        )
    if schema is None:
        raise InvalidInput("Which schema? Give --schema FILE.", field="schema")
    given = _load_json(schema, "schema")
    back = None if reverse is None else _load_json(reverse, "reverse")
    with target.open_profile(create=True) as profile:
        registered = profile.register_kind(kind, given, version=version, reverse=back)
    line = f"Registered version {version} of {kind}; new values must match version {registered.current}."
    next_step = Remark(f"To migrate: holdfast kinds migrate {kind} --to {version}")
    return CommandResult(registered, (line,) if registered.current == version else (line, next_step))


def _kind_details(found: KindInfo) -> tuple[Block, ...]:
    current = next(each for each in found.versions if each.version == found.current)
    rows = [("current", str(found.current)), ("versions", ", ".join(str(each.version) for each in found.versions))]
    rows += [] if found.migrating is None else [("migrating", f"to version {found.migrating}")]
    rows += [
        ("memories", f"{number:,} {f'at version {at}' if at else 'without a version'}")
        for at, number in sorted(found.memories.items())
    ]
    return Table(tuple(rows)), Remark(json.dumps(current.schema, indent=2, ensure_ascii=False))


def _migration_report(done: Migrated) -> tuple[Block, ...]:
    verb = "Would migrate" if done.dry_run else "Migrated"
    line = f"{verb} {count(done.migrated, 'memory')} of {done.kind} to version {done.to}"
    line += f"; {done.already:,} already at that version"
    line += f", {done.left:,} at other versions" if done.left else ""
    blocks: list[Block] = [f"{line}, {done.failed:,} failed."]
    for each in done.differences:
        blocks += [Remark(each.key or each.id), f"- {_json_line(each.before)}", f"+ {_json_line(each.after)}"]
    blocks += [f"✗ {each.key or each.id}: {each.reason}" for each in done.failures]
    if done.undone:
        blocks.append(Remark(f"{count(len(done.undone), 'later edit')} moved to the history."))
    if done.dry_run:
        blocks.append(Remark("Nothing was changed. Add --yes to apply this."))
    return tuple(blocks)


def _json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _load_migration(file: Path) -> Any:
    """A mapping; or the function of a Python file. The file runs in this process, with all rights of the user."""
    if file.suffix != ".py":
        return _load_json(file, "with")
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file.", field="with")
    found = runpy.run_path(str(file)).get("migrate")
    if not callable(found):
        raise InvalidInput(f"{file} has no function migrate(value).", field="with")
    return found


def _load_json(file: Path, field: str) -> Any:
    try:
        return parse_json(file.read_text("utf-8"), field, str(file))
    except OSError as bad:
        raise InvalidInput(f"{file} cannot be read: {bad.strerror}.", field=field) from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not valid UTF-8.", field=field) from None


def add_to(app: Commands) -> None:
    add_command(app, "kinds", kinds)
