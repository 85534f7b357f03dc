"""How good a profile's memory is: what is there twice, contradicts itself, is over, lost its ground, or is no memory.

Every finding has a fix, which is an edit like any other and can be undone: what is there twice or contradicts itself is
merged, and what should not be there expires in a week.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from . import names, passages, quality
from .curate import Curating, Step, best
from .errors import InvalidInput, shown
from .inventory import batched
from .remember import BY_HAND
from .results import Audit, Edited, Finding
from .retention import PINNED
from .types import SECOND_HAND, Memory, Message

MOST = 100_000
STALE = timedelta(days=30)
GRACE = timedelta(days=7)
FIXES = ("duplicates", "contradictions", "stale-tasks", "orphans", "junk")
Group = Sequence[Memory]


async def audit(curating: Curating, fix: str | None, examples: int) -> Audit:
    """What is found, and what was done about one of the findings."""
    if fix is not None and fix not in FIXES:
        raise InvalidInput(f"fix is {shown(fix)}; use one of {', '.join(FIXES)}.", field="fix")
    page = await curating.store.scan(None, now=curating.now, limit=MOST)
    found = await groups(curating, page.items)
    findings = tuple(_finding(name, found[name], len(page), examples) for name in FIXES)
    fixed = None if fix is None else await _fixed(curating, fix, found[fix])
    return Audit(len(page), findings, fixed)


async def groups(curating: Curating, memories: Group) -> dict[str, list[list[Memory]]]:
    """What each finding is about, in groups that belong together."""
    alike, clashing = await asyncio.to_thread(_compared, memories)  # seconds, for tens of thousands
    own = [memory for memory in memories if not memory.metadata.get(PINNED) and memory.expires_at is None]
    junk = [memory for memory in own if quality.junk(memory)]
    return {
        "duplicates": alike,
        "contradictions": clashing,
        "stale-tasks": [[memory] for memory in await _stale(curating, own)],
        "orphans": [[memory] for memory in await _orphans(curating, memories)],
        "junk": [[memory] for memory in junk],
    }


def _compared(memories: Group) -> tuple[list[list[Memory]], list[list[Memory]]]:
    alike = quality.duplicates(memories)
    told = {memory.id for group in alike for memory in group}
    return alike, quality.contradictions([memory for memory in memories if memory.id not in told])


async def _stale(curating: Curating, memories: Group) -> list[Memory]:
    """Tasks that nobody has spoken of for a month, of conversations that are over, or whose day has passed."""
    last = await curating.store.said(None, before=2**62, limit=1)
    running = last[0].session_id if last else None
    found = []
    for memory in memories:
        due = memory.occurred_until or memory.occurred_at
        passed = due is not None and due < curating.now - GRACE
        left = memory.updated_at < curating.now - STALE and memory.session_id != running
        if memory.kind == "task" and (passed or (due is None and left)):
            found.append(memory)
    return found


async def _orphans(curating: Curating, memories: Group) -> list[Memory]:
    """What names messages that are gone, was drawn from something and names nothing, or is not in the index."""
    found: list[Memory] = []
    for ids in batched(memory.id for memory in memories):
        indexed = {part.item for part, _ in await curating.store.indexed(ids)}
        some = [item for item in await curating.store.get(ids) if isinstance(item, Memory)]
        said = await curating.store.get([source for memory in some for source in memory.sources])
        there = {item.id for item in said if isinstance(item, Message)}
        for memory in some:
            if not there.issuperset(memory.sources) or _groundless(memory) or memory.id not in indexed:
                found.append(memory)
    return found


def _finding(name: str, found: list[list[Memory]], total: int, examples: int) -> Finding:
    count = sum(len(group) for group in found)
    shown_ones = found[:examples]
    return Finding(
        name, count, round(count / total, 4) if total else 0.0,
        tuple(tuple(memory.id for memory in group[:5]) for group in shown_ones),
        tuple(" | ".join(memory.content[:120] for memory in group[:5]) for group in shown_ones),
        f"holdfast audit --fix {name}",
    )  # fmt: skip


async def _fixed(curating: Curating, name: str, found: list[list[Memory]]) -> Edited:
    if name in ("duplicates", "contradictions"):
        return await curating.write([await _merged(curating, name, group) for group in found], f"audit {name}")
    every = [memory for group in found for memory in group]
    kept = [memory for memory in every if not _groundless(memory)] if name == "orphans" else []
    going: dict[str, Any] = {"expires_at": curating.now + GRACE}
    steps = await curating.revisions([memory for memory in every if memory not in kept], going)
    return await curating.write([*steps, *[await _grounded(curating, each) for each in kept]], f"audit {name}")


async def _merged(curating: Curating, name: str, group: Group) -> Step:
    """Of what says the same, the best stays; of what contradicts itself, the newest that somebody said themselves."""
    own = [memory for memory in group if memory.trust not in SECOND_HAND]
    lead = best(group) if name == "duplicates" else max(own or group, key=lambda memory: (memory.updated_at, memory.id))
    return await curating.merged(group, {}, lead)


def _groundless(memory: Memory) -> bool:
    """Whether it was drawn from something, and nothing is left of that."""
    return not memory.sources and not memory.extractor.startswith(BY_HAND) and memory.trust in SECOND_HAND


async def _grounded(curating: Curating, memory: Memory) -> Step:
    """The same again, in the index, and resting on what is there."""
    there = {item.id for item in await curating.store.get(memory.sources)}
    sources = tuple(source for source in memory.sources if source in there)
    about = {"id": names.memory_id(curating.now), "updated_at": curating.now, "version": memory.version + 1}
    new = replace(memory, **about, sources=sources)  # type: ignore[arg-type]
    return Step((new,), (memory,), passages.parts(new))
