"""What an answer is computed from, when statements say the same, and when nothing supports an answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from holdfast import Holdfast, Profile
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan, time_of
from holdfast.recall.answer.statements import duration_between
from holdfast.recall.question.computation import computation_in
from holdfast.text.similarity import same_meaning


@pytest.mark.parametrize(
    ("question", "sought", "a", "b"),
    [
        ("When did I adopt the dog?", "when", "", ""),
        ("Which month did we move?", "when", "", ""),
        ("How many weeks ago did I see the dentist?", "ago", "", ""),
        ("How long ago was the flood?", "ago", "", ""),
        ("How many days passed between the flood and the party?", "between", "the flood", "the party"),
        ("How many days before the party did I order the cake?", "between", "the party", "I order the cake"),
        ("Which came first, the flood or the party?", "first", "the flood", "the party"),
        ("How many bikes do I own?", "count", "bikes", ""),
    ],
)
def test_what_a_question_wants_computed(question: str, sought: str, a: str, b: str) -> None:
    want = computation_in(question)
    assert want is not None
    assert (want.what, want.a, want.b) == (sought, a, b)


@pytest.mark.parametrize(
    "question", ["Where do I live?", "Who is Ana?", "How do I deploy?", "What day do the bins go out?", ""]
)
def test_a_plain_question_wants_nothing_computed(question: str) -> None:
    assert computation_in(question) is None


@pytest.mark.parametrize(
    ("unit", "said"),
    [("day", "59 days"), ("week", "8 weeks"), ("month", "2 months"), ("year", "0 years"), ("long", "8 weeks")],
)
def test_the_time_between_two_days_is_told_in_the_unit_asked_for(unit: str, said: str) -> None:
    assert duration_between(datetime(2025, 1, 31, tzinfo=UTC), datetime(2025, 3, 31, tzinfo=UTC), unit) == said


def test_a_length_of_years_has_its_months() -> None:
    began, asked = datetime(2024, 3, 1, tzinfo=UTC), datetime(2026, 11, 18, tzinfo=UTC)
    assert duration_between(began, asked, "long") == "2 years and 8 months"
    assert duration_between(began, asked, "year") == "2 years"
    assert duration_between(began, datetime(2027, 3, 1, tzinfo=UTC), "long") == "3 years"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana works at Siemens.", "Ana is working for Siemens."),
        ("The user drives a red car.", "The user drives a red automobile."),
    ],
)
def test_a_restatement_is_the_same(one: str, other: str) -> None:
    assert same_meaning(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana works at Siemens.", "Ben works at Siemens."),
        ("The user takes 5 mg of ramipril.", "The user takes 10 mg of ramipril."),
        ("The user is allergic to peanuts.", "The user is not allergic to peanuts."),
        ("The meeting is on Monday.", "The meeting is on Tuesday."),
        ("The user likes green tea.", "The user likes black tea."),
        ("The user hates cilantro.", "The user loves cilantro."),
        ("releases on tuesdays", "releases on wednesdays"),
        ("The user sold the van.", "The user bought the van."),
        ("The upstairs tenant is loud.", "The downstairs tenant is loud."),
        ("we use npm here", "we use pnpm here"),
    ],
)
def test_another_number_name_negation_or_thing_is_another_fact(one: str, other: str) -> None:
    assert not same_meaning(one, other)


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "diary")
        for day, text in (
            ("2025-03-03", "We adopted a beagle called Biscuit yesterday."),
            ("2025-03-20", "The kitchen flooded this morning, what a mess."),
            ("2025-04-11", "I finally ran the Rotterdam marathon today!"),
            ("2025-04-20", "I own three bikes: a gravel bike, a tandem and an old racer."),
        ):
            profile.ingest([{"role": "user", "content": text, "timestamp": f"{day}T18:00:00Z"}], session_id=day)
        profile.settle()
        yield profile


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When did we adopt the beagle?", "2 March 2025"),
        ("When did the kitchen flood?", "20 March 2025"),
        ("How many days ago did I run the marathon?", "20 days ago"),
        ("How many days passed between the kitchen flood and the Rotterdam marathon?", "22 days"),
        ("Which came first, the Rotterdam marathon or the kitchen flood?", "The kitchen flood"),
        ("How many bikes do I own?", "three bikes"),
    ],
)
def test_dates_durations_order_and_counts_are_computed_and_cited(diary: Profile, question: str, told: str) -> None:
    answer = diary.recall(question, reference_date="2025-05-01T12:00:00Z")
    assert told in answer.answer
    assert answer.citations
    assert all(citation.quote in answer.answer or len(answer.citations) == 1 for citation in answer.citations)


@pytest.mark.parametrize("question", ["What is my blood type?", "Which bank holds our mortgage?"])
def test_what_was_never_said_is_not_answered(diary: Profile, question: str) -> None:
    assert diary.recall(question).answer == ""


def test_a_question_about_the_wrong_person_has_less_support(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "two")
        talk = [
            ("Ana", "I work as a potter in Lagos."),
            ("Ben", "Lovely! I spent the day fixing my van."),
        ]
        profile.ingest([{"role": "user", "speaker": who, "content": text} for who, text in talk], session_id="s")
        profile.settle()
        right = profile.recall("Where does Ana work?")
        wrong = profile.recall("Where does Ben work?")
        assert "Lagos" in right.answer
        assert wrong.answer == ""
        assert right.confidence > wrong.confidence + 0.1


def test_restating_a_fact_adds_a_source(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "twice")
        for n, text in enumerate(
            ("The staging cluster runs on Hetzner machines.", "Staging cluster runs on Hetzner machine")
        ):
            profile.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        (known,) = profile.list()
        assert len(known.sources) == 2


def test_a_changed_number_supersedes_and_another_things_number_does_not(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "rent")
        for n, text in enumerate(
            (
                "The warehouse rent is 890 euros, due on the first.",
                "Parking at the warehouse costs 40 euros.",
                "The warehouse rent is 940 euros now.",
            )
        ):
            profile.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        current = [known.content for known in profile.list()]
        assert any("940" in content for content in current)
        assert any("40 euros" in content and "Parking" in content for content in current)
        assert not any("890" in content for content in current)
        head = next(known for known in profile.list() if "940" in known.content)
        assert ["890" in version.content for version in profile.history(head.id)] == [False, True]


def test_a_habit_has_no_day() -> None:
    said = "deploys are on Wednesdays from now on, Tuesday clashed with planning"
    at, start = datetime(2026, 6, 1, tzinfo=UTC), said.index("Wednesdays")
    hit = Hit("m", "message", said, said, 1.0, {}, "s", at)
    assert time_of(FoundSpan(hit, at, start, start + len("Wednesdays"))) is None
