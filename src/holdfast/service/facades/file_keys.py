"""Pure: file paths as memory keys, and back.

A key is the path itself, with these parts percent-encoded because a key cannot hold them: `%`, control characters,
white space other than a space, a space at the end of a name, and names that are not in Unicode's composed form (NFC).
So no two paths share a key, and every key decodes to its path. Keys inside `/src`, and no others, begin with `/src/`.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

from holdfast.domain import identifiers, limits
from holdfast.domain.errors import InvalidInput, quoted_value

_UNFIT = re.compile(r"[%/\x00-\x1f\x7f-\x9f]|[^\S ]| (?= *\Z)")


def escaped_step(name: str) -> str:
    """Encode one step of a path, or any other text, so that it can stand between two slashes of a key."""
    if not unicodedata.is_normalized("NFC", name):
        return quote(name, safe="!$&'()*+,:;=@")
    return _UNFIT.sub(lambda found: quote(found[0], safe=""), name)


def unescaped_step(name: str) -> str:
    return unquote(name)


def key_of_path(steps: tuple[str, ...]) -> str:
    """The key of a path, given as its steps; `/` for no steps."""
    return "/" + "/".join(map(escaped_step, steps))


def steps_of(key: str) -> tuple[str, ...]:
    return tuple(map(unescaped_step, key[1:].split("/"))) if key != "/" else ()


def is_inside(key: str) -> str:
    """The prefix of the keys of everything inside this folder."""
    return key if key.endswith("/") else f"{key}/"


def absolute_path(path: object, root: str) -> str:
    """Normalise a path: relative ones start at the root, no empty or `.` steps, composed Unicode (NFC), case kept."""
    given = unicodedata.normalize("NFC", identifiers.validate_text(path, "path", limit=limits.MAX_KEY_BYTES))
    steps = [
        step for step in (given if given.startswith("/") else f"{root}/{given}").split("/") if step not in ("", ".")
    ]
    if ".." in steps:
        raise InvalidInput(f"path is {quoted_value(path)}; it must not contain '..'.", field="path")
    found = "/" + "/".join(steps)
    if not path_within(found, root):
        raise InvalidInput(f"path is {quoted_value(path)}, which is outside {root}.", field="path")
    return found


def path_within(path: str, folder: str) -> bool:
    """Whether the path is the folder or inside it."""
    return path == folder or path.startswith(is_inside(folder))
