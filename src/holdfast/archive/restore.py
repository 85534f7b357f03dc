"""Restores an archive into a profile: an empty profile becomes equal to the exported one, another one gets what it
lacks.

Messages and memories that the profile already has, by id, are left alone. A memory whose key is taken by one that the
archive does not contain is reported as a conflict, or with `replacing` supersedes it. Each batch is one Change, so
repeating an import that was killed imports the rest. Messages are written as digested, so that no worker extracts
memories from them that the archive already has; those that were waiting are set waiting at the end. A setting of the
profile, present from the first write to the last, records that this is still to be done.

A document is stored with its whole original or not at all, after its passages, which are messages. If it was being
parsed, it is parsed to its end here. One that the profile has is left alone, and reported if its version differs.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from holdfast.archive import settings as owned
from holdfast.archive.file import Archive, CheckedArchive
from holdfast.archive.format import canonical_json
from holdfast.archive.restore_memories import MemoryMerge, indexed_parts
from holdfast.archive.transfer.profile import EARLIER_FAILURE, spaced_messages
from holdfast.domain.credentials import RIGHTS
from holdfast.domain.errors import Conflict
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import IMPORT_SETTING
from holdfast.domain.reports import Clash, Imported
from holdfast.domain.results import Document
from holdfast.domain.timestamps import now
from holdfast.domain.types import Change, Deferral, Message
from holdfast.domain.usage import Usage
from holdfast.storage.inventory import BATCH_ITEMS

MAX_MERGE_ATTEMPTS = 16
"""How often merging memories restarts after concurrent writes. Chosen by hand; not measured."""
RETRY_DELAY = timedelta(minutes=10)
"""When to retry digesting a message that had failed: not while the import is running."""
PIECES_PER_BATCH = 4
"""How many pieces of originals, of a mebibyte each, are in memory together. Chosen by hand; not measured."""
T = TypeVar("T")


class ArchiveRestore:
    """One import of an archive. `seen` is called with the number of messages and memories done."""

    def __init__(
        self,
        store: Store,
        archive: Archive,
        checked: CheckedArchive,
        *,
        replacing: bool = False,
        force: bool = False,
        dry_run: bool = False,
        rights: frozenset[str] = frozenset(RIGHTS),
        seen: Callable[[int], None] = lambda done: None,
    ) -> None:
        self.store = store
        self._archive = archive
        self.checked = checked
        self.replacing = replacing
        self._force = force
        self.dry_run = dry_run
        self._rights = rights
        self._seen = seen
        self._done = 0
        self._resuming = False
        self._new: set[str] = set()
        """Messages that this run wrote and that have to wait for digestion."""
        self._counts = dict.fromkeys(("messages", "memories", "known", "waiting", "settings", "usage", "documents"), 0)
        self._conflicts: list[Clash] = []
        self._ends: dict[str, int] = {}

    async def run(self) -> Imported:
        await self._begin()
        await self._restore_messages()
        await self._restore_memories()
        await self._restore_settings()
        await self._restore_usage()
        await restore_documents(self)
        await self._set_waiting()
        if not self.dry_run:
            await self.store.journal.put_setting(IMPORT_SETTING, None)
        problems = tuple(self.checked.problems)
        return Imported(**self._counts, conflicts=tuple(self._conflicts), problems=problems, dry_run=self.dry_run)

    async def _begin(self) -> None:
        mark = (await self.store.journal.settings()).get(IMPORT_SETTING)
        self._resuming = mark == self.checked.sha256
        if mark is not None and not self._resuming and not self._force:
            raise Conflict(
                "The import of another archive was interrupted, and its undigested messages do not wait yet.",
                fix=f"Import that one again first (its SHA-256 is {mark}), or give --force to leave them.",
            )
        if not self.dry_run:
            await self.store.journal.put_setting(IMPORT_SETTING, self.checked.sha256)

    async def batches(self, type: str, most: int | None = None) -> AsyncIterator[list[Any]]:
        values = self._archive.values(type, self.checked)
        while some := await asyncio.to_thread(_next_batch, values, most or BATCH_ITEMS):
            yield some

    async def apply(self, change: Change) -> frozenset[str]:
        return frozenset() if self.dry_run else (await self.store.apply(change)).new

    def count(self, what: str, many: int = 1) -> None:
        self._counts[what] += many

    def add_conflict(self, what: str, name: str, missing_right: str | None = None) -> None:
        self._conflicts.append(Clash(what, name, missing_right=missing_right))

    def report_progress(self, many: int) -> None:
        self._done += many
        self._seen(self._done)

    async def _restore_messages(self) -> None:
        async for some in self.batches("message"):
            held = {item.id: item for item in await self.store.get([each.item.id for each in some])}
            new = list({each.item.id: each for each in some if each.item.id not in held}.values())
            messages = [each.item for each in new]
            late = [m.id for m in messages if m.failures and _is_settled(m)]
            late += [each.item.id for each in some if _was_interrupted(each.item, held.get(each.item.id))]
            parts = await asyncio.to_thread(indexed_parts, new)
            together, stand_ins = spaced_messages(messages, await self._session_ends(messages))
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
            self._new |= {m.id for m in messages if _waits_without_failure(m)}
            self.count("messages", len(new))
            self.count("waiting", sum(m.pending and m.failures > 0 for m in messages))
            self.count("known", len(some) - len(new))
            self.report_progress(len(some))

    async def _session_ends(self, messages: Sequence[Message]) -> dict[str, int]:
        """Session → its last position in the profile."""
        for session in dict.fromkeys(message.session_id for message in messages):
            if session not in self._ends:
                last = await self.store.messages(session, before=2**62, limit=1)
                self._ends[session] = last[-1].position if last else 0
        return self._ends

    async def _restore_memories(self) -> None:
        """Merge the memories; start again after a concurrent write, when those already written count as known."""
        written, start = 0, self._done
        for attempt in range(MAX_MERGE_ATTEMPTS):
            merging, self._done = MemoryMerge(self), start
            try:
                await merging.run()
            except Conflict:
                written += merging.written
                if attempt == MAX_MERGE_ATTEMPTS - 1:
                    raise
                continue
            self.count("memories", written + merging.written)
            self.count("known", merging.known - written)
            self._conflicts += [Clash("memory", *each) for each in merging.conflicts]
            return

    async def _restore_settings(self) -> None:
        held = await owned.load_settings(self.store)
        async for some in self.batches("setting"):
            for name, value in some:
                needed = owned.needed_right(name)
                if needed not in self._rights:
                    self.add_conflict("setting", name, needed)
                elif name in held and canonical_json(held[name]) != value:
                    self.add_conflict("setting", name)
                elif name not in held:
                    if not self.dry_run:
                        await owned.write_setting(self.store, name, value)
                    self.count("settings")

    async def _restore_usage(self) -> None:
        """Raise the counts of the profile to those of the archive where these are higher; they are its model budget."""
        if "admin" not in self._rights:
            if self.checked.counts.get("usage"):
                self.add_conflict("usage", "model calls", "admin")
            return
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
        if not self.checked.has_waiting:
            return
        async for some in self.batches("message"):
            ids = [each.item.id for each in some if _waits_without_failure(each.item)]
            if not self._resuming:
                ids = [id for id in ids if id in self._new]
            if self.dry_run or not ids:
                self.count("waiting", len(ids))
                continue
            held = [item for item in await self.store.get(ids) if isinstance(item, Message)]
            again = tuple(item.id for item in held if _is_settled(item) and not item.failures)
            if again:
                await self.apply(Change(redo=again))
            self.count("waiting", len(again))


def _next_batch(values: Iterator[T], most: int) -> list[T]:
    return list(islice(values, most))


def _failures(message: Message) -> Iterator[Deferral]:
    """As many failures as the message had; the last one sets it aside if it was set aside."""
    for n in range(message.failures):
        last = message.aside and n == message.failures - 1
        yield Deferral(message.id, None if last else now() + RETRY_DELAY, EARLIER_FAILURE)


def _is_settled(message: Message) -> bool:
    return not message.pending and not message.aside


def _waits_without_failure(message: Message) -> bool:
    return message.pending and not message.failures


def _was_interrupted(message: Message, held: Any) -> bool:
    """Whether an import was killed between recording the failures of the message and settling it."""
    return bool(held) and _is_settled(message) and held.pending and held.failures == message.failures > 0


async def restore_documents(restoring: ArchiveRestore) -> None:
    """Restore the documents of an archive with their originals."""
    waiting: dict[str, Document] = {}
    piece_counts = restoring.checked.piece_counts
    async for some in restoring.batches("document"):
        for document in some:
            held = await restoring.store.documents.get(document.id)
            if held is not None:
                restoring.count("known")
                if held.sha256 != document.sha256:
                    restoring.add_conflict("document", document.name)
                continue
            restoring.count("documents")
            if document.id in piece_counts:
                waiting[document.id] = document
            elif not restoring.dry_run:
                await restoring.store.documents.put(document)
    if waiting and not restoring.dry_run:
        await _restore_originals(restoring, waiting)


async def _restore_originals(restoring: ArchiveRestore, waiting: dict[str, Document]) -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-unpacking-") as folder:
        path, last = Path(folder) / "original", ""
        async for some in restoring.batches("original", PIECES_PER_BATCH):
            for id, _, piece in some:
                if id != last and last in waiting:
                    await restoring.store.documents.put(waiting.pop(last), path)
                    path.unlink()
                last = id
                if id in waiting:
                    await asyncio.to_thread(_append_piece, path, piece)
        if last in waiting:
            await restoring.store.documents.put(waiting.pop(last), path)


def _append_piece(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)
