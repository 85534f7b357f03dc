"""Pure: changes one entry of a JSON or TOML text and keeps every other byte, comments included.

Each change is checked: the new text, parsed again, must have the old values and the new one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_GAP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_JSON_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|.", re.S)
_JSON_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
KeyPath = tuple[str, ...]


class ConfigEditError(Exception):
    """The text cannot be parsed or changed safely; the message says where."""


@dataclass(slots=True)
class JsonNode:
    start: int
    end: int
    value: Any
    children: list[JsonChild] = field(default_factory=list)


@dataclass(slots=True)
class JsonChild:
    key: str | None
    start: int
    node: JsonNode


def parse_json_with_comments(text: str) -> JsonNode:
    """Parse JSON with comments and trailing commas, with the position of each value."""
    try:
        node = _parse_value(text, _skip(text, 0))
        if _skip(text, node.end) != len(text):
            raise ConfigEditError(_error_position(text, _skip(text, node.end), "unexpected text after the value"))
    except RecursionError:
        raise ConfigEditError("it is nested too deeply") from None
    return node


def _parse_value(text: str, at: int) -> JsonNode:
    sign = text[at : at + 1]
    if sign == '"':
        found, end = _parse_string(text, at)
        return JsonNode(at, end, found)
    if sign in ("{", "["):
        return _parse_container(text, at, "}" if sign == "{" else "]")
    plain = _JSON_SCALAR.match(text, at)
    if plain is None:
        raise ConfigEditError(_error_position(text, at, "a value is expected"))
    return JsonNode(at, plain.end(), json.loads(plain[0]))


def _parse_container(text: str, at: int, close: str) -> JsonNode:
    children: list[JsonChild] = []
    here = _skip(text, at + 1)
    while text[here : here + 1] != close:
        start, key = here, None
        if close == "}":
            if text[here : here + 1] != '"':
                raise ConfigEditError(_error_position(text, here, "a name in quotes or } is expected"))
            key, here = _parse_string(text, here)
            here = _expect(text, _skip(text, here), ":")
        node = _parse_value(text, _skip(text, here))
        children.append(JsonChild(key, start, node))
        here = _skip(text, node.end)
        if text[here : here + 1] != close:
            here = _skip(text, _expect(text, here, ","))
    if close == "]":
        return JsonNode(at, here + 1, [child.node.value for child in children], children)
    return JsonNode(at, here + 1, {child.key: child.node.value for child in children}, children)


def _parse_string(text: str, at: int) -> tuple[str, int]:
    try:
        found, end = scanstring(text, at + 1, True)
    except ValueError as bad:
        raise ConfigEditError(_error_position(text, at, str(bad).partition(":")[0])) from None
    return found, end


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ConfigEditError(_error_position(text, at, f"{sign} is expected"))
    return at + 1


def _error_position(text: str, at: int, what: str) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {what}"


def value_at(text: str, path: KeyPath) -> Any:
    """The value at a path, or None."""
    value = parse_json_with_comments(text).value if text.strip() else {}
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def with_value(text: str, path: KeyPath, value: Any) -> str:
    """The text with this value at the path; missing objects on the path are added."""
    text = text if text.strip() else "{}\n"
    node, wanted = _parse_object(text), deepcopy(parse_json_with_comments(text).value)
    _set_nested_value(wanted, path, value)
    for depth, key in enumerate(path):
        child = next((each for each in reversed(node.children) if each.key == key), None)
        if child is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _verified_json(_with_member(text, node, depth + 1, key, value), wanted)
        node = child.node
    new = text[: node.start] + _indented_json(text, value, len(path)) + text[node.end :]
    return _verified_json(new, wanted)


def with_item(text: str, path: KeyPath, item: Any) -> str:
    """The text with this item at the end of the list at the path."""
    current = value_at(text, path)
    if current is None:
        return with_value(text, path, [item])
    if not isinstance(current, list):
        raise ConfigEditError(f"{'.'.join(path)} is not a list")
    wanted = deepcopy(parse_json_with_comments(text).value)
    _nested_value(wanted, path).append(item)
    return _verified_json(
        _with_member(text, _node_at(parse_json_with_comments(text), path), len(path) + 1, None, item), wanted
    )


def without_children(text: str, path: KeyPath, drop: Callable[[JsonChild], bool]) -> str:
    """The text without the members or items that `drop` selects, in the container at the path."""
    while isinstance(value_at(text, path), dict | list):
        node = _node_at(parse_json_with_comments(text), path)
        n = next((n for n, child in enumerate(node.children) if drop(child)), None)
        if n is None:
            break
        text = _without_child(text, node, n)
        parse_json_with_comments(text)
    return text


def _parse_object(text: str) -> JsonNode:
    node = parse_json_with_comments(text)
    if not isinstance(node.value, dict):
        raise ConfigEditError("it is not an object")
    return node


def _node_at(node: JsonNode, path: KeyPath) -> JsonNode:
    for key in path:
        node = next(child.node for child in reversed(node.children) if child.key == key)
    return node


def _nested_value(value: Any, path: KeyPath) -> Any:
    for key in path:
        value = value[key]
    return value


def _set_nested_value(value: Any, path: KeyPath, new: Any) -> None:
    for n, key in enumerate(path[:-1]):
        value = value.setdefault(key, {})
        if not isinstance(value, dict):
            raise ConfigEditError(f"{'.'.join(path[: n + 1])} is not an object")
    value[path[-1]] = new


def _verified_json(text: str, wanted: Any) -> str:
    if parse_json_with_comments(text).value != wanted:
        raise ConfigEditError("it cannot be changed without losing data")
    return text


def _with_member(text: str, node: JsonNode, depth: int, key: str | None, value: Any) -> str:
    newline, unit = _newline(text), _indent_unit(text)
    member = (f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else "") + _indented_json(
        text, value, depth
    )
    after = node.children[-1].node.end if node.children else node.start + 1
    gap = text[after : node.end - 1]
    comma = _comma_offset(gap)
    lead = "," if node.children and comma is None else ""
    around = newline + unit * depth, newline + unit * (depth - 1)
    trailing = "," if node.children and comma is not None else ""  # the style of this file
    return text[:after] + lead + gap.rstrip() + around[0] + member + trailing + around[1] + text[node.end - 1 :]


def _without_child(text: str, node: JsonNode, n: int) -> str:
    child, last = node.children[n], n == len(node.children) - 1
    end = child.node.end
    following = text[end : node.end - 1 if last else node.children[n + 1].start]
    comma = _comma_offset(following)
    if comma is not None:
        end += comma + 1
    start = child.start - (len(text[: child.start]) - len(text[: child.start].rstrip()))
    before = text[:start]
    if last and comma is None and n > 0:  # the comma before it would be left over
        previous = node.children[n - 1].node.end
        at = _comma_offset(text[previous : child.start])
        if at is not None:
            before = text[: previous + at] + text[previous + at + 1 : start]
    return before + text[end:]


def _comma_offset(gap: str) -> int | None:
    return next((part.start() for part in _JSON_TOKEN.finditer(gap) if part[0] == ","), None)


def _indented_json(text: str, value: Any, depth: int) -> str:
    unit = _indent_unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + unit * depth).join(lines)


def _indent_unit(text: str) -> str:
    indent = re.search(r"^\{\s*?\n([ \t]+)\S", text.lstrip("\ufeff"))
    return indent[1] if indent else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def toml_table(text: str, path: KeyPath) -> Any:
    """The TOML table at a path, or None."""
    try:
        value: Any = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as bad:
        raise ConfigEditError(str(bad)) from None
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def with_toml_table(text: str, path: KeyPath, value: dict[str, Any]) -> str:
    """The TOML with this table in its old position, or at the end."""
    wanted = toml_table(text, ())
    _set_nested_value(wanted, path, value)
    block = _toml_block(path, value).replace("\n", _newline(text))
    span = _table_span(text, path)
    if span is not None:
        start, end = span
        new = text[:start] + block + (_newline(text) if text[end:].strip() else "") + text[end:]
    else:
        body = text.rstrip()
        new = (body + _newline(text) * 2 if body else "") + block
    return _verified_toml(new, wanted)


def without_toml_table(text: str, path: KeyPath) -> str:
    wanted = toml_table(text, ())
    if toml_table(text, path) is None:
        return text
    del _nested_value(wanted, path[:-1])[path[-1]]
    span = _table_span(text, path)
    if span is None:
        raise ConfigEditError(f"{'.'.join(path)} is not a table of its own")
    start, end = span
    rest = text[end:].lstrip()
    new = text[:start].rstrip() + _newline(text) * (2 if rest and text[:start].strip() else 1) + rest
    return _verified_toml(new if new.strip() else "", wanted, empty=path[:-1])


def _table_span(text: str, path: KeyPath) -> tuple[int, int] | None:
    """The span from the table's header to the next header that is not a subtable of it."""
    name = re.escape(".".join(path))
    header = re.search(rf"^[ \t]*\[{name}\]", text, re.M)
    if header is None:
        return None
    after = next(
        (
            h
            for h in re.compile(r"^[ \t]*\[", re.M).finditer(text, header.end())
            if not _is_subtable(text, h.start(), path)
        ),
        None,
    )
    end = after.start() if after else len(text)
    body = text[header.start() : end]
    comments = re.search(
        r"(?:\r?\n[ \t]*(?:#[^\n]*)?)*\s*\Z", body
    )  # comments above the next header belong to that header
    return header.start(), header.start() + (
        comments.start() + 1 if after and comments and comments[0].strip() else len(body)
    )


def _is_subtable(text: str, at: int, path: KeyPath) -> bool:
    return re.match(rf"[ \t]*\[{re.escape('.'.join(path))}\.", text[at:]) is not None


def _toml_block(path: KeyPath, value: dict[str, Any]) -> str:
    lines = [f"[{'.'.join(path)}]"]
    for key, entry in value.items():
        if isinstance(entry, dict):
            inner = ", ".join(f"{name} = {_toml_string(each)}" for name, each in entry.items())
            lines.append(f"{key} = {{ {inner} }}")
        elif isinstance(entry, list):
            lines.append(f"{key} = [{', '.join(map(_toml_string, entry))}]")
        else:
            lines.append(f"{key} = {_toml_string(entry)}")
    return "\n".join(lines) + "\n"


def _toml_string(value: Any) -> str:
    """A JSON string is a TOML string, except that TOML needs DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _verified_toml(text: str, wanted: Any, empty: KeyPath = ()) -> str:
    found = toml_table(text, ())
    if empty and not _nested_value(wanted, empty):  # a table that had only our entry is removed with it
        wanted = {key: value for key, value in wanted.items() if key != empty[0]}
    if found != wanted:
        raise ConfigEditError("it cannot be changed without losing data")
    return text
