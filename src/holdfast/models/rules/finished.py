"""What is said in passing and ends a task: too little to be kept by itself, worth keeping for what it closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ... import words
from ...finished import finishes
from ...types import Draft, Memory, Message
from .extractor import noted
from .found import draft

SURE = 0.8


def finished(messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]) -> list[Draft]:
    """Drafts of the statements that tell that one of the tasks was done."""
    of_tasks = [set(words.question_words(task.content)) for task in tasks]
    heard = {m.id: m for m in messages if any(len(of & set(words.tokens(m.content))) > 1 for of in of_tasks)}
    if not heard:
        return []
    place = {message.id: n for n, message in enumerate(messages)}
    made = []
    for note in noted(messages, before):
        message = heard.get(note.sources[-1])
        one = draft(note.found, note.sources, note.trust, note.setting.around)
        one = replace(one, kind="event", confidence=max(SURE, one.confidence)) if one.kind == "fact" else one
        earlier = [t for t in tasks if not (message and place.get(t.sources[-1], -1) >= place[message.id])]
        if message is not None and any(finishes(one, message.said_at, task) for task in earlier):
            made.append(one)
    return made
