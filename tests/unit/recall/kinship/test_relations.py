"""Who is whose relative: read off statements, and followed to the one who is asked about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.results import Hit
from holdfast.recall.kinship.network import KinNetwork, asked_kin, may_tell_of_own, own_relatives
from holdfast.recall.kinship.statements import USER, relations_in

KNOWN = {"noor", "joanne", "kasia"}
AT = datetime(2026, 3, 1, tzinfo=UTC)


def told(text: str) -> set[tuple[str, str, str]]:
    return {(each.owner, "/".join(each.path), each.name) for each in relations_in(text, KNOWN)}


def test_two_things_of_ones_own_are_no_children() -> None:
    assert told("my two Macs are slow, our two, Alpha and Beta, too") == set()


def test_children_without_a_word_for_whose() -> None:
    text = "wife is Ola, she nurses at Bupa. two girls, Zosia (8) and Hania (5)"
    assert {(USER, "child", "zosia"), (USER, "child", "hania")} <= told(text)
    assert told("three girls, Mia, Zoe and Ava, joined the choir") == set()


def test_a_name_with_a_verb_of_its_own_is_no_member_of_a_list() -> None:
    assert ("conor", "child", "marek") not in told("Kasia has Conor and their baby Finn, Marek is in Krakow")


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Options are Leeds or York. my sister Kasia is in York", (USER, "sibling", "kasia")),
        ("noors sister Lotte lives in Leuven", ("noor", "sibling", "lotte")),
        ("Joannes husband is Piotr, hes from Gdansk", ("joanne", "partner", "piotr")),
        ("my mother in law Greet wants internet", (USER, "partner/parent", "greet")),
        ("kids are Zosia whos 9 and Leo, 6. their dad (Darren) has them", ("leo", "parent", "darren")),
        ("Ama had her baby! a girl called Esi, born on 30 october", ("ama", "child", "esi")),
        ("my aunt's son Leo is getting divorced", (USER, "parent/sibling/child", "leo")),
        ("Kofi and I got engaged yesterday", (USER, "partner", "kofi")),
        ("Darren is getting married. to Chantelle. in august", ("darren", "partner", "chantelle")),
        ("my brother Tim and his wife Lea moved", ("tim", "partner", "lea")),
        ("divorced. three kids: Imani 14, Zeke 6", (USER, "child", "zeke")),
        ("our two boys, Theo and Max, are at camp", (USER, "child", "max")),
        ("got 3 kids - Ana (12), Bo (9) and Cy", (USER, "child", "cy")),
        ("two grown kids: Kasia lives in Dublin with her husband Conor, Marek is in Krakow", (USER, "child", "marek")),
        ("Kasia lives in Dublin with her husband Conor", ("kasia", "partner", "conor")),
        ("kids: Ruan 16, Anke 14 and the little one Stefan, 5", (USER, "child", "stefan")),
        ("granddaughter Noor passed her swimming test", (USER, "child/child", "noor")),
        ("our eldest, Sietse, got his licence", (USER, "child", "sietse")),
        ("I mind the grandkids after school, Kasia is 9 and Olly is 6", (USER, "child/child", "olly")),
        ("Clare lives in Hebden Bridge with her husband Neil", ("clare", "partner", "neil")),
        ("Clare is there with Neil and their two, Imogen, who is nine, and Rufus", ("neil", "child", "rufus")),
        ("My son Martin is in Bristol with his boy Theo", ("martin", "child", "theo")),
        ("mum's coming on 28 march. her name's Bee, she cooks", (USER, "parent", "bee")),
    ],
)
def test_a_statement_says_who_is_whose_relative(text: str, relation: tuple[str, str, str]) -> None:
    assert relation in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "hey my mum is British and my dad is in Rome",
        "my ex husband Carl called",
        "we moved in May",
        "Vaso and Uwe come in August! the baby is Melina, 7 months",
    ],
)
def test_other_statements_say_nothing(text: str) -> None:
    assert told(text) == set()


def meant(question: str, *said: str) -> list[str]:
    hits = [
        Hit(f"m{n}", "message", text, summary=text, session_id="s", score=0.0, channels={}, created_at=AT)
        for n, text in enumerate(said)
    ]
    known = {"kofi", "ama", "joanne", "piotr", "leo", "kasia", "noor"}
    asked = asked_kin(question, known)
    assert asked is not None
    network = KinNetwork.of((each, hit) for hit in hits for each in relations_in(hit.content, known))
    return [each.name for each in network.meant(asked)]


@pytest.mark.parametrize(
    ("question", "said", "name"),
    [
        (
            "What is Kofi's niece called?",
            ("Kofi's sister Ama lives there", "Ama had her baby! a girl called Esi"),
            "esi",
        ),
        ("Who is Joanne's mother-in-law?", ("Joannes husband is Piotr", "Piotr's mum Halina is coming"), "halina"),
        ("What's the name of Leo's aunt?", ("my kids Zosia and Leo", "my sister Kasia is in York"), "kasia"),
        ("How old is the mother of my wife?", ("my wife Noor", "my mother in law Greet is 81"), "greet"),
        ("How old is Noor's mother?", ("my wife Noor", "my mother in law Greet is 81"), "greet"),
        ("Who is my fiancé?", ("Kofi and I got engaged",), "kofi"),
        ("What's my sister's boyfriend called?", ("my sister Kasia", "its Kasias bloke Pete"), "pete"),
        ("What is my brother-in-law called?", ("my husband's brother Pavel is here",), "pavel"),
    ],
)
def test_the_words_of_a_question_lead_to_a_name(question: str, said: tuple[str, ...], name: str) -> None:
    assert meant(question, *said) == [name]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is Kofi's nephew called?", ("Kofi's sister Ama lives there", "Ama had her baby! a girl called Esi")),
        ("Who is my husband?", ("my boyfriend Kofi cooks",)),
        ("What is my nephew called?", ("my cousin Dee had a baby boy, Finn",)),
    ],
)
def test_somebody_else_is_not_meant(question: str, said: tuple[str, ...]) -> None:
    assert meant(question, *said) == []


def test_a_question_after_ones_own_relatives_is_known_by_its_form() -> None:
    assert own_relatives("Who are my sisters?") == "sister"
    assert own_relatives("How many kids do I have?") == "kid"
    assert own_relatives("What is my son allergic to?") == ""


@pytest.mark.parametrize(
    ("word", "statement", "tells"),
    [
        ("sister", "my sister Ana is here", True),
        ("sister", "Mrs Hallam is moving to her sister's in Scarborough", False),
        ("sister", "Kofi's sister Ama", False),
        ("brother", "best man is his brother Emeka", False),
        ("child", "2 kids, tyler 13 n mina 6", True),
        ("daughter", "my eldest, Sietse", True),
        ("daughter", "my son Elias is 6", False),
        ("wife", "Ines and I got married", True),
    ],
)
def test_a_word_for_somebody_elses_relative_tells_of_none_of_ones_own(word: str, statement: str, tells: bool) -> None:
    assert may_tell_of_own(word, statement) is tells
