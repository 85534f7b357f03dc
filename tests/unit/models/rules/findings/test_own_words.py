"""Whatever stands in quotation marks was said so; the third person is grammatical; keys name what they are about."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Draft, Message
from holdfast.models.rules import drafts
from support.paths import EVALS_DATA

NOW = datetime(2026, 6, 10, 14, 30, tzinfo=UTC)
TUNING = sorted((EVALS_DATA / "extraction").glob("tuning-*.json"))
QUOTED = re.compile(r'(?:(?:Asked|Told) ".*", )?(.*?) (?:said|answered): "(.*)"(?: \([^()]*\))*\.?', re.S)


def drafts_from(*turns: str | tuple[str, str]) -> list[Draft]:
    said = [("user", turn) if isinstance(turn, str) else turn for turn in turns]
    messages = [Message(f"m{i}", "s", role, text, NOW, position=i) for i, (role, text) in enumerate(said)]
    return drafts(messages, [], least=0.3)


def contents(*turns: str | tuple[str, str]) -> list[str]:
    return [draft.content for draft in drafts_from(*turns)]


@pytest.mark.parametrize(
    ("turns", "content"),
    [
        (
            (("assistant", "Could you confirm the shipping address?"), "It's 22 Birch Lane, Unit 5, Portland, OR."),
            'Asked "Could you confirm the shipping address?", the user answered: '
            '"It\'s 22 Birch Lane, Unit 5, Portland, OR"',
        ),
        (
            ("I hate when you touch package-lock.json",),
            'The user said: "I hate when you touch package-lock.json"',
        ),
        (
            ("I called the chimney sweep, he comes on October 2nd.",),
            'The user said: "I called the chimney sweep, he comes on October 2nd" (2 October 2026).',
        ),
        (
            ("She quit her job at Acme and is now at Bolt.",),
            'The user said: "She quit her job at Acme and is now at Bolt"',
        ),
    ],
)
def test_a_quotation_is_what_was_written(turns: tuple[str | tuple[str, str], ...], content: str) -> None:
    assert content in contents(*turns)


def test_in_whole_conversations_nobody_is_quoted_with_what_they_did_not_write() -> None:
    plain = str.maketrans({"’": "'", "‘": "'", "“": "'", "”": "'", '"': "'"})
    quoted = 0
    for case in (case for path in TUNING for case in json.loads(path.read_text("utf-8"))["cases"]):
        messages = [
            Message(f"m{i}", "s", m["role"], m["content"], NOW, m.get("speaker"), position=i)
            for i, m in enumerate(case["messages"])
        ]
        by_id = {message.id: message for message in messages}
        for draft in drafts(messages, [], least=0.3):
            m = QUOTED.fullmatch(draft.content)
            if not m or "[redacted]" in draft.content:
                continue
            sources = [by_id[source] for source in draft.sources]
            own = [each for each in sources if (each.speaker or "the user").casefold() == m[1].casefold()]
            texts = [re.sub(r"\s+", " ", each.content.translate(plain)) for each in own]
            assert any(re.sub(r"\s+", " ", m[2].translate(plain)) in text for text in texts), draft.content
            quoted += 1
    assert quoted > 50


def test_a_correction_of_a_quotation_is_no_quotation() -> None:
    assert contents("the plumber, Friday 9am", "wait no. thursday") == [
        "According to the user: the plumber, thursday 9am (11 June 2026)."
    ]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Sent the SOC 2 report on Thursday.", "The user sent the SOC 2 report on Thursday (4 June 2026)."),
        (
            "Painted the living room sage green last weekend.",
            "The user painted the living room sage green last weekend (weekend of 6 June 2026).",
        ),
        ("We have a parrot.", "The user has a parrot."),
        ("We own two cars.", "The user owns two cars."),
        ("Paid the deposit yesterday", "The user paid the deposit yesterday (9 June 2026)."),
        (
            "I'm doing my PhD at ETH Zürich on coral bleaching.",
            "The user is doing their PhD at ETH Zürich on coral bleaching.",
        ),
        ("Came to 19.2k in the end.", 'The user said: "Came to 19.2k in the end"'),
        (
            "Oops, it's on Saturday, not Friday",
            'The user said: "Oops, it\'s on Saturday, not Friday" (Saturday: 13 June 2026; Friday: 12 June 2026).',
        ),
        ("Let's meet Tuesday at noon.", 'The user said: "Let\'s meet Tuesday at noon" (16 June 2026).'),
        (
            "Acme update: Dana said budget got cut to 60k.",
            'The user said: "Acme update: Dana said budget got cut to 60k"',
        ),
    ],
)
def test_statements_are_grammatical(text: str, content: str) -> None:
    assert content in contents(text)


def test_a_short_answer_does_not_swallow_what_follows() -> None:
    made = contents(
        ("assistant", "Which CI?"),
        "GitHub Actions. Staging deploys from the develop branch, and Priya has to approve every prod deploy.",
    )
    assert made[0] == 'Asked "Which CI?", the user answered: GitHub Actions.'
    assert any(content.startswith("Staging deploys from the develop branch") for content in made[1:])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Never use an ORM, always write raw SQL with sqlc.", "use-orm"),
        ("I don't really like mushrooms though.", "opinion-mushrooms"),
        ("I can't stand loud music lately", "opinion-loud-music"),
        ("My wife is pregnant.", "wife.pregnancy"),
        ("I'm divorced.", "marital-status"),
        ("I signed up for a half marathon in September.", "part-in-half-marathon"),
        ("The retry logic is in internal/webhook/retry.go", "retry-logic-place"),
        ("Our database is in Frankfurt.", "database-place"),
        ("Tom recently moved to Oslo.", "tom.home-city"),
        ("I dropped my phone yesterday.", None),
        ("Always, really always, run the linter; never skip it.", None),
    ],
)
def test_a_key_names_what_it_is_about(text: str, key: str | None) -> None:
    keys = {draft.key for draft in drafts_from(text)}
    if key:
        assert keys == {key}
    odd = re.compile(
        r"(?:^|-)(?:always|never|not|now|recently|though|really|again)(?:-|$)|-(?:in|on|at|a|an|the|of|to)$"
    )
    assert not [each for each in keys if each and odd.search(each.split(".")[-1])]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Zosia switched to backstroke, new coach is a lady named Fleur", "Zosia switched to backstroke."),
        ("The plumber, Hakan, can come on Friday between 8 and 10", "Hakan, can come on Friday"),
        ("my boyfriend Jules cooks, I do the dishes", "The user's boyfriend is called Jules."),
        ("my wife Carla and I have three kids", "The user's wife is called Carla."),
    ],
)
def test_a_clause_beside_another_is_kept(text: str, content: str) -> None:
    assert any(content in each for each in contents(text))


def test_a_clause_that_only_names_a_relation_is_kept_once() -> None:
    assert not any('"my wife Carla"' in each for each in contents("my wife Carla and I have three kids"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("my car is in the garage until Thursday", None),
        ("my laptop is out of warranty", None),
        ("my car is a red Skoda", "car"),
        ("my birthday is in May", "birthday"),
    ],
)
def test_where_something_is_does_not_replace_what_it_is(text: str, key: str | None) -> None:
    [draft] = drafts_from(text)
    assert draft.key == key
    assert text.split(" is ")[1].split()[0] in draft.content.split()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("she wants a guitar for her birthday, 14th of july", "guitar"),
        ("leave KL-51530 open till i see it on the bill", "KL-51530"),
        ("it costs 2,100, the trust pays half if my manager signs it off", "pays half"),
        ("my mobile number is new, 06 5550 1287, not the one ending in 340", "06 5550 1287"),
        ("household insurance is with Alba Mutual, policy no. HH-229-8817", "HH-229-8817"),
    ],
)
def test_what_has_a_figure_is_kept_whole(said: str, kept: str) -> None:
    assert any(kept in content for content in contents(said))


def test_a_relative_of_somebody_else_is_not_the_users() -> None:
    found = contents("Her girlfriend Wren is organising a surprise dinner on 4 May")
    assert not any("user's girlfriend" in content for content in found)


def test_each_task_of_a_list_is_one() -> None:
    found = contents("todo before the move: tell the council, return the library books")
    assert found == ["The user needs to tell the council.", "The user needs to return the library books."]


def test_absolute_dates_stand_at_the_end() -> None:
    (found,) = contents("my train is at 7:14 tomorrow, platform 3")
    assert found == "The user's train is at 7:14 tomorrow, platform 3 (11 June 2026)."


@pytest.mark.parametrize(
    ("said", "tasks"),
    [
        (
            "to arrange: parking card, call the notary",
            ["The user needs to arrange: parking card.", "The user needs to call the notary."],
        ),
        ("todo: new endpin, call the bank", ["The user needs: new endpin.", "The user needs to call the bank."]),
        ("need a tent for 4, sleeping bags", ["The user needs: a tent for 4.", "The user needs: sleeping bags."]),
        (
            "reminder for me: tax letter before 31 may, call Dewi",
            [
                "The user wants to be reminded of: tax letter before 31 may (before 31 May 2026).",
                "The user wants to be reminded to call Dewi.",
            ],
        ),
        (
            "jobs for the house: bleed the radiators, new gutter",
            ["The user needs to bleed the radiators.", "The user needs: new gutter."],
        ),
        (
            "jobs: fix the gutter, ring the bank",
            ["The user needs to fix the gutter.", "The user needs to ring the bank."],
        ),
        ("things to do: eye check, sell the van", ["The user needs: eye check.", "The user needs to sell the van."]),
        (
            "my list: flu shots, renew mum's permit",
            ["The user needs: flu shots.", "The user needs to renew mum's permit."],
        ),
    ],
)
def test_each_of_a_list_is_a_task(said: str, tasks: list[str]) -> None:
    assert contents(said) == tasks


def test_how_strong_an_allergy_is_is_no_other_one() -> None:
    assert contents("I am allergic to buckwheat, very strong") == ["The user is allergic to buckwheat."]


@pytest.mark.parametrize(
    "said",
    [
        "need help with my cv, it's a mess", "need a break, honestly exhausted", "fix: flaky test, retry added",
        "jobs: barista until 2021, then teacher", "list: eggs, flour and sugar", "my list: Ana, Tom, Piotr",
    ],
)  # fmt: skip
def test_what_only_resembles_a_list_is_no_task(said: str) -> None:
    assert not any(content.startswith("The user needs") for content in contents(said))
