"""What things may be called, and the ids that follow from content.

A message's id is the first 128 bits of SHA-256 over (session id, role, content), so the same message twice is one
message. A session without an id is named after its messages, so the same conversation is the same session.
A distilled memory's id is a ULID whose time is its first source's arrival and whose rest is a hash of what it says:
digesting the same message again writes the same row.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from .errors import InvalidInput, shown

NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
NAMESPACE_CHARS = 32
PROFILE_BYTES = 200
SESSION_CHARS = 64
KEY_BYTES = 512
KIND = re.compile(r"[a-z][a-z0-9_-]*")
KIND_CHARS = 64
CONTENT_BYTES = 32_768
QUERY_BYTES = 1_024
MESSAGES = 500
METADATA_BYTES = 16_384
LAST_EVENT = 2**63 - 1
"""No event has this number: whoever asks for what came after it hears that anything may have changed."""

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def namespace(name: object) -> str:
    if not isinstance(name, str) or not NAMESPACE.fullmatch(name) or len(name) > NAMESPACE_CHARS:
        raise InvalidInput(
            f"namespace {shown(name)} is not a name: 1 to {NAMESPACE_CHARS} of a-z, 0-9 and inner hyphens.",
            field="namespace",
        )
    return name


def profile(name: object) -> str:
    return _addressable(text(name, "profile", limit=PROFILE_BYTES), "profile")


def session(name: object) -> str:
    checked = text(name, "session_id", limit=SESSION_CHARS * 4)
    if len(checked) > SESSION_CHARS:
        raise InvalidInput(
            f"session_id is {len(checked)} characters long; the limit is {SESSION_CHARS}.", field="session_id"
        )
    return _addressable(checked, "session_id")


def _addressable(name: str, field: str) -> str:
    """Not a step within a path: clients and proxies would resolve it, and lead elsewhere."""
    if name in (".", ".."):
        raise InvalidInput(f"{field} is {name!r}, which no address can hold; use another name.", field=field)
    return name


def kind(name: object) -> str:
    if not isinstance(name, str) or not KIND.fullmatch(name) or len(name) > KIND_CHARS:
        raise InvalidInput(
            f"kind {shown(name)} is not a kind: a lower-case letter, then up to {KIND_CHARS - 1} of a-z, 0-9, _ and -.",
            field="kind",
        )
    return name


def key(name: object) -> str:
    """A user's key, trimmed and in Unicode's composed form, otherwise as given: paths and ids are keys too."""
    return _addressable(unicodedata.normalize("NFC", text(name, "key", limit=KEY_BYTES).strip()), "key")


def topic(words: str) -> str:
    """A topic key from words: `Home city` → `home-city`."""
    plain = unicodedata.normalize("NFKC", words).casefold()
    return re.sub(r"[^\w./]+", "-", plain).strip("-_")


def text(value: object, field: str, *, limit: int) -> str:
    """A non-empty string of at most `limit` bytes of UTF-8; anything else is named and refused."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be a string, not {type(value).__name__} ({shown(value)}).", field=field)
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


def message_id(session_id: str, role: str, content: str) -> str:
    return _hash([session_id, role, content])[:16].hex()


DOCUMENT_SESSIONS = f"doc-{'_' * 32}.%"
"""How SQL knows the sessions that hold a document's passages."""


def of_document(session_id: str) -> bool:
    """Whether a session holds a document's passages and is no conversation."""
    return len(session_id) > 36 and session_id.startswith("doc-") and session_id[36] == "."


def session_id(messages: Iterable[tuple[str, str]]) -> str:
    """The session of a conversation that came without one: (role, content) pairs in order."""
    return "auto-" + _hash([field for pair in messages for field in pair])[:16].hex()


def memory_id(at: datetime, *content: str) -> str:
    """A ULID at this time whose random bits come from the content, or from the system when there is none."""
    noise = _hash(content)[:10] if content else os.urandom(10)
    number = int(at.timestamp() * 1000) << 80 | int.from_bytes(noise)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def fingerprint(name: str) -> str:
    """Twelve digits by which one who knows the name can recognise it."""
    return "sha256:" + hashlib.sha256(name.encode()).hexdigest()[:12]


def _hash(fields: Iterable[str]) -> bytes:
    """Length-prefixed, so that no two lists of fields share a preimage."""
    sha = hashlib.sha256()
    for field in fields:
        data = field.encode()
        sha.update(len(data).to_bytes(8) + data)
    return sha.digest()
