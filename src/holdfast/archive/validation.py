"""Parses lines of an archive into values, or raises an error that names the field. Nothing is written before every line
has passed."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast.archive.format import (
    COMPUTED_FIELDS,
    COUNT_NAMES,
    FORMAT,
    READABLE_VERSIONS,
    USAGE_FIELDS,
    VERSION,
    ArchivedItem,
    Header,
)
from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import json_text, validate_metadata, validate_value
from holdfast.domain.errors import UPGRADE_FIX, InvalidInput, TooNew, quoted_value
from holdfast.domain.json_codec import field_types, required_fields
from holdfast.domain.records import is_portable_setting
from holdfast.domain.results import Document
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.types import (
    ROLES,
    Item,
    Json,
    Memory,
    Message,
    Part,
    Vector,
)
from holdfast.domain.usage import Spent
from holdfast.domain.vectors import vector_of_bytes
from holdfast.ingest.kinds import versions
from holdfast.lifecycle import retention, summaries
from holdfast.storage.rows import PIECE_BYTES
from holdfast.storage.summary_cover import COVERED_FIELD

MAX_DIMENSIONS = 65_536
MAX_FAILURES = 1_000
STATES, STAGES = ("waiting", "done", "failed"), ("fetching", "reading", "digesting", "done")
DOCUMENT_ID = re.compile(r"doc-[0-9a-f]{32}")
T = TypeVar("T", Message, Memory, Document)
Check = Callable[[Any, str], Any]


class InvalidLine(InvalidInput):
    """A line breaks a rule. The code that reads the file adds the line number."""


def parse_line(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as bad:
        raise InvalidLine(f"it is not UTF-8 at byte {bad.start}") from None
    except RecursionError:
        raise InvalidLine("it is nested too deeply") from None
    except ValueError as bad:
        raise InvalidLine(f"it is not JSON: {bad}") from None
    if not isinstance(found, dict):
        raise InvalidLine(f"it is {quoted_value(found)}, not an object")
    return found


def header(told: Mapping[str, Any]) -> Header:
    if told.get("format") != FORMAT:
        raise InvalidLine("it is not the header of a Holdfast archive", field="format")
    version = told.get("version")
    if isinstance(version, int) and version > VERSION:
        raise TooNew(f"The archive is of version {version} and this Holdfast reads version {VERSION}.",
                     fix=UPGRADE_FIX)  # fmt: skip
    if version not in READABLE_VERSIONS or isinstance(version, bool):
        raise _invalid("version", version, f"one of {', '.join(map(str, READABLE_VERSIONS))}")
    at = told.get("created_at")
    return Header(
        identifiers.validate_namespace(told.get("namespace")), identifiers.validate_profile(told.get("profile")),
        None if at is None else parse_moment(at, "created_at"), _flag(told.get("vectors", False), "vectors"),
        counts(told), version,
    )  # fmt: skip


def counts(told: Mapping[str, Any]) -> dict[str, int]:
    given = told.get("counts")
    if not isinstance(given, dict) or not set(given) <= set(COUNT_NAMES):
        raise _invalid("counts", given, f"an object with {', '.join(COUNT_NAMES)}")
    return {name: _number(given.get(name, 0), f"counts.{name}", 0) for name in COUNT_NAMES}


def message(told: Mapping[str, Any]) -> ArchivedItem:
    found = _validated_item(Message, told)
    if found.role not in ROLES:
        raise _invalid("role", found.role, f"one of {', '.join(ROLES)}")
    if found.position < 1:
        raise _invalid("position", found.position, "1 or more")
    if found.pending and found.aside:
        raise _invalid("aside", True, "false for a message that is pending")
    if not 0 <= found.failures <= MAX_FAILURES:
        raise _invalid("failures", found.failures, f"0 to {MAX_FAILURES:,}")
    if found.aside and not found.failures:
        raise _invalid("failures", 0, "1 or more for a message that was set aside")
    return _archived_item(found, told)


def memory(told: Mapping[str, Any]) -> ArchivedItem:
    found = _memory(told)
    if found.superseded_by is not None and identifiers.split_reference(found.superseded_by)[1] is None:
        raise _invalid("superseded_by", found.superseded_by, "a version of a memory, such as X@2")
    return _archived_item(found, told)


def unversioned_memory(told: Mapping[str, Any]) -> ArchivedItem:
    """A memory of format 1, where `superseded_by` is an id."""
    found = _memory(told)
    if found.superseded_by == found.id:
        raise _invalid("superseded_by", found.superseded_by, "another memory's id")
    return _archived_item(found, told)


def _memory(told: Mapping[str, Any]) -> Memory:
    found = _validated_item(Memory, told)
    identifiers.validate_kind(found.kind)
    validate_value(found.value)
    if found.version < 1:
        raise _invalid("version", found.version, "1 or more")
    for name, id in (("id", found.id), ("origin", found.origin)):
        if id is not None and identifiers.split_reference(id)[1] is not None:
            raise _invalid(name, id, "an id without a version")
    return found


def setting(told: Mapping[str, Any]) -> tuple[str, Any]:
    _refuse_unknown_fields(told, ("type", "name", "value"))
    if told.get("value") is None:
        raise _invalid("value", None, "a value")
    name = identifiers.validate_text(told.get("name"), "name", limit=limits.MAX_PROFILE_BYTES)
    if not is_portable_setting(name):
        raise _invalid("name", name, "a setting of the profile's owner")
    value = _json(told["value"], "value")
    try:
        _validate_setting(name, value)
    except InvalidInput as wrong:
        raise InvalidLine(str(wrong), field="value") from wrong
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _invalid("value", value, f"a valid value of {name!r}") from None
    return name, value


def _validate_setting(name: str, value: Json) -> None:
    """Validate a setting as the code that uses it does: an invalid setting would stop digestion."""
    if name == retention.SETTING:
        retention.parse_policy(value)
    elif name == summaries.SETTING:
        summaries.parse_cadence(value)
    elif name.startswith(versions.SETTING_PREFIX):
        kind = versions.registered_kinds({name: value})[name.removeprefix(versions.SETTING_PREFIX)]
        kind.wrong(kind.current, None, {})


def usage(told: Mapping[str, Any]) -> Spent:
    _refuse_unknown_fields(told, ("type", *USAGE_FIELDS))
    texts = [identifiers.validate_text(told.get(name), name, limit=limits.MAX_KEY_BYTES) for name in USAGE_FIELDS[:3]]
    numbers = [_number(told.get(name), name, 0) for name in USAGE_FIELDS[3:]]
    return Spent(*texts, *numbers)  # type: ignore[arg-type]


def document(told: Mapping[str, Any]) -> Document:
    found = _validated_item(Document, told)
    if not DOCUMENT_ID.fullmatch(found.id):
        raise _invalid("id", found.id, "doc- and 32 hexadecimal digits")
    for session in (found.session_id, *found.stale):
        if not re.fullmatch(rf"{found.id}\.[1-9][0-9]{{0,9}}", session):
            raise _invalid("session_id", session, f"{found.id}. and a number")
    if found.state not in STATES or found.stage not in STAGES:
        raise _invalid("state", f"{found.state}, {found.stage}", f"of {', '.join(STATES)}, and {', '.join(STAGES)}")
    if not 0 <= found.percent <= 100 or min(found.chunks, found.tries, found.bytes, found.version) < 0:
        raise _invalid("percent", found.percent, "0 to 100, and no count negative")
    return found


def piece(told: Mapping[str, Any]) -> tuple[str, int, bytes]:
    """Return the document's id, the number of the piece, and its bytes."""
    _refuse_unknown_fields(told, ("type", "document", "number", "data"))
    try:
        data = base64.b64decode(
            identifiers.validate_text(told.get("data"), "data", limit=2 * PIECE_BYTES), validate=True
        )
    except ValueError:
        raise _invalid("data", told.get("data"), "base64") from None
    if len(data) > PIECE_BYTES:
        raise _invalid("data", f"{len(data):,} bytes", f"{PIECE_BYTES:,} bytes at most")
    return _name(told.get("document"), "document"), _number(told.get("number"), "number", 0), data


def _archived_item(item: Item, told: Mapping[str, Any]) -> ArchivedItem:
    embed = _flag(told.get("embed", True), "embed")
    given = told.get("parts")
    if given is None:
        return ArchivedItem(item, embed)
    if not isinstance(given, list):
        raise _invalid("parts", given, "a list")
    both = [_part_of(item, n, each) for n, each in enumerate(given)]
    return ArchivedItem(item, embed, tuple(part for part, _ in both), tuple(v for _, v in both if v is not None))


def _part_of(item: Item, n: int, given: Any) -> tuple[Part, Vector | None]:
    field = f"parts[{n}]"
    if not isinstance(given, list) or len(given) != 6:
        raise _invalid(field, given, "[number, start, stop, embed, model, vector]")
    number, start, stop, embed, model, data = given
    part = Part(item.ref, _number(number, field, 0), _number(start, field, 0), _number(stop, field, 0),
                embed=_flag(embed, field))  # fmt: skip
    if part.number != n or not part.start <= part.stop <= len(item.content):
        raise _invalid(field, given[:3], "parts in order, within the text")
    if model is None and data is None:
        return part, None
    name = identifiers.validate_text(model, field, limit=limits.MAX_KEY_BYTES)
    try:
        steps = base64.b64decode(identifiers.validate_text(data, field, limit=limits.MAX_TEXT_BYTES), validate=True)
    except ValueError:
        raise _invalid(field, data, "a vector in base64") from None
    if not steps or len(steps) % 2 or len(steps) > 2 * MAX_DIMENSIONS:
        raise _invalid(field, f"{len(steps)} bytes", "16-bit steps")
    return part, Vector(item.ref, n, name, vector_of_bytes([steps])[0])


@dataclass(frozen=True, slots=True)
class LineRules:
    """The rules for lines of one type: a check for each field, the required fields, and all allowed names."""

    checks: Mapping[str, Check]
    required: frozenset[str]
    names: frozenset[str]


def _rules(kind: type, *more: str, without: Collection[str] = ()) -> LineRules:
    """Derive the rules from a dataclass: a field is checked by its name if it has a stricter rule, otherwise by its
    type."""
    own: dict[str, Check] = {
        "id": _name, "content": _content, "session_id": _session(kind), "metadata": _metadata,
        "key": _optional(_key), "agent": _optional(_name), "speaker": _optional(_name),
    }  # fmt: skip
    checks = {name: own.get(name) or _by_type(hint) for name, hint in field_types(kind).items()}
    return LineRules(checks, required_fields(kind), (frozenset(checks) - set(without)) | {"type", *more})


def _validated_item(kind: type[T], told: Mapping[str, Any]) -> T:
    rules = _RULES[kind]
    _refuse_unknown_fields(told, rules.names)
    given = {}
    for name, check in rules.checks.items():
        if name in told:
            given[name] = check(told[name], name)
        elif name in rules.required:
            raise InvalidLine("it is missing", field=name)
    found: T = kind(**given)
    return found


def _session(kind: type) -> Check:
    checked: Check = lambda value, field: identifiers.validate_session(value)  # noqa: E731
    return _optional(checked) if kind is Memory else checked


def _by_type(hint: Any) -> Check:
    known: dict[Any, Check] = {
        str: _text, str | None: _optional(_text), int: _number, float: _real, bool: _flag, datetime: parse_moment,
        int | None: _optional(_number), float | None: _optional(_real), dict[str, float]: _reals,
        datetime | None: _optional(parse_moment), tuple[str, ...]: _texts, dict[str, Json]: _object, Json: _json,
    }  # fmt: skip
    return known[hint]


def _refuse_unknown_fields(told: Mapping[str, Any], allowed: Collection[str]) -> None:
    for name in told:
        if name not in allowed:
            raise InvalidLine("this version of the format does not have it", field=name)


def _text(value: Any, field: str) -> str:
    """Validate a text that may be empty. It gets one letter in front, since `validate_text` refuses empty texts."""
    if not isinstance(value, str):
        raise _invalid(field, value, "text")
    return identifiers.validate_text(f"x{value}", field, limit=limits.MAX_TEXT_BYTES)[1:]


def _content(value: Any, field: str) -> str:
    return identifiers.validate_text(value, field, limit=limits.MAX_CONTENT_BYTES)


def _name(value: Any, field: str) -> str:
    return identifiers.validate_text(value, field, limit=limits.MAX_PROFILE_BYTES)


def _key(value: Any, field: str) -> str:
    return identifiers.validate_text(value, field, limit=limits.MAX_KEY_BYTES)


def _number(value: Any, field: str, least: int = -(2**62)) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**62:
        raise _invalid(field, value, "a whole number" if least < 0 else f"a whole number of at least {least}")
    return value


def _real(value: Any, field: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _invalid(field, value, "a number")
    return float(value)


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise _invalid(field, value, "true or false")
    return value


def _texts(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _invalid(field, value, "a list of texts")
    return tuple(_text(each, f"{field}[{n}]") for n, each in enumerate(value))


def _reals(value: Any, field: str) -> dict[str, float]:
    return {name: _real(each, f"{field}.{name}") for name, each in _object(value, field).items()}


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _invalid(field, value, "an object")
    checked: dict[str, Any] = _json(value, field)
    return checked


def _metadata(value: Any, field: str) -> dict[str, Any]:
    """Validate metadata as every interface does, without the ids that a summary covers, which are ours and many."""
    given = _object(value, field)
    validate_metadata({name: each for name, each in given.items() if name != COVERED_FIELD}, field)
    return given


def _json(value: Json, field: str) -> Json:
    json_text(value, field, limit=limits.MAX_TEXT_BYTES)
    return value


def _optional(check: Check) -> Check:
    return lambda value, field: None if value is None else check(value, field)


def _invalid(field: str, value: Any, wanted: str) -> InvalidLine:
    return InvalidLine(f"it is {quoted_value(value)} and should be {wanted}", field=field)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_RULES: dict[type, LineRules] = {
    Message: _rules(Message, "embed", "parts"),
    Memory: _rules(Memory, "embed", "parts"),
    Document: _rules(Document, without=COMPUTED_FIELDS),
}
