"""Courtesies say nothing to remember; anything more than a courtesy is not one."""

from __future__ import annotations

import pytest

from holdfast.text.courtesies import MAX_COURTESY_CHARS, is_courtesy

COURTESIES = (
    "OK.", "Thanks Kim.", "Thank you so much, Kim!", "You're welcome!", "yes please", "Done.", "Noted.", "👍", "…",
    "Good to hear.", "ok thanks, now continue", "That's great, thanks!", "Let me know if you need anything else.",
    "Hello! How can I help you today?", "Sure, go ahead.", "Got it, thanks.", "Danke schön!", "谢谢", "Hi Ana!",
    "You’re welcome, Maya!", "No, thanks.", "Looks good to me", "Great, thank you!",
)  # fmt: skip
MORE = (
    "In the morning, please.", "Yes, Kim.", "Thanks to Kim it works.", "OK, use Postgres.", "No, Lisbon.", "3.12",
    "Yes, at 5.", "I prefer pnpm.", "Call me Max.", "commit this please", "Thanks Kim, now run the tests", "Pixel 7",
    "Continue with Lisbon", "Tea.", "Never on Fridays", "Thursday", "是的，我住在里斯本",
)  # fmt: skip


@pytest.mark.parametrize("text", COURTESIES)
def test_a_courtesy_says_nothing(text: str) -> None:
    assert is_courtesy(text)


@pytest.mark.parametrize("text", MORE)
def test_a_text_with_anything_else_is_more(text: str) -> None:
    assert not is_courtesy(text)


def test_a_long_text_is_more() -> None:
    assert is_courtesy("ok " * (MAX_COURTESY_CHARS // 3))
    assert not is_courtesy("ok " * MAX_COURTESY_CHARS)
