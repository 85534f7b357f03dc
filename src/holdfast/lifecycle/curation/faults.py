"""Finds memories that say what their messages do not say, and memories that hold a secret.

A memory that the rules made must be proved by the messages it cites (text/faithfulness.py): spliced words and cut
values are not. A language model words its memories itself and checks them in its own way, and what people write with
`remember` is theirs; both are only searched for secrets. What a person has reviewed is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory, Message
from holdfast.storage.inventory import batched
from holdfast.text.faithfulness import is_proved, quotation
from holdfast.text.redaction import REDACTION_MARK, redacted_text

PROVABLE_EXTRACTOR = "rules/"
"""How the names of the extractors begin whose memories can be proved."""


@dataclass(frozen=True, slots=True)
class Faults:
    unproved: list[Memory]
    secrets: list[Memory]


async def find_faults(store: Store, memories: Sequence[Memory]) -> Faults:
    """The memories with each fault, in order. One that holds a secret is not listed a second time."""
    open_ones = [memory for memory in memories if memory.reviewed_at is None]
    secrets = await asyncio.to_thread(lambda: [memory for memory in open_ones if holds_secret(memory)])
    hidden = {memory.ref for memory in secrets}
    made = [memory for memory in open_ones if _is_provable(memory) and memory.ref not in hidden]
    unproved: list[Memory] = []
    for refs in batched(memory.ref for memory in made):
        wanted = set(refs)
        some = [memory for memory in made if memory.ref in wanted]
        said = await load_cited(store, some)
        unproved += await asyncio.to_thread(_unproved, some, said)
    return Faults(unproved, secrets)


async def load_cited(store: Store, memories: Sequence[Memory]) -> dict[str, Message]:
    """The messages that the memories cite, by id."""
    found = await store.get(list(dict.fromkeys(source for memory in memories for source in memory.sources)))
    return {item.id: item for item in found if isinstance(item, Message)}


def holds_secret(memory: Memory) -> bool:
    return redacted_text(memory.content) != memory.content


def quoted_memory(memory: Memory, cited: Mapping[str, Message]) -> str | None:
    """The words of the newest cited message that the memory was made of, as a quotation; None when none is left."""
    messages = [cited[source] for source in memory.sources if source in cited]
    if not messages:
        return None
    newest = max(messages, key=lambda message: message.said_at)
    quoted = quotation(newest.speaker or "The user", memory.content, newest.content, newest.content)
    return quoted if is_proved(quoted, [newest.content]) else None


def _is_provable(memory: Memory) -> bool:
    return bool(memory.sources) and memory.kind != "summary" and memory.extractor.startswith(PROVABLE_EXTRACTOR)


def _unproved(memories: Sequence[Memory], said: Mapping[str, Message]) -> list[Memory]:
    names = {message.speaker for message in said.values() if message.speaker}
    found = []
    for memory in memories:
        cited = [said[source].content for source in memory.sources if source in said]
        if REDACTION_MARK in memory.content:
            cited += [redacted_text(text) for text in cited]
        if cited and not is_proved(memory.content, cited, names):
            found.append(memory)
    return found
