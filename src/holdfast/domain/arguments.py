"""Arguments of a profile's verbs: their types, and the checks that several verbs share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Required, TypedDict, cast, get_args

from holdfast.domain import identifiers, limits
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Facet, Json, Order, SearchOrder, Trust

Kind = Literal["fact", "event", "instruction", "task", "summary"] | str
"""A built-in kind, or a name of your own."""
Kinds = Kind | Sequence[Kind]
Moment = datetime | str | float
ThinkingLevel = Literal["low", "medium", "high"]
ResponseLength = Literal["short", "medium", "long"]
ItemOrder = Literal["recent"]
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class MessageInput(TypedDict, total=False):
    """A message to ingest. Other fields that OpenAI's and Anthropic's clients send are accepted and ignored."""

    role: Required[Literal["system", "user", "assistant", "tool", "document", "developer", "function"]]
    content: Required[str | Sequence[str | Mapping[str, Any]] | None]
    """Text, or a list of parts. A message with None is skipped."""
    speaker: str | None
    name: str | None
    """The name of the speaker or the tool."""
    agent: str | None
    timestamp: Moment | None
    metadata: Mapping[str, Any] | None


class Narrowed(TypedDict, total=False):
    """Conditions that search, recall, context and list accept; an item must satisfy all that are given."""

    kind: Kinds | None
    key: str | None
    key_prefix: str | None
    session_id: str | None
    agent: str | None
    since: Moment | None
    until: Moment | None
    filter: Mapping[str, Any] | None
    """Conditions on any field and on metadata: see domain/filters.py."""


class QueryScope(Narrowed, total=False):
    """Conditions of search, recall and context: those of a list, and a session to leave out."""

    exclude_session: str | None
    """Leave out this session, which the caller has in its window: its messages, and memories that are based on nothing
    else."""


class Revision(TypedDict, total=False):
    """The fields that `revise` may change."""

    content: str
    kind: Kind
    key: str | None
    value: Json
    metadata: Mapping[str, Json]
    trust: Trust
    occurred_at: Moment | None
    expires_at: Moment | None
    ttl: float | timedelta | None


def validate_id(id: object) -> str:
    return identifiers.validate_addressable(identifiers.validate_text(id, "id", limit=limits.MAX_PROFILE_BYTES), "id")


def validate_limit(limit: object, most: int = 1000) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        raise InvalidInput(f"limit is {quoted_value(limit)}; give 1 to {most}.", field="limit")
    return limit


def validate_order(order: object) -> Order:
    return cast(Order, _one_of(order, get_args(Order), "order"))


def validate_search_order(order: object) -> SearchOrder:
    return cast(SearchOrder, _one_of(order, get_args(SearchOrder), "order"))


def validate_facets(by: object) -> tuple[Facet, ...]:
    """The facets to count by, each once; all of them when None."""
    if by is None:
        return get_args(Facet)
    listed = [by] if isinstance(by, str) else by
    if not isinstance(listed, Sequence):
        raise InvalidInput(f"by is {quoted_value(by)}; give a list of {', '.join(get_args(Facet))}.", field="by")
    return tuple(dict.fromkeys(cast(Facet, _one_of(each, get_args(Facet), "by")) for each in listed))


def _one_of(given: object, known: tuple[str, ...], field: str) -> str:
    if not isinstance(given, str) or given not in known:
        raise InvalidInput(f"{field} is {quoted_value(given)}; use one of {', '.join(known)}.", field=field)
    return given


def validate_share(share: object, field: str) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidInput(f"{field} is {quoted_value(share)}; give 0 to 1.", field=field)
    return float(share)


def validate_tokens(tokens: object) -> int:
    if not isinstance(tokens, int) or not 20 <= tokens <= 1_000_000:
        raise InvalidInput(f"tokens is {quoted_value(tokens)}; give 20 to 1,000,000.", field="tokens")
    return tokens


def validate_metadata(value: object, field: str) -> dict[str, Json]:
    """Validate metadata: a JSON object within its limits. Returns a deep copy."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"{field} must be an object with text names, not {quoted_value(value)}.", field=field)
    text = json_text(dict(value), field, limit=limits.MAX_METADATA_BYTES, items=limits.MAX_METADATA_ITEMS)
    copied: dict[str, Json] = json.loads(text)
    return copied


def validate_value(value: object, field: str = "value") -> Json:
    """Validate any JSON within the limits of a memory's value. Returns a deep copy."""
    return json.loads(json_text(value, field, limit=limits.MAX_VALUE_BYTES))


def json_text(value: object, field: str, *, limit: int, items: int = limits.MAX_VALUE_ITEMS) -> str:
    """The value as JSON of at most `limit` bytes, with at most `items` names and list items."""
    _check_shape(value, field, items)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    if size > limit:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {limit:,}.", field=field)
    if _NUL.search(text):
        raise InvalidInput(f"{field} has a NUL character; remove it.", field=field)
    return text


def _check_shape(value: object, field: str, items: int) -> None:
    """Refuse too many levels or items. It walks level by level, so that no depth exhausts the stack."""
    level: list[Any] = [value]
    depth = count = 0
    while level := [each for each in level if isinstance(each, dict | list | tuple)]:
        depth += 1
        count += sum(map(len, level))
        if depth > limits.MAX_JSON_DEPTH:
            raise InvalidInput(
                f"{field} is nested deeper than {limits.MAX_JSON_DEPTH} levels.", field=field,
                fix="Flatten it, or store the inner part as text.",
            )  # fmt: skip
        if count > items:
            raise InvalidInput(f"{field} has more than {items:,} names and list items.", field=field)
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """The content of a document to add: exactly one of a URL, a file and bytes."""

    url: str | None = None
    path: Path | None = None
    data: bytes | None = None


Using = Callable[[Any], Any] | Mapping[str, Json] | Sequence[Mapping[str, Json]]
