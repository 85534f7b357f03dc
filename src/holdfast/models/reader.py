"""Reads an older and a newer statement together: how likely the newer one puts the older out of date. And a sentence
with what is around it: how likely it is worth keeping, and as what.

The embedder's own layers with a small learned difference (reader.npz, `evals/train_reader.py`), run over reader.onnx,
which is the bare network: its numbers are put together here at first use.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outdated import Pair, Saying, Statement
from ..statics import weight
from ..types import Floats
from ..wordpiece import WordPiece
from . import onnxfile
from .rules.judge import Sentence
from .sessions import session_options

LAYERS, PARTS = 12, {
    "q": "attention/self/query", "k": "attention/self/key", "v": "attention/self/value",
    "o": "attention/output/dense", "up": "intermediate/dense", "down": "output/dense",
    "n1": "attention/output/LayerNorm", "n2": "output/LayerNorm",
}  # fmt: skip
"""A layer's parts, and how the embedder's file calls them."""
DENSE = ("q", "k", "v", "o", "up", "down")
EXACT = ("layers.3.down",)
"""Multiplied as floats: what goes in has outliers that eight bits do not hold."""
LEVELS = 63
"""Of a matrix's small numbers, each way. With twice as many, sums overflow on processors without VNNI."""
_OLD, _NEW, _SAID, _EARLIER, _BEFORE, _REPLY = 64, 56, 64, 40, 32, 16
_HEADS = ("p1.", "p2.", "k1.", "k2.", "mean", "spread")
_KNOWN = 0.75
"""A message of which the statement has this much is not read beside it."""


class StatementReader:
    """Made of the arctic embedder's file. Reads one at a time: padding costs more than company saves."""

    def odds(self, pair: Pair) -> float:
        """The logarithm of the odds that the new statement puts the old one out of date."""
        state = self._state(*packed(self._pieces, pair.old, pair.new, pair.said))
        return float(_head(self._heads, "p", state, pair.features, "")[0])

    def classes(self, seen: Sentence) -> Floats:
        state = self._state(*packed_sentence(self._pieces, seen.content, seen.before, seen.message, seen.reply))
        return _head(self._heads, "k", state, seen.words, "_said")

    def _state(self, ids: list[int], kinds: list[int]) -> Floats:
        scale, zero, table = self._words
        words = (table[ids].astype(np.float32) - zero) * scale
        found = self._session.run(None, {"words": words[None], "token_type_ids": np.array([kinds], np.int64)})
        return np.asarray(found[0][0])

    @cached_property
    def _pieces(self) -> WordPiece:
        return WordPiece(weight("arctic-embed-s/vocab.txt"))

    @cached_property
    def _words(self) -> tuple[Floats, Floats, NDArray[Any]]:
        return quantised(onnxfile.opened(weight("arctic-embed-s/model.onnx")), "embeddings.word_embeddings.weight")

    @cached_property
    def _heads(self) -> dict[str, NDArray[Any]]:
        return {name: values for name, values in learned().items() if name.startswith(_HEADS)}

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        values = initializers(onnxfile.opened(weight("arctic-embed-s/model.onnx")), learned())
        options = session_options()
        held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(each) for name, each in values.items()}
        options.add_external_initializers(list(held), list(held.values()))
        graph = resources.files(__package__).joinpath("reader.onnx").read_bytes()
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def learned() -> dict[str, NDArray[Any]]:
    with resources.files(__package__).joinpath("reader.npz").open("rb") as file:
        held = {name: values.astype(np.float32) for name, values in np.load(file).items()}
    return {name: values * held.get(f"{name}.scale", 1) for name, values in held.items() if not name.endswith(".scale")}


def packed(pieces: WordPiece, old: Statement, new: Statement, said: Saying) -> tuple[list[int], list[int]]:
    """What the network reads, and which part of it is new: what was said before, and the message where it says more."""
    first = [pieces.start, *pieces.ids(f"{old.kind}:"), *pieces.ids(old.text)[:_OLD], pieces.end]
    text, message = pieces.ids(new.text)[:_NEW], pieces.ids(said.message)[:_SAID]
    second = [*pieces.ids(f"{new.kind}:"), *text, pieces.end]
    held = Counter(text) & Counter(message)
    if held.total() < _KNOWN * len(message):
        second += [*message, pieces.end]
    if earlier := pieces.ids(said.before)[:_EARLIER]:
        second += [*earlier, pieces.end]
    return first + second, [0] * len(first) + [1] * len(second)


def packed_sentence(
    pieces: WordPiece, content: str, before: str, message: str, reply: str
) -> tuple[list[int], list[int]]:
    """A finding, and what is around it: the message before, its own, and the answer."""
    first = [pieces.start, *pieces.ids(content)[:_OLD], pieces.end]
    around = [pieces.ids(before)[-_BEFORE:], pieces.ids(message)[:_SAID], pieces.ids(reply)[:_REPLY]]
    second = [id for some in around for id in (*some, pieces.end)]
    return first + second, [0] * len(first) + [1] * len(second)


def _head(heads: dict[str, NDArray[Any]], name: str, state: Floats, features: NDArray[Any], of: str) -> Floats:
    shown = ((features - heads[f"mean{of}"]) / heads[f"spread{of}"]).clip(-5, 5)
    first, last = f"{name}1", f"{name}2"
    inner = heads[f"{first}.weight"] @ np.concatenate([state, shown]) + heads[f"{first}.bias"]
    return np.asarray(heads[f"{last}.weight"] @ np.maximum(inner, 0) + heads[f"{last}.bias"])


def quantised(network: onnxfile.Network, name: str) -> tuple[Floats, Floats, NDArray[Any]]:
    """Scale, zero point and the small numbers of one of the embedder's tables or matrices."""
    scale, zero = (network.tensors[f"{name}_{part}"].astype(np.float32) for part in ("scale", "zero_point"))
    return scale, zero, network.tensors[f"{name}_quantized"]


def embedders(network: onnxfile.Network) -> dict[str, Floats]:
    """The embedder's own layers as floats, matrices with a row for each output."""
    found: dict[str, Floats] = {}
    for name in ("position", "token_type"):
        scale, zero, values = quantised(network, f"embeddings.{name}_embeddings.weight")
        found[name] = (values.astype(np.float32) - zero) * scale
    for part in ("weight", "bias"):
        found[f"norm.{part}"] = network.tensors[f"embeddings.LayerNorm.{part}"]
    for layer in range(LAYERS):
        for part, called in PARTS.items():
            own = f"encoder.layer.{layer}.{called.replace('/', '.')}"
            found[f"layers.{layer}.{part}.bias"] = network.tensors[f"{own}.bias"]
            if part not in DENSE:
                found[f"layers.{layer}.{part}.weight"] = network.tensors[f"{own}.weight"]
    for name, (scale, zero, values) in matrices(network).items():
        found[name] = np.ascontiguousarray(((values.astype(np.float32) - zero) * scale).T)
    return found


def matrices(network: onnxfile.Network) -> dict[str, tuple[Floats, Floats, NDArray[Any]]]:
    """The layers' matrices in small numbers, with a column for each output."""
    kept = {
        node.name.removesuffix("/MatMul_quant"): node.inputs[1].removesuffix("_quantized")
        for node in network.nodes
        if node.operation == "MatMulInteger" and re.match(r"/encoder/layer\.\d+/", node.name)
    }
    return {
        f"layers.{layer}.{part}.weight": quantised(network, kept[f"/encoder/layer.{layer}/{PARTS[part]}"])
        for layer in range(LAYERS)
        for part in DENSE
    }


def initializers(network: onnxfile.Network, learned: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The numbers of reader.onnx by their names there: the embedder's, with what was learned on top."""
    values: dict[str, NDArray[Any]] = {}
    for name, own in embedders(network).items():
        matrix = name.removesuffix(".weight")
        if f"{matrix}.a" in learned and name != matrix:
            own = own + learned[f"{matrix}.b"] @ learned[f"{matrix}.a"]
        own = learned.get(name, own)
        if own.ndim == 1 or matrix in ("position", "token_type"):
            values[name] = np.ascontiguousarray(own, np.float32)
        elif matrix.endswith(EXACT):
            values[name] = np.ascontiguousarray(own.T, np.float32)
        else:
            scale = np.abs(own).max(1, keepdims=True) / LEVELS
            values[name] = np.ascontiguousarray(np.rint(own / scale).astype(np.int8).T)
            values[f"{matrix}.scale"] = scale[:, 0].astype(np.float32)
    return values
