"""The command that forgets for good. On a terminal it shows what goes and asks first.

Where nobody can be asked, one item that is named by its id is forgotten; anything that may take more needs --yes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import CommandTarget, Filter, Kind, Yes, add_command, confirm, parse_filter
from holdfast.cli.output import views
from holdfast.cli.output.render import Block, CommandResult, Entry, Remark, print_result
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, NotFound, StorageError

if TYPE_CHECKING:
    from holdfast.domain.types import Forgotten
    from holdfast.service.sync import Profile

NOTHING_FORGOTTEN = "Nothing was forgotten."


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
    """Forget a memory, a session, a person or a profile, for good.

    Also what matches --kind and --filter. Forgetting a memory removes all its versions and takes its words out of the
    messages it came from. On a terminal it shows what goes and asks; --yes does not ask. Elsewhere anything but one id
    needs --yes.
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

    on_terminal = sys.stdin.isatty() and not target.as_json
    with target.open_profile(kinds=kind) as profile:
        if id is not None:
            profile.get(id, expired=True)  # no key does in place of an id: what is forgotten is gone for good
        gone = run(profile, True)
        entries = _forgotten_entries(profile, gone)
        if dry_run:
            return CommandResult(gone, (_forgotten_line(target, gone, "Would forget"), *entries))
        if (gone.memories or gone.messages) and not yes and (id is None or on_terminal):
            if on_terminal:
                print_result(CommandResult(None, entries), as_json=False)
            question = f"{_forgotten_line(target, gone, 'Forget')[:-1]} for good?"
            if not confirm(question, yes=yes, as_json=target.as_json):
                return CommandResult(None, (Remark(NOTHING_FORGOTTEN),))
            entries = ()  # they were shown with the question
        gone = run(profile, False)
    # What is printed into a file or a pipe stays there, so it has the ids only.
    shown = entries if sys.stdout.isatty() else _id_lines(gone)
    return CommandResult(gone, (_forgotten_line(target, gone, "Forgot"), *shown))


def _forgotten_line(target: CommandTarget, gone: Forgotten, verb: str) -> str:
    if not gone.memories and not gone.messages:
        return f"There was nothing to forget in profile {target.profile!r}."
    line = f"{verb} {views.count(len(gone.memories), 'memory')} and {views.count(len(gone.messages), 'message')}"
    return f"{line}; {views.count(len(gone.shortened), 'message')} shortened." if gone.shortened else f"{line}."


def _forgotten_entries(profile: Profile, gone: Forgotten) -> tuple[Block, ...]:
    """The first memories and messages that would be forgotten, and what would be current again."""
    ids = (*gone.memories, *gone.messages)
    first = [profile.get(each, expired=True) for each in ids[: views.MAX_SHOWN]]
    entries: list[Block] = []
    for name, each in zip(ids, first, strict=False):
        why = f" · {gone.reasons[name]}" if name in gone.reasons else ""
        entries.append(
            Entry(each.content, f"{getattr(each, 'kind', 'message')} · {views.item_dates(each)} · {each.id}{why}", "•")
        )
    again = [profile.get(each, expired=True) for each in gone.restored[: views.MAX_SHOWN]]
    return (
        *entries,
        *views.more_hint(len(ids) - len(first)),
        *(Entry(each.content, f"current again · {each.id}", "↺") for each in again),
    )


def _id_lines(gone: Forgotten) -> tuple[Block, ...]:
    named = (("memory", gone.memories), ("message", gone.messages), ("shortened message", gone.shortened))
    return views.capped(tuple(Remark(f"{what} {each}") for what, ids in named for each in ids))


def _forget_profile(target: CommandTarget, yes: bool) -> CommandResult:
    with target.open_folder() as holdfast:
        try:
            known = any(each.name == target.profile for each in holdfast.profiles(target.namespace))
        except NotFound:
            known = False
        if not known:
            raise NotFound(f"There is no profile {target.profile!r} in {target.namespace!r}.", field="profile")
        content = _content_text(holdfast.profile(target.namespace, target.profile))
        question = f"Delete profile {target.profile!r} of namespace {target.namespace!r} with {content} and its key?"
        if not confirm(question, yes=yes, as_json=target.as_json):
            return CommandResult(None, (Remark("Nothing was deleted."),))
        holdfast.delete_profile(target.namespace, target.profile)
    gone = {"namespace": target.namespace, "profile": target.profile, "deleted": True}
    return CommandResult(gone, (f"Deleted profile {target.profile!r} with {content} and destroyed its key.",))


def _content_text(profile: Profile) -> str:
    """How much a profile holds; a damaged one, which cannot be counted, can be deleted too."""
    try:
        stats = profile.stats()
    except StorageError:
        return "everything in it"
    return f"{views.count(stats.memories, 'memory')}, {views.count(stats.messages, 'message')}"


def add_to(app: Commands) -> None:
    add_command(app, "forget", forget)
