"""Take changes back, to the very state before.

A change is taken back by removing the versions it wrote, alone: what they had superseded is current again, with its
words, vectors and sources, since none of that was ever touched. When something stands on it by now, it is refused,
with what stands in the way. A forget cannot be taken back: what is forgotten is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import CannotUndo, Conflict, InvalidInput, NotFound, shown
from .ports import Store
from .records import EDITS, Edit
from .results import Undone
from .rollup import covering
from .trail import note
from .types import All, Change, Forgotten, Judged, Memory, Test


async def undo(store: Store, id: str | None, steps: int, *, rehearsed: bool = False) -> tuple[Undone, Forgotten]:
    """Take back one change by its id, or the last ones; all of them or none."""
    log = await store.journal.edits(EDITS)
    back = Back(store, log, _chosen(log, id, steps))
    back.check_log()
    heads = await back.check_memories()
    change = back.change()
    gone = Forgotten()
    if not rehearsed:
        try:
            gone = (await store.apply(change)).gone
        except Conflict as clash:
            raise CannotUndo(f"Somebody wrote first. {clash}", fix="Look again at what can be undone.") from clash
    note(undone=[edit.id for edit in back.edits], removed=list(change.forget))
    ids = dict.fromkeys([*(head.id for head in heads), *(each.memory for each in change.judged)])
    found = [item for item in await store.get(list(ids)) if isinstance(item, Memory)]
    return Undone(back.edits, tuple(found), change.forget, rehearsed), gone


def _chosen(log: Sequence[Edit], id: str | None, steps: int) -> tuple[Edit, ...]:
    if id is not None:
        found = tuple(edit for edit in log if edit.id == id)
        if not found:
            raise NotFound(f"There is no change {shown(id)} that could be undone.", field="id")
        return found
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= EDITS:
        raise InvalidInput(f"steps is {shown(steps)}; give 1 to {EDITS}.", field="steps")
    if len(log) < steps:
        raise NotFound(f"There are {len(log)} changes that could be undone, not {steps}.", field="steps")
    return tuple(log[:steps])


@dataclass(frozen=True, slots=True)
class Back:
    """Some edits of a log, on their way back."""

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
                raise CannotUndo(f"Some of what change {edit.id} ({edit.verb}) wrote has been forgotten since.")
            touched = {id for id, _ in edit.made} | {id for id, *_ in edit.judged}
            for later in self.log[: self.log.index(edit)]:
                theirs = {id for id, _ in later.made} | {id for id, *_ in later.judged}
                if later not in self.edits and touched & theirs:
                    raise CannotUndo(
                        f"Change {later.id} ({later.verb}) stands on change {edit.id} ({edit.verb}).",
                        fix=f"Undo {later.id} first.",
                    )

    async def check_memories(self) -> list[Memory]:
        """What will be current again."""
        made = self.made
        items = {item.id: item for item in await self.store.get(list(made)) if isinstance(item, Memory)}
        for id, count in made.items():
            memory = items.get(id)
            if memory is None:
                raise CannotUndo(f"Memory {id} has been forgotten since.")
            if memory.superseded_by is not None and memory.superseded_by not in made:
                raise CannotUndo(
                    f"Memory {id} was superseded by {memory.superseded_by} since.", fix="Undo or forget that one first."
                )
            if len(memory.sources) > count:
                raise CannotUndo(f"Memory {id} rests on another message as well since.")
        summaries = await covering(self.store, [], list(made)) if made else []
        if summaries:
            raise CannotUndo(f"Summary {summaries[0]} covers some of it since.", fix="Forget the summary first.")
        heads: dict[str, Memory] = {}
        for id in made:
            for version in await self.store.history(id):
                if version.superseded_by in made and version.id not in made:
                    heads[version.id] = version
        for head in heads.values():
            await self._check_place(head)
        return list(heads.values())

    async def _check_place(self, head: Memory) -> None:
        """Whether it can be current again."""
        if head.key is not None:
            same: All | Test = All((Test("kind", "eq", head.kind), Test("key", "eq", head.key)))
        else:
            same = Test("fingerprint", "eq", head.fingerprint)
        page = await self.store.scan(same, now=None, limit=100)
        for other in page:
            if other.id not in self.made and (other.key is None) == (head.key is None):
                what = "The same words" if head.key is None else f"The key {head.key!r} of kind {head.kind!r}"
                raise CannotUndo(f"{what} came back as memory {other.id} since.", fix="Forget that one first.")

    def change(self) -> Change:
        """The newest versions go first, if nothing stands on them still; marks are as before the first edit."""
        made = self.made
        before = {id: Judged(id, marks, at) for edit in self.edits for id, marks, at in edit.judged if id not in made}
        newest = tuple(id for id, _ in self.edits[0].made)
        undone = tuple(edit.id for edit in self.edits)
        return Change(forget=tuple(made), judged=tuple(before.values()), undoes=undone, current=newest)
