"""Undoes edits, restoring exactly the state before.

An edit is undone by removing the versions it wrote and nothing else: what they superseded is current again, with its
words, vectors and sources, since none of that was changed. When something depends on the edit by now, undoing is
refused with the reason. A forget cannot be undone: what is forgotten is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.domain.errors import CannotUndo, Conflict, InvalidInput, NotFound, quoted_value
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import MAX_EDITS, Edit
from holdfast.domain.results import Undone
from holdfast.domain.tracing import note
from holdfast.domain.types import (
    All,
    Change,
    Judged,
    Memory,
    Test,
)
from holdfast.storage.summary_cover import find_covering_summaries


async def undo(store: Store, id: str | None, steps: int, *, dry_run: bool = False) -> Undone:
    """Undo one edit by its id, or the last ones; all of them or none."""
    log = await store.journal.edits(MAX_EDITS)
    back = Reversal(store, log, _chosen_edits(log, id, steps))
    back.check_log()
    heads = await back.check_memories()
    change = back.change()
    if not dry_run:
        try:
            await store.apply(change)
        except Conflict as clash:
            raise CannotUndo(f"Another write came first. {clash}", fix="Look again at what can be undone.") from clash
    note(undone=[edit.id for edit in back.edits], removed=list(change.forget))
    ids = dict.fromkeys([*(head.ref for head in heads), *(each.memory for each in change.judged)])
    found = [item for item in await store.get(list(ids)) if isinstance(item, Memory)]
    return Undone(back.edits, tuple(found), change.forget, dry_run)


def _chosen_edits(log: Sequence[Edit], id: str | None, steps: int) -> tuple[Edit, ...]:
    if id is not None:
        found = tuple(edit for edit in log if edit.id == id)
        if not found:
            raise NotFound(f"There is no change {quoted_value(id)} that could be undone.", field="id")
        return found
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MAX_EDITS:
        raise InvalidInput(f"steps is {quoted_value(steps)}; give 1 to {MAX_EDITS}.", field="steps")
    if len(log) < steps:
        raise _too_few(len(log), steps)
    return tuple(log[:steps])


def _too_few(changes: int, steps: int) -> NotFound:
    if not changes:
        return NotFound(
            "There is nothing to undo in this profile.", field="steps",
            fix="A remember, edit, merge, split, mark, review or audit fix can be undone; ingest and forget cannot.",
        )  # fmt: skip
    can = "is 1 change" if changes == 1 else f"are {changes} changes"
    return NotFound(f"There {can} that can be undone, not {steps}.", field="steps", fix=f"Give at most {changes}.")


@dataclass(frozen=True, slots=True)
class Reversal:
    """The undoing of some edits of a log."""

    store: Store
    log: Sequence[Edit]
    """Newest first."""
    edits: tuple[Edit, ...]

    @property
    def made(self) -> dict[str, int]:
        return {id: count for edit in self.edits for id, count in edit.made}

    def check_log(self) -> None:
        for edit in self.edits:
            if edit.verb == "forget":
                raise CannotUndo(
                    f"Change {edit.id} is a forget, which cannot be undone: what is forgotten is erased.",
                    fix="Undo an earlier change by its id.",
                )
            if edit.gone:
                raise CannotUndo(f"Something that change {edit.id} ({edit.verb}) wrote was forgotten later.")
            touched = {id for id, _ in edit.made} | {id for id, *_ in edit.judged}
            for later in self.log[: self.log.index(edit)]:
                theirs = {id for id, _ in later.made} | {id for id, *_ in later.judged}
                if later not in self.edits and touched & theirs:
                    raise CannotUndo(
                        f"Change {later.id} ({later.verb}) depends on change {edit.id} ({edit.verb}).",
                        fix=f"Undo {later.id} first.",
                    )

    async def check_memories(self) -> list[Memory]:
        """Check that nothing rests on what the edits made; returns the memories that will be current again."""
        made = self.made
        items = {item.ref: item for item in await self.store.get(list(made)) if isinstance(item, Memory)}
        for id, count in made.items():
            memory = items.get(id)
            if memory is None:
                raise CannotUndo(f"Memory {id} was forgotten later.")
            if not memory.current and not memory.retired and memory.superseded_by not in made:
                raise CannotUndo(
                    f"Memory {id} was later superseded by {memory.superseded_by}.", fix="Undo or forget that one first."
                )
            if len(memory.sources) > count:
                raise CannotUndo(f"Memory {id} later got another source message.")
        summaries = await find_covering_summaries(self.store, [], list(made)) if made else []
        if summaries:
            raise CannotUndo(f"Summary {summaries[0]} now covers some of it.", fix="Forget the summary first.")
        heads: dict[str, Memory] = {}
        for id in made:
            for version in await self.store.history(id):
                if version.superseded_by in made and version.ref not in made:
                    heads[version.ref] = version
        before = self._marks_before
        for item in await self.store.get(list(before)):
            if isinstance(item, Memory) and item.retired and before[item.ref] >= 0:
                heads[item.ref] = item
        for head in heads.values():
            if before.get(head.ref, head.marks) >= 0:  # else it is retired again
                await self._check_place(head)
        return list(heads.values())

    async def _check_place(self, head: Memory) -> None:
        """Raise CannotUndo if another memory has taken the key or the words of this one."""
        if head.key is not None:
            same: All | Test = All((Test("kind", "eq", head.kind), Test("key", "eq", head.key)))
        else:
            same = Test("fingerprint", "eq", head.fingerprint)
        page = await self.store.scan(same, now=None, limit=100)
        for other in page:
            leaves = other.ref in self.made or self._marks_before.get(other.ref, 0) < 0
            if not leaves and (other.key is None) == (head.key is None):
                what = "The same words" if head.key is None else f"The key {head.key!r} of kind {head.kind!r}"
                raise CannotUndo(f"{what} was later written again as memory {other.id}.", fix="Forget that one first.")

    @property
    def _marks_before(self) -> dict[str, int]:
        return {each.memory: each.marks for each in self.change().judged}

    def change(self) -> Change:
        """The change that removes what the edits made, if the newest is still current, and restores marks as before."""
        made = self.made
        before = {id: Judged(id, marks, at) for edit in self.edits for id, marks, at in edit.judged if id not in made}
        newest = tuple(id for id, _ in self.edits[0].made)
        undone = tuple(edit.id for edit in self.edits)
        judged = sorted(before.values(), key=lambda each: each.marks >= 0)  # what is retired leaves its place to others
        return Change(forget=tuple(made), judged=tuple(judged), undoes=undone, current=newest)
