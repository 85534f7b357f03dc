"""`extraction/timelines-*.txt`: what one user told over weeks, a message a line, with its kind and what it replaces.

    # 2025-03-02 | situation
    kind | message | mark

The kind is f(act), e(vent), i(nstruction), t(ask) or `-` for nothing worth keeping; the mark is `>N` when the message
makes line N out of date, `=N` when it says line N again, else `-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KINDS = {"f": "fact", "e": "event", "i": "instruction", "t": "task", "-": "none"}


@dataclass(frozen=True)
class Line:
    kind: str
    text: str
    replaces: int | None
    repeats: int | None
    """Indices of earlier lines."""


def timelines() -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for path in sorted((Path(__file__).parent / "extraction").glob("timelines-*.txt")):
        for row in path.read_text("utf-8").splitlines():
            if row.startswith("#"):
                lines = found.setdefault(f"{path.stem}-{len(found)}", [])
            elif row.strip():
                kind, rest = row.split("|", 1)
                text, mark = rest.rsplit("|", 1)
                lines.append(Line(KINDS[kind.strip()], text.strip(), _place(mark, ">"), _place(mark, "=")))
    return found


def _place(mark: str, sign: str) -> int | None:
    mark = mark.strip()
    return int(mark[1:]) - 1 if mark.startswith(sign) else None
