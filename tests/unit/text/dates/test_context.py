"""Several times in one sentence: which follow from one another, and which is meant."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.results import Hit
from holdfast.domain.types import Message
from holdfast.models.rules.extractor import drafts
from holdfast.recall.answer.statements import dated_statement
from holdfast.text.dates import meant_window, window, window_phrase, windows

TUESDAY = datetime(2026, 3, 3, 9, tzinfo=UTC)
FRIDAY = datetime(2026, 3, 6, 9, tzinfo=UTC)
JANUARY = datetime(2026, 1, 15, 9, tzinfo=UTC)


def phrases_of(text: str, at: datetime) -> list[str]:
    return [window_phrase(w) for w in windows(text, at)]


def test_the_point_of_a_number_ends_no_sentence() -> None:
    assert phrases_of("upgraded terraform to 1.9 on Friday", TUESDAY) == ["27 February 2026"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We fly on 3 April and stay until the 12th.", ["3 April 2026", "3 – 12 April 2026"]),
        ("We land on 28 April and stay until the 3rd.", ["28 April 2026", "28 April – 3 May 2026"]),
        ("The fair runs from 3 April until the 12th.", ["3 – 12 April 2026"]),
        ("The fair runs from the 3rd of April to the 12th.", ["3 – 12 April 2026"]),
        ("The offer is valid until the 12th.", ["15 January – 12 February 2026"]),
        ("We pay on 3 April. The rest is due on the 12th.", ["3 April 2026", "12 February 2026"]),
    ],
)
def test_a_day_of_the_month_follows_the_date_before_it(text: str, expected: list[str]) -> None:
    assert phrases_of(text, JANUARY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved my gym session to Thursday.", ["5 March 2026"]),
        ("The landlord raised the rent to 1,520 from February.", ["February 2027"]),
    ],
)
def test_a_change_told_in_the_past_lies_ahead(text: str, expected: list[str]) -> None:
    assert phrases_of(text, TUESDAY) == expected


def test_until_a_weekday_follows_the_day_before_it() -> None:
    assert phrases_of("We land on Monday and stay until Friday.", TUESDAY) == ["9 March 2026", "9 – 13 March 2026"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We're flying on the 5th instead of the 3rd.", "5 March 2026"),
        ("Rather than Thursday, let's take Monday.", "9 March 2026"),
        ("I can't make it on Thursday, let's do Tuesday with Olga.", "10 March 2026"),
        ("Thursday doesn't work, Wednesday is better.", "4 March 2026"),
        ("The review was moved from Thursday to Monday.", "9 March 2026"),
        ("They pushed the launch from April to May.", "May 2026"),
        ("It is not on Friday.", None),
        ("I can't make it on Thursday.", "5 March 2026"),
        ("Fees are due on 31 March every year.", None),
        ("Every year on 31 March the fees are due.", None),
    ],
)
def test_what_is_ruled_out_or_comes_back_is_not_meant(text: str, expected: str | None) -> None:
    found = meant_window(windows(text, TUESDAY))
    assert (window_phrase(found) if found else None) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let's meet on Friday.", "13 March 2026"),
        ("The dentist is on Friday.", "13 March 2026"),
        ("I saw her on Friday.", "27 February 2026"),
        ("Friday night I will be out.", "the night of 6 March 2026"),
        ("this Friday", "6 March 2026"),
    ],
)
def test_a_weekday_is_today_only_for_a_reason(text: str, expected: str) -> None:
    assert phrases_of(text, FRIDAY) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It expires on 12/05/2027.", []),
        ("It expires on 12-05-2027.", []),
        ("It expires on 12.05.2027.", ["12 May 2027"]),
        ("It expires on 05/05/2027.", ["5 May 2027"]),
        ("Issued 25/04/2017, expires 12/05/2027.", ["25 April 2017", "12 May 2027"]),
        ("Issued 04/25/2017, expires 12/05/2027.", ["25 April 2017", "5 December 2027"]),
        ("Issued 25/04/2017, renewed 04/25/2019, expires 12/05/2027.", ["25 April 2017", "25 April 2019"]),
    ],
)
def test_a_numeric_date_with_two_readings_needs_the_text_to_settle_it(text: str, expected: list[str]) -> None:
    assert phrases_of(text, TUESDAY) == expected


def messages_of(*texts: str) -> list[Message]:
    return [Message(f"m{n}", "s", "user", text, JANUARY, timestamp=JANUARY) for n, text in enumerate(texts)]


def test_what_somebody_writes_elsewhere_tells_which_number_is_the_day() -> None:
    (passport, _) = drafts(messages_of("My passport expires on 12/05/2027.", "I was born on 25/04/1990."))
    assert passport.content == "The user's passport expires on 12 May 2027."
    assert passport.occurred_at == datetime(2027, 5, 12, tzinfo=UTC)
    (alone,) = drafts(messages_of("My passport expires on 12/05/2027."))
    assert alone.content == "The user's passport expires on 12/05/2027."
    assert alone.occurred_at is None


def test_another_day_of_the_month_moves_what_was_just_said() -> None:
    (flight,) = drafts(
        messages_of("We fly to Kyoto on 3 April.", "Actually we're flying on the 5th instead of the 3rd.")
    )
    assert flight.occurred_at == datetime(2026, 4, 5, tzinfo=UTC)
    assert flight.sources == ("m0", "m1")


def test_a_yearly_date_is_no_happening() -> None:
    (fees,) = drafts(messages_of("My licence fees are due on 31 March every year."))
    assert (fees.kind, fees.occurred_at) == ("fact", None)
    assert "2026" not in fees.content


def hit(content: str, kind: str, role: str | None, at: datetime) -> Hit:
    return Hit("h", kind, content, content, 1.0, {}, None, at, role=role, timestamp=at)


def test_a_document_is_dated_by_its_years_only() -> None:
    assert (
        dated_statement("When do they expire?", hit("They expire on 31 March.", "message", "document", TUESDAY)) is None
    )
    told = dated_statement("When do they expire?", hit("They expire on 31 March 2027.", "message", "document", TUESDAY))
    assert told is not None
    assert told.day == "31 March 2027"


def test_a_memory_is_dated_by_the_whole_time_it_tells() -> None:
    start = datetime(2025, 6, 1, tzinfo=UTC)
    told = dated_statement(
        "When were we in Rome?", hit("The user was in Rome last summer (summer 2025).", "event", None, start)
    )
    assert told is not None
    assert told.day == "summer 2025"


@pytest.mark.parametrize(
    ("correction", "day"),
    [
        ("no wait, the 15th", "15 May"),
        ("Sorry, the 21st!", "21 May"),
        ("no wait, the 21st, he just shouted", "21 May"),
        ("no wait, the 35th", "14 May"),
    ],
)
def test_another_day_takes_the_place_of_the_one_just_said(correction: str, day: str) -> None:
    dentist = drafts(messages_of("The dentist is on 14 May.", correction))[0]
    assert dentist.content.startswith(f"The dentist is on {day}")


@pytest.mark.parametrize(
    ("text", "said", "day"),
    [
        ("sown the tomatoes on saturday", "2026-03-09", "2026-03-07"),
        ("physio is called Ruth, seeing her on the 11th at 8:15", "2026-06-01", "2026-06-11"),
        ("price goes up to 52 in march", "2026-01-20", "2026-03-01"),
        ("hot water is broken, Fergus sends Davie the plumber on thursday", "2026-06-02", "2026-06-04"),
        ("it was broken on thursday", "2026-06-02", "2026-05-28"),
    ],
)
def test_a_verb_without_its_auxiliary_has_a_tense(text: str, said: str, day: str) -> None:
    found = window(text, datetime.fromisoformat(said).replace(tzinfo=UTC))
    assert found is not None
    assert f"{found.start:%Y-%m-%d}" == day
