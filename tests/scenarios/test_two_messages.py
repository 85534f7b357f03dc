"""Answers that need a list or two messages, with the default offline install."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, LocalProfile

TOLD = (
    ("2026-02-11", "the pharmacy on Elm Street closes at six"),
    ("2026-02-20", "my brother Ivan is a welder"),
    ("2026-02-25", "Ivan moved to Gdansk in January"),
    ("2026-03-10", "planted tomatoes and peppers in the greenhouse"),
    ("2026-03-20", "put basil in the greenhouse too"),
    ("2026-03-21", "Leo is allergic to peanuts and eggs"),
    ("2026-03-25", "Leo's doctor says the egg allergy is gone!"),
    ("2026-03-26", "The berth costs £168 a month."),
    ("2026-03-27", "The landlords say that the berth goes up by £14 a month from May."),
    ("2026-03-28", "Brother-in-law Tim repairs sewing machines. Ceri says a new lens is 30 extra"),
    ("2026-03-29", "mum's coming to stay 27 april till 2 may"),
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalProfile]:
    folder: Path = tmp_path_factory.mktemp("two")
    with Holdfast.open(folder) as memory:
        ana = memory.profile("app", "ana")
        for n, (day, text) in enumerate(TOLD):
            message = {"role": "user", "content": text, "timestamp": f"{day}T12:00:00Z"}
            ana.ingest([message], session_id=f"s{n}", wait=True)
        yield ana


def test_a_list_told_in_two_messages_quotes_both(profile: LocalProfile) -> None:
    found = profile.recall("What is growing in the greenhouse?", reference_date="2026-04-01T12:00:00Z")
    assert all(word in found.answer for word in ("tomatoes", "peppers", "basil"))
    assert len(found.citations) == 2
    assert "pharmacy" not in found.answer


def test_someone_who_is_described_is_found_by_their_name(profile: LocalProfile) -> None:
    found = profile.recall("Where does the welder live?", reference_date="2026-04-01T12:00:00Z")
    assert "Gdansk" in found.answer


def test_what_was_never_told_stays_unanswered(profile: LocalProfile) -> None:
    assert profile.recall("Who is my dentist?", reference_date="2026-04-01T12:00:00Z").answer == ""


def test_a_message_of_which_a_part_ended_is_not_quoted_with_others(profile: LocalProfile) -> None:
    found = profile.recall("What is Leo allergic to?", reference_date="2026-04-01T12:00:00Z")
    assert "peanuts" in found.answer
    assert "eggs" not in found.answer


def test_an_amount_is_added_to_what_it_rose_by_since(profile: LocalProfile) -> None:
    found = profile.recall("What do I pay for the berth now?", reference_date="2026-06-01T12:00:00Z")
    assert found.answer.startswith("£182: ")
    assert "£168" in found.answer
    assert "£14" in found.answer
    assert len(found.citations) == 2


def test_a_change_that_is_still_to_come_is_quoted_and_not_added(profile: LocalProfile) -> None:
    found = profile.recall("What do I pay for the berth?", reference_date="2026-04-10T12:00:00Z")
    assert found.answer.startswith("£168: ")
    assert "£14" in found.answer


def test_a_mere_change_is_no_amount(profile: LocalProfile) -> None:
    assert profile.recall("How much is my new lens?", reference_date="2026-06-01T12:00:00Z").answer == ""


def test_how_long_a_stay_of_two_days_lasts(profile: LocalProfile) -> None:
    found = profile.recall("How long is mum staying?", reference_date="2026-04-01T12:00:00Z")
    assert found.answer.startswith("6 days: ")
