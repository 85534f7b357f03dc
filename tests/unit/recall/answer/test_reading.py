"""Answers made of what a reader finds: quoted, computed, silent; and lists of tasks and instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast, Holdfast, LocalProfile
from holdfast.domain.ports.models import AnswerKind, AnswerSpan, ReadAnswer, ReadPassage
from holdfast.domain.timestamps import parse_moment
from holdfast.recall.answer.listing import wanted_list
from holdfast.recall.question.analysis import analysed_question
from holdfast.recall.question.computation import computation_in
from holdfast.testing import HashingEmbedder, MemoryVault, ScriptedExtractor

ASKED = "2026-03-01T12:00:00Z"


class ScriptedReader(HashingEmbedder):
    """An embedder that also finds given words, and keeps what it was given to read."""

    def __init__(self, *words: str, kind: AnswerKind = "span", chance: float = 0.99) -> None:
        super().__init__()
        self.words, self.kind, self.chance = words, kind, chance
        self.read: list[ReadPassage] = []

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        self.read = list(passages)
        spans = [
            AnswerSpan(n, m.start(), m.end())
            for word in self.words
            for n, passage in enumerate(passages)
            for m in re.finditer(re.escape(word), passage.text)
        ]
        return ReadAnswer(self.kind, tuple(spans), self.chance) if spans else ReadAnswer("none")


async def profile_of(holdfast: AsyncHoldfast, *said: tuple[str, str], speaker: str | None = None) -> LocalProfile:
    profile = holdfast.profile("app", "ana")
    for n, (day, text) in enumerate(said):
        message = {"role": "user", "content": text, "timestamp": day} | ({"speaker": speaker} if speaker else {})
        await profile.ingest([message], session_id=f"s{n}", wait=True)
    return profile


async def answer(
    reader: ScriptedReader, question: str, *said: tuple[str, str], speaker: str | None = None
) -> tuple[str, float]:
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        profile = await profile_of(holdfast, *said, speaker=speaker)
        found = await profile.recall(question, reference_date=ASKED)
        assert {citation.hit for citation in found.citations} <= {hit.id for hit in found.hits}
        return found.answer, found.confidence


async def test_the_sentence_with_the_words_is_quoted() -> None:
    told = ("2026-02-01", "Long day. My dentist is Dr. Okafor. Tea?")
    text, chance = await answer(ScriptedReader("Okafor"), "Who is my dentist?", told)
    assert "Okafor" in text
    assert "Tea" not in text
    assert chance >= 0.6


async def test_a_reader_that_is_not_sure_leaves_the_answer_empty_but_not_the_hits() -> None:
    async with AsyncHoldfast(MemoryVault(), ScriptedReader("Okafor", chance=0.05), ScriptedExtractor()) as holdfast:
        profile = await profile_of(holdfast, ("2026-02-01", "My dentist is Dr. Okafor."))
        found = await profile.recall("Who is my dentist?", reference_date=ASKED)
        assert (found.answer, found.citations) == ("", ())
        assert found.hits
        assert found.confidence < 0.6


async def test_where_the_reader_is_silent_a_memory_answers_that_has_what_is_asked_as_its_key() -> None:
    async with AsyncHoldfast(MemoryVault(), ScriptedReader("none of it"), ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "tom")
        await profile.remember("The user is Tom.", key="name")
        await profile.remember("The user drives a red Skoda.", key="car")
        assert (await profile.recall("What is my name?")).answer == "The user is Tom."


async def test_what_was_redacted_answers_nothing() -> None:
    told = ("2026-02-01", "The wifi password is hunter2xyz and the router is in the hall.")
    assert await answer(ScriptedReader("redacted"), "What is the wifi password?", told) == ("", 0.0)
    assert "hall" in (await answer(ScriptedReader("in the hall"), "Where is the router?", told))[0]


async def test_a_reader_that_fails_leaves_the_statement_that_fits_best(caplog: pytest.LogCaptureFixture) -> None:
    class BrokenReader(ScriptedReader):
        async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
            raise OSError("answer_reader.npz is damaged")

    text, _ = await answer(BrokenReader(), "Who is my dentist?", ("2026-02-01", "My dentist is Dr. Okafor."))
    assert "Okafor" in text
    assert "answer_reader.npz is damaged" in caplog.text


@pytest.mark.parametrize(
    "told", ["My sister Ines is allergic to nuts.", "I live in Porto and my sister Ines is allergic to nuts."]
)
async def test_what_a_relative_is_allergic_to_does_not_answer_for_the_asker(told: str) -> None:
    said = ("2026-02-01", told)
    assert (await answer(ScriptedReader("nuts"), "What am I allergic to?", said))[0] == ""
    assert "nuts" in (await answer(ScriptedReader("nuts"), "What is my sister allergic to?", said))[0]


async def test_a_message_that_two_profiles_hold_is_read_once() -> None:
    reader = ScriptedReader("Okafor")
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        for name in ("ana", "team"):
            message = {"role": "user", "content": "My dentist is Dr. Okafor.", "timestamp": "2026-02-01"}
            await holdfast.profile("app", name).ingest([message], session_id="s", wait=True)
        found = await holdfast.across("app", ["ana", "team"]).recall("Who is my dentist?", reference_date=ASKED)
        assert ("Okafor" in found.answer, len(reader.read)) == (True, 1)


async def test_what_one_says_of_themselves_is_no_answer_about_another() -> None:
    said = ("2026-02-01", "I'm vegetarian and I work nights.")
    assert (await answer(ScriptedReader("vegetarian"), "Is Dana vegetarian?", said, speaker="Lior"))[0] == ""
    assert "vegetarian" in (await answer(ScriptedReader("vegetarian"), "Is Lior vegetarian?", said, speaker="Lior"))[0]


async def test_where_several_speak_nobody_knows_who_asks() -> None:
    reader = ScriptedReader("York")
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "flat")
        for who, city in (("Tom", "York"), ("Eva", "Leeds")):
            message = {"role": "user", "speaker": who, "content": f"I live in {city}.", "timestamp": "2026-02-01"}
            await profile.ingest([message], session_id=who, wait=True)
        assert (await profile.recall("Where do I live?", reference_date=ASKED)).answer == ""
        assert "York" in (await profile.recall("Where does Tom live?", reference_date=ASKED)).answer


async def test_what_several_share_is_told_by_each_of_them() -> None:
    async with AsyncHoldfast(MemoryVault(), ScriptedReader("2,640"), ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "flat")
        for who, said in (("Ana", "my parents pay the rent, it is 2,640 for the flat"), ("Ben", "the rent is due")):
            message = {"role": "user", "speaker": who, "content": said, "timestamp": "2026-02-01"}
            await profile.ingest([message], session_id=who, wait=True)
        assert "2,640" in (await profile.recall("What is our rent?", reference_date=ASKED)).answer
        assert (await profile.recall("What is my rent?", reference_date=ASKED)).answer == ""


async def test_passages_come_with_speaker_and_day() -> None:
    reader = ScriptedReader("Basel")
    text, _ = await answer(reader, "Who moved to Basel?", ("2026-02-01", "I moved to Basel."), speaker="Jonas")
    assert reader.read == [ReadPassage("I moved to Basel.", "Jonas", date(2026, 2, 1))]
    assert text == "Jonas: I moved to Basel."


@pytest.mark.parametrize(
    ("question", "kind", "words", "told", "wanted"),
    [
        ("When was the PR merged?", "span", ["friday"], "PR merged on friday.", "6 February 2026: "),
        ("When is the party?", "span", ["26 March"], "party fixed: 26 March", "26 March 2026: "),
        ("When does she fly?", "span", ["on 19th"], "she is flying on 19th", "19 February 2026: "),
        ("How many days until the exam?", "span", ["11 March"], "exam is on 11 March", "10 days: "),
        ("How long have I been sober?", "span", ["1 March 2024"], "sober since 1 March 2024", "2 years: "),
        ("How many cats do I have?", "list", ["Momo", "Kiki"], "cats Momo and Kiki", "2: Momo, Kiki"),
        ("Is the PR merged?", "yes", ["merged"], "PR is merged", "Yes: "),
        ("Is the PR merged?", "no", ["not merged"], "PR is not merged", "No: "),
    ],
)
async def test_what_is_computed_from_the_words(
    question: str, kind: AnswerKind, words: list[str], told: str, wanted: str
) -> None:
    text, _ = await answer(ScriptedReader(*words, kind=kind), question, ("2026-02-09", told))
    assert text.startswith(wanted)


async def test_how_it_was_in_a_period_is_read_in_what_was_said_until_its_end() -> None:
    reader = ScriptedReader("Madrid")
    said = (("2020-02-05", "I live in Madrid."), ("2025-01-05", "I live in Porto."))
    text, _ = await answer(reader, "Where did I live in 2020?", *said)
    assert [passage.text for passage in reader.read] == ["I live in Madrid."]
    assert "Madrid" in text


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("How many days until the exam?", "until"),
        ("How long have I worked here?", "since"),
        ("Date of the fair?", "when"),
    ],
)
def test_more_that_is_computed(question: str, what: str) -> None:
    wanted = computation_in(question)
    assert wanted is not None
    assert wanted.what == what


@pytest.mark.parametrize(
    ("question", "kind", "topic"),
    [
        ("What is still to do?", "task", set()),
        ("my todo list", "task", set()),
        ("What do I still have to do for the move?", "task", {"move"}),
        ("What's left on my to do list?", "task", set()),
        ("What do I still have to arrange?", "task", set()),
        ("What jobs have I still got to do?", "task", set()),
        ("Which chores are left for the garden?", "task", {"garden"}),
        ("Which bugs are still open?", "task", {"bug"}),
        ("What's missing for the party?", "task", {"parti"}),
        ("How many tasks are left on my list?", "task", set()),
        ("Which of the jobs from May are done?", "task", set()),
        ("How should you answer me?", "instruction", set()),
        ("What are my instructions?", "instruction", set()),
    ],
)
def test_lists_of_a_kind_are_asked_for(question: str, kind: str, topic: set[str]) -> None:
    found = wanted_list(analysed_question(question, parse_moment(ASKED, "asked")))
    assert found is not None
    assert (found.kind, found.topic) == (kind, topic)


@pytest.mark.parametrize(
    "question",
    [
        "Which shop is open on Sundays?",
        "Where do I live?",
        "What do I do for work?",
        "Which release brought the alert from the todo?",
        "What was my job?",
        "What was on my list in May?",
    ],
)
def test_other_questions_ask_for_no_list(question: str) -> None:
    assert wanted_list(analysed_question(question, parse_moment(ASKED, "asked"))) is None


def test_open_tasks_and_instructions_are_listed(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        ana = memory.profile("app", "ana")
        ana.remember("Renew the passport", kind="task")
        ana.remember("Book the movers", kind="task", key="move")
        ana.remember("Answer in one sentence", kind="instruction")
        assert ana.recall("What is still to do?").answer == "Renew the passport. Book the movers."
        assert ana.recall("What do I still have to do for the move?").answer == "Book the movers."
        assert ana.recall("How many tasks are left?").answer == "2: Renew the passport. Book the movers."
        found = ana.recall("How should you answer me?")
        assert found.answer == "Answer in one sentence."
        assert [citation.quote for citation in found.citations] == ["Answer in one sentence"]


async def test_one_name_is_no_count() -> None:
    told = ("2026-02-01", "her keyworker there is Shannon")
    text, _ = await answer(ScriptedReader("Shannon"), "How many keyworkers has mum had?", told)
    assert not text


async def test_once_and_twice_are_counts() -> None:
    told = ("2026-02-01", "mum came over twice")
    text, _ = await answer(ScriptedReader("twice"), "How many times has mum come over?", told)
    assert "twice" in text


async def test_of_somebody_described_what_is_told_by_name_is_an_answer() -> None:
    said = (("2026-02-01", "Oskar is a sound engineer."), ("2026-02-02", "Oskar takes over my half of the studio"))
    question = "What's the job of the one who takes over my half of the studio?"
    text, _ = await answer(ScriptedReader("sound engineer"), question, *said)
    assert "sound engineer" in text
