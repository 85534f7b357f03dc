"""The questions that a request consists of."""

from __future__ import annotations

import pytest

from holdfast.recall.question.parts import MAX_PARTS, question_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("What is my budget, and where do I live?", ("What is my budget", "where do I live")),
        ("What is my budget and my address?", ("What is my budget", "What is my address")),
        ("What are Tom's age and Ann's job?", ("What are Tom's age", "What are Ann's job")),
        ("Where does Tom live and what does he do?", ("Where does Tom live", "what does he do (Tom)")),
        ("How old is my sister, and where does she work?", ("How old is my sister", "where does she work (my sister)")),
        (
            "What do I drive, where do I live and who is my boss?",
            ("What do I drive", "where do I live", "who is my boss"),
        ),
        ("Do I have pets and is Tom married?", ("Do I have pets", "is Tom married")),
        ("Book a table. Where do I live? Who is vegetarian?", ("Book a table", "Where do I live", "Who is vegetarian")),
    ],
)
def test_each_question_is_a_part(text: str, parts: tuple[str, ...]) -> None:
    assert question_parts(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "salt and pepper",
        "What should I cook for Ann and Bob?",
        "How many days between my exam and my birthday?",
        "Which came first, my move or my job?",
        "Wann fliege ich und wo wohne ich?",
        "?",
        "",
    ],
)
def test_one_question_stays_as_it_is(text: str) -> None:
    assert question_parts(text) == (text,)


def test_no_request_has_more_parts_than_a_block_can_serve() -> None:
    assert len(question_parts("? ".join(f"Where is thing {n}" for n in range(20)))) == MAX_PARTS
