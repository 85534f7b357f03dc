"""Trains what reads an older and a newer statement together (holdfast/models/reader.py). In steps:

    python -m evals.train_reader pack               the pairs as numbers, and the embedder's, into evals/.cache/reader
    python evals/train_reader.py fit [FOLDER]       on a GPU, with PyTorch alone: every fold, and all; into FOLDER
    python -m evals.train_reader report [FOLDER]    what was found out of fold, and how to weigh it
    python -m evals.train_reader build [FOLDER]     writes reader.npz and, with the package `onnx`, reader.onnx

The embedder's six lower layers stay as they are but for a difference of low rank in each matrix, and for biases.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent / ".cache" / "reader"
RANK, LAYERS, HEADS, WIDTH, HIDDEN = 16, 6, 12, 384, 128
EPOCHS, BATCH, RATE, HEAD_RATE, DROP, SMOOTH = 3, 32, 8e-4, 1e-3, 0.1, 0.99
SHOWN = 6
"""Candidates of a query that a step looks at; the others by chance."""
DENSE = ("q", "k", "v", "o", "up", "down")
FOLDS = 4
SHARES = {"contrast": 0.5, "life": 0.2, "conversation": 0.15, "timeline": 0.15}
HELD = ("timelines-life-i", "timelines-life-j", "contrasts-held")
"""What nothing is learned from: how well it does is measured on it."""


# pack


async def pack() -> None:
    from holdfast.models import onnxfile, reader
    from holdfast.statics import weight
    from holdfast.wordpiece import WordPiece

    from .pairs import talks
    from .train_outdated import out_of_fold

    HERE.mkdir(parents=True, exist_ok=True)
    some = [talk async for talk in talks() if talk.queries]
    odds = out_of_fold([talk for talk in some if talk.source != "as written"])
    pieces = WordPiece(weight("arctic-embed-s/vocab.txt"))
    held = []
    for talk in some:
        queries = []
        for query in talk.queries:
            new = talk.told[query.new]
            packed = [reader.packed(pieces, talk.told[n].statement, new.statement, new.said) for n in query.known]
            queries.append({
                "ids": [ids for ids, _ in packed],
                "old": [kinds.count(0) for _, kinds in packed],
                "right": [None if np.isnan(each) else int(each) for each in query.right],
                "features": query.features.round(4).tolist(),
                "odds": odds.get((talk.name, query.new), np.zeros(0)).round(4).tolist(),
                "texts": [talk.told[n].statement.text for n in query.known] + [new.statement.text],
            })  # fmt: skip
        held.append(
            {"name": talk.name, "source": talk.source, "fold": talk.fold, "changes": talk.changes, "queries": queries}
        )
    with gzip.open(HERE / "pairs.json.gz", "wt") as file:
        json.dump(held, file)
    network = onnxfile.opened(weight("arctic-embed-s/model.onnx"))
    scale, zero, table = reader.quantised(network, "embeddings.word_embeddings.weight")
    own = {name: values.astype(np.float16) for name, values in reader.embedders(network).items()}
    np.savez(HERE / "embedder.npz", table=table, scale=scale, zero=zero, **own)
    print(len(held), "talks", sum(len(each["queries"]) for each in held), "queries")


def pairs() -> list[dict[str, Any]]:
    with gzip.open(HERE / "pairs.json.gz", "rt") as file:
        held: list[dict[str, Any]] = json.load(file)
    return held


# fit


def fit(out: Path) -> None:
    """Each fold in a process of its own: the network is too small to fill a GPU."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = [subprocess.Popen([sys.executable, __file__, "fold", str(fold), str(out)]) for fold in (-1, *range(FOLDS))]
    failed = [job.args for job in jobs if job.wait()]
    if failed:
        raise SystemExit(f"failed: {failed}")


def fold(number: int, out: Path, limit: float = 3600.0, start: Path | None = None) -> None:
    """Trains without one fold, or with all (-1), for so many seconds at most; goes on from what was learned before."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(2)
    torch.set_float32_matmul_precision("high")
    dice = random.Random(0)
    talks = pairs()
    known = [talk for talk in talks if talk["fold"] != number and not talk["name"].startswith(HELD)]
    by_source = {
        name: [query for talk in known if talk["source"] == name for query in talk["queries"]] for name in SHARES
    }
    features = np.vstack([query["features"] for some in by_source.values() for query in some])
    scaling = features.mean(0), features.std(0) + 1e-6
    net = _network(features.shape[1])
    if start is not None:
        before = dict(np.load(start))
        scaling = before.pop("mean"), before.pop("spread")
        net.load_state_dict({name: torch.tensor(values) for name, values in before.items()}, strict=False)
    steps = int(EPOCHS * len(features) / 8 / BATCH)
    heads = [value for name, value in net.named_parameters() if name.startswith("p") and value.requires_grad]
    body = [value for name, value in net.named_parameters() if not name.startswith("p") and value.requires_grad]
    rates = [{"params": body, "rate": RATE}, {"params": heads, "rate": HEAD_RATE}]
    steady = torch.optim.AdamW(rates, lr=0.0, weight_decay=0.01, fused=torch.cuda.is_available())
    tracked, mean = [*body, *heads], None
    began = time.time()
    step, progress = 0, 0.0
    while progress < 1:
        share = min(1.0, 10 * progress + 0.01) * (1 - progress)
        for group in steady.param_groups:
            group["lr"] = group["rate"] * share
        chosen = dice.choices(list(SHARES), list(SHARES.values()), k=BATCH)
        loss = _loss(net, [dice.choice(by_source[source]) for source in chosen], scaling, dice)
        steady.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tracked, 1.0)
        steady.step()
        if progress >= 0.4:
            with torch.no_grad():
                now = [value.detach() for value in tracked]
                mean = [each.clone() for each in now] if mean is None else mean
                torch._foreach_lerp_(mean, now, 1 - SMOOTH)
        if step % 50 == 0:
            print(number, step, steps, round(float(loss.detach()), 3), f"{time.time() - began:.0f} s", flush=True)
        step += 1
        progress = max(step / steps, (time.time() - began) / limit)
    with torch.no_grad():
        for value, better in zip(tracked, mean or [], strict=True):
            value.copy_(better)
    net.eval()
    if number < 0:
        learned = {name: value.detach().cpu().numpy() for name, value in net.named_parameters() if value.requires_grad}
        np.savez(out / "learned.npz", mean=scaling[0], spread=scaling[1], **learned)
        return
    found = {
        f"{talk['name']}|{talk['source']}": [_scores(net, query, scaling) for query in talk["queries"]]
        for talk in talks
        if talk["fold"] == number and talk["source"] != "as written"
    }
    (out / f"fold-{number}.json").write_text(json.dumps(found))


def _network(features: int) -> Any:
    import torch
    from torch import nn
    from torch.nn import functional

    held = dict(np.load(HERE / "embedder.npz"))

    class Matrix(nn.Module):
        """One of the embedder's matrices, and what is learned on top."""

        def __init__(self, name: str) -> None:
            super().__init__()
            own = torch.tensor(held[f"{name}.weight"].astype("f4"))
            self.register_buffer("own", own)
            self.a = nn.Parameter(torch.randn(RANK, own.shape[1]) / own.shape[1] ** 0.5)
            self.b = nn.Parameter(torch.zeros(own.shape[0], RANK))
            self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

        def forward(self, x: Any) -> Any:
            return functional.linear(x, self.own, self.bias) + functional.linear(
                functional.linear(functional.dropout(x, DROP, self.training), self.a), self.b
            )

    class Norm(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(held[f"{name}.weight"].astype("f4")))
            self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

        def forward(self, x: Any) -> Any:
            return functional.layer_norm(x, (WIDTH,), self.weight, self.bias, 1e-12)

    class Layer(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            for part in DENSE:
                setattr(self, part, Matrix(f"{name}.{part}"))
            self.n1, self.n2 = Norm(f"{name}.n1"), Norm(f"{name}.n2")

        def forward(self, x: Any, mask: Any) -> Any:
            rows, long, _ = x.shape
            apart = [part(x).view(rows, long, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v)]
            seen = functional.scaled_dot_product_attention(
                *apart, attn_mask=mask, dropout_p=DROP if self.training else 0.0
            )
            x = self.n1(x + functional.dropout(self.o(seen.transpose(1, 2).reshape(x.shape)), DROP, self.training))
            return self.n2(x + functional.dropout(self.down(functional.gelu(self.up(x))), DROP, self.training))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            table = (held["table"].astype("f4") - held["zero"]) * held["scale"]
            self.register_buffer("words", torch.tensor(table, dtype=torch.float32))
            self.register_buffer("position", torch.tensor(held["position"].astype("f4")))
            self.token_type = nn.Parameter(torch.tensor(held["token_type"].astype("f4")))
            self.norm = Norm("norm")
            self.layers = nn.ModuleList(Layer(f"layers.{n}") for n in range(LAYERS))
            self.p1, self.p2 = nn.Linear(2 * WIDTH + features, HIDDEN), nn.Linear(HIDDEN, 1)
            nn.init.constant_(self.p2.bias, -2.0)

        def forward(self, ids: Any, kinds: Any, mask: Any, shown: Any) -> Any:
            x = self.norm(self.words[ids] + self.position[: ids.shape[1]] + self.token_type[kinds])
            x = functional.dropout(x, DROP, self.training)
            hidden = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask == 0, -1e4)[:, None, None]
            if torch.is_autocast_enabled():
                hidden = hidden.to(torch.bfloat16)
            for layer in self.layers:
                x = layer(x, hidden)
            real = mask[..., None].to(x.dtype)
            state = torch.cat([x[:, 0], (x * real).sum(1) / real.sum(1)], 1)
            state = functional.dropout(
                torch.cat([state, functional.dropout(shown, DROP, self.training)], 1), DROP, self.training
            )
            return self.p2(functional.dropout(functional.relu(self.p1(state)), DROP, self.training)).float()[:, 0]

    return Net().to(_device())


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _logits(net: Any, rows: list[tuple[list[int], int, list[float]]], scaling: Any, chunks: int = 1) -> Any:
    """Of pairs as ids, how many of these are old, and features; those of about one length together."""
    import torch

    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
    found = []
    for part in np.array_split(np.array(order), chunks):
        some = [rows[n] for n in part]
        long = max(len(ids) for ids, _, _ in some)
        ids, kinds, mask = (np.zeros((len(some), long), np.int64) for _ in range(3))
        for n, (each, old, _) in enumerate(some):
            ids[n, : len(each)], kinds[n, old : len(each)], mask[n, : len(each)] = each, 1, 1
        shown = ((np.array([each for _, _, each in some]) - scaling[0]) / scaling[1]).clip(-5, 5).astype("f4")
        found.append(net(*(torch.from_numpy(each).to(_device()) for each in (ids, kinds, mask, shown))))
    return torch.cat(found)[torch.tensor(np.argsort(order), device=_device())]


def _loss(net: Any, queries: list[dict[str, Any]], scaling: Any, dice: random.Random) -> Any:
    """Which candidate, or none, of each query; and each pair by itself."""
    import torch
    from torch.nn import functional

    rows, of, right = [], [], []
    for n, query in enumerate(queries):
        near = [
            i
            for i, each in enumerate(query["right"])
            if each is not None and (i < SHOWN or each or dice.random() < 0.15)
        ]
        rows += [(query["ids"][i], query["old"][i], query["features"][i]) for i in near]
        right += [bool(query["right"][i]) for i in near]
        of += [n] * len(near)
    net.train()
    with torch.autocast(_device(), torch.bfloat16, enabled=_device() == "cuda"):
        logits = _logits(net, rows, scaling, chunks=3)
    where, yes = torch.tensor(of, device=_device()), torch.tensor(right, device=_device())
    every = torch.full((len(queries), len(rows) + 1), -1e4, device=_device())
    wanted = every.clone()
    every[:, 0] = 0
    every[where, torch.arange(1, len(rows) + 1, device=_device())] = logits
    wanted[where[yes], torch.nonzero(yes)[:, 0] + 1] = logits[yes]
    without = torch.ones(len(queries), dtype=torch.bool, device=_device())
    without[where[yes]] = False
    wanted[without, 0] = 0
    listed = (torch.logsumexp(every, 1) - torch.logsumexp(wanted, 1)).mean()
    return listed + 0.5 * functional.binary_cross_entropy_with_logits(logits, yes.float())


def _scores(net: Any, query: dict[str, Any], scaling: Any) -> list[float]:
    import torch

    rows = list(zip(query["ids"], query["old"], query["features"], strict=True))
    with torch.no_grad():
        found: list[float] = _logits(net, rows, scaling).cpu().numpy().round(3).tolist()
    return found


# report


def report(found: Path) -> None:
    """What was found out of fold: how to weigh it, and what comes of that."""
    from holdfast import outdated

    scores: dict[str, list[list[float]]] = {}
    for number in range(FOLDS):
        scores |= json.loads((found / f"fold-{number}.json").read_text())
    rows, changes = [], Counter[str]()
    for talk in pairs():
        changes[talk["source"]] += talk["changes"]
        for query, read in zip(talk["queries"], scores.get(f"{talk['name']}|{talk['source']}", ()), strict=False):
            odds = np.array(query["odds"]).clip(1e-3, 1 - 1e-3)
            asked = [n for n in (-odds).argsort()[: outdated.LOOKED_AT] if odds[n] >= outdated.WORTH_A_LOOK]
            if asked:
                best, sides = outdated.sides(odds[asked], np.array(read)[asked], len(odds))
                if (right := query["right"][asked[best]]) is not None:
                    rows.append((talk["source"], talk["fold"], right, sides))
    source, number = (np.array([row[n] for row in rows]) for n in (0, 1))
    right, sides = np.array([row[2] for row in rows], float), np.array([row[3] for row in rows])
    chances = np.zeros(len(rows))
    for n in range(FOLDS):
        chances[number == n] = _sure(sides[number == n], _weights(sides[number != n], right[number != n]))
    print("weights", _weights(sides, right).round(2).tolist())
    for name in ("conversation", "timeline", "life"):
        for least in (0.4, 0.5, 0.55, 0.6, 0.7):
            told = right[(source == name) & (chances >= least)]
            found_of = told.sum() / changes[name]
            print(f"{name} at {least}: precision {told.mean():.2f}, recall {found_of:.2f} of {changes[name]}")


def _sure(sides: Any, weights: Any) -> Any:
    return 1 / (1 + np.exp(-sides @ weights))


def _weights(sides: Any, right: Any) -> Any:
    """Logistic regression, by Newton's steps."""
    weights = np.zeros(sides.shape[1])
    for _ in range(50):
        sure = _sure(sides, weights)
        bend = (sides * (sure * (1 - sure))[:, None]).T @ sides + 0.01 * np.eye(len(weights))
        weights = weights + np.linalg.solve(bend, sides.T @ (right - sure) - 0.01 * weights)
    return weights


# build


def build(found: Path) -> None:
    """The bare network, whose numbers `holdfast.models.reader` puts in, and what was learned, in short numbers."""
    import onnx

    from holdfast.models import reader

    home = Path(reader.__file__).parent
    learned = {name: values.astype(np.float16) for name, values in np.load(found / "learned.npz").items()}
    np.savez_compressed(home / "reader.npz", **learned)
    (home / "reader.onnx").write_bytes(_graph(onnx, reader).SerializeToString())
    print({path.name: path.stat().st_size for path in home.glob("reader.*")})


def _graph(onnx: Any, reader: Any) -> Any:
    from holdfast.models import onnxfile
    from holdfast.statics import weight

    helper, kinds, numpy_helper = onnx.helper, onnx.TensorProto, onnx.numpy_helper
    nodes: list[Any] = []
    held: list[Any] = []
    types = {np.dtype(np.float32): kinds.FLOAT, np.dtype(np.uint8): kinds.UINT8}
    learned = {
        name: values.astype(np.float32)
        for name, values in np.load(Path(reader.__file__).with_name("reader.npz")).items()
    }
    for name, values in reader.initializers(onnxfile.opened(weight("arctic-embed-s/model.onnx")), learned).items():
        tensor = onnx.TensorProto(name=name, data_type=types[values.dtype], dims=values.shape)
        tensor.data_location = kinds.EXTERNAL
        tensor.external_data.add(key="location", value="none")
        held.append(tensor)

    def const(name: str, value: Any) -> str:
        held.append(numpy_helper.from_array(np.array(value), name))
        return name

    def op(kind: str, inputs: list[str], out: str, **more: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [out], name=f"{out}/{kind}", **more))
        return out

    def norm(x: str, name: str, out: str) -> str:
        return op("LayerNormalization", [x, f"{name}.weight", f"{name}.bias"], out, axis=-1, epsilon=1e-12)

    small: dict[str, tuple[str, str, str]] = {}

    def dense(x: str, name: str, out: str) -> str:
        if name.endswith(reader.EXACT):
            return op("Add", [op("MatMul", [x, f"{name}.weight"], f"{out}.m"), f"{name}.bias"], out)
        if x not in small:
            small[x] = (f"{x}.q", f"{x}.s", f"{x}.z")
            nodes.append(helper.make_node("DynamicQuantizeLinear", [x], list(small[x])))
        values, scale, zero = small[x]
        whole = op("MatMulInteger", [values, f"{name}.weight", zero, "middle"], f"{out}.i")
        back = op("Mul", [scale, f"{name}.scale"], f"{out}.s")
        product = op("Mul", [op("Cast", [whole], f"{out}.f", to=kinds.FLOAT), back], f"{out}.m")
        return op("Add", [product, f"{name}.bias"], out)

    const("middle", np.uint8(128))
    const("first", np.array([0], np.int64))
    const("second", np.array([1], np.int64))
    const("third", np.array([2], np.int64))
    const("apart", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    const("together", np.array([0, 0, WIDTH], np.int64))
    const("scale", np.float32((WIDTH // HEADS) ** -0.5))
    const("half", np.float32(0.5))
    const("one", np.float32(1))
    const("root", np.float32(0.5**0.5))
    long = op("Slice", [op("Shape", ["token_type_ids"], "shape"), "second", "third", "first"], "long")
    places = op("Slice", ["position", "first", long, "first"], "places")
    marks = op("Gather", ["token_type", "token_type_ids"], "marks")
    x = norm(op("Add", [op("Add", ["words", places], "placed"), marks], "begun"), "norm", "x0")
    for n in range(LAYERS):
        name = f"layers.{n}"
        split = {}
        for part in ("q", "k", "v"):
            rows = op("Reshape", [dense(x, f"{name}.{part}", f"{part}{n}"), "apart"], f"{part}{n}.r")
            split[part] = op("Transpose", [rows], f"{part}{n}.t", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
        likeness = op("Mul", [op("MatMul", [split["q"], split["k"]], f"like{n}"), "scale"], f"scaled{n}")
        seen = op("MatMul", [op("Softmax", [likeness], f"soft{n}", axis=-1), split["v"]], f"seen{n}")
        flat = op("Reshape", [op("Transpose", [seen], f"back{n}", perm=[0, 2, 1, 3]), "together"], f"flat{n}")
        y = norm(op("Add", [x, dense(flat, f"{name}.o", f"o{n}")], f"sum{n}"), f"{name}.n1", f"y{n}")
        up = dense(y, f"{name}.up", f"up{n}")
        bent = op("Add", [op("Erf", [op("Mul", [up, "root"], f"root{n}")], f"erf{n}"), "one"], f"bent{n}")
        gelu = op("Mul", [op("Mul", [up, bent], f"twice{n}"), "half"], f"gelu{n}")
        x = norm(op("Add", [y, dense(gelu, f"{name}.down", f"down{n}")], f"all{n}"), f"{name}.n2", f"x{n + 1}")
    whole = op("ReduceMean", [x], "mean", axes=[1], keepdims=0)
    op("Concat", [op("Gather", [x, const("start", np.int64(0))], "cls", axis=1), whole], "state", axis=1)
    inputs = [
        helper.make_tensor_value_info("words", kinds.FLOAT, ["b", "l", WIDTH]),
        helper.make_tensor_value_info("token_type_ids", kinds.INT64, ["b", "l"]),
    ]
    outputs = [helper.make_tensor_value_info("state", kinds.FLOAT, ["b", 2 * WIDTH])]
    graph = helper.make_graph(nodes, "reader", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    step = sys.argv[1]
    if step == "pack":
        asyncio.run(pack())
    elif step == "fit":
        fit(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE)
    elif step == "fold":
        fold(int(sys.argv[2]), Path(sys.argv[3]), *map(float, sys.argv[4:5]), *map(Path, sys.argv[5:]))
    elif step == "report":
        report(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE)
    elif step == "build":
        build(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE)
