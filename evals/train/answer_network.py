"""A network that reads answers in what is found, in PyTorch, and its training, with nothing else installed:

    python evals/train/answer_network.py FOLDER

It reads evals/.cache/answers, which `python -m evals.train.answers` writes, and leaves in FOLDER what was learned
and what it reads in the lives held back. On a machine without a GPU it takes hours.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from life_split import EVERYDAY, is_held
from reader_network import Training
from torch import nn
from torch.nn import functional
from trunks import DEVICE, DROP, learned_of, load_learned, make_trunk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "holdfast" / "models"))
from answer_spans import best_spans, listed_spans

HERE = Path(__file__).resolve().parents[1] / ".cache" / "answers"
HIDDEN, KINDS = 128, 5
LARGE = os.environ.get("LARGE", "") != ""
"""Whether a teacher is trained: the larger network of trunks.py."""
NONE, LIST = 0, 2
SMOOTH = 0.99
EPOCHS = float(os.environ.get("EPOCHS", "9"))
SECONDS = float(os.environ.get("SECONDS", "inf"))
"""How long it learns at most."""
START = os.environ.get("START", "")
"""What an earlier network learned, to go on from; without it, learning starts from the embedder."""
RATE_SHARE = float(os.environ.get("RATE_SHARE", "0.5"))
"""The share of the usual rate where learning goes on."""
TEACHERS = [Path(each) for each in os.environ.get("TEACHERS", "").split(",") if each]
"""What other networks learned, whose answers this one learns besides the authors'."""
TAUGHT, WARMTH = 0.5, 2.0
"""How much the teachers count, and how far their sureness of the kind is softened."""
TIMES_EVERYDAY = int(os.environ.get("TIMES_EVERYDAY", "4"))
"""How often an everyday question is learned for one of another life: those are fewer and harder."""
SEED = int(os.environ.get("SEED", "0"))
BATCH = int(os.environ.get("BATCH", "64"))
MAX_TOKENS = int(os.environ.get("MAX_TOKENS", "256"))
SIZES = (160, MAX_TOKENS)
"""The lengths that batches are padded to."""
READ_TOKENS = [int(each) for each in os.environ.get("READ_TOKENS", "160,192,224").split(",")]
"""How much is read of the lives held back: one file of results for each."""
Context = tuple[list[int], int, list[tuple[int, int]], list[tuple[int, int]]]
"""Ids, the length of the question, (start, end) of the answers' tokens, and (passage, first token) of what is read."""


class AnswerNet(nn.Module):
    """`kind` tells what sort of answer there is, `span` where each token starts, ends or is inside one."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        self.k1, self.k2 = nn.Linear(2 * trunk.width, HIDDEN), nn.Linear(HIDDEN, KINDS)
        self.span = nn.Linear(trunk.width, 3)

    def forward(self, ids: Any, kinds: Any, mask: Any) -> tuple[Any, Any]:
        x = self.trunk(ids, kinds, mask).float()
        real = mask[..., None].to(x.dtype)
        with torch.autocast(DEVICE, enabled=False):
            spans = self.span(functional.dropout(x, DROP, self.training))
            spans = spans.masked_fill((kinds == 0)[..., None] | (mask == 0)[..., None], -1e4)
            state = torch.cat([x[:, 0], (x * real).sum(1) / real.sum(1)], 1)
            kind = self.k2(functional.relu(self.k1(functional.dropout(state, DROP, self.training))))
        return kind, spans


def context(
    life: dict[str, Any], question: dict[str, Any], dice: random.Random | None, size: int = MAX_TOKENS
) -> Context:
    """What is read with a question: the passages found first, in order of time; when learning, sometimes fewer of them,
    and always those that decide."""
    ids, room = list(question["ids"]), size - len(question["ids"])
    ranked = list(question["ranked"])
    first: list[int] = []
    if dice is not None:
        if question["kind"] != NONE or dice.random() < 0.8:
            first = list(question["near"])
        ranked = [n for n in ranked if dice.random() > 0.08]
        if dice.random() < 0.3:
            ranked = ranked[: dice.randrange(len(ranked) + 1)]
        room = dice.choice((room, room, room - 128))
    chosen: list[int] = []
    for n in dict.fromkeys([*first, *ranked]):
        long = len(life["passages"][n]) + 1
        if long <= room:
            chosen.append(n)
            room -= long
    spans, places = [], []
    end = ids[-1]
    for n in sorted(chosen):
        places.append((n, len(ids)))
        spans += [(len(ids) + a, len(ids) + b) for m, a, b in question["spans"] if m == n]
        ids += [*life["passages"][n], end]
    return ids, len(question["ids"]), spans, places


def arrays(rows: list[Context], size: int = 0) -> list[Any]:
    """Ids, segment ids and mask, padded."""
    long = size or max(len(ids) for ids, *_ in rows)
    ids, kinds, mask = (np.zeros((len(rows), long), np.int64) for _ in range(3))
    for n, (each, first, _, _) in enumerate(rows):
        ids[n, : len(each)], kinds[n, first : len(each)], mask[n, : len(each)] = each, 1, 1
    return [torch.from_numpy(each) for each in (ids, kinds, mask)]


def goals(rows: list[Context], wanted: list[int], size: int) -> list[Any]:
    """The kind of each answer, and which tokens start, end and are inside one."""
    # without the passage that decides, there is no answer
    goal = [each if each == NONE or row[2] else NONE for row, each in zip(rows, wanted, strict=True)]
    marks = np.zeros((len(rows), size, 3), np.float32)
    for n, row in enumerate(rows):
        for start, end in row[2] if goal[n] != NONE else ():
            marks[n, start, 0] = marks[n, end, 1] = 1
            marks[n, start : end + 1, 2] = 1
    return [torch.tensor(goal), torch.from_numpy(marks)]


def loss(net: AnswerNet, teachers: list[AnswerNet], ids: Any, kinds: Any, mask: Any, goal: Any, marks: Any) -> Any:
    with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
        kind, spans = net(ids, kinds, mask)
    total = functional.cross_entropy(kind, goal, label_smoothing=0.02)
    told = (goal != NONE).float()
    count = told.sum().clamp(min=1)
    for side in (0, 1):
        chosen = spans[..., side].masked_fill(marks[..., side] == 0, -1e4)
        total = total + ((torch.logsumexp(spans[..., side], 1) - torch.logsumexp(chosen, 1)) * told).sum() / count
    real = ((kinds == 1) & (mask == 1)).float()
    total = total + 2 * _inside(spans, marks[..., 2], real * told[:, None])
    if not teachers:
        return total
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
        read = [teacher(ids, kinds, mask) for teacher in teachers]
    wanted = sum(functional.softmax(each / WARMTH, 1) for each, _ in read) / len(read)
    taught = -(WARMTH**2) * (wanted * functional.log_softmax(kind / WARMTH, 1)).sum(1).mean()
    sure = 1 - sum(functional.softmax(each, 1)[:, NONE] for each, _ in read) / len(read)
    for side in (0, 1):
        where = sum(functional.softmax(each[..., side], 1) for _, each in read) / len(read)
        lost = -(where * functional.log_softmax(spans[..., side], 1)).sum(1)
        taught = taught + (lost * sure).sum() / sure.sum().clamp(min=1)
    inside = sum(torch.sigmoid(each[..., 2]) for _, each in read) / len(read)
    taught = taught + 2 * _inside(spans, inside, real * sure[:, None])
    return (1 - TAUGHT) * total + TAUGHT * taught


def _inside(spans: Any, wanted: Any, counts: Any) -> Any:
    lost = functional.binary_cross_entropy_with_logits(spans[..., 2], wanted, reduction="none")
    return (lost * counts).sum() / counts.sum().clamp(min=1)


def batches(samples: list[Any], dice: random.Random) -> Any:
    """Samples of about the same length together, in a random order; the few that fill no batch are left out."""
    dice.shuffle(samples)
    made = []
    for start in range(0, len(samples), BATCH * 16):
        part = sorted(samples[start : start + BATCH * 16], key=lambda each: len(each[0][0]))
        made += [part[n : n + BATCH] for n in range(0, len(part) - BATCH + 1, BATCH)]
    dice.shuffle(made)
    return made


def fit(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    dice = random.Random(SEED)
    with gzip.open(HERE / "lives.json.gz", "rt") as file:
        lives = json.load(file)
    held = [life for life in lives if is_held(life["name"])]
    known = [life for life in lives if not is_held(life["name"])]
    pool = [(life, question) for life in known for question in life["questions"] for _ in range(_times(life["name"]))]
    limit = int(os.environ.get("LIMIT", "0"))
    if limit:
        dice.shuffle(pool)
        pool = pool[:limit]
    net = AnswerNet(make_trunk(None, HERE / "embedder.npz", LARGE)).to(DEVICE)
    if START:
        load_learned(net, Path(START))
    named = [(name, value) for name, value in net.named_parameters() if value.requires_grad]
    heads = [value for name, value in named if name.startswith(("k1", "k2", "span"))]
    body = [value for name, value in named if not name.startswith(("k1", "k2", "span"))]
    training = Training(partial(loss, net, [_teacher(path) for path in TEACHERS]), body, heads, net.trunk.rate)
    steps, step, began = int(EPOCHS * len(pool) / BATCH), 0, time.time()
    tracked, mean = training.learning, list[Any]()
    shown = torch.zeros((), device=DEVICE)
    net.train()
    print(len(pool), "questions", steps, "steps", flush=True)
    progress = 0.0
    while progress < 1:
        samples = [(context(life, question, dice), question["kind"]) for life, question in pool]
        for batch in batches(samples, dice):
            if (progress := max(step / steps, (time.time() - began) / SECONDS)) >= 1:
                break
            share = (RATE_SHARE if START else 1) * min(1.0, 20 * progress + 0.01) * (1 - progress)
            rows, wanted = [row for row, _ in batch], [kind for _, kind in batch]
            size = next(each for each in SIZES if each >= max(len(ids) for ids, *_ in rows))
            value = training.step(size, [*arrays(rows, size), *goals(rows, wanted, size)], share)
            if progress >= 0.5:
                with torch.no_grad():
                    mean = mean or [each.detach().clone() for each in tracked]
                    torch._foreach_lerp_(mean, [each.detach() for each in tracked], 1 - SMOOTH)
            step += 1
            shown = shown + (value - shown) / min(step, 100)
            if step % 250 == 0:
                print(out.name, step, steps, round(float(shown), 3), f"{time.time() - began:.0f} s", flush=True)
    with torch.no_grad():
        for mine, better in zip(tracked, mean, strict=True):
            mine.copy_(better)
    np.savez(out / "learned.npz", **learned_of(net))
    for size in READ_TOKENS:
        (out / f"read-{size}.json").write_text(json.dumps(read(net, held, size)))


def _times(life: str) -> int:
    """How often a question of the life is learned in a round."""
    return TIMES_EVERYDAY if life.split("-")[0] in EVERYDAY else 1


def _teacher(path: Path) -> AnswerNet:
    net = AnswerNet(make_trunk(path, HERE / "embedder.npz", LARGE)).to(DEVICE)
    load_learned(net, path)
    return net.eval().requires_grad_(False)


def read(net: AnswerNet, lives: list[Any], size: int) -> list[dict[str, Any]]:
    """What the network says of each question of these lives, with what is found for it."""
    net.eval()
    rows = [(life, q, context(life, q, None, size)) for life in lives for q in life["questions"]]
    found = []
    with torch.no_grad():
        for start in range(0, len(rows), 32):
            some = rows[start : start + 32]
            with torch.autocast(DEVICE, torch.bfloat16):
                kinds, spans = net(*(each.to(DEVICE) for each in arrays([row for _, _, row in some])))
            for n, (life, question, row) in enumerate(some):
                chances = torch.softmax(kinds[n].float(), 0).tolist()
                logits = spans[n].float().cpu().numpy()
                found.append({
                    "life": life["name"], "question": question["text"], "category": question["category"],
                    "answer": question["answer"], "chances": [round(each, 4) for each in chances],
                    "spans": best_spans(logits, row[3], len(row[0]))[:6],
                    "listed": listed_spans(logits, row[3], len(row[0])), "has": bool(row[2]),
                })  # fmt: skip
    return found


if __name__ == "__main__":
    fit(Path(sys.argv[1]))
