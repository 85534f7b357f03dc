"""What stays true of a memory of which a part has ended, as memories of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain import identifiers
from holdfast.domain.filters import keyless
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change, Memory, Message, Test
from holdfast.ingest.reconcile.changed_values import changes_date, loses_date, without_changed_values, without_member
from holdfast.text import statement_parts
from holdfast.text.content_words import content_words
from holdfast.text.faithfulness import is_proved, quotation
from holdfast.text.statement_parts import Span
from holdfast.text.wording.word_runs import stand_together

_AUTHOR = re.compile(r" said(?: of [^\":]{1,80})?: ")


@dataclass(frozen=True, slots=True)
class PartialEnding:
    """What a newer statement ends of a memory."""

    by: str
    """What the newer statement says."""
    parts: tuple[Span, ...]
    """The parts that end; empty when all do."""


def remaining_memories(
    head: Memory, ended: Sequence[PartialEnding], messages: Mapping[str, Message], now: datetime
) -> list[Memory]:
    """What stays true of a memory after some of its parts or values have ended, as new memories; none when nothing
    does. `messages` has those that it rests on."""
    cited = [messages[source] for source in head.sources if source in messages]
    if (left := _without_changes(head, ended, cited)) is not None:
        undated = any(changes_date(head.content, each.by) for each in ended) or loses_date(head.content, left)
        return [_remaining_memory(head, left, now, undated=undated)]
    if not all(each.parts for each in ended):
        return []
    gone = [span for each in ended for span in each.parts]
    undated = not statement_parts.keeps_date(head.content, gone)
    return [_remaining_memory(head, content, now, undated=undated) for content in _remainders(head, gone, cited)]


def _remaining_memory(head: Memory, content: str, now: datetime, *, undated: bool) -> Memory:
    lost = _stems(head.content) - _stems(content)
    return replace(
        head,
        id=identifiers.remainder_id(head.created_at, head.draft_id, content),
        origin=None,
        content=content,
        summary=content[:80],
        keywords=tuple(each for each in head.keywords if not _stems(each) & lost),
        queries=tuple(each for each in head.queries if not _stems(each) & lost),
        created_at=now,
        updated_at=now,
        key=None,
        version=1,
        occurred_at=None if undated else head.occurred_at,
        occurred_until=None if undated else head.occurred_until,
    )


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}


def _without_changes(head: Memory, ended: Sequence[PartialEnding], cited: Sequence[Message]) -> str | None:
    """The memory without values that changed and people who left; None where more than these has ended."""
    content = head.content
    for each in ended:
        left = without_changed_values(content, each.by)
        if left is not None and not all(_has_changed(content, left, span) for span in each.parts):
            return None
        left = left or without_member(content, each.by)
        if left is None:
            return None
        content = left
    content = statement_parts.reported_statement(content)
    told = [message.content for message in cited]
    return content if _is_proved_together(content, told, _AUTHOR.split(head.content)[0]) else None


def _is_proved_together(content: str, cited: Sequence[str], author: str) -> bool:
    return is_proved(content, cited, [author]) and stand_together(content, cited, names=[author])


def _has_changed(content: str, left: str, part: Span) -> bool:
    return content[slice(*part)] not in left


def _remainders(head: Memory, gone: Sequence[Span], cited: Sequence[Message]) -> list[str]:
    """What remains of a memory: one statement where its sources prove it, or else a quotation of each run of parts that
    stay."""
    told = [message.content for message in cited]
    name = _AUTHOR.split(head.content)[0]
    author = name if _AUTHOR.search(head.content) else _author_of(cited)
    content = statement_parts.without_parts(head.content, gone)
    if content is not None and (not cited or _is_proved_together(content, told, name)):
        return [content]
    runs = statement_parts.remaining_runs(head.content, gone) if cited else []
    found = (_quoted(author, run, told) for run in runs)
    return [each for each in found if is_proved(each, told, [name, author])]


def _author_of(cited: Sequence[Message]) -> str:
    """Who said it last: a speaker by name, or the user."""
    return (cited[-1].speaker if cited else None) or "The user"


def _quoted(author: str, run: str, cited: Sequence[str]) -> str:
    """The run as a quotation, in the words of its author: "renew their passport" was "renew my passport"."""
    plain = f'{author} said: "{run}"'
    if any(run in text for text in cited):
        return plain
    own = (quotation(author, run, text, text, exact=True) for text in cited)
    return next((each for each in own if _stems(each) - _stems(author) >= _stems(run)), plain)


async def without_known_remainders(store: Store, change: Change) -> Change:
    """The change without remainders that a current memory says already."""
    if not change.supersede:
        return change
    made = tuple(each.fingerprint for each in change.memories if each.key is None)
    page = await store.scan(keyless(Test("fingerprint", "in", made)), now=None, limit=10_000)
    superseded = {each.old for each in change.supersede}
    known = {each.fingerprint for each in page.items if each.ref not in superseded}
    gone = {each.ref for each in change.memories if each.key is None and each.fingerprint in known}
    return replace(
        change,
        memories=tuple(each for each in change.memories if each.ref not in gone),
        parts=tuple(part for part in change.parts if part.item not in gone),
    )
