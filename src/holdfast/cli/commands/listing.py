"""The commands that list and count: facets, messages, jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

from holdfast.cli.options import CommandTarget, Filter, Kind, Limit, add_command, parse_filter
from holdfast.cli.output import views
from holdfast.cli.output.render import Block, CommandResult, Entry, Remark, Table
from holdfast.cli.parameters import Commands, Option

if TYPE_CHECKING:
    from holdfast.domain.types import Facet

Session = Annotated[str | None, Option("--session", metavar="ID", help="Only this session.")]
Cursor = Annotated[str | None, Option("--cursor", metavar="CURSOR", help="The cursor of the previous page.")]


def facets(
    target: CommandTarget,
    by: Annotated[
        list[str] | None,
        Option("--by", metavar="kind|key|person|agent|tag|month", help="Count by this; repeatable."),
    ] = None,
    kind: Kind = None,
    session: Session = None,
    filter: Filter = None,
    limit: Limit = 20,
    superseded: Annotated[bool, Option("--superseded", help="Include superseded versions.")] = False,
    as_of: Annotated[
        str | None, Option("--as-of", metavar="TIME", help="Use what was known at this ISO 8601 time.")
    ] = None,
) -> CommandResult:
    """Count memories by kind, key, person, agent, tag and month.

    A person is who said it: a named speaker of the messages that a memory is based on. Tags are metadata.tags.
    """
    with target.open_profile(kinds=kind) as profile:
        found = profile.facets(
            cast("list[Facet] | None", by or None),
            limit=limit,
            as_of=as_of,
            superseded=superseded,
            kind=kind or None,
            session_id=session,
            filter=parse_filter(filter),
        )
    rows = tuple(
        (facet, value, f"{times:,}") for facet, counts in found.counts.items() for value, times in counts.items()
    )
    more = tuple(
        Remark(f"{facet}: {found.distinct[facet] - len(counts):,} more values; raise --limit to see them.")
        for facet, counts in found.counts.items()
        if found.distinct[facet] > len(counts)
    )
    blocks: tuple[Block, ...] = (Table(rows, ("facet", "value", "memories")),) if rows else ()
    return CommandResult(found, (*blocks, *more, Remark(f"{views.count(found.total, 'memory')} in all.")))


def messages(
    target: CommandTarget, session: Session = None, limit: Limit = 100, cursor: Cursor = None
) -> CommandResult:
    """List messages in order, of one session or of all."""
    with target.open_profile() as profile:
        page = profile.messages(session, limit=limit, cursor=cursor)
    blocks: tuple[Block, ...] = tuple(
        Entry(
            message.content,
            f"{message.speaker or message.role} · said {views.minute_text(message.said_at)} · session "
            f"{message.session_id} · {message.id}",
            "•",
        )
        for message in page
    ) or (Remark("No messages."),)
    document = {"messages": page.items, "cursor": page.cursor}
    return CommandResult(document, (*blocks, *views.next_page_hint(page.cursor)))


def jobs(target: CommandTarget, limit: Limit = 20, cursor: Cursor = None) -> CommandResult:
    """List the jobs that digest messages, newest first."""
    with target.open_profile() as profile:
        page = profile.jobs(limit=limit, cursor=cursor)
    rows = tuple(
        (job.id, views.minute_text(job.created_at), job.state, f"{job.done:,} of {job.total:,}", f"{job.failed:,}")
        for job in page
    )
    blocks: tuple[Block, ...] = (
        (Table(rows, ("job", "created", "state", "done", "failed")),) if rows else (Remark("No jobs."),)
    )
    return CommandResult({"jobs": page.items, "cursor": page.cursor}, (*blocks, *views.next_page_hint(page.cursor)))


def add_to(app: Commands) -> None:
    add_command(app, "facets", facets)
    add_command(app, "messages", messages)
    add_command(app, "jobs", jobs)
