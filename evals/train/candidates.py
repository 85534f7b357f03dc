"""Fits what selects the statements that are read with a message: `python -m evals.train.candidates`.

A logistic regression over the features of the whole message and each current statement near it, on everyday lives and
every fifth of the others. Writes `message` and `message_bias` of text/supersession.json, and reports how many
of the statements that a message ends are among the first ones, on the lives that nothing learns from.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import numpy as np

from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor
from holdfast.text import supersession
from holdfast.text.supersession import ComparedStatement

from ..profiles import CachedEmbedder, cached_embedder
from .endings import NEAREST, Known, Said, said_in_case, says_what_ends
from .life_cases import life_cases
from .life_split import EVERYDAY, is_held
from .statement_pairs import Array
from .supersession import OUT

RIDGE = 5.0
"""The weight of the squared weights, chosen by hand."""
NEWTON_STEPS = 25
EVERY_OTHER = 5
"""One in so many of the lives that are not everyday ones is learned."""
Query = tuple[Array, Array]
"""The features of the statements near a message, and which of them it ends (NaN where that is doubtful)."""


async def queries(said: Sequence[Said], embedder: CachedEmbedder) -> list[Query]:
    """A query for each message before which something was current."""
    current: list[Known] = []
    found = []
    for each in said:
        vectors = np.array(await embedder.embed([known.statement.text for known in each.drafts]), float)
        if current and each.drafts:
            cosines = (np.array([known.vector for known in current]) @ vectors.T).max(1)
            near = np.argsort(-cosines, kind="stable")[:NEAREST]
            first = each.drafts[0].statement
            whole = ComparedStatement(first.kind, each.said.message, first.session_id, first.sources)
            rows = supersession.features(whole, [current[n].statement for n in near], list(cosines[near]))
            found.append((rows, np.array([says_what_ends(current[n], each) for n in near], float)))
        for known, vector in zip(each.drafts, vectors, strict=True):
            known.vector = vector
        current = [known for known in current if not known.says & each.ends] + each.drafts
    return found


def fit_weights(rows: Array, right: Array) -> tuple[Array, float]:
    """The weights and the bias of a ridge logistic regression, for features as they are."""
    rows, right = rows[~np.isnan(right)], right[~np.isnan(right)]
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    inputs = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    penalty = np.diag([RIDGE] * rows.shape[1] + [1e-6])
    weights = np.zeros(inputs.shape[1])
    for _ in range(NEWTON_STEPS):
        odds = 1 / (1 + np.exp(-(inputs @ weights)))
        slope = inputs.T @ (right - odds) - penalty @ weights
        bend = (inputs * (odds * (1 - odds))[:, None]).T @ inputs + penalty
        weights += np.linalg.solve(bend, slope)
    return weights[:-1] / spread, float(weights[-1] - (mean / spread) @ weights[:-1])


def share_among(some: Sequence[Query], weights: Array, first: int) -> float:
    """How many of the ended statements are among the first ones of their message."""
    hits = [right[np.argsort(-(rows @ weights), kind="stable")[:first]] for rows, right in some]
    return float(sum(np.nansum(each) for each in hits) / sum(np.nansum(right) for _, right in some))


def _is_everyday(name: str) -> bool:
    return name.split("-")[0] in EVERYDAY


async def main() -> None:
    embedder = cached_embedder(ArcticEmbedder())
    extractor = RuleExtractor(embedder)
    cases = {case["id"].removeprefix("lives-"): case for case in life_cases()}
    learnt = [
        name for n, name in enumerate(cases) if not is_held(name) and (_is_everyday(name) or n % EVERY_OTHER == 0)
    ]
    held = [name for name in cases if is_held(name) and _is_everyday(name)]
    some, others = list[Query](), list[Query]()
    for names, found in ((learnt, some), (held, others)):
        for name in names:
            found += await queries(await said_in_case(cases[name], extractor), embedder)
    weights, bias = fit_weights(np.vstack([rows for rows, _ in some]), np.concatenate([right for _, right in some]))
    for first in (3, 8, 12):
        print(f"{share_among(others, weights, first):.3f} of what ended is among the first {first}")
    net = json.loads(OUT.read_text("utf-8"))
    net |= {"message": [float(f"{weight:.4g}") for weight in weights], "message_bias": round(bias, 4)}
    OUT.write_text(json.dumps(net, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
