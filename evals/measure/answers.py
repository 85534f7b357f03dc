"""When to answer at all: `python -m evals.measure.answers`. Writes docs/results/answers.md.

Measures recall/answer/support.py. Questions that a conversation answers, against: its unanswerable ones (a false
premise, or something that was never said), the same with the named speaker swapped for another, and questions about
other conversations. It fits support.CALIBRATED on our own conversations and LongMemEval-dev, cross-validated by
conversation, and prints the weights; LoCoMo is only measured.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.models import Embedder
from holdfast.domain.timestamps import parse_moment
from holdfast.models.local import ArcticEmbedder, PotionEmbedder
from holdfast.recall.answer import support
from holdfast.recall.answer.support import MIN_SUPPORT as SUPPORTED
from holdfast.recall.question.analysis import analysed_question

from ..data import benchmarks
from ..paths import RESULTS
from ..profiles import CACHE, cached_embedder, filled_profile, open_memory
from . import cited_answers

OUT = RESULTS / "answers.md"
Array = NDArray[np.float64]
FOLDS = 6
ELSEWHERE, SWAPPED = "about something else", "about another person"
WEIGHT = {"answerable": 1.0, "unanswerable": 4.0, SWAPPED: 0.5, ELSEWHERE: 1.0}
"""How much a question counts in the fit: unanswerable ones are few and real, the others are made."""


@dataclass
class Asking:
    set: str
    kind: str
    group: str
    signs: dict[str, float]
    fitting: float = 1.0
    """What the best statement leaves of a chance: see support.fitting."""
    sure: float = 1.0

    def __post_init__(self) -> None:
        self.sure = self.fitting


def with_others(case: benchmarks.Case, cases: list[benchmarks.Case]) -> list[tuple[benchmarks.Question, str]]:
    """The case's questions with their kinds, and for our own conversations the made ones."""
    asked = [(q, "answerable" if q.scored else "unanswerable") for q in case.questions]
    if case.set != "own":
        return asked
    noise = random.Random(case.id)
    others = [q for other in cases if other.id != case.id for q in other.questions if q.scored]
    asked += [(q, ELSEWHERE) for q in noise.sample(others, 10)]
    people = sorted({m["speaker"] for s in case.sessions for m in s["messages"] if m.get("speaker")})
    for question in case.questions:
        named = [p for p in people if re.search(rf"\b{re.escape(p)}\b", question.text)]
        if question.scored and len(named) == 1 and len(people) > 1:
            other = noise.choice([p for p in people if p != named[0]])
            text = re.sub(rf"\b{re.escape(named[0])}\b", other, question.text)
            asked.append((benchmarks.Question(f"{question.id}~", text, "", (), "", question.asked_at, False), SWAPPED))
    return asked


async def gather_questions(embedder: Embedder, cases: list[benchmarks.Case]) -> list[Asking]:
    """Every question with its signs; `--reuse` takes those of the last run."""
    kept = CACHE / f"asked-{embedder.model.replace('/', '_')}.pickle"
    if kept.exists() and "--reuse" in sys.argv:
        held: list[Asking] = pickle.loads(kept.read_bytes())
        return held
    made = []
    async with open_memory(cached_embedder(embedder)) as memory:
        for n, case in enumerate(cases):
            print(f"\r{case.set} {n + 1}/{len(cases)} {case.id:40}", end="", file=sys.stderr, flush=True)
            profile, _ = await filled_profile(memory, case)
            for question, kind in with_others(case, [c for c in cases if c.set == "own"]):
                at = question.asked_at or case.sessions[-1]["date"]
                hits = await profile.search(question.text, limit=support.MAX_JUDGED, reference_date=at)
                group = case.id if case.set != "s48" else question.id
                if hits:
                    asked = analysed_question(question.text, parse_moment(at, "asked_at"))
                    made.append(
                        Asking(case.set, kind, group, support.signs(asked, hits), support.share_left_by_fit(hits))
                    )
            await memory.delete_profile(case.set, case.id)
    print(file=sys.stderr)
    kept.write_bytes(pickle.dumps(made))
    return made


def fit_weights(rows: list[Asking], names: Sequence[str]) -> Array:
    """Logistic regression by Newton's method: a weight for each sign and an offset."""
    inputs = np.array([_inputs(row, names) for row in rows])
    right = np.array([float(row.kind == "answerable") for row in rows])
    counts = np.array([WEIGHT[row.kind] for row in rows])
    weights = np.zeros(len(names) + 1)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        curve = (inputs.T * (counts * chance * (1 - chance))) @ inputs + 0.02 * np.eye(len(weights))
        weights += np.linalg.solve(curve, inputs.T @ (counts * (right - chance)) - 0.02 * weights)
    return weights


def _inputs(row: Asking, names: Sequence[str]) -> list[float]:
    return [*(row.signs[name] for name in names), 1.0]


def fit(rows: list[Asking], names: Sequence[str], against: Sequence[str]) -> Array:
    """The weights that tell answerable questions from these kinds; fitted on all that may train.

    Each row's support is multiplied by its chance under weights that have not seen its conversation.
    """
    mine = [row for row in rows if row.set != "locomo"]
    groups = sorted({row.group for row in mine})
    random.Random(3).shuffle(groups)
    for fold in range(FOLDS):
        held = set(groups[fold::FOLDS])
        seen = [row for row in mine if row.group not in held]
        _judge([r for r in mine if r.group in held], names, fit_weights(_among(seen, against), names))
    weights = fit_weights(_among(mine, against), names)
    _judge([row for row in rows if row.set == "locomo"], names, weights)
    return weights


def _among(rows: list[Asking], against: Sequence[str]) -> list[Asking]:
    """Off-topic questions were made for our own conversations alone, so only these are set against them."""
    own = ELSEWHERE in against
    return [row for row in rows if row.kind in (*against, "answerable") and not (own and row.set != "own")]


def _judge(rows: list[Asking], names: Sequence[str], weights: Array) -> None:
    for row in rows:
        row.sure *= float(1 / (1 + np.exp(-(np.array(_inputs(row, names)) @ weights))))


def auroc(scores: Array, right: NDArray[np.bool_]) -> float:
    """The chance that a right one scores above a wrong one."""
    above = scores[right][:, None] - scores[~right][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def lines(name: str, rows: list[Asking]) -> list[str]:
    said = []
    for title, sets, kind in (
        ("LongMemEval-dev s48, abstention", ("s48",), "unanswerable"),
        ("LoCoMo-dev, adversarial", ("locomo",), "unanswerable"),
        ("own, unanswerable", ("own",), "unanswerable"),
        ("**the three together**", ("s48", "locomo", "own"), "unanswerable"),
        ("own, speaker swapped", ("own",), SWAPPED),
        ("own, " + ELSEWHERE, ("own",), ELSEWHERE),
    ):
        mine = [row for row in rows if row.set in sets and row.kind in ("answerable", kind)]
        right = np.array([row.kind == "answerable" for row in mine])
        sure = np.array([row.sure for row in mine])
        given = [f"{100 * float((sure[which] >= SUPPORTED).mean()):.0f} %" for which in (right, ~right)]
        said.append(f"| {name} | {title} | {(~right).sum()} | {auroc(sure, right):.2f} | {given[0]} | {given[1]} |")
    return said


def both_fitted(rows: list[Asking], without: str) -> list[list[float]]:
    made = []
    for names, against in ((support.ABOUT, (ELSEWHERE,)), (support.RIGHT_ONE, ("unanswerable", SWAPPED))):
        made.append(fit(rows, [name for name in names if name != without], against).round(2).tolist())
    return made


async def main() -> None:
    table = [
        "| embedder | questions nothing answers | n | AUROC | answerable ones: answered | these: answered |",
        "|---|---|---|---|---|---|",
    ]
    cases = benchmarks.own() + benchmarks.longmemeval_s48() + benchmarks.locomo()
    for embedder in (ArcticEmbedder(), PotionEmbedder()):
        rows = await gather_questions(embedder, cases)
        print(embedder.model, both_fitted(rows, ""), "in use", support.CALIBRATED[embedder.model])
        table += lines(embedder.model, rows)
    for row in rows:
        row.sure = row.fitting
    print("by words", both_fitted(rows, "cosine"), "in use", support.UNCALIBRATED)
    text = f"""# When Holdfast answers

Written by `python -m evals.measure.answers`. This measures support: how surely hits are about a
question. With an embedder that brings no reader of answers, an answer is given when its support is at least
{SUPPORTED}; with the default one, the reader decides ([lives.md](lives.md)), and support is one of its signs. Questions
about something else are mostly left unanswered, and so are many that name the wrong person. A false premise told in
the conversation's very words is hardly told apart by words and vectors. Our own and LongMemEval's questions are judged
by weights that have not seen their conversation; LoCoMo trains
nothing.

{chr(10).join(table)}

## What is cited

Without a language model, default settings. Dates, durations, order and counts are computed from the cited statements.

{chr(10).join(await cited_answers.table(ArcticEmbedder()))}
"""
    OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
