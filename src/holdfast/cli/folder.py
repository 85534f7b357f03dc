"""The commands about the data folder and this installation: profiles, namespaces, stats, doctor, demo, version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from ..errors import InvalidInput, NotFound, shown
from . import views
from .output import Block, Note, Reply, Table
from .place import Place, add
from .tell import Yes, confirm

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


def profiles(place: Place) -> Reply:
    """List a namespace's profiles."""
    with place.folder() as holdfast:
        try:
            found = holdfast.profiles(place.namespace)
        except NotFound:  # a namespace comes with its first profile
            found = []
    rows = tuple((each.name, views.minute(each.created_at)) for each in found)
    blocks: tuple[Block, ...] = (Table(rows, ("profile", "created")),) if rows else (Note("No profiles yet."),)
    return Reply({"profiles": found}, blocks)


def namespaces(
    place: Place,
    action: Annotated[str | None, typer.Argument(metavar="[create|delete", help="What to do; lists without.")] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME]", help="Which namespace.")] = None,
    yes: Yes = False,
) -> Reply:
    """List, create or delete namespaces.

    Deleting one deletes every profile in it and destroys their keys.
    """
    if action is None:
        return _all_namespaces(place)
    if action not in ("create", "delete"):
        raise InvalidInput(f"{shown(action)} is nothing to do with namespaces; use create or delete.", field="action")
    if name is None:
        raise InvalidInput(f"Which namespace? Give: holdfast namespaces {action} NAME", field="name")
    if action == "create":
        with place.folder() as holdfast:
            made = holdfast.create_namespace(name)
        return Reply(made, (f"Created namespace {name!r}.",))
    question = f"Delete namespace {name!r} with every profile in it and destroy their keys?"
    if not confirm(question, yes=yes, as_json=place.as_json):
        return Reply(None, (Note("Nothing was deleted."),))
    with place.folder() as holdfast:
        holdfast.delete_namespace(name)
    return Reply({"namespace": name, "deleted": True}, (f"Deleted namespace {name!r}.",))


def stats(place: Place) -> Reply:
    """Count what a profile holds."""
    with place.memory() as memory:
        found = memory.stats()
    return Reply(found, views.stats(found))


def doctor(place: Place) -> Reply:
    """Check everything and say how to fix what is wrong.

    Libraries, model, keys, every file, waiting work. Changes nothing; exit status 1 when something failed.
    """
    from ..doctor import findings

    found = findings(place.data)
    failed = sum(finding.level == "fail" for finding in found)
    warned = sum(finding.level == "warn" for finding in found)
    blocks: list[Block] = []
    for finding in found:
        blocks.append(f"{MARKS[finding.level]} {finding.what}")
        blocks += [Note(f"  → {finding.fix}")] if finding.fix else []
    blocks.append(Note(f"{len(found)} checks: {failed} failed, {warned} to look at."))
    return Reply({"ok": not failed, "findings": found}, tuple(blocks), exit=1 if failed else 0)


def demo(place: Place) -> Reply:
    """Watch three short conversations become memory.

    In a temporary folder, or in the one given with --data.
    """
    from .demo import played

    if place.data is not None and "://" in place.data:
        raise InvalidInput("The demo plays in a folder.", field="data", fix="Give --data DIR, or nothing.")
    return played(None if place.data is None else Path(place.data), quiet=place.as_json)


def version(_: Place) -> Reply:
    """Show the version."""
    return Reply({"version": __version__}, (f"holdfast {__version__}",))


def add_to(app: typer.Typer) -> None:
    add(app, "profiles", profiles)
    add(app, "namespaces", namespaces)
    add(app, "stats", stats)
    add(app, "doctor", doctor)
    add(app, "demo", demo)
    add(app, "version", version)


def _all_namespaces(place: Place) -> Reply:
    with place.folder() as holdfast:
        found = holdfast.namespaces()
    rows = tuple((each.name, views.minute(each.created_at)) for each in found)
    blocks: tuple[Block, ...] = (Table(rows, ("namespace", "created")),) if rows else (Note("No namespaces yet."),)
    return Reply({"namespaces": found}, blocks)
