"""In every conversation we have, a memory's words come from its messages and stand together there, its values are whole
and its English too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from holdfast.domain.types import Message
from holdfast.models.rules import drafts
from holdfast.text.faithfulness import is_faithful
from holdfast.text.redaction import REDACTION_MARK
from holdfast.text.wording.well_formed import is_well_formed
from holdfast.text.wording.word_runs import stand_together
from support.conversations import sessions

SESSIONS_OF_EACH_SOURCE, SAMPLE_STEP = 2, 60
"""The sample of the normal suite: the first sessions of every file, and every so many sessions one."""


def sample() -> Iterator[list[Message]]:
    seen: Counter[str] = Counter()
    for n, (source, talk) in enumerate(sessions()):
        seen[source] += 1
        if seen[source] <= SESSIONS_OF_EACH_SOURCE or n % SAMPLE_STEP == 0:
            yield talk


def faults(talks: Iterable[list[Message]]) -> list[str]:
    """The memories that their messages do not prove."""
    found = []
    for talk in talks:
        texts = {message.id: message.content for message in talk}
        places = {message.id: n for n, message in enumerate(talk)}
        for draft in drafts(talk):
            cited = [texts[source] for source in draft.sources]
            heard = talk[: max(places[source] for source in draft.sources) + 1]
            names = {message.speaker for message in heard if message.speaker}
            if REDACTION_MARK in draft.content:
                continue
            proved = is_well_formed(draft.content) and is_faithful(draft.content, cited, names)
            if not (proved and stand_together(draft.content, cited, texts.values(), names)):
                found.append(f"{draft.content!r} of {cited!r}")
    return found


def test_a_sample_of_all_conversations() -> None:
    assert faults(sample()) == []


@pytest.mark.slow
def test_all_conversations() -> None:
    assert faults(talk for _, talk in sessions()) == []
