"""Ingest when another writer sends the same messages between its reads and its write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from holdfast.domain.timestamps import now
from holdfast.domain.types import Change
from holdfast.ingest.messages import ingest, validate_messages
from holdfast.storage.in_memory import MemoryVault

SAID = [{"role": "user", "content": f"said {n}"} for n in range(5)]


class InterruptedStore:
    """A store in which another writer writes the same batch just before the nth read or write."""

    def __init__(self, store: Any, before: int) -> None:
        self._store, self._calls_left = store, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def get(self, ids: Iterable[str]) -> Any:
        await self._count_call()
        return await self._store.get(ids)

    async def messages(self, *given: Any, **named: Any) -> Any:
        await self._count_call()
        return await self._store.messages(*given, **named)

    async def apply(self, change: Change) -> Any:
        await self._count_call()
        return await self._store.apply(change)

    async def _count_call(self) -> None:
        self._calls_left -= 1
        if self._calls_left == 0:
            await ingest(self._store, batch())


def batch(size: int = len(SAID)) -> Any:
    return validate_messages(SAID[-size:], session_id="s", now=now())


async def new_store() -> Any:
    vault = MemoryVault()
    await vault.create_namespace("app")
    return await vault.open("app", "ana", create=True)


@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 5])
async def test_the_same_messages_written_meanwhile_are_kept_once(before: int, size: int) -> None:
    store = await new_store()
    await ingest(InterruptedStore(store, before), batch(size))  # type: ignore[arg-type]
    assert [message.content for message in await store.messages("s")] == [each["content"] for each in SAID]


@pytest.mark.parametrize("before", [1, 2, 3, 4])
async def test_a_conversation_sent_again_with_more_is_kept_once_if_another_writes_it_meanwhile(before: int) -> None:
    store = await new_store()
    await ingest(store, validate_messages(SAID[:2], session_id="s", now=now()))
    await ingest(InterruptedStore(store, before), batch())  # type: ignore[arg-type]
    assert [message.content for message in await store.messages("s")] == [each["content"] for each in SAID]


async def test_an_older_message_sent_alone_again_is_a_repetition() -> None:
    store = await new_store()
    for n in (0, 1, 0):
        await ingest(store, validate_messages([SAID[n]], session_id="s", now=now()))
    assert [message.content for message in await store.messages("s")] == ["said 0", "said 1", "said 0"]
