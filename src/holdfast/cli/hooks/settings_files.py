"""Plans, applies and reverts our changes to a client's settings files.

Nothing changes in a file that cannot be parsed. Before the first change a copy is put beside the file. Reverting
restores that copy if nobody else has changed the file since; otherwise it removes only our own entries.
"""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.cli.hooks import config_file
from holdfast.cli.hooks.clients import (
    ENTRY_NAME,
    Client,
    hook_entry,
    is_our_hook,
    masked_secrets,
    opencode_plugin,
    server_entry,
)
from holdfast.domain.errors import HoldfastError, InvalidInput, ReadOnly

BACKUP_SUFFIX = ".holdfast-backup"
BYTE_ORDER_MARK = "\ufeff"
MAX_DIFF_CHARS = 160
"""Characters of a line in a diff: some clients keep all settings in one line. Chosen by hand; not measured."""
MAX_DIFF_LINES = 80
"""Lines of a diff: our hooks have fewer, our plugin has more. Chosen by hand; not measured."""
NOTHING_UNDONE = MISSING_FILE, NO_ENTRY = "no such file", "has no entry for Holdfast"
NO_FILE = "There was no such file before `holdfast connect`.\n"
"""What the copy of a file contains that did not exist."""
PLUGIN_MARK = "Written by `holdfast connect"

TextChange = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class SettingsPlan:
    """The change to one file."""

    file: Path
    change: TextChange
    revert: TextChange
    shows: str
    """The entry in the form that a person would write."""
    containers: tuple[str, ...] = ()
    """The keys of JSON objects that the change adds when they are missing."""


class UneditableFile(InvalidInput):
    """A file cannot be changed safely; `by_hand` are the lines that the user may add."""

    def __init__(self, message: str, by_hand: str) -> None:
        super().__init__(message, field="client", fix="Repair the file, or add our lines by hand.")
        self.by_hand = by_hand


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """Why a settings file cannot be used."""

    file: Path
    why: str
    names_us: bool
    """Whether our entry may be in it."""


def settings_plans(
    name: str, client: Client, url: str | None, passed: dict[str, str], hooks: bool
) -> list[SettingsPlan]:
    """What connecting changes, one plan for each file."""
    plans = [_server_plan(client, url, passed)]
    if hooks and client.hooks is not None:
        plans.append(_hook_plan(name, client) if client.events else _plugin_plan(client.hooks()))
    if len(plans) == 2 and plans[0].file == plans[1].file:
        plans = [_joined_plan(*plans)]
    return [_strict_plan(plan, client) if client.strict else plan for plan in plans]


def settings_problems(name: str, client: Client) -> list[SettingsProblem]:
    """The files of the client that cannot be read, by us or by the client itself."""
    found = []
    for plan in settings_plans(name, client, None, {}, hooks=client.hooks is not None):
        text = ""
        try:
            text = (read_text(plan.file) or "").removeprefix(BYTE_ORDER_MARK)
            plan.revert(text)
            if client.strict:
                _check_strict_json(text, client)
        except config_file.ConfigEditError as broken:
            found.append(SettingsProblem(plan.file, f"{plan.file}: {broken}", ENTRY_NAME in text))
        except HoldfastError as unreadable:
            found.append(SettingsProblem(plan.file, str(unreadable), names_us=False))
    return found


def has_hooks(name: str, client: Client) -> bool:
    """Whether our hooks are in the client's settings; False if these cannot be read, which is a settings problem."""
    if client.hooks is None:
        return False
    plan = _hook_plan(name, client) if client.events else _plugin_plan(client.hooks())
    try:
        text = (read_text(plan.file) or "").removeprefix(BYTE_ORDER_MARK)
        return plan.revert(text) != text
    except (config_file.ConfigEditError, HoldfastError):
        return False


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
        (client.servers_key,),
    )


def _hook_plan(name: str, client: Client) -> SettingsPlan:
    assert client.hooks is not None
    events = client.events
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
    return SettingsPlan(client.hooks(), change, revert, shows, ("hooks",))


def _plugin_plan(file: Path) -> SettingsPlan:
    """A file that is ours as a whole."""
    text = opencode_plugin()

    def change(there: str) -> str:
        if there.strip() and PLUGIN_MARK not in there:
            raise config_file.ConfigEditError("it is another plugin")
        return text

    return SettingsPlan(file, change, lambda there: "" if PLUGIN_MARK in there else there, text)


def _joined_plan(first: SettingsPlan, second: SettingsPlan) -> SettingsPlan:
    """Two plans for the same file as one."""
    return replace(
        first,
        change=lambda text: second.change(first.change(text)),
        revert=lambda text: second.revert(first.revert(text)),
        shows=f"{first.shows}\n{second.shows}",
        containers=(*first.containers, *second.containers),
    )


def _strict_plan(plan: SettingsPlan, client: Client) -> SettingsPlan:
    """The plan, unless the client would ignore the file with what is in it already."""

    def change(text: str) -> str:
        changed = plan.change(text)
        _check_strict_json(text, client)
        return changed

    return replace(plan, change=change)


def _check_strict_json(text: str, client: Client) -> None:
    try:
        json.loads(text or "{}")
    except ValueError as bad:
        at = f"line {bad.lineno}, column {bad.colno}" if isinstance(bad, json.JSONDecodeError) else "somewhere"
        raise config_file.ConfigEditError(
            f"{client.title} ignores the file, because it reads JSON without comments and trailing commas ({at})"
        ) from None


def planned_diff(plan: SettingsPlan) -> str:
    """The lines that the plan would change, as a unified diff without secrets; empty if it would change nothing."""
    before = read_text(plan.file) or ""
    after = _changed_text(plan, before, plan.change)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(plan.file), str(plan.file), "", "", 0, "")
    shown = [_shortened(line) for line in lines if not line.startswith("@@")]
    rest = [f"… and {len(shown) - MAX_DIFF_LINES} more lines"] if len(shown) > MAX_DIFF_LINES else []
    return masked_secrets("\n".join([*shown[:MAX_DIFF_LINES], *rest]))


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_DIFF_CHARS else line[: MAX_DIFF_CHARS - 1] + "…"


def apply_plan(plan: SettingsPlan) -> bool:
    """Change the file; False if that would change nothing."""
    file = _link_target(plan.file)
    before = read_text(file)
    after = _changed_text(plan, before or "", plan.change)
    if after == before:
        return False
    if (
        _changed_text(plan, before or "", plan.revert) == (before or "") or not _backup_file(file).exists()
    ):  # not ours yet
        _replace_file(_backup_file(file), NO_FILE if before is None else before, like=file)
    _replace_file(file, after, like=file, seen=before)
    return True


def restore_file(plan: SettingsPlan) -> str:
    """Take our changes out of the file; what was done, in words."""
    file = _link_target(plan.file)
    now, before = read_text(file), read_text(_backup_file(file))
    if now is None:
        return MISSING_FILE
    existed = before not in (None, NO_FILE)
    before = "" if before == NO_FILE else before
    cleaned = _changed_text(plan, now, plan.revert)
    if cleaned == now:
        return NO_ENTRY
    if before is not None and _is_untouched(plan, before, now):
        if existed:
            _replace_file(file, before, like=_backup_file(file), seen=now)
        else:
            file.unlink()
        what = "restored" if existed else "removed; it did not exist before"
    else:
        cleaned = _without_empty_containers(plan, cleaned, before or "")
        if cleaned or existed:
            _replace_file(file, cleaned, like=file, seen=now)
        else:
            file.unlink()
        what = "removed the entry for Holdfast; kept other changes made since"
    with suppress(OSError):
        _backup_file(file).unlink()
    return what


def _without_empty_containers(plan: SettingsPlan, text: str, before: str) -> str:
    """The text without the objects that are empty now and were not there before us."""
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text, before = text.removeprefix(mark), before.removeprefix(BYTE_ORDER_MARK)
    for key in plan.containers:
        if config_file.value_at(text, (key,)) == {} and config_file.value_at(before, (key,)) is None:
            text = config_file.without_children(text, (), lambda child, key=key: child.key == key)  # type: ignore[misc]
    return mark + text


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
        what = f"{plan.file} cannot be changed safely: {broken}. Nothing was changed."
        if change is plan.revert:
            fix = "Repair the file, or remove the entries for Holdfast by hand."
            raise InvalidInput(what, field="client", fix=fix) from None
        raise UneditableFile(what, masked_secrets(plan.shows)) from None


def _link_target(file: Path) -> Path:
    """The target of a link: replacing the link would turn it into a file."""
    return file.resolve()


def _backup_file(file: Path) -> Path:
    return file.with_name(file.name + BACKUP_SUFFIX)


def read_text(file: Path) -> str | None:
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
            if file.suffix != BACKUP_SUFFIX and read_text(file) != seen:
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
