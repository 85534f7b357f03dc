"""Text without what varies from run to run: ids, dates, scores and sizes."""

from __future__ import annotations

import re

_VARIES = (
    (r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "ULID"),
    (r"\b[0-9a-f]{32}\b", "HASH"),
    (r"\b20\d\d-\d\d-\d\d(?:[ T]\d\d:\d\d)?", "DATE"),
    (r"\bscore -?\d+\.\d\d\b", "SCORE"),
    (r"\b\d+ KiB", "SIZE"),
)


def steady_text(text: str) -> str:
    for pattern, name in _VARIES:
        text = re.sub(pattern, name, text)
    return text.strip()
