"""Words of negation. All are alternatives for a pattern."""

from __future__ import annotations

import re

NEGATIONS = "no|not|never"
SHORT_NOT = r"n['’]t\b"
"""The end of "don't", "isn't" and the like."""
DO_NOT = "do not|don't|doesn't|does not"
CANNOT = "cannot|can't"

NEGATION = re.compile(
    rf"\b(?:{NEGATIONS}|without|none|nobody|nothing|neither|nor|cannot|stopped|quit|former|formerly|hates?|dislikes?)\b|"
    rf"{SHORT_NOT}",
    re.I,
)
"""A word that turns a statement into its opposite, or states that something is over or disliked."""
