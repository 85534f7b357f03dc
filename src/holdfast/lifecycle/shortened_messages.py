"""Finds what forgetting memories leaves of the messages they rest on. See text/shortening.py for the words that go."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from holdfast.domain.erasure import texts_in
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Json, Memory, Message, Shortened
from holdfast.storage.inventory import batched, load_indexed_parts
from holdfast.storage.summary_cover import SUMMARY_KIND
from holdfast.text.passages import index_parts
from holdfast.text.shortening import distinctive_words, unmarked_text, without_memories

Versions = Sequence[Memory]
"""All versions of one memory."""
MAX_CHARS_ON_EVENT_LOOP = 20_000
"""Longer texts are shortened in a thread, so that the event loop stays free for other callers. Chosen by hand; not
measured."""


def sources_of(memories: Sequence[Versions]) -> list[str]:
    """The ids of the messages that memories rest on, in any version."""
    return list(dict.fromkeys(source for versions in memories for each in versions for source in each.sources))


async def find_shortened_messages(
    store: Store, memories: Sequence[Versions], gone: Set[str], left: Sequence[Memory] = (), *, whole: bool
) -> tuple[Shortened, ...]:
    """What is left of every message that these memories rest on; with `whole`, nothing.

    `gone` has a reference to all that is forgotten in the same change, and `left` what it writes. Messages that keep
    every word are left out, and so are those that the caller does not see. A summary says what its messages say:
    without it they stay whole.
    """
    found: list[Shortened] = []
    drawn: dict[str, list[Versions]] = defaultdict(list)
    for versions in memories:
        for source in sources_of([versions]) if whole or versions[0].kind != SUMMARY_KIND else ():
            drawn[source].append(versions)
    for ids in batched(drawn):
        messages = [item for item in await store.get(ids) if isinstance(item, Message)]
        resting = [*await store.resting_on([message.id for message in messages]), *left] if messages else []
        indexed = await load_indexed_parts(store, ids)
        numbers = {id: max(part.number for part, _ in parts) + 1 for id, parts in indexed.items()}
        for message in messages:
            others = [memory for memory in resting if message.id in memory.sources]
            rest = Shortened(message.id, message.content, frozenset(memory.ref for memory in others))
            if not whole:
                kept = [memory for memory in others if memory.ref not in gone and memory.id not in gone]
                in_thread = len(message.content) > MAX_CHARS_ON_EVENT_LOOP
                arguments = (rest, message, drawn[message.id], kept, numbers.get(message.id, 0))
                rest = await asyncio.to_thread(_shortened, *arguments) if in_thread else _shortened(*arguments)
            if (rest.content, rest.metadata) != (message.content, message.metadata):
                found.append(rest)
    return tuple(found)


def stated_text(message: Message, drawn: Sequence[Memory]) -> str:
    """What a message states, for a summary: without marks, and without what only memories state that were marked wrong;
    `drawn` has all memories that rest on it."""
    own = [memory for memory in drawn if message.id in memory.sources and memory.kind != SUMMARY_KIND]
    wrong = [memory for memory in own if memory.marked_wrong]
    if not wrong:
        return unmarked_text(message.content) if message.shortened else message.content
    return text_without(message.content, wrong, [memory for memory in own if memory.current], message.speaker or "")


def text_without(text: str, gone: Sequence[Memory], kept: Sequence[Memory], spared: str = "") -> str:
    """What a text states, without what only the memories in `gone` state; empty when nothing is left."""
    lost, staying = ([list(_texts(memory)) for memory in some] for some in (gone, kept))
    return unmarked_text(without_memories(text, lost, staying, spared) or "")


def _shortened(
    left: Shortened, message: Message, own: Sequence[Versions], kept: Sequence[Memory], number: int
) -> Shortened:
    gone = [[text for version in versions for text in _texts(version)] for versions in own]
    staying = [list(_texts(memory)) for memory in kept]
    content = without_memories(message.content, gone, staying, message.speaker or "")
    if content is None:
        return left
    words = distinctive_words(gone, staying, message.speaker or "")
    metadata = {
        name: value
        for name, value in message.metadata.items()
        if not any(words.occur_in(text) for text in texts_in([name, value]))
    }
    parts = index_parts(replace(message, content=content))
    numbered = tuple(replace(part, number=part.number + number) for part in parts)
    return replace(left, content=content, metadata=metadata, parts=numbered)


def _texts(memory: Memory) -> Iterator[str]:
    """The texts of a memory that its messages may have too."""
    yield memory.content
    if memory.summary not in memory.content:
        yield memory.summary
    yield from _value_texts(memory.value)


def _value_texts(value: Json) -> Iterator[str]:
    """The texts and numbers of a JSON value, at any depth; names of fields are no statements."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _value_texts(each)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)
