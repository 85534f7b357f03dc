"""Pure: encodes the position where a listing continues as an opaque cursor.

A position is the last listed row's sort value and number, not a count of rows: writes before it or after it change
neither what was listed nor what follows.
"""

from __future__ import annotations

import base64
import struct
from typing import get_args

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Order

MAX_POSITION = 2**62
"""Above every row number; a listing without a cursor starts here."""


def encode(n: int) -> str:
    return base64.urlsafe_b64encode(n.to_bytes(8)).decode().rstrip("=")


def decode(cursor: str | None, start: int = MAX_POSITION) -> int:
    """The position that a cursor encodes; without a cursor, `start`."""
    return start if cursor is None else min(int.from_bytes(_bytes(cursor, 8)), MAX_POSITION)


def encode_place(order: Order, value: int, n: int) -> str:
    """Encode the sort value and the number of the last row listed in this order."""
    data = struct.pack(">Bqq", get_args(Order).index(order), value, n)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_place(cursor: str, order: Order) -> tuple[int, int]:
    """The sort value and the number of the row after which a listing in this order continues."""
    known, value, n = struct.unpack(">Bqq", _bytes(cursor, 17))
    if known != get_args(Order).index(order):
        raise InvalidInput(
            f"cursor {quoted_value(cursor)} is of a listing in another order than {order}; repeat the order of the "
            "previous page, or start without a cursor.",
            field="cursor",
        )
    return value, n


def _bytes(cursor: str, length: int) -> bytes:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if len(data) != length:
            raise ValueError
        return data
    except (ValueError, TypeError):
        raise InvalidInput(
            f"cursor {quoted_value(cursor)} is not valid; pass the cursor of the previous page unchanged.",
            field="cursor",
        ) from None
