"""What makes a known statement out of date, and what only sounds like it: through the product, with its own models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Holdfast


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        yield memory


@pytest.mark.parametrize(
    ("first", "then", "replaced"),
    [
        ("I live in Porto.", "We moved to Lisbon in May.", True),
        ("I live in Porto.", "I visited Lisbon last week.", False),
        ("My sister lives in Braga.", "I moved to Faro.", False),
        ("We use Postgres 15 in production.", "We upgraded production to Postgres 16.", True),
        ("I work at Siemens.", "I started at Bosch on Monday.", True),
        ("The standup is at 9:30.", "Standup moved to 10:00.", True),
        ("The standup is at 9:30.", "The retro is at 15:00 on Fridays.", False),
        ("I need to renew my passport.", "Passport's renewed, picked it up today.", True),
        ("I need to renew my passport.", "I need to call the dentist.", False),
        ("I need to renew my passport.", "Passport's in my hand, valid till 2035.", True),
        ("I need to renew my passport.", "My sister's passport arrived.", False),
        ("I need to book the boiler service.", "The boiler man came on Tuesday, all fine for another year.", True),
        ("I have to order a tech suit.", "The Arena parcel turned up today, the suit takes ages to get into.", True),
        ("I have to file the VAT return by the 20th.", "HMRC confirmed they received our VAT at noon.", True),
        ("I still need to back up the photos.", "The hotel in Faro was lovely, we took 300 photos.", False),
        ("I have a cat called Miso.", "We also got a dog called Pip.", False),
        ("My favourite colour is blue.", "My favourite food is ramen.", False),
        ("I'm allergic to peanuts.", "I'm allergic to shellfish too.", False),
        ("My brother plays the cello.", "My brother works in Berlin.", False),
        ("My daughter is called Ana.", "My son is called Rui.", False),
        ("The budget is 5,000 euros.", "The deadline is 5 May.", False),
        ("I run 5 km every morning.", "I ran a half marathon in April.", False),
        ("I prefer window seats.", "I prefer vegetarian meals.", False),
        ("My boss is Karin.", "My dentist is Dr Weber.", False),
        ("I bought a bike in March.", "I bought a helmet in April.", False),
        ("I drive a 2014 Civic.", "I traded the Civic in for a used Leaf.", True),
        ("I drive a 2014 Civic.", "I took the Civic to the garage on Monday.", False),
        ("I drive a 2014 Civic.", "I had the Civic washed on Monday.", False),
        ("I run 5 km every morning.", "I run 10 km every morning.", True),
    ],
)
def test_a_change_supersedes_and_another_thing_does_not(
    memory: Holdfast, first: str, then: str, replaced: bool
) -> None:
    profile = memory.profile("app", f"{first} {then}"[:150])
    for session, text in enumerate((first, then)):
        receipt = profile.ingest([{"role": "user", "content": text}], session_id=f"s{session}", wait=True)
        assert receipt.memories
    assert (profile.stats().superseded > 0) == replaced


def test_what_happened_before_leaves_a_task_for_a_day_to_come(memory: Holdfast) -> None:
    profile = memory.profile("app", "mom")
    for day, text in (("2026-03-03", "Remind me to call mom on Sunday."), ("2026-03-04", "I called mom yesterday.")):
        profile.ingest([{"role": "user", "content": text, "timestamp": day}], session_id=day, wait=True)
    assert len(profile.list(kind="task").items) == 1


def test_a_day_that_was_corrected_is_the_one_that_is_answered(memory: Holdfast) -> None:
    profile = memory.profile("app", "dentist")
    said = [("10:00", "The dentist is on 14 May."), ("10:01", "no wait, the 15th")]
    messages = [{"role": "user", "content": text, "timestamp": f"2026-01-05T{at}:00Z"} for at, text in said]
    profile.ingest(messages, session_id="s", wait=True)
    assert "15 May" in profile.recall("When is the dentist?").answer
