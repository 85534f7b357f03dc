"""Pure: words for relatives, and the steps from parent to child, between siblings and between partners behind them.

A niece is a sibling's child, a mother-in-law a partner's parent. So who somebody's niece is follows from who their
sister is and who her daughter is, though nobody said "niece".
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.given_names import MEN, WOMEN
from holdfast.text.lexicon.kinship import FAMILY_IN_LAW

Step = Literal["parent", "child", "sibling", "partner"]
Path = tuple[Step, ...]
Sex = Literal["", "f", "m"]
INVERSE: dict[Step, Step] = {"parent": "child", "child": "parent", "sibling": "sibling", "partner": "partner"}


class KinWord(NamedTuple):
    """What a word for a relative means: the paths to them, the likeliest first, and their sex."""

    paths: tuple[Path, ...]
    sex: Sex


_SELVES: dict[Step, tuple[str, str, str]] = {
    "parent": ("mother mum mom mama mam ma", "father dad papa", "parent"),
    "child": ("daughter", "son", "child kid baby"),
    "sibling": ("sister", "brother", "sibling twin"),
    "partner": (
        "wife girlfriend fiancée fiancee missus", "husband boyfriend fiancé fiance bloke fella", "partner spouse",
    ),
}  # fmt: skip
_FARTHER: tuple[tuple[tuple[Path, ...], str, str, str], ...] = (
    ((("parent", "parent"),), "grandmother grandma granny nan", "grandfather grandpa grandad granddad", "grandparent"),
    ((("child", "child"),), "granddaughter", "grandson", "grandchild grandkid"),
    (
        (("parent", "sibling"), ("parent", "partner", "sibling"), ("parent", "sibling", "partner")),
        "aunt auntie",
        "uncle",
        "",
    ),
    ((("parent", "sibling", "child"), ("parent", "partner", "sibling", "child")), "", "", "cousin"),
    ((("sibling", "child"), ("partner", "sibling", "child")), "niece", "nephew", ""),
    ((("partner", "parent"),), "mother-in-law", "father-in-law", ""),
    ((("child", "partner"),), "daughter-in-law", "son-in-law", ""),
    ((("partner", "sibling"), ("sibling", "partner")), "sister-in-law", "brother-in-law", ""),
    ((("parent", "partner"),), "stepmother stepmum stepmom", "stepfather stepdad", ""),
)
_PLURALS = {"children": "child", "grandchildren": "grandchild", "wives": "wife"}
MARRIED, ENGAGED = frozenset(word_list("wife husband spouse")), frozenset(word_list("fiancé fiancée fiance fiancee"))
"""Words for a partner that say more than that they are one."""


def _words() -> dict[str, KinWord]:
    rows = [*(((((step,),)), *words) for step, words in _SELVES.items()), *_FARTHER]
    sexes: tuple[Sex, ...] = ("f", "m", "")
    return {
        word: KinWord(paths, sex)
        for paths, *by_sex in rows
        for sex, words in zip(sexes, by_sex, strict=True)
        for word in words.split()
    }


KIN_WORDS = _words()
STEP_WORDS: dict[Step, str] = {
    "parent": "mum dad mother father parents",
    "child": "son daughter kids child baby boy girl",
    "sibling": "sister brother twin",
    "partner": "husband wife partner boyfriend girlfriend bloke fella engaged married together",
}
"""The words by which statements about a step are looked for."""
_IN_LAW = re.compile(rf"\b({'|'.join(FAMILY_IN_LAW)})s? in law\b", re.I)
A_KIN_WORD = "|".join(sorted((*KIN_WORDS, *_PLURALS), key=len, reverse=True))


def plain_text(text: str) -> str:
    """With straight apostrophes, and "mother-in-law" in one word."""
    return _IN_LAW.sub(lambda m: f"{m[1]}-in-law", text.replace("’", "'"))


def kin_word(word: str) -> KinWord:
    return KIN_WORDS[singular(word)]


def singular(word: str) -> str:
    word = word.lower()
    return _PLURALS.get(word) or (word if word in KIN_WORDS else word.removesuffix("s"))


def sex_of_name(name: str) -> Sex:
    """The sex that a given name nearly always has; empty where it is not known."""
    shown = name.capitalize()
    return "f" if shown in WOMEN else "m" if shown in MEN else ""
