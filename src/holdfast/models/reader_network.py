"""The embedder's own layers with a small learned difference: the network of the readers.

`NAME.npz` has the difference and what a reader's heads learned, `NAME.onnx` the network without its weights, which are
assembled here at first use. A network may have some of the layers only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats
from holdfast.models import onnx_file
from holdfast.models.local import inference_session, session_options
from holdfast.models.network_cache import load_onnxruntime, networks
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece, load_wordpiece

EMBEDDER_FILE = "arctic-embed-s/model.onnx"
FOLDER = Path(__file__).parent
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

    def __init__(self, name: str, options: Callable[[], Any] = session_options) -> None:
        self._name, self._options = name, options

    def output(self, ids: list[int], kinds: list[int]) -> Floats:
        """The state of each token; `kinds` are segment ids."""
        scale, zero, table = self._words
        words = (table[ids].astype(np.float32) - zero) * scale
        found = self._session.run(None, {"words": words[None], "token_type_ids": np.array([kinds], np.int64)})
        return np.asarray(found[0][0])

    @cached_property
    def pieces(self) -> WordPiece:
        return load_wordpiece(weights_path("arctic-embed-s/vocab.txt"))

    @cached_property
    def learned(self) -> Mapping[str, NDArray[Any]]:
        return LearnedWeights(self._name)

    @cached_property
    def _words(self) -> tuple[Floats, Floats, NDArray[Any]]:
        return quantised_tensor(_load_embedder(), "embeddings.word_embeddings.weight")

    @cached_property
    def _session(self) -> Any:
        sources = [weights_path(EMBEDDER_FILE), FOLDER / f"{self._name}.npz", FOLDER / f"{self._name}.onnx"]
        return networks.load_session(self._name, sources, self._options, self._build)

    def _build(self, options: Any) -> Any:
        onnxruntime = load_onnxruntime()
        values = reader_weights(_load_embedder(), load_learned_weights(self._name))
        tensors = {name: onnxruntime.OrtValue.ortvalue_from_numpy(each) for name, each in values.items()}
        options.add_external_initializers(list(tensors), list(tensors.values()))
        return inference_session((FOLDER / f"{self._name}.onnx").read_bytes(), options)


def _load_embedder() -> onnx_file.OnnxNetwork:
    """The embedder's parts, which nobody keeps: they are some thousand objects that the garbage collector would look at
    again and again."""
    return onnx_file.load_network(weights_path(EMBEDDER_FILE))


class LearnedWeights(Mapping[str, NDArray[Any]]):
    """What a reader learned; each array is read when it is first asked for."""

    def __init__(self, name: str) -> None:
        self._file = np.load(FOLDER / f"{name}.npz")
        self._names = frozenset(self._file.files)
        self._arrays: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            values = self._file[name].astype(np.float32)
            scale = f"{name}.scale"
            self._arrays[name] = values * (self._file[scale].astype(np.float32) if scale in self._names else 1)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._file.files if not name.endswith(".scale"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load_learned_weights(name: str) -> dict[str, NDArray[Any]]:
    return dict(LearnedWeights(name))


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


def layer_numbers(learned: Iterable[str]) -> list[int]:
    """The numbers of the embedder's layers that a network with these weights has."""
    return sorted({int(name.split(".")[1]) for name in learned if name.startswith("layers.")})


def reader_weights(network: onnx_file.OnnxNetwork, learned: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights of a reader's network by their names in its file: the embedder's plus the learned difference."""
    values: dict[str, NDArray[Any]] = {}
    layers = layer_numbers(learned)
    for name, own in embedder_weights(network).items():
        if name.startswith("layers.") and int(name.split(".")[1]) not in layers:
            continue
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
