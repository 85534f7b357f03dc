"""What a guest's tools ask when it may read more than one profile: all of them, or those it names."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from ..across import unreadable
from ..errors import Forbidden, NotFound
from ..results import Origin

T = TypeVar("T")
_LINK = re.compile(r"holdfast://([^/]+)/([^/]+)/memory/(.+)")


@dataclass(frozen=True, slots=True)
class Shared:
    """Profiles beside the guest's own, and how they are reached."""

    readable: tuple[Origin, ...] = ()
    writable: tuple[Origin, ...] = ()
    across: Callable[[Sequence[Origin]], Any] = lambda places: None
    """Several of them, to be asked together."""
    open: Callable[[Origin], Any] = lambda place: None


NOTHING = Shared()


def link(place: Origin, id: str) -> str:
    return f"holdfast://{quote(place.namespace, safe='')}/{quote(place.profile, safe='')}/memory/{id}"


def linked(id: str) -> tuple[Origin, str] | None:
    """The profile and the id that a link names."""
    found = _LINK.fullmatch(id)
    return None if found is None else (Origin(unquote(found[1]), unquote(found[2])), unquote(found[3]))


def called(name: str, home: Origin, known: Sequence[Origin]) -> Origin | None:
    """Which of the known profiles is meant: by its name, or with its namespace before a slash."""
    for place in (home, *known):
        if name == str(place) or (name == place.profile and place.namespace == home.namespace):
            return place
    return next((place for place in known if name == place.profile), None)


async def asked(shared: Shared, home: Origin, profiles: Sequence[str] | None, ask: Callable[[Any], Awaitable[T]]) -> T:
    """What all of them say, or those that are named."""
    if profiles is None:
        return await ask(shared.across([home, *shared.readable]))
    chosen = [called(name, home, shared.readable) for name in profiles]
    if None in chosen:
        raise unreadable(chosen.index(None))
    return await ask(shared.across([place for place in chosen if place is not None]))


def written_to(shared: Shared, home: Origin, name: str | None, own: Any) -> Any:
    """The profile that a write is for: the guest's own, or one that it may write to."""
    place = home if name is None else called(name, home, shared.writable)
    if place == home:
        return own
    if place is None:
        raise Forbidden("There is no such profile that can be written to here.", field="profile")
    return shared.open(place)


def opened(shared: Shared, home: Origin, id: str, own: Any) -> tuple[Any, str, Origin]:
    """Where an id or a link leads: the profile, the id in it, and its place."""
    found = linked(id)
    if found is None:
        return own, id, home
    place, inside = found
    if place == home:
        return own, inside, home
    if place not in shared.readable:
        raise NotFound(f"There is no memory or message {id!r} in this profile.", field="id")
    return shared.open(place), inside, place
