"""The commands about memories: remember, recall, search, context, list, get, history, summary, forget."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

from holdfast.cli.options import (
    CommandTarget,
    ExcludedSession,
    Filter,
    Id,
    Kind,
    Lifetime,
    Limit,
    MessageSession,
    Metadata,
    MinRelevance,
    Writer,
    Yes,
    add_command,
    confirm,
    parse_filter,
    parse_span,
)
from holdfast.cli.output import views
from holdfast.cli.output.render import Block, CommandResult, Entry, Markdown, Remark
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from holdfast.domain.types import Forgotten, Memory, Order, SearchOrder
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
Others = Annotated[
    list[str] | None,
    Option("--with", metavar="PROFILE", help="Also query this profile of the namespace; repeatable."),
]
SETTLE_SECONDS = 2.0
"""How long `remember` waits for the vector, so that the next command need not. Chosen by hand; not measured."""
NOTHING_TO_FORGET = "There was nothing to forget."
MAX_SHOWN = 20
"""How many memories and messages a dry run of `forget` shows. Chosen by hand; not measured."""


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
    with target.open_profile() as profile:
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
    others: Others = None,
) -> CommandResult:
    """Answer a question from memory, with citations.

    Without a language model the answer is a quotation. When no hit supports an answer, there is none.
    """
    how: Any = {"thinking_level": think, "response_length": length}  # recall checks the words
    with target.open_profiles(others) as profile:
        found = profile.recall(
            question, limit=limit, kind=kind or None, session_id=session, filter=parse_filter(filter),
            reference_date=reference_date, as_of=as_of, **how,
            agent=agent, since=since, until=until, exclude_session=exclude_session,
        )  # fmt: skip
    return CommandResult(found, views.answer_blocks(found))


def search(
    target: CommandTarget,
    query: Query,
    limit: Limit = 10,
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
    explain: Annotated[bool, Option("--explain", help="Show what found each hit and what moved its score.")] = False,
    others: Others = None,
) -> CommandResult:
    """Find memories and messages, best first."""
    conditions = {"kind": kind or None, "session_id": session, "agent": agent, "since": since, "until": until}
    with target.open_profiles(others) as profile:
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
    return CommandResult({"hits": found}, views.hit_blocks(found, explain=explain))


def context(
    target: CommandTarget,
    query: Query,
    tokens: Annotated[int, Option(metavar="N", help="At most this many tokens.")] = 1000,
    as_of: AsOf = None,
    min_relevance: MinRelevance = 0.0,
    exclude_session: ExcludedSession = None,
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
) -> CommandResult:
    """List current memories, newest first."""
    with target.open_profile() as profile:
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
    blocks: tuple[Block, ...] = views.memory_blocks(page.items) or (Remark("No memories."),)
    counted = (Remark(f"{views.count(page.total, 'memory')} in all."),) if page.total is not None else ()
    more = (Remark(f"More: --cursor {page.cursor}"),) if page.cursor else ()
    return CommandResult(page, (*blocks, *counted, *more))


def get(
    target: CommandTarget,
    id: Annotated[str, Argument(metavar="ID", help="The id of a memory or message.")],
    as_of: AsOf = None,
    expired: Expired = False,
) -> CommandResult:
    """Show one memory or message."""
    with target.open_profile() as profile:
        found = profile.get(id, as_of=as_of, expired=expired)
    return CommandResult(found, views.item_blocks(found))


def history(target: CommandTarget, id: Id, as_of: AsOf = None, expired: Expired = False) -> CommandResult:
    """Show every version of a memory, newest first."""
    with target.open_profile() as profile:
        found = profile.history(id, as_of=as_of, expired=expired)
    return CommandResult({"versions": found}, views.version_blocks(found))


def summary(target: CommandTarget, session: Session = None) -> CommandResult:
    """Summarise the profile, or one session, on one page."""
    with target.open_profile() as profile:
        page = profile.summary(session)
    return CommandResult({"summary": page}, (Markdown(page) if page else Remark("Nothing known yet."),))


def forget(
    target: CommandTarget,
    id: Annotated[str | None, Argument(metavar="[ID]", help="The id of a memory or message.")] = None,
    session: Annotated[str | None, Option("--session", metavar="ID", help="Forget a whole session.")] = None,
    person: Annotated[
        str | None,
        Option("--person", metavar="NAME", help="Forget what a person said and everything that names them."),
    ] = None,
    kind: Kind = None,
    filter: Filter = None,
    profile_data: Annotated[bool, Option("--profile-data", help="Delete the whole profile.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Forget nothing; show what would be forgotten.")] = False,
    yes: Yes = False,
) -> CommandResult:
    """Forget a memory, a session, a person, what matches --kind and --filter, or a whole profile, for good.

    Forgetting a memory removes all its versions and takes its words out of the messages it came from.
    """
    by_filter = bool(kind) or filter is not None
    if sum((id is not None, session is not None, person is not None, by_filter, profile_data)) != 1:
        raise InvalidInput(
            "Give one of: an id, --session, --person, --profile-data, or --kind and --filter.", field="id"
        )
    if profile_data:
        if dry_run:
            raise InvalidInput("--profile-data has no dry run.", field="dry_run", fix="See: holdfast stats")
        return _forget_profile(target, yes)
    conditions = parse_filter(filter)

    def run(profile: Profile, dry_run: bool) -> Forgotten:
        if id is not None:
            return profile.forget(id, dry_run=dry_run)
        if session is not None:
            return profile.forget_session(session, dry_run=dry_run)
        if person is not None:
            return profile.forget_person(person, dry_run=dry_run)
        return profile.forget_where(kind=kind or None, filter=conditions, dry_run=dry_run)

    with target.open_profile() as profile:
        if dry_run:
            gone = run(profile, True)
            return CommandResult(gone, (_forgotten_line(gone, "Would forget"), *_forgotten_entries(profile, gone)))
        if person is not None or by_filter:
            question = _forgotten_line(run(profile, True), "Forget")
            if question != NOTHING_TO_FORGET and not confirm(
                f"{question[:-1]} for good?", yes=yes, as_json=target.as_json
            ):
                return CommandResult(None, (Remark("Nothing was forgotten."),))
        gone = run(profile, False)
    return CommandResult(gone, (_forgotten_line(gone, "Forgot"),))


def _forgotten_line(gone: Forgotten, verb: str) -> str:
    if not gone.memories and not gone.messages:
        return NOTHING_TO_FORGET
    line = f"{verb} {views.count(len(gone.memories), 'memory')} and {views.count(len(gone.messages), 'message')}"
    return f"{line}; {views.count(len(gone.shortened), 'message')} shortened." if gone.shortened else f"{line}."


def _forgotten_entries(profile: Profile, gone: Forgotten) -> tuple[Block, ...]:
    """The first memories and messages that would be forgotten."""
    first = [profile.get(each, expired=True) for each in (*gone.memories, *gone.messages)[:MAX_SHOWN]]
    more = len(gone.memories) + len(gone.messages) - len(first)
    entries = tuple(
        Entry(each.content, f"{getattr(each, 'kind', 'message')} · {views.day_text(each.created_at)} · {each.id}", "•")
        for each in first
    )
    return (*entries, Remark(f"And {more:,} more.")) if more else entries


def _forget_profile(target: CommandTarget, yes: bool) -> CommandResult:
    question = f"Delete profile {target.profile!r} of namespace {target.namespace!r} and destroy its key?"
    if not confirm(question, yes=yes, as_json=target.as_json):
        return CommandResult(None, (Remark("Nothing was deleted."),))
    with target.open_folder() as holdfast:
        if not holdfast.delete_profile(target.namespace, target.profile):
            raise NotFound(f"There is no profile {target.profile!r} in {target.namespace!r}.", field="profile")
    gone = {"namespace": target.namespace, "profile": target.profile, "deleted": True}
    return CommandResult(gone, (f"Deleted profile {target.profile!r} and destroyed its key.",))


def _read_stdin() -> str:
    """The text on standard input, without the line break at its end."""
    if sys.stdin.isatty():
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
    add_command(app, "forget", forget)
