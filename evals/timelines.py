"""`extraction/timelines-*.txt`: what one user told over weeks, a message a line, with its kind and what it replaces.

    # 2025-03-02 | situation
    kind | message | mark

The kind is f(act), e(vent), i(nstruction), t(ask) or `-` for nothing worth keeping; the mark is `>N` when the message
makes line N out of date, `=N` when it says line N again, else `-`. Those named `life` go over a year and hundreds of
lines. `extraction/contrasts-*.txt` has an older statement (`=`) and later ones, each to be read right after it, that
make it out of date (`>`) or only speak of the same thing (`-`):

    = kind | message
    > kind | message
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


def contrasts() -> dict[str, list[Line]]:
    """By name, an older statement and what was said after it; every tenth is named as one to measure on."""
    found: dict[str, list[Line]] = {}
    for path in sorted((Path(__file__).parent / "extraction").glob("contrasts-*.txt")):
        for row in path.read_text("utf-8").splitlines():
            if not row.strip():
                continue
            sign, rest = row.strip()[0], row.strip()[1:]
            kind, text = rest.split("|", 1)
            if sign == "=":
                held = "held-" if len(found) % 10 == 0 else ""
                lines = found.setdefault(f"contrasts-{held}{path.stem[-1]}-{len(found)}", [])
            lines.append(Line(KINDS[kind.strip()], text.strip(), 0 if sign == ">" else None, None))
    return found


def _place(mark: str, sign: str) -> int | None:
    mark = mark.strip()
    return int(mark[1:]) - 1 if mark.startswith(sign) else None
