"""Reads the nodes and tensors of an ONNX file; it implements only the part of protobuf needed for that."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_INPUT, _NODE_NAME, _OPERATION = 1, 3, 4
_DIMENSIONS, _TYPE, _FLOATS, _INTEGERS, _NAME, _RAW = 1, 2, 4, 5, 8, 9
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    name: str
    operation: str
    inputs: tuple[str, ...]


class OnnxTensors(Mapping[str, NDArray[Any]]):
    """Tensors by name, as views of the memory-mapped file. A tensor is parsed when it is asked for."""

    def __init__(self, parts: Iterable[memoryview]) -> None:
        self._parts = {_tensor_name(part): part for part in parts}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return _tensor(self._parts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class OnnxNetwork:
    """The parts of a network. Nodes are parsed when they are first asked for."""

    def __init__(self, graph: memoryview) -> None:
        self._parts = list(_fields(graph))
        self.tensors = OnnxTensors(value for number, value in self._parts if number == _INITIALIZER)

    @cached_property
    def nodes(self) -> list[OnnxNode]:
        return [_node(value) for number, value in self._parts if number == _NODE]


def load_network(path: Path) -> OnnxNetwork:
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return OnnxNetwork(next(value for number, value in _fields(data) if number == _GRAPH))


def _node(data: memoryview) -> OnnxNode:
    fields = list(_fields(data))
    text = {number: bytes(value).decode() for number, value in fields if number in (_NODE_NAME, _OPERATION)}
    inputs = tuple(bytes(value).decode() for number, value in fields if number == _INPUT)
    return OnnxNode(text.get(_NODE_NAME, ""), text[_OPERATION], inputs)


def _tensor_name(data: memoryview) -> str:
    return next((bytes(value).decode() for number, value in _fields(data) if number == _NAME), "")


def _tensor(data: memoryview) -> NDArray[Any]:
    shape: list[int] = []
    kind, raw, integers = 1, memoryview(b""), list[int]()
    for number, value in _fields(data):
        if number == _DIMENSIONS:
            shape += _numbers(value)
        elif number == _TYPE:
            kind = value
        elif number in (_RAW, _FLOATS):
            raw = value
        elif number == _INTEGERS:
            integers += _numbers(value)
    dtype = _TYPES.get(kind, np.float32)
    values = np.array(integers, dtype) if integers else np.frombuffer(raw, dtype)
    return values.reshape(shape) if values.size == int(np.prod(shape)) else values


def _numbers(value: Any) -> list[int]:
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        else:
            size = 4 if wire == 5 else 8
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
