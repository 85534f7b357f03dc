"""Port: retention rules, scheduled summaries and pins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.domain.reports import Retained
    from holdfast.domain.types import Json, Memory


class ProfileRetention(Protocol):
    """Retention rules, scheduled summaries and pins."""

    async def retention(self) -> Json:
        """Return the rules in force: the profile's own, or its namespace's; None when there are none."""
        ...

    async def set_retention(self, rules: Mapping[str, Json] | None) -> None:
        """Set the retention rules, as lifecycle/retention.py describes them; None falls back to the namespace's."""
        ...

    async def apply_retention(self, *, dry_run: bool = False) -> tuple[Retained, ...]:
        """Apply the rules now, as the worker does every hour; `dry_run` only reports what would be removed."""
        ...

    async def set_summaries(self, cadence: Json) -> None:
        """Set the schedule of summaries: "every 20 turns", "daily at 03:00" (UTC); "off" or None for no summaries.

        {"cadence": …, "of": "turn"} summarises memories of that kind instead of messages. See lifecycle/summaries.py.
        """
        ...

    async def pin(self, id: str) -> Memory:
        """Exempt a memory, and the messages it is based on, from retention."""
        ...

    async def unpin(self, id: str) -> Memory: ...
