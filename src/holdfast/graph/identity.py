"""Resolves names to entities: first by what memories state ("her brother's name is Bruno"), then by decisions. Pure.

Nothing is ever rewritten: the entity of a mention follows from its name by applying the sequence of changes in order.
So removing a change from the sequence restores exactly the state before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holdfast.domain.graph import USER, EntityChange
from holdfast.domain.identifiers import referenced_id


class Identity:
    """Maps a name, in a memory, to its entity."""

    def __init__(self, said: Iterable[tuple[str, str]] = (), changes: Sequence[EntityChange] = ()) -> None:
        self._said = _said_identities(said)
        self._changes = changes
        self._moved = {memory for change in changes for memory in change.memories}
        by_memory = [change for change in changes if change.memories]
        self.ambiguous = {each for change in by_memory for each in self._descended(change)}
        """Entities whose names alone do not identify them: a split by memory, or a bare name, makes them ambiguous."""
        self._known: dict[str, str] = {}
        self._others: dict[str, set[str]] = {}
        for name, entity in self._said.items():
            self._others.setdefault(entity, set()).add(name)

    def of(self, name: str, memory: str | None = None) -> str:
        """The entity that a name refers to in this memory, given by id or reference."""
        id = None if memory is None else referenced_id(memory)
        if id is not None and id in self._moved:
            return self._folded(name, id)
        if name not in self._known:
            self._known[name] = self._folded(name, None)
        return self._known[name]

    def names(self, entity: str) -> list[str]:
        """Every name that may refer to this entity in some memory, its own first."""
        found = {entity: None}
        for change in reversed(self._changes):
            if change.act == "merge" and change.entity in found:
                found |= dict.fromkeys(change.names)
            elif change.act == "split" and change.into in found:
                found |= dict.fromkeys((change.entity, *change.names))
        for each in list(found):
            found |= dict.fromkeys(sorted(self._others.get(each, ())))
        return list(found)

    def _descended(self, change: EntityChange) -> set[str]:
        """Both sides of a split, and every entity that they were merged into later."""
        found = {change.entity, change.into}
        for each in self._changes[self._changes.index(change) :]:
            if each.act == "merge" and found & set(each.names):
                found.add(each.entity)
            elif each.act == "split" and each.entity in found:
                found.add(each.into)
        return found

    def shown(self, entity: str) -> str | None:
        """The spelling that a decision gave this entity."""
        for change in reversed(self._changes):
            if change.shown and entity == (change.into if change.act == "split" else change.entity):
                return change.shown
        return None

    def _folded(self, name: str, memory: str | None) -> str:
        entity = self._said.get(name, name)
        for change in self._changes:
            if change.act == "merge":
                if entity in change.names:
                    entity = change.entity
            elif entity == change.entity and (name in change.names or memory in change.memories):
                entity = change.into
        return entity


def _said_identities(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name → the representative of all names that memories state to be the same.

    A role ("the user's brother") that memories assign to two people identifies nobody.
    """
    pairs = list(dict.fromkeys(said))
    held = Counter(name for pair in pairs for name in pair)
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.get(name, name) != name:
            name = parent[name]
        return name

    for one, other in pairs:
        if any(_is_role(name) and held[name] > 1 for name in (one, other)):
            continue
        first, second = sorted((root(one), root(other)), key=_representative_order)
        if first != second:
            parent[second] = first
    return {name: root(name) for name in parent}


def _is_role(name: str) -> bool:
    return "'s " in name


def _representative_order(name: str) -> tuple[bool, bool, int, str]:
    """Order of representatives: the user before a name, a name before a role, the longer before the shorter."""
    return name != USER, _is_role(name), -len(name), name


def untitled_names(said: Iterable[tuple[str, str]], titles: Sequence[str]) -> dict[tuple[str, str], str]:
    """Pairs of names that differ only by a title → the name without the title."""
    found = {}
    for one, other in said:
        for long, short in ((one, other), (other, one)):
            if any(long == f"{title.casefold()} {short}" for title in titles):
                found[one, other] = short
    return found
