"""Values for storage tests: messages, memories, vectors and the changes that write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from holdfast.domain import identifiers
from holdfast.domain.types import (
    Change,
    Floats,
    Item,
    Memory,
    Message,
    Vector,
)
from holdfast.text import passages

AT = datetime(2025, 3, 4, 12, tzinfo=UTC)
MODEL = "test/unit/8"


def message(content: str, *, session: str = "s", role: str = "user", **more: Any) -> Message:
    id = identifiers.message_id(session, role, content)
    return Message(id=id, session_id=session, role=role, content=content, **{"created_at": AT, **more})


def memory(content: str, *, kind: str = "fact", n: int = 0, **more: Any) -> Memory:
    at = AT + timedelta(seconds=n)
    id = identifiers.memory_id(at, kind, content, str(n))
    given = {"created_at": at, "updated_at": at, "summary": content[:80], **more}
    return Memory(id=id, kind=kind, content=content, **given)


def written(*items: Item, **more: Any) -> Change:
    """The change that adds these items with their words."""
    messages = tuple(item for item in items if isinstance(item, Message))
    memories = tuple(item for item in items if isinstance(item, Memory))
    parts = tuple(part for item in items for part in passages.index_parts(item))
    return Change(messages=messages, memories=memories, parts=parts, **more)


def unit(item: str, axis: int, number: int = 0, model: str = MODEL) -> Vector:
    """A vector along one axis, with a small component along the next."""
    return Vector(item, number, model, direction(axis))


def direction(axis: int) -> Floats:
    values = np.zeros(8, np.float32)
    values[axis % 8] = 0.8
    values[(axis + 1) % 8] = 0.6
    return values
