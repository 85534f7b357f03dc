"""Conversations full of repetitions come back from `messages` exactly, however they are sent."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import AsyncHoldfast
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.example_counts import example_count
from support.postgres import migrated_dsn

START = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = ("yes", "ok", "I ran 5k today", "no")
Row = dict[str, Any]
rows = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(WORDS), st.sampled_from([None, "Ana"])),
    min_size=1,
    max_size=14,
)
quick = settings(
    max_examples=example_count(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def conversation(said: list[tuple[str, str, str | None]], *, timestamps: bool) -> list[Row]:
    return [
        {"role": role, "content": words}
        | ({} if speaker is None else {"speaker": speaker})
        | ({"timestamp": (START + timedelta(minutes=n)).isoformat()} if timestamps else {})
        for n, (role, words, speaker) in enumerate(said)
    ]


def windows(whole: list[Row], size: int, step: int) -> list[list[Row]]:
    starts = range(0, max(len(whole) - size, 0) + step, step)
    return [whole[n : n + size] for n in starts if whole[n : n + size]]


def has_distinct_pairs(whole: list[Row]) -> bool:
    """Whether two messages in a row tell where in the conversation they stand."""
    pairs = [(str(one), str(two)) for one, two in pairwise(whole)]
    return len(set(pairs)) == len(pairs)


class Sender:
    """A profile in one backend, and the sessions that are sent to it."""

    def __init__(self, backend: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.backend, self.folder = backend, tempfile.TemporaryDirectory()
        self.space = f"m{uuid.uuid4().hex[:12]}"
        self.open()
        self.run(self.holdfast.create_namespace(self.space))

    def open(self) -> None:
        vault: Any = MemoryVault()
        if self.backend == "files":
            vault = SqliteVault(Path(self.folder.name))
        elif self.backend == "database":
            vault = self.run(self._database())
        self.holdfast = AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({}), FrozenClock())
        self.run(self.holdfast.start())
        self.profile = self.holdfast.profile(self.space, "p")

    async def _database(self) -> Any:
        return PostgresVault(migrated_dsn(), connections=4)

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def send(self, session: str, batch: list[Row], **more: Any) -> None:
        receipt = await self.profile.ingest(batch, session_id=session, **more)
        assert len(receipt.messages) == len(batch)

    async def said(self, session: str) -> list[Row]:
        found = await self.profile.messages(session_id=session)
        return [
            {"role": each.role, "content": each.content} | ({"speaker": each.speaker} if each.speaker else {})
            for each in found
        ]

    def close(self) -> None:
        self.run(self.holdfast.delete_namespace(self.space))
        self.run(self.holdfast.close())
        self.loop.close()
        self.folder.cleanup()


@pytest.fixture(scope="module", params=["memory", "files", "database"])
def sender(request: pytest.FixtureRequest) -> Any:
    opened = Sender(request.param)
    yield opened
    opened.close()


def check(sender: Sender, whole: list[Row], *sent: list[Row], parallel: bool = False, keys: bool = False) -> None:
    """Send these batches, each twice in a row, and compare what the session has then."""
    session = uuid.uuid4().hex
    sender.profile = sender.holdfast.profile(sender.space, session)

    async def act() -> None:
        def named(n: int) -> dict[str, str]:
            return {"idempotency_key": f"{session}-{n}"} if keys else {}

        if parallel:
            await asyncio.gather(*[sender.send(session, batch, **named(n)) for n, batch in enumerate(sent)] * 2)
        else:
            for n, batch in enumerate(sent):
                await sender.send(session, batch, **named(n))
                await sender.send(session, batch, **named(n))
        plain = [{name: value for name, value in row.items() if name != "timestamp"} for row in whole]
        assert await sender.said(session) == plain

    sender.run(act())


@quick
@given(said=rows)
def test_sent_whole_or_growing(sender: Sender, said: list[Any]) -> None:
    whole = conversation(said, timestamps=False)
    check(sender, whole, whole)
    check(sender, whole, *[whole[: n + 1] for n in range(len(whole))])
    check(sender, whole, whole, whole, parallel=True)


@quick
@given(said=rows)
def test_sent_turn_by_turn(sender: Sender, said: list[Any]) -> None:
    whole = conversation(said, timestamps=False)
    check(sender, whole, *[[row] for row in whole], keys=True)
    changing = [row for n, row in enumerate(whole) if n == 0 or row != whole[n - 1]]
    check(sender, changing, *[[row] for row in changing])


@quick
@given(said=rows.filter(lambda said: has_distinct_pairs(conversation(said, timestamps=False))), size=st.integers(3, 6))
def test_sent_in_overlapping_windows(sender: Sender, said: list[Any], size: int) -> None:
    whole = conversation(said, timestamps=False)
    check(sender, whole, *windows(whole, size, size - 2))
    check(sender, whole, *windows(whole, size, 1))


@quick
@given(said=rows, size=st.integers(1, 6), order=st.randoms(use_true_random=False))
def test_with_timestamps_any_windows_in_any_order(sender: Sender, said: list[Any], size: int, order: Any) -> None:
    whole = conversation(said, timestamps=True)
    sent = [*windows(whole, size, max(size - 1, 1)), *windows(whole, size, size)]
    order.shuffle(sent)
    check(sender, whole, *sent)
    check(sender, whole, *sent, parallel=True)


def test_an_archive_keeps_the_order_of_messages_that_came_late(sender: Sender, tmp_path: Path) -> None:
    whole = conversation([("user", words, None) for words in ("a", "b", "a", "c")], timestamps=True)
    session = uuid.uuid4().hex

    async def act() -> None:
        await sender.send(session, whole[2:])
        await sender.send(session, whole[:2])
        await sender.profile.settle()
        await sender.profile.export_to(tmp_path / "archive.jsonl")
        copy = sender.holdfast.profile(sender.space, f"copy-{session}")
        await copy.import_from(tmp_path / "archive.jsonl")
        assert [each.content for each in await copy.messages(session_id=session)] == ["a", "b", "a", "c"]

    sender.run(act())
