"""Where sentences end: their punctuation marks, and the abbreviations whose full stop does not end a sentence."""

from __future__ import annotations

import re

ENDS = ".!?"
WIDE_ENDS = "。！？"
"""The punctuation marks of scripts that put no space after them."""
QUESTION_MARKS = ("?", "？")
AFTER_SENTENCE = re.compile(rf"(?<=[{ENDS}])\s+")
"""The space between two sentences; it also matches after abbreviations."""

TITLES = ("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.")
A_TITLE = "|".join(title.removesuffix(".") for title in TITLES)
"""Alternatives for a pattern, without the full stop."""
ABBREVIATION = re.compile(
    r"\b(?:[Dd]ra?|[Mm]r|[Mm]rs|[Mm]s|Messrs|Prof|Rev|Engr|Mag|Sra|habil|St|vs|etc|e\.g|i\.e|approx|No|Inc|Ltd|Co|"
    r"[A-Z])\.$"
)
"""A text that ends in an abbreviation or an initial, and therefore not at the end of a sentence."""
NUMBER_ABBREVIATION = re.compile(r"\b(?:no|nr|tel|ext|ca|incl|excl)\.$", re.I)
"""A text that ends in an abbreviation if a number follows it."""
NOT_AFTER_ABBREVIATION = r"(?<!\b[A-Z]\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!Prof\.)"
"""A condition for a pattern on the position after a full stop: the full stop does not belong to an abbreviation."""

BUT_OF_ANOTHER_CLAUSE = r"but\s+(?!(?:(?:only|not) )?(?:on|at|in|from|for|until|except) )"
"""A "but" that begins a clause, not an exception to what is said before: "at 7 but on Sundays at 8"."""
