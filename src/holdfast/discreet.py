"""What was said, as a prompt may see it: without its secrets.

Messages are kept verbatim, and `get`, `messages` and an export give them back so. A hit is read by a model, so a
message's text in it is redacted as the memories drawn from it are. What somebody wrote with `remember` is theirs to
decide: it comes back as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .ports import Store
from .redaction import may_be_secret, redacted
from .results import Hit
from .types import Message

SUMMARY = 80


async def discreet(store: Store, hits: Sequence[Hit], asked: str = "") -> list[Hit]:
    """The hits without secrets. A bare word is one where the question or the message before speaks of passwords."""
    bare = [hit.id for hit in hits if hit.message_id is not None and may_be_secret(hit.content)]
    before = await _before(store, bare) if bare else {}
    return [_hit(hit, f"{asked} {before.get(hit.id, '')}") if hit.message_id is not None else hit for hit in hits]


def _hit(hit: Hit, around: str) -> Hit:
    text = redacted(hit.content, around)
    return hit if text == hit.content else replace(hit, content=text, summary=text[:SUMMARY])


async def _before(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Message → what was said just before it."""
    said: dict[str, str] = {}
    for message in await store.get(ids):
        if isinstance(message, Message):
            last = await store.said(message.session_id, before=message.position, limit=1)
            said[message.id] = " ".join(each.content for each in last)
    return said
