"""Pure: any text as one JSON string on one line, with nothing in it that breaks a line, hides or runs backwards.

What is written this way for a model can be read, but cannot end its own line, and shows what it would conceal.
"""

from __future__ import annotations

import json
import re

_HIDDEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Line breaks that JSON lets stand, marks of direction, blanks without width and invisible letters; not the joiners
that scripts and pictures are written with."""


def quoted(text: str) -> str:
    return _HIDDEN.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
