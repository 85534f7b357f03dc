"""Pure: drafts and what is known → one Change. No I/O, no clock, no model.

A draft whose key has a current memory supersedes it, unless it says the same (then the message is one more source), was
said earlier (an old conversation imported late), or comes from a document or a tool while the user said the other
thing. A draft whose key nobody holds, or that has none, is a duplicate of a known memory that says the same. What
somebody said themselves takes the place of what a document or a tool says, whenever that was and also if it is the
same; and what these say never becomes a source of it. So the outcome does not depend on who came first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from . import names, passages, portions
from .alike import restates
from .finished import finishes
from .portions import Span
from .types import SECOND_HAND, Change, Draft, Memory, Message, Supersede, fingerprint


@dataclass
class Known:
    """The part of the store that the drafts may touch."""

    heads: dict[tuple[str, str], Memory] = field(default_factory=dict)
    """(kind, key) → the current memory."""
    alike: dict[str, Memory] = field(default_factory=dict)
    """Fingerprint → a current memory that says the same: in the same words and without a key, or in other words. Here
    and in `outdated` it may be what an earlier draft becomes."""
    outdated: dict[str, Memory] = field(default_factory=dict)
    """Fingerprint of a draft → the current memory whose place it takes, whatever its key."""
    ends: dict[tuple[str, str], tuple[Span, ...]] = field(default_factory=dict)
    """(Fingerprint of a draft, id of the memory whose place it takes) → the parts of that memory that it ends, where
    the others stay true."""
    apart: set[str] = field(default_factory=set)
    """Fingerprints of drafts that stand beside the memory that has their key: they get none."""
    said: dict[str, datetime] = field(default_factory=dict)
    """Message id → when it was said, for the sources of the heads and of the drafts."""


def reconcile(
    drafts: Sequence[Draft], known: Known, messages: Mapping[str, Message], *, now: datetime, extractor: str
) -> Change:
    """The change that makes the drafts known. `messages` are all that they may rest on, by id."""
    memories: list[Memory] = []
    supersede: list[Supersede] = []
    sources: list[tuple[str, str]] = []
    heads, alike = dict(known.heads), dict(known.alike)
    replaced: dict[str, Memory] = {}
    ended: dict[str, list[tuple[Span, ...]]] = {}
    drawn = [
        replace(draft, key=None) if fingerprint(draft.kind, draft.content) in known.apart else draft for draft in drafts
    ]
    told = [memory_of(draft, messages, now=now, extractor=extractor) for draft in drawn]
    became: dict[str, Memory | None] = {memory.id: None for memory in told}
    """What stands for a draft: itself, or what says the same. None: nothing does, or not yet."""
    for draft, memory in zip(drawn, told, strict=True):
        mark, id = memory.fingerprint, memory.id
        same, old = (each and became.get(each.id, each) for each in (alike.get(mark), known.outdated.get(mark)))
        found = (heads.get((memory.kind, memory.key or "")), same, old, _ended(draft, messages, memories))
        head = next((each for each in found if each is not None and each.id not in replaced), None)
        for each in found:
            if each is not None and each.id in replaced:
                ended[each.id].append(known.ends.get((mark, each.id), ()))
        if head is not None and (head is same or head.fingerprint == mark or restates(draft, head)):
            if _own(head) or not _own(memory):
                sources += [(head.id, source) for source in memory.sources if _own(head) == _own(memory)]
                became[id] = head
                continue
        elif head is not None and not _may_supersede(memory, head, known.said):
            continue
        if head is not None:
            supersede.append(Supersede(head.id, memory.id))
            replaced[head.id], ended[head.id] = head, [known.ends.get((mark, head.id), ())]
            memory = replace(memory, version=head.version + 1)
        if memory.key is not None:
            heads[memory.kind, memory.key] = memory
        else:
            alike[mark] = memory
        memories.append(memory)
        became[id] = memory
    left = (_left(head, ended[id], now) for id, head in replaced.items())
    memories += [memory for memory in left if memory is not None]
    return Change(
        memories=tuple(memories),
        parts=tuple(part for memory in memories for part in passages.parts(memory)),
        supersede=tuple(supersede),
        sources=tuple(sources),
    )


def _left(head: Memory, ended: Sequence[tuple[Span, ...]], now: datetime) -> Memory | None:
    """What stays true of a memory of which some parts have ended, as a memory of its own; nothing where all has."""
    gone = [span for some in ended for span in some]
    content = portions.without(head.content, gone)
    if content is None or not all(ended):
        return None
    undated = not portions.keeps_date(head.content, gone)
    return replace(
        head,
        id=names.memory_id(head.created_at, head.id, content),
        content=content,
        summary=content[:80],
        created_at=now,
        updated_at=now,
        key=None,
        version=1,
        occurred_at=None if undated else head.occurred_at,
        occurred_until=None if undated else head.occurred_until,
    )


def _ended(draft: Draft, messages: Mapping[str, Message], made: Sequence[Memory]) -> Memory | None:
    """The task of the same batch that the draft tells is done."""
    said = messages.get(draft.sources[-1])
    return next((m for m in made if said is not None and finishes(draft, said.said_at, m)), None)


def _own(memory: Memory) -> bool:
    """Whether it is somebody's own word."""
    return memory.trust not in SECOND_HAND


def _may_supersede(memory: Memory, head: Memory, said: Mapping[str, datetime]) -> bool:
    if _own(memory) != _own(head):
        return _own(memory)
    mine = [said[source] for source in memory.sources if source in said]
    theirs = [said[source] for source in head.sources if source in said] or [head.updated_at]
    return not mine or max(mine) >= max(theirs)


def memory_of(draft: Draft, messages: Mapping[str, Message], *, now: datetime, extractor: str) -> Memory:
    first = messages[draft.sources[-1]]
    agents = {messages[source].agent for source in draft.sources if source in messages}
    identity = (extractor, draft.kind, draft.key or "", draft.content, *draft.sources)
    return Memory(
        id=names.memory_id(first.created_at, *identity),
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
