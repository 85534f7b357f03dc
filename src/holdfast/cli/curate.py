"""The commands that set right what is known: edit, merge, split, mark, review, undo, audit."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInput, NotFound, shown
from . import views
from .find import Filter, Id, Kind, Limit
from .output import Block, Entry, Note, Reply, Table, one_line
from .place import Place, add
from .tell import count
from .tell import seconds as span
from .transcript import parsed

if TYPE_CHECKING:
    from ..records import Edit
    from ..results import Audit, Edited, Finding, Review
    from ..sync import Profile

Content = Annotated[str | None, typer.Option("--content", metavar="TEXT", help="What it says.")]
Key = Annotated[str | None, typer.Option("--key", metavar="KEY", help="What it is about.")]
NewKind = Annotated[str | None, typer.Option("--as-kind", metavar="KIND", help="Make it this kind.")]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Fields to set; null removes one.")]
LONGEST = 60
NO_CHANGE = "Nothing to undo."
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]


def edit(
    place: Place,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A memory; without one, all that match.")] = None,
    content: Content = None,
    key: Key = None,
    as_kind: NewKind = None,
    metadata: Metadata = None,
    ttl: Annotated[str | None, typer.Option(metavar="SPAN", help="Forget after: 90, 15m, 12h, 30d, 4w.")] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help="Retention leaves it, or not.")] = None,
    kind: Kind = None,
    filter: Filter = None,
    dry_run: DryRun = False,
) -> Reply:
    """Write a new version of a memory, or of every memory that matches --kind and --filter.

    The old version stays as history, and undo takes it back.
    """
    fields = {} if metadata is None else parsed(metadata, "metadata", "metadata")
    change: dict[str, Any] = {"kind": as_kind, "metadata": fields or None, "ttl": span(ttl)}
    given = {name: value for name, value in change.items() if value is not None}
    with place.memory() as memory:
        if id is None:
            if content is not None or key is not None:
                raise InvalidInput("A text and a key are for one memory; give its id.", field="id")
            given |= {} if pin is None else {"pinned": pin}
            where = None if filter is None else parsed(filter, "filter", "filter")
            return _edited(memory.revise_where(given, kind=kind or None, filter=where, dry_run=dry_run))
        if kind or filter or dry_run:
            raise InvalidInput("--kind, --filter and --dry-run are for many memories; leave out the id.", field="id")
        one: Any = {**given, "content": content, "key": key}
        if pin is not None:
            one["metadata"] = {**fields, "pinned": True if pin else None}
        kept = memory.revise(id, **{name: value for name, value in one.items() if value is not None})
    return Reply(kept, views.memories([kept]))


def merge(
    place: Place,
    ids: Annotated[list[str], typer.Argument(metavar="ID ID…", help="Memories that belong together.")],
    content: Content = None,
    key: Key = None,
    as_kind: NewKind = None,
) -> Reply:
    """Make one memory of several, which stay as its history.

    Without --content it says what the best of them says.
    """
    if len(set(ids)) < 2:
        raise InvalidInput("Give two or more different ids: the memories that are to become one.", field="ids")
    with place.memory() as memory:
        return _edited(memory.merge(ids, content=content, key=key, kind=as_kind))


def split(
    place: Place,
    id: Id,
    into: Annotated[list[str], typer.Argument(metavar="TEXT TEXT…", help="What each part says.")],
) -> Reply:
    """Make several memories of one."""
    if len(into) < 2:
        raise InvalidInput("Give two or more texts, one for each part.", field="into")
    with place.memory() as memory:
        return _edited(memory.split(id, into))


def mark(
    place: Place,
    id: Id,
    wrong: Annotated[bool | None, typer.Option("--wrong/--right", help="What it is; say one of them.")] = None,
) -> Reply:
    """Say that a memory is right, or wrong: it moves a little in search."""
    if wrong is None:
        raise InvalidInput("Say what it is.", field="wrong", fix="Add --right or --wrong.")
    with place.memory() as memory:
        return _edited(memory.mark(id, right=not wrong))


def review(
    place: Place,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The memory that is answered.")] = None,
    answer: Annotated[
        str | None, typer.Argument(metavar="[ANSWER]", help="right, wrong, keep, edit, or of a conflict replace.")
    ] = None,
    content: Content = None,
    limit: Limit = 20,
) -> Reply:
    """Show what somebody should look at, most urgent first; answer one."""
    with place.memory() as memory:
        if id is not None:
            _check_answer(answer, content)
            return _edited(memory.resolve(id, str(answer), content=content))
        waiting = memory.review(limit=limit)
    return Reply({"review": waiting}, tuple(map(_waiting, waiting)) or (Note("Nothing waits."),))


def _check_answer(answer: str | None, content: str | None) -> None:
    if answer is None:
        raise InvalidInput("Say what it is: right, wrong, keep, edit or replace.", field="answer")
    if answer == "edit" and content is None:
        raise InvalidInput("Say what it should say instead.", field="content", fix="Add --content TEXT.")
    if answer != "edit" and content is not None:
        raise InvalidInput(
            f"--content is the new text of a memory, and the answer is {shown(answer)}.", field="content",
            fix="Answer edit, or leave out --content.",
        )  # fmt: skip


def undo(
    place: Place,
    id: Annotated[str | None, typer.Argument(metavar="[CHANGE]", help="A change; without one, the last.")] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="How many of the last changes.")] = 1,
    show: Annotated[bool, typer.Option("--list", help="Show what can be undone.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many changes to list.")] = 20,
    dry_run: DryRun = False,
) -> Reply:
    """Take back what was remembered, edited, merged, split, marked or mended. A forget cannot be undone."""
    with place.memory() as memory:
        if show:
            edits = memory.edits(limit=limit)
            return Reply({"edits": edits}, _log([(each, _says(memory, each)) for each in edits]))
        done = memory.undo(id, steps=steps, dry_run=dry_run)
    verb = "Would undo" if dry_run else "Undid"
    told = ", ".join(f"{each.verb} of {views.minute(each.at)}" for each in done.edits)
    return Reply(done, (f"{verb} {told}.", *views.memories(done.memories)))


def audit(
    place: Place,
    fix: Annotated[
        str | None,
        typer.Option("--fix", metavar="NAME", help="duplicates, contradictions, stale-tasks, orphans or junk."),
    ] = None,
    dry_run: DryRun = False,
) -> Reply:
    """How good the memory is: what is there twice, contradicts itself, is over, lost its ground, or is no memory.

    --fix mends one of these, and undo takes it back.
    """
    with place.memory() as memory:
        found = memory.audit(fix=fix, dry_run=dry_run)
    return Reply(found, _audited(found, fix, dry_run))


def _edited(done: Edited) -> Reply:
    told = "Nothing to change." if not done.memories else f"Would change {count(len(done.memories), 'memory')}."
    last = Note(f"To undo: holdfast undo {done.undo}") if done.undo is not None else Note(told)
    return Reply(done, (*views.memories(done.memories), last))


def _waiting(entry: Review) -> Entry:
    about = f"{entry.reason}: {entry.because} Answer {', '.join(entry.answers)}. · {entry.memory.id}"
    return Entry(entry.memory.content, about, "•")


def _log(edits: list[tuple[Edit, str]]) -> tuple[Block, ...]:
    rows = [
        (each.id, views.minute(each.at), each.verb, str(len(each.made) + len(each.judged)), says)
        for each, says in edits
    ]
    return (Table(tuple(rows), ("change", "when", "what", "memories", "text")),) if rows else (Note(NO_CHANGE),)


def _says(memory: Profile, change: Edit) -> str:
    """What the first memory of a change says, as far as it is still there."""
    for id in (*(each[0] for each in change.made), *(each[0] for each in change.judged)):
        with suppress(NotFound):
            text = one_line(memory.get(id).content)
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "(forgotten since)" if change.gone or change.verb == "forget" else ""


def _audited(found: Audit, fix: str | None, dry_run: bool) -> tuple[Block, ...]:
    """The findings; or what was done about one of them, with what is left to do."""
    if fix is not None and found.fixed is not None:
        return _mended(found, found.fixed, fix, dry_run)
    told: list[Block] = [f"{count(found.memories, 'memory')}."]
    for each in found.findings:
        told.append(f"{each.name}: {each.count:,} ({each.share:.1%})")
        told += _examples(each)
    return tuple(told)


def _mended(found: Audit, done: Edited, fix: str, dry_run: bool) -> tuple[Block, ...]:
    about = next(each for each in found.findings if each.name == fix)
    others = ", ".join(f"{each.name} {each.count:,}" for each in found.findings if each.count and each.name != fix)
    left = (Note(f"Left as they are: {others}. See: holdfast audit"),) if others else ()
    if not about.count:
        return (f"There was nothing to mend: {fix} 0.", *left)
    verb = "Would mend" if dry_run else "Mended"
    return (f"{verb} {fix}: {count(about.count, 'memory')}, which now read:", *_edited(done).blocks, *left)


def _examples(finding: Finding) -> list[Block]:
    if not finding.count:
        return []
    examples = [Entry(text, ", ".join(ids), "•") for ids, text in zip(finding.examples, finding.texts, strict=True)]
    return [*examples, Note(f"To mend: {finding.fix}")]


def add_to(app: typer.Typer) -> None:
    add(app, "edit", edit)
    add(app, "merge", merge)
    add(app, "split", split)
    add(app, "mark", mark)
    add(app, "review", review)
    add(app, "undo", undo)
    add(app, "audit", audit)
