"""Determines whether two statements say the same in other words, or the later one updates a number or name. Pure.

Static vectors show whether every word has a similar one in the other statement. Numbers, names and negations must be
equal: a statement that differs in one of these is a different fact.
"""

from __future__ import annotations

import re
from collections.abc import Set

from holdfast.domain.types import Draft, Memory
from holdfast.text import static_vectors, tokens
from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon import change
from holdfast.text.lexicon.calendar import WEEKDAYS
from holdfast.text.lexicon.negation import NEGATION
from holdfast.text.lexicon.patterns import ASIDE, CAPITALISED_WORD, FIGURE, INNER_NAME, WORD
from holdfast.text.statement_topics import name_other_tickets

MIN_WORD_SIMILARITY = 0.6
"""How similar the least similar word must be for two statements to say the same. Chosen by hand; not measured."""
MIN_SHARED_STEMS = 0.3
"""The fraction of the shorter statement's stems that an update must share. Chosen by hand; not measured."""
_FRAME_WORDS = tokens.STOP_WORDS | {"the", "user", "asked", "answered", "said", "user's"}
"""Words that the rendering of a statement adds, and stop words."""
UNSPECIFIC_STEMS = frozenset(
    tokens.tokens(
        "user asked answered said euros dollars pounds cents bucks percent years old days weeks months hours minutes "
        "times kg grams mg km metres meters litres am pm per costs paid pays price takes runs has have had gets got "
        "uses used needs goes went comes came wants works lives likes moved changed new now makes made does did "
        "week day month year morning evening"
    )
) | {stem for day in WEEKDAYS for stem in tokens.tokens(day)}
"""Stems that two statements may share without being about the same thing."""
CHANGE_WORD = re.compile(rf"\b(?:{change.CHANGE_WORDS}|scratch that|dropped to)\b", re.I)
_SET_APART = {
    word: n
    for n, words in enumerate(
        (
            *(f"{day} {day}s" for day in WEEKDAYS), "days day", "weeks week", "months month", "evening", "night",
            "four", "five", "upstairs", "downstairs", "bought", "sold", "husband", "wife", "aunt auntie", "uncle",
            "niece", "nephew", "grandma grandmother granny nan", "grandpa grandfather grandad", "npm", "pnpm", "java",
            "javascript", "almonds", "walnuts", "pears", "plums", "horse", "pony",
        )
    )
    for word in words.split()
}  # fmt: skip
"""Words whose vectors are near each other and that do not mean the same; each with the number of what it means."""
_AMOUNT_CHANGE_WORD = re.compile(
    rf"\b(?:{change.AMOUNT_CHANGE_WORDS}|doubled|halved|extended|shortened|delayed|brought forward|"
    rf"{change.INSTEAD_OF})\b",
    re.I,
)
"""Words that indicate a different amount or time; they count only together with a number."""


def restates(draft: Draft, memory: Memory) -> bool:
    """Whether the draft says the same as the memory, about the same time."""
    if draft.kind != memory.kind or draft.occurred_at != memory.occurred_at:
        return False
    return same_meaning(draft.content, memory.content)


def updates(draft: Draft, memory: Memory, rare: Set[str]) -> bool:
    """Whether the draft gives a number or name of the memory a new value: "60 seats now" after "25 seats".

    The draft must have a word of change, share one of the `rare` stems and a fair part of all stems, and contain none
    of the old numbers. Without numbers, both must have the same subject and each a name that the other does not have.
    """
    if draft.kind != memory.kind or draft.sources[-1:] == memory.sources[-1:] or not _may_update(draft.content):
        return False
    new, old = ASIDE.sub("", draft.content), ASIDE.sub("", memory.content)
    mine, theirs = (_stems(text) for text in (new, old))
    shared = mine & theirs
    if not shared & rare or len(shared) < max(MIN_SHARED_STEMS * min(len(mine), len(theirs)), 1):
        return False
    if name_other_tickets(new, old):
        return False
    figures = set(FIGURE.findall(new)), set(FIGURE.findall(old))
    if any(figures):
        return all(figures) and figures[0].isdisjoint(figures[1])
    names = [{name.casefold() for name in CAPITALISED_WORD.findall(text)} - _FRAME_WORDS for text in (new, old)]
    same_subject = new.split()[:2] == old.split()[:2]
    return same_subject and bool(names[0] - names[1]) and bool(names[1] - names[0])


@cached_by_text
def _may_update(text: str) -> bool:
    """Whether a statement has a word of change."""
    new = ASIDE.sub("", text)
    return bool(CHANGE_WORD.search(new) or (_AMOUNT_CHANGE_WORD.search(new) and FIGURE.search(new)))


_UPGRADE = re.compile(
    r"\b(?:upgraded|updated|bumped|migrated|moved|switched|are|is|now)\b(?: [\w.-]+){0,3}? (?:to|on) (?:v(?:ersion )?)?"
    r"(?P<tool>[a-z][\w+#.-]*) v?(?P<version>\d[\w.]*)|"
    r"\b(?:upgraded|updated|bumped) (?:the |our )?(?P<it>[a-z][\w+#-]*)(?: from \S+)? to v?(?P<number>\d[\w.]*)",
    re.I,
)


def upgrades(new: str, old: str) -> bool:
    """Whether the new statement gives another version of a tool than the old one has: "upgraded to python 3.13"."""
    upgrade = _upgraded_tool(new)
    if upgrade is None:
        return False
    tool, version = upgrade
    had = re.search(rf"\b{re.escape(tool)} v?(\d[\w.]*)", ASIDE.sub("", old), re.I)
    return had is not None and had[1].rstrip(".") != version


@cached_by_text
def _upgraded_tool(text: str) -> tuple[str, str] | None:
    """The tool that a statement tells a new version of, and the version."""
    m = _UPGRADE.search(ASIDE.sub("", text))
    return None if m is None else (m["tool"] or m["it"], (m["version"] or m["number"]).rstrip("."))


def _stems(text: str) -> set[str]:
    return {stem for stem in tokens.question_words(text) if not stem.isdigit()} - UNSPECIFIC_STEMS


def same_meaning(one: str, other: str) -> bool:
    """Whether the two say the same, in the same words or in others."""
    if _exact_words(one) != _exact_words(other) or not (_names_occur_in(one, other) and _names_occur_in(other, one)):
        return False
    return all(weakest_word_similarity(*pair) >= MIN_WORD_SIMILARITY for pair in ((one, other), (other, one)))


def adds_details(one: str, other: str) -> bool:
    """Whether `one` has a number, or a name within a sentence, that `other` does not have."""
    names = {name.casefold() for name in INNER_NAME.findall(one)} - _FRAME_WORDS
    numbers = set(FIGURE.findall(one)) - set(FIGURE.findall(other))
    return bool(numbers) or not names <= _words(other)


def _names_occur_in(one: str, other: str) -> bool:
    """Whether every name of `one` is a word of `other`."""
    return _names(one) <= _words(other)


@cached_by_text
def _names(text: str) -> frozenset[str]:
    return frozenset(name.casefold() for name in CAPITALISED_WORD.findall(text)) - _FRAME_WORDS


@cached_by_text
def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


def weakest_word_similarity(one: str, other: str) -> float:
    """The similarity (0 to 1) of the word of `one` that is least similar to any word of `other`."""
    return min(static_vectors.nearness_of_each(_spoken_tokens(one), static_vectors.token_ids(other)[0]), default=1.0)


@cached_by_text
def _spoken_tokens(text: str) -> tuple[tuple[list[int], list[float]], ...]:
    """The tokens of each word that the author of a statement said."""
    spoken = [word for word in dict.fromkeys(WORD.findall(text.lower())) if word not in _FRAME_WORDS]
    return tuple(static_vectors.weighted_tokens([(word, 1.0)]) for word in spoken)


@cached_by_text
def _exact_words(text: str) -> tuple[frozenset[str], frozenset[int], bool]:
    """What nothing else means: the numbers of the text, its words that are set apart, whether it has a negation."""
    apart = frozenset(_SET_APART[word] for word in WORD.findall(text.lower()) if word in _SET_APART)
    return frozenset(FIGURE.findall(text)), apart, NEGATION.search(text) is not None
