"""The counts of a profile. A backend counts messages and memories in one pass each; this adds the groups up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from holdfast.domain.results import Stats
from holdfast.domain.timestamps import day_of

DAYS_BEFORE_1970 = 1_000_000
"""More than a date can be before 1970. Added before a division, which SQL rounds towards zero."""
MESSAGE_GROUPS = (
    f"state, failures > 0, (coalesce(said_at, created_at) + {DAYS_BEFORE_1970 * 86_400_000_000}) / 86400000000 "
    f"- {DAYS_BEFORE_1970}"
)
MEMORY_GROUPS = "kind, superseded_by IS NULL, updated_at / 86400000000"
"""What both SQL backends group the rows of `message` and of `memory` by."""


def profile_stats(
    messages: Iterable[tuple[str, bool, int, int]],
    memories: Iterable[tuple[str, bool, int, int]],
    *,
    sessions: int,
    unembedded: int,
    size: int,
) -> Stats:
    """The counts of a profile from its messages by state, failure and day, and its memories by kind, currency and day.

    `size` is in bytes.
    """
    states: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    said_on: Counter[int] = Counter()
    written_on: Counter[int] = Counter()
    failing = superseded = 0
    for state, failed, day, count in messages:
        states[state] += count
        said_on[day] += count
        failing += count if failed and state == "waiting" else 0
    for kind, current, day, count in memories:
        written_on[day] += count
        if current:
            kinds[kind] += count
        else:
            superseded += count
    return Stats(
        messages=states.total(),
        memories=kinds.total(),
        kinds=dict(sorted(kinds.items())),
        superseded=superseded,
        sessions=sessions,
        pending=states["waiting"],
        failing=failing,
        set_aside=states["aside"],
        unembedded=unembedded,
        bytes=size,
        said_on=day_of(said_on.items()),
        written_on=day_of(written_on.items()),
    )


def waiting_stats(*, pending: int, unembedded: int) -> Stats:
    """What waits, where nothing else was counted."""
    return Stats(0, 0, {}, 0, 0, pending=pending, failing=0, set_aside=0, unembedded=unembedded, bytes=0)
