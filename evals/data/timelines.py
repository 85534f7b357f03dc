"""`extraction/timelines-*.txt`: what one user told over weeks, a message a line, with its kind and what it replaces.

    # 2025-03-02 | situation
    kind | message | mark

The kind is f(act), e(vent), i(nstruction), t(ask) or `-` for nothing worth keeping; the mark is `>N` when the message
makes line N out of date, `=N` when it says line N again, else `-`. Those named `life` go over a year and hundreds of
lines. `extraction/contrasts-*.txt` has an older statement (`=`) and later ones, each to be read right after it, that
make it out of date (`>`) or only speak of the same thing (`-`):

    = kind | message
    > kind | message

`extraction/compounds-*.txt` has older statements of several parts, with `‖` between them, and later ones with the
numbers of the parts that they make out of date (`*` for all):

    = shoes for Emre,‖ size 33,‖ velcro
    > 2 | Emre's 35 now
    - | Emre starts school in August
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.text.statement_parts import Span

from ..paths import EXTRACTION

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
    for path in sorted(EXTRACTION.glob("timelines-*.txt")):
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
    for path in sorted(EXTRACTION.glob("contrasts-*.txt")):
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


@dataclass(frozen=True)
class Compound:
    """A statement, where its parts are, and what was said later with the numbers of the parts that it ends."""

    text: str
    spans: tuple[Span, ...]
    later: tuple[tuple[str, frozenset[int]], ...]


def compounds() -> dict[str, Compound]:
    found: dict[str, Compound] = {}
    for path in sorted(EXTRACTION.glob("compounds-*.txt")):
        for group in path.read_text("utf-8").split("\n\n"):
            first, *rows = group.strip().splitlines() or [""]
            if first:
                held = "held-" if len(found) % 10 == 0 else ""
                found[f"compounds-{held}{path.stem[-1]}-{len(found)}"] = _compound(first[1:].strip(), rows)
    return found


def _compound(first: str, rows: list[str]) -> Compound:
    text, spans = "", []
    for part in first.split("‖"):
        inner = part.strip(" ,;.–—-")
        inner = re.sub(r"^(?:and|but|so|plus) ", "", inner, flags=re.I)
        start = len(text) + part.index(inner)
        spans.append((start, start + len(inner)))
        text += part
    later = []
    for row in rows:
        mark, said = row[1:].split("|", 1)
        every = frozenset(range(len(spans)))
        ends = every if "*" in mark else frozenset(int(each) - 1 for each in re.findall(r"\d+", mark))
        later.append((said.strip(), ends if row[0] == ">" else frozenset()))
    return Compound(text.rstrip(), tuple(spans), tuple(later))


def _place(mark: str, sign: str) -> int | None:
    mark = mark.strip()
    return int(mark[1:]) - 1 if mark.startswith(sign) else None
