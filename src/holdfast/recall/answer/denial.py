"""Pure: whether words answer a question by the very statement that denies it.

"I'm not allergic to shellfish after all" answers "Am I allergic to shellfish?", but not "What am I allergic to?".
"""

from __future__ import annotations

import re

from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.question.analysis import Question
from holdfast.text import tokens
from holdfast.text.lexicon.negation import SHORT_NOT

MAX_WORDS_AFTER_NOT = 3
"""How far a denied word may be behind its "not". Chosen by hand."""
_NOT = re.compile(rf"\b(?:not|never|no longer|cannot)\b|{SHORT_NOT}", re.I)
_CLAUSE_BORDER = re.compile(r"[,;:.!?–—]\s|\b(?:and|but|so|while|because)\b", re.I)
_ASKS_FOR_SOMETHING = re.compile(r"\W*(?:(?:and|so|but)\W+)?(?:what|which|who|whom|whose|where)\b", re.I)


_LIKES = re.compile(r"\b(?:likes?|loves?|enjoys?|prefers?|favou?rites?|fan of)\b", re.I)
_DISLIKES = re.compile(r"\b(?:hates?|dislikes?|detests?|loathes?|can(?:no|')t stand|least favou?rites?)\b", re.I)


def is_denied_at(question: Question, span: FoundSpan) -> bool:
    """Whether the clause with the found words denies a word of the question."""
    return is_denied(question, _CLAUSE_BORDER.split(span.hit.content[: span.start])[-1] + span.text)


def is_denied(question: Question, statement: str) -> bool:
    """Whether the question asks for something, and the statement denies a word of it."""
    if not _ASKS_FOR_SOMETHING.match(question.text) or _NOT.search(question.text):
        return False
    if _is_opposite(question.text, statement):
        return True
    asked = set(question.words)
    return any(
        not asked.isdisjoint(tokens.tokens(statement[found.end() :])[:MAX_WORDS_AFTER_NOT])
        for found in _NOT.finditer(statement)
    )


def _is_opposite(question: str, statement: str) -> bool:
    """Whether one of the two is about what somebody likes, and the other only about what they dislike."""
    asks, tells = (
        (bool(_LIKES.search(_DISLIKES.sub("", text))), bool(_DISLIKES.search(text))) for text in (question, statement)
    )
    return asks in ((True, False), (False, True)) and tells == (asks[1], asks[0])
