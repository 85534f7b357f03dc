"""The commands about curation: edit, merge, split, mark, review, undo, audit."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import (
    CommandTarget,
    DryRun,
    Filter,
    Id,
    IdOrKey,
    Kind,
    Lifetime,
    Limit,
    add_command,
    found_by_id_or_key,
    parse_span,
)
from holdfast.cli.output import views
from holdfast.cli.output.render import (
    Block,
    CommandResult,
    Entry,
    Remark,
    Table,
    one_line,
)
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.identifiers import version_reference

if TYPE_CHECKING:
    from holdfast.domain.records import Edit
    from holdfast.domain.reports import Audit, Finding
    from holdfast.domain.results import Edited, Review
    from holdfast.service.sync import Profile

Content = Annotated[str | None, Option("--content", metavar="TEXT", help="The new text.")]
Key = Annotated[str | None, Option("--key", metavar="KEY", help="The new key: what it is about.")]
NewKind = Annotated[str | None, Option("--as-kind", metavar="KIND", help="The new kind.")]
MetadataChange = Annotated[str | None, Option(metavar="JSON", help="Metadata fields to set; null removes one.")]
MAX_TEXT_CHARS = 60
"""Characters of a text in the list of changes. Chosen by hand; not measured."""
NOTHING_TO_UNDO = "Nothing to undo."
NOTHING_TO_CHANGE = "Nothing was given to change."


def edit(
    target: CommandTarget,
    id: Annotated[
        str | None, Argument(metavar="[ID]", help="A memory, by its id or key; without one, every memory that matches.")
    ] = None,
    content: Content = None,
    key: Key = None,
    as_kind: NewKind = None,
    metadata: MetadataChange = None,
    ttl: Lifetime = None,
    pin: Annotated[bool | None, Option("--pin/--unpin", help="Whether retention rules skip it.")] = None,
    kind: Kind = None,
    filter: Filter = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Write a new version of one memory, or of all that match.

    Without an id, of every memory that matches --kind and --filter. The old version stays in the history.
    `holdfast undo` reverts the change.
    """
    fields = {} if metadata is None else parse_json(metadata, "metadata", "metadata")
    change: dict[str, Any] = {"kind": as_kind, "metadata": fields or None, "ttl": parse_span(ttl)}
    given = {name: value for name, value in change.items() if value is not None}
    with target.open_profile(kinds=kind) as profile:
        if id is None:
            if content is not None or key is not None:
                raise InvalidInput("--content and --key change one memory; give its id.", field="id")
            given |= {} if pin is None else {"pinned": pin}
            where = None if filter is None else parse_json(filter, "filter", "filter")
            return _edit_result(target, profile.revise_where(given, kind=kind or None, filter=where, dry_run=dry_run))
        if kind or filter or dry_run:
            raise InvalidInput("--kind, --filter and --dry-run work on several memories; leave out the id.", field="id")
        one: Any = {**given, "content": content, "key": key}
        if pin is not None:
            one["metadata"] = {**fields, "pinned": True if pin else None}
        change = {name: value for name, value in one.items() if value is not None}
        if not change:
            raise InvalidInput(
                NOTHING_TO_CHANGE, field="content", fix="Add --content TEXT, or see: holdfast edit --help"
            )
        revised = found_by_id_or_key(profile, id, lambda each: profile.revise(each, **change))
        written = version_reference(revised.id, revised.version)
        hints = [_undo_hint(target, each.id) for each in profile.edits(limit=1) if written in dict(each.made)]
    return CommandResult(revised, (*views.memory_blocks([revised]), *hints))


def merge(
    target: CommandTarget,
    ids: Annotated[list[str], Argument(metavar="ID ID…", help="Two or more memories.")],
    content: Content = None,
    key: Key = None,
    as_kind: NewKind = None,
) -> CommandResult:
    """Merge several memories into one. They stay in its history.

    Without --content the new memory has the text of the best of them.
    """
    if len(set(ids)) < 2:
        raise InvalidInput("Give two or more different ids.", field="ids")
    with target.open_profile() as profile:
        return _edit_result(target, profile.merge(ids, content=content, key=key, kind=as_kind))


def split(
    target: CommandTarget,
    id: Id,
    into: Annotated[list[str], Argument(metavar="TEXT TEXT…", help="The text of each new memory.")],
) -> CommandResult:
    """Split one memory into several."""
    if len(into) < 2:
        raise InvalidInput("Give two or more texts, one for each new memory.", field="into")
    with target.open_profile() as profile:
        return _edit_result(target, profile.split(id, into))


def mark(
    target: CommandTarget,
    id: IdOrKey,
    wrong: Annotated[bool | None, Option("--wrong/--right", help="Whether the memory is wrong or right.")] = None,
) -> CommandResult:
    """Mark a memory as right or wrong.

    A wrong one is retired: it answers nothing until its review, and what it had superseded is true again. To correct
    its text: edit. To erase it: forget.
    """
    with target.open_profile() as profile:
        if wrong is None:
            content = one_line(found_by_id_or_key(profile, id, profile.get).content)
            raise InvalidInput(
                f"Is {quoted_value(content)} right or wrong?", field="wrong", fix="Add --right or --wrong."
            )
        return _edit_result(target, found_by_id_or_key(profile, id, lambda each: profile.mark(each, right=not wrong)))


def review(
    target: CommandTarget,
    id: Annotated[str | None, Argument(metavar="[ID]", help="The memory to answer.")] = None,
    answer: Annotated[
        str | None, Argument(metavar="[ANSWER]", help="right, wrong, keep or edit; for a conflict also replace.")
    ] = None,
    content: Content = None,
    limit: Limit = 20,
) -> CommandResult:
    """List the memories that need a decision, or answer one.

    The most urgent come first.
    """
    with target.open_profile() as profile:
        if id is not None:
            _check_answer(answer, content)
            return _edit_result(target, profile.resolve(id, str(answer), content=content))
        waiting = profile.review(limit=limit)
    return CommandResult({"review": waiting}, tuple(map(_review_entry, waiting)) or (Remark("Nothing to review."),))


def _check_answer(answer: str | None, content: str | None) -> None:
    if answer is None:
        raise InvalidInput("What is your answer: right, wrong, keep, edit or replace?", field="answer")
    if answer == "edit" and content is None:
        raise InvalidInput("edit needs the new text.", field="content", fix="Add --content TEXT.")
    if answer != "edit" and content is not None:
        raise InvalidInput(
            f"--content goes with the answer edit, not with {quoted_value(answer)}.", field="content",
            fix="Answer edit, or leave out --content.",
        )  # fmt: skip


def undo(
    target: CommandTarget,
    id: Annotated[
        str | None, Argument(metavar="[CHANGE]", help="The id of a change; without one, the last change.")
    ] = None,
    steps: Annotated[int, Option("--steps", metavar="N", help="Undo this many of the last changes.")] = 1,
    show: Annotated[bool, Option("--list", help="List the changes that can be undone.")] = False,
    limit: Annotated[int, Option("--limit", metavar="N", help="List at most this many changes.")] = 20,
    dry_run: DryRun = False,
) -> CommandResult:
    """Undo the last change, or an earlier one.

    A change is a remember, edit, merge, split, mark, review or audit fix. A forget cannot be undone.
    """
    with target.open_profile() as profile:
        if show:
            edits = profile.edits(limit=limit)
            return CommandResult({"edits": edits}, _edit_table([(each, _edit_text(profile, each)) for each in edits]))
        done = profile.undo(id, steps=steps, dry_run=dry_run)
    verb = "Would undo" if dry_run else "Undid"
    changes = ", ".join(f"{each.verb} of {views.minute_text(each.at)}" for each in done.edits)
    return CommandResult(done, (f"{verb} {changes}.", *views.capped(views.memory_blocks(done.memories))))


def audit(
    target: CommandTarget,
    fix: Annotated[
        str | None,
        Option(
            "--fix",
            metavar="NAME",
            help="Fix one: duplicates, contradictions, stale-tasks, orphans, junk, unproved or secrets.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Find duplicates, contradictions and other faults; fix them.

    It also finds past tasks, memories without a source, texts that are not memories, memories that their messages do
    not prove, and secrets. --fix corrects one of these; `holdfast undo` reverts the fix.
    """
    with target.open_profile() as profile:
        found = profile.audit(fix=fix, dry_run=dry_run)
    return CommandResult(found, _audit_report(target, found, fix, dry_run))


def _edit_result(target: CommandTarget, done: Edited) -> CommandResult:
    would = "Nothing to change." if not done.memories else f"Would change {count(len(done.memories), 'memory')}."
    last = Remark(would) if done.undo is None else _undo_hint(target, done.undo)
    return CommandResult(done, (*views.capped(views.memory_blocks(done.memories)), last))


def _undo_hint(target: CommandTarget, change: str) -> Remark:
    return Remark(f"To undo: {target.command_here(f'holdfast undo {change}')}")


def _review_entry(entry: Review) -> Entry:
    about = f"{entry.reason}: {entry.because} Answer {', '.join(entry.answers)}. · {entry.memory.id}"
    return Entry(entry.memory.content, about, "•")


def _edit_table(edits: list[tuple[Edit, str]]) -> tuple[Block, ...]:
    rows = [
        (each.id, views.minute_text(each.at), each.verb, str(len(each.made) + len(each.judged)), says)
        for each, says in edits
    ]
    return (Table(tuple(rows), ("change", "when", "what", "memories", "text")),) if rows else (Remark(NOTHING_TO_UNDO),)


def _edit_text(profile: Profile, change: Edit) -> str:
    """The text of the first memory of a change that still exists."""
    for id in (*(each[0] for each in change.made), *(each[0] for each in change.judged)):
        with suppress(NotFound):
            text = one_line(profile.get(id).content)
            return text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - 1]}…"
    return "(forgotten)" if change.gone or change.verb == "forget" else ""


def _audit_report(target: CommandTarget, found: Audit, fix: str | None, dry_run: bool) -> tuple[Block, ...]:
    """The findings; or what was done about one of them, and the findings that remain."""
    if fix is not None and found.fixed is not None:
        return _fix_report(target, found, found.fixed, fix, dry_run)
    blocks: list[Block] = [f"{count(found.memories, 'memory')}."]
    for each in found.findings:
        blocks.append(f"{each.name}: {each.count:,} ({each.share:.1%})")
        blocks += _finding_examples(target, each)
    return tuple(blocks)


def _fix_report(target: CommandTarget, found: Audit, done: Edited, fix: str, dry_run: bool) -> tuple[Block, ...]:
    finding = next(each for each in found.findings if each.name == fix)
    others = ", ".join(f"{each.name} {each.count:,}" for each in found.findings if each.count and each.name != fix)
    left = (Remark(f"Not fixed: {others}. See: {target.command_here('holdfast audit')}"),) if others else ()
    if not finding.count:
        return (f"There was nothing to fix: {fix} 0.", *left)
    verb, tense = ("Would fix", "would read") if dry_run else ("Fixed", "now read")
    return (
        f"{verb} {fix}: {count(finding.count, 'memory')}, which {tense}:",
        *_edit_result(target, done).blocks,
        *left,
    )


def _finding_examples(target: CommandTarget, finding: Finding) -> list[Block]:
    if not finding.count:
        return []
    examples = [Entry(text, ", ".join(ids), "•") for ids, text in zip(finding.examples, finding.texts, strict=True)]
    return [*examples, Remark(f"To fix: {target.command_here(finding.fix)}")]


def add_to(app: Commands) -> None:
    add_command(app, "edit", edit)
    add_command(app, "merge", merge)
    add_command(app, "split", split)
    add_command(app, "mark", mark)
    add_command(app, "review", review)
    add_command(app, "undo", undo)
    add_command(app, "audit", audit)
