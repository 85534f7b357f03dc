"""What changes ends alone, and everyday changes, corrections and losses are noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import Holdfast


def current(folder: Path, *sessions: list[str]) -> list[str]:
    """The current memories after these sessions, a month apart."""
    with Holdfast.open(folder) as memory:
        profile = memory.profile("app", "person")
        for n, texts in enumerate(sessions, 1):
            said = [{"role": "user", "content": text, "timestamp": f"2026-0{n}-10T10:00:00Z"} for text in texts]
            profile.ingest(said, session_id=f"s{n}", wait=True)
        return [each.content for each in profile.list(limit=100)]


def test_a_new_city_leaves_partner_and_cat(tmp_path: Path) -> None:
    held = current(
        tmp_path,
        ["I live in Bristol with my boyfriend Kofi and our cat Biscuit"],
        ["We moved to Leeds yesterday"],
    )
    assert "The user lives in Leeds." in held
    assert {"The user's boyfriend is called Kofi.", "The user's cat is called Biscuit."} <= set(held)
    assert not any("Bristol" in each for each in held)


def test_a_denied_allergy_leaves_the_other(tmp_path: Path) -> None:
    told = "I'm allergic to nuts and shellfish."
    held = current(tmp_path, [told], ["Turns out I'm not allergic to shellfish after all"])
    assert set(held) == {"The user is allergic to nuts.", "The user is not allergic to shellfish."}


def test_a_visit_to_the_doctor_leaves_the_other_allergy(tmp_path: Path) -> None:
    told = "I'm allergic to nuts and shellfish."
    held = current(tmp_path, [told], ["saw the allergist, I'm not allergic to shellfish after all"])
    assert "The user is allergic to nuts." in held
    assert "The user is allergic to shellfish." not in held


def test_a_new_address_replaces_the_old_one(tmp_path: Path) -> None:
    held = current(tmp_path, ["we live at 12 Elm Street"], ["new address is 4 Mill Lane, Bath BA1 5QP"])
    assert held == ["The user's address is 4 Mill Lane, Bath BA1 5QP."]


def test_a_plan_that_fell_through_leaves_no_rest(tmp_path: Path) -> None:
    held = current(tmp_path, ["we're going to Rome in June"], ["Rome fell through, we're staying home"])
    assert held == ['The user said: "Rome fell through, we\'re staying home"']


def test_what_became_of_a_plan_replaces_it_after_its_day(tmp_path: Path) -> None:
    held = current(tmp_path, ["The inspection is on 20 January."], ["The inspection was moved to 12 March."])
    assert not any("20 January" in each for each in held)


@pytest.mark.parametrize(
    ("told", "ended", "gone"),
    [
        ("Our dog Bramble is a spaniel.", "Bramble died yesterday.", "spaniel"),
        ("I drive a Honda Civic.", "I sold the Civic last week.", "drives"),
        ("Priya owns the billing service.", "Priya left the company.", "billing"),
        ("I'm taking a Spanish course on Tuesdays.", "I finished the Spanish course!", "taking"),
        ("We live in Bristol.", "we moved yesterday", "Bristol"),
        ("I work at Bolt.", "I got the job at Siemens!", "Bolt"),
        ("My address is 12 Kestrel Way, Unit 3, Leeds.", "new address is 4 Elm Road, York", "Kestrel"),
        ("My personal best is 4:12:30.", "new personal best today, 4:05:10!", "4:12:30"),
    ],
)
def test_what_rested_on_it_ends(told: str, ended: str, gone: str, tmp_path: Path) -> None:
    held = current(tmp_path, [told], [ended])
    assert held
    assert not any(gone in each for each in held)


@pytest.mark.parametrize(
    ("told", "correction", "content"),
    [
        ("My budget is 500 euros.", "I meant 4,500, not 500", 'The user\'s budget is "4,500 euros".'),
        ("The flight is on 30 July.", "I was wrong, the 31st, not the 30th", "The flight is on 31 July 2026."),
    ],
)
def test_a_correction_in_a_later_session(told: str, correction: str, content: str, tmp_path: Path) -> None:
    assert current(tmp_path, [told], [correction]) == [content]


@pytest.mark.parametrize(
    ("told", "other", "content"),
    [
        ("Creative director is Bartek.", "I report to Gosia not Bartek", "Creative director is Bartek."),
        ("All esquites were gone by 4.", "The festival starts at 5 not 4", "All esquites were gone by 4."),
    ],
)
def test_a_correction_of_something_else(told: str, other: str, content: str, tmp_path: Path) -> None:
    assert content in current(tmp_path, [told], [other])


def test_the_planned_move_happened(tmp_path: Path) -> None:
    held = current(tmp_path, ["We live in Bristol.", "We're moving to Leeds in March."], ["we moved yesterday"])
    assert "The user lives in Leeds." in held
    assert not any("Bristol" in each for each in held)


def test_no_words_of_two_messages(tmp_path: Path) -> None:
    held = current(tmp_path, ["Jonas's birthday is on the 6th of May.", "Jonas moved to Basel last week."])
    assert "Jonas lives in Basel." in held
    assert any(each.startswith("Jonas's birthday is on the 6th of May") for each in held)


def test_the_planned_move_happened_in_one_word(tmp_path: Path) -> None:
    plan = "we're moving to Portobello in august, 2 bed"
    held = current(tmp_path, ["I live in Leith with my partner Callum"], [plan], ["moved! Biscuit loves the beach"])
    assert "The user lives in Portobello." in held
    assert not any("Leith" in each for each in held)


def test_another_weekday_is_a_change(tmp_path: Path) -> None:
    held = current(tmp_path, ["releases on tuesdays"], ["releases on wednesdays from now on"])
    assert any("wednesdays" in each for each in held)
    assert not any("tuesdays" in each for each in held)


def test_a_move_leaves_the_birthday(tmp_path: Path) -> None:
    held = current(tmp_path, ["Jonas's birthday is on the 6th of May."], ["Jonas moved to Basel last week."])
    assert any(each.startswith("Jonas's birthday is on the 6th of May") for each in held)


def test_each_of_several_pets_is_a_statement_of_its_own(tmp_path: Path) -> None:
    held = current(tmp_path, ["We have two cats, Miso and Tofu."], ["Miso died yesterday."])
    assert "The user's cat is called Tofu." in held
    assert not any("called Miso" in each for each in held)


def test_what_they_did_to_somebody_is_known(tmp_path: Path) -> None:
    held = current(
        tmp_path,
        ["The dentist appointment is on 24 March at 9:30."],
        ["They moved my dentist appointment to 26 March at 14:00."],
    )
    assert held == ['The user said: "They moved my dentist appointment to 26 March at 14:00" (26 March 2026).']


def answers(folder: Path, told: list[str], *questions: str) -> list[str]:
    """The answers after these sessions, a month apart."""
    current(folder, *([each] for each in told))
    with Holdfast.open(folder) as memory:
        profile = memory.profile("app", "person")
        return [profile.recall(each, reference_date="2026-06-01T12:00:00Z").answer for each in questions]


def test_a_denial_is_no_answer_to_what_there_is(tmp_path: Path) -> None:
    told = ["I'm allergic to nuts and shellfish.", "Turns out I'm not allergic to shellfish after all."]
    what, whether = answers(tmp_path, told, "What am I allergic to?", "Am I allergic to shellfish?")
    assert what == "The user is allergic to nuts."
    assert "not allergic to shellfish" in whether


def test_what_was_replaced_answers_what_it_was_before(tmp_path: Path) -> None:
    told = ["Our rent is 1,450 euros a month.", "The landlord raised the rent to 1,520."]
    now, before = answers(tmp_path, told, "How much is our rent?", "What was the rent before?")
    assert ("1,520" in now, "1,450" in before) == (True, True)


def test_a_password_told_in_passing_is_no_memory(tmp_path: Path) -> None:
    assert current(tmp_path, ["The wifi password is Hunter22!x by the way."]) == []


@pytest.mark.parametrize(
    "order",
    ["use pnpm, not npm, in this repo", "don't touch the legacy folder", "run the linter before committing",
     "keep commits small", "run tests with pytest -q", "use tabs", "prefer composition over inheritance",
     "ask before deleting files", "keep answers under 100 words"],
)  # fmt: skip
def test_a_plain_imperative_for_a_project_is_an_instruction(order: str, tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        profile = memory.profile("app", "repo")
        profile.ingest([{"role": "user", "content": order}], session_id="s", wait=True)
        (kept,) = profile.list()
        assert (kept.kind, kept.content) == ("instruction", f"The user asks: {order}.")


def test_an_order_ends_the_one_for_what_it_replaces(tmp_path: Path) -> None:
    held = current(tmp_path, ["use npm in this repo"], ["use pnpm, not npm, in this repo"])
    assert held == ["The user asks: use pnpm, not npm, in this repo."]


def test_a_raised_rent_is_kept_whoever_raised_it(tmp_path: Path) -> None:
    held = current(tmp_path, ["rent is 900 a month"], ["they raised the rent to 950 from January"])
    assert len(held) == 1
    assert "950" in held[0]
