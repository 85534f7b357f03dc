"""Parses hostile files and prints the highest memory use of the parsers so far, after each, as JSON.

python -m support.children.parse_hostile_files FOLDER NAME…    in tests/; names of support/documents/hostile_files.py
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from support.documents.hostile_files import HOSTILE
from support.documents.parsing import parse_bytes


def main(folder: str, *names: str) -> None:
    peaks = {}
    for name in names:
        parse_bytes(HOSTILE[name].make(), Path(folder), HOSTILE[name].name, HOSTILE[name].limits)
        # The highest so far: good enough, since the question is whether any was too high.
        peaks[name] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps(peaks))


if __name__ == "__main__":
    main(*sys.argv[1:])
