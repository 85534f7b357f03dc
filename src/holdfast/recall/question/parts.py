"""Pure: splits a request into the questions that it consists of.

"What is my budget, and where do I live?" asks two things, and each is looked for by itself. A part whose pronoun stands
for somebody in the part before gets their name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.text.lexicon.patterns import NAME_IN_QUESTION

MAX_PARTS = 5
"""Chosen by hand: more would leave a token budget to nobody."""
_ASKING = r"(?:what(?:'s)?|where(?:'s)?|when(?:'s)?|who(?:'s)?|whose|whom|which|why|how)"
_AUXILIARY = (
    r"(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would|should|shall|must|isn't|aren't|don't|doesn't|"
    r"didn't|haven't|hasn't)"
)
_SUBJECT = r"(?:i|we|you|he|she|it|they|there|my|our|his|her|their|the|this|that|[A-Z][\w'-]+)"
_IMPERATIVE = r"(?:tell|remind|list|say|give|show|explain|suggest|recommend)"
_BORDER = re.compile(
    rf"[?!;]\s+(?:and\s+|also,?\s+|or\s+)?|\.\s+(?={_ASKING}\b)|(?:,\s*|\s+)(?:and|also|plus|but)(?:\s+also)?,?\s+"
    rf"(?=(?:{_ASKING}\b|(?i:{_AUXILIARY})\s+{_SUBJECT}\b|{_IMPERATIVE}\s+(?:me|us)\b))"
    rf"|,\s+(?={_ASKING}\s+(?:\w+\s+)?{_AUXILIARY}\b)",
    re.I,
)
_TWO_THINGS = re.compile(
    r"\b(?P<one>(?:my|our|his|her|their|[A-Z][\w-]+['’]s)\s+[\w-]+(?:\s+(?!and\b)[\w-]+)?),?\s+and\s+"
    r"(?P<two>(?:my|our|his|her|their|the|[A-Z][\w-]+['’]s)\s+[\w-]+)"
)
"""Two things that one question asks about: "my budget and my address"."""
_PRONOUN = re.compile(r"\b(?:he|she|they|it|him|his|her|hers|them|their|its)\b", re.I)
_OWNED = re.compile(r"\b(?:my|our) [\w-]+", re.I)
_COMPARES = re.compile(r"\b(?:between|both|first|earlier|later|older|younger|compare|difference)\b", re.I)
"""Words by which a question compares two things: its parts are not questions of their own."""


def question_parts(text: str) -> tuple[str, ...]:
    """The questions that a text consists of, in order; the text itself when it is one."""
    found = [part for piece in _pieces(text) for part in _things_apart(piece)]
    if len(found) < 2:
        return (text,)
    return tuple(_with_subject(part, found[:n]) for n, part in enumerate(found[:MAX_PARTS]))


def _pieces(text: str) -> list[str]:
    if _COMPARES.search(text):
        return [text]
    return [piece for each in _BORDER.split(text) if (piece := each.strip(" ,;?!\n")) and len(piece.split()) > 1]


def _things_apart(piece: str) -> list[str]:
    """A question about two things as two questions about one each."""
    found = None if _COMPARES.search(piece) else _TWO_THINGS.search(piece)
    if found is None:
        return [piece]
    before, after = piece[: found.start()], piece[found.end() :]
    return [f"{before}{found[each]}{after}" for each in ("one", "two")]


def _with_subject(part: str, before: Sequence[str]) -> str:
    """The part with whom its pronoun means, where only a part before says that."""
    if not _PRONOUN.search(part) or NAME_IN_QUESTION.search(part):
        return part
    for each in reversed(before):
        meant = [name.removesuffix("'s") for name in NAME_IN_QUESTION.findall(each)] or _OWNED.findall(each)
        if meant:
            return f"{part} ({', '.join(dict.fromkeys(meant))})"
    return part
