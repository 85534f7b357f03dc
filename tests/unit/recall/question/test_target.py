"""What a question asks for, whose it is, and which of two statements is the newer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Holdfast, Profile
from holdfast.domain.results import Hit
from holdfast.recall.question.analysis import analysed_question
from holdfast.recall.ranking.clauses import SELF, clauses_of, people_in

NOW = datetime(2026, 6, 20, 9, tzinfo=UTC)


def hit_saying(content: str, speaker: str | None = None) -> Hit:
    return Hit("m1", "message", content, content[:80], 0.0, {}, "s", NOW, "m1", role="user", speaker=speaker)


@pytest.mark.parametrize(
    ("question", "value", "about", "own"),
    [
        ("Where do I live?", "place", ["live"], True),
        ("When is Jon's birthday?", "time", ["birthday"], False),
        ("How many windows does the attic have?", "number", ["windows", "attic"], False),
        ("How many days ago did I run the marathon?", "time", ["run", "marathon"], True),
        ("Who runs the counter?", "person", ["runs", "counter"], False),
        ("What is Eli allergic to?", "", ["allergic"], False),
    ],
)
def test_a_question_asks_for_a_trait_and_a_type_of_value(
    question: str, value: str, about: list[str], own: bool
) -> None:
    want = analysed_question(question, NOW).target
    assert (want.value, [word for word, _ in want.about], want.own) == (value, about, own)


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("My brother is allergic to shellfish, I'm fine with it.", [{"brother"}, {SELF}]),
        ("My brother Otto has asthma. He drives an old Volvo.", [{"brother", "otto"}, {"brother", "otto"}]),
        ("I live in Graz.", [{SELF}]),
        ("The rent is due on Friday.", [set()]),
        ("The doctor put me on 10 mg.", [{SELF}]),
    ],
)
def test_each_clause_knows_of_whom_it_speaks(text: str, owners: list[set[str]]) -> None:
    hit = hit_saying(text)
    assert [set(clause.owners) for clause in clauses_of(hit, people_in([hit]))] == owners


def test_with_several_speakers_nobody_knows_who_i_is() -> None:
    hits = [hit_saying("I live in Rome.", "Ben"), hit_saying("I live in Porto.", "Ana")]
    assert SELF not in clauses_of(hits[0], people_in(hits))[0].owners
    assert SELF in clauses_of(hits[0], people_in(hits[:1]))[0].owners


def test_plans_are_asked_for_with_or_without_a_time() -> None:
    assert analysed_question("What am I doing this week?", NOW).agenda_period == (
        datetime(2026, 6, 20, tzinfo=UTC), datetime(2026, 6, 22, tzinfo=UTC)
    )  # fmt: skip
    assert analysed_question("What is coming up in July?", NOW).agenda_period is not None
    assert analysed_question("What is coming up?", NOW).agenda_period is not None
    assert analysed_question("What are we doing about the leak this week?", NOW).agenda_period is None
    assert analysed_question("What do I study?", NOW).agenda_period is None


def test_how_it_was_is_asked_for_by_before_or_by_a_time_that_is_over() -> None:
    before = analysed_question("Where did I live before Linz?", NOW).past_state
    assert before is not None
    assert (before.text, before.what) == ("Where did I live?", "Linz")
    during = analysed_question("Where did I live in March 2026?", NOW).past_state
    assert during is not None
    assert during.text == "Where did I live?"
    assert during.at is not None
    assert analysed_question("Where do I live?", NOW).past_state is None
    assert analysed_question("When did I buy the bike?", NOW).past_state is None
    assert analysed_question("How old am I?", NOW).past_state is None
    assert analysed_question("What was my old job?", NOW).past_state is not None


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "diary")
        for n, (day, text) in enumerate(
            (
                ("2025-01-05", "I live in Porto. Our API rate limit is 200 requests per second."),
                ("2025-01-07", "My friend Ben has a dog named Fritz. My brother is allergic to shellfish."),
                ("2025-01-09", "My nephew Eli is 4."),
                ("2025-06-05", "We moved to Lisbon last week."),
                ("2025-06-08", "We bumped the API rate limit to 500 requests per second."),
                ("2025-06-10", "I see the eye doctor on 3 July."),
                ("2020-02-05", "I live in Madrid."),
            )
        ):
            profile.ingest([{"role": "user", "content": text, "timestamp": day}], session_id=f"s{n}", wait=True)
        yield profile


def answer_to(diary: Profile, question: str) -> str:
    return diary.recall(question, reference_date="2025-06-20").answer


def test_of_two_statements_the_newer_answers_and_stands_first(diary: Profile) -> None:
    assert "500" in answer_to(diary, "What is the API rate limit?")
    assert "200" not in answer_to(diary, "What is the API rate limit?")
    hits = [hit.content for hit in diary.search("What is the API rate limit?")]
    new, old = (next(n for n, text in enumerate(hits) if figure in text) for figure in ("500", "200"))
    assert new < old
    block = diary.context("What is the API rate limit?").text.splitlines()
    assert next(line for line in block if "200" in line).endswith("(no longer true)")


def test_what_was_out_of_date_on_arrival_does_not_answer(diary: Profile) -> None:
    assert "Lisbon" in answer_to(diary, "Where do I live?")
    assert "Madrid" not in answer_to(diary, "Where do I live?")


@pytest.mark.parametrize("question", ["How tall is Eli?", "What is Eli allergic to?", "When is Eli's birthday?"])
def test_a_known_name_alone_supports_nothing(diary: Profile, question: str) -> None:
    assert answer_to(diary, question) == ""


@pytest.mark.parametrize("question", ["What is my dog's name?", "What am I allergic to?", "Do I have a dog?"])
def test_what_is_told_of_somebody_else_does_not_answer_for_the_user(diary: Profile, question: str) -> None:
    assert answer_to(diary, question) == ""


def test_the_same_is_told_when_that_one_is_asked_about(diary: Profile) -> None:
    assert "Fritz" in answer_to(diary, "What is Ben's dog called?")
    assert "shellfish" in answer_to(diary, "What is my brother allergic to?")


def test_how_it_was_before_is_told_with_when(diary: Profile) -> None:
    assert "Porto" in answer_to(diary, "Where did I live before Lisbon?")
    assert "Porto" in answer_to(diary, "Where did I live in March 2025?")
    assert "Madrid" in answer_to(diary, "Where did I live in 2020?")
    assert answer_to(diary, "Where did I live before Lisbon?").startswith("Said on 5 January 2025, until 5 June 2025")


def test_what_is_coming_up_is_told_from_dated_memories_and_cited(diary: Profile) -> None:
    answer = diary.recall("What is coming up in July?", reference_date="2025-06-20")
    assert "eye doctor" in answer.answer
    assert answer.answer.startswith("3 July 2025")
    assert {citation.hit for citation in answer.citations} <= {hit.id for hit in answer.hits}


def test_without_a_reader_two_statements_that_fit_alike_are_both_told_with_their_dates(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        team = memory.profile("app", "team")
        for day, who in (("2025-01-05", "Priya"), ("2025-03-05", "Tomasz")):
            text = f"{who} reviewed the security patches today."
            team.ingest([{"role": "user", "content": text, "timestamp": day}], session_id=day, wait=True)
        answer = team.recall("Who reviewed the security patches?", reference_date="2025-04-01")
        assert answer.answer.index("5 March 2025") < answer.answer.index("5 January 2025")
        assert answer.answer.index("Tomasz") < answer.answer.index("Priya")
        assert len(answer.citations) == 2


def test_several_profiles_are_asked_for_plans_and_for_how_it_was_too(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        ana, team = memory.profile("app", "ana"), memory.profile("app", "team")
        for day, text in (("2025-01-05", "I live in Porto."), ("2025-06-05", "We moved to Lisbon.")):
            ana.ingest([{"role": "user", "content": text, "timestamp": day}], session_id=day, wait=True)
        text = "The release is on 3 July."
        team.ingest([{"role": "user", "content": text, "timestamp": "2025-06-06"}], session_id="t", wait=True)
        both = memory.across("app", ["ana", "team"])
        plans = both.recall("What is coming up in July?", reference_date="2025-06-20")
        assert "release" in plans.answer
        assert [str(citation.origin) for citation in plans.citations] == ["app/team"]
        assert "Porto" in both.recall("Where did I live before Lisbon?", reference_date="2025-06-20").answer


def test_a_filter_holds_for_plans_and_for_how_it_was(diary: Profile) -> None:
    here = {"reference_date": "2025-06-20", "session_id": "s0"}
    assert "doctor" not in diary.recall("What is coming up in July?", **here).answer
    assert "Madrid" not in diary.recall("Where did I live in 2020?", **here).answer
