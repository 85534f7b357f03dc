"""Parses mail: the main headers, the body and the attachments."""

from __future__ import annotations

import email.policy
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from holdfast.documents.parse.dispatch import ParserInput, parse_part
from holdfast.documents.parse.html_sections import html_sections
from holdfast.documents.types import DocumentProperties, ParserOutput, Section

_SHOWN_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_MAX_ATTACHMENTS = 500
"""Further attachments are ignored. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    message = BytesParser(policy=email.policy.default).parse(source.start())
    assert isinstance(message, EmailMessage)
    subject = _header_text(message, "Subject")
    about = DocumentProperties(subject or source.name, _header_text(message, "From"), _sent_date(message))
    yield about
    heading = (subject,) if subject else ()
    headers = [f"{name}: {value}" for name in _SHOWN_HEADERS if (value := _header_text(message, name))]
    yield Section("\n".join(headers), heading)
    notes: list[str] = []
    for part in _bodies(message):
        yield from _body_sections(part, heading)
    for part in list(message.iter_attachments())[:_MAX_ATTACHMENTS]:
        yield from _attachment_sections(part, source, heading, notes)
    if notes:
        yield DocumentProperties(about.title, about.author, about.date, notes=tuple(notes))


def _bodies(message: EmailMessage) -> Iterator[MIMEPart]:
    body = message.get_body(("plain", "html"))
    if body is not None and not _part_text(body).strip() and body.get_content_subtype() == "plain":
        body = message.get_body(("html",))
    if body is not None:
        yield body


def _body_sections(part: MIMEPart, heading: tuple[str, ...]) -> Iterator[Section]:
    if part.get_content_subtype() == "html":
        yield from html_sections(_part_text(part), heading)
    else:
        yield Section(_part_text(part), heading)


def _attachment_sections(
    part: MIMEPart, source: ParserInput, heading: tuple[str, ...], notes: list[str]
) -> Iterator[Section]:
    name = part.get_filename() or "attachment"
    if part.get_content_type() == "message/rfc822":
        data = b"".join(inner.as_bytes() for inner in part.iter_parts())
    else:
        data = part.get_payload(decode=True) or b""  # type: ignore[assignment]
    if not data:
        return
    source.budget.open_members(1)
    source.budget.unpack(len(data))
    yield from parse_part(source, data, name, (*heading, name), notes)


def _part_text(part: MIMEPart) -> str:
    """The text of a part; UTF-8 if the charset that the sender claims is wrong."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    try:
        return data.decode(part.get_content_charset("utf-8"))
    except (LookupError, UnicodeDecodeError, ValueError):
        return data.decode("utf-8", "replace")


def _header_text(message: EmailMessage, name: str) -> str | None:
    try:
        value = message.get(name)
    except (ValueError, IndexError, AttributeError, TypeError):  # raised by the standard library on broken headers
        return None
    return " ".join(str(value).split())[:2_000] or None if value is not None else None


def _sent_date(message: EmailMessage) -> str | None:
    try:
        return parsedate_to_datetime(_header_text(message, "Date") or "").date().isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
