"""Questions about relatives, asked of the product as it ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, Profile

SAID = (
    "we're thinking Cardiff maybe, Kofi's sister Ama lives there",
    "Ama had her baby! a girl called Esi, born on 30 october",
    "Kofi and I got engaged yesterday",
    "my kids Emil and Tova are at grandma's",
    "party survived. 14 kids in the end, 1 nosebleed",
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    folder: Path = tmp_path_factory.mktemp("data")
    with Holdfast.open(folder) as memory:
        profile = memory.profile("app", "dana")
        for n, text in enumerate(SAID):
            message = {"role": "user", "content": text, "timestamp": f"2026-11-0{n + 1}"}
            profile.ingest([message], session_id=f"s{n}", wait=True)
        yield profile


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is Kofi's niece called?", "Esi"),
        ("Who is my fiancé?", "Kofi"),
        ("How many children do I have?", "2: Emil, Tova"),
        ("Where does Kofi's sister live?", "Cardiff"),
    ],
)
def test_a_relative_is_found_by_who_is_whose(profile: Profile, question: str, answer: str) -> None:
    found = profile.recall(question, reference_date="2026-11-16T12:00:00Z")
    assert answer in found.answer
    assert {each.hit for each in found.citations} <= {hit.id for hit in found.hits}


@pytest.mark.parametrize("question", ["What is Kofi's nephew called?", "What is my baby called?", "Who is my husband?"])
def test_who_is_not_told_of_is_not_answered(profile: Profile, question: str) -> None:
    assert profile.recall(question, reference_date="2026-11-16T12:00:00Z").answer == ""
