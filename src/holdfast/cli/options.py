"""Options and arguments that commands share, and the profile that the common options select."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import click

from holdfast.cli.hooks.project import resolve_profile
from holdfast.cli.output.render import CommandResult, ReaderGone, print_result
from holdfast.cli.parameters import Argument, Commands, Option, signature_parameters
from holdfast.cli.shared_folder import open_or_connect
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.service.settings import refuse_hidden_store

if TYPE_CHECKING:
    from holdfast.service.sync import Across, Holdfast, Profile


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
    str, Option("--namespace", "-n", metavar="NAME", envvar="HOLDFAST_NAMESPACE", help="Namespace.")
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
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]

Kind = Annotated[list[str] | None, Option("--kind", metavar="KIND", help="Only this kind, or message; repeatable.")]
Filter = Annotated[
    str | None, Option("--filter", metavar="JSON", help='Conditions, e.g. {"metadata.price": {"gte": 10}}.')
]
ExcludedSession = Annotated[
    str | None,
    Option("--exclude-session", metavar="ID", help="Leave out a session: its messages, and what rests on it."),
]
MinRelevance = Annotated[
    float, Option("--min-relevance", metavar="SHARE", help="Only hits at least this relevant, 0 to 1.")
]
Limit = Annotated[int, Option("--limit", metavar="N", help="At most this many.")]
Id = Annotated[str, Argument(metavar="ID", help="A memory's id.")]
MessageSession = Annotated[str | None, Option("--session", metavar="ID", help="Session that the text belongs to.")]
Writer = Annotated[str | None, Option("--agent", metavar="NAME", help="The agent that writes this.")]
Metadata = Annotated[str | None, Option(metavar="JSON", help="Metadata to keep with it, as a JSON object.")]
Lifetime = Annotated[
    str | None, Option("--ttl", metavar="SPAN", help="Forget it after this time: 90, 15m, 12h, 30d, 4w.")
]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing; show what would change.")]
NoWait = Annotated[bool, Option("--no-wait", help="Return after writing; digest later.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]

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

    @contextmanager
    def open_folder(self) -> Iterator[Holdfast]:
        """The data folder, opened here or in the process that serves it."""
        with open_or_connect(self.data) as holdfast:
            yield holdfast

    @contextmanager
    def open_profile(self) -> Iterator[Profile]:
        with self.open_folder() as holdfast:
            yield holdfast.profile(self.namespace, self.profile)

    @contextmanager
    def open_profiles(self, others: Sequence[str] | None) -> Iterator[Profile | Across]:
        """The profile; with others of its namespace, all of them together."""
        with self.open_folder() as holdfast:
            if others:
                with self._errors_by_name([self.profile, *others]):
                    yield holdfast.across(self.namespace, [self.profile, *others])
            else:
                yield holdfast.profile(self.namespace, self.profile)

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
            result = function(target, **arguments)
            print_result(result, as_json=target.as_json)
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
    return click.confirm(question, err=True)


def parse_filter(text: str | None) -> Any:
    return None if text is None else parse_json(text, "filter", "filter")


def parse_span(span: str | None) -> float | None:
    if span is None:
        return None
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise InvalidInput(f"ttl is {quoted_value(span)}; give seconds, or a number with s, m, h, d or w.", field="ttl")
    return float(match[1]) * _UNIT_SECONDS[match[2]]
