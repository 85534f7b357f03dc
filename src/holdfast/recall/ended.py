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
from holdfast.text.shortening import clauses
from holdfast.text.statement_parts import framed_span, part_spans

MAX_TOLD, MAX_CHARACTERS = 3, 120
"""How many ended statements a mark tells, and their length together; beyond that, it only says that a part ended.
Chosen by hand."""
MAX_SHARE_TOLD = 0.8
"""A mark that would repeat a larger share of the message's words only says that a part ended. Chosen by hand."""
WHOLE, SOME, DONE = "no longer true", "partly no longer true", "no longer to do"


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
    return replace(hit, assessment=replace(hit.assessment, ended=ended_mark(hit.content, ended, current)))


def _is_still_told(memory: Memory, current: Sequence[Memory]) -> bool:
    """Whether a current memory from the same message says as much: it was only worded anew."""
    words = _stems(memory.content)
    return any(words <= _stems(each.content) for each in current)


def ended_mark(text: str, ended: Sequence[Memory], current: Sequence[Memory]) -> str:
    """What a line says after a message of which these memories ended and these are current; empty when none ended."""
    if not ended:
        return ""
    word = DONE if all(memory.kind == "task" for memory in ended) else WHOLE
    known, still = (_stems(" ".join(memory.content for memory in some)) for some in (ended, current))
    said = [stems for stems in map(_stems, clauses(text)) if stems]
    if all(stems & known and stems & still <= known and not stems <= still for stems in said):
        return word
    told = _without_repetition([_ended_part(memory.content, current) for memory in ended])
    words, repeated = _stems(text), _stems(" ".join(told))
    short = len(told) <= MAX_TOLD and sum(map(len, told)) <= MAX_CHARACTERS
    if not short or len(words & repeated) > MAX_SHARE_TOLD * len(words):
        return SOME
    return f"{word}: {' '.join(told)}"


def _ended_part(content: str, current: Sequence[Memory]) -> str:
    """A statement without what current memories still tell, and without the words around a quotation."""
    still = _stems(" ".join(memory.content for memory in current))
    parts = [content[slice(*span)] for span in part_spans(content)]
    left = [part for part in parts if not _stems(part) <= still]
    if left and len(left) < len(parts):
        return ", ".join(left)
    start, stop = framed_span(content)
    return content[start:stop] if start else content


def _without_repetition(told: Sequence[str]) -> list[str]:
    """Without what another one says as well."""
    left: list[str] = []
    for each in sorted(dict.fromkeys(told), key=lambda text: -len(_stems(text))):
        if not any(_stems(each) <= _stems(other) for other in left):
            left.append(each)
    return [each for each in dict.fromkeys(told) if each in left]


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}
