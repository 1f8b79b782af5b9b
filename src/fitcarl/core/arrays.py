"""Rows of different lengths in flat arrays, and groups of rows that share a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]


def offsets_of(counts: Positions) -> Positions:
    """int64 [rows + 1]: where each row begins in the flat array, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def spans(start: Positions, count: Positions) -> tuple[Positions, Positions]:
    """Row and position of every element of the ranges ``start[i] : start[i] + count[i]``, row after row."""
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    position = np.arange(len(row), dtype=np.int64) + np.repeat(start - offsets_of(count)[:-1], count)
    return row, position


def batches(cost: Positions, budget: int) -> Iterator[slice]:
    """Consecutive slices of rows whose cost is together at most ``budget``; a row that costs more stands alone."""
    ends = np.cumsum(cost)
    first = 0
    while first < len(cost):
        spent = int(ends[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(ends, spent + budget, side="right")))
        yield slice(first, end)
        first = end


@dataclass(frozen=True, eq=False)
class Groups:
    """Elements grouped by an integer key; looking up the groups of many keys at once takes two binary searches."""

    keys: Positions
    """int64 [elements], ascending."""
    order: Positions
    """int64 [elements]: where each element stood before it was sorted; elements of one key keep their order."""

    @classmethod
    def of(cls, keys: Positions) -> Groups:
        order = np.argsort(keys, kind="stable").astype(np.int64)
        return cls(keys[order], order)

    def find(self, wanted: Positions) -> tuple[Positions, Positions]:
        """First sorted position and size of each wanted key's group; size 0 where there is no such key."""
        start = np.searchsorted(self.keys, wanted, side="left")
        return start, np.searchsorted(self.keys, wanted, side="right") - start

    def between(self, low: Positions, high: Positions) -> tuple[Positions, Positions]:
        """First sorted position and number of the elements whose key is in ``[low[i], high[i])``."""
        start = np.searchsorted(self.keys, low, side="left")
        return start, np.searchsorted(self.keys, high, side="left") - start

    def members(self, wanted: Positions) -> tuple[Positions, Positions]:
        """Row (into ``wanted``) and original element of every member of every wanted group, row after row."""
        row, position = spans(*self.find(wanted))
        return row, self.order[position]
