"""`python -m evals.measure.dates`: how often the date resolver's windows are exactly those a reader would give.

The invariant: a case counts only when every window is right, in order, and there is none besides. Every third case is
held back: its failures are counted and never shown, so that rules cannot be fitted to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from holdfast.text.dates import windows

from ..paths import DATA

CASES = DATA / "dates.json"
HELD_BACK = 2  # of each three in a row, the one with this remainder

Spans = list[tuple[datetime, datetime]]


@dataclass(frozen=True, slots=True)
class Case:
    """What was said when, and the windows a reader would give."""

    text: str
    reference: datetime
    expected: Spans

    def found(self) -> Spans:
        return [(w.start, w.stop) for w in windows(self.text, self.reference)]


def cases() -> list[Case]:
    return [
        Case(
            row["text"],
            datetime.fromisoformat(row["reference"]),
            [(datetime.fromisoformat(start), datetime.fromisoformat(stop)) for start, stop in row["windows"]],
        )
        for row in json.loads(CASES.read_text("utf-8"))
    ]


def failures(part: list[Case]) -> list[str]:
    """Each wrong case in words."""
    return [
        f"{case.reference:%a %Y-%m-%d}  {case.text}\n    expected {_words(case.expected)}\n    found    {_words(found)}"
        for case in part
        if (found := case.found()) != case.expected
    ]


def _words(spans: Spans) -> str:
    return ", ".join(f"{start:%Y-%m-%d %H:%M} – {stop:%Y-%m-%d %H:%M}" for start, stop in spans) or "none"


def paragraph(tuned: tuple[int, int], held: tuple[int, int]) -> str:
    """For docs/results/extraction.md."""
    return (
        f"**Dates.** Of {held[1]} sentences held back while tuning, {held[0]} ({held[0] / held[1]:.3f}) give exactly "
        f"the windows a reader would give; of the {tuned[1]} tuned on, {tuned[0]} ({tuned[0] / tuned[1]:.3f}). "
        "The set (`evals/data/dates.json`) was written before the code was run on it: each sentence has a reference "
        "time and its half-open windows, in order; sentences without a date must give none. A wrong, missing or "
        "additional window fails its sentence. Every third sentence is held back; whoever wrote the rules wrote the "
        "sentences too, so that part is unlooked-at rather than unknown. `python -m evals.measure.dates` repeats it."
    )


def halves() -> list[list[Case]]:
    """The tuned part and the held-back part."""
    return [
        [case for n, case in enumerate(cases()) if (n % 3 == HELD_BACK) is held_back] for held_back in (False, True)
    ]


def measure() -> str:
    tuned, held = ((len(part) - len(failures(part)), len(part)) for part in halves())
    return paragraph(tuned, held)


def main() -> None:
    parts = halves()
    wrong = [failures(part) for part in parts]
    print("\n".join(wrong[0]))
    right = [(len(part) - len(bad), len(part)) for part, bad in zip(parts, wrong, strict=True)]
    for name, (good, total) in zip(("tuning", "held back"), right, strict=True):
        print(f"{name}: {good} of {total} right, {good / total:.3f}")
    print("\n" + paragraph(*right))


if __name__ == "__main__":
    main()
