"""Whom a sentence is about: pronouns, names with adverbs, relations, and what ends when something else begins."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Draft, Message
from holdfast.models.rules import drafts
from holdfast.models.rules.people.pronouns import person_mentions

WEDNESDAY = datetime(2025, 3, 5, 14, 30, tzinfo=UTC)


def drafts_from(*turns: str | tuple[str, str]) -> list[Draft]:
    """Drafts from texts; ("assistant", text) sets the role."""
    said = [("user", turn) if isinstance(turn, str) else turn for turn in turns]
    messages = [Message(f"m{i}", "s", role, text, WEDNESDAY, position=i) for i, (role, text) in enumerate(said)]
    return drafts(messages, [], least=0.3)


def statements_by_key(*turns: str | tuple[str, str]) -> dict[str | None, str]:
    """What is kept, by key."""
    return {draft.key: draft.content for draft in drafts_from(*turns)}


@pytest.mark.parametrize(
    ("turns", "key", "content"),
    [
        (
            (
                "Nora started piano lessons with Mrs. Feldman. She lost her first tooth yesterday!",
                "And Jon finally got a day job, he's now a radiology tech at St. Mary's.",
            ),
            "jon.employer",
            "Jon is now a radiology tech at St. Mary's.",
        ),
        (
            ("My sister Ana lives in Porto. And Tom recently moved to Oslo, he works at Fiat now.",),
            "tom.employer",
            "Tom",
        ),
        (
            ("My wife works at Siemens. My brother visited us. She is allergic to peanuts.",),
            "wife.allergy-peanuts",
            "wife",
        ),
        (("Clara met Ben at the office. He lives in Lyon.",), "ben.home-city", "Ben lives in Lyon."),
        (("Ben works at Bolt. My dad called yesterday, he is 70.",), "dad.age", "The user's dad is 70."),
        (
            ("My sister lives in Porto.", ("assistant", "And how is your mom?"), "She works at Acme."),
            "mom.employer",
            "mom",
        ),
        (("My father in law lives in Cork. He is vegan.",), "father-in-law.diet", "The user's father in law is vegan."),
        (("Zuri works at Bolt. She is allergic to cats.",), "zuri.allergy-cats", "Zuri is allergic to cats."),
    ],
)
def test_a_pronoun_stands_for_the_one_who_can_be_meant(
    turns: tuple[str | tuple[str, str], ...], key: str, content: str
) -> None:
    assert content in statements_by_key(*turns)[key]


@pytest.mark.parametrize(
    "turns",
    [
        ("Clara met Vera at the office. She lives in Lyon.",),
        ("My boss Paula is great. He lives in Lyon.",),
        ("My husband Jon cooks.", "I called the chimney sweep, he lives in Lyon."),
        ("My sister works at Acme. Kim visited us. She lives in Lyon.",),
        ("My brother is 30.", "We hired a gardener. He lives in Lyon."),
        ("My sister is 30. Blessing's leaving us. She lives in Lyon.",),
        ("I have a meeting with Zendesk. He lives in Lyon.",),
    ],
)
def test_when_two_may_be_meant_the_author_is_quoted(turns: tuple[str, ...]) -> None:
    made = drafts_from(*turns)
    assert not [d for d in made if d.key and d.key.endswith("home-city")], made
    assert all("said:" in d.content for d in made if "Lyon" in d.content)


def test_her_brother_is_somebody_of_his_own() -> None:
    made = statements_by_key(
        "My daughter Nora turns 7 on Saturday.",
        ("assistant", "A cake?"),
        "Perfect idea. Her brother Eli is lactose intolerant. Eli is 4.",
    )
    assert made["eli.intolerance-lactose"] == 'The user said of Nora: "Her brother Eli is lactose intolerant"'
    assert made["eli.age"] == 'The user said: "Eli is 4"'


def test_two_brothers_do_not_share_their_keys() -> None:
    made = statements_by_key("My brother Tom lives in Rome.", "My brother Ben lives in Oslo.")
    assert set(made) == {"brother-tom.home-city", "brother-ben.home-city"}


def test_the_only_sister_known_by_name_is_my_sister() -> None:
    assert set(statements_by_key("My sister Ana lives in Rome.", "My sister works at Fiat.")) == {
        "sister-ana.home-city",
        "sister-ana.employer",
    }


def test_places_and_tools_are_nobody() -> None:
    assert [m.who for m in person_mentions("We moved to Florence in May and use Postgres with Ana and my boss.")] == [
        "Ana",
        "my boss",
    ]


@pytest.mark.parametrize(
    ("text", "ended", "key", "now"),
    [
        (
            "Marta quit Acme and now works at Bolt.",
            "Marta no longer works at Acme.",
            "marta.employer",
            "Marta works at Bolt.",
        ),
        (
            "I quit Acme and now work at Bolt.",
            "The user no longer works at Acme.",
            "employer",
            "The user works at Bolt.",
        ),
        ("My sister left Google for Meta.", "no longer works at Google.", "sister.employer", "sister works at Meta."),
        (
            "Jon has left Barclays to work for HSBC.",
            "Jon no longer works at Barclays.",
            "jon.employer",
            "works at HSBC.",
        ),
        ("Ben left Lyon for Paris.", "Ben no longer lives in Lyon.", "ben.home-city", "Ben lives in Paris."),
        (
            "My brother no longer lives in Rome, he moved to Milan.",
            "no longer lives in Rome.",
            "brother.home-city",
            "Milan",
        ),
        ("I switched from Vim to Emacs.", "The user no longer uses Vim.", "uses-emacs", "The user uses Emacs."),
        (
            "We switched CI from Jenkins to Buildkite.",
            "switched CI from Jenkins",
            "choice-ci",
            'use "Buildkite" for CI.',
        ),
        (
            "Tom used to work at Acme but now works at Bolt.",
            "Tom used to work at Acme.",
            "tom.employer",
            "works at Bolt.",
        ),
        ("I moved out of Berlin and now live in Prague.", "moved out of Berlin.", "home-city", "lives in Prague."),
    ],
)
def test_a_change_keeps_both_halves_and_the_new_one_has_the_key(text: str, ended: str, key: str, now: str) -> None:
    made = drafts_from(text)
    (begun,) = (d for d in made if d.key == key)
    assert now in begun.content
    assert any(ended in d.content for d in made if d is not begun), made


def test_what_takes_its_place_is_said_of_the_same_person() -> None:
    assert (
        statements_by_key("My brother quit Lidl and moved to Berlin.")["brother.home-city"]
        == "The user's brother lives in Berlin."
    )


@pytest.mark.parametrize("text", ["Peter left Anna for Clara.", "I left Tom a message.", "We left Python for Rust."])
def test_leaving_a_person_or_a_tool_ends_no_job(text: str) -> None:
    assert not [d for d in drafts_from(text) if d.key and d.key.endswith("employer")]


def test_leaving_a_town_ends_the_home_there() -> None:
    assert statements_by_key("I left Berlin last year.")["home-city"] == "The user no longer lives in Berlin."


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "My sister Paula, who lives in Graz, is a lawyer.",
            {
                "The user's sister Paula lives in Graz.",
                'The user said: "My sister Paula, who lives in Graz, is a lawyer"',
            },
        ),
        ("We met Ana, who's a vet, in Rome.", {'The user said: "We met Ana, who\'s a vet, in Rome"'}),
        ("Tom is my manager now.", {"Tom is the user's manager now."}),
        ("I never work on Fridays.", {"The user never works on Fridays."}),
    ],
)
def test_what_is_said_of_others_is_told_with_its_person(said: str, kept: set[str]) -> None:
    assert {draft.content for draft in drafts_from(said)} == kept


def test_an_order_keeps_what_it_is_about() -> None:
    kept = {draft.content for draft in drafts_from("I can't stand coriander, please never suggest recipes with it.")}
    assert kept == {
        "The user can't stand coriander.",
        'The user asks: never suggest recipes with it (of: "I can\'t stand coriander").',
    }


def test_the_same_sentence_is_read_again_with_the_people_of_its_own_conversation() -> None:
    """What the rules found in a sentence is remembered, together with whom it may be about."""
    told = "She works at Bolt."
    found = [statements_by_key(f"My {who} is a swimmer.", told) for who in ("sister", "mother", "sister")]
    assert [next(key for key in each if key and key.endswith("employer")) for each in found] == [
        "sister.employer", "mother.employer", "sister.employer",
    ]  # fmt: skip
