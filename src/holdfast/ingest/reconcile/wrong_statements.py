"""Finds drafts that state again, from the same words, what was marked wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import All, Draft, Memory, Message, Test, fingerprint
from holdfast.text.similarity import restates

MAX_WRONG_MEMORIES = 10_000
"""How many of the newest memories that were marked wrong are compared. Chosen by hand; not measured."""
NEGATIVE_MARKS = (-1, -2, -3, -4, -5)


async def find_repeated_wrong(
    store: Store, drafts: Sequence[Draft], messages: Mapping[str, Message]
) -> dict[int, Memory]:
    """Index of a draft → the memory marked wrong that it states again, from the same message or one with its words.

    `messages` has the messages that the drafts rest on.
    """
    kinds = tuple({draft.kind for draft in drafts})
    if not kinds:
        return {}
    marked = All((Test("marks", "in", NEGATIVE_MARKS), Test("kind", "in", kinds)))
    page = await store.scan(marked, now=None, limit=MAX_WRONG_MEMORIES, superseded=True)
    wrong = [memory for memory in page if memory.marked_wrong and memory.sources]
    pairs = [(n, memory) for n, draft in enumerate(drafts) for memory in wrong if _states_same(draft, memory)]
    sources = list({source for _, memory in pairs for source in memory.sources})
    said = {item.id: item for item in await store.get(sources) if isinstance(item, Message)} if sources else {}
    found: dict[int, Memory] = {}
    for n, memory in pairs:
        words = {_same_words(messages[source]) for source in drafts[n].sources if source in messages}
        if any(_same_words(said[source]) in words for source in memory.sources if source in said):
            found.setdefault(n, memory)
    return found


def _states_same(draft: Draft, memory: Memory) -> bool:
    same = fingerprint(draft.kind, draft.content) == fingerprint(memory.kind, memory.content)
    return same or restates(draft, memory)


def _same_words(message: Message) -> str:
    """What messages with the same words have in common, whatever their spaces, capitals and last full stop."""
    return fingerprint("", message.content)
