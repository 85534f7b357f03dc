"""A habit has no day; a day without a year, the end of a month and the weekend of a day are where readers put them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.text.dates import meant_window, windows

JUNE = datetime(2026, 6, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "never on Fridays",
        "We never deploy on a Friday",
        "we always eat fish on Friday",
        "open Tuesday to Saturday",
        "The shop is open Tuesday to Saturday, 7 to 2",
        "The shop is open from Tuesday to Saturday",
        "Opening hours: Tue to Sat 9-5",
        "closed on Sunday and Monday",
        "I work Monday to Wednesday",
        "She works Monday, Wednesday and Friday",
        "my father has dialysis saturday, monday, wednesday, 7 in the morning",
        "capoeira for kids, Monday Wednesday Friday 16h",
        "office hours are Monday through Friday",
        "I see my therapist every other Monday",
        "every second Monday",
        "every fortnight on Monday",
        "the class is weekly on Tuesday",
        "I usually go swimming on Wednesday",
        "on the first Monday of every month",
        "rent is due on the 3rd of each month",
        "the thursday class is full",
        "hired Mirte for the Saturday morning pottery class",
        "moved the tuesday class to thursday",
        "we moved our Friday deploy to Monday",
        "classes are tuesday evening and saturday morning",
        "deploy day is only wednesday now",
        "our bin day is thursday",
    ],
)
def test_a_habit_has_no_day(text: str) -> None:
    assert meant_window(windows(text, JUNE), bounded=False) is None


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("I work Monday to Wednesday next week", "2026-06-15", "2026-06-18"),
        ("we're in Rome Tuesday to Saturday", "2026-06-16", "2026-06-21"),
        ("The shop will be closed Monday to Wednesday", "2026-06-15", "2026-06-18"),
        ("I was at work Monday and Tuesday", "2026-06-08", "2026-06-09"),
        ("I usually swim. On Wednesday I fly to Rome", "2026-06-17", "2026-06-18"),
        ("the shop is open on Friday", "2026-06-12", "2026-06-13"),
        ("The museum is open again from Monday", "2026-06-15", "2026-06-16"),
        ("Friday's rehearsal is off", "2026-06-12", "2026-06-13"),
        ("the exam day is Friday", "2026-06-12", "2026-06-13"),
        ("lunch Friday, my class is off", "2026-06-12", "2026-06-13"),
        ("moved the tuesday class to thursday next week", "2026-06-18", "2026-06-19"),
    ],
)
def test_days_of_one_week_are_no_habit(text: str, start: str, stop: str) -> None:
    assert meant_days(text) == (start, stop)


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("14 December", "2026-12-14", "2026-12-15"),
        ("the christmas market is on 12 December", "2026-12-12", "2026-12-13"),
        ("we fly at Christmas", "2026-12-25", "2026-12-26"),
        ("The exam: 14 December", "2026-12-14", "2026-12-15"),
        ("her recital 20 May", "2026-05-20", "2026-05-21"),
        ("we'll move at the end of November", "2026-11-24", "2026-12-01"),
        ("late November", "2026-11-21", "2026-12-01"),
        ("the weekend of the 20th", "2026-06-20", "2026-06-22"),
        ("the weekend of the 21st", "2026-06-20", "2026-06-22"),
        ("the weekend of 21 November", "2026-11-21", "2026-11-23"),
        ("we're away the weekend of the 21st of November", "2026-11-21", "2026-11-23"),
    ],
)
def test_days_are_where_readers_put_them(text: str, start: str, stop: str) -> None:
    assert meant_days(text) == (start, stop)


def meant_days(text: str) -> tuple[str, str]:
    found = meant_window(windows(text, JUNE), bounded=False)
    assert found is not None
    return f"{found.start:%Y-%m-%d}", f"{found.stop:%Y-%m-%d}"
