"""Patterns for the elements of a statement: words, numbers, names, remarks in brackets."""

from __future__ import annotations

import re

WORD = re.compile(r"[\w'’-]+")
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
CAPITALISED = r"[A-ZÀ-Þ][\w'’-]*"
"""A capitalised word, as a piece of a pattern."""
CAPITALISED_WORD = re.compile(rf"\b{CAPITALISED}")
INNER_NAME = re.compile(rf"(?<=[\w,;] ){CAPITALISED}")
"""A name within a sentence, where a capital letter is not due to the beginning of the sentence."""
NAME_IN_QUESTION = re.compile(r"(?<=[\w,'’] )[A-ZÀ-Þ][\w'’-]+")
ASIDE = re.compile(r" \([^()]*\)")
"""A remark in brackets, such as the date that digestion adds to a statement."""
TICKET = re.compile(r"\b[A-Z]{2,}-\d+\b")
"""The name of a ticket: "TRN-91"."""
OMISSION = "[…]"
"""Stands in a message where something was taken out (text/shortening.py)."""
