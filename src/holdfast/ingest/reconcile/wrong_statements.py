"""Finds drafts that state again, from the same words, what was marked wrong, or revised or merged by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import All, Draft, Memory, Message, Test, fingerprint
from holdfast.text.shortening import clauses, stating_clauses
from holdfast.text.similarity import restates, same_meaning

MAX_WRONG_MEMORIES = 10_000
"""How many of the newest memories that were marked wrong are compared. Chosen by hand; not measured."""
NEGATIVE_MARKS = (-1, -2, -3, -4, -5)


async def find_repeated_wrong(
    store: Store, drafts: Sequence[Draft], messages: Mapping[str, Message]
) -> dict[int, Memory]:
    """Index of a draft → the memory marked wrong that it states again, from the same message or one with its words; or
    the memory that somebody wrote in place of what it states.

    `messages` has the messages that the drafts rest on.
    """
    kinds = tuple({draft.kind for draft in drafts})
    if not kinds:
        return {}
    marked = All((Test("marks", "in", NEGATIVE_MARKS), Test("kind", "in", kinds)))
    page = await store.scan(marked, now=None, limit=MAX_WRONG_MEMORIES, superseded=True)
    wrong = [memory for memory in page if memory.marked_wrong and memory.sources]
    statements = [*((memory, memory) for memory in wrong), *await _load_corrected(store, drafts)]
    pairs = [(n, *each) for n, draft in enumerate(drafts) for each in statements if _states_again(draft, each[1])]
    sources = list({source for _, _, statement in pairs for source in statement.sources})
    said = {item.id: item for item in await store.get(sources) if isinstance(item, Message)} if sources else {}
    found: dict[int, Memory] = {}
    for n, memory, statement in pairs:
        new = [messages[source] for source in drafts[n].sources if source in messages]
        old = [said[source] for source in statement.sources if source in said]
        if any(_has_words_of(each, drafts[n], other, statement) for each in new for other in old):
            found.setdefault(n, memory)
    return found


async def _load_corrected(store: Store, drafts: Sequence[Draft]) -> list[tuple[Memory, Memory]]:
    """What was extracted from the same messages before, each after the memory into which it was revised or merged."""
    sources = list({source for draft in drafts for source in draft.sources})
    resting = {memory.ref: memory for memory in await store.resting_on(sources)}
    successors = [(resting.get(version.superseded_by or ""), version) for version in resting.values()]
    return [(new, old) for new, old in successors if new is not None and new is not old and new.written_by_hand]


def _states_again(draft: Draft, memory: Memory) -> bool:
    """Whether the draft, or a clause of it, says the same as the memory."""
    same = fingerprint(draft.kind, draft.content) == fingerprint(memory.kind, memory.content)
    if same or restates(draft, memory):
        return True
    parts = clauses(draft.content) if draft.kind == memory.kind else []
    return len(parts) > 1 and any(same_meaning(part, memory.content) for part in parts)


def _has_words_of(new: Message, draft: Draft, old: Message, statement: Memory) -> bool:
    """Whether a message states a draft in the words in which an earlier one stated a memory, whatever stands around
    them, and whatever their spaces, capitals and last full stop."""
    if new.id == old.id or fingerprint("", new.content) == fingerprint("", old.content):
        return True
    before = stating_clauses(old.content, statement.content)
    return not before.isdisjoint(stating_clauses(new.content, draft.content))
