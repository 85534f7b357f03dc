"""The review queue: memories in conflict, with a secret, that contradict another one, that their messages do not prove,
that were marked wrong, that documents or tools brought, or of low confidence.

The most urgent come first. `resolve` takes one off the queue; a new version of it, or a mark that it is wrong, may put
it back.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Edited, Review
from holdfast.domain.types import (
    SECOND_HAND_TRUST,
    All,
    Either,
    Memory,
    Not,
    Test,
)
from holdfast.ingest.remember import prepare_revision
from holdfast.lifecycle.curation.edit import Curator, Replacement
from holdfast.lifecycle.curation.faults import find_faults
from holdfast.lifecycle.curation.quality import contradictions

MIN_CONFIDENCE = 0.75
"""Memories below this confidence are reviewed. Chosen by hand; not measured."""
MAX_QUEUE = 2_000
"""How many of the newest memories are sorted by urgency. Chosen by hand; not measured."""
MAX_CHECKED = 300
"""How many of the newest memories are checked for secrets, contradictions and proof, at about a millisecond each; an
audit checks all."""
CONFLICT, WRONG, UNTRUSTED, LOW = "conflict", "marked-wrong", "untrusted", "low-confidence"
SECRET, CONTRADICTION, UNPROVED = "secret", "contradiction", "unproved"
ANSWERS = ("right", "wrong", "keep", "edit")
UNREVIEWED = All((Not(Test("reviewed_at", "exists", True)), Not(Test("kind", "eq", "summary"))))
NEEDS_REVIEW = All((
    UNREVIEWED,
    Either((
        Test("metadata.conflict", "exists", True), Test("marks", "lt", 0), Test("confidence", "lt", MIN_CONFIDENCE),
        Test("trust", "in", SECOND_HAND_TRUST),
    )),
))  # fmt: skip
MARKED_WRONG = All((UNREVIEWED, Test("marks", "lt", 0)))


async def load_queue(curating: Curator, limit: int) -> tuple[Review, ...]:
    """Load what waits for review, most urgent first."""
    page = await curating.store.scan(NEEDS_REVIEW, now=curating.now, limit=MAX_QUEUE)
    wrong = await curating.store.scan(MARKED_WRONG, now=curating.now, limit=MAX_QUEUE, superseded=True)
    found = [*page, *(memory for memory in wrong if memory.retired)]
    faulty = {review.memory.id: review for review in await _load_faulty(curating)}
    order = [(_urgency(memory), memory) for memory in found if _reason(memory) == CONFLICT or memory.id not in faulty]
    for _, memory in order:
        faulty.pop(memory.id, None)
    order += [(_FAULT_URGENCY[review.reason], review.memory) for review in faulty.values()]
    order.sort(key=lambda each: (each[0], each[1].updated_at))
    return tuple([faulty.get(memory.id) or await _load_review(curating.store, memory) for _, memory in order[:limit]])


async def _load_faulty(curating: Curator) -> list[Review]:
    """Load the newest memories that hold a secret, contradict another one, or are not proved; each once."""
    page = await curating.store.scan(UNREVIEWED, now=curating.now, limit=MAX_CHECKED)
    newest = list(page)
    faults = await find_faults(curating.store, newest)
    settled = [memory for memory in newest if "conflict" not in memory.metadata]  # a conflict names both by itself
    clashing = await asyncio.to_thread(contradictions, settled)
    reviews = [Review(memory, SECRET, "It seems to contain a secret.", ANSWERS) for memory in faults.secrets]
    for last, *others in clashing:
        reviews += [
            Review(memory, CONTRADICTION, f"A newer memory contradicts it: {last.content}", ANSWERS, last)
            for memory in others
        ]
    proof = "Its words are not all in the messages it cites, or it cuts a value from them."
    reviews += [Review(memory, UNPROVED, proof, ANSWERS) for memory in faults.unproved]
    return list({review.memory.id: review for review in reversed(reviews)}.values())[::-1]


async def resolve(curating: Curator, id: str, answer: str, content: str | None) -> Edited:
    """Apply the answer to a review, and take the memory off the queue."""
    (head,) = await curating.heads([id], least=1)
    known = (await _load_review(curating.store, head)).answers if _reason(head) is not None else ANSWERS
    if answer not in known:
        raise InvalidInput(f"answer is {quoted_value(answer)}; use one of {', '.join(known)}.", field="answer")
    if answer == "edit" and content is None:
        raise InvalidInput("The answer edit needs content, the new text.", field="content")
    if answer != "edit" and content is not None:
        raise InvalidInput(
            f"content is only for the answer edit; the answer is {quoted_value(answer)}.", field="content"
        )
    if answer == "replace":
        other = await _find_conflicting(curating.store, head)
        if other is None:
            raise NotFound(f"Nothing conflicts with {id} any more.", field="id", fix="Answer keep.")
        step = await curating.merge_replacement([head, other], {"key": other.key}, head)
        return await curating.write([_with_review_time(step, curating)], "review")
    if answer == "edit":
        new = await prepare_revision(
            curating.store, head, {"content": content, "trust": "user"}, curating.now, curating.kinds
        )
        if new is not None:
            return await curating.write(
                [_with_review_time(Replacement((new.memory,), (head,), new.parts), curating)], "review"
            )
    return await curating.mark(id, answer != "wrong", reviewed=True, counts=answer in ("right", "wrong"))


def _with_review_time(step: Replacement, curating: Curator) -> Replacement:
    return replace(step, new=tuple(replace(memory, reviewed_at=curating.now) for memory in step.new))


def _reason(memory: Memory) -> str | None:
    if "conflict" in memory.metadata:
        return CONFLICT
    if memory.marks < 0:
        return WRONG
    if memory.trust in SECOND_HAND_TRUST:
        return UNTRUSTED
    return LOW if memory.confidence < MIN_CONFIDENCE else None


_FAULT_URGENCY = {SECRET: 0.2, CONTRADICTION: 0.4, UNPROVED: 0.6}
"""The lower, the more urgent: after conflicts, before what was marked wrong."""


def _urgency(memory: Memory) -> float:
    """The lower, the more urgent. Instructions from documents come before their other statements."""
    reason = _reason(memory)
    if reason == CONFLICT:
        return 0.0
    if reason == WRONG:
        return 1.0 + memory.marks / 10
    if reason == UNTRUSTED:
        return 1.5 if memory.kind == "instruction" else 3.0
    return 2.0 + memory.confidence / 2


async def _load_review(store: Store, memory: Memory) -> Review:
    reason = _reason(memory) or LOW
    if reason == CONFLICT:
        other = await _find_conflicting(store, memory)
        if other is not None:
            conflict = f"It contradicts what is known about {other.key!r}: {other.content}"
            return Review(memory, reason, conflict, (*ANSWERS, "replace"), other)
        return Review(memory, reason, "The memory that it conflicted with no longer exists.", ANSWERS)
    because = {
        WRONG: f"It was marked wrong {-memory.marks} more {'time' if memory.marks == -1 else 'times'} than right.",
        UNTRUSTED: f"It comes from a {memory.trust}; the user did not say it.",
        LOW: f"The extractor was {memory.confidence:.0%} sure of it.",
    }
    return Review(memory, reason, because[reason], ANSWERS)


async def _find_conflicting(store: Store, memory: Memory) -> Memory | None:
    """Find the current memory that has the key which this one would have."""
    key = memory.metadata.get("conflict")
    if not isinstance(key, str):
        return None
    page = await store.scan(All((Test("kind", "eq", memory.kind), Test("key", "eq", key))), now=None, limit=1)
    return next((each for each in page if each.id != memory.id), None)
