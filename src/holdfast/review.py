"""What somebody should look at: statements in conflict, marked wrong, brought by documents or tools, or unsure.

The most urgent first. `resolve` takes one off the queue; a new version of it, or a mark that it is wrong, may put it
back.
"""

from __future__ import annotations

from dataclasses import replace

from .curate import Curating, Step
from .errors import InvalidInput, NotFound, shown
from .ports import Store
from .remember import revised
from .results import Edited, Review
from .types import SECOND_HAND, All, Either, Memory, Not, Test

UNSURE = 0.75
MOST = 2_000
"""How many of the newest are put in order."""
CONFLICT, WRONG, UNTRUSTED, LOW = "conflict", "marked-wrong", "untrusted", "low-confidence"
ANSWERS = ("right", "wrong", "keep", "edit")
WAITING = All((
    Not(Test("reviewed_at", "exists", True)),
    Not(Test("kind", "eq", "summary")),
    Either((
        Test("metadata.conflict", "exists", True), Test("marks", "lt", 0), Test("confidence", "lt", UNSURE),
        Test("trust", "in", SECOND_HAND),
    )),
))  # fmt: skip


async def waiting(curating: Curating, limit: int) -> tuple[Review, ...]:
    """What waits, most urgent first."""
    page = await curating.store.scan(WAITING, now=curating.now, limit=MOST)
    order = sorted(page, key=lambda memory: (_urgency(memory), memory.updated_at))
    return tuple([await _entry(curating.store, memory) for memory in order[:limit]])


async def resolve(curating: Curating, id: str, answer: str, content: str | None) -> Edited:
    """Do what was answered, and take it off the queue."""
    (head,) = await curating.heads([id], least=1)
    known = (await _entry(curating.store, head)).answers if _reason(head) is not None else ANSWERS
    if answer not in known:
        raise InvalidInput(f"answer is {shown(answer)}; use one of {', '.join(known)}.", field="answer")
    if answer == "edit" and content is None:
        raise InvalidInput("The answer is edit, and content, which is the new text, is missing.", field="content")
    if answer != "edit" and content is not None:
        raise InvalidInput(f"content is for the answer edit, and the answer is {shown(answer)}.", field="content")
    if answer == "replace":
        other = await _other(curating.store, head)
        if other is None:
            raise NotFound(f"Nothing is in conflict with {id} any more.", field="id", fix="Answer keep.")
        step = await curating.merged([head, other], {"key": other.key}, head)
        return await curating.write([_reviewed(step, curating)], "review")
    if answer == "edit":
        new = await revised(curating.store, head, {"content": content, "trust": "user"}, curating.now, curating.kinds)
        if new is not None:
            return await curating.write([_reviewed(Step((new.memory,), (head,), new.parts), curating)], "review")
    return await curating.mark(id, answer != "wrong", reviewed=True, counts=answer in ("right", "wrong"))


def _reviewed(step: Step, curating: Curating) -> Step:
    return replace(step, made=tuple(replace(memory, reviewed_at=curating.now) for memory in step.made))


def _reason(memory: Memory) -> str | None:
    if "conflict" in memory.metadata:
        return CONFLICT
    if memory.marks < 0:
        return WRONG
    if memory.trust in SECOND_HAND:
        return UNTRUSTED
    return LOW if memory.confidence < UNSURE else None


def _urgency(memory: Memory) -> float:
    """The less, the more urgent. What a document would have us do comes before what it says."""
    reason = _reason(memory)
    if reason == CONFLICT:
        return 0.0
    if reason == WRONG:
        return 1.0 + memory.marks / 10
    if reason == UNTRUSTED:
        return 1.5 if memory.kind == "instruction" else 3.0
    return 2.0 + memory.confidence / 2


async def _entry(store: Store, memory: Memory) -> Review:
    reason = _reason(memory) or LOW
    if reason == CONFLICT:
        other = await _other(store, memory)
        if other is not None:
            because = f"It is about {other.key!r}, of which something else is known: {other.content}"
            return Review(memory, reason, because, (*ANSWERS, "replace"), other)
        return Review(memory, reason, "What it was in conflict with is gone.", ANSWERS)
    told = {
        WRONG: f"It was marked wrong {-memory.marks} more {'time' if memory.marks == -1 else 'times'} than right.",
        UNTRUSTED: f"It was brought by a {memory.trust}, and nobody has said it themselves.",
        LOW: f"Whoever drew it was {memory.confidence:.0%} sure.",
    }
    return Review(memory, reason, told[reason], ANSWERS)


async def _other(store: Store, memory: Memory) -> Memory | None:
    """The current memory that holds the key which this one would have."""
    key = memory.metadata.get("conflict")
    if not isinstance(key, str):
        return None
    page = await store.scan(All((Test("kind", "eq", memory.kind), Test("key", "eq", key))), now=None, limit=1)
    return next((each for each in page if each.id != memory.id), None)
