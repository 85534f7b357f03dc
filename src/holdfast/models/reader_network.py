"""The embedder's own layers with a small learned difference: the network of the readers.

`NAME.npz` has the difference and what a reader's heads learned, `NAME.onnx` the network without its weights, which are
assembled here at first use.
"""

from __future__ import annotations

import re
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats
from holdfast.models import onnx_file
from holdfast.models.local import session_options
from holdfast.text.static_vectors import weights_path
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


class ReaderNetwork:
    """The network of one reader. It reads one text at a time: padding costs more than batches save."""

    def __init__(self, name: str) -> None:
        self._name = name

    def output(self, ids: list[int], kinds: list[int]) -> Floats:
        """The state of the whole text, or of each token, as the reader's file has it; `kinds` are segment ids."""
        scale, zero, table = self._words
        words = (table[ids].astype(np.float32) - zero) * scale
        found = self._session.run(None, {"words": words[None], "token_type_ids": np.array([kinds], np.int64)})
        return np.asarray(found[0][0])

    @cached_property
    def pieces(self) -> WordPiece:
        return WordPiece(weights_path("arctic-embed-s/vocab.txt"))

    @cached_property
    def learned(self) -> dict[str, NDArray[Any]]:
        return load_learned_weights(self._name)

    @cached_property
    def _words(self) -> tuple[Floats, Floats, NDArray[Any]]:
        return quantised_tensor(
            onnx_file.load_network(weights_path("arctic-embed-s/model.onnx")), "embeddings.word_embeddings.weight"
        )

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        values = reader_weights(onnx_file.load_network(weights_path("arctic-embed-s/model.onnx")), self.learned)
        options = session_options()
        tensors = {name: onnxruntime.OrtValue.ortvalue_from_numpy(each) for name, each in values.items()}
        options.add_external_initializers(list(tensors), list(tensors.values()))
        graph = resources.files(__package__).joinpath(f"{self._name}.onnx").read_bytes()
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def load_learned_weights(name: str) -> dict[str, NDArray[Any]]:
    with resources.files(__package__).joinpath(f"{name}.npz").open("rb") as file:
        stored = {name: values.astype(np.float32) for name, values in np.load(file).items()}
    return {
        name: values * stored.get(f"{name}.scale", 1) for name, values in stored.items() if not name.endswith(".scale")
    }


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
    """The weights of a reader's network by their names in its file: the embedder's plus the learned difference."""
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
