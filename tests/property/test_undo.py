"""Whatever is merged, split, marked, revised, remembered or mended: taking it back gives the exact former state."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import uuid
from datetime import timedelta
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from holdfast import AsyncHoldfast, Memory
from holdfast.domain.errors import AlreadyExists, CannotUndo, Conflict, InvalidInput
from holdfast.domain.ports.search import Probe
from holdfast.domain.types import Draft
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.example_counts import example_count
from support.postgres import migrated_dsn

WORDS = ("porto", "lisbon", "tea", "zebra", "seven", "boat")
SAID: Any = {
    f"Ana said {one} and {two}": [
        Draft("fact", f"Ana likes {one}", (), key="likes" if n % 2 else None, confidence=0.5),
        Draft("task", f"Buy {two}", ()),
    ]
    for n, (one, two) in enumerate(pairwise(WORDS))
}
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
keys = st.one_of(st.none(), st.sampled_from(["k", "l"]))
kinds = st.sampled_from(["fact", "note", "task"])
picks = st.integers(0, 50)


# Named functions: Hypothesis parses the source of a lambda, which CPython 3.11 fails at when garbage is collected
# meanwhile (SystemError: AST constructor recursion depth mismatch).
def has_an_edit(machine: Taken) -> bool:
    return len(machine.states) > 1


def has_two_edits(machine: Taken) -> bool:
    return len(machine.states) > 2


def has_retired(machine: Taken) -> bool:
    return bool(machine.states) and any(memory.retired for memory in machine.states[-1][0])


def has_current(machine: Taken) -> bool:
    return bool(machine.states) and any(memory.current for memory in machine.states[-1][0])


class Taken(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.clock = FrozenClock()
        self.space = f"u{uuid.uuid4().hex[:12]}"
        self.vault: Any = self._run(self._opened())
        self.holdfast = AsyncHoldfast(self.vault, HashingEmbedder(), ScriptedExtractor(SAID), self.clock)
        self._run(self.holdfast.start())
        self.profile = self.holdfast.profile(self.space, "p")
        self.states: list[Any] = []

    async def _opened(self) -> Any:
        return SqliteVault(self.folder)

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @initialize(said=st.lists(st.sampled_from(sorted(SAID)), min_size=1, max_size=3))
    def begin(self, said: list[str]) -> None:
        for text in said:
            self._run(self.profile.ingest([{"role": "user", "content": text}], session_id="s", wait=True))
        self.states = [self._state()]

    def _state(self) -> Any:
        return self._run(self._told())

    async def _told(self) -> Any:
        """Everything there is: rows, links, sources, index, vectors, words, the log of edits, and the archive."""
        await self.profile.settle()
        store = await self.vault.open(self.space, "p", create=False)
        memories = (await store.scan(None, now=None, limit=1000, superseded=True)).items
        messages = await store.messages(None, limit=1000)
        ids = sorted([*(memory.ref for memory in memories), *(message.id for message in messages)])
        index = sorted(
            (
                p.item,
                p.number,
                p.start,
                p.stop,
                p.embed,
                "" if v is None else v.model,
                b"" if v is None else v.values.tobytes(),
            )
            for p, v in await store.indexed(ids)
        )
        found = await store.propose(Probe(now=self.clock(), words=WORDS, limit=1000, memories=1000))
        words = sorted(
            (found.items[of].id, number, length, tuple(counts), isnan(cosine))
            for of, number, length, counts, cosine in zip(
                found.of.tolist(), found.number.tolist(), found.length.tolist(), found.counts.tolist(),
                found.cosine.tolist(), strict=True,
            )
        )  # fmt: skip
        current = [memory.id for memory in await self.profile.list(limit=1000)]
        archive = b"".join([line async for line in self.profile.exported(vectors=True)])
        # The number of a version that was taken back is remembered, so that it is not given again.
        archive = re.sub(rb',"last_version":\d+|,"sha256":"\w+"', b"", archive)
        edits = await store.journal.edits(200)
        return memories, messages, index, words, found.parts, found.frequency, current, archive, edits

    def _try(self, act: Any) -> None:
        """Do it; when it changed something, there is one more state to come back to."""
        self.clock.advance(timedelta(seconds=1))
        try:
            self._run(act)
        except (AlreadyExists, InvalidInput, Conflict):  # also what is revised to the very words of another
            assert self._state() == self.states[-1], "what is refused changes nothing"
            return
        state = self._state()
        if len(state[-1]) > len(self.states[-1][-1]):
            self.states.append(state)
        else:
            assert state == self.states[-1]

    def _heads(self) -> list[Memory]:
        return list(self._run(self.profile.list(limit=1000)).items)

    def _head(self, pick: int) -> str:
        heads = self._heads()
        return heads[pick % len(heads)].id

    @rule(text=texts, key=keys, kind=kinds)
    def remember(self, text: str, key: str | None, kind: str) -> None:
        self._try(self.profile.remember(text, key=key, kind=kind))

    @precondition(has_current)
    @rule(pick=picks, text=texts, key=keys)
    def revise(self, pick: int, text: str, key: str | None) -> None:
        self._try(self.profile.revise(self._head(pick), content=text, key=key))

    @precondition(has_current)
    @rule(some=st.lists(picks, min_size=2, max_size=4), text=st.one_of(st.none(), texts), key=keys)
    def merge(self, some: list[int], text: str | None, key: str | None) -> None:
        self._try(self.profile.merge([self._head(pick) for pick in some], content=text, key=key))

    @precondition(has_current)
    @rule(pick=picks, into=st.lists(texts, min_size=2, max_size=3), key=keys)
    def split(self, pick: int, into: list[str], key: str | None) -> None:
        pieces: list[Any] = [*into[:-1], {"content": into[-1], "key": key, "metadata": {"piece": True}}]
        self._try(self.profile.split(self._head(pick), pieces))

    @precondition(has_current)
    @rule(pick=picks, right=st.booleans())
    def mark(self, pick: int, right: bool) -> None:
        self._try(self.profile.mark(self._head(pick), right=right))

    def _retired(self) -> list[Memory]:
        page = self._run(self.profile.list(limit=1000, superseded=True))
        return [memory for memory in page.items if memory.retired]

    @precondition(has_retired)
    @rule(pick=picks, act=st.sampled_from(["right", "wrong", "keep", "mark", "unmark", "revise"]), text=texts)
    def turn_to_a_retired_one(self, pick: int, act: str, text: str) -> None:
        id = (retired := self._retired())[pick % len(retired)].id
        if act == "revise":
            self._try(self.profile.revise(id, content=text))
        elif act in ("mark", "unmark"):
            self._try(self.profile.mark(id, right=act == "mark"))
        else:
            self._try(self.profile.resolve(id, act))

    @precondition(has_current)
    @rule(pick=picks, pinned=st.booleans())
    def pin(self, pick: int, pinned: bool) -> None:
        id = self._head(pick)
        self._try(self.profile.pin(id) if pinned else self.profile.unpin(id))

    @rule(
        kind=kinds,
        change=st.sampled_from([
            {"metadata": {"seen": 1}}, {"pinned": True, "right": True}, {"right": False}, {"expires_at": "2031-01-01"},
            {"kind": "note"}, {"trust": "document"},
        ]),
    )  # fmt: skip
    def revise_where(self, kind: str, change: dict[str, Any]) -> None:
        self._try(self.profile.revise_where(change, kind=kind))

    @precondition(has_current)
    @rule(pick=picks, answer=st.sampled_from(["right", "wrong", "keep"]))
    def resolve(self, pick: int, answer: str) -> None:
        self._try(self.profile.resolve(self._head(pick), answer))

    @rule(fix=st.sampled_from(["duplicates", "contradictions", "stale-tasks", "junk", "orphans"]))
    def mend(self, fix: str) -> None:
        self._try(self.profile.audit(fix=fix))

    @precondition(has_an_edit)
    @rule(steps=st.integers(1, 4))
    def undo(self, steps: int) -> None:
        steps = min(steps, len(self.states) - 1)
        rehearsed = self._run(self.profile.undo(steps=steps, dry_run=True))
        assert self._state() == self.states[-1]
        done = self._run(self.profile.undo(steps=steps))
        assert (done.edits, done.removed) == (rehearsed.edits, rehearsed.removed)
        del self.states[-steps:]
        assert self._state() == self.states[-1]

    @precondition(has_two_edits)
    @rule(back=st.integers(1, 6))
    def undo_an_earlier_one(self, back: int) -> None:
        """Only when nothing stands on it; then it and nothing else is gone, and refused it changes nothing."""
        edits = self.states[-1][-1]
        edit = edits[min(back, len(edits) - 1)]
        if len(edits) - edits.index(edit) >= len(self.states):
            return
        try:
            done = self._run(self.profile.undo(edit.id))
        except CannotUndo:
            assert self._state() == self.states[-1]
            return
        state = self._state()
        assert [each.id for each in state[-1]] == [each.id for each in edits if each.id != edit.id]
        assert {memory.ref for memory in state[0]} == {memory.ref for memory in self.states[-1][0]} - set(done.removed)
        self.states = [state]

    def teardown(self) -> None:
        self._run(self.vault.delete_namespace(self.space))
        self._run(self.holdfast.close())
        self.loop.close()
        shutil.rmtree(self.folder)


class InMemory(Taken):
    async def _opened(self) -> Any:
        return MemoryVault()


class InDatabase(Taken):
    async def _opened(self) -> Any:
        return PostgresVault(migrated_dsn(), connections=2)


TestInFiles, TestInMemory, TestInDatabase = Taken.TestCase, InMemory.TestCase, InDatabase.TestCase
TestInFiles.settings = TestInMemory.settings = settings(
    max_examples=example_count(25), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestInDatabase.settings = settings(
    max_examples=example_count(8), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
