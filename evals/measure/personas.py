"""Everyday questions of people and teams: `python -m evals.measure.personas [NAME …] [--half read|held] [--verbose]`.

The personas (evals/data/personas) have the form of those of the benchmark folder's `everyday`, whose program asks and
judges. Wrong answers of the half `read` were looked at while answering was improved; of `held` only totals were.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import Any

from ..data.benchmarks import BENCH
from ..paths import DATA

HALVES = ("read", "held")


def persona(cases: Any, told: dict[str, Any]) -> Any:
    """A persona of the file as the benchmark's program has it."""
    sessions = tuple(
        cases.Session(each["id"], tuple(cases.Message(**message) for message in each["messages"]))
        for each in told["sessions"]
    )
    questions = tuple(
        cases.Question(**each | {"right": tuple(each["right"]), "wrong": tuple(each["wrong"])})
        for each in told["questions"]
    )
    checks = {name: tuple(map(_frozen, some)) for name, some in told["memory_checks"].items()}
    return cases.Persona(told["name"], told["about"], sessions, questions, cases.MemoryChecks(**checks))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="only these personas")
    parser.add_argument("--half", choices=HALVES, help="only these personas")
    parser.add_argument("--verbose", action="store_true", help="print each miss of the half `read`")
    given = parser.parse_args()
    folder = BENCH / "everyday"
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: set HOLDFAST_BENCH to the folder with the benchmarks.")
    sys.path.insert(0, str(folder))
    cases = importlib.import_module("everyday_cases")
    told = [json.loads(path.read_text("utf-8")) for path in sorted((DATA / "personas").glob("*.json"))]
    for half in [given.half] if given.half else HALVES:
        mine = [each for each in told if each["half"] == half and each["name"] in (given.names or [each["name"]])]
        cases.PERSONAS = tuple(persona(cases, each) for each in mine)
        if not cases.PERSONAS:
            continue
        program = importlib.import_module("measure_everyday")
        program.PERSONAS = cases.PERSONAS
        program.main(["--verbose"] if given.verbose and half == "read" else [])


if __name__ == "__main__":
    main()
