"""Numeric dates in words, where what the same person writes elsewhere tells which number is the day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ...types import Message
from ...when import day_first, written_date

_DATE = re.compile(r"(?<![\w/.-])(\d{1,2})([-/])(\d{1,2})\2(\d{4})(?![-/.]?\w)")


def spelt(talk: Sequence[Message]) -> list[Message]:
    """The messages to be read: "12/05/2027" is "12 May 2027" for somebody who also writes "25/04/2027"."""
    if not any(_DATE.search(message.content) for message in talk):
        return [*talk]
    written: dict[tuple[str, str | None], list[str]] = {}
    for message in talk:
        written.setdefault((message.role, message.speaker), []).append(message.content)
    orders = {author: day_first("\n".join(texts)) for author, texts in written.items()}
    return [_in_words(message, orders[message.role, message.speaker]) for message in talk]


def _in_words(message: Message, order: bool | None) -> Message:
    def words(m: re.Match[str]) -> str:
        a, b = int(m[1]), int(m[3])
        day, month = (a, b) if order else (b, a)
        try:
            return written_date(date(int(m[4]), month, day))
        except ValueError:  # no such day: it stays as it was written
            return m[0]

    return message if order is None else replace(message, content=_DATE.sub(words, message.content))
