"""Pure: where a listing goes on, as an opaque text."""

from __future__ import annotations

import base64

from .errors import InvalidInput, shown

END = 2**62


def sealed(n: int) -> str:
    return base64.urlsafe_b64encode(n.to_bytes(8)).decode().rstrip("=")


def opened(cursor: str | None) -> int:
    """The place that a cursor names; the end, from which listings start, when there is none."""
    if cursor is None:
        return END
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if len(data) != 8:
            raise ValueError
        return min(int.from_bytes(data), END)
    except (ValueError, TypeError):
        raise InvalidInput(
            f"cursor {shown(cursor)} is none of ours; pass the cursor of the page before, unchanged.", field="cursor"
        ) from None
