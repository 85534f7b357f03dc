"""Loads and writes the portable settings of a profile: those that its owner made, and the entity changes as one of
them."""

from __future__ import annotations

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.graph import EntityChange
from holdfast.domain.json_codec import decode, encode
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import is_portable_setting
from holdfast.domain.types import Json
from holdfast.lifecycle import retention, summaries

DECISIONS = "entity-changes"
_RIGHTS = {retention.SETTING: "forget", summaries.SETTING: "write", DECISIONS: "read"}
"""The right, beside `write`, that changes a setting through its own verb; a kind, and any other, needs `admin`."""


def needed_right(name: str) -> str:
    """The right that a caller must have for an archive to bring this setting."""
    return _RIGHTS.get(name, "admin")


async def load_settings(store: Store) -> dict[str, Json]:
    """The portable settings by name, without those that belong to the installation: caches, import marks, notes of
    originals."""
    held = {name: value for name, value in (await store.journal.settings()).items() if is_portable_setting(name)}
    decided = encode(await store.graph.changes())
    return held | ({DECISIONS: decided} if decided else {})


async def write_setting(store: Store, name: str, value: Json) -> None:
    """Write a setting and replace its earlier value; None removes it."""
    if name != DECISIONS:
        await store.journal.put_setting(name, value)
        return
    wanted = [_validated_entity_change(each) for each in value or ()]
    if wanted != await store.graph.changes():
        for change in await store.graph.changes():
            await store.graph.undo(change.id)
        for change in wanted:
            await store.graph.keep(change)


def _validated_entity_change(told: Json) -> EntityChange:
    try:
        found = decode(EntityChange, told)
        lists, texts = (found.names, found.memories), (found.id, found.entity, found.into, found.shown)
        sound = all(isinstance(each, str) for group in (*lists, texts) for each in group)
        if found.act not in ("merge", "split") or not sound or found.at.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError, AttributeError, KeyError):
        raise InvalidInput(f"{quoted_value(told)} is not a merge or split of entities.", field=DECISIONS) from None
    return found
