"""What callers may give to the verbs of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from .types import Json

Kinds = str | Sequence[str]
Moment = datetime | str | float


class Narrowed(TypedDict, total=False):
    """What search, recall, context and list may be narrowed to; everything given must hold."""

    kind: Kinds | None
    key: str | None
    key_prefix: str | None
    session_id: str | None
    agent: str | None
    since: Moment | None
    until: Moment | None
    filter: Mapping[str, Any] | None
    """Conditions on any field and on metadata: see filters.py."""


class Revision(TypedDict, total=False):
    """What `revise` may change."""

    content: str
    kind: str
    key: str | None
    value: Json
    metadata: Mapping[str, Json]
    trust: str
    occurred_at: Moment | None
    expires_at: Moment | None
    ttl: float | timedelta | None
