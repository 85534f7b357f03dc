"""Trains the statement reader (holdfast/models/statement_reader.py) on endings and on sentences in context. In steps:

python -m evals.train.reader pack [file …]      what there is to learn from as numbers, into evals/.cache/reader; or the
                                                endings of these files of lives, beside what is packed
python evals/train/reader_network.py FOLDER     on a GPU, with PyTorch alone
python -m evals.train.reader report FOLDER      what it says of talks it never saw, and how to weigh it
python -m evals.train.reader build FOLDER       writes reader.npz and, with the package `onnx`, reader.onnx
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.ingest.reconcile.endings import MIN_CANDIDATE_LOG_ODDS
from holdfast.models import onnx_file, reader_network, statement_reader
from holdfast.models.local import ArcticEmbedder
from holdfast.text.statement_parts import MAX_PART_LOG_ODDS_GAP, MIN_PART_LOG_ODDS
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

from ..paths import CACHE
from ..profiles import cached_embedder
from .endings import packed_lives, packed_talks
from .sentences import sentences

HERE = CACHE / "reader"
HEADS, WIDTH = 12, 384


# pack


async def pack(names: list[str]) -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    pieces, embedder = WordPiece(weights_path("arctic-embed-s/vocab.txt")), cached_embedder(ArcticEmbedder())
    held: list[dict[str, Any]] = []
    if names:
        prefixes = tuple(f"lives-{name}-" for name in names)
        held = [talk for talk in _kept("endings") if not talk["name"].startswith(prefixes)]
    else:
        _keep("said", sentences(pieces))
        held = [talk async for talk in packed_talks(pieces, embedder)]
        network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
        np.savez_compressed(HERE / "embedder.npz", **small_numbers(network))
    held += [talk async for talk in packed_lives(pieces, embedder, names)]
    _keep("endings", [talk for talk in held if talk["queries"]])
    print(f"{len(held)} talks, {sum(len(each['queries']) for each in held)} queries")


def small_numbers(network: onnx_file.OnnxNetwork) -> dict[str, Any]:
    """The embedder in the small numbers that it has: each table and matrix with its scale and zero point."""
    found: dict[str, Any] = {}
    scale, zero, table = reader_network.quantised_tensor(network, "embeddings.word_embeddings.weight")
    found |= {"table": table, "table.scale": scale, "table.zero": zero}
    small = reader_network.quantised_matrices(network)
    found |= {
        name: each.astype(np.float16)
        for name, each in reader_network.embedder_weights(network).items()
        if name not in small
    }
    for name, (scale, zero, values) in small.items():
        found |= {name: values.T, f"{name}.scale": scale[:, None], f"{name}.zero": zero[:, None]}
    return found


def _keep(name: str, held: Any) -> None:
    with gzip.open(HERE / f"{name}.json.gz", "wt") as file:
        json.dump(held, file)


def _kept(name: str) -> Any:
    with gzip.open(HERE / f"{name}.json.gz", "rt") as file:
        return json.load(file)


# report


def report(found: Path) -> None:
    """What it says of talks from which it learned nothing: how to weigh it, and what comes of that."""
    read = json.loads((found / "read.json").read_text())
    _report_endings(read["endings"])
    _report_sentences({int(n): each for n, each in read["said"].items()})


def _report_endings(talks: dict[str, list[dict[str, Any]]]) -> None:
    rows, parts, ends = [], list[tuple[list[float], list[int]]](), Counter[str]()
    for name, queries in talks.items():
        source = name.rsplit("|", 1)[1]
        for query in queries:
            candidates = query["candidates"]
            ends[source] += query["lost"] + sum(each["right"] == 1 for each in candidates)
            read = [each for each in candidates if each["odds"] >= MIN_CANDIDATE_LOG_ODDS]
            rows += [(source, e["right"], (e["read"], e["odds"], 1.0)) for e in read if e["right"] >= 0]
            told = [each["parts"] for each in candidates if each["right"] == 1]
            parts += [([odds for odds, _ in some], [right for _, right in some]) for some in told]
    source, right = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], float)
    sides = np.array([row[2] for row in rows])
    mine = np.isin(source, ("lives", "conversation"))
    weights = _weights(sides[mine], right[mine], np.ones(mine.sum()))
    print("weights", weights.round(2).tolist())
    chances = _sure(sides, weights)
    for name in sorted(ends):
        for least in (0.3, 0.4, 0.5, 0.6, 0.7):
            told = right[(source == name) & (chances >= least)]
            found_of = told.sum() / ends[name]
            print(f"{name} at {least}: precision {told.mean():.2f}, recall {found_of:.2f} of {ends[name]}")
    known = [(odds, right) for odds, right in parts if any(each >= 0 for each in right)]
    hits = [
        (odd >= min(max(MIN_PART_LOG_ODDS, max(odds) - MAX_PART_LOG_ODDS_GAP), max(odds))) == (each == 1)
        for odds, right in known
        for odd, each in zip(odds, right, strict=True)
        if each >= 0
    ]
    print(f"parts: {np.mean(hits):.3f} right of {len(hits)}")


def _report_sentences(scores: dict[int, list[float]]) -> None:
    said = _kept("said")
    mine = [n for n, each in enumerate(said) if each["source"] == "told" and n in scores]
    some = [said[n] for n in mine]
    words, read = np.array([each["words"] for each in some]), np.array([scores[n] for n in mine])
    right = np.array([bool(each["kinds"]) for each in some])
    quiet = {each["case"]: each["messages"] for each in some if each["quiet"]}
    for weights in ((1.0, 0.0), (1.0, 0.3), (1.0, 0.5), (1.0, 0.7), (1.0, 1.0), (0.7, 0.5), (0.7, 0.7), (0.5, 0.5)):
        totals = weights[0] * words + weights[1] * read
        chances = np.exp(totals - np.logaddexp.reduce(totals, axis=1, keepdims=True))
        kinds = chances[:, 1:].argmax(1) + 1
        known = np.array([kind in each["kinds"] for kind, each in zip(kinds, some, strict=True)])
        print("weights", *weights, f"kind {known[right].mean():.3f}")
        for share in (0.65, 0.7, 0.75, 0.8):
            least = np.quantile(1 - chances[right, 0], 1 - share)
            told = 1 - chances[:, 0] >= least
            calm = [each for each, kept in zip(some, told, strict=True) if kept and each["quiet"]]
            noise = {(each["case"], each["text"]) for each in calm}
            print(
                f"  recall {share} at {least:.2f}: precision {right[told].mean():.3f}, "
                f"of quiet messages {len(noise) / sum(quiet.values()):.3f}, kind {known[told & right].mean():.3f}"
            )


def _sure(sides: Any, weights: Any) -> Any:
    return 1 / (1 + np.exp(-sides @ weights))


def _weights(sides: Any, right: Any, counts: Any) -> Any:
    """Logistic regression, by Newton's steps; each row counts so much."""
    weights = np.zeros(sides.shape[1])
    for _ in range(50):
        sure = _sure(sides, weights)
        bend = (sides * (counts * sure * (1 - sure))[:, None]).T @ sides + 0.01 * np.eye(len(weights))
        weights = weights + np.linalg.solve(bend, sides.T @ (counts * (right - sure)) - 0.01 * weights)
    return weights


# build


def build(found: Path) -> None:
    """The bare network, whose numbers `holdfast.models.reader` puts in, and what was learned, in short numbers."""
    import onnx

    home = Path(statement_reader.__file__).parent
    np.savez_compressed(home / "reader.npz", **short_numbers(dict(np.load(found / "learned.npz"))))
    (home / "reader.onnx").write_bytes(network_graph(onnx, "reader").SerializeToString())
    print({path.name: path.stat().st_size for path in home.glob("reader.*")})


def short_numbers(learned: dict[str, Any]) -> dict[str, Any]:
    """The two thin matrices of each difference in eight bits, with a scale for each row; the rest in sixteen."""
    held: dict[str, Any] = {}
    for name, values in learned.items():
        if name.endswith((".a", ".b")):
            scale = np.abs(values.astype(np.float32)).max(1, keepdims=True) / 127 + 1e-9
            held |= {name: np.rint(values / scale).astype(np.int8), f"{name}.scale": scale}
        else:
            held[name] = values.astype(np.float16)
    return held


def network_graph(onnx: Any, reader: str) -> Any:
    """The network of a reader without its weights. It returns the state of each token."""
    helper, kinds, numpy_helper = onnx.helper, onnx.TensorProto, onnx.numpy_helper
    nodes: list[Any] = []
    held: list[Any] = []
    types = {np.dtype(np.float32): kinds.FLOAT, np.dtype(np.int8): kinds.INT8}
    network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
    learned = reader_network.load_learned_weights(reader)
    for name, values in reader_network.reader_weights(network, learned).items():
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
        if name.endswith(reader_network.FLOAT_MATRICES):
            return op("Add", [op("MatMul", [x, f"{name}.weight"], f"{out}.m"), f"{name}.bias"], out)
        if x not in small:
            small[x] = (f"{x}.q", f"{x}.s", f"{x}.z")
            nodes.append(helper.make_node("DynamicQuantizeLinear", [x], list(small[x])))
        values, scale, zero = small[x]
        whole = op("MatMulInteger", [values, f"{name}.weight", zero], f"{out}.i")
        back = op("Mul", [scale, f"{name}.scale"], f"{out}.s")
        product = op("Mul", [op("Cast", [whole], f"{out}.f", to=kinds.FLOAT), back], f"{out}.m")
        return op("Add", [product, f"{name}.bias"], out)

    const("first", np.array([0], np.int64))
    const("second", np.array([1], np.int64))
    const("third", np.array([2], np.int64))
    const("apart", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    const("together", np.array([0, 0, WIDTH], np.int64))
    const("scale", np.float32((WIDTH // HEADS) ** -0.5))
    long = op("Slice", [op("Shape", ["token_type_ids"], "shape"), "second", "third", "first"], "long")
    places = op("Slice", ["position", "first", long, "first"], "places")
    marks = op("Gather", ["token_type", "token_type_ids"], "marks")
    x = norm(op("Add", [op("Add", ["words", places], "placed"), marks], "begun"), "norm", "x0")
    for n in reader_network.layer_numbers(learned):
        name = f"layers.{n}"
        split = {}
        for part in ("q", "k", "v"):
            rows = op("Reshape", [dense(x, f"{name}.{part}", f"{part}{n}"), "apart"], f"{part}{n}.r")
            split[part] = op("Transpose", [rows], f"{part}{n}.t", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
        likeness = op("Mul", [op("MatMul", [split["q"], split["k"]], f"like{n}"), "scale"], f"scaled{n}")
        seen = op("MatMul", [op("Softmax", [likeness], f"soft{n}", axis=-1), split["v"]], f"seen{n}")
        flat = op("Reshape", [op("Transpose", [seen], f"back{n}", perm=[0, 2, 1, 3]), "together"], f"flat{n}")
        y = norm(op("Add", [x, dense(flat, f"{name}.o", f"o{n}")], f"sum{n}"), f"{name}.n1", f"y{n}")
        gelu = op("Gelu", [dense(y, f"{name}.up", f"up{n}")], f"gelu{n}", domain="com.microsoft")
        x = norm(op("Add", [y, dense(gelu, f"{name}.down", f"down{n}")], f"all{n}"), f"{name}.n2", f"x{n + 1}")
    inputs = [
        helper.make_tensor_value_info("words", kinds.FLOAT, ["b", "l", WIDTH]),
        helper.make_tensor_value_info("token_type_ids", kinds.INT64, ["b", "l"]),
    ]
    outputs = [helper.make_tensor_value_info(x, kinds.FLOAT, ["b", "l", WIDTH])]
    graph = helper.make_graph(nodes, "reader", inputs, outputs, held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    step, *given = sys.argv[1:]
    if step == "pack":
        asyncio.run(pack(given))
    else:
        {"report": report, "build": build}[step](Path(*given))
