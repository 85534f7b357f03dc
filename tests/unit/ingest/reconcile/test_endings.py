"""Which known statements are read with a message, and which of them count as ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.ingest.reconcile.endings import (
    MAX_CANDIDATES_READ,
    NearStatement,
    RankedCandidate,
    Telling,
    ranked_candidates,
    read_ended,
)
from holdfast.text.supersession import ComparedStatement, EndingCandidate, ReadEnding


def statement(text: str, *, kind: str = "fact", key: str | None = None, of: int = 1) -> ComparedStatement:
    return ComparedStatement(kind, text, f"s{of}", (f"m{of}",), key)


def telling(text: str, *near: tuple[str, ComparedStatement, float], key: str | None = None) -> Telling:
    return Telling(statement(text, key=key, of=2), [NearStatement(*each) for each in near])


def candidates_of(tellings: Sequence[Telling]) -> list[RankedCandidate]:
    return ranked_candidates(tellings[0].draft.text, tellings)


RENT = ("rent", statement("The user's rent is 900 euros."), 0.9)
CHESS = ("chess", statement("The user plays chess."), 0.6)


class Scripted:
    """A reader that says of each statement what it was given, and keeps what it read."""

    def __init__(self, odds: dict[str, ReadEnding]) -> None:
        self.odds = odds
        self.texts: list[str] = []

    async def read_endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        self.texts.append(text)
        return [self.odds.get(each.known.text, ReadEnding(-5.0)) for each in candidates]


def test_of_two_drafts_the_one_nearer_to_a_statement_ends_it() -> None:
    tellings = [telling("The user plays tennis.", RENT), telling("The user's rent is now 950 euros.", RENT)]
    found = ranked_candidates("Took up tennis. Rent's now 950 euros", tellings)
    assert [(each.id, each.draft) for each in found] == [("rent", 1)]


def test_nothing_is_read_where_nothing_is_likely() -> None:
    assert ranked_candidates("It rained all day in Oslo", [telling("It rained all day in Oslo.", CHESS)]) == []


def test_what_the_drafts_leave_out_of_the_message_counts_too() -> None:
    told = [telling("The user's rent is now 950 euros.", RENT, CHESS)]
    ids = [
        [each.id for each in ranked_candidates(text, told)]
        for text in ("Rent's now 950 euros", "Rent's now 950 euros. No longer playing chess")
    ]
    assert ids == [["rent"], ["rent", "chess"]]


def test_a_statement_under_another_key_is_no_candidate() -> None:
    known = ("rent", statement("The user's rent is 900 euros.", key="rent"), 0.9)
    assert candidates_of([telling("The user's rent is now 950 euros.", known, key="salary")]) == []


def test_a_bounded_number_is_read() -> None:
    near = [(f"r{n}", statement(f"The user's rent is {n} euros."), 0.9) for n in range(30)]
    assert len(candidates_of([telling("The user's rent is now 950 euros.", *near)])) <= MAX_CANDIDATES_READ


async def test_a_message_is_read_once_and_may_end_several_statements() -> None:
    deposit = ("deposit", statement("The user's rent deposit is 900 euros."), 0.88)
    told = [telling("The user's rent is now 950 euros.", RENT, deposit)]
    candidates = candidates_of(told)
    reader = Scripted({each.known.text: ReadEnding(5.0) for each in candidates})
    ended = await read_ended("rent's now 950", "", told, candidates, ["" for _ in candidates], reader)
    assert {each.id for each in ended} == {"rent", "deposit"}
    assert reader.texts == ["rent's now 950"]


async def test_what_the_reader_speaks_against_stays() -> None:
    told = [telling("The user's rent is now 950 euros.", RENT)]
    candidates = candidates_of(told)
    assert await read_ended("rent's now 950", "", told, candidates, [""], Scripted({})) == []


async def test_an_event_without_a_word_of_change_needs_more_to_end_a_fact() -> None:
    civic = ("car", statement("The user drives a Civic."), 0.9)
    text = "The user had the Civic washed on Monday."
    fact = [telling(text, civic)]
    event = [Telling(statement(text, kind="event", of=2), fact[0].near)]
    for told, ends in ((fact, True), (event, False)):
        candidates = candidates_of(told)
        doubtful = replace(candidates[0], log_odds=-1.0)
        reader = Scripted({"The user drives a Civic.": ReadEnding(2.0)})
        assert bool(await read_ended(text, "", told, [doubtful], [""], reader)) == ends


async def test_a_memory_of_the_same_message_that_repeats_what_ended_ends_too() -> None:
    known = ("A", statement('The user said: "bend is at 85 degrees. They want 120"'), 0.8)
    bend, want = ("B", statement("Bend is at 85 degrees."), 0.7), ("C", statement("They want 120."), 0.7)
    told = [telling("Bend is now at 108 degrees.", known, bend, want)]
    candidates = [each for each in candidates_of(told) if each.id == "A"]
    reader = Scripted({known[1].text: ReadEnding(5.0, (4.0, -4.0))})
    ended = await read_ended("Bend is now at 108 degrees", "", told, candidates, [""], reader)
    assert [each.id for each in ended] == ["A", "B"]
    assert ended[1].parts == ()


async def test_the_parts_that_ended_are_told() -> None:
    text = "Shoes for Emre, size 33, velcro."
    told = [telling("Emre's shoe size is now 35.", ("shoes", statement(text), 0.9))]
    candidates = candidates_of(told)
    reader = Scripted({text: ReadEnding(4.0, (-3.0, 3.0, -3.0))})
    (ended,) = await read_ended("Emre takes 35 now", "", told, candidates, [text], reader)
    assert [text[slice(*span)] for span in ended.parts] == ["size 33"]


PAINT = statement("The user needs to paint the jumps.", kind="task")
FENCE = statement("The user needs to mend the fence by the jumps.", kind="task")


async def ended_by(text: str, *known: ComparedStatement, log_odds: float) -> list[str]:
    """Which of the tasks end where the reader and the network are so sure of each."""
    told = [telling(text, *((each.text, each, 0.8) for each in known))]
    candidates = [replace(each, log_odds=log_odds) for each in candidates_of(told)]
    reader = Scripted({each.text: ReadEnding(1.0) for each in known})
    return [each.id for each in await read_ended(text, "", told, candidates, ["" for _ in candidates], reader)]


async def test_of_a_list_the_task_ends_that_has_the_words_of_the_message() -> None:
    both = await ended_by("painted the jumps", PAINT, FENCE, log_odds=0.5)
    assert both == [PAINT.text]


def test_a_task_that_is_told_as_not_done_is_no_candidate() -> None:
    known = (FENCE.text, FENCE, 0.9)
    assert [each.id for each in candidates_of([telling("mended the fence", known)])] == [FENCE.text]
    assert candidates_of([telling("only the fence is left", known)]) == []
