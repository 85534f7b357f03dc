"""Finds the memories that say what a forgotten one says, in the same words of the same message, and what is left of
them.

One sentence often gives two memories: "Dr upped the metformin." and a quotation of all that was said with it. Whoever
forgets one does not want the other to answer. A memory that only shares words with the forgotten one stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.filters import keyless
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory, Message, Test
from holdfast.ingest.reconcile.remainder import PartialEnding, remaining_memories
from holdfast.storage.inventory import batched
from holdfast.storage.summary_cover import SUMMARY_KIND
from holdfast.text.content_words import content_words
from holdfast.text.shortening import shared_clauses
from holdfast.text.statement_parts import part_spans


@dataclass(frozen=True, slots=True)
class RepeatedStatements:
    """What goes because it says what a forgotten memory says."""

    gone: tuple[Memory, ...] = ()
    left: tuple[Memory, ...] = ()
    """What those of them that are current say beyond that, as new memories."""


async def find_repeated(store: Store, forgotten: Sequence[Memory], now: datetime) -> RepeatedStatements:
    """What says the same as these versions in a message that both rest on. What also rests on a message of its own that
    says the same stays."""
    own = {memory.ref for memory in forgotten}
    stating = [memory for memory in forgotten if memory.kind != SUMMARY_KIND]
    clauses: dict[str, list[str]] = {}
    others: dict[str, Memory] = {}
    said: dict[str, Message] = {}
    for ids in batched(dict.fromkeys(source for memory in stating for source in memory.sources)):
        resting = [each for each in await store.resting_on(ids) if each.ref not in own and each.kind != SUMMARY_KIND]
        messages = await _load_messages(store, [*ids, *(source for each in resting for source in each.sources)])
        said |= messages
        for other in resting:
            shared = await asyncio.to_thread(_shared_clauses, other, stating, messages) if messages else None
            if shared:
                others[other.ref] = other
                clauses.setdefault(other.ref, []).extend(shared)
    made = [each for ref, other in others.items() for each in _left_of(other, clauses[ref], said, now)]
    return RepeatedStatements(tuple(others.values()), tuple(await _without_known(store, made, {*own, *others})))


async def _load_messages(store: Store, ids: Sequence[str]) -> dict[str, Message]:
    found = await store.get(list(dict.fromkeys(ids)))
    return {item.id: item for item in found if isinstance(item, Message)}


def _shared_clauses(other: Memory, forgotten: Sequence[Memory], messages: Mapping[str, Message]) -> list[str]:
    """The clauses that a memory tells as a forgotten one does; none when a message of its own tells them too."""
    found: list[str] = []
    for memory in forgotten:
        around = " ".join(_said(messages[id]) for id in {*memory.sources, *other.sources} if id in messages)
        shared = {
            id: shared_clauses(messages[id].content, memory.content, other.content, around)
            for id in other.sources
            if id in messages
        }
        if not any(clauses for id, clauses in shared.items() if id not in memory.sources):
            found += [clause for clauses in shared.values() for clause in clauses]
    return found


def _said(message: Message) -> str:
    return f"{message.speaker or ''} {message.content}"


def _left_of(memory: Memory, clauses: Sequence[str], said: Mapping[str, Message], now: datetime) -> list[Memory]:
    """What a current memory says beyond some clauses."""
    if not memory.current:
        return []
    lost = _stems(" ".join(clauses))
    gone = tuple(span for span in part_spans(memory.content) if _stems(memory.content[slice(*span)]) & lost)
    return remaining_memories(memory, [PartialEnding("", gone)], said, now) if gone else []


async def _without_known(store: Store, made: Sequence[Memory], gone: Collection[str]) -> list[Memory]:
    """Without what a memory that stays says already; each once."""
    wanted = {memory.fingerprint: memory for memory in made}
    if not wanted:
        return []
    page = await store.scan(keyless(Test("fingerprint", "in", tuple(wanted))), now=None, limit=10_000)
    known = {each.fingerprint for each in page.items if each.ref not in gone}
    return [memory for mark, memory in wanted.items() if mark not in known]


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}
