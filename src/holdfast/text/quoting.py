"""Writes any text as one JSON string on one line, without invisible characters or direction marks. Pure.

A model can read text that is written this way, but the text cannot end its own line, and hidden characters become
visible.
"""

from __future__ import annotations

import json
import re

_HIDDEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Line breaks that JSON does not escape, direction marks, zero-width spaces and invisible letters; not the joiners
that scripts and emoji need."""


def single_line_json(text: str) -> str:
    """The text as a JSON string with every hidden character escaped."""
    return _HIDDEN.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
