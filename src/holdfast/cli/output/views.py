"""Turns values of the domain into blocks for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from holdfast.cli.output.render import INTERNAL_FIELDS, Block, Entry, Remark, Table, one_line
from holdfast.domain.timestamps import iso_text, now
from holdfast.domain.types import Message

if TYPE_CHECKING:
    from holdfast.domain.results import Answer, Document, Hit, Stats
    from holdfast.domain.types import Memory
    from holdfast.domain.usage import Spent

NOTHING_KNOWN = "Nothing known about that."
STILL_DIGESTING = "Some messages are still being digested."
NOTHING_KNOWN_YET = f"Nothing known about that yet. {STILL_DIGESTING}"
UNSURE = "No sure answer."
NEAREST = "The nearest that is known, which may not answer the question:"
MAX_SHOWN = 20
"""How many results are shown where a command has no --limit. Chosen by hand; not measured."""
NO_MODEL_CALLS = "No language model has been called yet."


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def capped(blocks: tuple[Block, ...], limit: int | None = None, *, hint: str = "--json shows all") -> tuple[Block, ...]:
    """The first blocks, and how to see the others."""
    limit = MAX_SHOWN if limit is None else limit
    return (*blocks[:limit], *more_hint(len(blocks) - limit, hint))


def more_hint(left: int, hint: str = "--json shows all") -> tuple[Block, ...]:
    return (Remark(f"And {left:,} more; {hint}."),) if left > 0 else ()


def next_page_hint(cursor: str | None) -> tuple[Block, ...]:
    return (Remark(f"More: the same with --cursor {cursor}"),) if cursor else ()


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
        _hit_date(hit),
        f"session {hit.session_id}" if hit.session_id and "document" not in hit.metadata else None,
        "not digested yet" if hit.pending else None,
        f"score {hit.score:.2f}",
        hit.id,
    )


def _hit_date(hit: Hit) -> str:
    if "document" in hit.metadata:
        return f"added {day_text(hit.created_at)}"
    if hit.message_id:
        return f"said {day_text(hit.timestamp or hit.created_at)}"
    return _event_text(hit.timestamp) if hit.timestamp else f"written {day_text(hit.created_at)}"


def _event_text(at: datetime) -> str:
    return f"{'happens' if at > now() else 'happened'} {day_text(at)}"


def item_dates(item: Memory | Message, said: datetime | None = None) -> str:
    """The dates of an item, and what they are the dates of; `said` is when a memory's message was said."""
    if isinstance(item, Message):
        return f"said {day_text(item.said_at)}"
    written = day_text(item.updated_at)
    return _joined_parts(
        _event_text(item.occurred_at) if item.occurred_at else None,
        f"said {day_text(said)}" if said is not None and day_text(said) != written else None,
        f"written {written}",
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
        f"added {day_text(document.created_at)}",
        document.id,
    )


def answer_blocks(found: Answer, *, explain: bool = False) -> tuple[Block, ...]:
    """The answer, then the hits that it cites; without one, the hits that come nearest."""
    if not found.answer and found.nearest:
        unsure = f"{UNSURE} {STILL_DIGESTING}" if found.pending else UNSURE
        return (Remark(unsure), Remark(NEAREST), *hit_blocks(found.nearest, explain=explain))
    if not found.answer:
        return (Remark(NOTHING_KNOWN_YET if found.pending else NOTHING_KNOWN),)
    by_id = {(hit.id, hit.origin): hit for hit in found.hits}
    citations = [(citation.hit, citation.origin) for citation in found.citations]
    cited = [by_id[each] for each in citations if each in by_id]
    return (found.answer, Remark(""), *hit_blocks(cited, explain=explain))


def memory_blocks(
    found: Iterable[Memory], *, explain: bool = False, said: Mapping[str, datetime] = MappingProxyType({})
) -> tuple[Block, ...]:
    """Memories with their details; `said` has when messages that they are based on were said, by their ids."""
    return tuple(Entry(memory.content, _memory_details(memory, explain, said), "•") for memory in found)


def _memory_details(memory: Memory, explain: bool, said: Mapping[str, datetime]) -> str:
    first = next((said[source] for source in memory.sources if source in said), None)
    return _joined_parts(
        memory.kind,
        None if memory.current else f"{_version_state(memory)}, version {memory.version}",
        memory.key,
        item_dates(memory, first),
        _making_text(memory) if explain else None,
        memory.id if memory.current else memory.ref,
    )


def _making_text(memory: Memory) -> str:
    """What made a memory, and how sure it was."""
    return f"made by {memory.extractor}, confidence {memory.confidence:.2f}"


def _version_state(version: Memory) -> str:
    return "current" if version.current else "retired" if version.retired else "superseded"


def version_blocks(found: Sequence[Memory], *, explain: bool = False) -> tuple[Block, ...]:
    """Each version with its number; one of another memory than the first has none."""
    return tuple(
        Entry(
            version.content,
            _joined_parts(
                _version_state(version),
                f"written {minute_text(version.updated_at)}",
                _making_text(version) if explain else None,
                version.id,
            ),
            f"v{version.version}" if version.id == found[0].id else "•",
        )
        for version in found
    )


DATE_NAMES = {
    "created_at": "first written", "updated_at": "written", "occurred_at": "happens", "occurred_until": "until",
    "expires_at": "expires", "reviewed_at": "reviewed", "timestamp": "said",
}  # fmt: skip
"""Field → what its date is the date of."""


def item_blocks(found: Memory | Message, *, explain: bool = False) -> tuple[Block, ...]:
    """The content, then every other field that is not empty; internals if `explain`."""
    names = DATE_NAMES | {"created_at": "stored"} if isinstance(found, Message) else DATE_NAMES
    hidden = () if explain else INTERNAL_FIELDS[type(found).__name__]
    rows = []
    for name in type(found).__slots__:
        value = getattr(found, name)
        if value in (None, (), {}, "") or name == "content" or name in hidden:
            continue
        if isinstance(value, datetime):
            value = iso_text(value)
        elif isinstance(value, tuple):
            value = "; ".join(map(str, value))
        rows.append((names.get(name, name), str(value)))
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
