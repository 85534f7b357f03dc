"""What a request to a server carries: names in its path, headers, a body."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote

from . import trail
from .errors import InvalidInput, shown
from .moments import iso


def header(value: Any, name: str) -> str:
    if not str(value).isascii() or not str(value).isprintable():
        raise InvalidInput(f"{name} is {shown(value)}; over HTTP it must be printable ASCII.", field=name)
    return str(value)


def about_the_caller() -> dict[str, str]:
    who = trail.caller()
    told = {"agent": who.agent, "session": who.session_id, "turn": who.turn_id}
    return {f"holdfast-{name}": quoted(value) for name, value in told.items() if value is not None}


READS = "holdfast-reads"
"""Of what other agents wrote, which to read: `all`, `own`, or `only:` and their names."""


def reads_header(reads: tuple[str, ...] | None) -> str:
    return "all" if reads is None else f"only:{','.join(map(quoted, reads))}" if reads else "own"


def named_reads(told: str) -> str | list[str]:
    if not told.startswith("only:"):
        return told
    return [unquote(name) for name in told.removeprefix("only:").split(",") if name]


def quoted(name: object) -> str:
    if str(name) in (".", ".."):
        raise InvalidInput(f"{str(name)!r} is a step in an address, not a name.", fix="Use another name.")
    return quote(str(name), safe="")


def json_of(body: Any) -> bytes:
    try:
        return json.dumps(body, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"What was given is not JSON: {bad}.") from bad


def _plain(value: Any) -> Any:
    """What JSON has no word for."""
    if callable(value):
        raise TypeError("a function cannot be sent; give a mapping, or run it where the data is")
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "model_dump"):  # a chat client's own object, in a message
        return value.model_dump()
    if isinstance(value, Iterable):
        return [*value]
    raise TypeError(f"{value!r} is not JSON")
