"""`python -m evals.measure.redaction CASES.jsonl [--out PAGE.md]`: secrets caught, and false alarms.

Each line of the file is {"text": …, "secret": …, "family": …}; `secret` is null where nothing may change. A secret is
caught when neither it nor a half of it of six or more characters is left in the redacted text. A text without a secret
that changes at all is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.text.redaction import redacted_text

from ..paths import REPOSITORY

MIN_HALF_CHARACTERS = 6


@dataclass(frozen=True, slots=True)
class RedactionCase:
    """A text, and the secrets in it."""

    family: str
    text: str
    secrets: tuple[str, ...]

    @property
    def right(self) -> bool:
        redacted = redacted_text(self.text)
        if not self.secrets:
            return redacted == self.text
        return not any(is_left(secret, redacted) for secret in self.secrets)


def is_left(secret: str, redacted: str) -> bool:
    """Whether the secret, or a long enough half of it, can still be read."""
    middle = len(secret) // 2
    halves = (half for half in (secret[:middle], secret[middle:]) if len(half) >= MIN_HALF_CHARACTERS)
    return any(part in redacted for part in (secret, *halves))


def read_cases(lines: Iterable[str]) -> list[RedactionCase]:
    rows = [json.loads(line) for line in lines if line.strip()]
    return [RedactionCase(row.get("family") or "all", row["text"], _secrets(row["secret"])) for row in rows]


def _secrets(given: str | list[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def table(cases: Sequence[RedactionCase]) -> str:
    """One row for each family of secrets, one for each family of ordinary texts, and the sums."""
    counts: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for case in cases:
        counts[bool(case.secrets), case.family].append(case.right)
    rows = ["| family of secrets | caught | of | share |", "|---|---|---|---|"]
    rows += [_row(family, counts[True, family]) for secret, family in sorted(counts) if secret]
    rows += [_row("**all**", [right for (secret, _), each in counts.items() if secret for right in each])]
    rows += ["", "| ordinary texts | false alarms | of | share |", "|---|---|---|---|"]
    ordinary = {
        family: [not right for right in counts[False, family]] for secret, family in sorted(counts) if not secret
    }
    rows += [_row(family, wrong) for family, wrong in ordinary.items()]
    rows += [_row("**all**", [wrong for each in ordinary.values() for wrong in each])]
    return "\n".join(rows)


def _row(name: str, marks: Sequence[bool]) -> str:
    return f"| {name} | {sum(marks)} | {len(marks)} | {sum(marks) / max(len(marks), 1):.3f} |"


def microseconds(texts: Sequence[str]) -> float:
    """CPU time for one text, in the fastest of five rounds."""
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for text in texts:
            redacted_text(text)
        rounds.append(time.process_time() - began)
    return min(rounds) / max(len(texts), 1) * 1e6


def page(cases: Sequence[RedactionCase], name: str) -> str:
    ordinary = [case.text for case in cases if not case.secrets]
    return (
        f"`python -m evals.measure.redaction LIST --out docs/results/redaction.md` on `{name}`. An ordinary text takes "
        f"{microseconds(ordinary):.0f} µs of CPU on the machine that wrote this.\n\n"
        f"{table(cases)}\n"
    )


def write_section(path: Path, heading: str, body: str) -> None:
    """Puts the section into the page, in place of the one with this heading."""
    sections = path.read_text("utf-8").split("\n## ") if path.exists() else ["# Redaction\n"]
    sections = [each for each in sections if not each.startswith(f"{heading}\n")]
    path.write_text(
        "\n## ".join([*(each.rstrip() + "\n" for each in sections), f"{heading}\n\n{body.rstrip()}\n"]), "utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How many secrets redaction catches, and its false alarms.")
    parser.add_argument("cases", type=Path, help="JSON lines: text, secret or null, family")
    parser.add_argument("--out", type=Path, help="write the page there")
    parser.add_argument("--show", action="store_true", help="print what went wrong; not for cases that are held back")
    given = parser.parse_args()
    if not given.cases.exists():
        parser.error(f"there is no list {given.cases}: name one, such as evals/data/redaction/development_5.jsonl")
    cases = read_cases(given.cases.read_text("utf-8").splitlines())
    if given.show:
        for case in cases:
            if not case.right:
                print(f"{'missed' if case.secrets else 'false'}  {case.family}  {case.text!r}")
    name = given.cases.resolve()
    shown = name.relative_to(REPOSITORY).as_posix() if name.is_relative_to(REPOSITORY) else name.name
    written = page(cases, shown)
    print(written)
    if given.out is not None:
        write_section(given.out, "A list held back", written)


if __name__ == "__main__":
    main()
