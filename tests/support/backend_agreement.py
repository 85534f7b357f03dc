"""A state machine that applies random changes to the reference and to a backend, and compares what they answer."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import uuid
from dataclasses import replace
from datetime import timedelta
from math import isnan
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.domain import filters
from holdfast.domain.errors import Conflict
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.types import Change, Deferral, Item, Judged, Memory, Shortened, Supersede
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing.conformance import memory, message, unit, written
from holdfast.testing.conformance.samples import AT, MODEL, direction
from holdfast.text import passages

from .postgres import lasting_keyring, migrated_dsn

WORDS = ("zebra", "lisbon", "dog's", "東京", "naïve", "the", "x1")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2, width=16), st.sampled_from(["", "a", "ab", "b"])
)
metadata = st.dictionaries(
    st.sampled_from(["n", "deep", "o'k"]), st.one_of(scalars, st.dictionaries(st.just("er"), scalars))
)
sessions = st.sampled_from(["s", "t"])
keys = st.one_of(st.none(), st.sampled_from(["k", "/src/a", "/src/b"]))
indices = st.integers(0, 30)

field = st.sampled_from(["metadata.n", "metadata.deep.er", "metadata.o'k", "metadata.deep"])
test = st.one_of(
    st.builds(lambda f, v: {f: v}, field, scalars),
    st.builds(lambda f, v: {f: {"in": v}}, field, st.lists(scalars, max_size=3)),
    st.builds(
        lambda f, op, v: {f: {op: v}},
        field,
        st.sampled_from(["gt", "gte", "lt", "lte"]),
        st.one_of(st.integers(-2, 2), st.sampled_from(["", "a", "b"])),
    ),
    st.builds(lambda f, v: {f: {"prefix": v}}, st.one_of(field, st.just("key")), st.sampled_from(["", "a", "/src"])),
    st.builds(
        lambda f, v: {f: {"exists": v}},
        st.one_of(field, st.sampled_from(["key", "agent", "occurred_at"])),
        st.booleans(),
    ),
    st.builds(lambda v: {"kind": v}, st.sampled_from(["fact", "note", "message"])),
    st.builds(lambda v: {"session_id": v}, sessions),
    st.builds(
        lambda op, n: {"time": {op: AT + timedelta(seconds=n)}}, st.sampled_from(["gt", "lte"]), st.integers(0, 20)
    ),
)
wheres = st.recursive(
    test,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"and": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=5,
)


class Agreement(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.space = f"a{uuid.uuid4().hex[:12]}"
        self.vaults: list[Any] = [MemoryVault(), self._run(self._opened())]
        for vault in self.vaults:
            self._run(vault.create_namespace(self.space))
        self.stores = [self._run(vault.open(self.space, "p", create=True)) for vault in self.vaults]
        self.items: list[Item] = []
        self.count = 0

    async def _opened(self) -> Any:
        return SqliteVault(self.folder)

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def _both(self, act: Any) -> Any:
        one, two = (self._run(act(store)) for store in self.stores)
        assert one == two
        return one

    def _apply(self, change: Change) -> bool:
        outcomes = []
        for store in self.stores:
            try:
                outcomes.append(self._run(store.apply(change)))
            except Conflict:
                outcomes.append("conflict")
        assert outcomes[0] == outcomes[1]
        return outcomes[0] != "conflict"

    def _item(self, index: int) -> Item | None:
        return self.items[index % len(self.items)] if self.items else None

    @rule(texts=st.lists(texts, min_size=1, max_size=4), session=sessions, metadata=metadata)
    def say(self, texts: list[str], session: str, metadata: dict[str, Any]) -> None:
        said = [message(text, session=session, metadata=metadata) for text in texts]
        self._apply(written(*said))
        self.items += said

    @rule(
        text=texts,
        key=keys,
        kind=st.sampled_from(["fact", "note", "task"]),
        metadata=metadata,
        over=indices,
        source=indices,
        expires=st.booleans(),
    )
    def know(
        self, text: str, key: str | None, kind: str, metadata: dict[str, Any], over: int, source: int, expires: bool
    ) -> None:
        self.count += 1
        rests_on = self._item(source)
        made = memory(
            text, kind=kind, key=key, n=self.count, metadata=metadata, version=self.count,
            expires_at=AT + timedelta(seconds=self.count % 5) if expires else None,
            sources=() if rests_on is None or isinstance(rests_on, Memory) else (rests_on.id,),
        )  # fmt: skip
        old = self._item(over)
        if isinstance(old, Memory) and over % 4 == 0:
            made = made.next_of(old)
        pair = () if not isinstance(old, Memory) or over % 2 else (Supersede(old.ref, made.ref),)
        if self._apply(written(made, supersede=pair)):
            self.items.append(made)

    @rule(index=indices)
    def repeat(self, index: int) -> None:
        item = self._item(index)
        if item is not None:
            self._apply(written(item))

    @rule(index=indices, axis=st.integers(0, 7), model=st.sampled_from([MODEL, "other/m/8"]))
    def embed(self, index: int, axis: int, model: str) -> None:
        item = self._item(index)
        if item is not None:
            self._apply(Change(vectors=(unit(item.ref, axis, model=model),)))

    @rule(picked=st.lists(indices, max_size=3))
    def forget(self, picked: list[int]) -> None:
        gone = {item.ref if index % 2 else item.id for index in picked if (item := self._item(index)) is not None}
        self._apply(Change(forget=tuple(sorted(gone))))

    @rule(index=indices, left=st.one_of(st.none(), texts), stale=st.booleans(), picked=indices)
    def shorten(self, index: int, left: str | None, stale: bool, picked: int) -> None:
        item, other = self._item(index), self._item(picked)
        if item is None or isinstance(item, Memory) or not self._both(lambda store: store.get([item.id])):
            return
        (found,) = self._run(self.stores[0].get([item.id]))
        resting = frozenset(each.ref for each in self._both(lambda store: store.resting_on([item.id])))
        number = 1 + max(part.number for part, _ in self._run(self.stores[0].indexed([item.id])))
        parts = passages.index_parts(replace(found, content=left or ""))
        parts = tuple(replace(part, number=part.number + number) for part in parts)
        before = "another text" if stale else found.content
        short = Shortened(item.id, before, resting, left, parts=() if left is None else parts)
        self._apply(Change(shorten=(short,), forget=() if other is None else (other.ref,)))

    @rule(picked=st.lists(indices, min_size=1, max_size=2), marks=st.sampled_from([-2, -1, 0, 1]))
    def judge(self, picked: list[int], marks: int) -> None:
        items = [item for index in picked if isinstance(item := self._item(index), Memory)]
        judged = (Judged(item.ref, marks if n == 0 else -1 - marks) for n, item in enumerate(items))
        self._apply(Change(judged=tuple(judged)))

    @rule(index=indices, later=st.integers(0, 9), done=st.booleans())
    def work(self, index: int, later: int, done: bool) -> None:
        now = AT + timedelta(minutes=later)
        self._both(lambda store: store.claim(now=now, lease=timedelta(minutes=3), limit=2))
        item = self._item(index)
        if item is not None:
            late = Deferral(item.id, None if later % 3 == 0 else now, "why")
            self._apply(Change(settle=(item.id,)) if done else Change(defer=(late,)))

    @rule(filter=wheres)
    def scan_with(self, filter: dict[str, Any]) -> None:
        where = filters.parse_filter(filter)
        self._both(lambda store: self._pages(store, where))
        probe = Probe(now=AT, words=("zebra", "lisbon"), where=where, limit=5, with_neighbours=2)
        self._same_proposals(probe)

    @rule(second=indices)
    def look_back(self, second: int) -> None:
        then = AT + timedelta(seconds=second)
        self._both(lambda store: self._pages(store, None, as_of=then))
        found: Any = {"words": ("zebra", "lisbon"), "vector": direction(0), "model": MODEL, "keys": ("k", "/src/a")}
        self._same_proposals(Probe(now=then, window=(AT - timedelta(days=1), then), as_of=then, **found))

    @rule(reopen=st.just(True))
    def restart(self, reopen: bool) -> None:
        self._run(self.vaults[1].close())
        self.vaults[1] = self._run(self._opened())
        self.stores[1] = self._run(self.vaults[1].open(self.space, "p", create=False))
        self._run(self.vaults[1].waiting(MODEL))
        state = self.stores[0]._state  # a new owner of the folder ends the leases of the one that is gone
        state.wait_until |= {id: AT - timedelta(days=1) for id in state.wait_until if id not in state.failures}

    @invariant()
    def everything_is_the_same(self) -> None:
        ids = [item.id for item in self.items]
        self._both(lambda store: store.get([*ids, *(item.ref for item in self.items)]))
        self._both(lambda store: self._pages(store, None))
        self._both(lambda store: store.messages("s"))
        self._both(lambda store: store.resting_on(ids[:3]))
        self._both(lambda store: store.unembedded_parts(MODEL, 5))
        for item in self.items[-2:]:
            self._both(lambda store, id=item.id: store.history(id))
        stats = [self._run(store.stats(MODEL)) for store in self.stores]
        assert [getattr(stats[0], name) for name in _COUNTS] == [getattr(stats[1], name) for name in _COUNTS]
        window = (AT - timedelta(days=1), AT + timedelta(seconds=7))
        for model in (MODEL, "other/m/8"):
            self._same_proposals(
                Probe(now=AT, words=("zebra", "東京"), vector=direction(0), model=model, keys=("k",), window=window)
            )

    async def _pages(self, store: Any, where: Any, **more: Any) -> list[str]:
        found, cursor = [], None
        while True:
            page = await store.scan(where, now=AT + timedelta(seconds=2), limit=2, cursor=cursor, **more)
            found += [each.ref for each in page.items]
            cursor = page.cursor
            if cursor is None:
                return found

    def _same_proposals(self, probe: Probe) -> None:
        one, two = (self._run(store.propose(probe)) for store in self.stores)
        assert _plain(one) == _plain(two)

    def teardown(self) -> None:
        for vault in self.vaults:
            self._run(vault.delete_namespace(self.space))
            self._run(vault.close())
        self.loop.close()
        shutil.rmtree(self.folder)


_COUNTS = ("messages", "memories", "kinds", "superseded", "sessions", "pending", "set_aside", "unembedded")


def _plain(found: Proposals) -> Any:
    numbers = zip(
        found.of.tolist(), found.number.tolist(), found.length.tolist(), found.counts.tolist(), found.cosine.tolist(),
        found.tokens, strict=True,
    )  # fmt: skip
    numbers = sorted(numbers)
    first = {
        of: number for of, number, *_ in reversed(numbers)
    }  # shortened messages have higher numbers until restored
    rows = {
        (found.items[of].id, number - first[of]): (length, counts, -9 if isnan(cosine) else round(cosine, 3), tokens)
        for of, number, length, counts, cosine, tokens in numbers
    }
    items = {item.id: item for item in found.items}
    return rows, items, found.parts, round(found.mean_length, 6), found.frequency


class InDatabase(Agreement):
    async def _opened(self) -> Any:
        return PostgresVault(migrated_dsn(), connections=2)


class Sealed(Agreement):
    async def _opened(self) -> Any:
        return PostgresVault(migrated_dsn(), connections=2, keyring=lasting_keyring(), sealed=True)
