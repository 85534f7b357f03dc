"""How long one profile keeps what it has: retention, pins, and what its owner lays down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import retention, rollup
from .errors import InvalidInput, shown
from .ingest import json_text
from .recorder import traced
from .reported import Reported
from .retention import Retained
from .trail import note
from .types import Json, Memory

if TYPE_CHECKING:
    from .profile import LocalProfile

SETTING_BYTES = 65_536


class Kept(Reported):
    """A profile of this process's data folder, as far as it is about keeping."""

    async def retention(self) -> Json:
        """The rules that hold here: the profile's own, or its namespace's; None when there are none."""
        return (await self._holdfast._laid_down(self._who)).get(retention.SETTING)

    @traced
    async def set_retention(self, rules: Mapping[str, Json] | None) -> None:
        """Lay down what may be kept for how long; None leaves it to the namespace. See retention.py for the rules."""
        checked = None if rules is None else _json(rules, "retention")
        retention.policy(checked)
        store = await self._written_to()
        await store.journal.lay_down(retention.SETTING, checked)
        self._holdfast._forget_laid_down(self._who)

    @traced
    async def apply_retention(self, *, dry_run: bool = False) -> tuple[Retained, ...]:
        """Do now what the rules say, as the worker does every hour; with `dry_run` only tell what would go."""
        store = await self._store()
        done = await retention.applied(store, await self.retention(), self._holdfast._clock(), dry_run=dry_run)
        note(rehearsed=dry_run, memories=sum(each.memories for each in done), messages=sum(e.messages for e in done))
        return tuple(done)

    @traced
    async def set_summaries(self, cadence: Json) -> None:
        """Roll up what is said: "every 20 turns", "daily at 03:00" (UTC), or "off" or None not to.

        {"cadence": …, "of": "turn"} rolls up memories of that kind instead of messages. See rollup.py.
        """
        rollup.cadence(cadence)
        store = await self._written_to()
        await store.journal.lay_down(rollup.SETTING, cadence)
        self._holdfast._forget_laid_down(self._who)

    async def pin(self: LocalProfile, id: str) -> Memory:  # type: ignore[misc]
        """Retention leaves it, and what it rests on."""
        return await self.revise(id, metadata={retention.PINNED: True})

    async def unpin(self: LocalProfile, id: str) -> Memory:  # type: ignore[misc]
        return await self.revise(id, metadata={retention.PINNED: None})


def _json(value: Any, name: str) -> Json:
    import json

    try:
        return json.loads(json_text(dict(value), name, limit=SETTING_BYTES))
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"{name} is {shown(value)}; give an object.", field=name) from bad
