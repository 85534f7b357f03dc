"""The profile on one page, from what is known now. Empty sections are left out.

The whole profile's page is made when things have changed and kept with it, so that reading it costs a row. Forgetting
takes the page away at once.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from .errors import ReadOnly
from .moments import iso
from .pack import tokens as counted
from .ports import Store
from .records import SUMMARY
from .redaction import redacted
from .retention import PINNED
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
    """Markdown: instructions, facts, recent events, open tasks, and how the last session ended.

    What is said is said whole: a memory that does not fit is left out, and how many are is told.
    """
    blocks: list[str] = []
    spent, allowed = 0, 0.0
    for title, kind, limit, share in SECTIONS:
        allowed += share * tokens
        tests = [Test("kind", "eq", kind)]
        if session_id is not None:
            tests.append(Test("session_id", "eq", session_id))
        if kind == "event" and session_id is None:
            tests.append(Test("time", "gte", now - RECENT))
        lines, left = [f"## {title}"], 0
        for memory in await _important(store, tests, now, limit):
            line = _line(memory)
            cost = counted(line) + 1
            if not line or spent + cost > allowed:
                left += 1
                continue
            spent += cost
            lines.append(line)
        if len(lines) > 1:
            blocks.append("\n".join([*lines, *([f"- ({left:,} more)"] if left else [])]))
    last = await _last_words(store, session_id, tokens - spent)
    return "\n\n".join([*blocks, *last])


async def _important(store: Store, tests: list[Test], now: datetime, limit: int) -> list[Memory]:
    """What is pinned, then what somebody said of a topic, then the rest; newest first among equals."""
    pinned = await store.scan(All((*tests, Test(f"metadata.{PINNED}", "eq", True))), now=now, limit=limit)
    newest = await store.scan(All(tuple(tests)), now=now, limit=limit)
    known = {memory.id for memory in pinned}
    return [*pinned, *sorted((each for each in newest if each.id not in known), key=_rank)]


def _rank(memory: Memory) -> int:
    return (memory.trust != "user") * 2 + (memory.key is None)


def _line(memory: Memory) -> str:
    """The memory as one line; empty when it has no end within one."""
    text = whole(memory.content)
    when = f" ({iso(memory.occurred_at)[:10]})" if memory.occurred_at is not None else ""
    return f"- {text}{when}" if text else ""


LINE_CHARS = 400
_END = re.compile(r"(?<![\s.][A-Z])(?<!\b[DMS][rst])(?<!\bMrs)(?<!\b[ei]\.[ge])[.!?][\"'”»)]*(?=\s)|[。！？]|(?=\n)")
"""Where a sentence or a line ends; an initial or a title before a name does not end one."""


def whole(text: str, most: int = LINE_CHARS) -> str:
    """As many whole sentences as fit, on one line, with a mark when there are more; empty when not even one fits."""
    text = text.strip()
    if len(text) <= most:
        return " ".join(text.split())
    ends = [found.end() for found in _END.finditer(text, 0, most) if found.end()]
    return f"{' '.join(text[: ends[-1]].split())} …" if ends else ""


SAID_CHARS = 200
LATELY = 1_000
"""How far back to look for the last thing that somebody said."""


async def _last_words(store: Store, session_id: str | None, tokens: int) -> list[str]:
    last = await store.said(session_id, before=2**62, limit=1)
    if session_id is None and last and last[0].role == "document":  # what was read last is no conversation
        last = [each for each in await store.said(None, before=2**62, limit=LATELY) if each.role != "document"][-1:]
    if not last:
        return []
    messages = await store.said(last[0].session_id, before=2**62, limit=4)
    around = ["", *(message.content for message in messages)]
    texts = [redacted(message.content, last) for message, last in zip(messages, around, strict=False)]
    lines = [f"- {each.speaker or each.role}: {_short(text)}" for each, text in zip(messages, texts, strict=True)]
    while lines and sum(counted(line) + 1 for line in lines) > tokens:
        lines.pop(0)
    return ["\n".join([f"## Last session ({iso(last[0].said_at)[:10]})", *lines])] if lines else []


def _short(text: str) -> str:
    """Its first sentences; of what has none, the first words."""
    start = " ".join(text[:SAID_CHARS].split())
    return whole(text, SAID_CHARS) or whole(text) or f"{start.rpartition(' ')[0] or start} …"
