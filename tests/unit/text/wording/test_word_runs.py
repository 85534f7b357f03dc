"""The words of a memory stand together in one message, or they are no memory."""

from __future__ import annotations

import pytest

from holdfast.text.wording.word_runs import stand_together


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The user lives in their flat in Leeds.", "I live in my flat in Leeds"),
        ("The user and others have been here since 2019.", "we've been here since 2019, all of us"),
        ("The user's dad is from Hamburg, by the sea.", "my dad's from Hamburg, by the sea"),
        ("Jip is 19 and fearless.", "she's 19 and fearless, our Jip"),
        ("Rent goes up on 1 May 2026.", "rent goes up 01/05/2026"),
        ("The user met Ana in Rome, bought a map there.", "I met Ana in Rome, lost my bag, bought a map there"),
        ('The user\'s weight is "88".', "88"),
        ("The user no longer works at Acme.", "I quit my job at Acme"),
        ('The user said: "whatever stands here"', "is compared elsewhere"),
    ],
)
def test_words_that_stand_together(memory: str, said: str) -> None:
    assert stand_together(memory, [said])


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The server died twice tired today.", "so tired today, the server died twice"),
        ("The user's partner is now Winifred counts.", "My partner is now Winifred, who counts"),
        ("The user is allergic to for the first aid man.", "I'm allergic to penicillin, for the first aid man"),
        ("Noor wants a in #ops before each deploy.", "Noor wants a heads up in #ops before each deploy"),
        ("Lockyer's son Rupert takes over.", "Mr Lockyer has died. his son Rupert takes over"),
    ],
)
def test_words_that_others_stood_between(memory: str, said: str) -> None:
    assert not stand_together(memory, [said])


def test_words_of_two_messages_stand_in_none() -> None:
    said = ["I posted the Breeze 2 yesterday, receipt RX 8834", "sorry, RX 8843"]
    assert not stand_together("The user posted the Breeze 2 yesterday, receipt RX 8843.", said)
    assert stand_together('The user posted the Breeze 2 yesterday, receipt RX "8843".', said)


def test_a_name_stands_for_a_pronoun_only_if_somebody_said_it() -> None:
    said = ["she bakes bread every Sunday"]
    assert stand_together("Ana bakes bread every Sunday.", said, [*said, "my friend Ana called"])
    assert not stand_together("Ana bakes bread every Sunday.", said, said)


def test_a_speaker_is_the_one_who_says_i() -> None:
    assert stand_together("Maya keeps bees behind the shed.", ["I keep bees behind the shed"], names=["Maya"])
