"""Entities, links, mentions and decisions about entities, as values.

Everything here except an entity change is derived from memories: forgetting a memory deletes its mentions and ties, and
an entity that no memory mentions does not exist. An entity's id is its folded name (see `folded_name`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from holdfast.domain.erasure import name_pattern, names_person

USER = "user"
"""The entity of the profile's owner."""
SAME_AS = "same-as"
"""The relation between two names of one entity."""
WITH = "with"
"""The relation between names that one memory mentions together without a more specific relation."""

BARE = "bare"
"""The type of a mention that only records a titled name without its title ("Smith" for "Dr Smith"). Other mentions of
the name decide whose it is."""
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
"""In a tie: as `until` alone, the relation has ended at an unknown time; as `since` and `until`, it is denied."""


def folded_name(name: str) -> str:
    """The form that different spellings of one name share: an entity's id."""
    plain = " ".join(unicodedata.normalize("NFKC", name).replace("\u2019", "'").casefold().split())
    return plain.removeprefix("the ") or plain


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that a memory mentions; `memory` is a reference to one version."""

    memory: str
    shown: str
    """The name as it is written; `name` is its folded form."""
    type: str

    @property
    def name(self) -> str:
        return folded_name(self.shown)


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation that a memory states between two names that it mentions; `memory` is a reference to one version."""

    memory: str
    subject: str
    relation: str
    object: str
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """The mentions and ties that were found in one memory."""

    memory: str
    mentions: tuple[Mention, ...] = ()
    ties: tuple[Tie, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityChange:
    """A merge or split of entities. It is in force from its position in the sequence until it is undone."""

    id: str
    at: datetime
    act: Literal["merge", "split"]
    entity: str
    """The entity into which others are merged, or which is split."""
    into: str = ""
    """The entity that a split creates."""
    names: tuple[str, ...] = ()
    """The entities that are merged, or the names that a split moves to the new entity."""
    memories: tuple[str, ...] = ()
    """The memories whose mentions a split moves to the new entity."""
    shown: str = ""
    """The name to display for the entity that a split creates, or for a merged entity when given."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which versions of memories count: those known at `as_of`, or now; with `past`, superseded ones as well."""

    now: datetime
    as_of: datetime | None = None
    past: bool = False
    agents: tuple[str, ...] | None = None
    """The agents whose writing counts, besides what no agent wrote; None for all."""

    @property
    def plain(self) -> bool:
        """Whether the scope is simply everything that is current."""
        return self.as_of is None and not self.past and self.agents is None


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing that memories mention."""

    id: str
    name: str
    type: str
    memories: int
    """How many memories mention it."""
    names: tuple[str, ...] = ()
    """Its other names."""


@dataclass(frozen=True, slots=True)
class Link:
    """A relation that a memory states between two entities."""

    subject: str
    relation: str
    object: str
    memory: str
    since: datetime | None = None
    until: datetime | None = None
    ended: bool = False
    """Whether the relation has ended; `until` is the time, if known."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities, the links between them, and whether a limit left some out."""

    entities: tuple[Entity, ...] = ()
    links: tuple[Link, ...] = ()
    truncated: bool = False


def graph_json(graph: Graph) -> dict[str, Any]:
    """A graph as JSON: a link goes `from` one entity `to` another."""
    links = [
        {"from": each.subject, "to": each.object}
        | {name: getattr(each, name) for name in ("relation", "memory", "since", "until", "ended")}
        for each in graph.links
    ]
    return {"entities": list(graph.entities), "links": links, "truncated": graph.truncated}


def changes_left(
    changes: Sequence[EntityChange], lost: Set[str], memories: Set[str], people: Sequence[str] = ()
) -> list[EntityChange]:
    """The changes that are left once these names are mentioned no more and these memories and people are forgotten."""
    left: list[EntityChange] = []
    gone = set(lost)
    named = [name_pattern(name) for name in people]
    for change in changes:
        kept = replace(change, memories=tuple(each for each in change.memories if each not in memories))
        empty = bool(change.memories) and not kept.memories and not kept.names
        told = (change.entity, change.into, change.shown, *change.names)
        if empty or gone & {change.entity, *change.names} or names_person(named, *told):
            gone |= {change.into} - {""}
        else:
            left.append(kept)
    return left
