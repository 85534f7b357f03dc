"""How it was before: what was said on the same thing earlier, from versions that were superseded and from messages.

"Where did I live before Lisbon?" wants the statement before the first that names Lisbon, "… in March 2025?" the last
one that was said until then, "What was my previous job?" the one before the last.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from .clauses import people
from .filters import passes
from .fit import fits
from .latest import BARELY, TELLS, Stated, said
from .moments import now
from .ports import Store
from .question import analysed
from .recall import as_hit
from .results import Hit
from .sought import sought
from .types import Memory, Where
from .when import window

READ = 8
_BEFORE = re.compile(
    r"\b(?:did|was|were|had|used to)\b.*?(?P<cut>\s*,?\bbefore (?:that|(?P<what>[^?.!,]+)))[?.!]*$", re.I
)
_FORMER = re.compile(r"\b(?P<cut>previous|former|old)\b (?!is\b|was\b|are\b)", re.I)
_PAST = re.compile(r"\b(?:did|was|were|used to)\b", re.I)
_STATE = re.compile(
    r"\b(?:live|work|study|use|drive|have|own|pay|cost|call|named?|take|eat|drink|job|city|address|boss|manager|rate|price|"
    r"budget|rent|limit|role|title|hours|open|close|run|approve)\b",
    re.I,
)
Find = Callable[[str, int], Awaitable[list[Hit]]]


@dataclass(frozen=True, slots=True)
class Then:
    """Which of several statements is asked for."""

    text: str
    """The question without what says so."""
    what: str = ""
    """Before the first that names this."""
    at: tuple[datetime, datetime] | None = None
    """Within this time."""
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """A statement, and the one that took its place, if any did."""

    stated: Stated
    next: Stated | None


def then(question: str, asked_at: datetime) -> Then | None:
    """None when it does not ask how something was."""
    if (m := _BEFORE.search(question)) and (m["what"] is None or window(m["what"], asked_at) is None):
        return Then(question[: m.start("cut")] + "?", (m["what"] or "").strip())
    if (m := _FORMER.search(question)) and not _FORMER.search(question, m.end()):
        return Then(question[: m.start("cut")] + question[m.end() :])
    found = window(question, asked_at)
    if found is not None and found.stop <= asked_at and _PAST.search(question) and _STATE.search(question):
        start, stop = found.span
        text = (
            re.sub(r"\s+(?:back )?(?:in|on|at|during|by)?\s*[?.!]*$", "", question[:start])
            + "?"
            + question[stop:].strip("?.! ")
        )
        return Then(text, at=(found.start, found.stop))
    return None


async def earlier(store: Store, find: Find, asked: Then, asked_at: datetime) -> Earlier | None:
    """The statement that held then; None when none is known."""
    found = await _told(store, find, asked, asked_at)
    told = [each for each in found if each.fit.worth >= TELLS or (asked.what and _names(each, asked.what))]
    if asked.at is not None:
        held = [each for each in told if each.at < asked.at[1]]
    elif asked.what:
        first = next((each.at for each in told if _names(each, asked.what)), None)
        held = [each for each in told if first is not None and each.at < first and not _names(each, asked.what)]
    else:
        held = told[:-1]
    if not held:
        return None
    last = held[-1]
    later = next((each for each in told if each.at > last.at and each.fit.clause != last.fit.clause), None)
    return Earlier(last, later) if later is not None or asked.at is not None else None


async def _told(store: Store, find: Find, asked: Then, asked_at: datetime) -> list[Stated]:
    """What was ever said in answer to the question, in the order it was said; of each message what was made of it."""
    hits = await find(asked.text, READ)
    made = await store.resting_on([hit.message_id for hit in hits if hit.message_id is not None])
    ids = dict.fromkeys([*(memory.id for memory in made), *(hit.id for hit in hits if hit.message_id is None)])
    versions: dict[str, Memory] = {}
    for id in ids:
        if id not in versions:
            versions |= {memory.id: memory for memory in await store.history(id) if _seen(memory, asked.where)}
    pool = [*(as_hit(memory) for memory in versions.values()), *(hit for hit in hits if hit.message_id is not None)]
    want = sought(analysed(asked.text, asked_at))
    found = zip(pool, fits(want, pool, people(pool)), await said(store, pool), strict=True)
    fit = [Stated(hit, its, at) for hit, its, at in found if its.worth >= BARELY and its.owned >= 0 and its.told >= 0]
    told: dict[datetime, Stated] = {}
    for each in sorted(fit, key=lambda each: (each.at, -each.fit.worth)):
        told.setdefault(each.at, each)
    return list(told.values())


def _seen(memory: Memory, where: Where | None) -> bool:
    return passes(where, memory) and (memory.expires_at is None or memory.expires_at > now())


def _names(stated: Stated, what: str) -> bool:
    return what.casefold() in stated.hit.content.casefold()
