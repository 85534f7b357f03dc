"""Turns values of the domain into blocks for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.cli.output.render import Block, Entry, Remark, Table, one_line
from holdfast.domain.timestamps import iso_text

if TYPE_CHECKING:
    from holdfast.domain.results import Answer, Document, Hit, Stats
    from holdfast.domain.types import Memory, Message
    from holdfast.domain.usage import Spent

NOTHING_KNOWN = "Nothing known about that."
NOTHING_KNOWN_YET = "Nothing known about that yet. Some messages are still being digested."
NO_MODEL_CALLS = "No language model has been called yet."


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def minute_text(at: datetime) -> str:
    return iso_text(at)[:16].replace("T", " ")


def day_text(at: datetime) -> str:
    return iso_text(at)[:10]


def hit_blocks(found: Iterable[Hit], *, explain: bool = False) -> tuple[Block, ...]:
    def about(hit: Hit) -> str:
        return f"{hit_details(hit)} · {hit_explanation(hit)}" if explain else hit_details(hit)

    entries = tuple(Entry(hit.content, about(hit), f"{n}.") for n, hit in enumerate(found, 1))
    return entries or (Remark(NOTHING_KNOWN),)


def usage_blocks(spent: Sequence[Spent]) -> tuple[Block, ...]:
    rows = tuple(
        (
            each.month,
            each.model,
            each.task,
            f"{each.calls:,}",
            f"{each.input:,}",
            f"{each.output:,}",
            _cost_text(each.cost),
        )
        for each in spent
    )
    columns = ("month", "model", "task", "calls", "tokens in", "tokens out", "cost")
    return (Table(rows, columns),) if rows else (Remark(NO_MODEL_CALLS),)


def _cost_text(money: float | None) -> str:
    return "" if money is None else f"{money:.4f}"


def hit_explanation(hit: Hit) -> str:
    """Which channels found a hit, and which features moved its score."""
    by = ", ".join(f"{channel} #{rank}" for channel, rank in hit.channels.items())
    moved = ", ".join(f"{name} {points:+.1f}" for name, points in hit.reasons.items())
    return f"found by {by}; score moved by {moved}" if moved else f"found by {by}"


def hit_details(hit: Hit) -> str:
    who = hit.speaker or hit.role or hit.kind if hit.message_id else hit.kind
    return _joined_parts(
        who,
        None if hit.origin is None else f"from {hit.origin}",
        document_reference(hit),
        hit.key,
        day_text(hit.timestamp or hit.created_at),
        f"session {hit.session_id}" if hit.session_id and "document" not in hit.metadata else None,
        "not digested yet" if hit.pending else None,
        f"score {hit.score:.2f}",
        hit.id,
    )


def document_reference(hit: Hit) -> str | None:
    """The document, page and heading that a passage is from."""
    if "document" not in hit.metadata:
        return None
    about = hit.metadata
    page = f"page {about['page']}" if about.get("page") else None
    return ", ".join(each for each in (about.get("name"), page, about.get("heading")) if each)


def document_title(document: Document) -> str:
    has_title = document.title and document.title != document.name
    return f"{document.name}: {document.title}" if has_title else document.name


def document_details(document: Document) -> str:
    state = document.stage if document.state == "done" else f"{document.state}, {document.stage}"
    return _joined_parts(
        f"{state} {document.percent}%" if document.state == "waiting" else state,
        document.format,
        count(document.pages, "page") if document.pages else None,
        count(document.chunks, "passage") if document.chunks else None,
        f"version {document.version}" if document.version > 1 else None,
        document.error,
        f"next attempt at {minute_text(document.retry_at)}" if document.retry_at else None,
        day_text(document.created_at),
        document.id,
    )


def answer_blocks(found: Answer) -> tuple[Block, ...]:
    """The answer, then the hits that it cites."""
    if not found.answer:
        return (Remark(NOTHING_KNOWN_YET if found.pending else NOTHING_KNOWN),)
    by_id = {(hit.id, hit.origin): hit for hit in found.hits}
    citations = [(citation.hit, citation.origin) for citation in found.citations]
    return (found.answer, Remark(""), *hit_blocks(by_id[each] for each in citations if each in by_id))


def memory_blocks(found: Iterable[Memory]) -> tuple[Block, ...]:
    return tuple(Entry(memory.content, memory_details(memory), "•") for memory in found)


def memory_details(memory: Memory) -> str:
    return _joined_parts(memory.kind, memory.key, day_text(memory.occurred_at or memory.created_at), memory.id)


def _version_state(version: Memory) -> str:
    return "current" if version.current else "retired" if version.retired else "superseded"


def version_blocks(found: Iterable[Memory]) -> tuple[Block, ...]:
    return tuple(
        Entry(
            version.content,
            _joined_parts(_version_state(version), minute_text(version.updated_at), version.id),
            f"v{version.version}",
        )
        for version in found
    )


def item_blocks(found: Memory | Message) -> tuple[Block, ...]:
    """The content, then every other field that is not empty and not for programs only."""
    rows = []
    for name in type(found).__slots__:
        value = getattr(found, name)
        if value in (None, (), {}, "") or name in ("content", "last_version"):
            continue
        if isinstance(value, datetime):
            value = iso_text(value)
        elif isinstance(value, tuple):
            value = "; ".join(map(str, value))
        rows.append((name, str(value)))
    return (found.content, Remark(""), Table(tuple(rows)))


def stats_blocks(found: Stats) -> tuple[Block, ...]:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(found.kinds.items()))
    rows = [
        ("messages", f"{found.messages:,} in {count(found.sessions, 'session')}"),
        ("memories", f"{found.memories:,}" + (f" ({kinds})" if kinds else "")),
        ("superseded", f"{found.superseded:,}"),
        ("waiting", f"{found.pending:,} to digest, {found.unembedded:,} to embed"),
        ("set aside", f"{found.set_aside:,}"),
        ("size", f"{found.bytes / 1024:,.0f} KiB"),
    ]
    return (Table(tuple(rows)),)


def _joined_parts(*parts: str | None) -> str:
    return " · ".join(one_line(part) for part in parts if part)
