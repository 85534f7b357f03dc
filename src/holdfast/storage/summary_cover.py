"""Finds the summaries that cover given items: a summary must not outlive what it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import All, Item, Memory, Test

SUMMARY_KIND = "summary"
SUMMARY_EXTRACTOR = "rollup/1"
"""The extractor name and version of roll-up summaries."""
COVERED_FIELD = "covers"
"""The metadata field of a roll-up of memories that lists them, by reference; 0.1.0 listed their draft ids."""


def covered_ids(memory: Memory) -> list[str]:
    """The memories that a roll-up was made from; callers may write anything into metadata."""
    ids = memory.metadata.get(COVERED_FIELD)
    return list(map(str, ids)) if isinstance(ids, list) else []


async def find_covering_summaries(store: Store, messages: Sequence[str], memories: Sequence[str]) -> list[str]:
    """The ids of summaries of any of these items, given by id or reference. They are forgotten with them, since they
    repeat their content."""
    found = await store.resting_on(messages) if messages else []
    ids = {memory.id for memory in found if memory.extractor.startswith(SUMMARY_EXTRACTOR)}
    if memories:
        rolled = All((Test("kind", "eq", SUMMARY_KIND), Test(f"metadata.{COVERED_FIELD}", "exists", True)))
        page = await store.scan(rolled, now=None, limit=2**31)
        names = await _version_names(store, memories) if page.items else set()
        ids |= {memory.id for memory in page if not names.isdisjoint(covered_ids(memory))}
    return sorted(ids)


async def _version_names(store: Store, references: Sequence[str]) -> set[str]:
    """Every name of the versions that these references name; an id stands for all versions of its memory."""
    versions = [item for item in await store.get(references) if isinstance(item, Memory)]
    for id in {version.id for version in versions if version.ref not in references}:
        versions += [version for version in await store.history(id) if version.id == id]
    return {name for version in versions for name in (version.ref, version.draft_id)}


async def load_made_from(store: Store, names: Sequence[str]) -> dict[str, Item]:
    """Load what memories were made from: messages by id, memories by reference or by the id they were drafted with."""
    found: dict[str, Item] = {item.ref: item for item in await store.get(names)}
    for name in names:
        if name not in found:
            found.update((name, version) for version in await store.history(name) if version.draft_id == name)
    return found
