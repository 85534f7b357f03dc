"""Pure: change one entry of a JSON or TOML text and leave every other byte as it is, comments included.

Each change is checked: the new text, read again, must hold the old values and the one that was meant.
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
_PART = re.compile(r"//[^\n]*|/\*.*?\*/|.", re.S)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
Path = tuple[str, ...]


class Broken(Exception):
    """The text is not what its file should hold; says where."""


@dataclass(slots=True)
class Node:
    start: int
    end: int
    value: Any
    children: list[Child] = field(default_factory=list)


@dataclass(slots=True)
class Child:
    key: str | None
    start: int
    node: Node


def parsed(text: str) -> Node:
    """JSON with comments and trailing commas, and where each value stands."""
    try:
        node = _value(text, _skip(text, 0))
        if _skip(text, node.end) != len(text):
            raise Broken(_where(text, _skip(text, node.end), "something follows the value"))
    except RecursionError:
        raise Broken("it is nested too deeply") from None
    return node


def _value(text: str, at: int) -> Node:
    sign = text[at : at + 1]
    if sign == '"':
        found, end = _string(text, at)
        return Node(at, end, found)
    if sign in ("{", "["):
        return _container(text, at, "}" if sign == "{" else "]")
    plain = _PLAIN.match(text, at)
    if plain is None:
        raise Broken(_where(text, at, "a value is expected"))
    return Node(at, plain.end(), json.loads(plain[0]))


def _container(text: str, at: int, close: str) -> Node:
    children: list[Child] = []
    here = _skip(text, at + 1)
    while text[here : here + 1] != close:
        start, key = here, None
        if close == "}":
            if text[here : here + 1] != '"':
                raise Broken(_where(text, here, "a name in quotes or } is expected"))
            key, here = _string(text, here)
            here = _expect(text, _skip(text, here), ":")
        node = _value(text, _skip(text, here))
        children.append(Child(key, start, node))
        here = _skip(text, node.end)
        if text[here : here + 1] != close:
            here = _skip(text, _expect(text, here, ","))
    if close == "]":
        return Node(at, here + 1, [child.node.value for child in children], children)
    return Node(at, here + 1, {child.key: child.node.value for child in children}, children)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        found, end = scanstring(text, at + 1, True)
    except ValueError as bad:
        raise Broken(_where(text, at, str(bad).partition(":")[0])) from None
    return found, end


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise Broken(_where(text, at, f"{sign} is expected"))
    return at + 1


def _where(text: str, at: int, what: str) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {what}"


def held(text: str, path: Path) -> Any:
    """The value there, or None."""
    value = parsed(text).value if text.strip() else {}
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def put(text: str, path: Path, value: Any) -> str:
    """The text with this value there; what is missing on the way is made."""
    text = text if text.strip() else "{}\n"
    node, wanted = _checked_root(text), deepcopy(parsed(text).value)
    _set(wanted, path, value)
    for depth, key in enumerate(path):
        child = next((each for each in reversed(node.children) if each.key == key), None)
        if child is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _same(_inserted(text, node, depth + 1, key, value), wanted)
        node = child.node
    new = text[: node.start] + _written(text, value, len(path)) + text[node.end :]
    return _same(new, wanted)


def append(text: str, path: Path, item: Any) -> str:
    """The text with this item at the end of the list there."""
    there = held(text, path)
    if there is None:
        return put(text, path, [item])
    if not isinstance(there, list):
        raise Broken(f"{'.'.join(path)} is no list")
    wanted = deepcopy(parsed(text).value)
    _get(wanted, path).append(item)
    return _same(_inserted(text, _at(parsed(text), path), len(path) + 1, None, item), wanted)


def without(text: str, path: Path, drop: Callable[[Child], bool]) -> str:
    """The text without those members or items of the container there."""
    while isinstance(held(text, path), dict | list):
        node = _at(parsed(text), path)
        n = next((n for n, child in enumerate(node.children) if drop(child)), None)
        if n is None:
            break
        text = _removed(text, node, n)
        parsed(text)
    return text


def _checked_root(text: str) -> Node:
    node = parsed(text)
    if not isinstance(node.value, dict):
        raise Broken("it holds no object")
    return node


def _at(node: Node, path: Path) -> Node:
    for key in path:
        node = next(child.node for child in reversed(node.children) if child.key == key)
    return node


def _get(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _set(value: Any, path: Path, new: Any) -> None:
    for n, key in enumerate(path[:-1]):
        value = value.setdefault(key, {})
        if not isinstance(value, dict):
            raise Broken(f"{'.'.join(path[: n + 1])} is no object")
    value[path[-1]] = new


def _same(text: str, wanted: Any) -> str:
    if parsed(text).value != wanted:
        raise Broken("it cannot be changed without losing something")
    return text


def _inserted(text: str, node: Node, depth: int, key: str | None, value: Any) -> str:
    newline, unit = _newline(text), _unit(text)
    member = (f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else "") + _written(text, value, depth)
    after = node.children[-1].node.end if node.children else node.start + 1
    gap = text[after : node.end - 1]
    comma = _comma(gap)
    lead = "," if node.children and comma is None else ""
    around = newline + unit * depth, newline + unit * (depth - 1)
    trailing = "," if node.children and comma is not None else ""  # as the writer of this file likes it
    return text[:after] + lead + gap.rstrip() + around[0] + member + trailing + around[1] + text[node.end - 1 :]


def _removed(text: str, node: Node, n: int) -> str:
    child, last = node.children[n], n == len(node.children) - 1
    end = child.node.end
    following = text[end : node.end - 1 if last else node.children[n + 1].start]
    comma = _comma(following)
    if comma is not None:
        end += comma + 1
    start = child.start - (len(text[: child.start]) - len(text[: child.start].rstrip()))
    before = text[:start]
    if last and comma is None and n > 0:  # the comma before it would be one too many
        previous = node.children[n - 1].node.end
        at = _comma(text[previous : child.start])
        if at is not None:
            before = text[: previous + at] + text[previous + at + 1 : start]
    return before + text[end:]


def _comma(gap: str) -> int | None:
    return next((part.start() for part in _PART.finditer(gap) if part[0] == ","), None)


def _written(text: str, value: Any, depth: int) -> str:
    unit = _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + unit * depth).join(lines)


def _unit(text: str) -> str:
    indent = re.search(r"^\{\s*?\n([ \t]+)\S", text.lstrip("\ufeff"))
    return indent[1] if indent else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def table(text: str, path: Path) -> Any:
    """The TOML table there, or None."""
    try:
        value: Any = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as bad:
        raise Broken(str(bad)) from None
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put_table(text: str, path: Path, value: dict[str, Any]) -> str:
    """The TOML with this table at its end, or where it stood."""
    wanted = table(text, ())
    _set(wanted, path, value)
    block = _toml(path, value).replace("\n", _newline(text))
    stood = _stands(text, path)
    if stood is not None:
        start, end = stood
        new = text[:start] + block + (_newline(text) if text[end:].strip() else "") + text[end:]
    else:
        body = text.rstrip()
        new = (body + _newline(text) * 2 if body else "") + block
    return _same_table(new, wanted)


def without_table(text: str, path: Path) -> str:
    wanted = table(text, ())
    if table(text, path) is None:
        return text
    del _get(wanted, path[:-1])[path[-1]]
    stood = _stands(text, path)
    if stood is None:
        raise Broken(f"{'.'.join(path)} is not a table of its own")
    start, end = stood
    rest = text[end:].lstrip()
    new = text[:start].rstrip() + _newline(text) * (2 if rest and text[:start].strip() else 1) + rest
    return _same_table(new if new.strip() else "", wanted, empty=path[:-1])


def _stands(text: str, path: Path) -> tuple[int, int] | None:
    """From the table's header to the next header that is not below it."""
    name = re.escape(".".join(path))
    header = re.search(rf"^[ \t]*\[{name}\]", text, re.M)
    if header is None:
        return None
    after = next(
        (h for h in re.compile(r"^[ \t]*\[", re.M).finditer(text, header.end()) if not _below(text, h.start(), path)),
        None,
    )
    end = after.start() if after else len(text)
    body = text[header.start() : end]
    kept = re.search(r"(?:\r?\n[ \t]*(?:#[^\n]*)?)*\s*\Z", body)  # what is said above the next header belongs to it
    return header.start(), header.start() + (kept.start() + 1 if after and kept and kept[0].strip() else len(body))


def _below(text: str, at: int, path: Path) -> bool:
    return re.match(rf"[ \t]*\[{re.escape('.'.join(path))}\.", text[at:]) is not None


def _toml(path: Path, value: dict[str, Any]) -> str:
    lines = [f"[{'.'.join(path)}]"]
    for key, held in value.items():
        if isinstance(held, dict):
            inner = ", ".join(f"{name} = {_quoted(each)}" for name, each in held.items())
            lines.append(f"{key} = {{ {inner} }}")
        elif isinstance(held, list):
            lines.append(f"{key} = [{', '.join(map(_quoted, held))}]")
        else:
            lines.append(f"{key} = {_quoted(held)}")
    return "\n".join(lines) + "\n"


def _quoted(value: Any) -> str:
    """JSON's strings are TOML's, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _same_table(text: str, wanted: Any, empty: Path = ()) -> str:
    found = table(text, ())
    if empty and not _get(wanted, empty):  # a table that only held ours is gone with it
        wanted = {key: value for key, value in wanted.items() if key != empty[0]}
    if found != wanted:
        raise Broken("it cannot be changed without losing something")
    return text
