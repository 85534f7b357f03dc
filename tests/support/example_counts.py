"""On how many examples a property is tried: on a third in `make test`, which takes the same ones every time, and on
all in `make prove`, which takes others every time.
"""

from __future__ import annotations

import os

MIN_EXAMPLES = 3


def example_count(count: int) -> int:
    """How many of this many."""
    return count if os.environ.get("HYPOTHESIS_PROFILE") == "random" else max(MIN_EXAMPLES, count // 3)
