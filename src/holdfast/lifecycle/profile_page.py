"""Renders a profile as one page of Markdown from its current memories. Empty sections are left out.

The page of the whole profile is cached in its settings and rendered again when something has changed, so that reading
it costs one row. Forgetting removes the cached page at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from holdfast.domain.errors import ReadOnly
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import PROFILE_PAGE_SETTING
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import SECOND_HAND_TRUST, All, Memory, Message, Test
from holdfast.lifecycle.retention import PINNED_FIELD
from holdfast.lifecycle.shortened_messages import stated_text
from holdfast.recall.context import BROUGHT_BY
from holdfast.recall.context import token_count as counted
from holdfast.text.courtesies import is_courtesy
from holdfast.text.lexicon.sentences import ENDS, WIDE_ENDS
from holdfast.text.redaction import redacted_conversation

# The sizes and shares below were chosen by hand; none was measured.
MAX_PAGE_TOKENS = 2_000
MAX_EVENT_AGE = timedelta(days=30)
"""Older events are left out of the profile's page."""
SECTIONS = (
    ("Instructions", "instruction", 50, 0.2),
    ("Facts", "fact", 100, 0.4),
    ("Recent events", "event", 50, 0.2),
    ("Tasks", "task", 50, 0.1),
)
"""Title, kind, how many memories are read, and the share of the tokens; unused tokens go to the next section."""


async def load_page(store: Store, now: datetime) -> str:
    """Load the cached page, or render and cache it when something has changed or a new day has begun."""
    cached = (await store.journal.settings()).get(PROFILE_PAGE_SETTING)
    _, newest = await store.journal.reach()
    state = {"event": newest, "day": iso_text(now)[:10]}
    if cached is not None and {name: cached.get(name) for name in state} == state:
        return str(cached["text"])
    text = await render_page(store, session_id=None, now=now)
    try:
        await store.journal.put_setting(PROFILE_PAGE_SETTING, {**state, "text": text})
    except ReadOnly:
        return text
    return text


async def render_page(store: Store, *, session_id: str | None, now: datetime, tokens: int = MAX_PAGE_TOKENS) -> str:
    """Render Markdown: instructions, facts, recent events, open tasks, and how the last session ended.

    No memory is cut: one that does not fit is left out, and the section says how many are.
    """
    blocks: list[str] = []
    spent, allowed = 0, 0.0
    for title, kind, limit, share in SECTIONS:
        allowed += share * tokens
        tests = [Test("kind", "eq", kind)]
        if session_id is not None:
            tests.append(Test("session_id", "eq", session_id))
        if kind == "event" and session_id is None:
            tests.append(Test("time", "gte", now - MAX_EVENT_AGE))
        lines, left = [f"## {title}"], 0
        for memory in await _load_important(store, tests, now, limit):
            line = _line(memory)
            cost = counted(line) + 1
            if not line or spent + cost > allowed:
                left += 1
                continue
            spent += cost
            lines.append(line)
        if len(lines) > 1:
            blocks.append("\n".join([*lines, *([f"- ({left:,} more)"] if left else [])]))
    last = await _last_session(store, session_id, tokens - spent)
    return "\n\n".join([*blocks, *last])


async def _load_important(store: Store, tests: list[Test], now: datetime, limit: int) -> list[Memory]:
    """Load pinned memories, then what the user said about a topic, then the rest; newest first among equals."""
    pinned = await store.scan(All((*tests, Test(f"metadata.{PINNED_FIELD}", "eq", True))), now=now, limit=limit)
    newest = await store.scan(All(tuple(tests)), now=now, limit=limit)
    known = {memory.id for memory in pinned}
    return [*pinned, *sorted((each for each in newest if each.id not in known), key=_rank)]


def _rank(memory: Memory) -> int:
    return (memory.trust != "user") * 2 + (memory.key is None)


def _line(memory: Memory) -> str:
    """The memory as one line; empty when its first sentence does not fit."""
    text = whole_sentences(memory.content)
    at = memory.occurred_at
    when = f" ({iso_text(at)[:10]})" if at is not None and not _is_dated(text, at) else ""
    brought = f" ({BROUGHT_BY[memory.trust]})" if memory.trust in SECOND_HAND_TRUST else ""
    return f"- {text}{when}{brought}" if text else ""


_CLOSING_BRACKET = re.compile(r"\(([^()]*)\)[.!?]?$")


def _is_dated(text: str, at: datetime) -> bool:
    """Whether a statement has its date already: in the brackets at its end, as extraction writes it, or in figures."""
    closing = _CLOSING_BRACKET.search(text)
    in_brackets = closing is not None and re.search(rf"\b{at.year}\b", closing[1]) is not None
    return in_brackets or iso_text(at)[:10] in text


MAX_LINE_CHARS = 400
_END = re.compile(
    rf"(?<![\s.][A-Z])(?<!\b[DMS][rst])(?<!\bMrs)(?<!\b[ei]\.[ge])[{ENDS}][\"'”»)]*(?=\s)|[{WIDE_ENDS}]|(?=\n)"
)
"""Where a sentence or a line ends; an initial or a title before a name does not end one."""


def whole_sentences(text: str, most: int = MAX_LINE_CHARS) -> str:
    """As many whole sentences as fit, on one line, with … when there are more; empty when not even one fits."""
    text = text.strip()
    if len(text) <= most:
        return " ".join(text.split())
    ends = [found.end() for found in _END.finditer(text, 0, most) if found.end()]
    return f"{' '.join(text[: ends[-1]].split())} …" if ends else ""


MAX_QUOTE_CHARS = 200
MAX_MESSAGES_BACK = 1_000
"""How many messages to look back for the last conversation, past documents."""
LAST_MESSAGES = 4
MAX_CLOSING_MESSAGES = 12
"""How many of a session's last messages are read, to find some that are more than a courtesy."""


async def _last_session(store: Store, session_id: str | None, tokens: int) -> list[str]:
    last = [*await store.messages(session_id, before=2**62, limit=1)]
    if session_id is None and last and last[0].role == "document":  # the document added last is not a conversation
        last = [
            each
            for each in await store.messages(None, before=2**62, limit=MAX_MESSAGES_BACK)
            if each.role != "document"
        ][-1:]
    if not last:
        return []
    closing = await store.messages(last[0].session_id, before=2**62, limit=MAX_CLOSING_MESSAGES)
    messages = _telling_messages(closing)[-LAST_MESSAGES:]
    drawn = await store.resting_on([message.id for message in messages])
    texts = redacted_conversation([stated_text(message, drawn) for message in messages])
    lines = [f"- {_author(each)}: {_excerpt(text)}" for each, text in zip(messages, texts, strict=True) if text]
    while lines and sum(counted(line) + 1 for line in lines) > tokens:
        lines.pop(0)
    return ["\n".join([f"## Last session ({iso_text(last[0].said_at)[:10]})", *lines])] if lines else []


def _telling_messages(messages: Iterable[Message]) -> list[Message]:
    """The messages without courtesies; "Yes." stays when it answers the question before it."""
    telling: list[Message] = []
    before = ""
    for message in messages:
        if not is_courtesy(message.content) or (before.rstrip().endswith("?") and not is_courtesy(before)):
            telling.append(message)
        before = message.content
    return telling


def _author(message: Message) -> str:
    return message.role if message.role in SECOND_HAND_TRUST else message.speaker or message.role


def _excerpt(text: str) -> str:
    """The first sentences of a text; the first words if it has none."""
    start = " ".join(text[:MAX_QUOTE_CHARS].split())
    return whole_sentences(text, MAX_QUOTE_CHARS) or whole_sentences(text) or f"{start.rpartition(' ')[0] or start} …"
