"""Validates names of namespaces, profiles, sessions, keys and kinds; derives ids from content.

A message's id is the first 128 bits of SHA-256 over (session id, role, content); the same words said again in a session
get `.1`, `.2` and so on, and ingest/alignment.py tells a repetition from a resend. A session without an id is named
after its messages, so the same conversation is always the same session. An extracted memory's id is a ULID: its time is
when its first source arrived, its other bits are a hash of its content. Digesting the same message again therefore
writes the same row.

A memory keeps its id through all its versions. A reference names one version: `X@3` is version 3 of memory X, and `X`
alone is its newest version.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from holdfast.domain import limits
from holdfast.domain.errors import InvalidInput, quoted_value

NAMESPACE_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
KIND_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")
LAST_EVENT = 2**63 - 1
"""No event has this number: a listener that asks for events after it gets a `reset` event."""

_MESSAGE_ID = re.compile(r"[0-9a-f]{32}(?:\.\d+)?")
_VERSION_REFERENCE = re.compile(r"(.+)@([1-9][0-9]{0,8})", re.S)
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def validate_namespace(name: object) -> str:
    most = limits.MAX_NAMESPACE_CHARACTERS
    if not isinstance(name, str) or not NAMESPACE_PATTERN.fullmatch(name) or len(name) > most:
        raise InvalidInput(
            f"namespace {quoted_value(name)} is not a valid name; use 1 to {most} of a-z, 0-9 and inner hyphens.",
            field="namespace",
        )
    return name


def validate_profile(name: object) -> str:
    return validate_addressable(validate_text(name, "profile", limit=limits.MAX_PROFILE_BYTES), "profile")


def validate_session(name: object, field: str = "session_id") -> str:
    checked = validate_text(name, field, limit=limits.MAX_SESSION_CHARACTERS * 4)
    if len(checked) > limits.MAX_SESSION_CHARACTERS:
        raise InvalidInput(
            f"{field} is {len(checked)} characters long; the limit is {limits.MAX_SESSION_CHARACTERS}.", field=field
        )
    return validate_addressable(checked, field)


def validate_addressable(name: object, field: str) -> str:
    """Require a text that a URL's path can have as a segment.

    Refuses `.` and `..`, which clients and proxies would resolve to another path.
    """
    if not isinstance(name, str) or not name.strip():
        return validate_text(name, field, limit=0)
    if name in (".", ".."):
        raise InvalidInput(f"{field} is {name!r}, which cannot be part of a URL; use another name.", field=field)
    return name


def validate_kind(name: object) -> str:
    if not isinstance(name, str) or not KIND_PATTERN.fullmatch(name) or len(name) > limits.MAX_KIND_CHARACTERS:
        raise InvalidInput(
            f"kind {quoted_value(name)} is not a kind: at most {limits.MAX_KIND_CHARACTERS} of a-z, 0-9, _ and -, "
            f"a letter first.",
            field="kind",
        )
    return name


def validate_key(name: object) -> str:
    """Validate a user's key: trimmed, in composed Unicode (NFC), otherwise as given: paths and ids are keys too."""
    text = validate_text(name, "key", limit=limits.MAX_KEY_BYTES).strip()
    return validate_addressable(unicodedata.normalize("NFC", text), "key")


def topic_key(words: str) -> str:
    """Build a topic key from words: `Home city` → `home-city`."""
    plain = unicodedata.normalize("NFKC", words).casefold()
    return re.sub(r"[^\w./]+", "-", plain).strip("-_")


def validate_text(value: object, field: str, *, limit: int) -> str:
    """Require a non-empty string of at most `limit` bytes of UTF-8 without NUL; else raise InvalidInput."""
    if value is None:
        raise InvalidInput(f"{field} is missing.", field=field)
    if not isinstance(value, str):
        raise InvalidInput(
            f"{field} must be a string, not {type(value).__name__} ({quoted_value(value)}).", field=field
        )
    try:
        size = len(value.encode())
    except UnicodeEncodeError as bad:
        raise InvalidInput(
            f"{field} is not valid Unicode: a lone surrogate at character {bad.start}. "
            "Decode the bytes as UTF-8 (errors='replace' if need be) first.",
            field=field,
        ) from None
    if not value.strip():
        raise InvalidInput(f"{field} is empty.", field=field)
    if size > limit:
        raise InvalidInput(f"{field} is {size:,} bytes of UTF-8; the limit is {limit:,}.", field=field)
    if "\0" in value:
        raise InvalidInput(f"{field} has a NUL character at {value.index(chr(0))}; remove it.", field=field)
    return value


def message_id(session_id: str, role: str, content: str, *reader: str) -> str:
    return _hash([session_id, role, content, *reader])[:16].hex()


def repeated_id(id: str, number: int) -> str:
    """The id of a message's repetition in its session: the first one has number 0 and the id itself."""
    return f"{id}.{number}" if number else id


def unrepeated_id(id: str) -> str:
    """The id that a message and its repetitions share: the hash of session, role and content."""
    return id.partition(".")[0]


def is_message_id(id: str) -> bool:
    """Whether an id has the form of a message's, which no memory's has: a ULID is shorter, and has no point."""
    return _MESSAGE_ID.fullmatch(id) is not None


DOCUMENT_SESSIONS = f"doc-{'_' * 32}.%"
"""A LIKE pattern for the sessions that hold a document's passages."""


def is_document_session(session_id: str) -> bool:
    """Whether a session holds a document's passages, and not a conversation."""
    return len(session_id) > 36 and session_id.startswith("doc-") and session_id[36] == "."


def session_id(messages: Iterable[tuple[str, str]]) -> str:
    """The session id of a conversation without one, derived from its (role, content) pairs in order."""
    return "auto-" + _hash([field for pair in messages for field in pair])[:16].hex()


def memory_id(at: datetime, *content: str) -> str:
    """A ULID at this time. Its other 80 bits come from the content, or are random when there is none."""
    noise = _hash(content)[:10] if content else os.urandom(10)
    number = int(at.timestamp() * 1000) << 80 | int.from_bytes(noise)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def remainder_id(at: datetime, draft_id: str, content: str) -> str:
    """The id of what stays true of a memory, made at this time with this id. It names that memory, so that both are
    found from one another."""
    return memory_id(at, draft_id, content)


def version_reference(id: str, version: int) -> str:
    return f"{id}@{version}"


def split_reference(reference: str) -> tuple[str, int | None]:
    """The id of a memory or message, and the version when the reference names one."""
    found = _VERSION_REFERENCE.fullmatch(reference) if "@" in reference else None
    return (reference, None) if found is None else (found[1], int(found[2]))


def referenced_id(reference: str) -> str:
    """The id of a memory, whichever version the reference names."""
    return split_reference(reference)[0]


def fingerprint(name: str) -> str:
    """A short hash of a name, by which somebody who knows the name can recognise it."""
    return "sha256:" + hashlib.sha256(name.encode()).hexdigest()[:12]


def _hash(fields: Iterable[str]) -> bytes:
    """SHA-256 over length-prefixed fields, so that no two lists of fields have the same input."""
    sha = hashlib.sha256()
    for field in fields:
        data = field.encode()
        sha.update(len(data).to_bytes(8) + data)
    return sha.digest()
