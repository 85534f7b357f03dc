"""Marks what the shown messages say and what no longer holds: superseded, ended or denied later.

Digestion decides that, not the question: a memory that is no longer current ended a statement of the messages it rests
on. Messages that only look out of date beside another hit are not marked; every line has its day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.domain.types import Memory
from holdfast.recall.hits import superseded_unseen
from holdfast.text.content_words import content_words

MAX_TOLD, MAX_CHARACTERS = 3, 160
"""How many ended statements a mark tells, and their length together; beyond that, it only says that a part ended.
Chosen by hand."""
WHOLE, SOME = "no longer true", "partly no longer true"


async def with_ended_marks(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The hits; messages with what no longer holds of them."""
    messages = [hit.message_id for hit in hits if hit.message_id is not None]
    drawn = await store.resting_on(messages) if messages else []
    unseen = {memory.ref for memory in await superseded_unseen(store, drawn)}
    known = [memory for memory in drawn if memory.kind != "summary" and memory.ref not in unseen]
    return [hit if hit.message_id is None else _marked(hit, known) for hit in hits]


def _marked(hit: Hit, drawn: Sequence[Memory]) -> Hit:
    mine = [memory for memory in drawn if hit.message_id in memory.sources and not memory.marked_wrong]
    current = [memory for memory in mine if memory.current]
    ended = [memory for memory in mine if not memory.current and not _is_still_told(memory, current)]
    mark = ended_mark([memory.content for memory in ended], whole=not current)
    return replace(hit, assessment=replace(hit.assessment, ended=mark))


def _is_still_told(memory: Memory, current: Sequence[Memory]) -> bool:
    """Whether a current memory from the same message says as much: it was only worded anew."""
    words = _stems(memory.content)
    return any(words <= _stems(each.content) for each in current)


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}


def ended_mark(ended: Sequence[str], *, whole: bool) -> str:
    """What a line says after a message of which these statements ended; empty when none did."""
    told = list(dict.fromkeys(ended))
    if not told:
        return ""
    if whole:
        return WHOLE
    if len(told) > MAX_TOLD or sum(map(len, told)) > MAX_CHARACTERS:
        return SOME
    return f"{WHOLE}: {' '.join(told)}"
