"""The command that sets up clients to use this Holdfast, and the command that their hooks run."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from holdfast.cli.hooks import settings_files
from holdfast.cli.hooks.clients import CLIENTS, Client, connected_entry, entry_variables, is_secret_url
from holdfast.cli.hooks.plugins import REMOVAL, plugin_settings
from holdfast.cli.hooks.settings_files import SettingsPlan
from holdfast.cli.options import CommandTarget, DryRun, add_command
from holdfast.cli.output.render import Block, CommandResult, Remark
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import HoldfastError, InvalidInput, nearest_names, quoted_value
from holdfast.service.settings import Settings

CLIENT_NAMES = ", ".join(CLIENTS)
MAX_CHECK_SECONDS = 3.0
"""How long to wait for the server of a URL. Chosen by hand; not measured."""
log = logging.getLogger("holdfast")


def connect(
    target: CommandTarget,
    given: Annotated[
        list[str] | None, Argument(metavar="[CLIENT]", help=f"One of {CLIENT_NAMES}; without one, show all of them.")
    ] = None,
    url: Annotated[
        str | None,
        Option(
            "--url",
            metavar="URL",
            envvar="HOLDFAST_URL",
            help="A secret URL; without one, the client runs `holdfast mcp`.",
        ),
    ] = None,
    hooks: Annotated[
        bool,
        Option("--hooks", help="Also add hooks and a background process, so that the client remembers automatically."),
    ] = False,
    write: Annotated[bool, Option("--write", help="Write the settings; the default when a client is named.")] = False,
    dry_run: DryRun = False,
    undo: Annotated[bool, Option("--undo", help="Restore the settings of the client, or of all clients.")] = False,
) -> CommandResult:
    """Set up a coding agent or chat app to use this memory.

    Without a client, list the clients of this machine and what would change. A copy of each changed file is kept
    next to it, and --undo restores it. Without --profile, a coding agent uses the profile of the project it works in.
    """
    client = _checked_client(given or [])
    if undo and (dry_run or hooks or write):
        raise InvalidInput("--undo cannot be combined with --dry-run, --hooks or --write.", field="undo")
    if write and (dry_run or client is None):
        raise InvalidInput("--write needs a client and cannot be combined with --dry-run.", field="write")
    if url is not None and not is_secret_url(url):
        raise InvalidInput(
            "That is not a secret URL.",
            field="url",
            fix="It looks like http://127.0.0.1:8420/s/…; `holdfast serve` prints one.",
        )
    if undo:
        return _undone_result([client] if client else list(CLIENTS), every=client is None)
    passed = _passed_settings(target)
    if client is None:
        return _listing(url, passed, hooks)
    _check_client(CLIENTS[client], url, hooks)
    plans = settings_files.settings_plans(client, CLIENTS[client], url, passed, hooks)
    diffs = _planned_diffs(plans, as_json=target.as_json)
    if hooks:
        _warn_of_plugin(client)
    if not dry_run:
        for plan in plans:
            settings_files.apply_plan(plan)
    background = ""
    if hooks and url is None and not dry_run:
        from holdfast.cli.hooks.user_service import ensure_background

        background = ensure_background(passed)
    if url is not None and not dry_run:
        _warn_of_silent_server(url)
    return _connected_result(client, plans, diffs, background, written=not dry_run)


def _checked_client(given: list[str]) -> str | None:
    """The client that is named, None where none is."""
    for name in given:
        if name not in CLIENTS:
            alike = nearest_names(name, CLIENTS) or f" Use one of {CLIENT_NAMES}."
            raise InvalidInput(f"{quoted_value(name)} is not a known client.{alike}", field="client")
    if len(given) > 1:
        one_by_one = " && ".join(f"holdfast connect {name}" for name in given)
        raise InvalidInput("Give one client at a time.", field="client", fix=f"Run: {one_by_one}")
    return given[0] if given else None


def _warn_of_plugin(name: str) -> None:
    if plugin_settings(name) is not None:
        log.warning(
            "%s has memory from the plugin already; with these hooks, it runs them twice. To remove the plugin: %s",
            CLIENTS[name].title, REMOVAL[name],
        )  # fmt: skip


def _warn_of_silent_server(url: str) -> None:
    from holdfast.cli.hooks.memory_check import server_address, url_problem

    problem = url_problem(url, MAX_CHECK_SECONDS)
    if problem is not None:
        log.warning(
            "The server at %s does not answer as it should: %s. Until it does, there is no memory; `holdfast serve` on "
            "that machine starts it.", server_address(url), problem,
        )  # fmt: skip


def _planned_diffs(plans: list[SettingsPlan], *, as_json: bool) -> list[str]:
    """What would change in each file. The lines that cannot be added to a file are printed, to be pasted."""
    try:
        return [settings_files.planned_diff(plan) for plan in plans]
    except settings_files.UneditableFile as bad:
        if not as_json:
            print(f"{bad.by_hand}\n", file=sys.stderr)
        raise


def _check_client(client: Client, url: str | None, hooks: bool) -> None:
    if url is not None and not client.remote:
        raise InvalidInput(
            f"{client.title} can only start programs; its settings take no URL.",
            field="url",
            fix="Leave out --url: `holdfast mcp` finds this machine's server. Add others in the app, as connectors.",
        )
    if hooks and client.hooks is None:
        raise InvalidInput(f"{client.title} has no hooks.", field="hooks", fix="Leave out --hooks.")


def _passed_settings(target: CommandTarget) -> dict[str, str]:
    """The settings that the client must pass on to us."""
    given = {"HOLDFAST_DATA": target.data or os.environ.get("HOLDFAST_DATA")}
    given |= {"HOLDFAST_NAMESPACE": target.namespace if target.namespace != "default" else None}
    given |= {"HOLDFAST_PROFILE": target.profile if target.profile != "default" else None}
    given |= {"HOLDFAST_PERSONAL": os.environ.get("HOLDFAST_PERSONAL")}
    return {name: value for name, value in given.items() if value}


def _is_connected(name: str) -> bool:
    return connected_entry(CLIENTS[name]) is not None or settings_files.has_hooks(name, CLIENTS[name])


def _may_be_connected(name: str) -> bool:
    problems = settings_files.settings_problems(name, CLIENTS[name])
    return _is_connected(name) or any(problem.names_us for problem in problems)


def _listing(url: str | None, passed: dict[str, str], hooks: bool) -> CommandResult:
    blocks: list[Block] = []
    found: list[dict[str, Any]] = []
    absent: list[str] = []
    for name, client in CLIENTS.items():
        installed, on = client.is_installed(), _is_connected(name)
        with_hooks = settings_files.has_hooks(name, client)
        plugin = plugin_settings(name) is not None
        state = f"connected{', with hooks' * with_hooks}" if on else "not connected"
        state = "has memory from the plugin, with hooks" if plugin and not on else state
        problems = [problem.why for problem in settings_files.settings_problems(name, client)]
        state = f"its settings cannot be used: {'; '.join(problems)}" if problems else state
        if installed or on or plugin or problems:
            blocks.append(f"{client.title} ({name}): {state}")
        else:
            absent.append(f"{client.title} ({name})")
        diffs = []
        if installed and not problems and not plugin:
            of_client = url if client.remote else None
            plans = settings_files.settings_plans(name, client, of_client, passed, hooks)
            diffs = [diff for diff in map(settings_files.planned_diff, plans) if diff]
        blocks += [Remark(diff) for diff in diffs]
        is_on = {"connected": on or plugin, "hooks": with_hooks or plugin, "plugin": plugin}
        found.append({"client": name, "installed": installed, **is_on, "problems": problems, "diffs": diffs})
    if absent:
        blocks.append(f"Not found: {', '.join(absent)}")
    without = [each["client"] for each in found if each["installed"] and not each["hooks"]]
    example = next((name for name in without if CLIENTS[name].hooks is not None), "claude-code")
    blocks.append(Remark(f"Nothing was changed. To connect a client: holdfast connect {example} --hooks"))
    blocks.append(Remark("Without --hooks it uses memory only when asked to. --undo restores its settings."))
    return CommandResult({"clients": found}, tuple(blocks))


def _undone_result(asked: list[str], *, every: bool) -> CommandResult:
    """Undo what `connect` did for these clients, or those of them that are connected; name those with the plugin."""
    names = [name for name in asked if not every or _may_be_connected(name)]
    folders = _memory_folders(names)
    undone: list[dict[str, str]] = []
    failed: list[HoldfastError] = []
    for name in names:
        for plan in _undo_plans(name):
            try:
                undone.append({"client": name, "file": str(plan.file), "what": settings_files.restore_file(plan)})
            except HoldfastError as bad:
                failed.append(bad)
    if failed and not undone:
        raise failed[0]
    lines: list[Block] = [f"{each['file']}: {each['what']}." for each in undone]
    lines += map(str, failed)
    lines += [
        Remark(f"{CLIENTS[name].title} still has memory from the plugin. To remove it: {REMOVAL[name]}")
        for name in asked
        if plugin_settings(name) is not None
    ]
    if not any(settings_files.has_hooks(name, client) or plugin_settings(name) for name, client in CLIENTS.items()):
        lines += _end_background(folders)
    if any(each["what"] not in settings_files.NOTHING_UNDONE for each in undone):
        lines += [Remark(f"What is remembered stays in {folder}.") for folder in folders]
    document = {"undone": undone, "failed": [str(each) for each in failed]}
    return CommandResult(document, tuple(lines or [Remark("No client is connected.")]), exit=2 if failed else 0)


def _memory_folders(names: list[str]) -> list[Path]:
    """The data folders that these clients use; none for a client with a secret URL."""
    passed = [entry_variables(name) for name in names if _may_be_connected(name)]
    local = [variables.get("HOLDFAST_DATA") for variables in passed if "HOLDFAST_URL" not in variables]
    return list(dict.fromkeys(Settings.read(data=data).folder for data in local))


def _end_background(folders: list[Path]) -> list[Block]:
    """End the background processes of the folders, which no hook needs any more."""
    from holdfast.cli.hooks.background import stop_background
    from holdfast.cli.hooks.user_service import remove_service

    removed = remove_service()
    lines: list[Block] = [f"{removed}: removed; the background process is stopped."] if removed else []
    return lines + [f"The background process of {folder} is stopped." for folder in folders if stop_background(folder)]


def _undo_plans(name: str) -> list[SettingsPlan]:
    client = CLIENTS[name]
    in_broken = any(problem.names_us for problem in settings_files.settings_problems(name, client))
    return settings_files.settings_plans(name, client, None, {}, settings_files.has_hooks(name, client) or in_broken)


def _connected_result(
    name: str, plans: list[SettingsPlan], diffs: list[str], background: str, *, written: bool
) -> CommandResult:
    blocks: list[Block] = []
    for plan, diff in zip(plans, diffs, strict=True):
        verb = "Wrote" if written else "Would write"
        blocks += [f"{verb} {plan.file}:", diff] if diff else [f"Already set up in {plan.file}."]
    blocks += [background] if background else []
    step = CLIENTS[name].next_step if written else "Nothing was changed. Leave out --dry-run to write this."
    blocks.append(Remark(step))
    files = [
        {"file": str(plan.file), "changes": bool(diff), "diff": diff} for plan, diff in zip(plans, diffs, strict=True)
    ]
    document = {"client": name, "written": written, "files": files, "background": background}
    return CommandResult(document, tuple(blocks))


def hook_command(
    event: Annotated[str, Argument(metavar="EVENT", help="The event, as the agent names it.")],
    client: Annotated[
        str | None, Option("--client", metavar="CLIENT", help="The client whose settings say where Holdfast is.")
    ] = None,
    tokens: Annotated[int | None, Option("--tokens", metavar="N", help="Print at most this many tokens.")] = None,
    min_relevance: Annotated[
        float | None,
        Option("--min-relevance", metavar="SHARE", help="Only what is at least this relevant, 0 to 1; 0.1 by default."),
    ] = None,
) -> int:
    """Run as a coding agent's hook: read its JSON from stdin, never fail, answer within 150 ms or leave memory out."""
    from holdfast.cli.hooks.run import run_hook

    given = {"--client": client, "--tokens": tokens, "--min-relevance": min_relevance}
    return run_hook(
        [event, *(part for name, value in given.items() if value is not None for part in (name, str(value)))]
    )


def add_to(app: Commands) -> None:
    add_command(app, "connect", connect)
    app.add_function("hook", hook_command, hidden=True)
