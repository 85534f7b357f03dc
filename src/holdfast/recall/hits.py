"""Converts items to hits: what a search returns for a memory or a message, without secrets.

Messages are stored verbatim, and `get`, `messages` and an export return them verbatim. A hit is read by a model, so the
text of a message in it is redacted, like the memories drawn from it. A memory written with `remember` is returned as it
was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from holdfast.domain.json_codec import attributes
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.domain.types import Item, Memory, Message
from holdfast.storage.views.other_sessions import OtherSessionsStore
from holdfast.storage.views.union import UnionStore
from holdfast.text.redaction import SurroundingTopics, may_be_secret, redacted_among, surrounding_topics

SUMMARY_CHARACTERS = 80
_TRUST_OF_ROLE = {"assistant": "agent", "system": "user"}
_WHY_FIELDS = ("score", "channels", "features", "reasons", "assessment")
_MEMORY_FIELDS = tuple({field.name for field in fields(Hit)} & {field.name for field in fields(Memory)} - {"origin"})
"""The fields that a hit copies from a memory: those that both classes have. A hit's origin is its profile."""
_memory_values = attributes(_MEMORY_FIELDS)


def hit_of(item: Item, found: Hit | None = None, **why: Any) -> Hit:
    """Converts the item to a hit. Score, channels, features, reasons and assessment come from `found` and `why`;
    without either, the score is 0 and there are no channels."""
    if found is not None:
        why = {name: getattr(found, name) for name in _WHY_FIELDS} | why
    why.setdefault("score", 0.0)
    why.setdefault("channels", {})
    if isinstance(item, Message):
        return Hit(
            **why,
            id=item.id,
            kind="message",
            content=item.content,
            session_id=item.session_id,
            created_at=item.created_at,
            summary=item.content[:SUMMARY_CHARACTERS],
            message_id=item.id,
            role=item.role,
            speaker=item.speaker,
            timestamp=item.said_at,
            trust=_TRUST_OF_ROLE.get(item.role, item.role),
            pending=item.pending,
            metadata=item.metadata,
        )
    why.update(zip(_MEMORY_FIELDS, _memory_values(item), strict=True))
    return Hit(timestamp=item.occurred_at, **why)


async def redacted_hits(store: Store, hits: Sequence[Hit], question: str = "") -> list[Hit]:
    """Redacts secrets in the hits. A bare word counts as a secret when the question or the message
    before it mentions passwords."""
    bare = [hit.id for hit in hits if hit.message_id is not None and may_be_secret(hit.content)]
    before = await _text_before(store, bare) if bare else {}
    asked = surrounding_topics(question)
    around = {id: surrounding_topics(f"{question} {text}") for id, text in before.items()}
    return [hit if hit.message_id is None else _redacted(hit, around.get(hit.id, asked)) for hit in hits]


def _redacted(hit: Hit, around: SurroundingTopics) -> Hit:
    text = redacted_among(hit.content, around)
    return hit if text == hit.content else replace(hit, content=text, summary=text[:SUMMARY_CHARACTERS])


async def _text_before(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Message id → the text of the message just before it."""
    said: dict[str, str] = {}
    for message in await store.get(ids):
        if isinstance(message, Message):
            last = await store.messages(message.session_id, before=message.position, limit=1)
            said[message.id] = " ".join(each.content for each in last)
    return said


async def superseded_unseen(store: Store, drawn: Sequence[Memory]) -> list[Memory]:
    """Those of the memories that were superseded in the session that the question leaves out."""
    if isinstance(store, OtherSessionsStore | UnionStore):
        return await store.superseded_in_session(drawn)
    return []


def without_wrong_words(hits: Sequence[Hit], drawn: Sequence[Memory], ended: Sequence[Memory] = ()) -> list[Hit]:
    """Leaves out of messages and summaries what only memories state that were marked wrong, or that are in `ended`;
    `drawn` are the memories that rest on these messages, and on those that the summaries cover. A hit of which nothing
    is left gives way to a memory that is still drawn from it."""
    wrong = [*(memory for memory in drawn if memory.marked_wrong), *ended]
    if not wrong:
        return list(hits)
    from holdfast.text.shortening import without_memories

    kept: dict[str, Hit] = {}
    for hit in hits:
        said = said_messages(hit)
        gone = [memory for memory in wrong if said & set(memory.sources)]
        if not gone:
            kept.setdefault(hit.id, hit)
            continue
        right = [m for m in drawn if m.current and m.kind != "summary" and said & set(m.sources)]
        lost, staying = [[memory.content] for memory in gone], [[memory.content] for memory in right]
        left = without_memories(hit.content, lost, staying, hit.speaker or "")
        if left is not None:
            kept.setdefault(hit.id, replace(hit, content=left, summary=left[:SUMMARY_CHARACTERS]))
        elif right:
            kept.setdefault(right[0].id, hit_of(right[0], hit, relevance=hit.relevance, reasons={}))
    return list(kept.values())


def said_messages(hit: Hit) -> set[str]:
    """Ids of the messages whose words a hit may have: itself, or what a summary covers."""
    if hit.message_id is not None:
        return {hit.message_id}
    return set(hit.sources) if hit.kind == "summary" else set()


async def verbatim_hits(store: Store, hits: Sequence[Hit], question: str = "") -> list[Hit]:
    """Replaces each extracted memory with the messages it is based on, with secrets redacted: a prompt
    needs the original wording."""
    sources = [source for hit in hits for source in hit.sources]
    said = {item.id: item for item in await store.get(sources) if isinstance(item, Message)}
    by_id: dict[str, Hit] = {}
    for hit in hits:
        messages = [said[source] for source in hit.sources if source in said]
        for each in [hit_of(message, hit, relevance=hit.relevance) for message in messages] or [hit]:
            by_id.setdefault(each.id, each)
    drawn = await store.resting_on(list(said)) if said else []
    shown = without_wrong_words(list(by_id.values()), drawn, await superseded_unseen(store, drawn))
    return await redacted_hits(store, shown, question)


async def rolled_up_hits(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """Replaces each message that a summary covers by that summary, which is returned once."""
    messages = [hit.message_id for hit in hits if hit.message_id is not None]
    made = [memory for memory in await store.resting_on(messages) if memory.kind == "summary" and memory.current]
    over = {source: memory for memory in made for source in memory.sources}
    by_id: dict[str, Hit] = {}
    for hit in hits:
        memory = over.get(hit.message_id or "")
        each = hit if memory is None else hit_of(memory, hit, relevance=hit.relevance)
        by_id.setdefault(each.id, each)
    return list(by_id.values())
