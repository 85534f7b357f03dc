"""Which found words no longer hold: what digestion ended, unless what ended it leaves the words alone.

A message often tells several things, and a memory drawn from it may be the whole message. When one of the things
changes, the memory ends: "flutter 3.22, backend on Fly.io" by "upgraded to flutter 3.24". The words "Fly.io" hold on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.domain.identifiers import referenced_id
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.hit_reading import asks_past
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.target import KIN
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.lexicon.numbers import A_LARGER_NUMBER
from holdfast.text.similarity import UNSPECIFIC_STEMS

_NUMBER = re.compile(rf"\d|\b(?:{A_LARGER_NUMBER})\b", re.I)
_ADDED_DAY = re.compile(r"\s*\([^()]*\b\d{4}\)")
"""The day that digestion adds to a memory."""


async def ended_spans(searcher: Searcher, question: Question, spans: Sequence[FoundSpan]) -> list[FoundSpan]:
    """The found words that are only in statements of their message that no longer hold; none for a question about the
    past."""
    messages = {span.hit.message_id for span in spans if span.hit.message_id is not None}
    if not messages or asks_past(question):
        return []
    drawn = [memory for memory in await searcher.store.resting_on(list(messages)) if memory.kind != "summary"]
    ended = []
    for span in spans:
        has = [m for m in drawn if span.hit.message_id in m.sources and span.text.casefold() in m.content.casefold()]
        if (
            has
            and not any(memory.current for memory in has)
            and not await _is_left_alone(searcher, question, span, has)
        ):
            ended.append(span)
    return ended


async def partly_ended(searcher: Searcher, question: Question, spans: Sequence[FoundSpan]) -> bool:
    """Whether something that a message with the words says of what is asked no longer holds; never for a question about
    the past."""
    messages = {span.hit.message_id for span in spans if span.hit.message_id is not None}
    asked = set(question.words) - {"user"}
    if not messages or not asked or asks_past(question):
        return False
    ended = [memory for memory in await searcher.store.resting_on(list(messages)) if not memory.current]
    return any(2 * len(asked & set(tokens.tokens(memory.content))) >= len(asked) for memory in ended)


async def _is_left_alone(searcher: Searcher, question: Question, span: FoundSpan, ended: Sequence[Memory]) -> bool:
    """Whether one of the statements with the words ended by something that is not about them."""
    for memory in ended:
        by = await _ending_texts(searcher.store, memory)
        if by and not any(is_about_words(question, span.text, each) for each in by):
            return True
    return False


async def _ending_texts(store: Store, memory: Memory) -> list[str]:
    """What ended the memory; empty where that is not known, or where a task is done, which is told in any words."""
    if memory.superseded_by is None or memory.kind == "task" or memory.key is not None:
        return []
    return [_ADDED_DAY.sub("", each.content) for each in await store.get([referenced_id(memory.superseded_by)])]


def is_about_words(question: Question, words: str, ending: str) -> bool:
    """Whether what ended a statement may have ended these words of it: it has one of them, or a word of what is asked
    of whomever, or a number in place of a number."""
    told = set(tokens.tokens(ending))
    whose = question.target.names | KIN
    text = " ".join(word for word in re.findall(r"[\w-]+", question.text.casefold()) if word not in whose)
    asked = set(tokens.question_words(text)) - UNSPECIFIC_STEMS
    if told & (asked | set(tokens.tokens(words))):
        return True
    return _NUMBER.search(words) is not None and _NUMBER.search(ending) is not None
