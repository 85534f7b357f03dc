"""Our values as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..moments import iso
from .output import Block, Entry, Note, Table, one_line

if TYPE_CHECKING:
    from ..results import Answer, Document, Hit, Stats
    from ..spending import Spent
    from ..types import Memory, Message

NOTHING_KNOWN = "Nothing known about that."
NOT_YET = "Nothing known about that yet; what was written last is still being digested."


def minute(at: datetime) -> str:
    return iso(at)[:16].replace("T", " ")


def day(at: datetime) -> str:
    return iso(at)[:10]


def hits(found: Iterable[Hit], *, explain: bool = False) -> tuple[Block, ...]:
    def about(hit: Hit) -> str:
        return f"{about_hit(hit)} · {why(hit)}" if explain else about_hit(hit)

    entries = tuple(Entry(hit.content, about(hit), f"{n}.") for n, hit in enumerate(found, 1))
    return entries or (Note(NOTHING_KNOWN),)


def usage(spent: Sequence[Spent]) -> tuple[Block, ...]:
    rows = tuple(
        (each.month, each.model, each.task, f"{each.calls:,}", f"{each.input:,}", f"{each.output:,}", _cost(each.cost))
        for each in spent
    )
    return (
        (Table(rows, ("month", "model", "task", "calls", "read", "written", "cost")),)
        if rows
        else (Note("No model yet."),)
    )


def _cost(money: float | None) -> str:
    return "" if money is None else f"{money:.4f}"


def why(hit: Hit) -> str:
    """What found a hit, and what decided where it stands."""
    by = ", ".join(f"{channel} #{rank}" for channel, rank in hit.channels.items())
    decided = ", ".join(f"{name} {moved:+.1f}" for name, moved in hit.reasons.items())
    return f"found by {by}; decided by {decided}" if decided else f"found by {by}"


def about_hit(hit: Hit) -> str:
    who = hit.speaker or hit.role or hit.kind if hit.message_id else hit.kind
    return _joined(
        who,
        None if hit.origin is None else f"of {hit.origin}",
        cited(hit),
        hit.key,
        day(hit.timestamp or hit.created_at),
        f"session {hit.session_id}" if hit.session_id and "document" not in hit.metadata else None,
        "not digested yet" if hit.pending else None,
        f"score {hit.score:.2f}",
        hit.id,
    )


def cited(hit: Hit) -> str | None:
    """Where in which document it stands."""
    if "document" not in hit.metadata:
        return None
    about = hit.metadata
    page = f"page {about['page']}" if about.get("page") else None
    return ", ".join(each for each in (about.get("name"), page, about.get("heading")) if each)


def titled(document: Document) -> str:
    titled = document.title and document.title != document.name
    return f"{document.name}: {document.title}" if titled else document.name


def about_document(document: Document) -> str:
    how = document.stage if document.state == "done" else f"{document.state}, {document.stage}"
    passages = f"{document.chunks:,} passage{'' if document.chunks == 1 else 's'}"
    return _joined(
        f"{how} {document.percent}%" if document.state == "waiting" else how,
        document.format,
        f"{document.pages:,} page{'' if document.pages == 1 else 's'}" if document.pages else None,
        passages if document.chunks else None,
        f"version {document.version}" if document.version > 1 else None,
        document.error,
        f"again at {minute(document.retry_at)}" if document.retry_at else None,
        day(document.created_at),
        document.id,
    )


def answer(found: Answer) -> tuple[Block, ...]:
    """The answer, then what it rests on."""
    if not found.answer:
        return (Note(NOT_YET if found.pending else NOTHING_KNOWN),)
    by_id = {(hit.id, hit.origin): hit for hit in found.hits}
    named = [(citation.hit, citation.origin) for citation in found.citations]
    cited = [by_id[each] for each in named if each in by_id]
    return (found.answer, Note(""), *hits(cited))


def memories(found: Iterable[Memory]) -> tuple[Block, ...]:
    return tuple(Entry(memory.content, about_memory(memory), "•") for memory in found)


def about_memory(memory: Memory) -> str:
    return _joined(memory.kind, memory.key, day(memory.occurred_at or memory.created_at), memory.id)


def versions(found: Iterable[Memory]) -> tuple[Block, ...]:
    return tuple(
        Entry(
            version.content,
            _joined("current" if version.current else "superseded", minute(version.created_at), version.id),
            f"v{version.version}",
        )
        for version in found
    )


def item(found: Memory | Message) -> tuple[Block, ...]:
    """Every field that says something."""
    rows = []
    for name in type(found).__slots__:
        value = getattr(found, name)
        if value in (None, (), {}, "") or name == "content":
            continue
        if isinstance(value, datetime):
            value = iso(value)
        elif isinstance(value, tuple):
            value = "; ".join(map(str, value))
        rows.append((name, str(value)))
    return (found.content, Note(""), Table(tuple(rows)))


def stats(found: Stats) -> tuple[Block, ...]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.kinds.items()))
    rows = [
        ("messages", f"{found.messages:,} in {found.sessions:,} session{'s' * (found.sessions != 1)}"),
        ("memories", f"{found.memories:,}" + (f" ({kinds})" if kinds else "")),
        ("superseded", f"{found.superseded:,}"),
        ("waiting", f"{found.pending:,} to digest, {found.unembedded:,} to embed"),
        ("set aside", f"{found.set_aside:,}"),
        ("size", f"{found.bytes / 1024:,.0f} KiB"),
    ]
    return (Table(tuple(rows)),)


def _joined(*parts: str | None) -> str:
    return " · ".join(one_line(part) for part in parts if part)
