"""Ragged rows in flat arrays, groups of elements with equal keys, and checksums of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Inputs = TypeVar("Inputs", bound=tuple[Any, ...])
Array = TypeVar("Array", bound=NDArray[Any])


def read_only(array: Array) -> Array:
    """A contiguous read-only view, or a copy if the array is not contiguous.

    Compiled loops take every input in this form: a loop is compiled once for each kind of array that it is called with,
    and arrays are writable in training and read-only when they are memory-mapped.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view  # type: ignore[return-value]


def read_only_arrays(inputs: Inputs) -> Inputs:
    """A named tuple with all its arrays read-only, those of nested tuples included; see ``read_only``."""
    parts: list[Any] = []
    for part in inputs:
        if isinstance(part, np.ndarray):
            parts.append(read_only(part))
        else:
            parts.append(read_only_arrays(part) if isinstance(part, tuple) else part)
    return type(inputs)(*parts)


def offsets_of(counts: Positions) -> Positions:
    """int64 [rows + 1]: the start of each row in the flat array, and the end of the last one."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def spans(start: Positions, count: Positions) -> tuple[Positions, Positions]:
    """Row i and position of every element of the ranges ``start[i]:start[i] + count[i]``, in order."""
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    position = np.arange(len(row), dtype=np.int64) + np.repeat(start - offsets_of(count)[:-1], count)
    return row, position


def batches(cost: Positions, budget: int) -> Iterator[slice]:
    """Consecutive slices of rows with a total cost of at most ``budget``; a row that costs more gets its own slice."""
    ends = np.cumsum(cost)
    first = 0
    while first < len(cost):
        spent = int(ends[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(ends, spent + budget, side="right")))
        yield slice(first, end)
        first = end


@dataclass(frozen=True, eq=False)
class Groups:
    """Elements sorted by an integer key; the groups of many keys are found at once by binary search."""

    keys: Positions
    """int64 [elements], ascending."""
    order: Positions
    """int64 [elements]: the original position of each element; elements with equal keys keep their order."""

    @classmethod
    def of(cls, keys: Positions) -> Groups:
        order = np.argsort(keys, kind="stable").astype(np.int64)
        return cls(keys[order], order)

    def find(self, wanted: Positions) -> tuple[Positions, Positions]:
        """First sorted position and size of the group of each wanted key; size 0 if the key does not occur."""
        start = np.searchsorted(self.keys, wanted, side="left")
        return start, np.searchsorted(self.keys, wanted, side="right") - start

    def between(self, low: Positions, high: Positions) -> tuple[Positions, Positions]:
        """First sorted position and number of the elements whose key is in ``[low[i], high[i])``."""
        start = np.searchsorted(self.keys, low, side="left")
        return start, np.searchsorted(self.keys, high, side="left") - start

    def members(self, wanted: Positions) -> tuple[Positions, Positions]:
        """Row (into ``wanted``) and original position of every member of every wanted group, in order."""
        row, position = spans(*self.find(wanted))
        return row, self.order[position]


def with_empty_groups(offsets: Positions, extra: int) -> Positions:
    """Offsets with ``extra`` more groups at the end, all of them empty."""
    return np.append(offsets, np.full(extra, offsets[-1]))


def sha256_of_arrays(*arrays: NDArray[Any], header: bytes = b"", separator: bytes = b"") -> str:
    """Hex sha256 of a header and of the bytes of arrays, each followed by a separator."""
    sha = hashlib.sha256(header)
    for array in arrays:
        sha.update(np.ascontiguousarray(array).data)
        sha.update(separator)
    return sha.hexdigest()
