"""Pure: which names are whose. What memories say ("her brother's name is Bruno") first, then what people decided.

Nothing here is ever rewritten: a mention's entity is what the sequence of changes makes of its name, one change after
the other. So a change that is taken out of the sequence was never made, and what was before it is again, exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from .graphs import USER, EntityChange


class Identity:
    """Whose a name is, in a memory."""

    def __init__(self, said: Iterable[tuple[str, str]] = (), changes: Sequence[EntityChange] = ()) -> None:
        self._said = _said(said)
        self._changes = changes
        self._moved = {memory for change in changes for memory in change.memories}
        by_memory = [change for change in changes if change.memories]
        self.torn = {each for change in by_memory for each in self._descended(change)}
        """Entities that memories, and not names alone, tell apart."""
        self._known: dict[str, str] = {}
        self._others: dict[str, set[str]] = {}
        for name, entity in self._said.items():
            self._others.setdefault(entity, set()).add(name)

    def of(self, name: str, memory: str | None = None) -> str:
        """The entity that a name is of, in this memory."""
        if memory is not None and memory in self._moved:
            return self._folded(name, memory)
        if name not in self._known:
            self._known[name] = self._folded(name, None)
        return self._known[name]

    def names(self, entity: str) -> list[str]:
        """Every name that may be this entity's in some memory, its own first."""
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
        """Both sides of a split, and whatever they were merged into since."""
        found = {change.entity, change.into}
        for each in self._changes[self._changes.index(change) :]:
            if each.act == "merge" and found & set(each.names):
                found.add(each.entity)
            elif each.act == "split" and each.entity in found:
                found.add(each.into)
        return found

    def shown(self, entity: str) -> str | None:
        """How somebody decided that it is written."""
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


def _said(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name → the name that stands for it, of names that memories say are one.

    A role ("the user's brother") that two people are said to have is nobody's name.
    """
    pairs = list(dict.fromkeys(said))
    held = Counter(name for pair in pairs for name in pair)
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.get(name, name) != name:
            name = parent[name]
        return name

    for one, other in pairs:
        if any(_role(name) and held[name] > 1 for name in (one, other)):
            continue
        first, second = sorted((root(one), root(other)), key=_standing)
        if first != second:
            parent[second] = first
    return {name: root(name) for name in parent}


def _role(name: str) -> bool:
    return "'s " in name


def _standing(name: str) -> tuple[bool, bool, int, str]:
    """Who stands for whom: the user for their name, a name for a role, the longer for the shorter."""
    return name != USER, _role(name), -len(name), name
