"""In every conversation we have, a memory's words come from its messages, its values are whole and its English too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from holdfast.domain.types import Message
from holdfast.models.rules import drafts
from holdfast.text.faithfulness import is_faithful, is_well_formed
from holdfast.text.redaction import REDACTION_MARK
from support.conversations import sessions

SAMPLE_STEP = 40
"""Every how many sessions one is in the fixed sample of the normal suite."""


def faults(talks: Iterable[list[Message]]) -> list[str]:
    """The memories that their messages do not prove."""
    found = []
    for talk in talks:
        texts = {message.id: message.content for message in talk}
        names = {message.speaker for message in talk if message.speaker}
        for draft in drafts(talk):
            cited = [texts[source] for source in draft.sources]
            if REDACTION_MARK in draft.content:
                continue
            if not (is_well_formed(draft.content) and is_faithful(draft.content, cited, names)):
                found.append(f"{draft.content!r} of {cited!r}")
    return found


def test_a_sample_of_all_conversations() -> None:
    assert faults(talk for n, talk in enumerate(sessions()) if n % SAMPLE_STEP == 0) == []


@pytest.mark.slow
def test_all_conversations() -> None:
    assert faults(sessions()) == []
