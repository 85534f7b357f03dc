"""The command about notes on files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInput, shown
from .output import Block, Entry, Note, Reply
from .place import Place, add
from .views import minute

if TYPE_CHECKING:
    from ..notes import Note as OnPath
    from ..sync import Notes

ACTIONS = ("list", "enter", "read", "write", "search", "history", "move", "remove")


def notes(
    place: Place,
    action: Annotated[str, typer.Argument(metavar="|".join(ACTIONS), help="What to do.")] = "list",
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A file or folder; relative to this one.")] = ".",
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The note, the question, or where to.")] = None,
    tokens: Annotated[int, typer.Option("--tokens", metavar="N", help="How long what `enter` prints may be.")] = 1000,
    recursive: Annotated[bool, typer.Option("--recursive", help="Remove those on everything in it too.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Who writes this.")] = None,
) -> Reply:
    """Notes on files and folders: `enter` tells what was going on in one."""
    from ..sync import Notes

    if action not in ACTIONS:
        raise InvalidInput(f"action is {shown(action)}; use one of {', '.join(ACTIONS)}.", field="action")
    if (text is None) == (action in ("write", "search", "move")):
        raise InvalidInput(f"Give: holdfast notes {action} {_usage(action)}", field="text")
    where, more = os.path.abspath(path), text or ""
    with place.memory() as memory:
        held = Notes(memory, root="/")
        if action == "enter":
            found = held.entering(where, tokens=tokens)
            return Reply(found, (found.text or Note(f"No notes in {where}."),))
        if action == "read":
            read = held.read(where)
            return Reply({"note": read}, _told([] if read is None else [read], where))
        if action == "remove":
            gone = held.remove(where, recursive=recursive)
            return Reply({"removed": gone}, (f"Removed {gone} note{'' if gone == 1 else 's'}.",))
        listed = _done(held, action, where, more, agent)
    return Reply({"notes": listed}, _told(listed, where))


def _done(held: Notes, action: str, where: str, text: str, agent: str | None) -> list[OnPath]:
    match action:
        case "write":
            return [held.write(where, text, agent=agent)]
        case "search":
            return held.search(text, under=where)
        case "history":
            return [*held.history(where)]
        case "move":
            return [*held.move(where, os.path.abspath(text))]
        case _:
            return held.list(where)


def _usage(action: str) -> str:
    return {"write": "PATH TEXT", "search": "PATH QUESTION", "move": "PATH PATH"}.get(action, "PATH")


def _told(found: Iterable[OnPath], where: str) -> tuple[Block, ...]:
    entries = tuple(
        Entry(note.text, f"{note.path} · v{note.version} · {minute(note.written_at)}", "•") for note in found
    )
    return entries or (Note(f"No notes on {where}."),)


def add_to(app: typer.Typer) -> None:
    add(app, "notes", notes)
