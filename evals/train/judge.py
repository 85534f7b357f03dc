"""Trains the extractor's judge: `python -m evals.train.judge`. Writes src/holdfast/models/rules/judge.json.

Every finding of the rules in the annotated conversations (`training-*`, `tuning-*`, `talks-*`; never `unread*`), in
lives and in `lines-*` is one example: its class is the kind of the expected memory it states, or none. Softmax
regression with weight decay, in NumPy; cross-validated by conversation before the shipped weights are fitted on all of
them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.timestamps import parse_moment
from holdfast.domain.types import Message
from holdfast.models.rules import judge
from holdfast.models.rules.conversation import SourcedFinding, sourced_findings

from ..data import talks
from ..data.timelines import KINDS
from ..paths import EXTRACTION, PACKAGE
from .life_cases import life_cases

OUT = PACKAGE / "models" / "rules" / "judge.json"
FOLDS, STEPS, DECAY, SEEN = 4, 200, 10.0, 4
"""SEEN: in how many examples a feature must occur to be learned."""
SIGN_DECAY = 1.0
"""Weight decay of the signs of other languages: each stands for hundreds of words, of which most are in no example."""
LEAST = 6
Array = NDArray[np.float32]


@dataclass
class Example:
    features: list[str]
    label: int
    case: str
    sentence: str


def cases() -> list[dict[str, Any]]:
    files = sorted([*EXTRACTION.glob("training-*.json"), *EXTRACTION.glob("tuning-*.json")])
    written = [case for path in files for case in json.loads(path.read_text("utf-8"))["cases"]]
    return written + talks.cases()


def chatter() -> list[dict[str, Any]]:
    """`chatter-*.txt`: talk of which nothing is worth keeping, but what a message's mark gives a kind: `uf`, `ue`…"""
    made: list[dict[str, Any]] = []
    for path in sorted(EXTRACTION.glob("chatter-*.txt")):
        for row in path.read_text("utf-8").splitlines():
            if row.startswith("#"):
                made.append({"id": f"{path.stem}-{len(made)}", "messages": [], "expected": []})
            elif row.strip():
                mark, said = (each.strip() for each in row.split("|", 1))
                messages = made[-1]["messages"]
                message = {"id": f"m{len(messages)}", "session": "s", "timestamp": "2025-03-04", "content": said}
                messages.append(message | {"role": "assistant" if mark == "a" else "user"})
                if kind := KINDS.get(mark[1:]):
                    told = {"from": [message["id"]], "kind": kind, "says": [], "supersedes": None}
                    made[-1]["expected"].append(told)
    return made


def examples(case: dict[str, Any]) -> list[Example]:
    made: list[Example] = []
    for _, group in groupby(case["messages"], key=lambda message: message["session"]):
        for note in sourced_findings([message_of(message) for message in group]):
            # once more as if nobody had answered yet: memory is often written before the answer is
            for setting in dict.fromkeys((note.setting, replace(note.setting, reply=""))):
                if not is_unsure(note, case):
                    made.append(example(note, setting, case))
    return made


def example(note: SourcedFinding, setting: judge.SentenceContext, case: dict[str, Any]) -> Example:
    label = judge.CLASSES.index(_kind(note, case["expected"]))
    return Example(judge.features(note.found, setting), label, case["id"], setting.sentence)


def lines() -> Iterator[tuple[str, str, str]]:
    """`lines-*.json`: a name, a message of one sentence, and the kind of what it says, or none."""
    for path in sorted(EXTRACTION.glob("lines-*.json")):
        for n, line in enumerate(json.loads(path.read_text("utf-8"))["lines"]):
            yield f"{path.stem}-{n}", line["text"], line["kind"]


def one_liners() -> list[Example]:
    made: list[Example] = []
    at = datetime(2025, 3, 4, tzinfo=UTC)
    for name, text, kind in lines():
        label = judge.CLASSES.index(kind)
        for note in sourced_findings([Message("m", "s", "user", text, at, None, at)]):
            made.append(Example(judge.features(note.found, note.setting), label, name, note.setting.sentence))
    return made


def message_of(given: dict[str, Any]) -> Message:
    at = parse_moment(given["timestamp"], "timestamp")
    return Message(given["id"], given["session"], given["role"], given["content"], at, given.get("speaker"), at)


def _kind(note: SourcedFinding, expected: list[dict[str, Any]]) -> str:
    kinds = stated_kinds(note, [item for item in expected if states(note, item)])
    return note.found.kind if note.found.kind in kinds else kinds[0] if kinds else "none"


def stated_kinds(note: SourcedFinding, items: list[dict[str, Any]]) -> list[str]:
    """The kinds of the items that a note states; where an annotation has none, what the present weights give."""
    given = [item["kind"] for item in items]
    if None not in given:
        return given
    present = judge.judged_finding(note.found, judge.readable_sentence(note.found, note.setting)).kind
    return [kind or present for kind in given]


def is_unsure(note: SourcedFinding, case: dict[str, Any]) -> bool:
    """Whether the annotation does not tell if a finding is worth keeping."""
    unsure = case.get("unsure", ())
    return note.sources[-1] in unsure and not any(states(note, item) for item in case["expected"])


def states(note: SourcedFinding, item: dict[str, Any]) -> bool:
    """Whether the note says what is expected."""
    content = note.found.content.casefold()
    return bool(set(item["from"]) & set(note.sources)) and all(has(content, each) for each in item["says"])


def has(text: str, one_of: str) -> bool:
    return any(word.casefold() in text for word in one_of.split("|"))


def fold_of(name: str) -> int:
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % FOLDS


def fit(rows: list[Example]) -> tuple[list[str], Array, Array]:
    """(features, weights by feature and class, bias), by Adam on all rows at once."""
    counts = Counter(feature for row in rows for feature in set(row.features))
    names = sorted(feature for feature, count in counts.items() if count >= SEEN)
    seen = FeatureMatrix(rows, names)
    right = np.eye(len(judge.CLASSES), dtype=np.float32)[[row.label for row in rows]]
    weights = np.zeros((len(names), len(judge.CLASSES)), np.float32)
    bias = np.log(right.mean(0) + 1e-3).astype(np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    decay = np.array([SIGN_DECAY if name.startswith(judge.SIGN_PREFIX) else DECAY for name in names])
    for step in range(1, STEPS + 1):
        wrong = class_chances(seen.totals(weights) + bias) - right
        pull = np.asarray((seen.pulls(wrong) + decay[:, None] * weights) / len(rows), np.float32)
        mean, square = 0.9 * mean + 0.1 * pull, 0.99 * square + 0.01 * pull**2
        rate = 0.03 * (1 - step / (STEPS + 1))
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-6)
        bias -= 0.3 * wrong.mean(0)
    return names, weights, bias


class FeatureMatrix:
    """What each row has of the named features, as numbers in one long line."""

    def __init__(self, rows: list[Example], names: list[str]) -> None:
        place = {name: i for i, name in enumerate(names)}
        had = [sorted({place[feature] for feature in row.features if feature in place}) for row in rows]
        self._row = np.repeat(np.arange(len(rows)), [len(each) for each in had])
        self._feature = np.array([feature for each in had for feature in each], np.int64)
        self._rows, self._named = len(rows), len(names)

    def totals(self, weights: Array) -> Array:
        """Of each row and class."""
        return _summed(self._row, weights[self._feature], self._rows)

    def pulls(self, wrong: Array) -> Array:
        """Of each feature and class."""
        return _summed(self._feature, wrong[self._row], self._named)


def _summed(where: NDArray[np.int64], values: Array, size: int) -> Array:
    return np.stack([np.bincount(where, column, size) for column in values.T], axis=1).astype(np.float32)


def class_chances(totals: Array) -> Array:
    powers = np.exp(totals - totals.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True), np.float32)


def cross_validated(rows: list[Example]) -> Array:
    """Each row's class chances by weights that have not seen its conversation."""
    chances = np.zeros((len(rows), len(judge.CLASSES)), np.float32)
    folds = np.array([fold_of(row.case) for row in rows])
    for fold in range(FOLDS):
        names, weights, bias = fit([row for row, n in zip(rows, folds, strict=True) if n != fold])
        mine = [row for row, n in zip(rows, folds, strict=True) if n == fold]
        chances[folds == fold] = class_chances(FeatureMatrix(mine, names).totals(weights) + bias)
    return chances


def report(rows: list[Example], chances: Array, quiet: dict[str, int]) -> str:
    """`quiet`: conversation that should leave nothing → how many messages it has."""
    label = np.array([row.label for row in rows])
    kept, right = 1 - chances[:, 0], label > 0
    calm = np.array([row.case in quiet for row in rows])
    lines = [f"{len(rows)} findings, {right.sum()} worth keeping"]
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        told = kept >= least
        precision, recall = right[told].mean(), right[told].sum() / right.sum()
        noise = {(row.case, row.sentence) for row, passed in zip(rows, told & calm, strict=True) if passed}
        chatter = len(noise) / sum(quiet.values())
        lines.append(f"at {least}: precision {precision:.2f}, recall {recall:.2f}, per chit-chat message {chatter:.3f}")
    kinds = chances[:, 1:].argmax(1) + 1
    lines.append(f"kind {np.mean(kinds[right] == label[right]):.3f}")
    return "\n".join(lines)


def shipped_weights(rows: list[Example]) -> dict[str, Any]:
    """The weights of all rows, as whole numbers of hundredths; those that hardly matter are left out."""
    names, weights, bias = fit(rows)
    whole = {n: np.rint(w * judge.WEIGHT_SCALE).astype(int).tolist() for n, w in zip(names, weights, strict=True)}
    return {
        "bias": bias.astype(float).round(3).tolist(),
        "weights": {n: w for n, w in whole.items() if max(map(abs, w)) >= LEAST},
    }


def main() -> None:
    annotated = [*cases(), *chatter(), *life_cases()]
    rows = [row for case in annotated for row in examples(case)] + one_liners()
    quiet = {case["id"]: len(case["messages"]) for case in annotated if not case["expected"]}
    print(report(rows, cross_validated(rows), quiet))
    OUT.write_text(json.dumps(shipped_weights(rows), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(f"wrote {OUT.name}: {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
