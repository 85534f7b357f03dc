"""What a statement that is remembered without a key is about, as far as the extractor is sure.

So "I live in Lisbon now" takes the place of "I live in Porto", whether either was remembered or said. What the caller
gives always wins: with a key, a value, a time of its own or an end of its own it is kept as it is, and a kind that the
extractor does not see stays without a key.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from .remember import Wish
from .trail import note
from .types import SECOND_HAND, Draft

LONGEST = 200
"""Characters; what is longer says more than one thing."""
log = logging.getLogger("holdfast")


@runtime_checkable
class Topics(Protocol):
    """An extractor that knows, without a model call, what one statement is about."""

    async def topic(self, text: str, at: datetime) -> Draft | None:
        """What it would be, had it been said: if the text is one statement, all of it, about something that has one
        value at a time."""
        ...


async def filed(wish: Wish, extractor: object, now: datetime) -> Wish:
    """The wish under the topic that its text is surely about, else as it is."""
    own = (wish.key, wish.value, wish.occurred_at, wish.expires_at)
    free = all(given is None for given in own) and wish.trust not in SECOND_HAND
    if not free or len(wish.content) > LONGEST or not isinstance(extractor, Topics):
        return wish
    try:
        found = await extractor.topic(wish.content, now)
    except Exception as failure:
        log.warning("remembering without a topic, the extractor failed: %s", failure)
        return wish
    if found is None or found.key is None or found.kind != wish.kind:
        return wish
    note(topic=found.key)
    return replace(wish, key=found.key)
