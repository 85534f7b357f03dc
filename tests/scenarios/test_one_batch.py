"""What is told in one go is known as if it had been told little by little."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import Holdfast

TALKS = {
    "a new number": ("Our rent is 900 euros.", "I have two cats.", "Rent went up, it's 980 euros now."),
    "a new name": ("We deploy on Fly.io.", "Tests run with pytest.", "Fly was flaky, so we deploy on Hetzner now."),
    "other words": ("I'm allergic to peanuts.", "I have two cats.", "Remember that I have a peanut allergy."),
    "twice changed": (
        "The standup is at 9:30.", "The standup moved to 10:15.", "My desk is by the window.",
        "The standup moved to 11:00.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", TALKS.values(), ids=TALKS)
def test_a_conversation_at_once_is_known_like_one_message_after_the_other(
    said: tuple[str, ...], tmp_path: Path
) -> None:
    messages = [{"role": "user", "content": each} for each in said]
    with Holdfast.open(tmp_path) as memory:
        whole, slowly = memory.profile("talks", "whole"), memory.profile("talks", "slowly")
        whole.ingest(messages, session_id="s", wait=True)
        for message in messages:
            slowly.ingest([message], session_id="s", wait=True)
        at_once = {each.content for each in whole.list().items}
        assert at_once == {each.content for each in slowly.list().items}
        assert whole.stats().superseded == slowly.stats().superseded >= 1
