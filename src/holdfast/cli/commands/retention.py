"""The command about retention rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import CommandTarget, add_command
from holdfast.cli.output.render import Block, CommandResult, Remark, Table
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.domain.reports import Retained

_LIMIT_TEXTS = {
    "older_than": "older than {}",
    "beyond": "all but the newest {}",
    "session_ended": "session ended more than {} ago",
}
Rules = Annotated[str | None, Option("--set", metavar="JSON|FILE", help="Set these rules; none removes them.")]


def retention(
    target: CommandTarget,
    set: Rules = None,
    everywhere: Annotated[
        bool, Option("--namespace-wide", help="Set them for every profile of the namespace.")
    ] = False,
    apply: Annotated[bool, Option("--apply", help="Apply the rules now.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Forget nothing; show what would be forgotten.")] = False,
) -> CommandResult:
    """Show, set and apply the rules for how long memories are kept.

    The worker applies them every hour; --dry-run shows what they would forget now.
    """
    with target.open_folder(create=set is not None) as holdfast:
        profile = holdfast.profile(target.namespace, target.profile)
        if set is not None:
            rules = _load_rules(set)
            if everywhere:
                holdfast.set_namespace_retention(target.namespace, rules)
            else:
                profile.set_retention(rules)
        if apply or dry_run:
            done = profile.apply_retention(dry_run=dry_run)
            return CommandResult(
                {"retained": done}, _retention_report(done, "would be forgotten" if dry_run else "forgotten")
            )
        current = profile.retention()
    blocks = _rule_table(current) if current else (Remark("No rules: everything is kept."),)
    return CommandResult({"retention": current}, blocks)


def _load_rules(given: str) -> Any:
    if given == "none":
        return None
    text = given if given.lstrip().startswith("{") else _read_rules(Path(given))
    return parse_json(text, "set", "retention")


def _read_rules(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as bad:
        raise InvalidInput(
            f"{file} cannot be read: {bad.strerror}.", field="set", fix="Give a file, or the rules themselves as JSON."
        ) from None
    except UnicodeDecodeError as bad:
        raise InvalidInput(f"{file} is not valid UTF-8 at byte {bad.start}.", field="set") from None


def _rule_table(rules: Any) -> tuple[Block, ...]:
    rows = [(f"new {kind}", f"expires after {after}") for kind, after in rules.get("ttl", {}).items()]
    for rule in rules.get("forget", []):
        rows.append((rule["kind"], f"forget: {_limit_text(rule)}"))
    return (Table(tuple(rows), ("kind", "rule")),)


def _retention_report(done: tuple[Retained, ...], verb: str) -> tuple[Block, ...]:
    if not done:
        return (Remark("There are no rules."),)
    return tuple(
        f"{each.rule['kind']}, {_limit_text(each.rule)}: {count(each.memories, 'memory')} and "
        f"{count(each.messages, 'message')} {verb}."
        for each in done
    )


def _limit_text(rule: Any) -> str:
    """The limit of a rule as people read it, such as `older than 90d`."""
    name = next(name for name in rule if name != "kind")
    return _LIMIT_TEXTS[name].format(rule[name])


def add_to(app: Commands) -> None:
    add_command(app, "retention", retention)
