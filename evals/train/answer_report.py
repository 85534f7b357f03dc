"""How well a trained reader of answers does on lives it never saw, and how its sureness becomes a chance."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.models.answer_reader import KINDS, answer_features, whole_words
from holdfast.models.answer_spans import TokenSpan
from holdfast.recall.answer.statements import sentence_span

from ..data.life import Question
from ..measure.lives import VERDICTS, judge
from ..paths import CACHE
from .life_split import MEASURES

HERE = CACHE / "answers"
CALIBRATES, HELD = "calibrates", "held"
READ_TOKENS = int(os.environ.get("READ_TOKENS", "160"))
COMPUTED = ("when", "long", "count")
"""Categories whose answers are computed from the words that the reader finds."""


@dataclass(frozen=True, slots=True)
class Row:
    use: str
    category: str
    answered: bool
    features: Any
    verdict: str


def rows(found: Path) -> list[Row]:
    with gzip.open(HERE / "lives.json.gz", "rt") as file:
        lives = {life["name"]: life for life in json.load(file)}
    asked = {(life["name"], question["text"]): question for life in lives.values() for question in life["questions"]}
    made = []
    for each in json.loads((found / f"read-{READ_TOKENS}.json").read_text()):
        question = asked[each["life"], each["question"]]
        spans = [TokenSpan(*span) for span in each["spans"]]
        listed = [TokenSpan(*span) for span in each["listed"]]
        kind, features = answer_features(np.log(np.maximum(each["chances"], 1e-5)), spans, listed)
        chosen = listed if KINDS[kind] == "list" and listed else spans[:1]
        verdict = _verdict(question, lives[each["life"]], KINDS[kind], chosen)
        use = HELD if each["life"].split("-")[0] in MEASURES else CALIBRATES
        made.append(Row(use, question["category"], KINDS[kind] != "none", features, verdict))
    return made


def _verdict(packed: dict[str, Any], life: dict[str, Any], kind: str, spans: list[TokenSpan]) -> str:
    """Judges what the product makes of the spans: their sentences, or what is computed from them."""
    told = tuple(packed["told"])
    question = Question(packed["category"], packed["text"], packed["answer"], told, (), date.min)
    if kind == "none":
        return judge(question, "")
    words, sentences = zip(*(_words_and_sentence(life, span) for span in spans), strict=True)
    if kind in ("yes", "no"):
        return judge(question, f"{kind}: {sentences[0]}")
    if question.category in COMPUTED:
        has = all(any(each in mine or mine in each for mine in words) for each in told)
        return "right" if has else "wrong"
    return judge(question, "; ".join(sentences if len(set(sentences)) == 1 else words))


def _words_and_sentence(life: dict[str, Any], span: TokenSpan) -> tuple[str, str]:
    text, places = life["texts"][span.passage], life["words"][span.passage]
    start, stop = whole_words(text, places[span.first][0], places[span.last][1])
    first, last = sentence_span(text, start, stop)
    return text[start:stop], text[first:last]


def calibration(found: Path) -> Any:
    """Weights of answer_features that give the chance of an answer to be right: a logistic fit."""
    mine = [row for row in rows(found) if row.use == CALIBRATES and row.answered]
    x, y = np.array([row.features for row in mine]), np.array([row.verdict == "right" for row in mine], float)
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (chances - y) + 0.3 * weights
        bend = (x * (chances * (1 - chances))[:, None]).T @ x + 0.3 * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights.astype(np.float32)


def report(found: Path) -> None:
    """Counts right, wrong and empty answers by the least chance to answer with; and how many of a chance are right."""
    weights = calibration(found)
    for name in (CALIBRATES, HELD):
        mine = [row for row in rows(found) if row.use == name]
        if not mine:
            continue
        chances = [1 / (1 + np.exp(-row.features @ weights)) if row.answered else 0.0 for row in mine]
        print(name, len(mine), "questions")
        for least in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            count = Counter[str]()
            for row, chance in zip(mine, chances, strict=True):
                empty = "rightly empty" if row.category == "never" else "wrongly empty"
                count[row.verdict if chance >= least else empty] += 1
            shares = ", ".join(f"{verdict} {100 * count[verdict] / len(mine):.1f}" for verdict in VERDICTS)
            print(
                f"at {least}: {shares}; right in all {100 * (count['right'] + count['rightly empty']) / len(mine):.1f}"
            )
        for low in np.arange(0, 1, 0.2):
            some = [
                row for row, chance in zip(mine, chances, strict=True) if low <= chance < low + 0.2 and row.answered
            ]
            if some:
                share = np.mean([row.verdict == "right" for row in some])
                print(f"said {low:.1f} to {low + 0.2:.1f}: {len(some)} answers, {100 * share:.0f} % right")
