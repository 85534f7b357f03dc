"""What a profile tells of a moment is what a plain replay of its log up to that moment gives, but for the forgotten."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast import AsyncHoldfast, Memory
from holdfast.domain.errors import AlreadyExists, Conflict, NotFound
from holdfast.domain.identifiers import referenced_id, version_reference
from holdfast.domain.types import Draft
from holdfast.lifecycle.forget import sweep
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.example_counts import example_count
from support.postgres import migrated_dsn

CITIES = ("porto", "lisbon", "faro", "braga")
KEYS = ("home", "work")
SAID = {
    f"{topic} is in {city}, {n}": [Draft("fact", f"{topic} zebra {city}", (), key=topic)]
    for topic in KEYS
    for city in CITIES
    for n in range(3)
}
keys = st.one_of(st.none(), st.sampled_from(KEYS))
picks = st.integers(0, 50)


@dataclass
class Line:
    """One line of the log: a version came, and with it an older one went."""

    id: str
    at: datetime
    content: str
    place: tuple[str, ...]
    over: tuple[str, ...] = ()
    expires: datetime | None = None
    sources: set[str] = field(default_factory=set)


def replayed_ids(log: list[Line], gone: set[str], then: datetime) -> set[str]:
    """The ids that were current: go through the log line by line, leaving out what has been forgotten."""
    current: dict[str, Line] = {}
    for line in log:
        if line.at > then:
            break
        for old in line.over:
            current.pop(old, None)
        current[line.id] = line
    return {id for id, line in current.items() if line.expires is None or line.expires > then} - gone


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.clock = FrozenClock()
        self.space = f"a{uuid.uuid4().hex[:12]}"
        self.vault: Any = self._run(self._opened())
        self.holdfast = AsyncHoldfast(self.vault, HashingEmbedder(), ScriptedExtractor(dict(SAID)), self.clock)
        self._run(self.holdfast.start())
        self.profile = self.holdfast.profile(self.space, "p")
        self._run(self.profile.ingest([{"role": "user", "content": "hello"}], session_id="s", wait=True))
        self.log: list[Line] = []
        self.said: list[tuple[str, datetime]] = []
        self._heard()

    async def _opened(self) -> Any:
        return SqliteVault(self.folder)

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def _heard(self) -> None:
        """Write down the messages that are new: a text said again, though not at once, is one more."""
        known = {id for id, _ in self.said}
        messages = self._run(self.profile.messages())
        self.said += [(message.id, self.clock()) for message in messages if message.id not in known]

    def _tick(self) -> datetime:
        self.clock.advance(timedelta(seconds=1))
        return self.clock()

    def _heads(self) -> list[Memory]:
        return list(self._run(self.profile.list(limit=1000)).items)

    def _wrote(self, before: list[Memory]) -> None:
        """Write down what is new, and what it took the place of."""
        self._run(self.profile.settle())
        self._swept()
        now = {memory.ref: memory for memory in self._heads()}
        known = {line.id for line in self.log}
        for memory in sorted(now.values(), key=lambda memory: (memory.updated_at, memory.ref)):
            if memory.ref not in known:
                older = [each.ref for each in before if each.ref not in now and _leads(self, each.ref, memory.ref)]
                self.log.append(_line(memory, tuple(older)))

    @rule(city=st.sampled_from(CITIES), key=keys, lasts=st.one_of(st.none(), st.integers(1, 6)))
    def remember(self, city: str, key: str | None, lasts: int | None) -> None:
        self._tick()
        before = self._heads()
        given: Any = {} if lasts is None else {"ttl": lasts}
        self._run(self.profile.remember(f"zebra {city} {key}", key=key, **given))
        self._wrote(before)

    @rule(pick=picks, city=st.sampled_from(CITIES), key=keys)
    def revise(self, pick: int, city: str, key: str | None) -> None:
        self._tick()
        before = self._heads()
        if not before:
            return
        try:
            self._run(self.profile.revise(before[pick % len(before)].id, content=f"zebra {city} again", key=key))
        except (AlreadyExists, Conflict):  # the key is taken, or without one the very words
            return
        self._wrote(before)

    @rule(text=st.sampled_from(sorted(SAID)))
    def ingest(self, text: str) -> None:
        self._tick()
        before = self._heads()
        self._run(self.profile.ingest([{"role": "user", "content": text}], session_id="s", wait=True))
        self._heard()
        self._wrote(before)

    @rule(pick=picks, whole=st.booleans())
    def forget(self, pick: int, whole: bool) -> None:
        """A memory with all its versions, or a message with what rests on it alone: older versions may come back."""
        self._tick()
        heads = self._heads()
        ids = [memory.id for memory in heads] if whole else [id for id, _ in self.said]
        if ids:
            gone = self._run(self.profile.forget(ids[pick % len(ids)]))
            names = {*gone.memories, *gone.messages}
            self._left(names | {line.id for line in self.log if referenced_id(line.id) in names})

    @rule(by=st.integers(1, 4))
    def sweep(self, by: int) -> None:
        for _ in range(by):
            self._tick()
        self._run(sweep(self._run(self.vault.open(self.space, "p", create=False)), now=self.clock()))
        self._swept()

    def _swept(self) -> None:
        """The worker sweeps when it likes: what is gone must have expired, or be an earlier version of what has."""
        store = self._run(self.vault.open(self.space, "p", create=False))
        there = {item.ref for item in self._run(store.get([line.id for line in self.log]))}
        missing = {line.id for line in self.log} - there
        over = {line.id for line in self.log if line.expires is not None and line.expires <= self.clock()}
        for line in reversed(self.log):
            over |= set(line.over) if line.id in over else set()
        assert missing <= over
        self._left(missing)

    def _left(self, gone: set[str]) -> None:
        """Strike the forgotten out of the log: what came after them takes over what they had taken the place of."""
        self.said = [each for each in self.said if each[0] not in gone]
        while any(line.id in gone for line in self.log):
            struck = next(line for line in self.log if line.id in gone)
            self.log.remove(struck)
            heirs = [line for line in self.log if struck.id in line.over]
            for heir in heirs:
                heir.over = (*(old for old in heir.over if old != struck.id), *struck.over)
            if not heirs:
                self._returned(struck.over)

    def _returned(self, ids: tuple[str, ...]) -> None:
        """What is current again, unless something of its key or its very words is there by now."""
        for id in sorted(ids, key=lambda id: -[line.id for line in self.log].index(id) if self._has(id) else 0):
            line = next((line for line in self.log if line.id == id), None)
            taken = {old for each in self.log for old in each.over}
            if line is None:
                continue
            rivals = [each for each in self.log if each.place == line.place and each.id != id and each.id not in taken]
            for rival in rivals[:1]:
                rival.over = (*rival.over, id)

    def _has(self, id: str) -> bool:
        return any(line.id == id for line in self.log)

    @invariant()
    def every_moment_is_as_the_log_tells(self) -> None:
        self._run(self.profile.settle())
        self._swept()
        start, end = FrozenClock().at, self.clock()
        moments = {line.at for line in self.log[-6:]} | {start, end - timedelta(seconds=1), end}
        for then in sorted(moments | {each - timedelta(microseconds=1) for each in moments}):
            self._compare(then)

    def _compare(self, then: datetime) -> None:
        expected = replayed_ids(self.log, set(), then)
        there = {id for id, at in self.said if at <= then}
        listed = self._run(self.profile.list(limit=1000, as_of=then)).items
        assert {memory.ref for memory in listed} == expected
        assert all(memory.current for memory in listed)
        found = self._run(self.profile.search("zebra", limit=1000, as_of=then, kind="fact"))
        lines = {line.id: line for line in self.log}
        refs = {version_reference(hit.id, hit.version) for hit in found}
        assert refs <= expected
        found_texts = {lines[ref].content for ref in refs}
        assert found_texts >= {lines[id].content for id in expected if not lines[id].sources}
        heard = self._run(self.profile.search("hello home work", limit=1000, as_of=then, kind="message"))
        assert {hit.id for hit in heard} == there
        for line in self.log[-4:]:
            versions = [each for each in self.log if each.at <= then and each.id in self._lineage(line.id, then)]
            try:
                got = self._run(self.profile.get(line.id, as_of=then))
                assert got.ref == line.id if line.at <= then else got.ref in {each.id for each in versions}
                told = self._run(self.profile.history(line.id, as_of=then))
                assert {each.ref for each in told} == {each.id for each in versions}
            except NotFound:
                assert versions == []

    def _lineage(self, id: str, then: datetime) -> set[str]:
        """Everything that a line is linked to by what had happened by then; by all, when it came later."""
        mine = next(line for line in self.log if line.id == id)
        links = [(line.id, old) for line in self.log if mine.at > then or line.at <= then for old in line.over]
        found, last = {id}, 0
        while len(found) > last:
            last = len(found)
            found |= {one for pair in links for one in pair if found & set(pair)}
        return found

    def teardown(self) -> None:
        self._run(self.vault.delete_namespace(self.space))
        self._run(self.holdfast.close())
        self.loop.close()
        shutil.rmtree(self.folder)


def _leads(machine: Histories, old: str, new: str) -> bool:
    found: Any = machine._run(machine.profile.get(old))
    return bool(found.superseded_by == new)


def _line(memory: Memory, over: tuple[str, ...]) -> Line:
    place = ("", memory.fingerprint) if memory.key is None else (memory.kind, memory.key)
    return Line(memory.ref, memory.updated_at, memory.content, place, over, memory.expires_at, set(memory.sources))


class InDatabase(Histories):
    async def _opened(self) -> Any:
        return PostgresVault(migrated_dsn(), connections=2)


TestHistories, TestInDatabase = Histories.TestCase, InDatabase.TestCase
TestHistories.settings = settings(
    max_examples=example_count(8), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestInDatabase.settings = settings(
    max_examples=example_count(4),
    stateful_step_count=example_count(24),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
