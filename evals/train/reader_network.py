"""The network of holdfast/models/statement_reader.py in PyTorch and its training on a GPU, with nothing else installed:

    python evals/train/reader_network.py FOLDER

It reads evals/.cache/reader, which `python -m evals.train.reader pack` writes, and leaves in FOLDER what was learned
and what it says of a tenth of the conversations, from which it learns nothing. The embedder's layers stay as they are
but for a difference of low rank in each matrix, and for biases. Two heads learn together: whether a newer statement
puts an older one (or the part of it in square brackets) out of date, and whether a sentence is worth keeping, as what.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from life_split import CALIBRATES, EVERY, is_held
from torch import nn
from torch.nn import functional

HERE = Path(__file__).resolve().parents[1] / ".cache" / "reader"
LAYERS, HEADS, WIDTH, HIDDEN, CLASSES = 12, 12, 384, 128, 5
RANK, RATE, HEAD_RATE, DROP, SMOOTH = 64, 8e-4, 1e-3, 0.1, 0.99
SECONDS = float(os.environ.get("SECONDS", "600"))
"""How long it learns."""
START = os.environ.get("START", "")
"""A `reader.npz` to go on from, with half the rate; without it, learning starts from the embedder."""
QUERIES, SENTENCES = 64, 64
"""Of each step."""
SHOWN = 6
"""Candidates of a query that a step looks at; the others by chance."""
DENSE = ("q", "k", "v", "o", "up", "down")
SHARES = {
    "contrast": 0.18, "life": 0.07, "conversation": 0.2, "timeline": 0.05, "compound": 0.04, "part": 0.12,
    "lives": 0.34,
}  # fmt: skip
SAID = {"told": 0.65, "part": 0.12, "line": 0.23}
"""Where the pairs, and the sentences, of a step come from."""
HELD = ("timelines-life-i", "timelines-life-j", "contrasts-held", "compounds-held")
"""What nothing about pairs is learned from: how well it does is measured on it."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Row = tuple[list[int], int, Any]
"""Ids, how many of them are of the first text, and what the head is shown besides."""


def load_packed(name: str) -> Any:
    with gzip.open(HERE / f"{name}.json.gz", "rt") as file:
        return json.load(file)


class Matrix(nn.Module):
    """One of the embedder's matrices, and what is learned on top."""

    def __init__(self, held: dict[str, Any], name: str) -> None:
        super().__init__()
        own = torch.tensor(values(held, f"{name}.weight"))
        self.register_buffer("own", own)
        self.a = nn.Parameter(torch.randn(RANK, own.shape[1]) / own.shape[1] ** 0.5)
        self.b = nn.Parameter(torch.zeros(own.shape[0], RANK))
        self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

    def free(self) -> None:
        """Let every weight learn."""
        own = self.own
        del self.own
        self.own = nn.Parameter(own)
        self.a = self.b = None

    def forward(self, x: Any) -> Any:
        if self.a is None:
            return functional.linear(x, self.own, self.bias)
        return functional.linear(x, self.own + self.b @ self.a, self.bias)


class Norm(nn.Module):
    def __init__(self, held: dict[str, Any], name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(held[f"{name}.weight"].astype("f4")))
        self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

    def forward(self, x: Any) -> Any:
        return functional.layer_norm(x, (WIDTH,), self.weight, self.bias, 1e-12)


class Layer(nn.Module):
    def __init__(self, held: dict[str, Any], name: str) -> None:
        super().__init__()
        for part in DENSE:
            setattr(self, part, Matrix(held, f"{name}.{part}"))
        self.n1, self.n2 = Norm(held, f"{name}.n1"), Norm(held, f"{name}.n2")

    def forward(self, x: Any, mask: Any) -> Any:
        rows, long, _ = x.shape
        apart = [part(x).view(rows, long, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v)]
        seen = functional.scaled_dot_product_attention(*apart, attn_mask=mask, dropout_p=DROP if self.training else 0.0)
        x = self.n1(x + functional.dropout(self.o(seen.transpose(1, 2).reshape(x.shape)), DROP, self.training))
        return self.n2(x + functional.dropout(self.down(functional.gelu(self.up(x))), DROP, self.training))


class Net(nn.Module):
    """p1 and p2 are the head for pairs, k1 and k2 the one for sentences."""

    def __init__(self, features: int) -> None:
        super().__init__()
        held = dict(np.load(HERE / "embedder.npz"))
        self.register_buffer("words", torch.tensor(values(held, "table")))
        self.register_buffer("position", torch.tensor(held["position"].astype("f4")))
        self.token_type = nn.Parameter(torch.tensor(held["token_type"].astype("f4")))
        self.norm = Norm(held, "norm")
        self.layers = nn.ModuleList(Layer(held, f"layers.{n}") for n in range(LAYERS))
        self.p1, self.p2 = nn.Linear(2 * WIDTH + features, HIDDEN), nn.Linear(HIDDEN, 1)
        self.k1, self.k2 = nn.Linear(2 * WIDTH + CLASSES, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        nn.init.constant_(self.p2.bias, -2.0)
        nn.init.zeros_(self.k2.bias)

    def forward(self, ids: Any, kinds: Any, mask: Any, shown: Any) -> Any:
        x = self.norm(self.words[ids] + self.position[: ids.shape[1]] + self.token_type[kinds])
        x = functional.dropout(x, DROP, self.training)
        hidden = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask == 0, -1e4)[:, None, None]
        hidden = hidden.to(torch.bfloat16) if torch.is_autocast_enabled() else hidden
        for layer in self.layers:
            x = layer(x, hidden)
        real = mask[..., None].to(x.dtype)
        state = torch.cat([x[:, 0], (x * real).sum(1) / real.sum(1)], 1)
        first, last = (self.k1, self.k2) if shown.shape[1] == CLASSES else (self.p1, self.p2)
        state = torch.cat([state, functional.dropout(shown, DROP, self.training)], 1)
        hidden = functional.relu(first(functional.dropout(state, DROP, self.training)))
        return last(functional.dropout(hidden, DROP, self.training)).float()


def values(held: dict[str, Any], name: str) -> Any:
    """A table or matrix that is kept in small numbers."""
    return ((held[name].astype("f4") - held[f"{name}.zero"]) * held[f"{name}.scale"]).astype("f4")


class Reader:
    """The network with the means and spreads of what its heads are shown."""

    def __init__(self, pairs: Any, sentences: Any) -> None:
        self.scaling = [(each.mean(0), each.std(0) + 1e-6) for each in (pairs, sentences)]
        self.net = Net(pairs.shape[1]).to(DEVICE)

    def load(self, path: Path) -> None:
        """What an earlier reader learned."""
        held = {name: values.astype("f4") for name, values in np.load(path).items()}
        held = {name: each * held.get(f"{name}.scale", 1) for name, each in held.items() if not name.endswith(".scale")}
        self.scaling = [(held["mean"], held["spread"]), (held["mean_said"], held["spread_said"])]
        learned = dict(self.net.named_parameters())
        with torch.no_grad():
            for name, values in held.items():
                if name in learned:
                    learned[name].copy_(torch.tensor(values))

    def read(self, rows: list[Row], chunks: int = 1) -> Any:
        """Of pairs or of sentences; those of about one length together."""
        order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
        found = []
        for part in np.array_split(np.array(order), min(chunks, len(rows))):
            some = [rows[n] for n in part]
            long = max(len(ids) for ids, _, _ in some)
            ids, kinds, mask = (np.zeros((len(some), long), np.int64) for _ in range(3))
            for n, (each, first, _) in enumerate(some):
                ids[n, : len(each)], kinds[n, first : len(each)], mask[n, : len(each)] = each, 1, 1
            shown = np.array([each for _, _, each in some], np.float32)
            mean, spread = self.scaling[shown.shape[1] == CLASSES]
            shown = ((shown - mean) / spread).clip(-5, 5).astype("f4")
            found.append(self.net(*(torch.from_numpy(each).to(DEVICE) for each in (ids, kinds, mask, shown))))
        return torch.cat(found)[torch.tensor(np.argsort(order), device=DEVICE)]

    def read_all(self, rows: list[Row]) -> list[Any]:
        self.net.eval()
        found: list[Any] = []
        with torch.no_grad():
            for start in range(0, len(rows), 512):
                found += self.read(rows[start : start + 512], chunks=4).cpu().numpy().round(3).tolist()
        return found

    def saved(self) -> dict[str, Any]:
        learned = {
            name: value.detach().cpu().numpy().astype("f2")
            for name, value in self.net.named_parameters()
            if value.requires_grad
        }
        (mean, spread), (mean_said, spread_said) = self.scaling
        return learned | {"mean": mean, "spread": spread, "mean_said": mean_said, "spread_said": spread_said}


def pair_loss(reader: Reader, queries: list[dict[str, Any]], dice: random.Random) -> Any:
    """Which candidate, or none, of each query; and each pair by itself."""
    rows: list[Row] = []
    of, right = [], []
    for n, query in enumerate(queries):
        for i, each in enumerate(query["right"]):
            if each is not None and (i < SHOWN or each or dice.random() < 0.15):
                rows.append((query["ids"][i], query["old"][i], query["features"][i]))
                right.append(bool(each))
                of.append(n)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        logits = reader.read(rows, chunks=2)[:, 0]
    where, yes = torch.tensor(of, device=DEVICE), torch.tensor(right, device=DEVICE)
    every = torch.full((len(queries), len(rows) + 1), -1e4, device=DEVICE)
    wanted = every.clone()
    every[:, 0] = 0
    every[where, torch.arange(1, len(rows) + 1, device=DEVICE)] = logits
    wanted[where[yes], torch.nonzero(yes)[:, 0] + 1] = logits[yes]
    without = torch.ones(len(queries), dtype=torch.bool, device=DEVICE)
    without[where[yes]] = False
    wanted[without, 0] = 0
    listed = (torch.logsumexp(every, 1) - torch.logsumexp(wanted, 1)).mean()
    return listed + 0.5 * functional.binary_cross_entropy_with_logits(logits, yes.float())


def sentence_loss(reader: Reader, some: list[dict[str, Any]]) -> Any:
    """Classes on top of what the words alone say."""
    wanted = np.zeros((len(some), CLASSES), np.float32)
    for n, each in enumerate(some):
        wanted[n, each["kinds"] or [0]] = 1 / max(len(each["kinds"]), 1)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        logits = reader.read([row(each) for each in some], chunks=2)
    told = torch.tensor(np.array([each["words"] for each in some], np.float32), device=DEVICE)
    chances = functional.log_softmax(logits + told, 1)
    return -(torch.tensor(wanted, device=DEVICE) * chances).sum(1).mean()


def row(each: dict[str, Any]) -> Row:
    return each["ids"], each["first"], each["words"]


def is_kept_apart(name: str) -> bool:
    """Whether nothing is learned from a conversation: what the network says of it tells how sure that is."""
    if name.startswith("lives-"):
        return is_held(name.removeprefix("lives-"))
    return name.startswith(HELD) or crc32(name.encode()) % EVERY == CALIBRATES


def fit(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    dice = random.Random(0)
    talks, said = load_packed("pairs"), load_packed("said")
    known = [talk for talk in talks if not is_kept_apart(talk["name"])]
    pairs = {name: [q for talk in known if talk["source"] == name for q in talk["queries"]] for name in SHARES}
    told = {
        name: [each for each in said if each["source"] == name and not is_kept_apart(each["case"])] for name in SAID
    }
    told["part"] = [each for each in told["part"] if each["kinds"]]
    features = np.vstack([np.array(query["features"], np.float32) for some in pairs.values() for query in some])
    reader = Reader(features, np.array([each["words"] for each in told["told"]], np.float32))
    if START:
        reader.load(Path(START))
    named = [(name, value) for name, value in reader.net.named_parameters() if value.requires_grad]
    heads = [value for name, value in named if name[0] in "pk" and name[1] in "12"]
    body = [value for name, value in named if not (name[0] in "pk" and name[1] in "12")]
    steady = torch.optim.AdamW(
        [{"params": body, "rate": RATE}, {"params": heads, "rate": HEAD_RATE}],
        lr=0.0,
        weight_decay=0.01,
        fused=DEVICE == "cuda",
    )
    tracked: list[Any] = [*body, *heads]
    mean: list[Any] = []
    began, step, progress = time.time(), 0, 0.0
    while (progress := (time.time() - began) / SECONDS) < 1:
        step += 1
        for group in steady.param_groups:
            group["lr"] = group["rate"] * (0.5 if START else 1) * min(1.0, 10 * progress + 0.01) * (1 - progress)
        reader.net.train()
        sources = dice.choices(list(SHARES), list(SHARES.values()), k=QUERIES)
        losses = [pair_loss(reader, [dice.choice(pairs[source]) for source in sources], dice)]
        sources = dice.choices(list(SAID), list(SAID.values()), k=SENTENCES)
        losses.append(sentence_loss(reader, [dice.choice(told[source]) for source in sources]))
        steady.zero_grad(set_to_none=True)
        sum(losses).backward()
        torch.nn.utils.clip_grad_norm_(tracked, 1.0)
        steady.step()
        if progress >= 0.4:
            with torch.no_grad():
                mean = mean or [value.detach().clone() for value in tracked]
                torch._foreach_lerp_(mean, [value.detach() for value in tracked], 1 - SMOOTH)
        if step % 50 == 0:
            shown = [round(float(loss.detach()), 3) for loss in losses]
            print(step, *shown, f"{time.time() - began:.0f} s", flush=True)
    with torch.no_grad():
        for value, better in zip(tracked, mean, strict=True):
            value.copy_(better)
    np.savez(out / "learned.npz", **reader.saved())
    (out / "read.json").write_text(json.dumps(_read(reader, talks, said)))


def _read(reader: Reader, talks: list[Any], said: list[Any]) -> dict[str, Any]:
    """What it says of that which it was not trained on."""
    apart = [talk for talk in talks if is_kept_apart(talk["name"])]
    queries = [query for talk in apart for query in talk["queries"]]
    rows = [each for q in queries for each in zip(q["ids"], q["old"], q["features"], strict=True)]
    read = iter(reader.read_all(rows))
    pairs = {
        f"{talk['name']}|{talk['source']}": [[next(read)[0] for _ in q["ids"]] for q in talk["queries"]]
        for talk in apart
    }
    mine = [n for n, each in enumerate(said) if is_kept_apart(each["case"])]
    return {"pairs": pairs, "said": dict(zip(mine, reader.read_all([row(said[n]) for n in mine]), strict=True))}


if __name__ == "__main__":
    fit(Path(sys.argv[1]))
