"""Mail: who wrote what to whom, when, and what was attached."""

from __future__ import annotations

import email.policy
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from ..types import About, Piece, Section
from .markup import sections
from .source import Source, parsed_part

_FIELDS = ("Subject", "From", "To", "Cc", "Date")
_PARTS = 500


def read(source: Source) -> Iterator[Piece]:
    message = BytesParser(policy=email.policy.default).parse(source.start())
    assert isinstance(message, EmailMessage)
    subject = _field(message, "Subject")
    about = About(subject or source.name, _field(message, "From"), _day(message))
    yield about
    heading = (subject,) if subject else ()
    told = [f"{name}: {value}" for name in _FIELDS if (value := _field(message, name))]
    yield Section("\n".join(told), heading)
    notes: list[str] = []
    for part in _bodies(message):
        yield from _body(part, heading)
    for part in list(message.iter_attachments())[:_PARTS]:
        yield from _attached(part, source, heading, notes)
    if notes:
        yield About(about.title, about.author, about.date, notes=tuple(notes))


def _bodies(message: EmailMessage) -> Iterator[MIMEPart]:
    body = message.get_body(("plain", "html"))
    if body is not None and not _text(body).strip() and body.get_content_subtype() == "plain":
        body = message.get_body(("html",))
    if body is not None:
        yield body


def _body(part: MIMEPart, heading: tuple[str, ...]) -> Iterator[Section]:
    if part.get_content_subtype() == "html":
        yield from sections(_text(part), heading)
    else:
        yield Section(_text(part), heading)


def _attached(part: MIMEPart, source: Source, heading: tuple[str, ...], notes: list[str]) -> Iterator[Section]:
    name = part.get_filename() or "attachment"
    if part.get_content_type() == "message/rfc822":
        data = b"".join(inner.as_bytes() for inner in part.iter_parts())
    else:
        data = part.get_payload(decode=True) or b""  # type: ignore[assignment]
    if not data:
        return
    source.budget.open_members(1)
    source.budget.unpack(len(data))
    yield from parsed_part(source, data, name, (*heading, name), notes)


def _text(part: MIMEPart) -> str:
    """What a part says. Charsets are claimed by the sender, who may know no better."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    try:
        return data.decode(part.get_content_charset("utf-8"))
    except (LookupError, UnicodeDecodeError, ValueError):
        return data.decode("utf-8", "replace")


def _field(message: EmailMessage, name: str) -> str | None:
    try:
        value = message.get(name)
    except (ValueError, IndexError, AttributeError, TypeError):  # the standard library's own, on broken headers
        return None
    return " ".join(str(value).split())[:2_000] or None if value is not None else None


def _day(message: EmailMessage) -> str | None:
    try:
        return parsedate_to_datetime(_field(message, "Date") or "").date().isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
