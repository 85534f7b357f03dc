"""Where a command works: the four options that every command has, and the way from them to a profile."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInput, NotFound
from .output import ReaderGone, Reply, show
from .project import named
from .way import opened

if TYPE_CHECKING:
    from ..sync import Across, Holdfast, Profile

Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Data folder [env var: HOLDFAST_DATA; default: the user's own]."),
]
NamespaceName = Annotated[
    str, typer.Option("--namespace", "-n", metavar="NAME", envvar="HOLDFAST_NAMESPACE", help="Namespace.")
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        envvar="HOLDFAST_PROFILE",
        help="Profile; . is the one of this folder's project.",
        callback=named,
    ),
]
_NUMBERED = re.compile(r"profiles\[(\d+)\]")
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, slots=True)
class Place:
    """What the common options say."""

    data: str | None
    namespace: str
    profile: str
    as_json: bool

    @contextmanager
    def folder(self) -> Iterator[Holdfast]:
        """The data folder, or whoever answers for it."""
        with opened(self.data) as holdfast:
            yield holdfast

    @contextmanager
    def memory(self) -> Iterator[Profile]:
        with self.folder() as holdfast:
            yield holdfast.profile(self.namespace, self.profile)

    @contextmanager
    def memories(self, others: Sequence[str] | None) -> Iterator[Profile | Across]:
        """The profile, or with others of its namespace, all of them together."""
        with self.folder() as holdfast:
            if others:
                with self._named([self.profile, *others]):
                    yield holdfast.across(self.namespace, [self.profile, *others])
            else:
                yield holdfast.profile(self.namespace, self.profile)

    @contextmanager
    def _named(self, profiles: Sequence[str]) -> Iterator[None]:
        """Call a profile that is missing by its name, not by its number."""
        try:
            yield
        except NotFound as absent:
            number = _NUMBERED.fullmatch(absent.field or "")
            if number is None:
                raise
            raise NotFound(
                f"There is no profile {profiles[int(number[1])]!r} in namespace {self.namespace!r}.",
                field="with" if int(number[1]) else "profile", fix="`holdfast profiles` lists them.",
            ) from None  # fmt: skip


def _common(*, data: Data = None, namespace: NamespaceName = "default", profile: ProfileName = "default",
            as_json: AsJson = False) -> None: ...  # fmt: skip


_COMMON = tuple(inspect.signature(_common, eval_str=True).parameters.values())
Act = Callable[..., Reply]


def add(app: typer.Typer, name: str, act: Act) -> None:
    """Make `act(place, …)` a command: its own parameters first, the common options after them."""
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in list(inspect.signature(act, eval_str=True).parameters.values())[1:]
    ]
    mine = {parameter.name for parameter in own}

    def run(**given: Any) -> int:
        place = Place(**{parameter.name: given[parameter.name] for parameter in _COMMON})
        arguments = {name: _utf8(value, name) for name, value in given.items() if name in mine}
        try:
            reply = act(place, **arguments)
            show(reply, as_json=place.as_json)
        except BrokenPipeError:
            raise ReaderGone from None
        return reply.exit

    parameters = [*own, *_COMMON]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = act.__doc__
    app.command(name)(run)


def _utf8(value: Any, name: str) -> Any:
    """Text arguments only: a path may have any bytes."""
    if isinstance(value, str):
        try:
            os.fsencode(value).decode()
        except UnicodeDecodeError as bad:
            raise InvalidInput(f"{name} is not valid UTF-8 at byte {bad.start}.", field=name) from None
        except UnicodeEncodeError:
            pass  # characters beyond the locale's, decoded as UTF-8 by main
    return value
