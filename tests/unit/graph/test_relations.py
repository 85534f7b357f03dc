"""What the reader of statements finds in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.domain.graph import LONG_AGO, folded_name
from holdfast.domain.types import Memory
from holdfast.graph.relations import mentions_and_ties

AT = datetime(2025, 3, 4, tzinfo=UTC)


def memory(content: str, **more: Any) -> Memory:
    return Memory(id="m", kind="fact", content=content, summary="", created_at=AT, updated_at=AT, **more)


def ties(content: str, **more: Any) -> set[tuple[str, str, str]]:
    found = mentions_and_ties(memory(content, **more)).ties
    return {(tie.subject, tie.relation, tie.object) for tie in found if tie.relation != "with"}


@pytest.mark.parametrize(
    ("said", "tie"),
    [
        ("The user works at Acme Robotics in Lisbon.", ("user", "works-at", "acme robotics")),
        ("The user's wife Ana is a nurse at St. Mary's Hospital.", ("ana", "works-at", "st. mary's hospital")),
        ("The user's wife Ana is a nurse at St. Mary's Hospital.", ("user", "married-to", "ana")),
        ("My sister Marta married Tom in 2019.", ("marta", "married-to", "tom")),
        ("Caroline is married to David.", ("caroline", "married-to", "david")),
        ("Project Falcon is owned by the platform team.", ("platform team", "owns", "project falcon")),
        ("The user and others use PostgreSQL for the billing service.", ("user", "uses", "postgresql")),
        ('The user said: "the billing service depends on Redis"', ("billing service", "depends-on", "redis")),
        ("The user moved from Berlin to Madrid last March.", ("user", "lives-in", "madrid")),
        ("Bob's manager is Carla Gomez.", ("bob", "reports-to", "bob's manager")),
        ("Bob's manager is Carla Gomez.", ("bob's manager", "same-as", "carla gomez")),
        ("Marta is the user's sister.", ("marta", "same-as", "user's sister")),
        ("The user's real name is Anthony.", ("user", "same-as", "anthony")),
        ("Anthony is called Tony.", ("anthony", "same-as", "tony")),
        ("Ana and Bruno founded Acme.", ("bruno", "founded", "acme")),
        ("Acme uses Kafka and Redis.", ("acme", "uses", "redis")),
        ('Joanna said: "my brother Tim works for Google"', ("joanna", "sibling-of", "tim")),
        ('Asked "In England?", Maria answered: My aunt Rose lives in London.', ("rose", "lives-in", "london")),
        ("Jon is a radiology tech at St. Mary's.", ("jon", "works-at", "st. mary's")),
        ("Nora started piano lessons. Her brother Eli is lactose intolerant.", ("nora", "sibling-of", "eli")),
        ("My brother Tom met Ana. Her sister Mia sings.", ("ana", "sibling-of", "mia")),
        ("The billing service, which Tom owns, uses Redis.", ("tom", "owns", "billing service")),
        ("The user likes Project Heron, which Ana and Bob built.", ("bob", "made", "project heron")),
        ("Marta quit Acme and now works at Bolt.", ("marta", "works-at", "bolt")),
        ("The user graduated from Aalto University.", ("user", "studied-at", "aalto university")),
    ],
)  # fmt: skip
def test_a_statement_ties_its_names(said: str, tie: tuple[str, str, str]) -> None:
    assert tie in ties(said)


@pytest.mark.parametrize(
    "said",
    [
        "Meetings moved to Tuesday.", "The user left Lisbon.", "Today is a good day in March.", "Yes, I do.",
        "The user has a dog.", "", "Wow, that's great!",
    ],
)  # fmt: skip
def test_what_says_nothing_of_two_names_ties_none(said: str) -> None:
    assert not {tie for tie in ties(said) if tie[1] != "has-pet"}


def test_what_was_is_over() -> None:
    found = mentions_and_ties(memory("I used to work at Nokia until 2015, now I work at Apple."))
    ends = {tie.object: tie.until for tie in found.ties if tie.relation == "works-at"}
    assert ends == {"nokia": datetime(2015, 1, 1, tzinfo=UTC), "apple": None}


def test_what_is_over_has_no_date_that_nobody_told() -> None:
    (lived,) = [tie for tie in mentions_and_ties(memory("I used to live in Rome.")).ties if tie.relation == "lives-in"]
    assert (lived.since, lived.until) == (None, LONG_AGO)
    for said in (
        "I don't work at Siemens.",
        "The user does not work at Siemens any more.",
        "I'm rich. I don\u2019t live in Rome",
    ):
        (tie,) = [tie for tie in mentions_and_ties(memory(said)).ties if tie.relation != "with"]
        assert (tie.since, tie.until) == (LONG_AGO, LONG_AGO)
    assert ties("The user never said whether Ana does not mind Acme.") == set()


@pytest.mark.parametrize(
    ("said", "name", "type"),
    [
        ("The user flies to Kyoto on 5 April.", "Kyoto", "place"), ("The user stays in Nara.", "Nara", "place"),
        ("We are moving to Alcochete.", "Alcochete", "place"), ("Eli is 4.", "Eli", "person"),
        ("Priya approves prod deploys.", "Priya", "person"), ("The user asked Tomasz.", "Tomasz", "person"),
        ("She works nights at St. Mary's.", "St. Mary's", "organisation"),
        ("The user asked Zorblax.", "Zorblax", "other"),
    ],
)  # fmt: skip
def test_a_name_has_its_type(said: str, name: str, type: str) -> None:
    assert (name, type) in [(each.shown, each.type) for each in mentions_and_ties(memory(said)).mentions]


@pytest.mark.parametrize(
    "said", ["Ana met Mia. Her brother Eli is 4.", "Her brother Eli is 4.", "Tom is tall. Her brother Eli is 4."]
)
def test_whose_brother_it_is_is_not_guessed(said: str) -> None:
    assert not [tie for tie in ties(said) if tie[1] == "sibling-of"]


def test_a_document_speaks_of_itself() -> None:
    assert ties("I work at Acme.", trust="document") == set()
    assert ties("Ana works at Acme.", trust="document") == {("ana", "works-at", "acme")}


def test_mentions_are_typed_and_told_once() -> None:
    found = mentions_and_ties(memory("The user's sister Marta lives in Porto, and Marta loves Porto."))
    assert [(each.shown, each.type) for each in found.mentions] == [
        ("user", "user"), ("Marta", "person"), ("Porto", "place"), ("user's sister", "person"),
    ]  # fmt: skip


def test_what_is_mentioned_together_is_tied_without_saying_how() -> None:
    found = mentions_and_ties(memory("At the fair were Kafka, Bolt and Redis."))
    assert {(tie.subject, tie.object) for tie in found.ties if tie.relation == "with"} == {
        ("kafka", "bolt"), ("kafka", "redis"), ("bolt", "redis"),
    }  # fmt: skip


def test_a_name_is_folded() -> None:
    assert folded_name("The  Billing Service") == "billing service" == folded_name("billing\u00a0service")
    assert folded_name("Ana\u2019s boss") == "ana's boss"


def test_any_text_can_be_read() -> None:
    for text in ("x" * 40_000, "A " * 5_000, "'s sister " * 500, "My " * 900, "Ana \x02" + "1\x03 works at \x024\x03"):
        mentions_and_ties(memory(text))
