"""The weights of all-mpnet-base-v2 (Apache-2.0) in eight bits, for `LargeTrunk` of trunks.py:

python -m evals.train.large_trunk FOLDER     FOLDER has the model's model.safetensors

A network of that size is too dear for the product. It teaches the readers: what it reads in a lesson is what they learn
besides the authors' answers. Written in several files, as what is sent to a machine with a GPU is limited in size.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..paths import CACHE

HERE = CACHE / "large"
FILES = 5
_NAMES = {
    "attention.attn.q": "q", "attention.attn.k": "k", "attention.attn.v": "v", "attention.attn.o": "o",
    "attention.LayerNorm": "n1", "intermediate.dense": "up", "output.dense": "down", "output.LayerNorm": "n2",
}  # fmt: skip


def pack(model: Path) -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    held: dict[str, Any] = {}
    for name, value in _tensors(model / "model.safetensors"):
        if short := _short(name):
            held |= _small(short, value)
    sizes, shelves = [0] * FILES, [dict[str, Any]() for _ in range(FILES)]
    for name, value in sorted(held.items(), key=lambda each: -each[1].nbytes):
        least = sizes.index(min(sizes))
        shelves[least][name] = value
        sizes[least] += value.nbytes
    for n, some in enumerate(shelves):
        np.savez(HERE / f"part-{n}.npz", **some)
    print(len(held), "tensors", sizes)


def _tensors(path: Path) -> list[tuple[str, Any]]:
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = {name: each for name, each in json.loads(raw[8 : 8 + size]).items() if name != "__metadata__"}
    return [
        (name, np.frombuffer(raw[8 + size :][slice(*each["data_offsets"])], np.float32).reshape(each["shape"]))
        for name, each in header.items()
        if each["dtype"] == "F32"
    ]


def _short(name: str) -> str | None:
    fixed = {
        "embeddings.word_embeddings.weight": "words",
        "embeddings.position_embeddings.weight": "position",
        "embeddings.LayerNorm.weight": "norm.weight",
        "embeddings.LayerNorm.bias": "norm.bias",
        "encoder.relative_attention_bias.weight": "near",
    }
    if name in fixed or not name.startswith("encoder.layer."):
        return fixed.get(name)
    number, part = name.removeprefix("encoder.layer.").split(".", 1)
    part, kind = part.rsplit(".", 1)
    return f"layers.{number}.{_NAMES[part]}.{kind}"


def _small(name: str, value: Any) -> dict[str, Any]:
    """A matrix in eight bits with a scale for each row, anything else in sixteen."""
    if value.ndim < 2 or name in ("position", "near"):
        return {name: value.astype(np.float16)}
    scale = np.abs(value).max(1, keepdims=True) / 127 + 1e-9
    return {name: np.rint(value / scale).astype(np.int8), f"{name}.scale": scale.astype(np.float32)}


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
