"""The commands about memories: remember, recall, search, context, list, get, history, summary."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, cast

from holdfast.cli.options import (
    CommandTarget,
    ExcludedSession,
    Filter,
    IdOrKey,
    Kind,
    Lifetime,
    Limit,
    MessageSession,
    Metadata,
    MinRelevance,
    Writer,
    add_command,
    found_by_id_or_key,
    parse_filter,
    parse_span,
)
from holdfast.cli.output import views
from holdfast.cli.output.progress import stop_spinner
from holdfast.cli.output.render import Block, CommandResult, Markdown, Remark
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.types import Message

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.domain.types import Memory, Order, SearchOrder
    from holdfast.service.sync import Profile

Query = Annotated[str, Argument(metavar="QUERY", help="What to look for.")]
Session = Annotated[str | None, Option("--session", metavar="ID", help="Only this session.")]
Agent = Annotated[str | None, Option("--agent", metavar="NAME", help="Only what this agent wrote.")]
Since = Annotated[str | None, Option("--since", metavar="TIME", help="Only from this ISO 8601 time on.")]
Until = Annotated[str | None, Option("--until", metavar="TIME", help="Only before this ISO 8601 time.")]
ReferenceDate = Annotated[
    str | None, Option("--reference-date", metavar="TIME", help="The time that “yesterday” is relative to.")
]
AsOf = Annotated[str | None, Option("--as-of", metavar="TIME", help="Use what was known at this ISO 8601 time.")]
Expired = Annotated[bool, Option("--expired", help="Include expired memories that are not yet removed.")]
Explain = Annotated[
    bool, Option("--explain", help="Show how each was found or made, also in --json: channels, features, rules.")
]
Others = Annotated[
    list[str] | None,
    Option("--with", metavar="PROFILE", help="Also query this profile of the namespace; repeatable."),
]
DEFAULT_HITS = 10
SETTLE_SECONDS = 2.0
"""How long `remember` waits for the vector, so that the next command need not. Chosen by hand; not measured."""


def remember(
    target: CommandTarget,
    text: Annotated[str, Argument(metavar="TEXT|-", help="What to remember; - reads standard input.")],
    kind: Annotated[
        str | None, Option(metavar="KIND", help="fact (the default), event, instruction, task or your own.")
    ] = None,
    key: Annotated[
        str | None, Option(metavar="KEY", help="What it is about; a memory with this key is superseded.")
    ] = None,
    metadata: Metadata = None,
    session: MessageSession = None,
    agent: Writer = None,
    ttl: Lifetime = None,
    no_topic: Annotated[bool, Option("--no-topic", help="Do not derive a key from the text.")] = False,
) -> CommandResult:
    """Write one memory."""
    text = _read_stdin() if text == "-" else text
    fields = None if metadata is None else parse_json(metadata, "metadata", "metadata")
    with target.open_profile(create=True) as profile:
        memory: Memory = profile.remember(
            text, kind=kind, key=key, metadata=fields, session_id=session, agent=agent, ttl=parse_span(ttl),
            topic=not no_topic,
        )  # fmt: skip
        before = profile.history(memory.id)[1:2] if memory.version > 1 and key is None else ()
        profile.settle(SETTLE_SECONDS)
    superseded = [Remark(f"Supersedes: {old.content}") for old in before]
    return CommandResult(memory, (*views.memory_blocks([memory]), *superseded))


def recall(
    target: CommandTarget,
    question: Annotated[str, Argument(metavar="QUESTION", help="The question.")],
    limit: Annotated[int | None, Option("--limit", metavar="N", help="At most this many hits.")] = None,
    kind: Kind = None,
    session: Session = None,
    filter: Filter = None,
    reference_date: ReferenceDate = None,
    as_of: AsOf = None,
    think: Annotated[
        str, Option(metavar="low|medium|high", help="How many hits to read, and how long to think.")
    ] = "low",
    length: Annotated[str, Option(metavar="short|medium|long", help="Length of a language model's answer.")] = "medium",
    agent: Agent = None,
    since: Since = None,
    until: Until = None,
    exclude_session: ExcludedSession = None,
    explain: Explain = False,
    others: Others = None,
) -> CommandResult:
    """Answer a question from memory, with citations.

    Without a language model the answer is a quotation. When no hit supports an answer, there is none.
    """
    how: Any = {"thinking_level": think, "response_length": length}  # recall checks the words
    with target.open_profiles(others, kinds=kind) as profile:
        found = profile.recall(
            question, limit=limit, kind=kind or None, session_id=session, filter=parse_filter(filter),
            reference_date=reference_date, as_of=as_of, **how,
            agent=agent, since=since, until=until, exclude_session=exclude_session,
        )  # fmt: skip
    return CommandResult(found, views.answer_blocks(found, explain=explain))


def search(
    target: CommandTarget,
    query: Query,
    limit: Limit = DEFAULT_HITS,
    kind: Kind = None,
    session: Session = None,
    agent: Agent = None,
    since: Since = None,
    until: Until = None,
    filter: Filter = None,
    reference_date: ReferenceDate = None,
    as_of: AsOf = None,
    min_relevance: MinRelevance = 0.0,
    exclude_session: ExcludedSession = None,
    order: Annotated[
        str,
        Option(metavar="relevance|occurred|created", help="What sorts the hits; with _asc, oldest first."),
    ] = "relevance",
    explain: Explain = False,
    others: Others = None,
) -> CommandResult:
    """Find memories and messages, best first."""
    conditions = {"kind": kind or None, "session_id": session, "agent": agent, "since": since, "until": until}
    with target.open_profiles(others, kinds=kind) as profile:
        found = profile.search(
            query,
            limit=limit,
            min_relevance=min_relevance,
            filter=parse_filter(filter),
            reference_date=reference_date,
            as_of=as_of,
            order=cast("SearchOrder", order),
            exclude_session=exclude_session,
            **conditions,  # type: ignore[arg-type]
        )
    cut = len(found) == limit == DEFAULT_HITS  # whoever gave a limit knows of it
    more = (Remark(f"The best {limit}. More: add --limit {2 * limit}"),) if cut else ()
    return CommandResult({"hits": found}, (*views.hit_blocks(found, explain=explain), *more))


def context(
    target: CommandTarget,
    query: Query,
    tokens: Annotated[int, Option(metavar="N", help="At most this many tokens.")] = 1000,
    as_of: AsOf = None,
    min_relevance: MinRelevance = 0.0,
    exclude_session: ExcludedSession = None,
    explain: Annotated[bool, Option("--explain", help="Show in --json how each hit was found.")] = False,
    others: Others = None,
) -> CommandResult:
    """Print a block to paste into a prompt, within a token budget."""
    with target.open_profiles(others) as profile:
        found = profile.context(
            query, tokens=tokens, min_relevance=min_relevance, as_of=as_of, exclude_session=exclude_session
        )
    return CommandResult(found, (found.text or Remark(views.NOTHING_KNOWN),))


def list_memories(
    target: CommandTarget,
    kind: Kind = None,
    key_prefix: Annotated[str | None, Option(metavar="TEXT", help="Only keys that start with this.")] = None,
    session: Session = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, Option(metavar="CURSOR", help="The cursor of the previous page.")] = None,
    superseded: Annotated[bool, Option("--superseded", help="Include superseded versions.")] = False,
    expired: Expired = False,
    filter: Filter = None,
    as_of: AsOf = None,
    order: Annotated[
        str,
        Option(metavar="written|updated|created|occurred", help="By which time; with _asc, oldest first."),
    ] = "written",
    total: Annotated[bool, Option("--total", help="Also count the memories on all pages.")] = False,
    explain: Explain = False,
) -> CommandResult:
    """List current memories, newest first."""
    with target.open_profile(kinds=kind) as profile:
        page = profile.list(
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            kind=kind or None,
            key_prefix=key_prefix,
            session_id=session,
            superseded=superseded,
            expired=expired,
            filter=parse_filter(filter),
            order=cast("Order", order),
            total=total,
        )
        said = {} if target.as_json else _said_at(profile, page.items)
    blocks: tuple[Block, ...] = views.memory_blocks(page.items, explain=explain, said=said) or (Remark("No memories."),)
    counted = (Remark(f"{views.count(page.total, 'memory')} in all."),) if page.total is not None else ()
    document = {"memories": page.items, "cursor": page.cursor, "total": page.total}
    return CommandResult(document, (*blocks, *counted, *views.next_page_hint(page.cursor)))


def _said_at(profile: Profile, memories: Iterable[Memory]) -> dict[str, datetime]:
    """When the first message of each memory was said, by the message's id."""
    said = {}
    for source in dict.fromkeys(memory.sources[0] for memory in memories if memory.sources):
        with suppress(NotFound):  # forgotten since
            message = profile.get(source)
            if isinstance(message, Message):
                said[source] = message.said_at
    return said


def get(
    target: CommandTarget,
    id: Annotated[str, Argument(metavar="ID", help="The id of a memory or message, or a memory's key.")],
    as_of: AsOf = None,
    expired: Expired = False,
    explain: Explain = False,
) -> CommandResult:
    """Show one memory or message."""
    with target.open_profile() as profile:
        found = found_by_id_or_key(profile, id, lambda each: profile.get(each, as_of=as_of, expired=expired))
    return CommandResult(found, views.item_blocks(found, explain=explain))


def history(
    target: CommandTarget, id: IdOrKey, as_of: AsOf = None, expired: Expired = False, explain: Explain = False
) -> CommandResult:
    """Show every version of a memory, newest first."""
    with target.open_profile() as profile:
        found = found_by_id_or_key(profile, id, lambda each: profile.history(each, as_of=as_of, expired=expired))
    return CommandResult({"versions": found}, views.capped(views.version_blocks(found, explain=explain)))


def summary(target: CommandTarget, session: Session = None) -> CommandResult:
    """Summarise the profile, or one session, on one page."""
    with target.open_profile() as profile:
        page = profile.summary(session)
    return CommandResult({"summary": page}, (Markdown(page) if page else Remark("Nothing known yet."),))


def _read_stdin() -> str:
    """The text on standard input, without the line break at its end."""
    if sys.stdin.isatty():
        stop_spinner()
        print("Type what to remember; end with Ctrl-D.", file=sys.stderr)
    try:
        return sys.stdin.buffer.read().decode().rstrip("\r\n")
    except UnicodeDecodeError as bad:
        raise InvalidInput(f"Standard input is not valid UTF-8 at byte {bad.start}.", field="text") from None


def add_to(app: Commands) -> None:
    add_command(app, "remember", remember)
    add_command(app, "recall", recall)
    add_command(app, "search", search)
    add_command(app, "context", context)
    add_command(app, "list", list_memories)
    add_command(app, "get", get)
    add_command(app, "history", history)
    add_command(app, "summary", summary)
