"""The command that makes a client use this Holdfast. Shows what it would write; writes with --write; --undo reverts.

A file that cannot be read as what it should be is left alone. Before the first change a copy is put beside the file;
a file that nobody else has changed since goes back to that copy, in any other only our own entries are removed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidInput, ReadOnly, shown
from . import splice
from .clients import CLIENTS, CURSOR_EVENTS, EVENTS, NAME, Client, entry, hook, is_our_hook, is_secret, masked
from .output import Block, Note, Reply
from .place import Place, add

COPY = ".holdfast-backup"
MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of one file."""

    file: Path
    change: Callable[[str], str]
    revert: Callable[[str], str]
    shows: str
    """The entry as a person would write it."""


def connect(
    place: Place,
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")],
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", envvar="HOLDFAST_URL", help="A secret URL; without, `holdfast mcp` runs."),
    ] = None,
    hooks: Annotated[
        bool, typer.Option("--hooks", help="Also remember by itself, through the client's hooks.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write it; otherwise only show.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put the client's settings back.")] = False,
) -> Reply:
    """Make a client use this Holdfast: show its settings, or write them.

    Nothing is changed without --write or --undo. A copy of each file is kept beside it.
    """
    if client not in CLIENTS:
        raise InvalidInput(f"{shown(client)} is no known client; use one of {', '.join(CLIENTS)}.", field="client")
    if undo and (write or hooks):
        raise InvalidInput("--undo goes alone.", field="undo")
    if url is not None and not is_secret(url):
        raise InvalidInput(
            "That is no secret URL.",
            field="url",
            fix="It looks like http://127.0.0.1:8420/s/…; `holdfast serve` prints one.",
        )
    known = CLIENTS[client]
    if url is not None and not known.remote:
        raise InvalidInput(
            f"The settings of {known.title} name programs, not URLs.",
            field="url",
            fix="Leave --url out: `holdfast mcp` finds this machine's server. Add others in the app, as a connector.",
        )
    if hooks and known.hooks is None:
        raise InvalidInput(f"{known.title} runs no hooks.", field="hooks", fix="Leave --hooks out.")
    if undo:
        return _undone(client, known)
    plans = [_server_plan(known, url, _environment(place)), *([_hook_plan(client, known)] if hooks else [])]
    done = [(plan, _carried_out(plan) if write else _tried(plan)) for plan in plans]
    return _reply(client, known, done, written=write)


def _environment(place: Place) -> dict[str, str]:
    """What of our settings the client must hand on."""
    given = {"HOLDFAST_DATA": place.data or os.environ.get("HOLDFAST_DATA")}
    given |= {"HOLDFAST_NAMESPACE": place.namespace if place.namespace != "default" else None}
    given |= {"HOLDFAST_PROFILE": place.profile if place.profile != "default" else None}
    return {name: value for name, value in given.items() if value}


def _server_plan(client: Client, url: str | None, environment: dict[str, str]) -> Plan:
    file, path = client.file(), (client.under, NAME)
    ours = entry(client, url, environment)
    if file.suffix == ".toml":
        return Plan(
            file,
            lambda text: text if splice.table(text, path) == ours else splice.put_table(text, path, ours),
            lambda text: splice.without_table(text, path),
            splice.put_table("", path, ours).strip(),
        )
    return Plan(
        file,
        lambda text: text if splice.held(text, path) == ours else splice.put(text, path, ours),
        lambda text: splice.without(text, path[:1], lambda child: child.key == NAME),
        json.dumps({client.under: {NAME: ours}}, indent=2),
    )


def _hook_plan(name: str, client: Client) -> Plan:
    assert client.hooks is not None
    events = CURSOR_EVENTS if name == "cursor" else EVENTS
    version = {"version": 1} if name == "cursor" else {}

    def change(text: str) -> str:
        for key, value in version.items():
            text = text if splice.held(text, (key,)) is not None else splice.put(text, (key,), value)
        for event in events:
            there, ours = splice.held(text, ("hooks", event)), hook(name, event)
            mine = [item for item in there if is_our_hook(item)] if isinstance(there, list) else []
            if mine != [ours]:
                text = splice.without(text, ("hooks", event), lambda child: is_our_hook(child.node.value))
                text = splice.append(text, ("hooks", event), ours)
        return text

    def revert(text: str) -> str:
        for event in events:
            text = splice.without(text, ("hooks", event), lambda child: is_our_hook(child.node.value))
            if splice.held(text, ("hooks", event)) == []:
                text = splice.without(text, ("hooks",), lambda child, event=event: child.key == event)  # type: ignore[misc]
        return text

    shows = json.dumps({**version, "hooks": {event: [hook(name, event)] for event in events}}, indent=2)
    return Plan(client.hooks(), change, revert, shows)


def _tried(plan: Plan) -> bool:
    """Whether it would change anything."""
    before = _read(plan.file)
    return _changed(plan, before or "", plan.change) != (before or "")


def _carried_out(plan: Plan) -> bool:
    file = _resolved(plan.file)
    before = _read(file)
    after = _changed(plan, before or "", plan.change)
    if after == before:
        return False
    if _changed(plan, before or "", plan.revert) == (before or "") or not _copy(file).exists():  # not ours yet
        _replace(_copy(file), before or "", like=file)
    _replace(file, after, like=file, seen=before)
    return True


def _undone(name: str, client: Client) -> Reply:
    plans = [_server_plan(client, None, {}), *([_hook_plan(name, client)] if client.hooks else [])]
    files = [{"file": str(plan.file), "what": _put_back(plan)} for plan in plans]
    said = tuple(f"{each['file']}: {each['what']}." for each in files)
    return Reply({"client": name, "undone": files}, said)


def _put_back(plan: Plan) -> str:
    file = _resolved(plan.file)
    now, before = _read(file), _read(_copy(file))
    if now is None:
        return "not there"
    cleaned = _changed(plan, now, plan.revert)
    if cleaned == now:
        return "nothing of ours in it"
    if before is not None and _untouched(plan, before, now):
        if before:
            _replace(file, before, like=_copy(file), seen=now)
        else:
            file.unlink()
        what = "as it was before" if before else "removed, as it was not there before"
    else:
        _replace(file, cleaned, like=file, seen=now)
        what = "changed since, so only our entry was removed"
    with suppress(OSError):
        _copy(file).unlink()
    return what


def _untouched(plan: Plan, before: str, now: str) -> bool:
    """Whether what is there now is the copy and what we once added to it, whatever that said."""
    try:
        return _changed(plan, now, plan.revert) == _changed(plan, _changed(plan, before, plan.change), plan.revert)
    except InvalidInput:
        return False


def _changed(plan: Plan, text: str, change: Callable[[str], str]) -> str:
    mark = MARK if text.startswith(MARK) else ""
    try:
        return mark + change(text.removeprefix(mark))
    except splice.Broken as broken:
        raise InvalidInput(
            f"{plan.file} cannot be changed safely: {broken}. It was left alone.",
            field="client",
            fix="Repair the file, or add this by hand: " + " ".join(masked(plan.shows).split()),
        ) from None


def _resolved(file: Path) -> Path:
    """Where a link leads: replacing must not turn a link into a file."""
    return file.resolve()


def _copy(file: Path) -> Path:
    return file.with_name(file.name + COPY)


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8. It was left alone.", field="client") from None
    except OSError as bad:
        raise ReadOnly(f"{file} cannot be read: {bad.strerror}.") from bad


def _replace(file: Path, text: str, *, like: Path, seen: str | None = None) -> None:
    """Write all of it or nothing. A new file, and one with a secret URL in it, is its owner's only."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        number, made = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(number, "wb") as out:
                out.write(text.encode())
                out.flush()
                os.fsync(out.fileno())
            if like.exists():
                os.chmod(made, like.stat().st_mode & (0o700 if masked(text) != text else 0o777))
            if file.suffix != COPY and _read(file) != seen:
                raise InvalidInput(f"{file} was changed just now. It was left alone.", field="client", fix="Try again.")
            os.replace(made, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(made)
            raise
    except OSError as bad:
        raise ReadOnly(f"{file} cannot be written: {bad.strerror}.", fix="Nothing was changed there.") from bad


def _reply(name: str, client: Client, done: list[tuple[Plan, bool]], *, written: bool) -> Reply:
    blocks: list[Block] = []
    files: list[dict[str, Any]] = []
    for plan, differs in done:
        verb = ("Wrote" if written else "Would write") if differs else "Already in"
        blocks.append(f"{verb} {plan.file}:" if differs else f"{verb} {plan.file}.")
        if differs:
            blocks.append(masked(plan.shows))
        files.append({"file": str(plan.file), "changes": differs, "entry": masked(plan.shows)})
    if written:
        blocks.append(Note(client.then))
    else:
        blocks.append(Note("Nothing was changed. Add --write to write it, and --undo to put it back later."))
    return Reply({"client": name, "written": written, "files": files}, tuple(blocks))


def hooked(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="What happened, as the agent calls it.")],
    client: Annotated[
        str | None, typer.Option("--client", metavar="CLIENT", help="Whose settings say where Holdfast is.")
    ] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", metavar="N", help="How many tokens it may print.")] = None,
) -> int:
    """Run as a coding agent's hook: reads its JSON from stdin, never fails, ends within three seconds."""
    from .hook import run

    return run([event, *(["--client", client] if client else []), *(["--tokens", str(tokens)] if tokens else [])])


def add_to(app: typer.Typer) -> None:
    add(app, "connect", connect)
    app.command("hook", hidden=True)(hooked)
