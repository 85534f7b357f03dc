"""The profile on one page, from what is known now. Empty sections are left out.

The whole profile's page is made when things have changed and kept with it, so that reading it costs a row. Forgetting
takes the page away at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from .errors import ReadOnly
from .moments import iso
from .pack import tokens as counted
from .ports import Store
from .records import SUMMARY
from .types import All, Memory, Test

TOKENS = 2_000
RECENT = timedelta(days=30)
SECTIONS = (
    ("Instructions", "instruction", 50, 0.2),
    ("Facts", "fact", 100, 0.4),
    ("Recent events", "event", 50, 0.2),
    ("Tasks", "task", 50, 0.1),
)
"""Title, kind, how many are read, and its share of the tokens; what one leaves, the next may use."""


async def page(store: Store, now: datetime) -> str:
    """The profile's page: as it was made when nothing has changed since, else made anew and kept."""
    held = (await store.journal.settings()).get(SUMMARY)
    _, newest = await store.journal.reach()
    state = {"event": newest, "day": iso(now)[:10]}
    if held is not None and {name: held.get(name) for name in state} == state:
        return str(held["text"])
    text = await summary(store, session_id=None, now=now)
    try:
        await store.journal.lay_down(SUMMARY, {**state, "text": text})
    except ReadOnly:
        return text
    return text


async def summary(store: Store, *, session_id: str | None, now: datetime, tokens: int = TOKENS) -> str:
    """Markdown: instructions, facts, recent events, open tasks, and how the last session ended."""
    blocks: list[str] = []
    spent, allowed = 0, 0.0
    for title, kind, limit, share in SECTIONS:
        allowed += share * tokens
        tests = [Test("kind", "eq", kind)]
        if session_id is not None:
            tests.append(Test("session_id", "eq", session_id))
        if kind == "event" and session_id is None:
            tests.append(Test("time", "gte", now - RECENT))
        lines = [f"## {title}"]
        for memory in await store.scan(All(tuple(tests)), now=now, limit=limit):
            cost = counted(_line(memory)) + 1
            if spent + cost > allowed:
                break
            spent += cost
            lines.append(_line(memory))
        if len(lines) > 1:
            blocks.append("\n".join(lines))
    last = await _last_words(store, session_id, tokens - spent)
    return "\n\n".join([*blocks, *last])


def _line(memory: Memory) -> str:
    when = f" ({iso(memory.occurred_at)[:10]})" if memory.occurred_at is not None else ""
    return f"- {memory.summary}{when}"


LATELY = 1_000
"""How far back to look for the last thing that somebody said."""


async def _last_words(store: Store, session_id: str | None, tokens: int) -> list[str]:
    last = await store.said(session_id, before=2**62, limit=1)
    if session_id is None and last and last[0].role == "document":  # what was read last is no conversation
        last = [each for each in await store.said(None, before=2**62, limit=LATELY) if each.role != "document"][-1:]
    if not last:
        return []
    messages = await store.said(last[0].session_id, before=2**62, limit=4)
    lines = [f"- {message.speaker or message.role}: {_short(message.content)}" for message in messages]
    while lines and sum(counted(line) + 1 for line in lines) > tokens:
        lines.pop(0)
    return ["\n".join([f"## Last session ({iso(last[0].said_at)[:10]})", *lines])] if lines else []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 140 else f"{line[:139]}…"
