"""Random edits of a folder: structure-aware mutation of run folders, datasets and graphs."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import numpy as np
import safetensors.numpy

from tests.fuzz.edits import Edit
from tests.fuzz.odd_values import odd_json, odd_number, odd_text

_TYPES = ("int8", "int32", "int64", "uint8", "float16", "float32", "float64", "bool")
_MAX_EDITS = 6


def decode(data: bytes) -> list[Edit]:
    """The edits of an input; bytes that are none are no edits."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return [edit for edit in found if isinstance(edit, list) and len(edit) > 1] if isinstance(found, list) else []


def encode(edits: list[Edit]) -> bytes:
    return json.dumps(edits).encode()


class EditMutator:
    """Mutates lists of edits of given files."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.names = sorted(files)
        self._weights = [3 if name.endswith((".safetensors", ".npy")) else 1 for name in self.names]

    def first(self) -> list[list[Edit]]:
        """Inputs to start with: every integer array with ids that do not exist, and every file cut short."""
        edits: list[Edit] = [[name, "cut", 100] for name in self.names]
        for name in self.names:
            if name.endswith(".npy"):
                edits += [[name, *edit] for edit in _bad_ids(*_shape_of_npy(self.files[name]))]
            elif name.endswith(".safetensors"):
                for tensor, about in sorted(_shapes_of_tensors(self.files[name]).items()):
                    edits += [[name, edit[0], tensor, *edit[1:]] for edit in _bad_ids(*about)]
        return [[], *([edit] for edit in edits)]

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Another list of edits, not larger than ``max_size`` bytes; the same one for the same seed."""
        random, edits = Random(seed), decode(data)
        action = random.random()
        if not edits or (action < 0.5 and len(edits) < _MAX_EDITS):
            edits.insert(random.randrange(len(edits) + 1), self.edit(random))
        elif action < 0.6:
            del edits[random.randrange(len(edits))]
        elif action < 0.9:
            place = random.randrange(len(edits))
            edits[place] = self._varied(random, edits[place])
        else:
            random.shuffle(edits)
        while len(found := encode(edits)) > max_size:
            edits.pop()
        return found

    def cross(self, one: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        """Some edits of one list, then some of another."""
        random, first, second = Random(seed), decode(one), decode(other)
        edits = first[: random.randrange(len(first) + 1)] + second[random.randrange(len(second) + 1) :]
        while len(found := encode(edits[:_MAX_EDITS])) > max_size:
            edits.pop()
        return found

    def edit(self, random: Random) -> Edit:
        """One random edit."""
        [name] = random.choices(self.names, self._weights)
        kind = random.random()
        if kind < 0.03:
            return [name, "remove"]
        if kind < 0.06:
            return [name, "copy", random.choice(self.names)]
        if kind < 0.18:
            return self._bytes(random, name)
        if name.endswith(".json"):
            return [name, *_json_edit(random, json.loads(self.files[name]))]
        if name.endswith(".safetensors"):
            return self._tensor(random, name)
        if name.endswith(".npy"):
            return [name, *_array_edit(random, *_shape_of_npy(self.files[name]))]
        return [name, *_row_edit(random)]

    def _bytes(self, random: Random, name: str) -> Edit:
        size = len(self.files[name])
        place = random.randrange(min(size, 400) or 1) if random.random() < 0.7 else random.randrange(size or 1)
        kind = random.randrange(3)
        if kind == 0:
            return [name, "cut", place]
        if kind == 1:
            return [name, "flip", place, random.randrange(8)]
        return [name, "insert", place, odd_text(random), random.choice((1, 1, 1, 1000, 100_000))]

    def _tensor(self, random: Random, name: str) -> Edit:
        shapes = _shapes_of_tensors(self.files[name])
        about = json.loads(json.loads(_header(self.files[name]))["__metadata__"]["fitcarl"])["about"]
        integers = [tensor for tensor, (_, dtype) in sorted(shapes.items()) if dtype in "iu"]
        other = random.choice(sorted(shapes))
        # Compiled loops use integers as positions.
        tensor = random.choice(integers) if integers and random.random() < 0.6 else random.choice(sorted(shapes))
        kind = random.random()
        if kind < 0.04:
            return [name, "drop", tensor]
        if kind < 0.08:
            return [name, "rename", tensor, random.choice((odd_text(random), other + "2"))]
        if kind < 0.14:
            return [name, "assign", tensor, other]
        if kind < 0.26:
            return [name, "about", *_json_edit(random, about)]
        operation, *arguments = _array_edit(random, *shapes[tensor])
        return [name, operation, tensor, *arguments]

    def _varied(self, random: Random, edit: Edit) -> Edit:
        """The edit at the same place with another last argument."""
        if len(edit) < 3 or not isinstance(edit[-1], int | float | str | type(None)) or edit[1] in ("copy", "drop"):
            return self.edit(random)
        last: Any = odd_number(random) if isinstance(edit[-1], int | float) else odd_text(random)
        return [*edit[:-1], odd_json(random) if edit[1] == "set" else last]


def _json_edit(random: Random, tree: Any) -> list[Any]:
    """Operation, path and value."""
    path: list[Any] = []
    while isinstance(tree, dict | list) and tree and (not path or random.random() < 0.85):
        key = random.choice(sorted(tree)) if isinstance(tree, dict) else random.randrange(len(tree))
        path.append(key)
        tree = tree[key]
    kind = random.random()
    if kind < 0.15 and path:
        return ["delete", path]
    if kind < 0.2:
        return ["repeat", path, random.choice((0, 2, 1000))]
    if kind < 0.23:
        return ["nest", path, random.choice((10, 1000, 100_000))]
    if kind < 0.5 and type(tree) in (int, float):
        return ["set", path, random.choice((tree + 1, tree - 1, -tree, tree * 2, tree * 10**6, float(tree)))]
    return ["set", path, odd_json(random)]


def _array_edit(random: Random, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Operation and arguments."""
    size = int(np.prod(shape))
    kind = random.random()
    value = random.choice((float("nan"), float("inf"), 1e38, 0.0)) if "f" in dtype else odd_number(random, size)
    if kind < 0.25:
        return ["fill", value]
    if kind < 0.6:
        return ["put", random.choice((0, size - 1, random.randrange(size or 1))), value]
    if kind < 0.7:
        return ["add", value]
    if kind < 0.75:
        return ["reverse"]
    if kind < 0.85:
        return ["resize", random.choice((0, 1, shape[0] - 1 if shape else 0, shape[0] + 1 if shape else 1))]
    if kind < 0.93:
        return ["reshape", random.choice(([size], [1, size], [size, 1], [0], [1, 20_000], [*shape, 1], []))]
    return ["type", random.choice(_TYPES)]


def _bad_ids(shape: tuple[int, ...], dtype: str) -> list[list[Any]]:
    """Edits that put positions outside of other arrays into an array of integers; not a number into one of floats."""
    if dtype in "iu":
        return [
            ["fill", 2**30],
            ["fill", -1],
            ["put", int(np.prod(shape)) // 2, 2**30],
            ["reverse"],
            ["type", "float64"],
        ]
    return [["put", 0, float("nan")], ["type", "float64"]]


def _row_edit(random: Random) -> list[Any]:
    row = random.choice((0, 1, 2, -1, -2, random.randrange(1000)))
    kind = random.random()
    if kind < 0.6:
        value = odd_text(random) if random.random() < 0.5 else str(odd_number(random, random.choice((0, 100))))
        return ["cell", row, random.randrange(5), value]
    if kind < 0.75:
        return ["delete", row]
    if kind < 0.9:
        return ["repeat", row, random.choice((1, 2, 1000))]
    return ["swap", row, random.randrange(1000)]


def _header(content: bytes) -> bytes:
    return content[8 : 8 + int.from_bytes(content[:8], "little")]


@cache
def _shapes_of_tensors(content: bytes) -> dict[str, tuple[tuple[int, ...], str]]:
    return {name: (array.shape, array.dtype.kind) for name, array in safetensors.numpy.load(content).items()}


@cache
def _shape_of_npy(content: bytes) -> tuple[tuple[int, ...], str]:
    array = np.load(io.BytesIO(content))
    return array.shape, array.dtype.kind
