"""The commands that write: ingest, remember, forget."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInput, NotFound, shown
from ..moments import now
from ..names import MESSAGES
from . import views
from .find import Filter, Kind
from .output import Block, Entry, Note, Reply
from .place import Place, add
from .progress import meter
from .transcript import conversation, parsed

if TYPE_CHECKING:
    from ..results import Receipt, Written
    from ..sync import Profile
    from ..types import Forgotten, Memory

Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="Session the text belongs to.")]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Who writes this.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")]
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
POLL_SECONDS = 0.2
SETTLE_SECONDS = 2.0
NOTHING = "There was nothing to forget."
SHOWN = 20
"""How much of what would be forgotten a dry run shows."""


def ingest(
    place: Place,
    file: Annotated[Path, typer.Argument(metavar="[FILE|-]", help="A file, or - for standard input.")] = Path("-"),
    session: Session = None,
    agent: Agent = None,
    format: Annotated[str, typer.Option(metavar="auto|json|jsonl|text", help="What the input is.")] = "auto",
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once it is written; digest later.")] = False,
) -> Reply:
    """Keep a conversation and turn it into memories.

    JSON (a list of messages, or {"messages": [...], "session_id": "..."}), JSON Lines, or "Name: text" lines.
    """
    from .. import ingest as said
    from ..spoken import spoken

    given = conversation(_bytes(file), format, "standard input" if str(file) == "-" else str(file))
    session_id = given.session_id if session is None else session
    agent = given.agent if agent is None else agent
    rows = spoken(given.messages).rows  # no longer than one message may be, so that every batch is taken
    most = max(len(given.messages), len(rows), MESSAGES)
    checked = said.checked(given.messages, session_id=session_id, agent=agent, now=now(), limit=most)
    if not rows:
        return Reply(said.receipt(checked), (Note(f"None of {count(checked.skipped, 'message')} has any text."),))
    batches = [[*rows[n : n + MESSAGES]] for n in range(0, len(rows), MESSAGES)]
    name = checked.session_id
    with place.memory() as memory:
        receipt = replace(_written(memory, batches, name, agent, quiet=place.as_json), skipped=checked.skipped)
        if not no_wait:
            digested(memory, quiet=place.as_json)
            # Twice is once: asking again changes nothing and tells what became of the messages.
            again = [memory.ingest(batch, session_id=name, agent=agent, wait=True) for batch in batches]
            made = {made.id: made for each in again for made in each.memories}
            left = sum(each.pending for each in again)
            receipt = replace(receipt, pending=left, memories=tuple(made.values()))
    return Reply(receipt, (_counted(receipt, waited=not no_wait), *views.memories(receipt.memories)))


def remember(
    place: Place,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to remember; - for standard input.")],
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="fact (the default), event, instruction, task or your own.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="What it is about; a taken key is superseded.")] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="A JSON object to keep with it.")] = None,
    session: Session = None,
    agent: Agent = None,
    ttl: Annotated[str | None, typer.Option(metavar="SPAN", help="Forget after: 90, 15m, 12h, 30d, 4w.")] = None,
    no_topic: Annotated[bool, typer.Option("--no-topic", help="Without --key, give it no key.")] = False,
) -> Reply:
    """Keep one thing on purpose."""
    text = _read() if text == "-" else text
    about = None if metadata is None else parsed(metadata, "metadata", "metadata")
    with place.memory() as memory:
        kept: Memory = memory.remember(
            text, kind=kind, key=key, metadata=about, session_id=session, agent=agent, ttl=seconds(ttl),
            topic=not no_topic,
        )  # fmt: skip
        before = memory.history(kept.id)[1:2] if kept.version > 1 and key is None else ()
        memory.settle(SETTLE_SECONDS)  # its meaning is found by the next command, which then need not wait
    replaced = [Note(f"In place of: {old.content}") for old in before]
    return Reply(kept, (*views.memories([kept]), *replaced))


def forget(
    place: Place,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A memory or a message.")] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Forget a whole session.")] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="NAME", help="Forget what somebody said and whatever names them.")
    ] = None,
    kind: Kind = None,
    filter: Filter = None,
    profile_data: Annotated[bool, typer.Option("--profile-data", help="Delete the whole profile.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Yes = False,
) -> Reply:
    """Remove a memory, a session, a person, what matches --kind and --filter, or a whole profile for good.

    A memory goes with all its versions and the messages it rests on.
    """
    many = bool(kind) or filter is not None
    if sum((id is not None, session is not None, person is not None, many, profile_data)) != 1:
        raise InvalidInput(
            "Give one of: an id, --session, --person, --profile-data, or --kind and --filter.", field="id"
        )
    if profile_data:
        if dry_run:
            raise InvalidInput("Deleting a profile has no dry run.", field="dry_run", fix="See: holdfast stats")
        return _forget_profile(place, yes)
    where = None if filter is None else parsed(filter, "filter", "filter")

    def go(memory: Profile, rehearsed: bool) -> Forgotten:
        if id is not None:
            return memory.forget(id, dry_run=rehearsed)
        if session is not None:
            return memory.forget_session(session, dry_run=rehearsed)
        if person is not None:
            return memory.forget_person(person, dry_run=rehearsed)
        return memory.forget_where(kind=kind or None, filter=where, dry_run=rehearsed)

    with place.memory() as memory:
        if dry_run:
            gone = go(memory, True)
            return Reply(gone, (_gone(gone, "Would forget"), *_about_to_go(memory, gone)))
        if person is not None or many:
            asked = _gone(go(memory, True), "Forget")
            if asked != NOTHING and not confirm(f"{asked[:-1]} for good?", yes=yes, as_json=place.as_json):
                return Reply(None, (Note("Nothing was forgotten."),))
        gone = go(memory, False)
    return Reply(gone, (_gone(gone, "Forgot"),))


def _gone(gone: Forgotten, verb: str) -> str:
    if not gone.memories and not gone.messages:
        return NOTHING
    return f"{verb} {count(len(gone.memories), 'memory')} and {count(len(gone.messages), 'message')}."


def _about_to_go(memory: Profile, gone: Forgotten) -> tuple[Block, ...]:
    """What some of it says."""
    some = [memory.get(each) for each in (*gone.memories, *gone.messages)[:SHOWN]]
    more = len(gone.memories) + len(gone.messages) - len(some)
    told = tuple(
        Entry(each.content, f"{getattr(each, 'kind', 'message')} · {views.day(each.created_at)} · {each.id}", "•")
        for each in some
    )
    return (*told, Note(f"And {more:,} more.")) if more else told


def redigest(
    place: Place,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only what was said since.")] = None,
    aside: Annotated[bool, typer.Option("--aside", help="Only messages that were set aside.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return at once; digest later.")] = False,
) -> Reply:
    """Digest again what was said, with a better model or prompt.

    What was drawn from it before goes; what was written by hand stays.
    """
    with place.memory() as memory:
        done = memory.redigest(session, since=since, aside=aside, dry_run=dry_run)
        if not (dry_run or no_wait):
            digested(memory, quiet=place.as_json)
    verb = "Would digest" if dry_run else "Digested" if not no_wait else "To be digested:"
    told = f"{verb} {count(done.messages, 'message')} anew; {count(done.memories, 'memory')} drawn before "
    return Reply(done, (told + ("would go." if dry_run else "went."),))


def add_to(app: typer.Typer) -> None:
    add(app, "ingest", ingest)
    add(app, "remember", remember)
    add(app, "forget", forget)
    add(app, "redigest", redigest)


def confirm(question: str, *, yes: bool, as_json: bool) -> bool:
    """Whether the user agrees. Without anybody to ask, --yes must have been given."""
    if yes:
        return True
    if as_json or not sys.stdin.isatty():
        raise InvalidInput("This deletes for good and nobody is there to confirm it.", field="yes", fix="Add --yes.")
    return typer.confirm(question, err=True)


def _forget_profile(place: Place, yes: bool) -> Reply:
    question = f"Delete profile {place.profile!r} of namespace {place.namespace!r} and destroy its key?"
    if not confirm(question, yes=yes, as_json=place.as_json):
        return Reply(None, (Note("Nothing was deleted."),))
    with place.folder() as holdfast:
        if not holdfast.delete_profile(place.namespace, place.profile):
            raise NotFound(f"There is no profile {place.profile!r} in {place.namespace!r}.", field="profile")
    gone = {"namespace": place.namespace, "profile": place.profile, "deleted": True}
    return Reply(gone, (f"Deleted profile {place.profile!r}; its key is destroyed.",))


def _read() -> str:
    """A text from standard input, without the line break at its end."""
    try:
        return _typed("Type what to remember; end with Ctrl-D.").decode().rstrip("\r\n")
    except UnicodeDecodeError as bad:
        raise InvalidInput(f"Standard input is not valid UTF-8 at byte {bad.start}.", field="text") from None


def _typed(hint: str) -> bytes:
    if sys.stdin.isatty():
        print(hint, file=sys.stderr)
    return sys.stdin.buffer.read()


def _bytes(file: Path) -> bytes:
    if str(file) == "-":
        return _typed('Type "Name: text" lines; end with Ctrl-D.')
    try:
        return file.read_bytes()
    except OSError as bad:
        raise InvalidInput(f"{file} cannot be read: {bad.strerror}.", field="file") from None


def _written(memory: Profile, batches: list[list[Any]], session: str, agent: Any, *, quiet: bool) -> Receipt:
    from ..results import Receipt

    total = sum(map(len, batches))
    written: list[Written] = []
    pending = 0
    with meter("Writing", total, quiet=quiet, at_once=len(batches) > 1) as writing:
        writing.reached(0)
        for batch in batches:
            receipt = memory.ingest(batch, session_id=session, agent=agent)
            written += receipt.messages
            pending += receipt.pending
            writing.reached(len(written))
    return Receipt(session, tuple(written), pending)


def digested(memory: Profile, *, quiet: bool) -> None:
    """Wait for the worker, showing how far it is, in messages: each is digested, and its passages given a meaning."""
    if memory.settle(POLL_SECONDS):
        return
    stats = memory.stats()
    messages, work = stats.pending or stats.unembedded, stats.pending + stats.unembedded
    with meter("Digesting", messages, quiet=quiet) as digesting:
        while not memory.settle(POLL_SECONDS):
            stats = memory.stats()
            left = stats.pending + stats.unembedded
            work = max(work, left)
            digesting.reached(messages * (work - left) // max(work, 1))


def _counted(receipt: Receipt, *, waited: bool) -> str:
    new = sum(message.new for message in receipt.messages)
    known = len(receipt.messages) - new
    said = f"Session {receipt.session_id}: {count(new, 'new message')}"
    said += f", {known:,} known already" if known else ""
    said += f", {receipt.skipped:,} without text" if receipt.skipped else ""
    said += f", {count(len(receipt.memories), 'memory')}" if waited else ""
    return said + (f", {receipt.pending:,} waiting to be digested." if receipt.pending else ".")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def seconds(span: str | None) -> float | None:
    if span is None:
        return None
    read = _SPAN.fullmatch(span.strip())
    if read is None:
        raise InvalidInput(f"ttl is {shown(span)}; give seconds, or a number with s, m, h, d or w.", field="ttl")
    return float(read[1]) * _SECONDS[read[2]]
