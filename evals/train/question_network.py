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
from reader_network import Training
from torch.nn import functional
from trunks import DEVICE, EMBEDDER_LAYERS, LAYERS, SmallTrunk, layers_of, learned_of, load_learned

CACHE = Path(__file__).resolve().parents[1] / ".cache"
EMBEDDER = CACHE / "answers" / "embedder.npz"
TEACHER = os.environ.get("TEACHER", "")
"""What another encoder learned, to begin with what it has of the same layers, and to learn its vectors."""
BATCH, EPOCHS = 256, float(os.environ.get("EPOCHS", "5"))
SECONDS = float(os.environ.get("SECONDS", "inf"))
"""How long it learns at most."""
RATE, WARMTH, KEEP, SMOOTH = float(os.environ.get("RATE", "4e-4")), 0.05, 0.3, 0.98
"""The rate of learning, the temperature of cosines, how much it costs to leave the embedder's own vector of the
question, and how slowly the mean of the weights moves that is kept. With 0.03 in place of 0.05, twice the rate, twice
the epochs, no cost of leaving, or messages of other lives among the wrong ones, nothing is found better."""
DEPTHS = (5, 8, 10)
TAUGHT_TEXTS, TAUGHT, TAUGHT_STATES, LONGEST, EXCHANGED, SHORTEST = 1024, 20.0, 5.0, 40, 0.25, 4
"""Of each step with a teacher: texts that it embeds, how much their vectors count and how much the states of all
tokens, how many tokens are read of each, the largest share that is exchanged, and the fewest tokens of a cut text.
Chosen by hand; not measured."""


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


def padded(rows: list[list[int]], size: int = 0) -> tuple[Any, Any]:
    ids, mask = (np.zeros((len(rows), size or max(map(len, rows))), np.int64) for _ in range(2))
    for n, row in enumerate(rows):
        ids[n, : len(row)], mask[n, : len(row)] = row, 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def vectors_of(trunk: SmallTrunk, ids: Any, mask: Any) -> Any:
    with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
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
            found[some] = vectors_of(trunk, *(each.to(DEVICE) for each in padded([rows[n] for n in some])))
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
        self.dice = np.random.default_rng(0)
        self.sizes = np.array([min(len(row), LONGEST) for row in rows])
        self.table = np.zeros((len(rows), LONGEST), np.int64)
        for n, row in enumerate(rows):
            self.table[n, : self.sizes[n]] = [*row[: self.sizes[n] - 1], row[-1]]
        self.words = np.concatenate([np.array(row[1:-1]) for row in rows])

    def texts(self) -> list[Any]:
        """Tokens and mask of some texts: of three, one whole, one with words exchanged, one cut."""
        dice, count = self.dice, TAUGHT_TEXTS
        some = dice.integers(len(self.table), size=count)
        ids, sizes, how = self.table[some], self.sizes[some], dice.integers(3, size=count)
        places = np.arange(LONGEST)[None]
        inside = (places > 0) & (places < sizes[:, None] - 1)
        share = (EXCHANGED * dice.random(count) * (how == 1))[:, None]
        ids = np.where(inside & (dice.random(ids.shape) < share), dice.choice(self.words, ids.shape), ids)
        long = np.where(how == 2, dice.integers(np.minimum(SHORTEST, sizes), sizes + 1), sizes)
        start = (dice.random(count) * (sizes - long + 1)).astype(int)
        ids = np.take_along_axis(ids, np.minimum(start[:, None] + places, LONGEST - 1), 1)
        ids[:, 0] = self.table[0, 0]
        ids[np.arange(count), long - 1] = self.table[0, self.sizes[0] - 1]
        mask = (places < long[:, None]).astype(np.int64)
        return [torch.from_numpy(ids * mask), torch.from_numpy(mask)]


class Lesson:
    """The loss of one step, over tensors whose shapes are the same again and again."""

    def __init__(self, net: SmallTrunk, lives: Lives, teacher: Teacher | None) -> None:
        self.net, self.lives, self.teacher = net, lives, teacher

    def loss(self, ids: Any, mask: Any, some: Any, *texts: Any) -> Any:
        value = loss(self.lives, vectors_of(self.net, ids, mask), some)
        if self.teacher is not None:
            value = value + self._apart(self.teacher.net, *texts)
        return value

    def _apart(self, teacher: SmallTrunk, ids: Any, mask: Any) -> Any:
        """How far the vectors are from the teacher's, and the states of all tokens after each layer."""
        with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
            with torch.no_grad():
                wanted = teacher.states(ids, torch.zeros_like(ids), mask)
            found = self.net.states(ids, torch.zeros_like(ids), mask)
        real, last = mask.float(), next(reversed(found))
        lost = {
            name: 1 - functional.cosine_similarity(each.float(), wanted[name].float(), dim=2)
            for name, each in found.items()
        }
        every = sum((each * real).sum() for each in lost.values()) / (real.sum() * len(lost))
        return TAUGHT * lost[last][:, 0].mean() + TAUGHT_STATES * every


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
    if TEACHER:
        load_learned(net, Path(TEACHER))
    messages = [ids for life in packed["lives"] if not is_held(life["name"]) for ids in life["messages"]]
    teacher = Teacher(Path(TEACHER), [*known.ids, *messages, *packed["taught"]]) if TEACHER else None
    learning = [each for each in net.parameters() if each.requires_grad]
    training = Training(Lesson(net, known, teacher).loss, learning, [], RATE)
    steps, step, progress = int(EPOCHS * len(known.ids) / BATCH), 0, 0.0
    longest = max(map(len, known.ids))
    mean: list[Any] = []
    net.train(teacher is None)
    while progress < 1:
        some = torch.randint(len(known.ids), (BATCH,))
        texts = teacher.texts() if teacher is not None else []
        inputs = [*padded([known.ids[n] for n in some.tolist()], longest), some, *texts]
        value = training.step(longest, inputs, min(1.0, step / 50 + 0.02) * (1 - progress))
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
