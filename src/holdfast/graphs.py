"""Entities and links: what a memory mentions, who is curated to be whom, and the promise that a store keeps them.

Everything here but a curated change rests on memories: forgetting a memory takes its mentions and ties along, and an
entity that no memory mentions is none. An entity's id is its name, folded (`folded`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, runtime_checkable

from .types import Memory

USER = "user"
"""The entity of whoever a profile belongs to."""
SAME_AS = "same-as"
"""Relates two names of one entity."""
WITH = "with"
"""Relates what one memory mentions together when it says no more of how."""

BARE = "bare"
"""The type of a mention that stands only for a name without its title: whose it is, others tell."""
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
"""In a tie: as `until`, it is over and nobody says since when; as `since` too, it is denied."""


def folded(name: str) -> str:
    """What two spellings of one name have in common: an entity's id."""
    plain = " ".join(unicodedata.normalize("NFKC", name).replace("\u2019", "'").casefold().split())
    return plain.removeprefix("the ") or plain


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that a memory mentions."""

    memory: str
    shown: str
    """As it is written; folded, the name."""
    type: str

    @property
    def name(self) -> str:
        return folded(self.shown)


@dataclass(frozen=True, slots=True)
class Tie:
    """What a memory says of two names that it mentions."""

    memory: str
    subject: str
    relation: str
    object: str
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """What one memory was found to mention and to tie."""

    memory: str
    mentions: tuple[Mention, ...] = ()
    ties: tuple[Tie, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityChange:
    """What somebody decided about entities. Each counts from its place in the sequence on, until it is undone."""

    id: str
    at: datetime
    act: Literal["merge", "split"]
    entity: str
    """The entity that others are merged into, or that is split."""
    into: str = ""
    """The entity that a split makes."""
    names: tuple[str, ...] = ()
    """The entities that are merged; the names that a split takes along."""
    memories: tuple[str, ...] = ()
    """The memories whose mentions a split takes along."""
    shown: str = ""
    """How the entity is written that a split makes, or a merge when it was told."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which versions count: those known at a moment, or now; with `past`, those too that were superseded by then."""

    now: datetime
    as_of: datetime | None = None
    past: bool = False
    agents: tuple[str, ...] | None = None
    """Whose writing counts, beside what no agent wrote; None for everybody's."""

    @property
    def plain(self) -> bool:
        """Whether it is everything that is current."""
        return self.as_of is None and not self.past and self.agents is None


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that memories are about."""

    id: str
    name: str
    type: str
    memories: int
    """How many memories mention it."""
    names: tuple[str, ...] = ()
    """What else it is called."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a memory says of two entities."""

    subject: str
    relation: str
    object: str
    memory: str
    since: datetime | None = None
    until: datetime | None = None
    ended: bool = False
    """Whether it is over; `until` says when, if that is known."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities, the links between them, and whether there were more than was asked for."""

    entities: tuple[Entity, ...] = ()
    links: tuple[Link, ...] = ()
    truncated: bool = False


def drawn(graph: Graph) -> dict[str, Any]:
    """A graph as it is sent: a link goes `from` one entity `to` another."""
    links = [
        {"from": each.subject, "to": each.object}
        | {name: getattr(each, name) for name in ("relation", "memory", "since", "until", "ended")}
        for each in graph.links
    ]
    return {"entities": list(graph.entities), "links": links, "truncated": graph.truncated}


@runtime_checkable
class Graphs(Protocol):
    """One profile's mentions, ties and curated changes. Forgetting a memory takes what rests on it."""

    async def unread(self, version: int, limit: int) -> list[Memory]:
        """Memories, superseded ones included, that no reader of this version has read, oldest first."""
        ...

    async def learn(self, version: int, read: Sequence[Read]) -> None:
        """Keep what was found in memories that `unread` gave, in that order; a memory forgotten meanwhile is left out.

        What an earlier version found goes when this version begins.
        """
        ...

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        """Of each name the newest mentions, no more than `limit` of each."""
        ...

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        """Of each name the newest ties that it is subject or object of, no more than `limit` of each; newest first.

        A tie of a superseded memory ends when its successor came, unless it ended before.
        """
        ...

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        """Two names each that are of one entity, as the newest memories that say so have it."""
        ...

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        """The names that most memories mention, with how many do; of equals, by name."""
        ...

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        """How many memories mention one of the names of each group; of now, those may count that have just expired."""
        ...

    async def changes(self) -> list[EntityChange]:
        """Oldest first."""
        ...

    async def keep(self, change: EntityChange) -> None:
        """Put a change at the end of the sequence."""
        ...

    async def undo(self, id: str) -> bool:
        """Take a change out of the sequence; False when it is not there."""
        ...


def remaining(changes: Sequence[EntityChange], lost: set[str], memories: set[str]) -> list[EntityChange]:
    """The changes that are left once these names are mentioned no more and these memories are forgotten."""
    left: list[EntityChange] = []
    gone = set(lost)
    for change in changes:
        kept = replace(change, memories=tuple(each for each in change.memories if each not in memories))
        empty = bool(change.memories) and not kept.memories and not kept.names
        if empty or gone & {change.entity, *change.names}:
            gone |= {change.into} - {""}
        else:
            left.append(kept)
    return left
