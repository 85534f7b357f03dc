"""The commands about messages: ingest, redigest."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import CommandTarget, DryRun, MessageSession, NoWait, Writer, add_command
from holdfast.cli.output import views
from holdfast.cli.output.progress import Interrupted, progress_meter, stop_spinner, wait_for_digestion, waiting_work
from holdfast.cli.output.render import CommandResult, Remark
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_conversation
from holdfast.domain.errors import InvalidInput
from holdfast.domain.limits import MAX_MESSAGES
from holdfast.domain.timestamps import now

if TYPE_CHECKING:
    from holdfast.domain.results import Receipt, Written
    from holdfast.service.sync import Profile


def ingest(
    target: CommandTarget,
    file: Annotated[Path, Argument(metavar="[FILE|-]", help="A file; - reads standard input.")] = Path("-"),
    session: MessageSession = None,
    agent: Writer = None,
    format: Annotated[str, Option(metavar="auto|json|jsonl|text", help="The format of the input.")] = "auto",
    no_wait: NoWait = False,
) -> CommandResult:
    """Write a conversation and turn it into memories.

    JSON (a list of messages, or {"messages": [...], "session_id": "..."}), JSON Lines, or "Name: text" lines.
    """
    from holdfast.ingest import messages
    from holdfast.ingest.chat_formats import normalised_messages

    given = parse_conversation(_read_input(file), format, "standard input" if str(file) == "-" else str(file))
    session_id = given.session_id if session is None else session
    agent = given.agent if agent is None else agent
    rows = normalised_messages(given.messages).rows  # each is short enough for one message, so every batch is accepted
    limit = max(len(given.messages), len(rows), MAX_MESSAGES)
    checked = messages.validate_messages(given.messages, session_id=session_id, agent=agent, now=now(), limit=limit)
    if not rows:
        return CommandResult(
            messages.receipt(checked), (Remark(f"None of {count(checked.skipped, 'message')} has any text."),)
        )
    batches = [(known, [*some]) for known, some in messages.overlapping_batches(rows)]
    name = checked.session_id
    with target.open_profile(create=True) as profile:
        receipt = replace(_ingest_batches(profile, batches, name, agent), skipped=checked.skipped)
        if not no_wait:
            wait_for_digestion(profile)
            # A repeated ingest changes nothing and returns the memories that came from the messages.
            repeated = [profile.ingest(batch, session_id=name, agent=agent, wait=True) for _, batch in batches]
            memories = {memory.id: memory for each in repeated for memory in each.memories}
            pending = sum(each.pending for each in repeated)
            receipt = replace(receipt, pending=pending, memories=tuple(memories.values()))
    rest = target.command_here(f"holdfast list --session {name}")
    shown = views.capped(views.memory_blocks(receipt.memories), hint=f"see: {rest}")
    return CommandResult(receipt, (_receipt_line(receipt, waited=not no_wait), *shown))


def redigest(
    target: CommandTarget,
    session: Annotated[str | None, Option("--session", metavar="ID", help="Only this session.")] = None,
    since: Annotated[
        str | None, Option("--since", metavar="TIME", help="Only messages from this ISO 8601 time on.")
    ] = None,
    aside: Annotated[bool, Option("--aside", help="Only messages that were set aside.")] = False,
    dry_run: DryRun = False,
    no_wait: Annotated[bool, Option("--no-wait", help="Return at once; digest later.")] = False,
) -> CommandResult:
    """Digest messages again, with a better model or prompt.

    This removes the memories that were extracted from them and keeps what was written by hand.
    """
    with target.open_profile() as profile:
        done = profile.redigest(session, since=since, aside=aside, dry_run=dry_run)
        if not (dry_run or no_wait):
            wait_for_digestion(profile)
    verb = "Would digest" if dry_run else "Digested" if not no_wait else "Will digest"
    removal = "would remove" if dry_run else "removed"
    line = f"{verb} {count(done.messages, 'message')} again; {removal} {count(done.memories, 'earlier memory')}."
    return CommandResult(done, (line,))


def _read_input(file: Path) -> bytes:
    if str(file) == "-":
        try:
            if sys.stdin.isatty():
                stop_spinner()
                print('Type "Name: text" lines; end with Ctrl-D.', file=sys.stderr)
            return sys.stdin.buffer.read()
        except KeyboardInterrupt:
            raise Interrupted("Interrupted. Nothing was stored.") from None
    try:
        return file.read_bytes()
    except OSError as bad:
        raise InvalidInput(f"{file} cannot be read: {bad.strerror}.", field="file") from None


def _ingest_batches(profile: Profile, batches: list[tuple[int, list[Any]]], session: str, agent: Any) -> Receipt:
    """Write the batches; each begins with some messages that the batch before ended with."""
    from holdfast.domain.results import Receipt

    total = sum(len(batch) - known for known, batch in batches)
    written: list[Written] = []
    pending = 0
    try:
        with progress_meter("Writing", total, at_once=len(batches) > 1) as writing:
            writing.update(0)
            for known, batch in batches:
                receipt = profile.ingest(batch, session_id=session, agent=agent)
                written += receipt.messages[known:]
                pending += receipt.pending
                writing.update(len(written))
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted. At least {len(written):,} of {count(total, 'message')} are stored. Run the same command "
            f"again to store the rest; none is stored twice. {waiting_work(profile)}"
        ) from None
    return Receipt(session, tuple(written), pending)


def _receipt_line(receipt: Receipt, *, waited: bool) -> str:
    new = sum(message.new for message in receipt.messages)
    known = len(receipt.messages) - new
    line = f"Session {receipt.session_id}: {count(new, 'new message')}"
    line += f", {known:,} already known" if known else ""
    line += f", {receipt.skipped:,} without text" if receipt.skipped else ""
    line += f", {count(len(receipt.memories), 'memory')}" if waited else ""
    return line + (f", {receipt.pending:,} waiting to be digested." if receipt.pending else ".")


def add_to(app: Commands) -> None:
    add_command(app, "ingest", ingest)
    add_command(app, "redigest", redigest)
