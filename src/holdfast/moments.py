"""Pure: points in time, always aware and in UTC, stored as whole microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from .errors import InvalidInput, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def moment(value: object, field: str) -> datetime:
    """A datetime, an ISO 8601 string or Unix seconds as UTC. A time without a zone is UTC."""
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
            f"{field}: {shown(value)} is no point in time; give ISO 8601 (2025-03-04, 2025-03-04T18:20:00Z){others}.",
            field=field,
        ) from None


def micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def at_micros(count: int) -> datetime:
    return _EPOCH + timedelta(microseconds=count)


def by_day(rows: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Counts by the number of a day since 1970 → by its date."""
    return {(_EPOCH + timedelta(days=day)).date().isoformat(): count for day, count in sorted(rows)}


def iso(at: datetime) -> str:
    """RFC 3339 with Z, microseconds only where there are any."""
    return at.isoformat().replace("+00:00", "Z")
