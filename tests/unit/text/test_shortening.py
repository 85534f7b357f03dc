"""A message loses the words of a forgotten memory, and keeps those of the others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.lexicon.patterns import OMISSION
from holdfast.text.shortening import distinctive_words, stating_clauses, unmarked_text, without_memories
from support.example_counts import example_count

PORTO, PEANUTS = "The user lives in Porto.", "The user is allergic to peanuts."
CAT, WORK = "The user has a cat called Mimi.", "The user works at Siemens."
BRIDGES = "The user loves Porto and its bridges."
THREE = "I live in Porto. My cat is called Mimi. I work at Siemens."


def shortened(text: str, gone: list[str], kept: list[str]) -> str | None:
    return without_memories(text, [[each] for each in gone], [[each] for each in kept])


@pytest.mark.parametrize(
    ("text", "gone", "kept", "left"),
    [
        (THREE, [CAT], [PORTO, WORK], "I live in Porto. […] I work at Siemens."),
        (THREE, [CAT], [], "I live in Porto. […] I work at Siemens."),
        (THREE, [PORTO, CAT], [WORK], "[…] I work at Siemens."),
        ("I live in Porto and I'm allergic to peanuts.", [PORTO], [PEANUTS], "[…] I'm allergic to peanuts."),
        ("I live in Porto and I'm allergic to peanuts.", [PEANUTS], [PORTO], "I live in Porto […]."),
        (
            "I'm allergic to peanuts and cashews.",
            [PEANUTS],
            ["Allergic to cashews"],
            "I'm allergic to […] and cashews.",
        ),
        ("My cat Mimi is 7 years old.", ["Mimi is 7 years old."], [CAT], "My cat Mimi is […]."),
        (
            "The code is 4711. Dr. Ames knows 4711 too.",
            ["The code is 4711"],
            ["Dr. Ames knows it"],
            "[…] Dr. Ames knows […] too.",
        ),
        ("- door: 1,500\n- wifi: zorblax", ["The wifi is zorblax"], ["The door is 1500"], "- door: 1,500\n[…]"),
        (
            "I moved to Lisbon from Porto.",
            [PORTO],
            ["The user moved from Porto to Lisbon."],
            "I moved to Lisbon from Porto.",
        ),
        ("I live in Porto and I work in Porto.", ["Works in Porto."], [PORTO], "I live in Porto […]."),
        ("I live in Porto and I work in Porto.", [PORTO], ["Works in Porto."], "[…] I work in Porto."),
        ("I live in Porto. I love Porto and its bridges.", [PORTO], [BRIDGES], "[…] I love Porto and its bridges."),
        ("I live in Porto. I love Porto and its bridges.", [BRIDGES], [PORTO], "I live in Porto. […]"),
        (
            "I'm allergic to peanuts. My son is allergic to peanuts too.",
            ["The user's son is allergic to peanuts too."],
            [PEANUTS],
            "I'm allergic to peanuts. […]",
        ),
        (
            "I'm allergic to peanuts. My son is allergic to peanuts too.",
            [PEANUTS],
            ["The user's son is allergic to peanuts too."],
            "[…] My son is allergic to peanuts too.",
        ),
        ("I like green tea and black tea.", ["Likes green tea"], ["Likes black tea"], "I like […] tea and black tea."),
        (
            "My dog is called Rex, and I have a cat. My dog Rex is afraid of my cat.",
            ["The user's dog Rex is afraid of their cat."],
            ["The user's dog's name is Rex.", "The user has a cat."],
            "My dog is called Rex, and I have a cat. […]",
        ),
        (
            "Ich wohne in Berlin, arbeite bei Siemens und mag Katzen.",
            ["Arbeitet bei Siemens"],
            ["Wohnt in Berlin", "Mag Katzen"],
            "Ich wohne in Berlin, […] und mag Katzen.",
        ),
        (
            "Мой кот зовут Барсик, я живу в Москве.",
            ["Кот пользователя — Барсик"],
            ["Живёт в Москве"],
            "[…] я живу в Москве.",
        ),
        ("मेरा नाम राम है। मैं दिल्ली में रहता हूँ।", ["दिल्ली में रहता है"], ["नाम राम है"], "मेरा नाम राम है। […]"),
        (
            "我住在里斯本，有一只猫叫咪咪。我喜欢喝咖啡。",
            ["用户有一只猫叫咪咪"],
            ["用户住在里斯本"],
            "我住在里斯本，[…]。我喜欢喝咖啡。",
        ),
        (
            "私はリスボンに住んでいます。猫の名前はミミです。",
            ["猫の名前はミミ"],
            ["リスボンに住んでいる"],
            "私はリスボンに住んでいます。[…]",
        ),
        ("ฉันอาศัยอยู่ในลิสบอน และมีแมวชื่อมีมี่", ["แมวของผู้ใช้ชื่อมีมี่"], ["ผู้ใช้อาศัยอยู่ในลิสบอน"], "ฉันอาศัยอยู่ในลิสบอน […]"),
    ],
)
def test_what_is_left(text: str, gone: list[str], kept: list[str], left: str) -> None:
    assert shortened(text, gone, kept) == left


def test_nothing_is_left_of_a_message_that_says_nothing_else() -> None:
    assert shortened("I live in Porto.", [PORTO], []) is None
    assert shortened("And I live in Porto, so there.", [PORTO], []) is None
    assert shortened(THREE, [PORTO, CAT, WORK], []) is None


@pytest.mark.parametrize("rewritten", ["El gato del cliente", "Keeps a pet", "用户养了宠物"])
def test_a_rewritten_memory_takes_all_but_what_others_rest_on(rewritten: str) -> None:
    assert shortened(THREE, [rewritten], [PORTO]) == "I live in Porto. […]"
    assert shortened(THREE, [rewritten], []) is None


def test_words_of_every_version_go() -> None:
    versions = ["The user lives in Porto.", "The user lives in Faro."]
    assert without_memories("I live in Porto now. Faro was nice.", [versions], []) is None
    left = without_memories("I live in Porto now. Tell me of trains to Faro.", [versions], [["Likes trains"]])
    assert left == "[…] Tell me of trains to […]."


def test_a_speakers_own_name_is_not_distinctive() -> None:
    assert (
        without_memories("Anna: hi all. My cat is Mimi.", [["Anna's cat is Mimi"]], [], "Anna") == "Anna: hi all. […]"
    )


def test_marks_of_an_earlier_time_are_joined() -> None:
    once = shortened(THREE, [CAT], [PORTO, WORK])
    assert once is not None
    assert shortened(once, [WORK], [PORTO]) == "I live in Porto. […]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("My sister lives in Porto […].", "My sister lives in Porto"),
        ("I live in Porto. […] I work at Siemens.", "I live in Porto.\nI work at Siemens."),
        ("I live in Porto […] and I like tea.", "I live in Porto\nI like tea."),
        ("I […] in Porto and I work in Porto.", "I work in Porto."),
        ("I'm tall. My […] is allergic to peanuts. I live in Rome.", "I'm tall.\nI live in Rome."),
        ("I work at Acme as a […].", ""),
        ("- door: 1,500\n[…]", "- door: 1,500"),
        ("我住在里斯本，[…]。我喜欢喝咖啡。", "我住在里斯本，\n。我喜欢喝咖啡。"),
        ("[…]", ""),
    ],
)
def test_what_a_shortened_text_still_states(text: str, left: str) -> None:
    assert unmarked_text(text) == left


def test_the_clauses_that_state_something() -> None:
    short, long = "I live in Lisbon.", "As I said, I live in  LISBON, and it rains. Tea is good."
    assert stating_clauses(short, "Ana lives in Lisbon") == stating_clauses(long, "Ana lives in Lisbon")
    assert stating_clauses(long, "Toma chá") == {"as i said i live in lisbon and it rains tea is good"}


NAMES = st.text("bcdfghklmnprstvz", min_size=2, max_size=4).map(lambda text: "zo" + "a".join(text) + "x")
LATIN = [
    "My {} is {}.",
    "I have a {} called {}.",
    "Our {}: {}!",
    "we bought the {} from {}",
    "The {}, as ever, was {}.",
]
THINGS = ["boat", "guitar", "doctor", "garden", "dentist", "bakery", "violin", "tractor"]
HAN = ["我的{}叫{}。", "{}的名字是{}。", "我们的{}在{}！"]
HAN_THINGS = ["小船", "吉他", "医生", "花园", "牙医", "面包店"]
HAN_NAMES = st.text("蒼龘鱻麤爨齉龗靐", min_size=2, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A message of several statements, and for each the memory drawn from it with its value."""
    han = draw(st.booleans())
    things, frames, names = (HAN_THINGS, HAN, HAN_NAMES) if han else (THINGS, LATIN, NAMES)
    chosen = draw(st.lists(st.sampled_from(things), min_size=2, max_size=5, unique=True))
    values = draw(st.lists(names, min_size=len(chosen), max_size=len(chosen), unique=True))
    said, known = [], []
    for thing, value in zip(chosen, values, strict=True):
        said.append(draw(st.sampled_from(frames)).format(thing, value))
        rewrite = draw(
            st.sampled_from(["用户的{}是{}"] if han else ["The user's {} is {}.", "{}: {}", "A {} named {}"])
        )
        known.append((rewrite.format(thing, value), value))
    for _ in range(draw(st.integers(0, 2))):  # values are told again elsewhere
        said.append(("还有{}。" if han else "By the way, {}.").format(draw(st.sampled_from(values))))
    between = draw(st.sampled_from(["", "\n"] if han else [" ", "\n", " and ", ", ", "; "]))
    return between.join(said), known


@settings(max_examples=example_count(300), deadline=None)
@given(conversations(), st.data())
def test_no_distinctive_word_is_left_and_no_sibling_loses_its_own(
    conversation: tuple[str, list[tuple[str, str]]], data: st.DataObject
) -> None:
    text, known = conversation
    going = data.draw(st.sets(st.integers(0, len(known) - 1), min_size=1))
    gone = [[content] for n, (content, _) in enumerate(known) if n in going]
    kept = [[content] for n, (content, _) in enumerate(known) if n not in going]
    left = without_memories(text, gone, kept) or ""
    assert not distinctive_words(gone, kept).occur_in(left)
    shared = [value for n, (_, value) in enumerate(known) if n not in going]
    for n, (_, value) in enumerate(known):
        if n in going and not any(value[:2] in other or value[-2:] in other for other in shared):
            assert value not in left
        elif n not in going and not any(value[:2] in known[other][1] for other in going):
            assert value in left, (text, gone, kept, left)
    assert OMISSION in left or not left


@settings(max_examples=example_count(200), deadline=None)
@given(st.lists(st.one_of(st.text(max_size=20), st.just(OMISSION), st.just(" and ")), max_size=8).map("".join))
def test_no_mark_is_left_in_any_text(text: str) -> None:
    assert OMISSION not in unmarked_text(text)


@settings(max_examples=example_count(200), deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=3), st.lists(st.text(max_size=60), max_size=3))
def test_any_texts_are_taken(text: str, gone: list[str], kept: list[str]) -> None:
    left = shortened(text, gone, kept)
    assert left is None or not distinctive_words([[each] for each in gone], [[each] for each in kept]).occur_in(left)
