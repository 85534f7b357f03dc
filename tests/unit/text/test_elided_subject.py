"""A clause without a subject is told of the user only where nobody else was just spoken of."""

from __future__ import annotations

import pytest

from holdfast.text.elided_subject import may_speak_of_another


@pytest.mark.parametrize(
    ("message", "memory", "doubtful"),
    [
        ("marijke stays where she is but went to 28 hours", "The user went to 28 hours.", True),
        ("Tom called. Moved to Meta in May.", "The user moved to Meta in May (May 2025).", True),
        ("Tom called. Moved to Meta in May.", "The user lives in Meta.", True),
        ("my sister visited. Went to the zoo on Sunday", "The user went to the zoo on Sunday (1 March 2026).", True),
        ("Tom called. I moved to Meta in May.", "The user moved to Meta in May.", False),
        ("It was great. Moved to Porto last week", "The user moved to Porto last week.", False),
        ("Loved the concert. Moved to Porto last week", "The user lives in Porto.", False),
        ("Bought a bike in Rome on Monday.", "The user bought a bike in Rome on Monday.", False),
        ("Tom called. Moved to Meta in May.", 'The user said: "Moved to Meta in May"', False),
    ],
)
def test_what_somebody_else_may_have_done_is_not_told_of_the_user(message: str, memory: str, doubtful: bool) -> None:
    assert may_speak_of_another(memory, message) == doubtful
