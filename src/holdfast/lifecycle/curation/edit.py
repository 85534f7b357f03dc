"""Curates memories: merges several, splits one, marks them, edits many at once.

Nothing is lost: what was there is superseded and stays as history, and one logged edit, written with the change, names
what it made, so that it can be undone (undo.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.domain import identifiers
from holdfast.domain.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    NotFound,
    Stale,
    quoted_value,
)
from holdfast.domain.idempotency import first_answer
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Edit, Once
from holdfast.domain.results import Edited
from holdfast.domain.tracing import note
from holdfast.domain.types import (
    SECOND_HAND_TRUST,
    Change,
    Judged,
    Memory,
    Message,
    Part,
    Supersede,
    Vector,
    Where,
    fingerprint,
)
from holdfast.domain.visibility import is_expired
from holdfast.ingest.kinds.versions import RegisteredKind
from holdfast.ingest.remember import (
    MemoryWrite,
    find_current_memory,
    memory_from_request,
    memory_request,
    prepare_revision,
    refuse_retired,
    with_schema_version,
)
from holdfast.lifecycle.curation.restored import restored_memories
from holdfast.lifecycle.retention import PINNED_FIELD
from holdfast.lifecycle.summaries import summaries_without
from holdfast.text import passages

# These limits were chosen by hand; none was measured.
MAX_MARKS = 5
"""Marks are limited to the range from -MAX_MARKS to MAX_MARKS."""
MAX_REVISED = 5_000
MAX_MERGED = 200
MAX_SPLIT_PIECES = 100
PIECE_FIELDS = ("content", "kind", "key", "value", "metadata")
EDITABLE_FIELDS = ("kind", "metadata", "trust", "occurred_at", "expires_at", "ttl", "pinned", "right")
Kinds = Mapping[str, RegisteredKind]


@dataclass(frozen=True, slots=True)
class Replacement:
    """New memories that supersede old ones, and the indexed parts of the new ones."""

    new: tuple[Memory, ...]
    old: tuple[Memory, ...]
    parts: tuple[Part, ...]
    restores: bool = False
    """Whether the new ones say what was said before the old ones, whose marks they do not get."""


@dataclass(frozen=True, slots=True)
class Curator:
    """Edits the memories of one store under its schemas; `once` is the idempotency key of the request."""

    store: Store
    now: datetime
    kinds: Kinds
    once: Once | None = None
    dry_run: bool = False

    async def merge(self, ids: Sequence[str], given: Mapping[str, Any], lead: str | None = None) -> Edited:
        """Merge several memories into one."""
        if (done := await self._repeated()) is not None:
            return done
        heads = await self.heads(ids)
        for head in heads:
            if head.retired:
                refuse_retired(head)
        chosen = best_memory(heads) if lead is None else next(head for head in heads if lead in (head.id, head.ref))
        return await self.write([await self.merge_replacement(heads, given, chosen)], "merge")

    async def merge_replacement(self, heads: Sequence[Memory], given: Mapping[str, Any], lead: Memory) -> Replacement:
        """The next version of `lead`, which replaces all of these, with the given fields or else those of `lead`."""
        fields = {name: value for name, value in given.items() if value is not None}
        kind = fields.get("kind", lead.kind)
        keys = [head.key for head in (lead, *heads) if head.key is not None and head.kind == kind]
        metadata = {name: value for head in (*heads, lead) for name, value in head.metadata.items()}
        metadata = {**metadata, **fields.get("metadata", {})}
        expiries = [head.expires_at for head in heads]
        request = memory_request(
            fields.get("content", lead.content), kind, self.now,
            key=fields.get("key", keys[0] if keys else None),
            value=fields.get("value", None if "content" in fields else lead.value),
            metadata={name: value for name, value in metadata.items() if value is not None and name != "conflict"},
            session_id=lead.session_id, agent=lead.agent, trust=lead.trust,
            occurred_at=lead.occurred_at, expires_at=None if None in expiries else max(filter(None, expiries)),
        )  # fmt: skip
        request = with_schema_version(request, self.kinds)
        await self._place_is_free(request, {head.id for head in heads})
        kept: dict[str, Any] = {}
        kept["sources"] = tuple(dict.fromkeys(source for head in (lead, *heads) for source in head.sources))
        if request.content == lead.content:
            kept |= {name: getattr(lead, name) for name in ("summary", "keywords", "queries", "occurred_until")}
            kept |= {"confidence": max(head.confidence for head in heads)}
        memory = replace(memory_from_request(request, lead, self.now), **kept)
        return Replacement((memory,), tuple(heads), MemoryWrite(memory, None, request, "merge").parts)

    async def split(self, id: str, into: Sequence[Any], seen: str | None) -> Edited:
        """Split one memory into several. The first is its next version, and all rest on the same messages."""
        if (done := await self._repeated()) is not None:
            return done
        (head,) = await self.heads([id], least=1)
        if not head.seen_as(seen):
            raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
        if head.retired:
            refuse_retired(head)
        if isinstance(into, str) or not isinstance(into, Sequence) or not 2 <= len(into) <= MAX_SPLIT_PIECES:
            raise InvalidInput(
                f"into is {quoted_value(into)}; give a list of 2 to {MAX_SPLIT_PIECES} texts.", field="into"
            )
        pieces = [_validate_piece(piece, n) for n, piece in enumerate(into)]
        if len({fingerprint("", str(piece.get("content"))) for piece in pieces}) < len(pieces):
            raise InvalidInput("into has the same text twice.", field="into")
        step = Replacement((), (head,), ())
        for n, piece in enumerate(pieces):
            request = memory_request(
                piece.get("content"), piece.get("kind", head.kind), self.now,
                key=piece.get("key", head.key if n == 0 else None), value=piece.get("value"),
                metadata={**head.metadata, **piece.get("metadata", {})}, session_id=head.session_id, agent=head.agent,
                trust=head.trust, occurred_at=head.occurred_at, expires_at=head.expires_at,
            )  # fmt: skip
            request = with_schema_version(request, self.kinds)
            await self._place_is_free(request, {head.id})
            memory = replace(memory_from_request(request, head if n == 0 else None, self.now), sources=head.sources)
            parts = MemoryWrite(memory, None, request, "split").parts
            step = Replacement((*step.new, memory), step.old, (*step.parts, *parts))
        return await self.write([step], "split")

    async def mark(self, id: str, right: bool, *, reviewed: bool = False, counts: bool = True) -> Edited:
        """Mark a memory as right or wrong once more, within the limit. A wrong mark retires it until its review, and
        brings back what it had superseded when a message was digested; a right one brings it back."""
        if (done := await self._repeated()) is not None:
            return done
        (head,) = await self.heads([id], least=1)
        judged = _new_judgement(head, right, self.now, reviewed, counts)
        if head.retired and judged[1].marks >= 0:
            await self._place_is_free(head, {head.id}, fix="Mark that one wrong first, or merge the two.")
        steps = await self._summary_replacements([judged])
        if head.current and judged[1].marks < 0:
            steps += [
                Replacement((each.memory,), each.replaced, passages.index_parts(each.memory), restores=True)
                for each in await restored_memories(self.store, head, self.now)
            ]
        return await self.write(steps, "mark" if counts else "review", [judged])

    async def revise_where(self, where: Where, change: Mapping[str, Any]) -> Edited:
        """Edit every current memory that matches a filter in the same way, all or none."""
        if (done := await self._repeated()) is not None:
            return done
        given = validate_edit(change)
        page = await self.store.scan(where, now=self.now, limit=MAX_REVISED)
        if page.cursor is not None:
            raise InvalidInput(f"More than {MAX_REVISED:,} memories match.", field="filter", fix="Narrow the filter.")
        judged = [_new_judgement(each, given["right"], self.now) for each in page] if "right" in given else []
        steps = await self.revisions(page.items, {name: value for name, value in given.items() if name != "right"})
        renewed = {old.ref for step in steps for old in step.old}
        steps += [step for step in await self._summary_replacements(judged) if step.old[0].ref not in renewed]
        return await self.write(steps, "revise-where", judged)

    async def _summary_replacements(self, judged: Sequence[tuple[Memory, Judged]]) -> list[Replacement]:
        """The next versions of the summaries that repeat what these marks retire."""
        wrong = [memory for memory, each in judged if memory.current and each.marks < 0]
        pairs = await summaries_without(self.store, wrong, self.now) if wrong else []
        return [Replacement((new,), (old,), passages.index_parts(new)) for old, new in pairs]

    async def revisions(self, heads: Sequence[Memory], given: Mapping[str, Any]) -> list[Replacement]:
        """Build the next version of each memory that the given fields change."""
        steps = []
        for head in heads if given else ():
            found = await prepare_revision(self.store, head, given, self.now, self.kinds)
            if found is not None:
                steps.append(Replacement((found.memory,), (head,), found.parts))
        return steps

    async def write(
        self, steps: Sequence[Replacement], verb: str, judged: Sequence[tuple[Memory, Judged]] = ()
    ) -> Edited:
        """Write all replacements and marks in one change, with the edit that can undo it."""
        renewed = {old.ref for step in steps if not step.restores for old in step.old}
        replaced = {old.ref for step in steps for old in step.old}
        marked = [(old, each) for old, each in judged if old.ref not in renewed]
        aside = {each.memory: each for _, each in judged}
        made = [
            memory if step.restores else _with_judgement(memory, step.old, aside)
            for step in steps
            for memory in step.new
        ]
        changed = [(old, each) for old, each in marked if _marks_and_review(old) != (each.marks, each.reviewed_at)]
        now_marked = tuple(old.with_marks(each.marks, each.reviewed_at) for old, each in marked)
        edit = Edit(
            identifiers.memory_id(self.now), self.now, verb, tuple((each.ref, len(each.sources)) for each in made),
            tuple((old.ref, *_marks_and_review(old)) for old, _ in changed),
        )  # fmt: skip
        nothing = not made and not changed
        if not self.dry_run:
            change = Change(
                memories=tuple(made), parts=tuple(part for step in steps for part in step.parts),
                vectors=await self._carried(steps),
                supersede=tuple(Supersede(old.ref, step.new[0].ref) for step in steps for old in step.old),
                judged=tuple(each for _, each in changed),
                current=tuple(old.ref for old, _ in changed if old.ref not in replaced),
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
        return Edited((*now_marked, *made), None if nothing or self.dry_run else edit.id, self.dry_run)

    async def _reason(self, change: Change, clash: Conflict) -> Conflict | AlreadyExists:
        """Why the change conflicts: another writer was first, or a key or text is taken."""
        old = [*(pair.old for pair in change.supersede), *change.current]
        items = [item for item in await self.store.get(old) if isinstance(item, Memory)]
        if {item.ref for item in items if item.current or item.retired} < set(old):
            return Stale(str(clash), fix="Read again and decide again.")
        return AlreadyExists(
            f"{clash} Two memories cannot have the same key, or the same text without a key.", field="key"
        )

    async def _carried(self, steps: Sequence[Replacement]) -> tuple[Vector, ...]:
        """The vectors of memories whose text is unchanged, so that they need not be embedded again."""
        same = {step.old[0].ref: step.new[0] for step in steps if len(step.old) == len(step.new) == 1}
        held = [old for step in steps for old in step.old if old.ref in same]
        same = {old.ref: same[old.ref] for old in held if _embeds_alike(old, same[old.ref])}
        found = await self.store.indexed(list(same)) if same else []
        return tuple(
            replace(vector, item=same[part.item].ref) for part, vector in found if vector is not None and part.embed
        )

    async def heads(self, ids: Sequence[str], least: int = 2) -> list[Memory]:
        """Load the current or retired memories with these ids."""
        if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(isinstance(id, str) for id in ids):
            raise InvalidInput(f"ids is {quoted_value(ids)}; give a list of memory ids.", field="ids")
        wanted = list(dict.fromkeys(ids))
        if not least <= len(wanted) <= MAX_MERGED:
            raise InvalidInput(f"{len(wanted)} different ids are given; give {least} to {MAX_MERGED}.", field="ids")
        heads = []
        for id in wanted:
            item = next(iter(await self.store.get([id])), None)
            if not isinstance(item, Memory) or is_expired(item, self.now):
                what = "a message, not a memory" if isinstance(item, Message) else "not a memory"
                raise NotFound(f"{quoted_value(id)} is {what} of this profile.", field="id")
            if not (item.current or item.retired):
                raise Stale(f"Memory {id} was superseded by {item.superseded_by}.", fix="Use that one.")
            heads.append(item)
        if len({head.id for head in heads}) < len(heads):
            raise InvalidInput("ids names the same memory twice.", field="ids")
        return heads

    async def _place_is_free(self, request: Any, ours: set[str], fix: str = "Merge that one too.") -> None:
        other = await find_current_memory(self.store, request)
        if other is not None and other.id not in ours:
            what = (
                f"The key {quoted_value(request.key)} of kind {request.kind!r}"
                if request.key is not None
                else "The same text"
            )
            raise AlreadyExists(f"{what} already exists as {other.id}.", field="key", fix=fix)

    async def _repeated(self) -> Edited | None:
        """The result of the first request with this idempotency key."""
        done = await first_answer(self.store, self.once)
        if done is None:
            return None
        edit = next((each for each in await self.store.journal.edits(1000) if each.id == done.answer), None)
        marked = [] if edit is None else [id for id, _, _ in edit.judged]
        found = await self.store.get([*sorted(done.new), *marked])
        memories = tuple(item for item in found if isinstance(item, Memory))
        return Edited(memories, None if edit is None else edit.id)


def best_memory(heads: Sequence[Memory]) -> Memory:
    """The memory to keep of several that say the same: first-hand, marked right, confident, new, in this order."""
    return max(
        heads, key=lambda head: (head.trust not in SECOND_HAND_TRUST, head.marks, head.confidence, head.updated_at)
    )


def validate_edit(change: object) -> dict[str, Any]:
    """Validate the fields of an edit of many memories."""
    if not isinstance(change, Mapping) or not change:
        raise InvalidInput(
            f"change is {quoted_value(change)}; give an object with {', '.join(EDITABLE_FIELDS)}.", field="change"
        )
    for name in change:
        if name not in EDITABLE_FIELDS:
            known = ", ".join(EDITABLE_FIELDS)
            raise InvalidInput(
                f"change has {quoted_value(name)}; only {known} can be changed in several memories at once.",
                field=f"change.{name}",
            )
    for name in ("pinned", "right"):
        if name in change and not isinstance(change[name], bool):
            raise InvalidInput(
                f"change.{name} is {quoted_value(change[name])}; give true or false.", field=f"change.{name}"
            )
    given = dict(change)
    if "pinned" in given:
        given["metadata"] = {**(given.get("metadata") or {}), PINNED_FIELD: given.pop("pinned") or None}
    return given


def _validate_piece(piece: object, n: int) -> Mapping[str, Any]:
    if isinstance(piece, str):
        return {"content": piece}
    if not isinstance(piece, Mapping) or not set(piece) <= set(PIECE_FIELDS):
        known = ", ".join(PIECE_FIELDS)
        raise InvalidInput(
            f"into[{n}] is {quoted_value(piece)}; give a text, or an object with {known}.", field=f"into[{n}]"
        )
    return {name: value for name, value in piece.items() if value is not None}


def _new_judgement(
    memory: Memory, right: bool, now: datetime, reviewed: bool = False, counts: bool = True
) -> tuple[Memory, Judged]:
    if not isinstance(right, bool):
        raise InvalidInput(f"right is {quoted_value(right)}; give true or false.", field="right")
    marks = memory.marks
    if counts:  # a wrong mark retires whatever was marked right before, and a right one brings back
        marks = min(MAX_MARKS, max(0, marks + 1)) if right else max(-MAX_MARKS, min(-1, marks - 1))
    at = now if reviewed else memory.reviewed_at if right else None
    return memory, Judged(memory.ref, marks, at)


def _marks_and_review(memory: Memory) -> tuple[int, datetime | None]:
    return memory.marks, memory.reviewed_at


def _with_judgement(memory: Memory, over: Sequence[Memory], aside: Mapping[str, Judged]) -> Memory:
    """The new version with the marks that the same edit gives it."""
    found = aside.get(over[0].ref)
    return memory if found is None else memory.with_marks(found.marks, found.reviewed_at)


def _embeds_alike(old: Memory, new: Memory) -> bool:
    return (old.content, old.queries) == (new.content, new.queries) and (old.kind == "task") == (new.kind == "task")
