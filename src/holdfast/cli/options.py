"""Options and arguments that commands share, and the profile that the common options select."""

from __future__ import annotations

import inspect
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import click

from holdfast.cli import completion
from holdfast.cli.hooks.project import resolve_profile
from holdfast.cli.output.progress import Interrupted, spinner, stop_spinner
from holdfast.cli.output.render import CommandResult, ReaderGone, print_result
from holdfast.cli.parameters import Argument, Commands, Option, signature_parameters
from holdfast.cli.shared_folder import open_or_connect, unwritten_folder
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import FIND_IDS, InvalidInput, NotFound, nearest_names, quoted_value
from holdfast.domain.types import BUILT_IN_KINDS
from holdfast.service.settings import refuse_hidden_store

if TYPE_CHECKING:
    from holdfast.service.sync import Across, Holdfast, Profile


log = logging.getLogger("holdfast")


def _checked_folder(data: str | None) -> str | None:
    refuse_hidden_store(data)
    return data


DataFolder = Annotated[
    str | None,
    Option(
        "--data",
        metavar="DIR",
        help="Data folder [env var: HOLDFAST_DATA; default: the user's own].",
        callback=_checked_folder,
    ),
]
NamespaceName = Annotated[
    str,
    Option(
        "--namespace",
        "-n",
        metavar="NAME",
        envvar="HOLDFAST_NAMESPACE",
        help="Namespace.",
        complete=completion.namespace_names,
    ),
]
ProfileName = Annotated[
    str,
    Option(
        "--profile",
        "-p",
        metavar="NAME",
        envvar="HOLDFAST_PROFILE",
        help="Profile; . is the profile of the project in this folder.",
        callback=resolve_profile,
        complete=completion.profile_names,
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]

Kind = Annotated[list[str] | None, Option("--kind", metavar="KIND", help="Only this kind, or message; repeatable.")]
Filter = Annotated[
    str | None, Option("--filter", metavar="JSON", help='Conditions, e.g. {"metadata.price": {"gte": 10}}.')
]
ExcludedSession = Annotated[
    str | None,
    Option("--exclude-session", metavar="ID", help="Leave out a session: its messages, and what is based on it."),
]
MinRelevance = Annotated[
    float, Option("--min-relevance", metavar="SHARE", help="Only hits at least this relevant, 0 to 1.")
]
Limit = Annotated[int, Option("--limit", metavar="N", help="At most this many.")]
Id = Annotated[str, Argument(metavar="ID", help="A memory's id.")]
IdOrKey = Annotated[str, Argument(metavar="ID", help="A memory's id, or its key.")]
MessageSession = Annotated[str | None, Option("--session", metavar="ID", help="Session that the text belongs to.")]
Writer = Annotated[str | None, Option("--agent", metavar="NAME", help="The agent that writes this.")]
Metadata = Annotated[str | None, Option(metavar="JSON", help="Metadata to keep with it, as a JSON object.")]
Lifetime = Annotated[
    str | None, Option("--ttl", metavar="SPAN", help="Forget it after this time: 90, 15m, 12h, 30d, 4w.")
]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing; show what would change.")]
NoWait = Annotated[bool, Option("--no-wait", help="Return after writing; digest later.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]

T = TypeVar("T")
FIND_IDS_HERE = (
    "Give an id; `holdfast list` and `holdfast search` show ids. --profile NAME looks in another profile; . is that of "
    "the project in this folder."
)
MAX_NAMED_KINDS = 20
"""How many kinds a warning names. Chosen by hand; not measured."""
_PROFILE_INDEX = re.compile(r"profiles\[(\d+)\]")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """The values of the common options."""

    data: str | None
    namespace: str
    profile: str
    as_json: bool

    def command_here(self, command: str) -> str:
        """The command to propose to the user, with the options that make it use the same profile."""
        options = {
            "--data": self.data,
            "--namespace": _unless_default(self.namespace, "HOLDFAST_NAMESPACE"),
            "--profile": _unless_default(self.profile, "HOLDFAST_PROFILE"),
        }
        given = [f"{name} {shlex.quote(value)}" for name, value in options.items() if value is not None]
        return " ".join([command, *given])

    @contextmanager
    def open_folder(self, *, create: bool = False) -> Iterator[Holdfast]:
        """The data folder, opened here or in the process that serves it. Unless `create`, one that nothing was written
        to is not made: an empty one takes its place, and a warning says so."""
        missing = None if create else unwritten_folder(self.data)
        with _open_empty_folder(missing) if missing is not None else open_or_connect(self.data) as holdfast:
            yield holdfast

    @contextmanager
    def open_profile(self, *, create: bool = False, kinds: Sequence[str] | None = None) -> Iterator[Profile]:
        """The profile. Unless `create`, a warning says if there is none, or if nothing in it is of one of the kinds."""
        with self.open_folder(create=create) as holdfast, self._errors_of_ids():
            profile = holdfast.profile(self.namespace, self.profile)
            if not create and self._exists(holdfast):
                warn_of_unknown_kinds(kinds, [profile])
            yield profile

    @contextmanager
    def open_profiles(
        self, others: Sequence[str] | None, *, kinds: Sequence[str] | None = None
    ) -> Iterator[Profile | Across]:
        """The profile; with others of its namespace, all of them together. For a command that asks one question."""
        from holdfast.models.network_cache import networks

        networks.few_runs = True
        if not others:
            with self.open_profile(kinds=kinds) as profile:
                yield profile
            return
        names = [self.profile, *others]
        with self.open_folder() as holdfast, self._errors_by_name(names):
            across = holdfast.across(self.namespace, names)
            warn_of_unknown_kinds(kinds, [holdfast.profile(self.namespace, name) for name in names])
            yield across

    def _exists(self, holdfast: Holdfast) -> bool:
        """Whether the profile exists. If not, a warning names those most like it; what is read is then empty."""
        namespaces = [each.name for each in holdfast.namespaces()]
        if not namespaces:
            return False  # nothing is stored at all, and the warning about the folder has said so
        if self.namespace not in namespaces:
            alike = nearest_names(self.namespace, namespaces)
            log.warning("There is no namespace %r.%s The first write to it creates it.", self.namespace, alike)
            return False
        profiles = [each.name for each in holdfast.profiles(self.namespace)]
        if self.profile not in profiles:
            alike = nearest_names(self.profile, profiles)
            log.warning(
                "There is no profile %r in namespace %r.%s The first write to it creates it; `holdfast profiles` lists "
                "the existing ones.", self.profile, self.namespace, alike,
            )  # fmt: skip
        return self.profile in profiles

    @contextmanager
    def _errors_of_ids(self) -> Iterator[None]:
        """Report an unknown id with the name of the profile and the commands that show ids, and one that was never
        written to as such."""
        try:
            yield
        except NotFound as unknown:
            if unknown.field in ("namespace", "profile"):
                raise NotFound(
                    f"Nothing is stored in profile {self.profile!r} of namespace {self.namespace!r} yet.",
                    field=unknown.field, fix="The first write creates it; `holdfast profiles` lists the existing ones.",
                ) from None  # fmt: skip
            if unknown.fix != FIND_IDS:
                raise
            message = str(unknown).removesuffix(FIND_IDS).strip().replace("this profile", f"profile {self.profile!r}")
            raise NotFound(message, field="id", fix=FIND_IDS_HERE) from None

    @contextmanager
    def _errors_by_name(self, profiles: Sequence[str]) -> Iterator[None]:
        """Report a missing profile by its name instead of its index."""
        try:
            yield
        except NotFound as absent:
            index = _PROFILE_INDEX.fullmatch(absent.field or "")
            if index is None:
                raise
            raise NotFound(
                f"There is no profile {profiles[int(index[1])]!r} in namespace {self.namespace!r}.",
                field="with" if int(index[1]) else "profile", fix="`holdfast profiles` lists them.",
            ) from None  # fmt: skip


def found_by_id_or_key(profile: Profile, given: str, find: Callable[[str], T]) -> T:
    """What `find` finds with an id; or with the id of the one memory that has this key."""
    try:
        return find(given)
    except NotFound as unknown:
        if unknown.field != "id":
            raise
        named = profile.list(key=given, limit=2).items
        if len(named) != 1:
            raise
        return find(named[0].id)


def _unless_default(name: str, variable: str) -> str | None:
    """The name, or None where a command uses it without being told."""
    return None if name == (os.environ.get(variable) or "default") else name


def warn_of_unknown_kinds(kinds: Sequence[str] | None, profiles: Sequence[Profile]) -> None:
    """Warn of each kind that is neither built in nor in one of the profiles, with the kinds there are. Any name may be
    a kind, so it is no error."""
    unknown = [kind for kind in kinds or () if kind not in (*BUILT_IN_KINDS, "message")]
    if not unknown:
        return
    own = {kind for profile in profiles for kind in profile.stats().kinds}.difference(BUILT_IN_KINDS)
    known = [*BUILT_IN_KINDS, "message", *sorted(own)]
    more = f" and {len(known) - MAX_NAMED_KINDS} more" if len(known) > MAX_NAMED_KINDS else ""
    for kind in unknown:
        if kind not in own:
            log.warning(
                "There is no memory of kind %s.%s The kinds are %s%s.", quoted_value(kind), nearest_names(kind, known),
                ", ".join(known[:MAX_NAMED_KINDS]), more,
            )  # fmt: skip


@contextmanager
def _open_empty_folder(missing: Path) -> Iterator[Holdfast]:
    """A temporary data folder in place of one that nothing was written to."""
    from tempfile import TemporaryDirectory

    from holdfast.service.sync import Holdfast

    beside = missing.parent.iterdir() if missing.parent.is_dir() else ()
    alike = nearest_names(missing.name, (each.name for each in beside if (each / "catalogue.db").exists()))
    log.warning(
        'Nothing is stored in %s yet.%s The first write creates it, such as: holdfast remember "I like green tea"',
        missing, alike,
    )  # fmt: skip
    with (
        TemporaryDirectory(prefix="holdfast-empty-") as folder,
        Holdfast.open(folder, keyring=Path(folder) / "keyring") as holdfast,
    ):
        yield holdfast


def _common_options(*, data: DataFolder = None, namespace: NamespaceName = "default", profile: ProfileName = "default",
            as_json: AsJson = False) -> None: ...  # fmt: skip


CommandFunction = Callable[..., CommandResult]


def add_command(app: Commands, name: str, function: CommandFunction) -> None:
    """Make `function(target, …)` a command: its own parameters first, the common options after them."""

    def parameters() -> list[inspect.Parameter]:
        return [*signature_parameters(function)[1:], *signature_parameters(_common_options)]

    @wraps(function)
    def run(*, data: str | None, namespace: str, profile: str, as_json: bool, **own: Any) -> int:
        target = CommandTarget(data, namespace, profile, as_json)
        arguments = {name: _checked_utf8(value, name) for name, value in own.items()}
        try:
            with spinner(f"holdfast {name}"):
                result = function(target, **arguments)
            print_result(result, as_json=target.as_json, explain=bool(own.get("explain")))
        except BrokenPipeError:
            raise ReaderGone from None
        return result.exit

    app.add_function(name, run, parameters)


def _checked_utf8(value: Any, name: str) -> Any:
    """Refuse text that is not UTF-8. A path may have any bytes."""
    if isinstance(value, str):
        try:
            os.fsencode(value).decode()
        except UnicodeDecodeError as bad:
            raise InvalidInput(f"{name} is not valid UTF-8 at byte {bad.start}.", field=name) from None
        except UnicodeEncodeError:
            pass  # characters beyond the locale's, decoded as UTF-8 by main
    return value


def confirm(question: str, *, yes: bool, as_json: bool) -> bool:
    """Ask the user whether to continue. Where no user can answer, --yes is required."""
    if yes:
        return True
    if as_json or not sys.stdin.isatty():
        raise InvalidInput(
            "This deletes for good, and there is no terminal to ask for confirmation.", field="yes", fix="Add --yes."
        )
    stop_spinner()
    try:
        return click.confirm(question, err=True)
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted("Interrupted. Nothing was deleted.") from None


def parse_filter(text: str | None) -> Any:
    return None if text is None else parse_json(text, "filter", "filter")


def parse_span(span: str | None) -> float | None:
    if span is None:
        return None
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise InvalidInput(f"ttl is {quoted_value(span)}; give seconds, or a number with s, m, h, d or w.", field="ttl")
    return float(match[1]) * _UNIT_SECONDS[match[2]]
