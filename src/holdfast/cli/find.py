"""The commands that read: recall, search, context, list, get, history, summary."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import views
from .output import Block, Markdown, Note, Reply
from .place import Place, add
from .transcript import parsed

Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")]
Kind = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind, or message; repeatable.")
]
Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only what this agent wrote.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only from this ISO 8601 time on.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only before this ISO 8601 time.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="JSON", help='Conditions, e.g. {"metadata.price": {"gte": 10}}.')
]
When = Annotated[
    str | None, typer.Option("--reference-date", metavar="TIME", help="The moment that “yesterday” is relative to.")
]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="From what was known at this ISO 8601 time.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")]
Others = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="PROFILE", help="Ask this profile of the namespace as well; repeatable."),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="A memory's id.")]


def recall(
    place: Place,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question.")],
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="How many hits at most.")] = None,
    kind: Kind = None,
    session: Session = None,
    filter: Filter = None,
    reference_date: When = None,
    as_of: AsOf = None,
    think: Annotated[str, typer.Option(metavar="low|medium|high", help="How hard: hits read, and time.")] = "low",
    length: Annotated[str, typer.Option(metavar="short|medium|long", help="Of a model's answer.")] = "medium",
    agent: Agent = None,
    since: Since = None,
    until: Until = None,
    others: Others = None,
) -> Reply:
    """Answer a question from memory, with citations.

    Without a language model an answer is a quotation; when nothing supports one, there is none.
    """
    with place.memories(others) as memory:
        found = memory.recall(
            question, limit=limit, kind=kind or None, session_id=session, filter=_filter(filter),
            reference_date=reference_date, as_of=as_of, thinking_level=think, response_length=length,
            agent=agent, since=since, until=until,
        )  # fmt: skip
    return Reply(found, views.answer(found))


def usage(
    place: Place,
    month: Annotated[str | None, typer.Option("--month", metavar="YYYY-MM", help="Only this month.")] = None,
) -> Reply:
    """What language models were asked: calls and tokens by month, model and task."""
    with place.memory() as memory:
        spent = memory.usage(month)
    return Reply({"usage": spent}, views.usage(spent))


def search(
    place: Place,
    query: Query,
    limit: Limit = 10,
    kind: Kind = None,
    session: Session = None,
    agent: Agent = None,
    since: Since = None,
    until: Until = None,
    filter: Filter = None,
    reference_date: When = None,
    as_of: AsOf = None,
    min_relevance: Annotated[
        float, typer.Option("--min-relevance", metavar="SHARE", help="Only hits as surely about it, 0 to 1.")
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Say what found each hit and what decided.")] = False,
    others: Others = None,
) -> Reply:
    """Find memories and messages, best first."""
    wanted = {"kind": kind or None, "session_id": session, "agent": agent, "since": since, "until": until}
    with place.memories(others) as memory:
        found = memory.search(
            query,
            limit=limit,
            min_relevance=min_relevance,
            filter=_filter(filter),
            reference_date=reference_date,
            as_of=as_of,
            **wanted,  # type: ignore[arg-type]
        )
    return Reply({"hits": found}, views.hits(found, explain=explain))


def context(
    place: Place,
    query: Query,
    tokens: Annotated[int, typer.Option(metavar="N", help="How many tokens it may cost.")] = 1000,
    as_of: AsOf = None,
    others: Others = None,
) -> Reply:
    """Print a block to paste into a prompt, within a token budget."""
    with place.memories(others) as memory:
        found = memory.context(query, tokens=tokens, as_of=as_of)
    return Reply(found, (found.text or Note(views.NOTHING_KNOWN),))


def listing(
    place: Place,
    kind: Kind = None,
    key_prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="Only keys that start so.")] = None,
    session: Session = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Where the last page ended.")] = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Earlier versions too.")] = False,
    expired: Annotated[bool, typer.Option("--expired", help="Expired ones too, until they are swept.")] = False,
    filter: Filter = None,
    as_of: AsOf = None,
) -> Reply:
    """List current memories, newest first."""
    with place.memory() as memory:
        page = memory.list(
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            kind=kind or None,
            key_prefix=key_prefix,
            session_id=session,
            superseded=superseded,
            expired=expired,
            filter=_filter(filter),
        )
    blocks: tuple[Block, ...] = views.memories(page.items) or (Note("No memories."),)
    more = (Note(f"More: --cursor {page.cursor}"),) if page.cursor else ()
    return Reply(page, (*blocks, *more))


def get(
    place: Place, id: Annotated[str, typer.Argument(metavar="ID", help="A memory or a message.")], as_of: AsOf = None
) -> Reply:
    """Show one memory or message."""
    with place.memory() as memory:
        found = memory.get(id, as_of=as_of)
    return Reply(found, views.item(found))


def history(place: Place, id: Id, as_of: AsOf = None) -> Reply:
    """Show every version of a memory, newest first."""
    with place.memory() as memory:
        found = memory.history(id, as_of=as_of)
    return Reply({"versions": found}, views.versions(found))


def summary(place: Place, session: Session = None) -> Reply:
    """The profile, or one session, on one page."""
    with place.memory() as memory:
        page = memory.summary(session)
    return Reply({"summary": page}, (Markdown(page) if page else Note("Nothing known yet."),))


def add_to(app: typer.Typer) -> None:
    add(app, "recall", recall)
    add(app, "usage", usage)
    add(app, "search", search)
    add(app, "context", context)
    add(app, "list", listing)
    add(app, "get", get)
    add(app, "history", history)
    add(app, "summary", summary)


def _filter(text: str | None) -> Any:
    return None if text is None else parsed(text, "filter", "filter")
