"""When a message without a timestamp was said: with the one before it, never "today" in the middle of old history.

Inside one ingest it takes the timestamp of the message before it, or of the first that has one. An ingest without any
carries on with its session where that is being brought in: its last message was told to be much older than its arrival,
and arrived just now. Else nobody knows better than the moment of arrival. Ids and repeated requests do not see this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from .ports import Store
from .types import Message

OLD = timedelta(days=1)
"""What is this much older than its arrival is history that somebody brings in."""
STILL_COMING = timedelta(minutes=10)
"""Batches of one import arrive at most this far apart."""
_LAST = 2**31


async def dated(store: Store, messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, each with the timestamp it was given or takes from others."""
    if all(message.timestamp for message in messages):
        return messages
    before = None
    if messages[0].timestamp is None:
        before = _going_on(await store.said(messages[0].session_id, before=_LAST, limit=1), messages[0].created_at)
    return carried(messages, before)


def carried(messages: Sequence[Message], before: datetime | None = None) -> list[Message]:
    """Each with the timestamp before it; those before the first with that one, unless `before` is known."""
    last = before or next((message.timestamp for message in messages if message.timestamp), None)
    made = []
    for message in messages:
        last = message.timestamp or last
        made.append(message if message.timestamp == last else replace(message, timestamp=last))
    return made


def _going_on(last: Sequence[Message], now: datetime) -> datetime | None:
    """When the session's last message was said, if the session is old history and still being brought in."""
    for message in last:
        old = message.timestamp is not None and message.created_at - message.timestamp >= OLD
        if old and now - message.created_at <= STILL_COMING:
            return message.timestamp
    return None
