"""Lines of an archive → values, or a refusal that names the field. Nothing is written before every line has passed."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any, TypeVar, get_type_hints

from . import kinds, names, retention, rollup
from .archive import COMPUTED, COUNTED, FORMAT, USAGE, VERSION, Carried, Header
from .errors import InvalidInput, TooNew, shown
from .ingest import json_text
from .moments import moment
from .records import travels
from .results import Document
from .spending import Spent
from .stored import PIECE
from .types import ROLES, Item, Json, Memory, Message, Part, Vector
from .vectors import unpacked

TEXT_BYTES = 1_048_576
DIMENSIONS = 65_536
FAILURES = 1_000
STATES, STAGES = ("waiting", "done", "failed"), ("fetching", "reading", "digesting", "done")
DOCUMENT = re.compile(r"doc-[0-9a-f]{32}")
T = TypeVar("T", Message, Memory, Document)
Check = Callable[[Any, str], Any]


class Wrong(InvalidInput):
    """What a line says breaks a rule; whoever reads the file knows its number."""


def value_of(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as bad:
        raise Wrong(f"it is not UTF-8 at byte {bad.start}") from None
    except RecursionError:
        raise Wrong("it is nested too deeply") from None
    except ValueError as bad:
        raise Wrong(f"it is not JSON: {bad}") from None
    if not isinstance(found, dict):
        raise Wrong(f"it is {shown(found)}, not an object")
    return found


def header(told: Mapping[str, Any]) -> Header:
    if told.get("format") != FORMAT:
        raise Wrong("it is not the header of a Holdfast archive", field="format")
    version = told.get("version")
    if isinstance(version, int) and version > VERSION:
        raise TooNew(f"The archive is of version {version} and this Holdfast reads version {VERSION}.",
                     fix="Upgrade with: pip install -U holdfast")  # fmt: skip
    if version != VERSION:
        raise _wrong("version", version, f"{VERSION}")
    at = told.get("created_at")
    return Header(
        names.namespace(told.get("namespace")), names.profile(told.get("profile")),
        None if at is None else moment(at, "created_at"), _flag(told.get("vectors", False), "vectors"), counts(told),
    )  # fmt: skip


def counts(told: Mapping[str, Any]) -> dict[str, int]:
    given = told.get("counts")
    if not isinstance(given, dict) or not set(given) <= set(COUNTED):
        raise _wrong("counts", given, f"an object with {', '.join(COUNTED)}")
    return {name: _number(given.get(name, 0), f"counts.{name}", 0) for name in COUNTED}


def message(told: Mapping[str, Any]) -> Carried:
    found = _read(Message, told)
    if found.role not in ROLES:
        raise _wrong("role", found.role, f"one of {', '.join(ROLES)}")
    if found.position < 1:
        raise _wrong("position", found.position, "1 or more")
    if found.pending and found.aside:
        raise _wrong("aside", True, "false for a message that is pending")
    if not 0 <= found.failures <= FAILURES:
        raise _wrong("failures", found.failures, f"0 to {FAILURES:,}")
    if found.aside and not found.failures:
        raise _wrong("failures", 0, "1 or more for a message that was set aside")
    return _carried(found, told)


def memory(told: Mapping[str, Any]) -> Carried:
    found = _read(Memory, told)
    names.kind(found.kind)
    if found.version < 1:
        raise _wrong("version", found.version, "1 or more")
    if found.superseded_by == found.id:
        raise _wrong("superseded_by", found.superseded_by, "another memory's id")
    return _carried(found, told)


def setting(told: Mapping[str, Any]) -> tuple[str, Any]:
    _known(told, ("type", "name", "value"))
    if told.get("value") is None:
        raise _wrong("value", None, "something")
    name = names.text(told.get("name"), "name", limit=names.PROFILE_BYTES)
    if not travels(name):
        raise _wrong("name", name, "one that a profile's owner lays down")
    value = _json(told["value"], "value")
    try:
        _lay_down(name, value)
    except InvalidInput as wrong:
        raise Wrong(str(wrong), field="value") from wrong
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _wrong("value", value, f"what {name!r} lays down") from None
    return name, value


def _lay_down(name: str, value: Json) -> None:
    """As its reader will: one that nobody can read would stop digestion."""
    if name == retention.SETTING:
        retention.policy(value)
    elif name == rollup.SETTING:
        rollup.cadence(value)
    elif name.startswith(kinds.PREFIX):
        kind = kinds.opened({name: value})[name.removeprefix(kinds.PREFIX)]
        kind.wrong(kind.current, None, {})


def usage(told: Mapping[str, Any]) -> Spent:
    _known(told, ("type", *USAGE))
    texts = [names.text(told.get(name), name, limit=names.KEY_BYTES) for name in USAGE[:3]]
    numbers = [_number(told.get(name), name, 0) for name in USAGE[3:]]
    return Spent(*texts, *numbers)  # type: ignore[arg-type]


def document(told: Mapping[str, Any]) -> Document:
    found = _read(Document, told, ("type",))
    if not DOCUMENT.fullmatch(found.id):
        raise _wrong("id", found.id, "doc- and 32 hexadecimal digits")
    for session in (found.session_id, *found.stale):
        if not re.fullmatch(rf"{found.id}\.[1-9][0-9]{{0,9}}", session):
            raise _wrong("session_id", session, f"{found.id}. and a number")
    if found.state not in STATES or found.stage not in STAGES:
        raise _wrong("state", f"{found.state}, {found.stage}", f"of {', '.join(STATES)}, and {', '.join(STAGES)}")
    if not 0 <= found.percent <= 100 or min(found.chunks, found.tries, found.bytes, found.version) < 0:
        raise _wrong("percent", found.percent, "0 to 100, and no count negative")
    return found


def piece(told: Mapping[str, Any]) -> tuple[str, int, bytes]:
    """A document's id, the piece's number, and its bytes."""
    _known(told, ("type", "document", "number", "data"))
    try:
        data = base64.b64decode(names.text(told.get("data"), "data", limit=2 * PIECE), validate=True)
    except ValueError:
        raise _wrong("data", told.get("data"), "base64") from None
    if len(data) > PIECE:
        raise _wrong("data", f"{len(data):,} bytes", f"{PIECE:,} bytes at most")
    return _name(told.get("document"), "document"), _number(told.get("number"), "number", 0), data


def _carried(item: Item, told: Mapping[str, Any]) -> Carried:
    embed = _flag(told.get("embed", True), "embed")
    given = told.get("parts")
    if given is None:
        return Carried(item, embed)
    if not isinstance(given, list):
        raise _wrong("parts", given, "a list")
    both = [_part_of(item, n, each) for n, each in enumerate(given)]
    return Carried(item, embed, tuple(part for part, _ in both), tuple(v for _, v in both if v is not None))


def _part_of(item: Item, n: int, given: Any) -> tuple[Part, Vector | None]:
    field = f"parts[{n}]"
    if not isinstance(given, list) or len(given) != 6:
        raise _wrong(field, given, "[number, start, stop, embed, model, vector]")
    number, start, stop, embed, model, data = given
    part = Part(item.id, _number(number, field, 0), _number(start, field, 0), _number(stop, field, 0),
                embed=_flag(embed, field))  # fmt: skip
    if part.number != n or not part.start <= part.stop <= len(item.content):
        raise _wrong(field, given[:3], "parts in order, within the text")
    if model is None and data is None:
        return part, None
    name = names.text(model, field, limit=names.KEY_BYTES)
    try:
        steps = base64.b64decode(names.text(data, field, limit=TEXT_BYTES), validate=True)
    except ValueError:
        raise _wrong(field, data, "a vector in base64") from None
    if not steps or len(steps) % 2 or len(steps) > 2 * DIMENSIONS:
        raise _wrong(field, f"{len(steps)} bytes", "16-bit steps")
    return part, Vector(item.id, n, name, unpacked([steps])[0])


def _read(kind: type[T], told: Mapping[str, Any], more: Collection[str] = ("type", "embed", "parts")) -> T:
    checks: dict[str, Check] = _CHECKS[kind]
    _known(told, (checks.keys() - set(COMPUTED if kind is Document else ())) | set(more))
    given = {}
    for field in fields(kind):
        if field.name in told:
            given[field.name] = checks[field.name](told[field.name], field.name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise Wrong("it is missing", field=field.name)
    found: T = kind(**given)
    return found


def _checks(kind: type) -> dict[str, Check]:
    """By a field's name where more is asked of it than its type says."""
    hints = get_type_hints(kind)
    own: dict[str, Check] = {"id": _name, "content": _content, "session_id": _session(kind)}
    return {field.name: own.get(field.name) or _by_type(hints[field.name]) for field in fields(kind)}


def _session(kind: type) -> Check:
    checked: Check = lambda value, field: names.session(value)  # noqa: E731
    return _maybe(checked) if kind is Memory else checked


def _by_type(hint: Any) -> Check:
    known: dict[Any, Check] = {
        str: _text, str | None: _maybe(_text), int: _number, float: _real, bool: _flag, datetime: moment,
        int | None: _maybe(_number), dict[str, float]: _reals,
        datetime | None: _maybe(moment), tuple[str, ...]: _texts, dict[str, Json]: _object, Json: _json,
    }  # fmt: skip
    return known[hint]


def _known(told: Mapping[str, Any], allowed: Collection[str]) -> None:
    for name in told:
        if name not in allowed:
            raise Wrong("this version of the format does not have it", field=name)


def _text(value: Any, field: str) -> str:
    """Any text, also none; what is asked of all texts is asked of it with one letter before it."""
    if not isinstance(value, str):
        raise _wrong(field, value, "text")
    return names.text(f"x{value}", field, limit=TEXT_BYTES)[1:]


def _content(value: Any, field: str) -> str:
    return names.text(value, field, limit=TEXT_BYTES)


def _name(value: Any, field: str) -> str:
    return names.text(value, field, limit=names.PROFILE_BYTES)


def _number(value: Any, field: str, least: int = -(2**62)) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**62:
        raise _wrong(field, value, "a whole number" if least < 0 else f"a whole number of at least {least}")
    return value


def _real(value: Any, field: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _wrong(field, value, "a number")
    return float(value)


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field, value, "true or false")
    return value


def _texts(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(field, value, "a list of texts")
    return tuple(_text(each, f"{field}[{n}]") for n, each in enumerate(value))


def _reals(value: Any, field: str) -> dict[str, float]:
    return {name: _real(each, f"{field}.{name}") for name, each in _object(value, field).items()}


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(field, value, "an object")
    checked: dict[str, Any] = _json(value, field)
    return checked


def _json(value: Json, field: str) -> Json:
    json_text(value, field, limit=TEXT_BYTES)
    return value


def _maybe(check: Check) -> Check:
    return lambda value, field: None if value is None else check(value, field)


def _wrong(field: str, value: Any, wanted: str) -> Wrong:
    return Wrong(f"it is {shown(value)} and should be {wanted}", field=field)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON's")


_CHECKS: dict[type, dict[str, Check]] = {kind: _checks(kind) for kind in (Message, Memory, Document)}
