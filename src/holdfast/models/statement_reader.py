"""Reads two statements together (does the newer one make the older out of date?) and a sentence in its context (is it
worth keeping, and as which kind?).

It runs the embedder's own layers with a small learned difference (reader.npz, trained by `evals/train/reader.py`).
reader.onnx is the network without its weights, which are assembled here at first use.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats
from holdfast.models import onnx_file
from holdfast.models.local import session_options
from holdfast.models.rules.judge import ReadableSentence
from holdfast.text.static_vectors import weights_path
from holdfast.text.supersession import ComparedStatement, StatementPair, StatementSource
from holdfast.text.wordpiece import WordPiece

LAYERS, LAYER_PARTS = 12, {
    "q": "attention/self/query", "k": "attention/self/key", "v": "attention/self/value",
    "o": "attention/output/dense", "up": "intermediate/dense", "down": "output/dense",
    "n1": "attention/output/LayerNorm", "n2": "output/LayerNorm",
}  # fmt: skip
"""The parts of a layer, and their names in the embedder's file."""
DENSE_PARTS = ("q", "k", "v", "o", "up", "down")
FLOAT_MATRICES = ("layers.3.down",)
"""Multiplied as floats: one input unit is forty times larger than the others, which eight bits cannot represent."""
QUANTISATION_LEVELS = 63
"""Integer levels of a matrix in each direction. With twice as many, sums overflow on processors without VNNI."""
_OLD_TOKENS, _NEW_TOKENS, _MESSAGE_TOKENS, _EARLIER_TOKENS, _BEFORE_TOKENS, _REPLY_TOKENS = 64, 56, 64, 40, 32, 16
"""Maximum tokens of the old statement, the new one, its message, the text before it, the message before a sentence, the
answer to it. Chosen by hand; the weights are trained with them."""
_HEAD_PREFIXES = ("p1.", "p2.", "k1.", "k2.", "mean", "spread")
_MAX_SHARED_TOKENS = 0.75
"""A message is not read beside a statement that already contains this share of its tokens.
Chosen by hand; not measured."""


class StatementReader:
    """A reader built from the arctic embedder's file. It reads one text at a time: padding
    costs more than batches save."""

    def odds(self, pair: StatementPair) -> float:
        """The log odds that the new statement makes the old one out of date."""
        state = self._state(*encoded_pair(self._pieces, pair.old, pair.new, pair.said))
        return float(_head_output(self._heads, "p", state, pair.features, "")[0])

    def classes(self, sentence: ReadableSentence) -> Floats:
        state = self._state(
            *encoded_sentence(self._pieces, sentence.content, sentence.before, sentence.message, sentence.reply)
        )
        return _head_output(self._heads, "k", state, sentence.words, "_said")

    def _state(self, ids: list[int], kinds: list[int]) -> Floats:
        scale, zero, table = self._words
        words = (table[ids].astype(np.float32) - zero) * scale
        output = self._session.run(None, {"words": words[None], "token_type_ids": np.array([kinds], np.int64)})
        return np.asarray(output[0][0])

    @cached_property
    def _pieces(self) -> WordPiece:
        return WordPiece(weights_path("arctic-embed-s/vocab.txt"))

    @cached_property
    def _words(self) -> tuple[Floats, Floats, NDArray[Any]]:
        return quantised_tensor(
            onnx_file.load_network(weights_path("arctic-embed-s/model.onnx")), "embeddings.word_embeddings.weight"
        )

    @cached_property
    def _heads(self) -> dict[str, NDArray[Any]]:
        return {name: values for name, values in load_learned_weights().items() if name.startswith(_HEAD_PREFIXES)}

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        values = reader_weights(
            onnx_file.load_network(weights_path("arctic-embed-s/model.onnx")), load_learned_weights()
        )
        options = session_options()
        tensors = {name: onnxruntime.OrtValue.ortvalue_from_numpy(each) for name, each in values.items()}
        options.add_external_initializers(list(tensors), list(tensors.values()))
        graph = resources.files(__package__).joinpath("reader.onnx").read_bytes()
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def load_learned_weights() -> dict[str, NDArray[Any]]:
    with resources.files(__package__).joinpath("reader.npz").open("rb") as file:
        stored = {name: values.astype(np.float32) for name, values in np.load(file).items()}
    return {
        name: values * stored.get(f"{name}.scale", 1) for name, values in stored.items() if not name.endswith(".scale")
    }


def encoded_pair(
    pieces: WordPiece, old: ComparedStatement, new: ComparedStatement, said: StatementSource
) -> tuple[list[int], list[int]]:
    """Token ids and segment ids of a pair: the old statement; then the new one, its message where that says
    more, and the text before it."""
    first = [pieces.start, *pieces.ids(f"{old.kind}:"), *pieces.ids(old.text)[:_OLD_TOKENS], pieces.end]
    text, message = pieces.ids(new.text)[:_NEW_TOKENS], pieces.ids(said.message)[:_MESSAGE_TOKENS]
    second = [*pieces.ids(f"{new.kind}:"), *text, pieces.end]
    shared = Counter(text) & Counter(message)
    if shared.total() < _MAX_SHARED_TOKENS * len(message):
        second += [*message, pieces.end]
    if earlier := pieces.ids(said.before)[:_EARLIER_TOKENS]:
        second += [*earlier, pieces.end]
    return first + second, [0] * len(first) + [1] * len(second)


def encoded_sentence(
    pieces: WordPiece, content: str, before: str, message: str, reply: str
) -> tuple[list[int], list[int]]:
    """Token ids and segment ids: of a finding; then of the message before it, its own message and the answer."""
    first = [pieces.start, *pieces.ids(content)[:_OLD_TOKENS], pieces.end]
    around = [
        pieces.ids(before)[-_BEFORE_TOKENS:],
        pieces.ids(message)[:_MESSAGE_TOKENS],
        pieces.ids(reply)[:_REPLY_TOKENS],
    ]
    second = [id for some in around for id in (*some, pieces.end)]
    return first + second, [0] * len(first) + [1] * len(second)


def _head_output(heads: dict[str, NDArray[Any]], name: str, state: Floats, features: NDArray[Any], of: str) -> Floats:
    scaled = ((features - heads[f"mean{of}"]) / heads[f"spread{of}"]).clip(-5, 5)
    first, last = f"{name}1", f"{name}2"
    inner = heads[f"{first}.weight"] @ np.concatenate([state, scaled]) + heads[f"{first}.bias"]
    return np.asarray(heads[f"{last}.weight"] @ np.maximum(inner, 0) + heads[f"{last}.bias"])


def quantised_tensor(network: onnx_file.OnnxNetwork, name: str) -> tuple[Floats, Floats, NDArray[Any]]:
    """Scale, zero point and integers of one of the embedder's tables or matrices."""
    scale, zero = (network.tensors[f"{name}_{part}"].astype(np.float32) for part in ("scale", "zero_point"))
    return scale, zero, network.tensors[f"{name}_quantized"]


def embedder_weights(network: onnx_file.OnnxNetwork) -> dict[str, Floats]:
    """The embedder's own layers as floats; matrices have a row for each output."""
    weights: dict[str, Floats] = {}
    for name in ("position", "token_type"):
        scale, zero, values = quantised_tensor(network, f"embeddings.{name}_embeddings.weight")
        weights[name] = (values.astype(np.float32) - zero) * scale
    for part in ("weight", "bias"):
        weights[f"norm.{part}"] = network.tensors[f"embeddings.LayerNorm.{part}"]
    for layer in range(LAYERS):
        for part, called in LAYER_PARTS.items():
            own = f"encoder.layer.{layer}.{called.replace('/', '.')}"
            weights[f"layers.{layer}.{part}.bias"] = network.tensors[f"{own}.bias"]
            if part not in DENSE_PARTS:
                weights[f"layers.{layer}.{part}.weight"] = network.tensors[f"{own}.weight"]
    for name, (scale, zero, values) in quantised_matrices(network).items():
        weights[name] = np.ascontiguousarray(((values.astype(np.float32) - zero) * scale).T)
    return weights


def quantised_matrices(network: onnx_file.OnnxNetwork) -> dict[str, tuple[Floats, Floats, NDArray[Any]]]:
    """The layers' matrices as integers, with a column for each output."""
    weights_by_node = {
        node.name.removesuffix("/MatMul_quant"): node.inputs[1].removesuffix("_quantized")
        for node in network.nodes
        if node.operation == "MatMulInteger" and re.match(r"/encoder/layer\.\d+/", node.name)
    }
    return {
        f"layers.{layer}.{part}.weight": quantised_tensor(
            network, weights_by_node[f"/encoder/layer.{layer}/{LAYER_PARTS[part]}"]
        )
        for layer in range(LAYERS)
        for part in DENSE_PARTS
    }


def reader_weights(network: onnx_file.OnnxNetwork, learned: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights of reader.onnx by their names in that file: the embedder's plus the learned difference."""
    values: dict[str, NDArray[Any]] = {}
    for name, own in embedder_weights(network).items():
        matrix = name.removesuffix(".weight")
        if f"{matrix}.a" in learned and name != matrix:
            own = own + learned[f"{matrix}.b"] @ learned[f"{matrix}.a"]
        own = learned.get(name, own)
        if own.ndim == 1 or matrix in ("position", "token_type"):
            values[name] = np.ascontiguousarray(own, np.float32)
        elif matrix.endswith(FLOAT_MATRICES):
            values[name] = np.ascontiguousarray(own.T, np.float32)
        else:
            scale = np.abs(own).max(1, keepdims=True) / QUANTISATION_LEVELS
            values[name] = np.ascontiguousarray(np.rint(own / scale).astype(np.int8).T)
            values[f"{matrix}.scale"] = scale[:, 0].astype(np.float32)
    return values
