"""Retention of one profile: rules, scheduled summaries, pins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.domain import limits
from holdfast.domain.arguments import json_text
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.ports.profile.retention import ProfileRetention
from holdfast.domain.tracing import note
from holdfast.domain.types import Json, Memory
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.domain.reports import Retained
    from holdfast.service.profile.local import LocalProfile


class RetentionVerbs(ProfileVerbs, ProfileRetention):
    """Retention rules, summaries on a schedule, and pins."""

    async def retention(self) -> Json:
        from holdfast.lifecycle import retention

        return (await self._context.settings()).get(retention.SETTING)

    @traced
    async def set_retention(self, rules: Mapping[str, Json] | None) -> None:
        from holdfast.lifecycle import retention

        self._context.check_whole("Retention")
        checked = None if rules is None else _validate_object(rules, "retention")
        retention.parse_policy(checked)
        store = await self._context.writable_store()
        await store.journal.put_setting(retention.SETTING, checked)
        self._context.invalidate_settings()

    @traced
    async def apply_retention(self, *, dry_run: bool = False) -> tuple[Retained, ...]:
        from holdfast.lifecycle import retention

        self._context.check_dry_run(dry_run)
        store = await self._context.store()
        rules = await self.retention()
        async with self._context.erasing(dry_run):
            done = await retention.apply_policy(store, rules, self._context.now(), dry_run=dry_run)
        note(rehearsed=dry_run, memories=sum(each.memories for each in done), messages=sum(e.messages for e in done))
        return tuple(done)

    @traced
    async def set_summaries(self, cadence: Json) -> None:
        from holdfast.lifecycle import summaries

        self._context.check_whole("The schedule of summaries")
        summaries.parse_cadence(cadence)
        store = await self._context.writable_store()
        await store.journal.put_setting(summaries.SETTING, cadence)
        self._context.invalidate_settings()

    async def pin(self: LocalProfile, id: str) -> Memory:  # type: ignore[misc]
        from holdfast.lifecycle import retention

        return await self.revise(id, metadata={retention.PINNED_FIELD: True})

    async def unpin(self: LocalProfile, id: str) -> Memory:  # type: ignore[misc]
        from holdfast.lifecycle import retention

        return await self.revise(id, metadata={retention.PINNED_FIELD: None})


def _validate_object(value: Any, name: str) -> Json:
    import json

    try:
        return json.loads(json_text(dict(value), name, limit=limits.MAX_SETTING_BYTES))
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"{name} is {quoted_value(value)}; give an object.", field=name) from bad
