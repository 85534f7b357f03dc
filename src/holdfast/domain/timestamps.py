"""Pure: points in time, always aware and in UTC, stored as whole microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from holdfast.domain.errors import InvalidInput, quoted_value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def parse_moment(value: object, field: str) -> datetime:
    """Parse a datetime, an ISO 8601 string or Unix seconds into UTC. A time without a zone is taken as UTC."""
    try:
        if isinstance(value, datetime):
            found = value
        elif isinstance(value, str):
            found = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            raise TypeError
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        others = "" if isinstance(value, str) else ", Unix seconds or a datetime"
        raise InvalidInput(
            f"{field}: {quoted_value(value)} is not a valid time; give ISO 8601 (2025-03-04, "
            f"2025-03-04T18:20:00Z){others}.",
            field=field,
        ) from None


def to_micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def from_micros(count: int) -> datetime:
    return _EPOCH + timedelta(microseconds=count)


def day_of(rows: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Counts by day number since 1970 → counts by date."""
    return {(_EPOCH + timedelta(days=day)).date().isoformat(): count for day, count in sorted(rows)}


def counts_by_day(moments: Iterable[datetime]) -> dict[str, int]:
    """How many of the moments are on each day (UTC)."""
    return day_of(Counter(to_micros(moment) // 86_400_000_000 for moment in moments).items())


def iso_text(at: datetime) -> str:
    """RFC 3339 text with Z; microseconds only when they are not zero."""
    return at.isoformat().replace("+00:00", "Z")
