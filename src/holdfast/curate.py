"""Set right what is known: merge memories, split one, mark them, edit many at once.

Nothing is lost by any of it: what was there is superseded and stays as history, and one edit, written down with the
change, names what it made, so that it can be taken back (undo.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from . import names
from .errors import AlreadyExists, Conflict, InvalidInput, NotFound, Stale, shown
from .kinds import Kind
from .once import first
from .ports import Store
from .records import Edit, Once
from .remember import Written, checked, fitted, head_of, memory_of, revised
from .results import Edited
from .retention import PINNED
from .trail import note
from .types import SECOND_HAND, Change, Judged, Memory, Part, Supersede, Vector, Where, fingerprint

MOST_MARKS = 5
MOST_AT_ONCE = 5_000
MOST_MERGED = 200
MOST_PIECES = 100
PIECE = ("content", "kind", "key", "value", "metadata")
EDITABLE = ("kind", "metadata", "trust", "occurred_at", "expires_at", "ttl", "pinned", "right")
Kinds = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class Step:
    """New memories in the place of old ones."""

    made: tuple[Memory, ...]
    over: tuple[Memory, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Curating:
    """Where, when and under which schemas memories are set right; and a key that lets the request be repeated."""

    store: Store
    now: datetime
    kinds: Kinds
    once: Once | None = None
    rehearsed: bool = False

    async def merge(self, ids: Sequence[str], given: Mapping[str, Any], lead: str | None = None) -> Edited:
        """One memory in the place of several."""
        if (done := await self._repeated()) is not None:
            return done
        heads = await self.heads(ids)
        chosen = best(heads) if lead is None else next(head for head in heads if head.id == lead)
        return await self.write([await self.merged(heads, given, chosen)], "merge")

    async def merged(self, heads: Sequence[Memory], given: Mapping[str, Any], lead: Memory) -> Step:
        """The memory that says what these said, with the text given or that of the one that leads."""
        told = {name: value for name, value in given.items() if value is not None}
        kind = told.get("kind", lead.kind)
        keys = [head.key for head in (lead, *heads) if head.key is not None and head.kind == kind]
        metadata = {name: value for head in (*heads, lead) for name, value in head.metadata.items()}
        metadata = {**metadata, **told.get("metadata", {})}
        lasts = [head.expires_at for head in heads]
        wish = checked(
            told.get("content", lead.content), kind, self.now,
            key=told.get("key", keys[0] if keys else None),
            value=told.get("value", None if "content" in told else lead.value),
            metadata={name: value for name, value in metadata.items() if value is not None and name != "conflict"},
            session_id=lead.session_id, agent=lead.agent, trust=lead.trust,
            occurred_at=lead.occurred_at, expires_at=None if None in lasts else max(filter(None, lasts)),
        )  # fmt: skip
        wish = fitted(wish, self.kinds)
        await self._place_is_free(wish, {head.id for head in heads})
        kept: dict[str, Any] = {"version": max(head.version for head in heads) + 1}
        kept["sources"] = tuple(dict.fromkeys(source for head in (lead, *heads) for source in head.sources))
        if wish.content == lead.content:
            kept |= {name: getattr(lead, name) for name in ("summary", "keywords", "queries", "occurred_until")}
            kept |= {"confidence": max(head.confidence for head in heads)}
        memory = replace(memory_of(wish, None, self.now), **kept)
        return Step((memory,), tuple(heads), Written(memory, None, wish, "merge").parts)

    async def split(self, id: str, into: Sequence[Any], seen: str | None) -> Edited:
        """Several memories in the place of one. The first is its successor, and all rest on what it rested on."""
        if (done := await self._repeated()) is not None:
            return done
        (head,) = await self.heads([id], least=1)
        if not head.seen_as(seen):
            raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
        if isinstance(into, str) or not isinstance(into, Sequence) or not 2 <= len(into) <= MOST_PIECES:
            raise InvalidInput(f"into is {shown(into)}; give a list of 2 to {MOST_PIECES} texts.", field="into")
        pieces = [_piece(piece, n) for n, piece in enumerate(into)]
        if len({fingerprint("", str(told.get("content"))) for told in pieces}) < len(pieces):
            raise InvalidInput("into says the same twice.", field="into")
        step = Step((), (head,), ())
        for n, told in enumerate(pieces):
            wish = checked(
                told.get("content"), told.get("kind", head.kind), self.now,
                key=told.get("key", head.key if n == 0 else None), value=told.get("value"),
                metadata={**head.metadata, **told.get("metadata", {})}, session_id=head.session_id, agent=head.agent,
                trust=head.trust, occurred_at=head.occurred_at, expires_at=head.expires_at,
            )  # fmt: skip
            wish = fitted(wish, self.kinds)
            await self._place_is_free(wish, {head.id})
            memory = replace(memory_of(wish, head if n == 0 else None, self.now), sources=head.sources)
            parts = Written(memory, None, wish, "split").parts
            step = Step((*step.made, memory), step.over, (*step.parts, *parts))
        return await self.write([step], "split")

    async def mark(self, id: str, right: bool, *, reviewed: bool = False, counts: bool = True) -> Edited:
        """Count it as right or as wrong once more, as far as marks go; what is marked wrong waits for a review."""
        if (done := await self._repeated()) is not None:
            return done
        (head,) = await self.heads([id], least=1)
        return await self.write([], "mark" if counts else "review", [_judged(head, right, self.now, reviewed, counts)])

    async def revise_where(self, where: Where, change: Mapping[str, Any]) -> Edited:
        """Every current memory of which this holds, edited alike, all or none."""
        if (done := await self._repeated()) is not None:
            return done
        given = editable(change)
        page = await self.store.scan(where, now=self.now, limit=MOST_AT_ONCE)
        if page.cursor is not None:
            raise InvalidInput(f"More than {MOST_AT_ONCE:,} memories match.", field="filter", fix="Narrow the filter.")
        judged = [_judged(each, given["right"], self.now) for each in page] if "right" in given else []
        steps = await self.revisions(page.items, {name: value for name, value in given.items() if name != "right"})
        return await self.write(steps, "revise-where", judged)

    async def revisions(self, heads: Sequence[Memory], given: Mapping[str, Any]) -> list[Step]:
        """The next version of each that is changed by what is given."""
        steps = []
        for head in heads if given else ():
            found = await revised(self.store, head, given, self.now, self.kinds)
            if found is not None:
                steps.append(Step((found.memory,), (head,), found.parts))
        return steps

    async def write(self, steps: Sequence[Step], verb: str, judged: Sequence[tuple[Memory, Judged]] = ()) -> Edited:
        """All of it in one change, with the edit that takes it back."""
        renewed = {old.id: step.made[0] for step in steps for old in step.over}
        marked = [(old, each) for old, each in judged if old.id not in renewed]
        aside = {each.memory: each for _, each in judged}
        made = [_judged_as(memory, step.over, aside) for step in steps for memory in step.made]
        changed = [(old, each) for old, each in marked if _judgement(old) != (each.marks, each.reviewed_at)]
        now_marked = tuple(replace(old, marks=each.marks, reviewed_at=each.reviewed_at) for old, each in marked)
        edit = Edit(
            names.memory_id(self.now), self.now, verb, tuple((memory.id, len(memory.sources)) for memory in made),
            tuple((old.id, *_judgement(old)) for old, _ in changed),
        )  # fmt: skip
        nothing = not made and not changed
        if not self.rehearsed:
            change = Change(
                memories=tuple(made), parts=tuple(part for step in steps for part in step.parts),
                vectors=await self._carried(steps),
                supersede=tuple(Supersede(old.id, step.made[0].id) for step in steps for old in step.over),
                judged=tuple(each for _, each in changed), current=tuple(old.id for old, _ in changed),
                edit=None if nothing else edit, once=None if self.once is None else replace(self.once, answer=edit.id),
            )  # fmt: skip
            try:
                await self.store.apply(change)
            except Conflict as clash:
                done = await self._repeated()
                if done is None:
                    raise await self._reason(change, clash) from clash
                return done
        note(verb=verb, written=[memory.id for memory in made], marked=[old.id for old, _ in changed], edit=edit.id)
        return Edited((*made, *now_marked), None if nothing or self.rehearsed else edit.id, self.rehearsed)

    async def _reason(self, change: Change, clash: Conflict) -> Conflict | AlreadyExists:
        """Why it could not be written: somebody was first, or what is new has no place."""
        old = [*(pair.old for pair in change.supersede), *change.current]
        found = {item.id for item in await self.store.get(old) if isinstance(item, Memory) and item.current}
        if found < set(old):
            return Stale(str(clash), fix="Read again and decide again.")
        return AlreadyExists(f"{clash} Two memories cannot have one key, nor the same words without one.", field="key")

    async def _carried(self, steps: Sequence[Step]) -> tuple[Vector, ...]:
        """The vectors of what only changed around its text: no model need be asked again."""
        same = {step.over[0].id: step.made[0] for step in steps if len(step.over) == len(step.made) == 1}
        held = [old for step in steps for old in step.over if old.id in same]
        same = {old.id: same[old.id] for old in held if _sounds_like(old, same[old.id])}
        found = await self.store.indexed(list(same)) if same else []
        return tuple(
            replace(vector, item=same[part.item].id) for part, vector in found if vector is not None and part.embed
        )

    async def heads(self, ids: Sequence[str], least: int = 2) -> list[Memory]:
        """The current memories with these ids."""
        if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(isinstance(id, str) for id in ids):
            raise InvalidInput(f"ids is {shown(ids)}; give a list of memory ids.", field="ids")
        wanted = list(dict.fromkeys(ids))
        if not least <= len(wanted) <= MOST_MERGED:
            raise InvalidInput(f"{len(wanted)} different ids are given; give {least} to {MOST_MERGED}.", field="ids")
        found = {item.id: item for item in await self.store.get(wanted)}
        heads = []
        for id in wanted:
            item = found.get(id)
            if not isinstance(item, Memory):
                what = "a message, which is what was said: neither right nor wrong" if item else "no memory"
                raise NotFound(f"{shown(id)} is {what}, in this profile.", field="id")
            if not item.current:
                raise Stale(f"Memory {id} was superseded by {item.superseded_by}.", fix="Take that one.")
            heads.append(item)
        return heads

    async def _place_is_free(self, wish: Any, ours: set[str]) -> None:
        other = await head_of(self.store, wish)
        if other is not None and other.id not in ours:
            what = f"The key {shown(wish.key)} of kind {wish.kind!r}" if wish.key is not None else "The same thing"
            raise AlreadyExists(f"{what} is kept as {other.id}.", field="key", fix="Merge that one too.")

    async def _repeated(self) -> Edited | None:
        """What the first request with this key did."""
        done = await first(self.store, self.once)
        if done is None:
            return None
        edit = next((each for each in await self.store.journal.edits(1000) if each.id == done.answer), None)
        marked = [] if edit is None else [id for id, _, _ in edit.judged]
        found = await self.store.get([*sorted(done.new), *marked])
        memories = tuple(item for item in found if isinstance(item, Memory))
        return Edited(memories, None if edit is None else edit.id)


def best(heads: Sequence[Memory]) -> Memory:
    """Of several that say the same, the one to keep: somebody's own word, thought right, sure, new."""
    return max(heads, key=lambda head: (head.trust not in SECOND_HAND, head.marks, head.confidence, head.updated_at))


def editable(change: object) -> dict[str, Any]:
    """What may be changed of many at once, checked."""
    if not isinstance(change, Mapping) or not change:
        raise InvalidInput(f"change is {shown(change)}; give an object with {', '.join(EDITABLE)}.", field="change")
    for name in change:
        if name not in EDITABLE:
            raise InvalidInput(f"change has {shown(name)}; of many at once only {', '.join(EDITABLE)} can be changed.",
                               field=f"change.{name}")  # fmt: skip
    for name in ("pinned", "right"):
        if name in change and not isinstance(change[name], bool):
            raise InvalidInput(f"change.{name} is {shown(change[name])}; give true or false.", field=f"change.{name}")
    given = dict(change)
    if "pinned" in given:
        given["metadata"] = {**(given.get("metadata") or {}), PINNED: given.pop("pinned") or None}
    return given


def _piece(piece: object, n: int) -> Mapping[str, Any]:
    if isinstance(piece, str):
        return {"content": piece}
    if not isinstance(piece, Mapping) or not set(piece) <= set(PIECE):
        known = ", ".join(PIECE)
        raise InvalidInput(f"into[{n}] is {shown(piece)}; give a text, or an object with {known}.", field=f"into[{n}]")
    return {name: value for name, value in piece.items() if value is not None}


def _judged(
    memory: Memory, right: bool, now: datetime, reviewed: bool = False, counts: bool = True
) -> tuple[Memory, Judged]:
    if not isinstance(right, bool):
        raise InvalidInput(f"right is {shown(right)}; give true or false.", field="right")
    step = (1 if right else -1) if counts else 0
    marks = max(-MOST_MARKS, min(MOST_MARKS, memory.marks + step))
    at = now if reviewed else memory.reviewed_at if right else None
    return memory, Judged(memory.id, marks, at)


def _judgement(memory: Memory) -> tuple[int, datetime | None]:
    return memory.marks, memory.reviewed_at


def _judged_as(memory: Memory, over: Sequence[Memory], aside: Mapping[str, Judged]) -> Memory:
    """A new version that is marked in the same edit."""
    found = aside.get(over[0].id)
    return memory if found is None else replace(memory, marks=found.marks, reviewed_at=found.reviewed_at)


def _sounds_like(old: Memory, new: Memory) -> bool:
    return (old.content, old.queries) == (new.content, new.queries) and (old.kind == "task") == (new.kind == "task")
