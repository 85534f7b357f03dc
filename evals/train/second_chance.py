"""Fits the weights of recall/answer/second_sureness.py: `python -m evals.train.second_chance`.

The lives that the reader of answers learned nothing from are ingested and asked through the product: once with
every answer of the second reading let through, once with its messages quoted together; and a third time with all that
may be one of several answers. What is answered is judged, and logistic fits learn from the features when it is right.
For the third, each life is also asked for lists that others tell of, and that it does not.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.models.local import ArcticEmbedder
from holdfast.recall.answer import reading
from holdfast.recall.answer.second_reading import SecondReading, read_again
from holdfast.recall.answer.second_sureness import several_features

from ..data.life import FOLDER, Life, parse_lives
from ..measure.lives import ask_life, ingest_life, noon
from ..paths import CACHE
from ..profiles import cached_embedder, open_memory
from .life_split import MEASURES, is_held

KEPT = CACHE / "second-chance.pickle"
FOLDS = 8
FORMS = ("one", "together")
SEVERAL = "several"
FOREIGN_LISTS = 4
"""How many lists of other lives, and of `UNTOLD`, each life is asked for."""
UNTOLD = (
    "Which cars do I own?", "Which instruments do I play?", "Which languages do I speak?", "Who are my brothers?",
    "Which countries have I visited?", "Which sports do I do?", "Which newspapers do I read?", "Who is in my band?",
    "Which cameras do I have?", "Which board games do we own?", "Which vaccines have I had?", "Who are my clients?",
    "Which plants do we grow?", "Which films did I watch?", "Which credit cards do I have?", "Who are my doctors?",
    "Which teachers do I have?", "Which databases do we run?", "Which wines did we taste?", "What allergies do I have?",
)  # fmt: skip
_COMMON = re.compile(
    r"\b(?:kids|children|sons|daughters|siblings|pets|to ?do|list|jobs|tasks|works?|lives?|family|team|people|names?|"
    r"called|left|still|hosts|rules|things)\b|(?-i:(?<=.)\b(?!I\b)[A-Z])",
    re.I,
)
"""What a list of another life may have that this one tells of, too."""
RIDGE = (10.0, 40.0)
"""How much weights are held near 0, for one answer and for several: there are few lists. Of some that were tried on
lives left out in turn, with hardly a difference."""


@dataclass(frozen=True, slots=True)
class Case:
    """An answer of the second reading: in which form, for which life, from what, and whether it was right."""

    form: str
    life: str
    several: bool
    features: tuple[float, ...]
    right: bool


@dataclass
class Recorder:
    """Stands in for `read_again` and for the chances: records what was read, and lets one form of answer through."""

    form: str
    read: dict[str, tuple[bool, tuple[float, ...]]] = field(default_factory=dict)
    """By question: whether several answers were read, and the features."""

    async def __call__(self, searcher: Any, reader: Any, question: Any, *rest: Any) -> SecondReading | None:
        found = await read_again(searcher, reader, question, *rest)
        if found is not None and self.form != SEVERAL:
            self.read[question.text] = found.several, found.features
        return found

    def told_several(self, question: Any, *rest: Any) -> tuple[float, ...]:
        features = several_features(question, *rest)
        if self.form == SEVERAL:
            self.read[question.text] = True, features
        return features

    def chance(self, form: str) -> Any:
        return lambda features, several=True: float(self.form == form)


def calibrating_lives() -> list[tuple[str, Life]]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        lives, _ = parse_lives(path.read_text("utf-8"), path.name)
        found += [(f"{path.stem}-{n}", life) for n, life in enumerate(lives)]
    return [(name, life) for name, life in found if name.split("-")[0] not in MEASURES and is_held(name)]


async def gather() -> list[Case]:
    made = []
    lists = [
        (name, question.text)
        for name, life in calibrating_lives()
        for question in life.questions
        if question.category == "list" and not _COMMON.search(question.text)
    ]
    chosen = random.Random(7)
    reading.MIN_SURE = 1.1  # every question is read twice
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for name, life in calibrating_lives():
            profile = memory.profile("lives", name)
            await ingest_life(profile, life)
            for form in (*FORMS, SEVERAL):
                recorder = Recorder(form)
                reading.read_again = recorder  # type: ignore[assignment]
                reading.several_features = recorder.told_several
                reading.chance_of_one, reading.chance_of_together, reading.chance_of_several = (
                    recorder.chance(each) for each in (*FORMS, SEVERAL)
                )
                for each in await ask_life(profile, life, name):
                    if each.answer and (found := recorder.read.get(each.question.text)):
                        made.append(Case(form, name, *found, each.verdict == "right"))
            foreign = [text for of, text in lists if of != name]
            for text in (*chosen.sample(foreign, FOREIGN_LISTS), *chosen.sample(UNTOLD, FOREIGN_LISTS)):
                await profile.recall(text, reference_date=noon(max(each.asked for each in life.questions)))
                if found := recorder.read.get(text):
                    made.append(Case(SEVERAL, name, *found, right=False))
            print(name, len(made), file=sys.stderr, flush=True)
    return made


def fit(x: Any, y: Any, ridge: float) -> Any:
    """The weights of a logistic fit over features of unit spread, for the features as they are; the last is the
    offset."""
    mean, spread = x.mean(0), x.std(0) + 1e-9
    scaled, weights = np.c_[(x - mean) / spread, np.ones(len(x))], np.zeros(x.shape[1] + 1)
    for _ in range(50):
        chances = 1 / (1 + np.exp(-scaled @ weights))
        bend = (scaled * (chances * (1 - chances))[:, None]).T @ scaled + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, scaled.T @ (chances - y) + ridge * weights)
    return np.r_[weights[:-1] / spread, weights[-1] - (weights[:-1] * mean / spread).sum()]


def report(cases: Sequence[Case]) -> None:
    ridge = RIDGE[cases[0].several and cases[0].form != SEVERAL]
    x, y = np.array([case.features for case in cases]), np.array([case.right for case in cases], float)
    lives = sorted({case.life for case in cases})
    fold_of = np.array([lives.index(case.life) % FOLDS for case in cases])
    unseen = np.zeros(len(y))
    for fold in range(FOLDS):
        held = fold_of == fold
        unseen[held] = 1 / (1 + np.exp(-np.c_[x[held], np.ones(held.sum())] @ fit(x[~held], y[~held], ridge)))
    for low in np.arange(0, 1, 0.1):
        some = (unseen >= low) & (unseen < low + 0.1)
        if some.any():
            print(f"said {low:.1f} to {low + 0.1:.1f}: {some.sum()} answers, {100 * y[some].mean():.0f} % right")
    print(tuple(round(float(each), 2) for each in fit(x, y, ridge)))


def main() -> None:
    if "--reuse" not in sys.argv:
        KEPT.write_bytes(pickle.dumps(asyncio.run(gather())))
    cases: list[Case] = pickle.loads(KEPT.read_bytes())
    for form in FORMS:
        for several in (False, True):
            some = [case for case in cases if case.form == form and case.several == several]
            print(form, "of several" if several else "of one", len(some), "answers")
            report(some)
    several = [case for case in cases if case.form == SEVERAL]
    print(SEVERAL, len(several), "answers")
    report(several)


if __name__ == "__main__":
    main()
