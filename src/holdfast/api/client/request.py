"""Headers, quoted path segments and JSON bodies of requests to a server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote

from holdfast.domain import tracing
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.identifiers import validate_addressable
from holdfast.domain.timestamps import iso_text


def header_value(value: Any, name: str) -> str:
    if not str(value).isascii() or not str(value).isprintable():
        raise InvalidInput(f"{name} is {quoted_value(value)}; over HTTP it must be printable ASCII.", field=name)
    return str(value)


def caller_headers() -> dict[str, str]:
    who = tracing.caller()
    told = {"agent": who.agent, "session": who.session_id, "turn": who.turn_id}
    return {f"holdfast-{name}": quote(str(value), safe="") for name, value in told.items() if value is not None}


READS_HEADER = "holdfast-reads"
"""What to read of other agents' writing: `all`, `own`, or `only:` and their names."""


UNWRITTEN_HEADER, READ_AS_EMPTY = "holdfast-unwritten", "empty"
"""Asks to read a namespace that does not exist as an empty one: the first write of a Python program creates it."""


def reads_header(reads: tuple[str, ...] | None) -> str:
    return "all" if reads is None else f"only:{','.join(quote(each, safe='') for each in reads)}" if reads else "own"


def parse_reads_header(told: str) -> str | list[str]:
    if not told.startswith("only:"):
        return told
    return [unquote(name) for name in told.removeprefix("only:").split(",") if name]


def quoted_segment(name: object, field: str = "name") -> str:
    """A name as one segment of a URL's path; InvalidInput for one that no path can have, as without a server."""
    return quote(validate_addressable(name, field), safe="")


def profile_path(namespace: str, profile: str) -> str:
    return f"/v1/namespaces/{quoted_segment(namespace, 'namespace')}/profiles/{quoted_segment(profile, 'profile')}"


def encode_body(body: Any) -> bytes:
    try:
        return json.dumps(body, default=_encode_argument, allow_nan=False).encode()
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"The arguments cannot be encoded as JSON: {bad}.") from bad


def _encode_argument(value: Any) -> Any:
    """Encode arguments that are not JSON types, such as times and objects of chat clients."""
    if callable(value):
        raise TypeError("a function cannot be sent; give a mapping, or run it where the data is")
    if isinstance(value, datetime):
        return iso_text(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "model_dump"):  # a message object of a chat client's library
        return value.model_dump()
    if isinstance(value, Iterable):
        return [*value]
    raise TypeError(f"{value!r} is not JSON")
