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
"""What another reader learned, of pairs or of answers, to go on from; without it, learning starts from the embedder."""
PAIRS, SENTENCES, CHUNKS = 384, 64, 3
"""Of each step; the pairs in chunks, those of about one length together."""
SIZES = (64, 96, 128, 160, 256)
"""The lengths that chunks are padded to."""
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
        hidden = hidden.to(torch.bfloat16) if torch.is_autocast_enabled(DEVICE) else hidden
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


def load_learned(net: nn.Module, path: Path, parts: tuple[str, ...] = ("",)) -> None:
    """What an earlier network learned; or some parts of it, by how their names begin."""
    held = {name: each.astype("f4") for name, each in np.load(path).items()}
    learned = dict(net.named_parameters())
    with torch.no_grad():
        for name, each in held.items():
            if name in learned and name.startswith(parts):
                learned[name].copy_(torch.tensor(each * held.get(f"{name}.scale", 1)))


class Reader:
    """The network with the means and spreads of what its heads are shown."""

    def __init__(self, pairs: Any, sentences: Any) -> None:
        self.scaling = [(each.mean(0), each.std(0) + 1e-6) for each in (pairs, sentences)]
        self.net = Net(pairs.shape[1]).to(DEVICE)

    def arrays(self, rows: list[Row], size: int = 0) -> list[Any]:
        """Ids, segment ids, mask and what the head is shown, padded."""
        long = size or max(len(ids) for ids, _, _ in rows)
        ids, kinds, mask = (np.zeros((len(rows), long), np.int64) for _ in range(3))
        for n, (each, first, _) in enumerate(rows):
            ids[n, : len(each)], kinds[n, first : len(each)], mask[n, : len(each)] = each, 1, 1
        shown = np.array([each for _, _, each in rows], np.float32)
        mean, spread = self.scaling[shown.shape[1] == CLASSES]
        shown = ((shown - mean) / spread).clip(-5, 5).astype("f4")
        return [torch.from_numpy(each) for each in (ids, kinds, mask, shown)]

    def read_all(self, rows: list[Row]) -> list[Any]:
        self.net.eval()
        found: list[Any] = []
        with torch.no_grad():
            order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
            for start in range(0, len(rows), 256):
                some = self.arrays([rows[n] for n in order[start : start + 256]])
                found += self.net(*(each.to(DEVICE) for each in some)).cpu().numpy().round(3).tolist()
        return [found[n] for n in np.argsort(order)]

    def saved(self) -> dict[str, Any]:
        learned = {
            name: value.detach().cpu().numpy().astype("f2")
            for name, value in self.net.named_parameters()
            if value.requires_grad
        }
        (mean, spread), (mean_said, spread_said) = self.scaling
        return learned | {"mean": mean, "spread": spread, "mean_said": mean_said, "spread_said": spread_said}


def pair_loss(logits: Any, of: Any, right: Any) -> Any:
    """Which candidate, or none, of each query; and each pair by itself. `of` is the query of each pair; -1 fills up."""
    mine = of[None] == torch.arange(len(of), device=of.device)[:, None]
    queries = mine.any(1).float()
    every = torch.cat([torch.zeros_like(logits)[:, None], logits[None].masked_fill(~mine, -1e4)], 1)
    wanted = logits[None].masked_fill(~(mine & right[None]), -1e4)
    none = torch.where((mine & right[None]).any(1), -1e4, 0.0)[:, None]
    listed = torch.logsumexp(every, 1) - torch.logsumexp(torch.cat([none, wanted], 1), 1)
    alone = functional.binary_cross_entropy_with_logits(logits, right.float(), reduction="none")
    real = (of >= 0).float()
    return (listed * queries).sum() / queries.sum() + 0.5 * (alone * real).sum() / real.sum()


class Lesson:
    """The loss of one step, over tensors whose shapes are the same again and again."""

    def __init__(self, reader: Reader, dice: random.Random) -> None:
        self.reader, self.dice = reader, dice

    def loss(self, of: Any, right: Any, told: Any, wanted: Any, *inputs: Any) -> Any:
        with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
            read = [self.reader.net(*inputs[n : n + 4]) for n in range(0, len(inputs), 4)]
        chances = functional.log_softmax(read[-1] + told, 1)
        return pair_loss(torch.cat(read[:-1])[:, 0], of, right) - (wanted * chances).sum(1).mean()

    def inputs(self, queries: Any, some: list[dict[str, Any]]) -> tuple[tuple[int, ...], list[Any]]:
        """The lengths that it is padded to, and the tensors; queries are taken while there is room for their pairs."""
        pairs: list[tuple[Row, int, bool]] = []
        for n, query in enumerate(queries):
            mine = [
                ((query["ids"][i], query["old"][i], query["features"][i]), n, bool(each))
                for i, each in enumerate(query["right"])
                if each is not None and (i < SHOWN or each or self.dice.random() < 0.15)
            ]
            if len(pairs) + len(mine) > PAIRS:
                break
            pairs += mine
        pairs += [(pairs[0][0], -1, False)] * (PAIRS - len(pairs))
        pairs.sort(key=lambda pair: len(pair[0][0]))
        long = PAIRS // CHUNKS
        chunks = [[each for each, _, _ in pairs[n : n + long]] for n in range(0, PAIRS, long)] + [
            [row(x) for x in some]
        ]
        sizes = tuple(next(s for s in SIZES if s >= max(len(ids) for ids, _, _ in rows)) for rows in chunks)
        wanted = np.zeros((len(some), CLASSES), np.float32)
        for n, each in enumerate(some):
            wanted[n, each["kinds"] or [0]] = 1 / max(len(each["kinds"]), 1)
        told = np.array([each["words"] for each in some], np.float32)
        found = [torch.tensor([of for _, of, _ in pairs]), torch.tensor([right for _, _, right in pairs])]
        found += [torch.from_numpy(told), torch.from_numpy(wanted)]
        for rows, size in zip(chunks, sizes, strict=True):
            found += self.reader.arrays(rows, size)
        return sizes, found


class Training:
    """Training steps. On a GPU each is captured as a graph, one for each key, that is for tensors of the same shapes:
    launching its kernels one by one takes several times as long as computing them."""

    def __init__(self, loss: Any, body: list[Any], heads: list[Any]) -> None:
        self.loss = loss
        self.learning: list[Any] = [*body, *heads]
        groups = [{"params": body, "rate": RATE}, {"params": heads, "rate": HEAD_RATE}]
        for group in groups:
            group["lr"] = torch.tensor(0.0, device=DEVICE)
        self.steady = torch.optim.AdamW(groups, weight_decay=0.01, capturable=DEVICE == "cuda")
        self.graphs: dict[Any, tuple[Any, list[Any], Any]] = {}
        self.pool = torch.cuda.graph_pool_handle() if DEVICE == "cuda" else None

    def step(self, key: Any, inputs: list[Any], share: float) -> Any:
        """Learns from one batch at a share of the rate; returns the loss."""
        for group in self.steady.param_groups:
            group["lr"].fill_(group["rate"] * share)
        if DEVICE == "cpu":
            return self._learn(inputs)
        if key not in self.graphs:
            self._capture(key, inputs)
        graph, held, value = self.graphs[key]
        for mine, new in zip(held, inputs, strict=True):
            mine.copy_(new, non_blocking=True)
        graph.replay()
        return value

    def _learn(self, inputs: list[Any]) -> Any:
        self.steady.zero_grad(set_to_none=True)
        value = self.loss(*inputs)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.learning, 1.0)
        self.steady.step()
        return value.detach()

    def _capture(self, key: Any, inputs: list[Any]) -> None:
        held = [each.to(DEVICE) for each in inputs]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._learn(held)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        self.steady.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, pool=self.pool):
            value = self._learn(held)
        self.graphs[key] = graph, held, value


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
        load_learned(reader.net, Path(START), ("layers.", "norm.", "token_type"))
    named = [(name, value) for name, value in reader.net.named_parameters() if value.requires_grad]
    heads = [value for name, value in named if name[0] in "pk" and name[1] in "12"]
    body = [value for name, value in named if not (name[0] in "pk" and name[1] in "12")]
    lesson = Lesson(reader, dice)
    training = Training(lesson.loss, body, heads)
    tracked, mean = training.learning, list[Any]()
    began, step, progress = time.time(), 0, 0.0
    shown = torch.zeros((), device=DEVICE)
    reader.net.train()
    while (progress := (time.time() - began) / SECONDS) < 1:
        step += 1
        sources = dice.choices(list(SHARES), list(SHARES.values()), k=PAIRS)
        kinds = dice.choices(list(SAID), list(SAID.values()), k=SENTENCES)
        key, inputs = lesson.inputs(
            (dice.choice(pairs[source]) for source in sources), [dice.choice(told[source]) for source in kinds]
        )
        value = training.step(key, inputs, (0.5 if START else 1) * min(1.0, 10 * progress + 0.01) * (1 - progress))
        if progress >= 0.4:
            with torch.no_grad():
                mean = mean or [each.detach().clone() for each in tracked]
                torch._foreach_lerp_(mean, [each.detach() for each in tracked], 1 - SMOOTH)
        shown = shown + (value - shown) / min(step, 100)
        if step % 250 == 0:
            print(step, round(float(shown), 3), len(training.graphs), f"{time.time() - began:.0f} s", flush=True)
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
