"""Bring an archive into a profile: into an empty one as it was, into another as what that one lacks.

Known messages and memories, by id, are left alone. A memory whose key is held by something that the archive does not
know is not written but reported, unless it is told to take the place: then what was there becomes its history. Each
batch is one Change, so whoever repeats an import that was killed brings the rest. Messages come in as digested, so that
no worker draws memories from them which the archive holds already; what really waits is set waiting at the end. A mark
in the profile's settings remembers, from the first write to the last, that this is still to be done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar

from . import owned
from .archive import canonical
from .archive_file import Archive, Checked
from .errors import Conflict
from .inventory import BATCH
from .merging import Merging, parts_of
from .moments import now
from .moving import WHY, spaced
from .ports import Store
from .records import IMPORTING
from .spending import Usage
from .types import Change, Deferral, Message
from .unpacking import unpack

TRIES = 16
LATER = timedelta(minutes=10)
"""When to try again what failed before: not while the import is under way."""
Place = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clash:
    """Something of the archive that was not written, since the profile has something else in its place."""

    what: str
    """memory, setting or document."""
    name: str
    """kind/key, or the text; a setting's name, or a document's."""
    archived: str | None = None
    """The id in the archive, and the one in the profile."""
    held: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do."""

    messages: int = 0
    """Written; `known` were there already."""
    memories: int = 0
    known: int = 0
    waiting: int = 0
    """Messages that came undigested and now wait."""
    settings: int = 0
    usage: int = 0
    documents: int = 0
    conflicts: tuple[Clash, ...] = ()
    problems: tuple[str, ...] = ()
    """What was wrong with the archive, when it was brought all the same."""
    dry_run: bool = False


class Restoring:
    """`seen` hears how many messages and memories are done."""

    def __init__(
        self,
        store: Store,
        archive: Archive,
        checked: Checked,
        *,
        replacing: bool = False,
        force: bool = False,
        dry_run: bool = False,
        seen: Callable[[int], None] = lambda done: None,
    ) -> None:
        self.store = store
        self._archive = archive
        self.checked = checked
        self.replacing = replacing
        self._force = force
        self.dry_run = dry_run
        self._seen = seen
        self._done = 0
        self._resuming = False
        self._new: set[str] = set()
        """Messages that came waiting, and that this run wrote."""
        self._counts = dict.fromkeys(("messages", "memories", "known", "waiting", "settings", "usage", "documents"), 0)
        self._clashes: list[Clash] = []
        self._ends: dict[str, int] = {}

    async def run(self) -> Imported:
        await self._begin()
        await self._bring_messages()
        await self._bring_memories()
        await self._bring_settings()
        await self._bring_usage()
        await unpack(self)
        await self._set_waiting()
        if not self.dry_run:
            await self.store.journal.lay_down(IMPORTING, None)
        problems = tuple(self.checked.problems)
        return Imported(**self._counts, conflicts=tuple(self._clashes), problems=problems, dry_run=self.dry_run)

    async def _begin(self) -> None:
        mark = (await self.store.journal.settings()).get(IMPORTING)
        self._resuming = mark == self.checked.sha256
        if mark is not None and not self._resuming and not self._force:
            raise Conflict(
                "The import of another archive was interrupted, and its undigested messages do not wait yet.",
                fix=f"Import that one again first (its SHA-256 is {mark}), or give --force to leave them.",
            )
        if not self.dry_run:
            await self.store.journal.lay_down(IMPORTING, self.checked.sha256)

    async def batches(self, type: str, most: int | None = None) -> AsyncIterator[list[Any]]:
        values = self._archive.values(type, self.checked)
        while some := await asyncio.to_thread(_some, values, most or BATCH):
            yield some

    async def apply(self, change: Change) -> frozenset[str]:
        return frozenset() if self.dry_run else (await self.store.apply(change)).new

    def count(self, what: str, many: int = 1) -> None:
        self._counts[what] += many

    def clash(self, what: str, name: str) -> None:
        self._clashes.append(Clash(what, name))

    def saw(self, many: int) -> None:
        self._done += many
        self._seen(self._done)

    async def _bring_messages(self) -> None:
        async for some in self.batches("message"):
            held = {item.id: item for item in await self.store.get([each.item.id for each in some])}
            new = list({each.item.id: each for each in some if each.item.id not in held}.values())
            messages = [each.item for each in new]
            late = [m.id for m in messages if m.failures and _settled(m)]
            late += [each.item.id for each in some if _interrupted(each.item, held.get(each.item.id))]
            parts = await asyncio.to_thread(parts_of, new)
            together, stand_ins = spaced(messages, await self._reached(messages))
            change = Change(
                messages=together,
                parts=parts,
                vectors=tuple(vector for each in new for vector in each.vectors),
                settle=tuple(m.id for m in messages if not m.failures),
                defer=tuple(late for m in messages for late in _failures(m)),
                forget=stand_ins,
            )
            for part in (change, Change(settle=tuple(late))):
                if part != Change():
                    await self.apply(part)
            self._new |= {m.id for m in messages if _plainly_waiting(m)}
            self.count("messages", len(new))
            self.count("waiting", sum(m.pending and m.failures > 0 for m in messages))
            self.count("known", len(some) - len(new))
            self.saw(len(some))

    async def _reached(self, messages: Sequence[Message]) -> dict[str, int]:
        """The last position of each of their sessions."""
        for session in dict.fromkeys(message.session_id for message in messages):
            if session not in self._ends:
                last = await self.store.said(session, before=2**62, limit=1)
                self._ends[session] = last[-1].position if last else 0
        return self._ends

    async def _bring_memories(self) -> None:
        """Begins again when somebody else wrote meanwhile: what has come by then is known."""
        written, start = 0, self._done
        for attempt in range(TRIES):
            merging, self._done = Merging(self), start
            try:
                await merging.bring()
            except Conflict:
                written += merging.written
                if attempt == TRIES - 1:
                    raise
                continue
            self.count("memories", written + merging.written)
            self.count("known", merging.known - written)
            self._clashes += [Clash("memory", *each) for each in merging.clashes]
            return

    async def _bring_settings(self) -> None:
        held = await owned.settings(self.store)
        async for some in self.batches("setting"):
            for name, value in some:
                if name in held and canonical(held[name]) != value:
                    self.clash("setting", name)
                elif name not in held:
                    if not self.dry_run:
                        await owned.lay_down(self.store, name, value)
                    self.count("settings")

    async def _bring_usage(self) -> None:
        """Where the archive counts more than the profile does, the profile counts as much."""
        held = {(each.month, each.model, each.task): each for each in await self.store.journal.spent(None)}
        async for some in self.batches("usage"):
            for spent in some:
                had = held.get((spent.month, spent.model, spent.task))
                calls, *tokens = (
                    max(0, getattr(spent, name) - (0 if had is None else getattr(had, name)))
                    for name in ("calls", "input", "output", "cached")
                )
                if calls or any(tokens):
                    if not self.dry_run:
                        await self.store.journal.spend(spent.month, Usage(spent.model, spent.task, *tokens), calls)
                    self.count("usage")

    async def _set_waiting(self) -> None:
        if not self.checked.waiting:
            return
        async for some in self.batches("message"):
            ids = [each.item.id for each in some if _plainly_waiting(each.item)]
            if not self._resuming:
                ids = [id for id in ids if id in self._new]
            if self.dry_run or not ids:
                self.count("waiting", len(ids))
                continue
            held = [item for item in await self.store.get(ids) if isinstance(item, Message)]
            again = tuple(item.id for item in held if _settled(item) and not item.failures)
            if again:
                await self.apply(Change(redo=again))
            self.count("waiting", len(again))


def _some(values: Iterator[T], most: int) -> list[T]:
    return list(islice(values, most))


def _failures(message: Message) -> Iterator[Deferral]:
    """As many as it had; the last one sets it aside if it was."""
    for n in range(message.failures):
        last = message.aside and n == message.failures - 1
        yield Deferral(message.id, None if last else now() + LATER, WHY)


def _settled(message: Message) -> bool:
    return not message.pending and not message.aside


def _plainly_waiting(message: Message) -> bool:
    return message.pending and not message.failures


def _interrupted(message: Message, held: Any) -> bool:
    """Whether an import was killed between letting it fail as often as it did and settling it."""
    return bool(held) and _settled(message) and held.pending and held.failures == message.failures > 0
