"""Everyday attributes that questions and statements name with other words."""

from __future__ import annotations

import pytest

from holdfast.recall.question.attributes import has_attribute


@pytest.mark.parametrize(
    ("question", "statement", "words"),
    [
        ("How much do I earn?", "Octopus, QA lead, 52k, starting in october", "52k"),
        ("Which streaming services do we have?", "cancelled disney+, we only keep netflix now", "netflix"),
        ("Is Kofi allergic to anything?", "And Kofi can't have shellfish", "shellfish"),
        ("Can I have normal pasta?", "btw im coeliac so no gluten, ever", "coeliac"),
        ("Am I married?", "Kofi and I got engaged yesterday", "engaged"),
        ("Who is my GP?", "Dr Anand not happy with me.", "Dr Anand"),
        ("Which drawing app do I use?", "im done, going over to clip studio", "clip studio"),
        ("How much deposit did I pay for the house?", "the house is ours, deposit 1,175 paid", "1,175"),
    ],
)
def test_the_statement_has_what_is_asked(question: str, statement: str, words: str) -> None:
    assert has_attribute(question, statement, words)


@pytest.mark.parametrize(
    ("question", "statement", "words"),
    [
        ("How much do I earn?", "we paid 12k for the car", "12k"),
        ("What is Olly allergic to?", "Kasia cant have nuts", "nuts"),
        ("Which package manager does the mobile app use?", "We use pnpm in the frontend", "pnpm"),
        ("Which streaming services do we have?", "we keep the bikes in the shed", "bikes"),
        ("What did the flights cost?", "the table costs 90", "90"),
    ],
)
def test_the_statement_has_something_else(question: str, statement: str, words: str) -> None:
    assert not has_attribute(question, statement, words)
