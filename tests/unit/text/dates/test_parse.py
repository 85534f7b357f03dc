"""Time expressions and their windows, from one Wednesday unless said otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.text.dates import (
    MAX_SCANNED_CHARS,
    OPEN_START,
    OPEN_STOP,
    window,
    window_phrase,
    windows,
)

WEDNESDAY = datetime(2025, 3, 5, 14, 30, tzinfo=UTC)
SUNDAY = datetime(2023, 5, 21, 9, 0, tzinfo=UTC)
JULY = datetime(2024, 7, 15, 20, 0, tzinfo=UTC)
NEW_YEAR = datetime(2024, 1, 1, 0, 5, tzinfo=UTC)

# text, first day, day after the last
DAYS = [
    ("today", "2025-03-05", "2025-03-06"),
    ("I saw her yesterday", "2025-03-04", "2025-03-05"),
    ("the day before yesterday", "2025-03-03", "2025-03-04"),
    ("tomorrow", "2025-03-06", "2025-03-07"),
    ("the day after tomorrow", "2025-03-07", "2025-03-08"),
    ("the other day", "2025-02-26", "2025-03-05"),
    ("last Friday", "2025-02-28", "2025-03-01"),
    ("last Wednesday", "2025-02-26", "2025-02-27"),
    ("last Monday", "2025-03-03", "2025-03-04"),
    ("this Friday", "2025-03-07", "2025-03-08"),
    ("this Wednesday", "2025-03-05", "2025-03-06"),
    ("next Friday", "2025-03-14", "2025-03-15"),
    ("next Monday", "2025-03-10", "2025-03-11"),
    ("we met on Monday", "2025-03-03", "2025-03-04"),
    ("we will meet on Monday", "2025-03-10", "2025-03-11"),
    ("finish it by Friday", "2025-03-07", "2025-03-08"),
    ("Thursday", "2025-03-06", "2025-03-07"),
    ("on Sat", "2025-03-08", "2025-03-09"),
    ("the meeting got moved to Thursday", "2025-03-06", "2025-03-07"),
    ("last week", "2025-02-24", "2025-03-03"),
    ("this week", "2025-03-03", "2025-03-10"),
    ("next week", "2025-03-10", "2025-03-17"),
    ("the week before last", "2025-02-17", "2025-02-24"),
    ("last weekend", "2025-03-01", "2025-03-03"),
    ("this weekend", "2025-03-08", "2025-03-10"),
    ("next weekend", "2025-03-15", "2025-03-17"),
    ("this past weekend", "2025-03-01", "2025-03-03"),
    ("over the weekend we went out", "2025-03-01", "2025-03-03"),
    ("last month", "2025-02-01", "2025-03-01"),
    ("this month", "2025-03-01", "2025-04-01"),
    ("next month", "2025-04-01", "2025-05-01"),
    ("last quarter", "2024-10-01", "2025-01-01"),
    ("next quarter", "2025-04-01", "2025-07-01"),
    ("Q3 2024", "2024-07-01", "2024-10-01"),
    ("last year", "2024-01-01", "2025-01-01"),
    ("this year", "2025-01-01", "2026-01-01"),
    ("next year", "2026-01-01", "2027-01-01"),
    ("last summer", "2024-06-01", "2024-09-01"),
    ("next summer", "2025-06-01", "2025-09-01"),
    ("this summer", "2025-06-01", "2025-09-01"),
    ("last winter", "2024-12-01", "2025-03-01"),
    ("last spring", "2024-03-01", "2024-06-01"),
    ("in the summer of 2022", "2022-06-01", "2022-09-01"),
    ("fall of 2021", "2021-09-01", "2021-12-01"),
    ("winter 2022", "2022-12-01", "2023-03-01"),
    ("the summer before", "2024-06-01", "2024-09-01"),
    ("last May", "2024-05-01", "2024-06-01"),
    ("next May", "2025-05-01", "2025-06-01"),
    ("last March", "2024-03-01", "2024-04-01"),
    ("we moved in May", "2024-05-01", "2024-06-01"),
    ("we will move in May", "2025-05-01", "2025-06-01"),
    ("in February", "2025-02-01", "2025-03-01"),
    ("June 2023", "2023-06-01", "2023-07-01"),
    ("Sept 2023", "2023-09-01", "2023-10-01"),
    ("in march 2021", "2021-03-01", "2021-04-01"),
    ("3 days ago", "2025-03-02", "2025-03-03"),
    ("one day ago", "2025-03-04", "2025-03-05"),
    ("two weeks ago", "2025-02-17", "2025-02-24"),
    ("a week ago", "2025-02-24", "2025-03-03"),
    ("three months ago", "2024-12-01", "2025-01-01"),
    ("2 years ago", "2023-01-01", "2024-01-01"),
    ("a year ago today", "2024-03-05", "2024-03-06"),
    ("a decade ago", "2015-01-01", "2016-01-01"),
    ("a couple of weeks ago", "2025-02-10", "2025-02-24"),
    ("a few days ago", "2025-02-28", "2025-03-04"),
    ("several weeks ago", "2025-01-13", "2025-02-17"),
    ("in 3 days", "2025-03-08", "2025-03-09"),
    ("in two weeks", "2025-03-17", "2025-03-24"),
    ("in a month", "2025-04-01", "2025-05-01"),
    ("in a few weeks", "2025-03-17", "2025-04-14"),
    ("two weeks from now", "2025-03-17", "2025-03-24"),
    ("five days from today", "2025-03-10", "2025-03-11"),
    ("a week from tomorrow", "2025-03-13", "2025-03-14"),
    ("the past three weeks", "2025-02-12", "2025-03-06"),
    ("in the last few days", "2025-02-28", "2025-03-06"),
    ("the next two days", "2025-03-05", "2025-03-08"),
    ("since Monday", "2025-03-03", "2025-03-06"),
    ("since January", "2025-01-01", "2025-03-06"),
    ("since 2019", "2019-01-01", "2025-03-06"),
    ("since last week", "2025-02-24", "2025-03-06"),
    ("until June", "2025-03-05", "2025-07-01"),
    ("until next Friday", "2025-03-05", "2025-03-15"),
    ("before 10 March 2025", "2025-03-05", "2025-03-10"),
    ("after Christmas", "2024-12-26", "2025-03-06"),
    ("in 2019", "2019-01-01", "2020-01-01"),
    ("back in 1998", "1998-01-01", "1999-01-01"),
    ("on the 14th", "2025-03-14", "2025-03-15"),
    ("we left on the 14th", "2025-02-14", "2025-02-15"),
    ("the 15th of last month", "2025-02-15", "2025-02-16"),
    ("I'm getting married on 12 June", "2025-06-12", "2025-06-13"),
    ("it is on the 3rd", "2025-04-03", "2025-04-04"),
    ("March 3rd", "2025-03-03", "2025-03-04"),
    ("May 7", "2025-05-07", "2025-05-08"),
    ("May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("3 March 2024", "2024-03-03", "2024-03-04"),
    ("the 7th of May", "2025-05-07", "2025-05-08"),
    ("the first of June", "2025-06-01", "2025-06-02"),
    ("Dec. 5 2022", "2022-12-05", "2022-12-06"),
    ("we flew on 3 May", "2024-05-03", "2024-05-04"),
    ("Feb 29", "2024-02-29", "2024-03-01"),
    ("3/14/2024", "2024-03-14", "2024-03-15"),
    ("14/3/2024", "2024-03-14", "2024-03-15"),
    ("14.3.2024", "2024-03-14", "2024-03-15"),
    ("2024-03-14", "2024-03-14", "2024-03-15"),
    ("2024-03-14T10:00:00Z", "2024-03-14", "2024-03-15"),
    ("2024/3/4", "2024-03-04", "2024-03-05"),
    ("Friday, 7 March", "2025-03-07", "2025-03-08"),
    ("Monday next week", "2025-03-10", "2025-03-11"),
    ("next week on Tuesday", "2025-03-11", "2025-03-12"),
    ("Friday of last week", "2025-02-28", "2025-03-01"),
    ("early May", "2025-05-01", "2025-05-11"),
    ("mid-May", "2025-05-11", "2025-05-22"),
    ("late May", "2025-05-22", "2025-06-01"),
    ("at the end of June", "2025-06-24", "2025-07-01"),
    ("the beginning of June", "2025-06-01", "2025-06-11"),
    ("late 2023", "2023-09-02", "2024-01-01"),
    ("early next week", "2025-03-10", "2025-03-12"),
    ("by the end of the month", "2025-03-25", "2025-04-01"),
    ("between 3 and 5 May", "2025-05-03", "2025-05-06"),
    ("May 3-5, 2024", "2024-05-03", "2024-05-06"),
    ("from 3 to 5 May", "2025-05-03", "2025-05-06"),
    ("from Monday to Thursday", "2025-03-10", "2025-03-14"),
    ("from Friday to Monday", "2025-03-07", "2025-03-11"),
    ("from 2015 to 2018", "2015-01-01", "2019-01-01"),
    ("between 2015 and 2018", "2015-01-01", "2019-01-01"),
    ("from June to August", "2025-06-01", "2025-09-01"),
    ("March 3rd to March 10th", "2025-03-03", "2025-03-11"),
    ("the 90s", "1990-01-01", "2000-01-01"),
    ("the 1980s", "1980-01-01", "1990-01-01"),
    ("in the eighties", "1980-01-01", "1990-01-01"),
    ("Christmas", "2024-12-25", "2024-12-26"),
    ("next Christmas", "2025-12-25", "2025-12-26"),
    ("Christmas 2022", "2022-12-25", "2022-12-26"),
    ("New Year's Eve", "2024-12-31", "2025-01-01"),
    ("last Halloween", "2024-10-31", "2024-11-01"),
    ("Valentine's Day", "2025-02-14", "2025-02-15"),
    ("two days before Christmas", "2024-12-23", "2024-12-24"),
    ("the week of 3 March", "2025-03-03", "2025-03-10"),
    ("the first week of May", "2025-05-01", "2025-05-08"),
    ("the second Tuesday of May", "2025-05-13", "2025-05-14"),
    ("the last weekend of May", "2025-05-31", "2025-06-02"),
    ("the last day of February 2028", "2028-02-29", "2028-03-01"),
    ("the first Monday of next month", "2025-04-07", "2025-04-08"),
    ("the second half of May", "2025-05-16", "2025-06-01"),
    ("the first half of 2024", "2024-01-01", "2024-07-01"),
    ("the third quarter of 2024", "2024-07-01", "2024-10-01"),
    ("the first of next month", "2025-04-01", "2025-04-02"),
    ("on the fifteenth", "2025-03-15", "2025-03-16"),
    ("in May of last year", "2024-05-01", "2024-06-01"),
    ("3 May last year", "2024-05-03", "2024-05-04"),
    ("last year in May", "2024-05-01", "2024-06-01"),
    ("summer '22", "2022-06-01", "2022-09-01"),
    ("2024-07", "2024-07-01", "2024-08-01"),
    ("07/2028", "2028-07-01", "2028-08-01"),
    ("1998–2002", "1998-01-01", "2003-01-01"),
    ("the early nineties", "1990-01-01", "1994-01-01"),
    ("the mid-90s", "1994-01-01", "1997-01-01"),
    ("the Sunday before last", "2025-02-23", "2025-02-24"),
    ("two Fridays ago", "2025-02-21", "2025-02-22"),
    ("three Mondays from now", "2025-03-24", "2025-03-25"),
    ("two or three weeks ago", "2025-02-10", "2025-02-24"),
    ("in 2-3 weeks", "2025-03-17", "2025-03-31"),
    ("a week or two ago", "2025-02-17", "2025-03-03"),
    ("twenty-five years ago", "2000-01-01", "2001-01-01"),
    ("a year and a half ago", "2023-09-01", "2023-10-01"),
    ("half a year ago", "2024-09-01", "2024-10-01"),
    ("a week ago today", "2025-02-26", "2025-02-27"),
    ("within two weeks", "2025-03-05", "2025-03-20"),
    ("earlier this month", "2025-03-01", "2025-03-05"),
    ("later this week", "2025-03-06", "2025-03-10"),
    ("Monday to Wednesday next week", "2025-03-10", "2025-03-13"),
    ("due Wed next week", "2025-03-12", "2025-03-13"),
    ("since the end of May", "2024-05-25", "2025-03-06"),
    ("Easter 2024", "2024-03-31", "2024-04-01"),
    ("Good Friday", "2025-04-18", "2025-04-19"),
    ("last Thanksgiving", "2024-11-28", "2024-11-29"),
    ("Mother’s Day", "2025-05-11", "2025-05-12"),
    ("we were in Rome last week in the rain", "2025-02-24", "2025-03-03"),
]

NOTHING = [
    "you may go",
    "it may be late",
    "a second time",
    "one second",
    "we sat down",
    "the sun is out",
    "they wed young",
    "they march on",
    "this may be wrong",
    "May said hello",
    "June called me",
    "I fall asleep",
    "in spring",
    "a mattress spring",
    "every Monday",
    "Black Friday",
    "each Friday",
    "on Mondays",
    "Saturday mornings",
    "for two weeks",
    "the 4th time",
    "the 14th floor",
    "I finished it in 3 days",
    "version 1.2.2024.5",
    "see 2024 results",
    "1999",
    "10/10",
    "in 9000 years",
    "the next day",
    "three years",
    "a long time ago",
    "room 2019",
    "$2019",
    "",
    "   ",
    "may",
    "he may 2 things",
    "my CD-60S guitar",
    "in a minute",
    "highs in the 80s",
    "version 2.10.2024",
    "CVE-2024-07",
    "it's a good Friday",
    "every Christmas",
    "go back for the twenty-third",
]


AUTUMN = datetime(2026, 11, 11, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Jonas is going back early, moving out on 9 January", 2027),
        ("I am listed for 18 January, three nights", 2027),
        ("We got the flat, moving in on 9 January", 2027),
        ("They have written to say that from 1 January the berth goes up", 2027),
        ("My exam was meant to be 3 January", 2027),
        ("We married on 3 January", 2026),
        ("On 3 January we signed the lease", 2026),
        ("I was in Cork on the 9th of January", 2026),
    ],
)
def test_a_day_without_its_year_is_long_past_only_with_a_verb_in_the_past(text: str, year: int) -> None:
    found = window(text, AUTUMN)
    assert found is not None
    assert found.start.year == year


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("mum's staying 27 march till 2 april", "2027-03-27", "2027-04-03"),
        ("I'm away 3 may until 9 may", "2027-05-03", "2027-05-10"),
        ("the exam is on 14 may", "2027-05-14", "2027-05-15"),
        ("I start there may 4, 27 an hour", "2027-05-04", "2027-05-05"),
        ("we fly out 10 december from Leeds, back on the 26th", "2026-12-10", "2026-12-11"),
        ("they moved our flight, it's the 4th now", "2026-12-04", "2026-12-05"),
    ],
)
def test_dates_as_they_are_typed_in_a_hurry(text: str, start: str, stop: str) -> None:
    found = window(text, AUTUMN)
    assert found is not None
    assert (found.start.strftime("%Y-%m-%d"), found.stop.strftime("%Y-%m-%d")) == (start, stop)


@pytest.mark.parametrize("text", ["the 14 may be late", "you may 2 times", "they march 3 abreast"])
def test_a_verb_beside_a_number_is_no_month(text: str) -> None:
    assert windows(text, AUTUMN) == []


@pytest.mark.parametrize(("text", "start", "stop"), DAYS, ids=[d[0] for d in DAYS])
def test_an_expression_becomes_its_window(text: str, start: str, stop: str) -> None:
    found = window(text, WEDNESDAY)
    assert found is not None
    assert (found.start.strftime("%Y-%m-%d"), found.stop.strftime("%Y-%m-%d")) == (start, stop)
    assert text[found.span[0] : found.span[1]] == found.text
    assert found.start.tzinfo is UTC


@pytest.mark.parametrize("text", NOTHING)
def test_ordinary_words_are_no_dates(text: str) -> None:
    assert windows(text, WEDNESDAY) == []


@pytest.mark.parametrize(
    ("reference", "text", "expected"),
    [
        (SUNDAY, "last Friday", "19 May 2023"),
        (SUNDAY, "next Friday", "26 May 2023"),
        (SUNDAY, "this Friday", "26 May 2023"),
        (SUNDAY, "last weekend", "the weekend of 13 May 2023"),
        (SUNDAY, "last week", "the week of 8 May 2023"),
        (SUNDAY, "next week", "the week of 22 May 2023"),
        (SUNDAY, "yesterday", "20 May 2023"),
        (SUNDAY, "we met in May", "May 2023"),
        (JULY, "last summer", "summer 2023"),
        (JULY, "this summer", "summer 2024"),
        (JULY, "next summer", "summer 2025"),
        (JULY, "last May", "May 2024"),
        (JULY, "next month", "August 2024"),
        (NEW_YEAR, "yesterday", "31 December 2023"),
        (NEW_YEAR, "last month", "December 2023"),
        (NEW_YEAR, "last year", "2023"),
        (NEW_YEAR, "last week", "the week of 25 December 2023"),
        (NEW_YEAR, "this winter", "winter 2023"),
        (NEW_YEAR, "last night", "the night of 31 December 2023"),
    ],
)
def test_the_reference_date_decides(reference: datetime, text: str, expected: str) -> None:
    found = window(text, reference)
    assert found is not None
    assert window_phrase(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("May 7 2023", "7 May 2023"),
        ("May 2023", "May 2023"),
        ("this week", "the week of 3 March 2025"),
        ("summer 2022", "summer 2022"),
        ("Q2 2023", "Q2 2023"),
        ("in 2019", "2019"),
        ("the 90s", "the 1990s"),
        ("early May 2024", "early May 2024"),
        ("late 2023", "late 2023"),
        ("May 3-5, 2024", "3 – 5 May 2024"),
        ("a few days ago", "28 February – 3 March 2025"),
        ("this morning", "the morning of 5 March 2025"),
        ("tonight", "the night of 5 March 2025"),
        ("before 3 May 2024", "before 3 May 2024"),
        ("after 3 May 2030", "from 4 May 2030 on"),
    ],
)
def test_a_window_is_put_in_words(text: str, expected: str) -> None:
    found = window(text, WEDNESDAY)
    assert found is not None
    assert window_phrase(found) == expected


def test_open_windows_reach_to_the_open_years() -> None:
    past, ahead = window("before 1990", WEDNESDAY), window("after 3 May 2030", WEDNESDAY)
    assert past is not None
    assert past.start.year == OPEN_START
    assert ahead is not None
    assert ahead.stop.year == OPEN_STOP


def test_hours_are_counted_from_the_moment_of_speech() -> None:
    found = window("an hour ago", WEDNESDAY)
    assert found is not None
    assert found.start == WEDNESDAY - timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("Friday evening", "2025-03-07T17", "2025-03-08T00"),
        ("we met on Monday in the morning", "2025-03-03T05", "2025-03-03T12"),
        ("the afternoon of Friday, 7 March", "2025-03-07T12", "2025-03-07T18"),
        ("Monday night next week", "2025-03-10T18", "2025-03-11T00"),
        ("Friday evening to Sunday night", "2025-03-07T17", "2025-03-10T00"),
    ],
)
def test_a_part_of_the_day_narrows_it_to_hours(text: str, start: str, stop: str) -> None:
    found = window(text, WEDNESDAY)
    assert found is not None
    assert (found.start.strftime("%Y-%m-%dT%H"), found.stop.strftime("%Y-%m-%dT%H")) == (start, stop)


def test_what_ended_has_an_open_start() -> None:
    found = window("I worked there until 2019", WEDNESDAY)
    assert found is not None
    assert (found.start.year, found.stop.year) == (OPEN_START, 2020)


def test_the_last_hours_end_now() -> None:
    found = window("in the last 24 hours", WEDNESDAY)
    assert found is not None
    assert (found.start, found.stop) == (WEDNESDAY - timedelta(hours=24), WEDNESDAY)


def test_all_expressions_are_found_in_order() -> None:
    text = "I met her on Monday, called the next day, and we fly on 3 May 2026."
    assert [window_phrase(w) for w in windows(text, WEDNESDAY)] == ["3 March 2025", "4 March 2025", "3 May 2026"]


def test_the_reference_keeps_its_time_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    found = window("yesterday", datetime(2025, 3, 5, 1, 0, tzinfo=tokyo))
    assert found is not None
    assert found.start == datetime(2025, 3, 4, tzinfo=tokyo)


def test_text_beyond_the_cap_is_not_read() -> None:
    assert windows("x " * (MAX_SCANNED_CHARS // 2) + "yesterday", WEDNESDAY) == []


@pytest.mark.parametrize(
    "text",
    [
        "a " * 30000,
        "last " * 9000,
        "the " * 9000,
        "1" * 50000,
        "may " * 9000,
        "3 days ago " * 3000,
        "in the last 3 " * 3000,
        "from Monday to " * 3000,
        "2024-" * 9000,
        "in 2019 " * 5000,
        "the first week of " * 2000,
        "x" * 60000,
        " " * 60000,
        "between 3 and " * 3000,
        "\n" * 60000,
    ],
)
def test_hostile_text_costs_little(text: str) -> None:
    """Backtracking would not end within the time limit of a test."""
    windows(text, WEDNESDAY)


def test_equal_moments_of_two_zones_have_days_of_their_own() -> None:
    """Windows are remembered by text and reference, and equal references may lie on different days."""
    late = datetime(2025, 3, 5, 23, 30, tzinfo=UTC)
    later = late.astimezone(timezone(timedelta(hours=2)))
    assert late == later
    assert [windows("today", each)[0].start.day for each in (late, later)] == [5, 6]
