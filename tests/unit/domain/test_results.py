"""What results are in Python beyond their fields."""

from __future__ import annotations

from holdfast import Answer, Context


def test_an_answer_or_a_context_without_text_is_false() -> None:
    assert not Answer("", (), ())
    assert Answer("Lisbon", (), ())
    assert not Context("", 0, ())
    assert Context("# Memory", 2, ())
