"""MCP tools over several profiles, for a client that may read more than one."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from holdfast.domain.errors import Forbidden, NotFound
from holdfast.domain.results import Origin
from holdfast.service.across import unreadable_profile

T = TypeVar("T")
_LINK = re.compile(r"holdfast://([^/]+)/([^/]+)/memory/(.+)")


@dataclass(frozen=True, slots=True)
class Shared:
    """Profiles besides the guest's own, and functions to open them."""

    readable: tuple[Origin, ...] = ()
    writable: tuple[Origin, ...] = ()
    across: Callable[[Sequence[Origin]], Any] = lambda places: None
    """Combines several of them for one query."""
    open: Callable[[Origin], Any] = lambda place: None


NOTHING = Shared()


def link(place: Origin, id: str) -> str:
    return f"holdfast://{quote(place.namespace, safe='')}/{quote(place.profile, safe='')}/memory/{id}"


def linked_profile(id: str) -> tuple[Origin, str] | None:
    """The profile and the id in a link to an item."""
    found = _LINK.fullmatch(id)
    return None if found is None else (Origin(unquote(found[1]), unquote(found[2])), unquote(found[3]))


def profile_name(name: str, home: Origin, known: Sequence[Origin]) -> Origin | None:
    """Find a known profile by its name, or by namespace/name."""
    for place in (home, *known):
        if name == str(place) or (name == place.profile and place.namespace == home.namespace):
            return place
    return next((place for place in known if name == place.profile), None)


async def asked_profiles(
    shared: Shared, home: Origin, profiles: Sequence[str] | None, ask: Callable[[Any], Awaitable[T]]
) -> T:
    """Query all of the profiles, or those that are named."""
    if profiles is None:
        return await ask(shared.across([home, *shared.readable]))
    chosen = [profile_name(name, home, shared.readable) for name in profiles]
    if None in chosen:
        raise unreadable_profile(chosen.index(None))
    return await ask(shared.across([place for place in chosen if place is not None]))


def written_profile(shared: Shared, home: Origin, name: str | None, own: Any) -> Any:
    """The profile to write to: the guest's own, or one that it may write to."""
    place = home if name is None else profile_name(name, home, shared.writable)
    if place == home:
        return own
    if place is None:
        raise Forbidden("This profile does not exist or cannot be written to here.", field="profile")
    return shared.open(place)


def opened_profile(shared: Shared, home: Origin, id: str, own: Any) -> tuple[Any, str, Origin]:
    """Resolve an id or a link: the profile, the id in it, and the profile's origin."""
    found = linked_profile(id)
    if found is None:
        return own, id, home
    place, inside = found
    if place == home:
        return own, inside, home
    if place not in shared.readable:
        raise NotFound(f"There is no memory or message {id!r} in this profile.", field="id")
    return shared.open(place), inside, place
