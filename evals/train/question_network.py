"""The network of holdfast/models/question_encoder.py in PyTorch and its training on a GPU, with nothing else installed:

    python evals/train/question_network.py FOLDER

It reads evals/.cache/questions and evals/.cache/answers/embedder.npz, which `python -m evals.train.questions pack`
writes, and leaves in FOLDER what was learned. Messages keep the vectors that the embedder gives them. Only questions
move: nearer to the messages of their life that answer them than to the others.

With TEACHER, the file of a network that learned before, a network of fewer layers learns besides to give every text the
vector that the teacher gives it: questions, messages, and both with words exchanged or cut.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from life_split import is_held
from torch.nn import functional
from trunks import DEVICE, SmallTrunk, layers_of, learned_of, load_learned

CACHE = Path(__file__).resolve().parents[1] / ".cache"
EMBEDDER = CACHE / "answers" / "embedder.npz"
EMBEDDER_LAYERS = range(12)
LAYERS = [int(each) for each in os.environ.get("LAYERS", ",".join(map(str, EMBEDDER_LAYERS))).split(",")]
"""The numbers of the embedder's layers that the network has."""
TEACHER = os.environ.get("TEACHER", "")
BATCH, EPOCHS = 256, float(os.environ.get("EPOCHS", "5"))
SECONDS = float(os.environ.get("SECONDS", "inf"))
"""How long it learns at most."""
RATE, WARMTH, KEEP, SMOOTH = float(os.environ.get("RATE", "4e-4")), 0.05, 0.3, 0.98
"""The rate of learning, the temperature of cosines, how much it costs to leave the embedder's own vector of the
question, and how slowly the mean of the weights moves that is kept. With 0.03 in place of 0.05, twice the rate, twice
the epochs, no cost of leaving, or messages of other lives among the wrong ones, nothing is found better."""
DEPTHS = (5, 8, 10)
TAUGHT_TEXTS, TAUGHT, EXCHANGED, SHORTEST = 1024, 20.0, 0.25, 4
"""Of each step with a teacher: texts that it embeds, how much it counts, the most words of a text that are exchanged,
and the fewest tokens of a cut text. Chosen by hand; not measured."""


class Lives:
    """The questions of some lives, and the vectors of their messages, one after the other."""

    def __init__(self, lives: list[dict[str, Any]], embedder: SmallTrunk, prefix: list[int]) -> None:
        self.vectors = encoded(embedder, [ids for life in lives for ids in life["messages"]])
        asked = [(n, question) for n, life in enumerate(lives) for question in life["questions"]]
        sizes = [len(life["messages"]) for life in lives]
        starts = np.cumsum([0, *sizes])
        self.ids = [question["ids"] for _, question in asked]
        self.plain = encoded(embedder, [[ids[0], *prefix, *ids[1:]] for ids in self.ids])
        self.start = torch.tensor([int(starts[n]) for n, _ in asked], device=DEVICE)
        self.size = torch.tensor([sizes[n] for n, _ in asked], device=DEVICE)
        self.right = torch.zeros(len(asked), max(sizes), dtype=torch.bool, device=DEVICE)
        for row, (_, question) in enumerate(asked):
            self.right[row, question["right"]] = True

    def cosines(self, vectors: Any, some: Any) -> Any:
        """Of each question with each message of its life; very low where there is none."""
        places = torch.arange(self.right.shape[1], device=DEVICE)[None]
        messages = self.vectors[(self.start[some, None] + places).clamp(max=len(self.vectors) - 1)]
        found = torch.einsum("qd,qmd->qm", vectors, messages)
        return found.masked_fill(places >= self.size[some, None], -1e3)


def padded(rows: list[list[int]]) -> tuple[Any, Any]:
    ids, mask = (np.zeros((len(rows), max(map(len, rows))), np.int64) for _ in range(2))
    for n, row in enumerate(rows):
        ids[n, : len(row)], mask[n, : len(row)] = row, 1
    return torch.tensor(ids, device=DEVICE), torch.tensor(mask, device=DEVICE)


def vectors_of(trunk: SmallTrunk, rows: list[list[int]]) -> Any:
    ids, mask = padded(rows)
    with torch.autocast(DEVICE, torch.bfloat16):
        states = trunk(ids, torch.zeros_like(ids), mask)
    return functional.normalize(states[:, 0].float(), dim=1)


def encoded(trunk: SmallTrunk, rows: list[list[int]]) -> Any:
    """The vectors of many texts, without learning."""
    trunk.eval()
    found = torch.zeros(len(rows), trunk.width, device=DEVICE)
    order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
    with torch.no_grad():
        for start in range(0, len(order), 512):
            some = order[start : start + 512]
            found[some] = vectors_of(trunk, [rows[n] for n in some])
    return found


def loss(lives: Lives, vectors: Any, some: Any) -> Any:
    odds = lives.cosines(vectors, some) / WARMTH
    right = torch.logsumexp(odds.masked_fill(~lives.right[some], -1e4), 1)
    moved = 1 - (vectors * lives.plain[some]).sum(1)
    return (torch.logsumexp(odds, 1) - right + KEEP * moved).mean()


def report(name: str, lives: Lives, vectors: Any) -> None:
    """Of the messages that answer, how many are among the first ones by cosine alone."""
    some = torch.arange(len(vectors), device=DEVICE)
    order = lives.cosines(vectors, some).argsort(1, descending=True)
    right = lives.right.gather(1, order).float()
    found = [float((right[:, :depth].sum(1) / right.sum(1)).mean()) for depth in DEPTHS]
    print(name, *(f"R@{depth} {100 * share:.1f}" for depth, share in zip(DEPTHS, found, strict=True)), flush=True)


class Teacher:
    """Texts of all sorts, and the vectors that a larger network gives them."""

    def __init__(self, path: Path, rows: list[list[int]]) -> None:
        self.net = SmallTrunk(EMBEDDER, layers_of(np.load(path).files)).to(DEVICE).eval().requires_grad_(False)
        load_learned(self.net, path)
        self.rows, self.dice = rows, np.random.default_rng(0)
        self.words = np.array([token for row in rows for token in row[1:-1]])

    def loss(self, net: SmallTrunk) -> Any:
        some = [self._changed(self.rows[n]) for n in self.dice.integers(len(self.rows), size=TAUGHT_TEXTS)]
        some = sorted(some, key=len)
        lost = torch.zeros((), device=DEVICE)
        for start in range(0, len(some), 256):
            part = some[start : start + 256]
            with torch.no_grad():
                wanted = vectors_of(self.net, part)
            lost = lost + (1 - (vectors_of(net, part) * wanted).sum(1)).sum()
        return TAUGHT * lost / len(some)

    def _changed(self, row: list[int]) -> list[int]:
        """A text; of three, one whole, one with some words exchanged, one cut."""
        how, middle = self.dice.integers(3), np.array(row[1:-1])
        if how == 1:
            places = self.dice.random(len(middle)) < EXCHANGED * self.dice.random()
            middle[places] = self.dice.choice(self.words, int(places.sum()))
        elif how == 2 and len(middle) > SHORTEST:
            long = int(self.dice.integers(SHORTEST, len(middle)))
            start = int(self.dice.integers(len(middle) - long))
            middle = middle[start : start + long]
        return [row[0], *middle.tolist(), row[-1]]


def fit(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    began = time.time()
    with gzip.open(CACHE / "questions" / "lives.json.gz", "rt") as file:
        packed = json.load(file)
    embedder = SmallTrunk(EMBEDDER, EMBEDDER_LAYERS).to(DEVICE)
    known, held = (
        Lives([life for life in packed["lives"] if is_held(life["name"]) == is_one], embedder, packed["prefix"])
        for is_one in (False, True)
    )
    net = SmallTrunk(EMBEDDER, LAYERS).to(DEVICE)
    messages = [ids for life in packed["lives"] if not is_held(life["name"]) for ids in life["messages"]]
    teacher = Teacher(Path(TEACHER), [*known.ids, *known.ids, *messages]) if TEACHER else None
    learning = [each for each in net.parameters() if each.requires_grad]
    steps, step, progress = int(EPOCHS * len(known.ids) / BATCH), 0, 0.0
    optimizer = torch.optim.AdamW(learning, lr=RATE, weight_decay=0.01, fused=DEVICE == "cuda")
    mean: list[Any] = []
    while progress < 1:
        net.train()
        some = torch.randint(len(known.ids), (BATCH,), device=DEVICE)
        value = loss(known, vectors_of(net, [known.ids[n] for n in some.tolist()]), some)
        if teacher is not None:
            value = value + teacher.loss(net)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, step / 50 + 0.02) * (1 - progress)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        step += 1
        progress = max(step / steps, (time.time() - began) / SECONDS)
        if progress >= 0.5:
            with torch.no_grad():
                mean = mean or [each.detach().clone() for each in learning]
                torch._foreach_lerp_(mean, [each.detach() for each in learning], 1 - SMOOTH)
        if step % 250 == 0:
            print(out.name, step, steps, round(float(value), 3), f"{time.time() - began:.0f} s", flush=True)
    with torch.no_grad():
        for mine, better in zip(learning, mean, strict=True):
            mine.copy_(better)
    report("the embedder's own", held, held.plain)
    report("learned", held, encoded(net, held.ids))
    np.savez(out / "learned.npz", **learned_of(net))


if __name__ == "__main__":
    fit(Path(sys.argv[1]))
