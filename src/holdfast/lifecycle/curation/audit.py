"""Audits the quality of a profile's memories: duplicates, contradictions, stale tasks, orphans, junk, unproved ones and
secrets.

Every finding has a fix, which is an edit like any other and can be undone: duplicates and contradictions are merged,
what its messages do not prove is quoted from them, secrets are redacted, and what should not be there expires
in a week.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from holdfast.domain import identifiers
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.reports import Audit, Finding
from holdfast.domain.results import Edited
from holdfast.domain.types import SECOND_HAND_TRUST, Memory, Message
from holdfast.ingest.remember import MANUAL_EXTRACTOR
from holdfast.lifecycle.curation import quality
from holdfast.lifecycle.curation.edit import Curator, Replacement, best_memory
from holdfast.lifecycle.curation.faults import find_faults, load_cited, quoted_memory
from holdfast.lifecycle.retention import PINNED_FIELD
from holdfast.storage.inventory import batched
from holdfast.text import passages
from holdfast.text.redaction import redacted_text

# These limits were chosen by hand; none was measured.
MAX_MEMORIES = 100_000
"""How many memories an audit reads."""
STALE_TASK_AGE = timedelta(days=30)
"""A task that was not mentioned for this long is stale."""
GRACE_PERIOD = timedelta(days=7)
"""A fix lets memories expire after this time; a task may be overdue for as long."""
FINDING_NAMES = ("duplicates", "contradictions", "stale-tasks", "orphans", "junk", "unproved", "secrets")
Group = Sequence[Memory]


async def audit(curating: Curator, fix: str | None, examples: int) -> Audit:
    """Find what is wrong, and fix one kind of finding if asked."""
    if fix is not None and fix not in FINDING_NAMES:
        raise InvalidInput(f"fix is {quoted_value(fix)}; use one of {', '.join(FINDING_NAMES)}.", field="fix")
    page = await curating.store.scan(None, now=curating.now, limit=MAX_MEMORIES)
    found = await find_groups(curating, page.items)
    findings = tuple(_finding(name, found[name], len(page), examples) for name in FINDING_NAMES)
    fixed = None if fix is None else await _fix(curating, fix, found[fix])
    return Audit(len(page), findings, fixed)


async def find_groups(curating: Curator, memories: Group) -> dict[str, list[list[Memory]]]:
    """Name of a finding → the groups of memories that it is about."""
    alike, clashing = await asyncio.to_thread(
        _duplicates_and_contradictions, memories
    )  # takes seconds for tens of thousands
    own = [memory for memory in memories if not memory.metadata.get(PINNED_FIELD) and memory.expires_at is None]
    junk = [memory for memory in own if quality.is_junk(memory)]
    faults = await find_faults(curating.store, memories)
    return {
        "duplicates": alike,
        "contradictions": clashing,
        "stale-tasks": [[memory] for memory in await _find_stale_tasks(curating, own)],
        "orphans": [[memory] for memory in await _find_orphans(curating, memories)],
        "junk": [[memory] for memory in junk],
        "unproved": [[memory] for memory in faults.unproved],
        "secrets": [[memory] for memory in faults.secrets],
    }


def _duplicates_and_contradictions(memories: Group) -> tuple[list[list[Memory]], list[list[Memory]]]:
    alike = quality.duplicates(memories)
    grouped = {memory.id for group in alike for memory in group}
    return alike, quality.contradictions([memory for memory in memories if memory.id not in grouped])


async def _find_stale_tasks(curating: Curator, memories: Group) -> list[Memory]:
    """Find tasks whose day has passed, or that were not mentioned for a month outside the running session."""
    last = await curating.store.messages(None, before=2**62, limit=1)
    running = last[0].session_id if last else None
    found = []
    for memory in memories:
        due = memory.occurred_until or memory.occurred_at
        passed = due is not None and due < curating.now - GRACE_PERIOD
        left = memory.updated_at < curating.now - STALE_TASK_AGE and memory.session_id != running
        if memory.kind == "task" and (passed or (due is None and left)):
            found.append(memory)
    return found


async def _find_orphans(curating: Curator, memories: Group) -> list[Memory]:
    """Find memories whose messages are missing, that lost their sources, or that are not in the index."""
    found: list[Memory] = []
    for ids in batched(memory.ref for memory in memories):
        indexed = {part.item for part, _ in await curating.store.indexed(ids)}
        some = [item for item in await curating.store.get(ids) if isinstance(item, Memory)]
        said = await curating.store.get([source for memory in some for source in memory.sources])
        there = {item.id for item in said if isinstance(item, Message)}
        for memory in some:
            if not there.issuperset(memory.sources) or _is_groundless(memory) or memory.ref not in indexed:
                found.append(memory)
    return found


def _finding(name: str, found: list[list[Memory]], total: int, examples: int) -> Finding:
    count = sum(len(group) for group in found)
    shown_ones = found[:examples]
    return Finding(
        name, count, round(count / total, 4) if total else 0.0,
        tuple(tuple(memory.id for memory in group[:5]) for group in shown_ones),
        tuple(" | ".join(redacted_text(memory.content)[:120] for memory in group[:5]) for group in shown_ones),
        f"holdfast audit --fix {name}",
    )  # fmt: skip


async def _fix(curating: Curator, name: str, found: list[list[Memory]]) -> Edited:
    if name in ("duplicates", "contradictions"):
        return await curating.write([await _merge_group(curating, name, group) for group in found], f"audit {name}")
    every = [memory for group in found for memory in group]
    if name in ("unproved", "secrets"):
        return await curating.write(await _reworded(curating, name, every), f"audit {name}")
    kept = [memory for memory in every if not _is_groundless(memory)] if name == "orphans" else []
    going: dict[str, Any] = {"expires_at": curating.now + GRACE_PERIOD}
    steps = await curating.revisions([memory for memory in every if memory not in kept], going)
    return await curating.write([*steps, *[await _restore_sources(curating, each) for each in kept]], f"audit {name}")


async def _merge_group(curating: Curator, name: str, group: Group) -> Replacement:
    """Merge a group: of duplicates the best stays; of contradictions the newest that a person said."""
    own = [memory for memory in group if memory.trust not in SECOND_HAND_TRUST]
    lead = (
        best_memory(group)
        if name == "duplicates"
        else max(own or group, key=lambda memory: (memory.updated_at, memory.id))
    )
    return await curating.merge_replacement(group, {}, lead)


async def _reworded(curating: Curator, name: str, memories: Group) -> list[Replacement]:
    """The memories without their secrets, or quoted from their messages; what cannot be quoted expires."""
    cited = await load_cited(curating.store, memories) if name == "unproved" else {}
    steps: list[Replacement] = []
    for memory in memories:
        text = redacted_text(memory.content) if name == "secrets" else quoted_memory(memory, cited)
        change = {"expires_at": curating.now + GRACE_PERIOD} if text is None else {"content": text}
        steps += await curating.revisions([memory], change)
    return steps


def _is_groundless(memory: Memory) -> bool:
    """Whether it was extracted from a document or a tool and none of its sources is left."""
    return (
        not memory.sources and not memory.extractor.startswith(MANUAL_EXTRACTOR) and memory.trust in SECOND_HAND_TRUST
    )


async def _restore_sources(curating: Curator, memory: Memory) -> Replacement:
    """Rewrite a memory so that it is in the index and rests only on messages that exist."""
    there = {item.id for item in await curating.store.get(memory.sources)}
    sources = tuple(source for source in memory.sources if source in there)
    about = {"id": identifiers.memory_id(curating.now), "updated_at": curating.now, "version": memory.version + 1}
    new = replace(memory, **about, sources=sources)  # type: ignore[arg-type]
    return Replacement((new,), (memory,), passages.index_parts(new))
