"""Values are whole: no comma, unit or surname is cut off."""

from __future__ import annotations

import pytest

from holdfast.text.values import mask_values, value_type, values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My budget is 4,000 euros.", [("amount", "4,000 euros")]),
        ("My address is 12 Kestrel Way, Unit 3, Leeds.", [("address", "12 Kestrel Way, Unit 3, Leeds")]),
        ("at 221B Baker Street, London NW1 6XE", [("address", "221B Baker Street, London NW1 6XE")]),
        ("We moved to 14 Elm Road, Kofi has the keys", [("address", "14 Elm Road"), ("name", "Kofi")]),
        ("It was on May 4, 2019, I think.", [("date", "May 4, 2019")]),
        ("node 20.11.1 and v1.2.3-rc1", [("number", "20.11.1"), ("number", "v1.2.3-rc1")]),
        ("write to ana.b@x.co.uk, ok?", [("link", "ana.b@x.co.uk")]),
        ("see src/app/main.py", [("link", "src/app/main.py")]),
        ("bp was 158 over 94 at 9am", [("number", "158 over 94"), ("time", "9am")]),
        ("Yesterday I met Dr. Ellen Park", [("date", "Yesterday"), ("name", "Dr. Ellen Park")]),
        ("call 020 7946 0123", [("number", "020 7946 0123")]),
    ],
)
def test_values_are_found_whole(text: str, found: list[tuple[str, str]]) -> None:
    assert [(value.type, value.text) for value in values(text)] == found


@pytest.mark.parametrize(
    ("text", "type_"),
    [("Basel", "name"), ("Basel last week", None), ("4,500", "number"), ("the 31st", "date"), ("Thursday", "date"),
     ("450 euros", "amount"), ("3pm", "time"), ("blue", None)],
)  # fmt: skip
def test_the_type_of_one_value(text: str, type_: str | None) -> None:
    assert value_type(text) == type_


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("My budget is 4,000 euros, more or less.", "My budget is 4000 euros, more or less."),
        ("On May 4, 2019, we met.", "On May 4 2019, we met."),
        ("I live at 12 Kestrel Way, Unit 3, Leeds.", "I live at 12 Kestrel Wayʼ Unit 3ʼ Leeds."),
    ],
)
def test_masking_hides_the_commas_of_values_and_restores_them(text: str, masked: str) -> None:
    (hidden,), mask = mask_values([text])
    assert hidden == masked
    assert mask.restored(hidden) == text


@pytest.mark.parametrize("text", ["14-15 march", "12 – 14 September 2025", "March 3-5, 2026"])
def test_a_span_of_days_is_one_value(text: str) -> None:
    assert [value.text for value in values(f"the trip is {text}")] == [text]
