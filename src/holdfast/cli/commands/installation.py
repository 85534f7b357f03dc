"""The commands about the data folder and this installation.

profiles, namespaces, stats, usage, doctor, demo, completion, version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from holdfast import __version__
from holdfast.cli.options import CommandTarget, Yes, add_command, confirm
from holdfast.cli.output import views
from holdfast.cli.output.render import Block, CommandResult, Remark, Table
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value

MAX_NAMES = 100
"""How many names are shown. Chosen by hand; not measured."""
LEVEL_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


def profiles(target: CommandTarget) -> CommandResult:
    """List the profiles of a namespace."""
    with target.open_folder() as holdfast:
        try:
            found = holdfast.profiles(target.namespace)
        except NotFound:  # a namespace comes with its first profile
            found = []
    rows = tuple((each.name, views.minute_text(each.created_at)) for each in found)
    return CommandResult({"profiles": found}, _name_table(rows, "profile"))


def namespaces(
    target: CommandTarget,
    action: Annotated[str | None, Argument(metavar="[create|delete", help="What to do; default: list them.")] = None,
    name: Annotated[str | None, Argument(metavar="NAME]", help="The namespace.")] = None,
    yes: Yes = False,
) -> CommandResult:
    """List, create or delete namespaces.

    Deleting a namespace deletes every profile in it and destroys their keys.
    """
    if action is None:
        return _list_namespaces(target)
    if action not in ("create", "delete"):
        raise InvalidInput(f"action is {quoted_value(action)}; use create or delete.", field="action")
    if name is None:
        raise InvalidInput(f"Which namespace? Give: holdfast namespaces {action} NAME", field="name")
    if action == "create":
        with target.open_folder(create=True) as holdfast:
            created = holdfast.create_namespace(name)
        return CommandResult(created, (f"Created namespace {name!r}.",))
    question = f"Delete namespace {name!r} with every profile in it and destroy their keys?"
    if not confirm(question, yes=yes, as_json=target.as_json):
        return CommandResult(None, (Remark("Nothing was deleted."),))
    with target.open_folder() as holdfast:
        holdfast.delete_namespace(name)
    return CommandResult({"namespace": name, "deleted": True}, (f"Deleted namespace {name!r}.",))


def stats(target: CommandTarget) -> CommandResult:
    """Count the messages and memories of a profile."""
    with target.open_profile() as profile:
        found = profile.stats()
    return CommandResult(found, views.stats_blocks(found))


def usage(
    target: CommandTarget,
    month: Annotated[str | None, Option("--month", metavar="YYYY-MM", help="Only this month.")] = None,
) -> CommandResult:
    """Show what language models were used for, and the cost.

    Calls, tokens and money by month, model and task.
    """
    with target.open_profile() as profile:
        spent = profile.usage(month)
    return CommandResult({"usage": spent}, views.usage_blocks(spent))


def doctor(
    target: CommandTarget,
    accept_loss: Annotated[
        bool,
        Option("--accept-loss", help="Keep what is left of damaged files; copies of them go to damaged/."),
    ] = False,
) -> CommandResult:
    """Check the installation and the data; say how to fix problems.

    Checks libraries, model, keys, every file, waiting work, and whether coding agents have their memory. It changes
    nothing without --accept-loss. Exit status 1 when a check failed.
    """
    from holdfast.cli.hooks.memory_check import memory_findings
    from holdfast.service import doctor as examination

    salvaged = examination.accept_loss(target.data) if accept_loss else []
    found = [*salvaged, *examination.findings(target.data), *memory_findings(target.data)]
    failed = sum(finding.level == "fail" for finding in found)
    warned = sum(finding.level == "warn" for finding in found)
    blocks: list[Block] = []
    for finding in found:
        blocks.append(f"{LEVEL_MARKS[finding.level]} {finding.what}")
        blocks += [Remark(f"  → {finding.fix}")] if finding.fix else []
    blocks.append(Remark(f"{count(len(found), 'check')}: {failed} failed, {count(warned, 'warning')}."))
    return CommandResult({"ok": not failed, "findings": found}, tuple(blocks), exit=1 if failed else 0)


def demo(target: CommandTarget) -> CommandResult:
    """Show how three short conversations become memories.

    Runs in a temporary folder, or in the one given with --data.
    """
    from holdfast.cli.demo import run_demo

    if target.data is not None and "://" in target.data:
        raise InvalidInput(
            "The demo needs a folder, not a database.", field="data", fix="Give --data DIR, or leave it out."
        )
    return run_demo(None if target.data is None else Path(target.data), quiet=target.as_json)


def completion(
    _: CommandTarget, shell: Annotated[str, Argument(metavar="bash|zsh|fish", help="The shell.")]
) -> CommandResult:
    """Print the script that completes commands in a shell.

    bash: eval "$(holdfast completion bash)" in ~/.bashrc. zsh: the same with zsh in ~/.zshrc, after compinit. fish:
    holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    from holdfast.cli.completion import completion_script

    script = completion_script(shell)
    return CommandResult({"shell": shell, "script": script}, (script,))


def version(_: CommandTarget) -> CommandResult:
    """Show the version."""
    return CommandResult({"version": __version__}, (f"holdfast {__version__}",))


def add_to(app: Commands) -> None:
    add_command(app, "profiles", profiles)
    add_command(app, "namespaces", namespaces)
    add_command(app, "stats", stats)
    add_command(app, "usage", usage)
    add_command(app, "doctor", doctor)
    add_command(app, "demo", demo)
    add_command(app, "completion", completion)
    add_command(app, "version", version)


def _list_namespaces(target: CommandTarget) -> CommandResult:
    with target.open_folder() as holdfast:
        found = holdfast.namespaces()
    rows = tuple((each.name, views.minute_text(each.created_at)) for each in found)
    return CommandResult({"namespaces": found}, _name_table(rows, "namespace"))


def _name_table(rows: tuple[tuple[str, str], ...], what: str) -> tuple[Block, ...]:
    if not rows:
        return (Remark(f"No {what}s yet."),)
    return Table(rows[:MAX_NAMES], (what, "created")), *views.more_hint(len(rows) - MAX_NAMES)
