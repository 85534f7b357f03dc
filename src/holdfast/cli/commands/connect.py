"""The command that sets up a client to use this Holdfast, and the command that the client's hooks run.

`connect` shows what it would write; --write writes it; --undo reverts it. It never changes a file that it cannot parse.
Before the first change it puts a copy beside the file. --undo restores that copy if nobody else has changed the file
since; otherwise it removes only our own entries.
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

from holdfast.cli.hooks import config_file
from holdfast.cli.hooks.clients import (
    CLIENTS,
    CURSOR_EVENTS,
    ENTRY_NAME,
    EVENTS,
    Client,
    hook_entry,
    is_our_hook,
    is_secret_url,
    masked_secrets,
    server_entry,
)
from holdfast.cli.options import CommandTarget, add_command
from holdfast.cli.output.render import Block, CommandResult, Remark
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, ReadOnly, quoted_value

BACKUP_SUFFIX = ".holdfast-backup"
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsPlan:
    """The change to one file."""

    file: Path
    change: Callable[[str], str]
    revert: Callable[[str], str]
    shows: str
    """The entry in the form that a person would write."""


def connect(
    target: CommandTarget,
    client: Annotated[str, Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")],
    url: Annotated[
        str | None,
        Option(
            "--url",
            metavar="URL",
            envvar="HOLDFAST_URL",
            help="A secret URL; without one, the client runs `holdfast mcp`.",
        ),
    ] = None,
    hooks: Annotated[bool, Option("--hooks", help="Also add hooks, so that the client remembers by itself.")] = False,
    write: Annotated[bool, Option("--write", help="Write the settings; otherwise only show them.")] = False,
    undo: Annotated[bool, Option("--undo", help="Restore the client's settings.")] = False,
) -> CommandResult:
    """Set up a coding agent or chat app to use this memory.

    Nothing changes without --write or --undo. A copy of each changed file is kept beside it.
    """
    if client not in CLIENTS:
        raise InvalidInput(
            f"{quoted_value(client)} is not a known client; use one of {', '.join(CLIENTS)}.", field="client"
        )
    if undo and (write or hooks):
        raise InvalidInput("--undo cannot be combined with --write or --hooks.", field="undo")
    if url is not None and not is_secret_url(url):
        raise InvalidInput(
            "That is not a secret URL.",
            field="url",
            fix="It looks like http://127.0.0.1:8420/s/…; `holdfast serve` prints one.",
        )
    known = CLIENTS[client]
    if url is not None and not known.remote:
        raise InvalidInput(
            f"{known.title} can only start programs; its settings take no URL.",
            field="url",
            fix="Leave out --url: `holdfast mcp` finds this machine's server. Add others in the app, as connectors.",
        )
    if hooks and known.hooks is None:
        raise InvalidInput(f"{known.title} has no hooks.", field="hooks", fix="Leave out --hooks.")
    if undo:
        return _undo_plans(client, known)
    plans = [_server_plan(known, url, _passed_settings(target)), *([_hook_plan(client, known)] if hooks else [])]
    done = [(plan, _apply_plan(plan) if write else _would_change(plan)) for plan in plans]
    return _connect_result(client, known, done, written=write)


def _passed_settings(target: CommandTarget) -> dict[str, str]:
    """The settings that the client must pass on to us."""
    given = {"HOLDFAST_DATA": target.data or os.environ.get("HOLDFAST_DATA")}
    given |= {"HOLDFAST_NAMESPACE": target.namespace if target.namespace != "default" else None}
    given |= {"HOLDFAST_PROFILE": target.profile if target.profile != "default" else None}
    return {name: value for name, value in given.items() if value}


def _server_plan(client: Client, url: str | None, environment: dict[str, str]) -> SettingsPlan:
    file, path = client.file(), (client.servers_key, ENTRY_NAME)
    ours = server_entry(client, url, environment)
    if file.suffix == ".toml":
        return SettingsPlan(
            file,
            lambda text: (
                text if config_file.toml_table(text, path) == ours else config_file.with_toml_table(text, path, ours)
            ),
            lambda text: config_file.without_toml_table(text, path),
            config_file.with_toml_table("", path, ours).strip(),
        )
    return SettingsPlan(
        file,
        lambda text: text if config_file.value_at(text, path) == ours else config_file.with_value(text, path, ours),
        lambda text: config_file.without_children(text, path[:1], lambda child: child.key == ENTRY_NAME),
        json.dumps({client.servers_key: {ENTRY_NAME: ours}}, indent=2),
    )


def _hook_plan(name: str, client: Client) -> SettingsPlan:
    assert client.hooks is not None
    events = CURSOR_EVENTS if name == "cursor" else EVENTS
    version = {"version": 1} if name == "cursor" else {}

    def change(text: str) -> str:
        for key, value in version.items():
            text = (
                text if config_file.value_at(text, (key,)) is not None else config_file.with_value(text, (key,), value)
            )
        for event in events:
            there, ours = config_file.value_at(text, ("hooks", event)), hook_entry(name, event)
            mine = [item for item in there if is_our_hook(item)] if isinstance(there, list) else []
            if mine != [ours]:
                text = config_file.without_children(text, ("hooks", event), lambda child: is_our_hook(child.node.value))
                text = config_file.with_item(text, ("hooks", event), ours)
        return text

    def revert(text: str) -> str:
        for event in events:
            text = config_file.without_children(text, ("hooks", event), lambda child: is_our_hook(child.node.value))
            if config_file.value_at(text, ("hooks", event)) == []:
                text = config_file.without_children(text, ("hooks",), lambda child, event=event: child.key == event)  # type: ignore[misc]
        return text

    shows = json.dumps({**version, "hooks": {event: [hook_entry(name, event)] for event in events}}, indent=2)
    return SettingsPlan(client.hooks(), change, revert, shows)


def _would_change(plan: SettingsPlan) -> bool:
    """Whether the plan would change its file."""
    before = _read_text(plan.file)
    return _changed_text(plan, before or "", plan.change) != (before or "")


def _apply_plan(plan: SettingsPlan) -> bool:
    file = _link_target(plan.file)
    before = _read_text(file)
    after = _changed_text(plan, before or "", plan.change)
    if after == before:
        return False
    if (
        _changed_text(plan, before or "", plan.revert) == (before or "") or not _backup_file(file).exists()
    ):  # not ours yet
        _replace_file(_backup_file(file), before or "", like=file)
    _replace_file(file, after, like=file, seen=before)
    return True


def _undo_plans(name: str, client: Client) -> CommandResult:
    plans = [_server_plan(client, None, {}), *([_hook_plan(name, client)] if client.hooks else [])]
    files = [{"file": str(plan.file), "what": _restore_file(plan)} for plan in plans]
    lines = tuple(f"{each['file']}: {each['what']}." for each in files)
    return CommandResult({"client": name, "undone": files}, lines)


def _restore_file(plan: SettingsPlan) -> str:
    file = _link_target(plan.file)
    now, before = _read_text(file), _read_text(_backup_file(file))
    if now is None:
        return "no such file"
    cleaned = _changed_text(plan, now, plan.revert)
    if cleaned == now:
        return "has no entry for Holdfast"
    if before is not None and _is_untouched(plan, before, now):
        if before:
            _replace_file(file, before, like=_backup_file(file), seen=now)
        else:
            file.unlink()
        what = "restored" if before else "removed; it did not exist before"
    else:
        _replace_file(file, cleaned, like=file, seen=now)
        what = "removed the entry for Holdfast; kept other changes made since"
    with suppress(OSError):
        _backup_file(file).unlink()
    return what


def _is_untouched(plan: SettingsPlan, before: str, now: str) -> bool:
    """Whether the file differs from the copy only by our own entries, whatever they contain."""
    try:
        return _changed_text(plan, now, plan.revert) == _changed_text(
            plan, _changed_text(plan, before, plan.change), plan.revert
        )
    except InvalidInput:
        return False


def _changed_text(plan: SettingsPlan, text: str, change: Callable[[str], str]) -> str:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    try:
        return mark + change(text.removeprefix(mark))
    except config_file.ConfigEditError as broken:
        raise InvalidInput(
            f"{plan.file} cannot be changed safely: {broken}. Nothing was changed.",
            field="client",
            fix="Repair the file, or add this by hand: " + " ".join(masked_secrets(plan.shows).split()),
        ) from None


def _link_target(file: Path) -> Path:
    """The target of a link: replacing the link would turn it into a file."""
    return file.resolve()


def _backup_file(file: Path) -> Path:
    return file.with_name(file.name + BACKUP_SUFFIX)


def _read_text(file: Path) -> str | None:
    if file.exists() and not file.is_file():
        raise InvalidInput(f"{file} is not a regular file. Nothing was changed.", field="client")
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not valid UTF-8. Nothing was changed.", field="client") from None
    except OSError as bad:
        raise ReadOnly(f"{file} cannot be read: {bad.strerror}.") from bad


def _replace_file(file: Path, text: str, *, like: Path, seen: str | None = None) -> None:
    """Write the file atomically. Only its owner may read a new file, or one that has a secret URL in it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(text.encode())
                out.flush()
                os.fsync(out.fileno())
            if like.exists():
                os.chmod(temporary, like.stat().st_mode & (0o700 if masked_secrets(text) != text else 0o777))
            if file.suffix != BACKUP_SUFFIX and _read_text(file) != seen:
                raise InvalidInput(
                    f"Another program has just changed {file}. Nothing was changed.", field="client", fix="Try again."
                )
            os.replace(temporary, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as bad:
        raise ReadOnly(f"{file} cannot be written: {bad.strerror}.", fix="Nothing was changed.") from bad


def _connect_result(
    name: str, client: Client, done: list[tuple[SettingsPlan, bool]], *, written: bool
) -> CommandResult:
    blocks: list[Block] = []
    files: list[dict[str, Any]] = []
    for plan, differs in done:
        verb = ("Wrote" if written else "Would write") if differs else "Already set up in"
        blocks.append(f"{verb} {plan.file}:" if differs else f"{verb} {plan.file}.")
        if differs:
            blocks.append(masked_secrets(plan.shows))
        files.append({"file": str(plan.file), "changes": differs, "entry": masked_secrets(plan.shows)})
    if written:
        blocks.append(Remark(client.next_step))
    else:
        blocks.append(Remark("Nothing was changed. Add --write to write this; --undo reverts it later."))
    return CommandResult({"client": name, "written": written, "files": files}, tuple(blocks))


def hook_command(
    event: Annotated[str, Argument(metavar="EVENT", help="The event, as the agent names it.")],
    client: Annotated[
        str | None, Option("--client", metavar="CLIENT", help="The client whose settings say where Holdfast is.")
    ] = None,
    tokens: Annotated[int | None, Option("--tokens", metavar="N", help="Print at most this many tokens.")] = None,
) -> int:
    """Run as a coding agent's hook: read its JSON from stdin, never fail, end within three seconds."""
    from holdfast.cli.hooks.run import run_hook

    return run_hook([event, *(["--client", client] if client else []), *(["--tokens", str(tokens)] if tokens else [])])


def add_to(app: Commands) -> None:
    add_command(app, "connect", connect)
    app.add_function("hook", hook_command, hidden=True)
