"""Gives a remembered statement without a key the topic key that the extractor would give it, if the extractor is sure.

So "I live in Lisbon now" supersedes "I live in Porto", whether it was remembered or said in a message. The caller's
fields always win: a request with a key, a value, a time or an expiry is left unchanged, and so is one whose kind
differs from the kind that the extractor finds.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from holdfast.domain.tracing import note
from holdfast.domain.types import SECOND_HAND_TRUST, Draft
from holdfast.ingest.remember import MemoryRequest

MAX_STATEMENT_CHARS = 200
"""A longer text probably says more than one thing. Chosen by hand; not measured."""
log = logging.getLogger("holdfast")


@runtime_checkable
class TopicExtractor(Protocol):
    """An extractor that can determine the topic of one statement without a model call."""

    async def topic(self, text: str, at: datetime) -> Draft | None:
        """Returns the draft that this text would become as a message. None unless the whole text is one statement about
        something that has one value at a time."""
        ...


async def file_under_topic(request: MemoryRequest, extractor: object, now: datetime) -> MemoryRequest:
    """Add the topic key to the request when the extractor is sure of it."""
    set_by_caller = (request.key, request.value, request.occurred_at, request.expires_at)
    free = all(given is None for given in set_by_caller) and request.trust not in SECOND_HAND_TRUST
    if not free or len(request.content) > MAX_STATEMENT_CHARS or not isinstance(extractor, TopicExtractor):
        return request
    try:
        draft = await extractor.topic(request.content, now)
    except Exception as failure:
        log.warning("remembering without a topic, the extractor failed: %s", failure)
        return request
    if draft is None or draft.key is None or draft.kind != request.kind:
        return request
    note(topic=draft.key)
    return replace(request, key=draft.key)
