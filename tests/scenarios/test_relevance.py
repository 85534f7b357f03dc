"""A search may say that there is nothing: hits that are not about the question can be left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Holdfast, InvalidInput, Profile

SAID = (
    "My daughter Nora started piano lessons in March.",
    "We painted the living room sage green.",
    "I'm allergic to peanuts, and my brother is allergic to shellfish.",
    "The roof repair came to 19.2k in the end.",
    "Our dentist is Dr. Braga, on Rua do Sol.",
)
CUT = 0.5


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    with Holdfast.open(tmp_path_factory.mktemp("data"), embedder="potion") as memory:
        profile = memory.profile("app", "family")
        profile.ingest([{"role": "user", "content": text} for text in SAID], session_id="chat", wait=True)
        profile.remember("Prefers window seats", key="seat")
        yield profile


@pytest.mark.parametrize("asked", ["Which allergies are there?", "piano lessons", "Who is our dentist?", "roof repair"])
def test_what_is_about_the_question_stays(family: Profile, asked: str) -> None:
    hits = family.search(asked, min_relevance=CUT)
    assert hits
    assert hits[0].id == family.search(asked)[0].id
    assert all(CUT <= hit.relevance <= 1 for hit in hits)


@pytest.mark.parametrize("asked", ["quantum chromodynamics lattice", "kubernetes controller", "submarine cable"])
def test_what_is_about_nothing_finds_nothing(family: Profile, asked: str) -> None:
    assert family.search(asked)
    assert family.search(asked, min_relevance=CUT) == []


def test_what_a_key_names_is_relevant(family: Profile) -> None:
    assert [hit.key for hit in family.search("seat", min_relevance=1.0)] == ["seat"]


@pytest.mark.parametrize("share", [-0.1, 1.1, "0.5", True])
def test_a_share_is_from_nothing_to_one(family: Profile, share: float) -> None:
    with pytest.raises(InvalidInput, match="0 to 1"):
        family.search("tea", min_relevance=share)


@pytest.fixture(scope="module")
def polite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    said = ("Kim fixed the login bug.", "Good to hear.", "Thanks Kim.", "OK.", "yes please", "Done.")
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "polite")
        profile.ingest([{"role": "user", "content": text} for text in said], session_id="chat", wait=True)
        yield profile


@pytest.mark.parametrize("asked", ["What did Kim do?", "commit this please", "Is the login OK?", "Which database?"])
def test_a_courtesy_is_about_no_question(polite: Profile, asked: str) -> None:
    found = polite.context(asked, min_relevance=0.01).hits
    assert {hit.content for hit in found} <= {"Kim fixed the login bug."}
    assert {hit.relevance for hit in polite.search(asked) if hit.content in ("OK.", "Thanks Kim.")} <= {0.0}


def test_a_courtesy_asks_for_nothing(polite: Profile) -> None:
    assert polite.search("ok thanks, continue")
    assert polite.context("ok thanks, continue", min_relevance=0.01).text == ""


def test_the_lines_of_a_block_have_the_relevance_of_what_found_them(polite: Profile) -> None:
    (line,) = polite.context("What did Kim do?", min_relevance=0.3).hits
    assert line.relevance >= 0.3
