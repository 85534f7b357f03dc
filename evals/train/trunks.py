"""The networks under the readers' heads, in PyTorch: the embedder's layers with a learned difference of low rank in
each matrix, and a larger network that only teaches. Each returns the state of every token."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

CACHE = Path(__file__).resolve().parents[1] / ".cache"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HEADS, DROP = 12, 0.1
RANK = int(os.environ.get("RANK", "64"))
"""Of the learned differences."""
EMBEDDER_LAYERS = range(12)
LAYERS = [int(each) for each in os.environ.get("LAYERS", ",".join(map(str, EMBEDDER_LAYERS))).split(",")]
"""The numbers of the embedder's layers that a new network has: "0,1,2,3,4,5" for the first six."""
DENSE = ("q", "k", "v", "o", "up", "down")
MAX_TOKENS = 288
"""The most that is read at once."""


class Matrix(nn.Module):
    """One of the embedder's matrices, and what is learned on top."""

    def __init__(self, held: dict[str, Any], name: str) -> None:
        super().__init__()
        own = torch.tensor(values(held, f"{name}.weight"))
        self.register_buffer("own", own)
        self.a = nn.Parameter(torch.randn(RANK, own.shape[1]) / own.shape[1] ** 0.5)
        self.b = nn.Parameter(torch.zeros(own.shape[0], RANK))
        self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

    def forward(self, x: Any) -> Any:
        return functional.linear(x, self.own + self.b @ self.a, self.bias)


class FreeMatrix(nn.Module):
    """A matrix of the larger network, all of whose weights learn."""

    def __init__(self, held: dict[str, Any], name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(values(held, f"{name}.weight")))
        self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))

    def forward(self, x: Any) -> Any:
        return functional.linear(x, self.weight, self.bias)


class Norm(nn.Module):
    def __init__(self, held: dict[str, Any], name: str, least: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(held[f"{name}.weight"].astype("f4")))
        self.bias = nn.Parameter(torch.tensor(held[f"{name}.bias"].astype("f4")))
        self.least = least

    def forward(self, x: Any) -> Any:
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.least)


class Layer(nn.Module):
    def __init__(self, held: dict[str, Any], name: str, matrix: Any, least: float) -> None:
        super().__init__()
        for part in DENSE:
            setattr(self, part, matrix(held, f"{name}.{part}"))
        self.n1, self.n2 = Norm(held, f"{name}.n1", least), Norm(held, f"{name}.n2", least)

    def forward(self, x: Any, mask: Any) -> Any:
        rows, long, _ = x.shape
        apart = [part(x).view(rows, long, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v)]
        seen = functional.scaled_dot_product_attention(*apart, attn_mask=mask, dropout_p=DROP if self.training else 0.0)
        x = self.n1(x + functional.dropout(self.o(seen.transpose(1, 2).reshape(x.shape)), DROP, self.training))
        return self.n2(x + functional.dropout(self.down(functional.gelu(self.up(x))), DROP, self.training))


class SmallTrunk(nn.Module):
    """Some layers of the embedder, by their numbers; `embedder` is the file that a `pack` step wrote."""

    width = 384
    rate = 8e-4

    def __init__(self, embedder: Path, layers: Sequence[int]) -> None:
        super().__init__()
        held = dict(np.load(embedder))
        self.register_buffer("words", torch.tensor(values(held, "table")))
        self.register_buffer("position", torch.tensor(held["position"].astype("f4")))
        self.token_type = nn.Parameter(torch.tensor(held["token_type"].astype("f4")))
        self.norm = Norm(held, "norm", 1e-12)
        self.layers = nn.ModuleDict({str(n): Layer(held, f"layers.{n}", Matrix, 1e-12) for n in layers})

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Any:
        return list(self.states(ids, kinds, mask).values())[-1]

    def states(self, ids: Any, kinds: Any, mask: Any) -> dict[str, Any]:
        """After each layer, by its number."""
        x = self.norm(self.words[ids] + self.position[: ids.shape[1]] + self.token_type[kinds])
        x = functional.dropout(x, DROP, self.training)
        unseen, found = _unseen(mask, x), {}
        for number, layer in self.layers.items():
            found[number] = x = layer(x, unseen)
        return found


class LargeTrunk(nn.Module):
    """MPNet, from the files of large_trunk.py. It has the embedder's word pieces, each number four higher."""

    width = 768
    rate = 5e-5

    def __init__(self) -> None:
        super().__init__()
        held = {name: each for path in (CACHE / "large").glob("part-*.npz") for name, each in np.load(path).items()}
        self.words = nn.Parameter(torch.tensor(values(held, "words")), requires_grad=False)
        self.position = nn.Parameter(torch.tensor(held["position"].astype("f4")))
        self.token_type = nn.Parameter(torch.zeros(2, self.width))
        self.near = nn.Parameter(torch.tensor(held["near"].astype("f4")))
        self.norm = Norm(held, "norm", 1e-5)
        layers = 1 + max(int(name.split(".")[1]) for name in held if name.startswith("layers."))
        self.layers = nn.ModuleList(Layer(held, f"layers.{n}", FreeMatrix, 1e-5) for n in range(layers))
        self.register_buffer("buckets", _buckets(MAX_TOKENS))
        self.register_buffer("ids", torch.arange(30522) + 4)
        for mine, its in ((101, 0), (102, 2), (0, 1)):
            self.ids[mine] = its

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Any:
        long = ids.shape[1]
        x = self.norm(self.words[self.ids[ids]] + self.position[2 : long + 2] + self.token_type[kinds])
        x = functional.dropout(x, DROP, self.training)
        unseen = self.near[self.buckets[:long, :long]].permute(2, 0, 1)[None].to(x.dtype) + _unseen(mask, x)
        if torch.is_autocast_enabled(DEVICE):
            unseen = unseen.to(torch.bfloat16)
        for layer in self.layers:
            x = layer(x, unseen)
        return x


def _unseen(mask: Any, x: Any) -> Any:
    """What is added to the attention of each token, so that padding is not seen."""
    hidden = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask == 0, -1e4)[:, None, None]
    return hidden.to(torch.bfloat16) if torch.is_autocast_enabled(DEVICE) else hidden


def _buckets(long: int) -> Any:
    """Which of MPNet's 32 distances each pair of tokens has: exact up to 7, then by the logarithm, up to 128."""
    places = np.arange(long)
    ahead = places[None, :] - places[:, None]
    far = np.abs(ahead)
    log = 8 + (np.log(np.maximum(far, 1) / 8) / np.log(128 / 8) * 8).astype(int)
    return torch.tensor(np.where(far < 8, far, np.minimum(log, 15)) + np.where(ahead > 0, 16, 0))


def values(held: dict[str, Any], name: str) -> Any:
    """A table or matrix that is kept in small numbers."""
    return ((held[name].astype("f4") - held.get(f"{name}.zero", 0)) * held[f"{name}.scale"]).astype("f4")


def make_trunk(learned: Path | None, embedder: Path, large: bool) -> Any:
    """A trunk as it was before learning, or for what a network learned, of its size."""
    if learned is not None:
        names = np.load(learned).files
        large = "near" in names
        return LargeTrunk() if large else SmallTrunk(embedder, layers_of(names))
    return LargeTrunk() if large else SmallTrunk(embedder, LAYERS)


def layers_of(names: Sequence[str]) -> list[int]:
    """The numbers of the layers that learned weights with these names are of."""
    return sorted({int(name.split(".")[1]) for name in names if name.startswith("layers.")})


def learned_of(net: nn.Module) -> dict[str, Any]:
    """What was learned, without the name of the trunk."""
    return {
        name.removeprefix("trunk."): value.detach().cpu().numpy().astype("f2")
        for name, value in net.named_parameters()
        if value.requires_grad
    }


def load_learned(net: nn.Module, path: Path, parts: tuple[str, ...] = ("",)) -> None:
    """What an earlier network learned; or some parts of it, by how their names begin."""
    held = {name: each.astype("f4") for name, each in np.load(path).items()}
    learned = {name.removeprefix("trunk."): value for name, value in net.named_parameters()}
    with torch.no_grad():
        for name, each in held.items():
            if name in learned and name.startswith(parts):
                value = torch.tensor(each * held.get(f"{name}.scale", 1), device=DEVICE)
                mine = learned[name].data
                if any(its > own for its, own in zip(value.shape, mine.shape, strict=True)):
                    learned[name].data = value  # a difference of higher rank
                else:
                    mine[tuple(map(slice, value.shape))] = value
