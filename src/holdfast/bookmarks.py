"""Pure: bookmarks, which say how far a database was when a write was done. Only their order means anything."""

from __future__ import annotations

from .errors import InvalidInput, shown


def numbered(bookmark: str) -> int:
    """A place in the log as a number; before everything when empty."""
    if not bookmark:
        return 0
    high, slash, low = bookmark.partition("/")
    try:
        if slash and len(bookmark) <= 17:
            return (int(high, 16) << 32) | int(low, 16)
    except ValueError:
        pass
    raise InvalidInput(
        f"{shown(bookmark)} is no bookmark.", field="bookmark", fix="Send one as a write returned it, or none."
    )


def later(*bookmarks: str | None) -> str:
    """The latest of these; empty when there is none."""
    return max((each for each in bookmarks if each), key=numbered, default="")
