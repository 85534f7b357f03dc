"""Turns drafts and known memories into one Change. Pure: no I/O, no clock, no model.

A draft whose key has a current memory becomes the next version of it, under its id, with three exceptions: the draft
says the same (then its message is added as a source), it was said earlier (an old conversation imported late), or it
comes from a document or a tool while the current memory comes from the user. A draft without a key, or with a key that
no memory has, is a duplicate of a known memory that says the same. What people said themselves supersedes what a
document or a tool says, regardless of time and even in the same words; and documents and tools never become sources of
what people said. So the outcome does not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.domain import identifiers
from holdfast.domain.types import (
    SECOND_HAND_TRUST,
    Change,
    Draft,
    Floats,
    Memory,
    Message,
    Supersede,
    fingerprint,
)
from holdfast.ingest.reconcile.remainder import PartialEnding, remaining_memories
from holdfast.text import passages
from holdfast.text.similarity import restates
from holdfast.text.statement_parts import Span
from holdfast.text.task_completion import finishes


@dataclass
class KnownMemories:
    """The memories that the drafts may affect, and how they relate."""

    heads: dict[tuple[str, str], Memory] = field(default_factory=dict)
    """(kind, key) → the current memory."""
    equivalents: dict[str, Memory] = field(default_factory=dict)
    """Fingerprint → a current memory that says the same: in the same words and without a key, or in other words. Here
    and in `outdated`, it may be the memory that an earlier draft becomes."""
    outdated: dict[str, Memory] = field(default_factory=dict)
    """Fingerprint of a draft → the current memory that it supersedes, whatever its key."""
    gone: dict[str, tuple[Memory, ...]] = field(default_factory=dict)
    """Fingerprint of a draft → the current memories that rest on what it says is gone."""
    sources: dict[str, Message] = field(default_factory=dict)
    """Message id → the message, for the sources of memories that end in part."""
    ended_parts: dict[tuple[str, str], tuple[Span, ...]] = field(default_factory=dict)
    """(Fingerprint of a draft, draft id of the memory that it supersedes) → the parts of that memory that it ends;
    the other parts stay true."""
    keyless: set[str] = field(default_factory=set)
    """Fingerprints of drafts that lose their key because they are valid alongside the memory that has it."""
    said_at: dict[str, datetime] = field(default_factory=dict)
    """Message id → when it was said, for the sources of the heads and of the drafts."""
    vectors: dict[str, Floats] = field(default_factory=dict)
    """What a draft says → its vector, where it was embedded."""

    def ended_wholly(self) -> set[str]:
        """The ids of the memories of which no part stays."""
        several = ((mark, memory) for mark, some in self.gone.items() for memory in some)
        ended = [*self.outdated.items(), *several]
        return {memory.id for mark, memory in ended if not self.ended_parts.get((mark, memory.draft_id))}

    def keeps(self, draft: Draft, memory: Memory) -> bool:
        """Whether a draft becomes a memory: a tentative one does if it ends another."""
        return not draft.tentative or memory.fingerprint in {*self.outdated, *self.gone}

    def ending_by(self, memory: Memory, old: Memory) -> PartialEnding:
        """What the memory ends of an old one."""
        return PartialEnding(memory.content, self.ended_parts.get((memory.fingerprint, old.draft_id), ()))


def reconcile(
    drafts: Sequence[Draft], known: KnownMemories, messages: Mapping[str, Message], *, now: datetime, extractor: str
) -> Change:
    """Build the change that writes the drafts. `messages` contains every message that they may rest on, by id."""
    memories: list[Memory] = []
    supersede: list[Supersede] = []
    sources: list[tuple[str, str]] = []
    heads, equivalents = dict(known.heads), dict(known.equivalents)
    replaced: dict[str, Memory] = {}
    ended: dict[str, list[PartialEnding]] = {}
    keyed = [
        replace(draft, key=None) if fingerprint(draft.kind, draft.content) in known.keyless else draft
        for draft in drafts
    ]
    new = [memory_from_draft(draft, messages, now=now, extractor=extractor) for draft in keyed]
    became: dict[str, Memory | None] = {memory.id: None for memory in new}
    """Id of a draft's memory → the memory written for it: itself, or one that says the same; None
    when there is none (yet)."""
    for draft, memory in (pair for pair in zip(keyed, new, strict=True) if known.keeps(*pair)):
        mark, id = memory.fingerprint, memory.id
        pair = (equivalents.get(mark), known.outdated.get(mark))
        same, old = (each and became.get(each.draft_id, each) for each in pair)
        found = (heads.get((memory.kind, memory.key or "")), same, old, _finished_task(draft, messages, memories))
        head = next((each for each in found if each is not None and each.ref not in replaced), None)
        for each in found:
            if each is not None and each.ref in replaced:
                ended[each.ref].append(known.ending_by(memory, each))
        if head is not None and (head is same or head.fingerprint == mark or restates(draft, head)):
            if _is_first_hand(head) or not _is_first_hand(memory):
                sources += [
                    (head.ref, source) for source in memory.sources if _is_first_hand(head) == _is_first_hand(memory)
                ]
                became[id] = head
                continue
        elif head is not None and not _may_supersede(memory, head, known.said_at):
            continue
        if head is not None:
            if memory.key is not None and (memory.kind, memory.key) == (head.kind, head.key):
                memory = memory.next_of(head)
            supersede.append(Supersede(head.ref, memory.ref))
            replaced[head.ref], ended[head.ref] = head, [known.ending_by(memory, head)]
        if memory.key is not None:
            heads[memory.kind, memory.key] = memory
        else:
            equivalents[mark] = memory
        memories.append(memory)
        became[id] = memory
        for resting in _resting_memories(memory, known, became, replaced):
            supersede.append(Supersede(resting.ref, memory.ref))
            replaced[resting.ref] = resting
            ended[resting.ref] = [known.ending_by(memory, resting)]
    left = [each for ref, head in replaced.items() for each in remaining_memories(head, ended[ref], known.sources, now)]
    said = {memory.fingerprint for memory in memories}
    memories += {each.fingerprint: each for each in left if each.fingerprint not in said}.values()
    return Change(
        memories=tuple(memories),
        parts=tuple(part for memory in memories for part in passages.index_parts(memory)),
        supersede=tuple(supersede),
        sources=tuple(sources),
    )


def _resting_memories(
    memory: Memory, known: KnownMemories, became: Mapping[str, Memory | None], replaced: Mapping[str, Memory]
) -> list[Memory]:
    """The current memories that rest on what the memory says is gone."""
    resting = (became.get(each.draft_id, each) for each in known.gone.get(memory.fingerprint, ()))
    return [
        each
        for each in resting
        if each is not None and each.ref not in (*replaced, memory.ref) and _may_supersede(memory, each, known.said_at)
    ]


def _finished_task(draft: Draft, messages: Mapping[str, Message], made: Sequence[Memory]) -> Memory | None:
    """The task of the same batch that the draft reports as done."""
    said = messages.get(draft.sources[-1])
    return next((m for m in made if said is not None and finishes(draft, said.said_at, m)), None)


def _is_first_hand(memory: Memory) -> bool:
    """Whether a person said it, rather than a document or a tool."""
    return memory.trust not in SECOND_HAND_TRUST


def _may_supersede(memory: Memory, head: Memory, said_at: Mapping[str, datetime]) -> bool:
    if _is_first_hand(memory) != _is_first_hand(head):
        return _is_first_hand(memory)
    mine = [said_at[source] for source in memory.sources if source in said_at]
    theirs = [said_at[source] for source in head.sources if source in said_at] or [head.updated_at]
    return not mine or max(mine) >= max(theirs)


def memory_from_draft(draft: Draft, messages: Mapping[str, Message], *, now: datetime, extractor: str) -> Memory:
    first = messages[draft.sources[-1]]
    agents = {messages[source].agent for source in draft.sources if source in messages}
    identity = (extractor, draft.kind, draft.key or "", draft.content, *draft.sources)
    return Memory(
        id=identifiers.memory_id(first.created_at, *identity),
        kind=draft.kind,
        content=draft.content,
        summary=draft.summary or draft.content[:80],
        created_at=now,
        updated_at=now,
        key=draft.key,
        keywords=draft.keywords,
        queries=draft.queries,
        session_id=first.session_id,
        agent=first.agent if len(agents) == 1 else None,
        metadata={} if draft.contested is None else {"conflict": draft.contested},
        trust=draft.trust,
        sources=draft.sources,
        occurred_at=draft.occurred_at,
        occurred_until=draft.occurred_until,
        extractor=f"{extractor}:{draft.rule}" if draft.rule else extractor,
        confidence=draft.confidence,
    )
