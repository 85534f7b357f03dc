"""Words of change: they indicate that something is no longer as it was. All are alternatives for a pattern."""

from __future__ import annotations

CHANGE_WORDS = (
    "now|no longer|any ?more|instead|switched|changed|from now on|these days|pushed|moved|postponed|became|new|"
    "replaced|swapped|after all|actually|correction|upgraded|went (?:up|down)|raised|back to"
)
AMOUNT_CHANGE_WORDS = "bumped|cut|down to|up to|increased|reduced|lowered|rescheduled"
"""Words that indicate a different amount or time when they are next to a number."""
END_WORDS = "left|quit|sold|gave up|since|as of"
"""Words that indicate that something is over, or since when it is different."""
RESCHEDULING_VERBS = "moved|pushed|postponed|rescheduled|shifted"
"""Verbs that move an appointment to another time."""
INSTEAD_OF = "instead of|rather than"
"""Words between what is true and what is not."""
RETRACTIONS = "oh|ah|wait|oops|sorry|actually|scratch that|my mistake|typo"
"""Words with which people begin to take back what they just said."""
