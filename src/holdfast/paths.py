"""Pure: file paths as keys.

A key is the path itself, but for what a key cannot hold as it is: `%`, control characters, other white space than a
space, a space at the end of a name, and names that are not in Unicode's composed form. These are percent-encoded, so
that no two paths share a key and every key gives its path back. `/src/` begins the keys inside `/src`, and no others.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

from . import names
from .errors import InvalidInput, shown

_UNFIT = re.compile(r"[%/\x00-\x1f\x7f-\x9f]|[^\S ]| (?= *\Z)")


def escaped(name: str) -> str:
    """One step of a path, or any other text, as it stands between two slashes of a key."""
    if not unicodedata.is_normalized("NFC", name):
        return quote(name, safe="!$&'()*+,:;=@")
    return _UNFIT.sub(lambda found: quote(found[0], safe=""), name)


def unescaped(name: str) -> str:
    return unquote(name)


def keyed(steps: tuple[str, ...]) -> str:
    """The key of a path, given as its steps; of none, `/`."""
    return "/" + "/".join(map(escaped, steps))


def steps_of(key: str) -> tuple[str, ...]:
    return tuple(map(unescaped, key[1:].split("/"))) if key != "/" else ()


def inside(key: str) -> str:
    """How the keys of everything inside this folder begin."""
    return key if key.endswith("/") else f"{key}/"


def absolute(path: object, root: str) -> str:
    """A path in its one form: from the root when relative, no empty and no `.` steps, composed Unicode, case kept."""
    given = unicodedata.normalize("NFC", names.text(path, "path", limit=names.KEY_BYTES))
    steps = [
        step for step in (given if given.startswith("/") else f"{root}/{given}").split("/") if step not in ("", ".")
    ]
    if ".." in steps:
        raise InvalidInput(f"path is {shown(path)}; it may not go up with '..'.", field="path")
    found = "/" + "/".join(steps)
    if not within(found, root):
        raise InvalidInput(f"path is {shown(path)}, which is outside {root}.", field="path")
    return found


def within(path: str, folder: str) -> bool:
    """Whether it is the folder or something in it."""
    return path == folder or path.startswith(inside(folder))
