"""Whatever was done to a profile: exported, imported elsewhere and exported again it is the same bytes."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from holdfast.archive.export import archive_lines
from holdfast.archive.file import Archive
from holdfast.archive.restore import ArchiveRestore
from holdfast.domain.errors import Conflict
from holdfast.domain.ports.search import Probe
from holdfast.domain.ports.storage import Store
from holdfast.domain.reports import Imported
from holdfast.domain.types import Change
from holdfast.domain.usage import Usage
from holdfast.testing.conformance import memory, message, written
from holdfast.testing.conformance.samples import MODEL
from support.backend_agreement import Agreement, InDatabase, Sealed, metadata
from support.example_counts import example_count

odd = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
speakable = odd.filter(lambda text: bool(text.strip()))


async def export_archive(store: Store, *, vectors: bool) -> bytes:
    return b"".join([line async for line in archive_lines(store, "app", "p", vectors=vectors)])


async def import_archive(store: Store, archive: bytes) -> Imported:
    reader = Archive(io.BytesIO(archive))
    return await ArchiveRestore(store, reader, reader.check()).run()


class Archiving(Agreement):
    """Only the first store is changed; the second is filled from archives of it."""

    def _apply(self, change: Change) -> bool:
        try:
            self._run(self.stores[0].apply(change))
        except Conflict:
            return False
        return True

    def _both(self, act: Any) -> Any:
        return self._run(act(self.stores[0]))

    def _same_proposals(self, probe: Probe) -> None: ...

    def everything_is_the_same(self) -> None: ...

    @rule(text=speakable, more=speakable, metadata=metadata)
    def say_odd_things(self, text: str, more: str, metadata: dict[str, Any]) -> None:
        said = message(text, speaker=more, metadata=metadata)
        known = memory(more, n=99, value={"it": [text, 1e16, 2**70]}, keywords=(text,), session_id="s")
        if self._apply(written(said, known)):
            self.items += [said, known]

    @rule(index=st.integers(0, 30))
    def redo(self, index: int) -> None:
        item = self._item(index)
        if item is not None:
            self._apply(Change(redo=(item.id,), refused=((item.ref, 0),)))

    @rule(name=st.sampled_from(["cadence", "palette"]), value=metadata)
    def put_setting(self, name: str, value: dict[str, Any]) -> None:
        self._run(self.stores[0].journal.put_setting(name, value or None))
        self._run(self.stores[0].journal.spend("2026-01", Usage("m", name, len(value), 1)))

    @rule(vectors=st.booleans())
    def carry(self, vectors: bool) -> None:
        archive = self._run(export_archive(self.stores[0], vectors=vectors))
        self._run(self.vaults[1].delete(self.space, "p"))
        self.stores[1] = self._run(self.vaults[1].open(self.space, "p", create=True))
        done = self._run(import_archive(self.stores[1], archive))
        assert (done.known, done.conflicts) == (0, ())
        assert self._run(export_archive(self.stores[1], vectors=vectors)) == archive
        reach = self._run(self.stores[1].journal.reach())
        again = self._run(import_archive(self.stores[1], archive))
        assert (again.messages, again.memories, again.waiting, again.settings, again.usage) == (0, 0, 0, 0, 0)
        assert again.conflicts == ()
        assert self._run(self.stores[1].journal.reach()) == reach
        ids = [item.ref for item in self.items]
        for read in (
            lambda store: store.get(ids),
            lambda store: store.messages(None),
            lambda store: store.scan(None, now=None, limit=99, superseded=True),
            lambda store: store.resting_on(ids),
        ):
            Agreement._both(self, read)
        if vectors:
            Agreement._same_proposals(self, Probe(now=self._now(), words=("zebra",), model=MODEL, keys=("k",)))

    @rule()
    def merge(self) -> None:
        """Into a profile that has an older state of it, or something else: nothing fails and nothing is silent."""
        archive = self._run(export_archive(self.stores[0], vectors=False))
        before = {item.ref for item in self._run(self.stores[1].get([item.ref for item in self.items]))}
        told = self._run(import_archive(self.stores[1], archive))
        after = {item.ref for item in self._run(self.stores[1].get([item.ref for item in self.items]))}
        assert before <= after
        assert len(after - before) == told.messages + told.memories

    def _now(self) -> Any:
        from holdfast.testing.conformance.samples import AT

        return AT

    def teardown(self) -> None:
        try:
            self.carry(True)
        finally:
            super().teardown()


class ArchivingInDatabase(Archiving, InDatabase): ...


class ArchivingSealed(Archiving, Sealed): ...


def examples(count: int) -> settings:
    return settings(
        max_examples=example_count(count),
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestArchiving, TestArchivingInDatabase = Archiving.TestCase, ArchivingInDatabase.TestCase
TestArchivingSealed = ArchivingSealed.TestCase
TestArchiving.settings, TestArchivingInDatabase.settings = examples(25), examples(6)
TestArchivingSealed.settings = examples(4)
