"""The commands about keeping: retention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInput
from .output import Block, Note, Reply, Table
from .place import Place, add
from .tell import count
from .transcript import parsed

if TYPE_CHECKING:
    from ..retention import Retained

Rules = Annotated[
    str | None, typer.Option("--set", metavar="JSON|FILE", help="Lay these rules down; none removes them.")
]


def retention(
    place: Place,
    set: Rules = None,
    everywhere: Annotated[bool, typer.Option("--namespace-wide", help="For every profile of the namespace.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do now what the rules say.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
) -> Reply:
    """Show, lay down and apply the rules for what is kept how long.

    The worker applies them every hour; --dry-run shows what it would take.
    """
    with place.folder() as holdfast:
        memory = holdfast.profile(place.namespace, place.profile)
        if set is not None:
            rules = _rules(set)
            if everywhere:
                holdfast.set_namespace_retention(place.namespace, rules)
            else:
                memory.set_retention(rules)
        if apply or dry_run:
            done = memory.apply_retention(dry_run=dry_run)
            return Reply({"retained": done}, _told(done, "would go" if dry_run else "went"))
        held = memory.retention()
    shown = _shown(held) if held else (Note("Everything is kept."),)
    return Reply({"retention": held}, shown)


def _rules(given: str) -> Any:
    if given == "none":
        return None
    text = given if given.lstrip().startswith("{") else _read(Path(given))
    return parsed(text, "set", "retention")


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as bad:
        raise InvalidInput(
            f"{file} cannot be read: {bad.strerror}.", field="set", fix="Give a file, or the rules themselves as JSON."
        ) from None
    except UnicodeDecodeError as bad:
        raise InvalidInput(f"{file} is not valid UTF-8 at byte {bad.start}.", field="set") from None


def _shown(held: Any) -> tuple[Block, ...]:
    rows = [(f"new {kind}", f"expires after {after}") for kind, after in held.get("ttl", {}).items()]
    for rule in held.get("forget", []):
        limit = next(name for name in rule if name != "kind")
        rows.append((rule["kind"], f"{limit.replace('_', ' ')} {rule[limit]}"))
    return (Table(tuple(rows), ("what", "how long")),)


def _told(done: tuple[Retained, ...], verb: str) -> tuple[Block, ...]:
    if not done:
        return (Note("There are no rules."),)
    return tuple(
        f"{each.rule}: {count(each.memories, 'memory')} and {count(each.messages, 'message')} {verb}." for each in done
    )


def add_to(app: typer.Typer) -> None:
    add(app, "retention", retention)
