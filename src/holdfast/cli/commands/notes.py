"""The command about notes on files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import CommandTarget, Writer, add_command
from holdfast.cli.output.render import Block, CommandResult, Entry, Remark
from holdfast.cli.output.views import count, minute_text
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, quoted_value

if TYPE_CHECKING:
    from holdfast.service.facades.notes import Note as OnPath
    from holdfast.service.sync import Notes

NOTE_ACTIONS = ("list", "enter", "read", "write", "search", "history", "move", "remove")


def notes(
    target: CommandTarget,
    action: Annotated[str, Argument(metavar="|".join(NOTE_ACTIONS), help="What to do.")] = "list",
    path: Annotated[str, Argument(metavar="[PATH]", help="A file or folder; relative to the working directory.")] = ".",
    text: Annotated[
        str | None, Argument(metavar="[TEXT]", help="write: the note. search: the question. move: the new path.")
    ] = None,
    tokens: Annotated[int, Option("--tokens", metavar="N", help="enter: print at most this many tokens.")] = 1000,
    recursive: Annotated[
        bool, Option("--recursive", help="remove: also remove the notes on everything in the folder.")
    ] = False,
    agent: Writer = None,
) -> CommandResult:
    """Manage notes on files and folders. `enter` prints the notes in a folder within a token budget."""
    from holdfast.service.sync import Notes

    if action not in NOTE_ACTIONS:
        raise InvalidInput(f"action is {quoted_value(action)}; use one of {', '.join(NOTE_ACTIONS)}.", field="action")
    if (text is None) == (action in ("write", "search", "move")):
        raise InvalidInput(f"Usage: holdfast notes {action} {_arguments_text(action)}", field="text")
    where, more = os.path.abspath(path), text or ""
    with target.open_profile(create=action == "write") as profile:
        notes = Notes(profile, root="/")
        if action == "enter":
            found = notes.entering(where, tokens=tokens)
            return CommandResult(found, (found.text or Remark(f"No notes in {where}."),))
        if action == "read":
            read = notes.read(where)
            return CommandResult({"note": read}, _note_entries([] if read is None else [read], where))
        if action == "remove":
            gone = notes.remove(where, recursive=recursive)
            return CommandResult({"removed": gone}, (f"Removed {count(gone, 'note')}.",))
        listed = _run_action(notes, action, where, more, agent)
    return CommandResult({"notes": listed}, _note_entries(listed, where))


def _run_action(notes: Notes, action: str, where: str, text: str, agent: str | None) -> list[OnPath]:
    match action:
        case "write":
            return [notes.write(where, text, agent=agent)]
        case "search":
            return notes.search(text, under=where)
        case "history":
            return [*notes.history(where)]
        case "move":
            return [*notes.move(where, os.path.abspath(text))]
        case _:
            return notes.list(where)


def _arguments_text(action: str) -> str:
    return {"write": "PATH TEXT", "search": "PATH QUESTION", "move": "PATH NEW_PATH"}.get(action, "PATH")


def _note_entries(found: Iterable[OnPath], where: str) -> tuple[Block, ...]:
    entries = tuple(
        Entry(note.text, f"{note.path} · v{note.version} · {minute_text(note.written_at)}", "•") for note in found
    )
    return entries or (Remark(f"No notes on {where}."),)


def add_to(app: Commands) -> None:
    add_command(app, "notes", notes)
