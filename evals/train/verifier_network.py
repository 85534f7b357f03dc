"""The network of holdfast/models/verifier.py in PyTorch and its training on a GPU, with nothing else installed:

    python evals/train/verifier_network.py FOLDER

It reads evals/.cache/verifier, which `python -m evals.train.verifier pack` writes. The shipped reader of answers marks
the likeliest words of messages that answer nothing; the verifier learns to tell them from the words that answer. It
leaves in FOLDER what was learned and what it says of the lives held back, beside what the reader says of them.
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
from answer_network import AnswerNet, arrays
from life_split import EVERYDAY, is_held
from reader_network import Training
from torch import nn
from torch.nn import functional
from trunks import DEVICE, DROP, SmallTrunk, layers_of, learned_of, load_learned

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "holdfast" / "models"))
from answer_spans import best_spans

CACHE = Path(__file__).resolve().parents[1] / ".cache"
HERE = CACHE / "verifier"
EMBEDDER = HERE / "embedder.npz"
MODELS = Path(__file__).resolve().parents[2] / "src" / "holdfast" / "models"
SHIPPED = MODELS / "answer_reader.npz"
LAYERS = [int(each) for each in os.environ.get("LAYERS", "6").split(",")]
"""How many of the embedder's layers it has; each number is trained into a folder of its own."""
HIDDEN, OPEN, CLOSE = 128, 1031, 1033
NEAR, READ_TOKENS, FOUND = 6, 192, 24
WRONG = 3
"""Of each question in a round, how many messages that answer nothing are learned."""
BATCH, SIZES = 256, (64, 96, 128, 160)
EPOCHS = float(os.environ.get("EPOCHS", "5"))
SECONDS = float(os.environ.get("SECONDS", "inf"))
RATE_SHARE, SMOOTH = float(os.environ.get("RATE_SHARE", "0.7")), 0.995
Row = tuple[list[int], int, tuple[int, int]]


class Verifier(nn.Module):
    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        self.v1, self.v2 = nn.Linear(2 * trunk.width, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, ids: Any, kinds: Any, mask: Any, span: Any) -> Any:
        x = self.trunk(ids, kinds, mask).float()
        with torch.autocast(DEVICE, enabled=False):
            marked = (x * span[..., None]).sum(1) / span.sum(1, keepdim=True).clamp(min=1)
            state = functional.dropout(torch.cat([x[:, 0], marked], 1), DROP, self.training)
            return self.v2(functional.relu(self.v1(state)))[:, 0]


def marked_row(life: dict[str, Any], question: dict[str, Any], n: int, first: int, last: int) -> Row:
    """The question, the end of the message before, and the message with the words in brackets."""
    ids, end = list(question["ids"]), question["ids"][-1]
    start = len(ids)
    if life["before"][n]:
        ids += [*life["before"][n], end]
    passage = life["passages"][n]
    at = len(ids) + first
    ids += [*passage[:first], OPEN, *passage[first : last + 1], CLOSE, *passage[last + 1 :], end]
    return ids, start, (at + 1, at + 2 + last - first)


def tensors(rows: list[Row], size: int = 0) -> list[Any]:
    long = size or max(len(ids) for ids, *_ in rows)
    ids, kinds, mask = (np.zeros((len(rows), long), np.int64) for _ in range(3))
    span = np.zeros((len(rows), long), np.float32)
    for n, (each, first, (a, b)) in enumerate(rows):
        ids[n, : len(each)], kinds[n, first : len(each)], mask[n, : len(each)], span[n, a:b] = each, 1, 1, 1
    return [torch.from_numpy(each) for each in (ids, kinds, mask, span)]


def embedded(trunk: Any, rows: list[list[int]]) -> Any:
    found = torch.zeros(len(rows), 384, device=DEVICE)
    order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
    for start in range(0, len(order), 1024):
        some = order[start : start + 1024]
        long = max(len(rows[n]) for n in some)
        ids, mask = np.zeros((len(some), long), np.int64), np.zeros((len(some), long), np.int64)
        for row, n in enumerate(some):
            ids[row, : len(rows[n])], mask[row, : len(rows[n])] = rows[n], 1
        given = [torch.from_numpy(each).to(DEVICE) for each in (ids, np.zeros_like(ids), mask)]
        with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
            found[some] = functional.normalize(trunk(*given)[:, 0].float(), dim=1)
    return found


def rank(lives: list[dict[str, Any]]) -> None:
    """Adds to each question its life's passages, the nearest first."""
    plain = SmallTrunk(EMBEDDER, range(12)).to(DEVICE).eval()
    asking = SmallTrunk(EMBEDDER, layers_of(np.load(MODELS / "question_encoder.npz").files)).to(DEVICE).eval()
    load_learned(asking, MODELS / "question_encoder.npz")
    passages = embedded(plain, [ids[:256] for life in lives for ids in life["plain"]])
    asked = embedded(asking, [q["plain"][:64] for life in lives for q in life["questions"]])
    p = q = 0
    for life in lives:
        count, many = len(life["plain"]), len(life["questions"])
        order = (asked[q : q + many] @ passages[p : p + count].T).argsort(1, descending=True)[:, :FOUND].tolist()
        for question, ranked in zip(life["questions"], order, strict=True):
            question["ranked"] = ranked
        p, q = p + count, q + many


def read_rows(net: AnswerNet, rows: list[tuple[list[int], int, list[tuple[int, int]]]], size: int) -> Any:
    """Kinds and the best span of each passage that is read."""
    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
    found: list[Any] = [None] * len(rows)
    for start in range(0, len(order), size):
        some = order[start : start + size]
        given = arrays([(rows[n][0], rows[n][1], [], rows[n][2]) for n in some])
        with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
            kinds, spans = net(*(each.to(DEVICE) for each in given))
        kinds, spans = kinds.float().cpu().numpy(), spans.float().cpu().numpy()
        for row, n in enumerate(some):
            found[n] = kinds[row], best_spans(spans[row], rows[n][2], len(rows[n][0]))
    return found


def mark_wrong(net: AnswerNet, lives: list[dict[str, Any]]) -> None:
    """Adds to each question the near messages that answer nothing, each with the words that the reader marks in it."""
    rows, owners = [], []
    for life in lives:
        for q in life["questions"]:
            q["wrong"], right = [], {n for n, *_ in q["spans"]}
            apart = right | set(q["unsure"]) | (set() if q["kind"] == 0 else set(q["near"]))
            some = [n for n in dict.fromkeys([*(q["near"] if q["kind"] == 0 else ()), *q["ranked"]]) if n not in apart]
            for n in some[:NEAR]:
                ids = [*q["ids"], *life["passages"][n], q["ids"][-1]]
                rows.append((ids, len(q["ids"]), [(n, len(q["ids"]))]))
                owners.append(q)
    for q, (_, spans) in zip(owners, read_rows(net, rows, 512), strict=True):
        if spans:
            q["wrong"].append([spans[0].passage, spans[0].first, spans[0].last])


def read_held(net: AnswerNet, lives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the reader says of each question, with the nearest messages that fit."""
    rows, owners = [], []
    for life in lives:
        for q in life["questions"]:
            ids, room, chosen = list(q["ids"]), READ_TOKENS - len(q["ids"]), []
            for n in q["ranked"]:
                if len(life["passages"][n]) + 1 <= room:
                    chosen.append(n)
                    room -= len(life["passages"][n]) + 1
            places = []
            for n in sorted(chosen):
                places.append((n, len(ids)))
                ids += [*life["passages"][n], q["ids"][-1]]
            rows.append((ids, len(q["ids"]), places))
            owners.append((life, q))
    found = []
    for (life, q), (kinds, spans) in zip(owners, read_rows(net, rows, 128), strict=True):
        for place, each in enumerate(spans[:3]):
            right = any(n == each.passage and a <= each.last and each.first <= b for n, a, b in q["spans"])
            found.append({"life": life, "question": q, "place": place, "kinds": kinds.tolist(),
                          "span": each, "right": right})  # fmt: skip
    return found


def loss(net: Verifier, ids: Any, kinds: Any, mask: Any, span: Any, goal: Any) -> Any:
    with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
        odds = net(ids, kinds, mask, span)
    return functional.binary_cross_entropy_with_logits(odds, 0.02 + 0.96 * goal)


def samples(lives: list[dict[str, Any]], dice: random.Random) -> list[tuple[Row, float]]:
    found = []
    for life in lives:
        everyday = life["name"].split("-")[0] in EVERYDAY
        for q in life["questions"]:
            if not everyday and dice.random() < 0.5:
                continue
            right = dice.sample(q["spans"], min(len(q["spans"]), 2))
            wrong = dice.sample(q["wrong"][:4], min(len(q["wrong"][:4]), 2)) + dice.sample(
                q["wrong"][4:], min(len(q["wrong"][4:]), WRONG - 2)
            )
            for some, goal in ((right, 1.0), (wrong, 0.0)):
                for n, a, b in some:
                    row = marked_row(life, q, n, a, b)
                    if len(row[0]) <= SIZES[-1]:
                        found.append((row, goal))
    return found


def area(scores: Any, right: Any) -> float:
    order = np.argsort(scores)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    positive = right.sum()
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * (len(right) - positive)))


def told(net: Verifier, held: list[dict[str, Any]]) -> list[float]:
    net.eval()
    rows = [marked_row(e["life"], e["question"], e["span"].passage, e["span"].first, e["span"].last) for e in held]
    found = [0.0] * len(rows)
    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
    for start in range(0, len(order), 256):
        some = order[start : start + 256]
        with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
            odds = net(*(each.to(DEVICE) for each in tensors([rows[n] for n in some]))).float().tolist()
        for n, each in zip(some, odds, strict=True):
            found[n] = each
    return found


def report(net: Verifier, held: list[dict[str, Any]]) -> list[float]:
    odds = told(net, held)
    kinds = np.array([e["kinds"] for e in held])
    reader = -(kinds[:, 0] - np.logaddexp.reduce(kinds[:, 1:], axis=1))
    right = np.array([e["right"] for e in held])
    for name, chosen in (("first", [0]), ("second and third", [1, 2])):
        some = np.array([e["place"] in chosen for e in held])
        told_ = np.array(odds)[some]
        print(
            name,
            f"reader {area(reader[some], right[some]):.3f} verifier {area(told_, right[some]):.3f}",
            *(f"+{w} {area(reader[some] + w * told_, right[some]):.3f}" for w in (0.3, 0.6, 1.0, 1.5)),
            flush=True,
        )
    return odds


def fit(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    began = time.time()
    with gzip.open(HERE / "lives.json.gz", "rt") as file:
        lives = json.load(file)
    if limit := int(os.environ.get("LIMIT", "0")):
        lives = lives[:: len(lives) // limit]
    rank(lives)
    print("ranked", f"{time.time() - began:.0f} s", flush=True)
    reader = AnswerNet(SmallTrunk(EMBEDDER, layers_of(np.load(SHIPPED).files))).to(DEVICE).eval()
    load_learned(reader, SHIPPED)
    mark_wrong(reader, lives)
    known = [life for life in lives if not is_held(life["name"])]
    held = read_held(reader, [life for life in lives if is_held(life["name"])])
    print("read", f"{time.time() - began:.0f} s", len(held), flush=True)
    for layers in LAYERS:
        learn(out / str(layers), layers, known, held)


def learn(out: Path, layers: int, known: list[dict[str, Any]], held: list[dict[str, Any]]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    dice = random.Random(0)
    net = Verifier(SmallTrunk(EMBEDDER, range(layers))).to(DEVICE)
    load_learned(net, SHIPPED, ("layers", "norm", "token_type"))
    named = [(name, value) for name, value in net.named_parameters() if value.requires_grad]
    heads = [value for name, value in named if name.startswith(("v1", "v2"))]
    body = [value for name, value in named if not name.startswith(("v1", "v2"))]
    training = Training(partial(loss, net), body, heads, net.trunk.rate)
    count = len(samples(known, random.Random(1)))
    steps, step, shown = int(EPOCHS * count / BATCH), 0, torch.zeros((), device=DEVICE)
    print(count, "samples", steps, "steps", flush=True)
    tracked, mean, progress, start = training.learning, list[Any](), 0.0, time.time()
    while progress < 1:
        net.train()
        pool = samples(known, dice)
        dice.shuffle(pool)
        made = []
        for at in range(0, len(pool), BATCH * 16):
            part = sorted(pool[at : at + BATCH * 16], key=lambda each: len(each[0][0]))
            made += [part[n : n + BATCH] for n in range(0, len(part) - BATCH + 1, BATCH)]
        dice.shuffle(made)
        for batch in made:
            if (progress := max(step / steps, (time.time() - start) / SECONDS)) >= 1:
                break
            size = next(each for each in SIZES if each >= max(len(row[0]) for row, _ in batch))
            given = [*tensors([row for row, _ in batch], size), torch.tensor([goal for _, goal in batch])]
            value = training.step(size, given, RATE_SHARE * min(1.0, 20 * progress + 0.01) * (1 - progress))
            if progress >= 0.5:
                with torch.no_grad():
                    mean = mean or [each.detach().clone() for each in tracked]
                    torch._foreach_lerp_(mean, [each.detach() for each in tracked], 1 - SMOOTH)
            step += 1
            shown = shown + (value - shown) / min(step, 100)
            if step % 500 == 0:
                print(step, steps, round(float(shown), 4), f"{time.time() - start:.0f} s", flush=True)
        print(out.name, "learning", end=" ")
        report(net, held)
    with torch.no_grad():
        for mine, better in zip(tracked, mean, strict=True):
            mine.copy_(better)
    odds = report(net, held)
    np.savez(out / "learned.npz", **learned_of(net))
    rows = [
        {"life": e["life"]["name"], "category": e["question"]["category"], "place": e["place"], "kinds": e["kinds"],
         "log_chance": e["span"].log_chance, "inside": e["span"].inside, "right": e["right"], "odds": odds[n]}
        for n, e in enumerate(held)
    ]  # fmt: skip
    (out / "held.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    fit(Path(sys.argv[1]))
