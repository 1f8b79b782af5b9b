"""Ids of the names of large columns, found by their hashes: a name is compared with a single other one.

A table of hashes is small enough for the CPU caches where a table of names is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, read_only
from fitcarl.core.compiled import loop
from fitcarl.data.quadruples import Ids

if TYPE_CHECKING:
    import polars as pl

Hashes = NDArray[np.uint64]

_FIRST_SIZE = 1 << 12
"""Slots of a new table, a power of two."""


def ids_by_hash(values: Sequence[pl.Series]) -> tuple[pl.Series, list[Ids]] | None:
    """The distinct names of some columns in order of first appearance, row by row, and each column as ids.

    Args:
        values: Columns of strings of equal length, without nulls.

    Returns:
        None if two names have the same hash.
    """
    import polars as pl

    hashes = tuple(read_only(column.hash().to_numpy()) for column in values)
    ids = tuple(np.empty(len(column), dtype=np.int32) for column in values)
    first = _number_hashes(hashes, ids)
    names = pl.Series("name", [""] * len(first), dtype=pl.String)
    for number, column in enumerate(values):
        own = np.flatnonzero(first % len(values) == number)
        names = names.scatter(own, column.gather(first[own] // len(values)))
    if all((names.gather(own) == column).all() for own, column in zip(ids, values, strict=True)):
        return names, list(ids)
    return None


def _number_hashes(hashes: tuple[Hashes, ...], ids: tuple[Ids, ...]) -> Positions:
    """Numbers hashes in order of first appearance; the place of the first one of each, row by row.

    Args:
        hashes: uint64 [rows] each.
        ids: int32 [rows] each: written.
    """
    table, row = _Table.empty(_FIRST_SIZE), 0
    while row < len(hashes[0]):
        row = _number_rows(row, hashes, ids, table)
        if row < len(hashes[0]):
            table = table.larger()
    return table.first[: table.used[0]]


class _Table(NamedTuple):
    """Hashes with their numbers; a hash is in the first free slot from that of its last bits on."""

    known: Hashes
    number: Ids
    """int32 [slots]: -1 in free slots."""
    first: Positions
    """int64 [slots]: the place where each number appears first."""
    used: Positions
    """int64 [1]: numbers so far."""

    @classmethod
    def empty(cls, slots: int) -> _Table:
        number = np.full(slots, -1, dtype=np.int32)
        return cls(np.zeros(slots, dtype=np.uint64), number, np.zeros(slots, dtype=np.int64), np.zeros(1, np.int64))

    def larger(self) -> _Table:
        """The same table with twice as many slots."""
        other = _Table.empty(2 * len(self.known))
        other.first[: len(self.first)] = self.first
        other.used[:] = self.used
        _copy_slots(self, other)
        return other


@loop()
def _slot(value: np.uint64, table: _Table) -> int:
    """The slot of a hash, or the free one where it belongs."""
    mask = np.uint64(len(table.known) - 1)
    slot = value & mask
    while table.number[slot] >= 0 and table.known[slot] != value:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)  # type: ignore[return-value]


@loop()
def _copy_slots(table: _Table, other: _Table) -> None:
    for i in range(len(table.known)):
        if table.number[i] >= 0:
            slot = _slot(table.known[i], other)
            other.known[slot], other.number[slot] = table.known[i], table.number[i]


@loop()
def _number_rows(row: int, hashes: tuple[Hashes, ...], ids: tuple[Ids, ...], table: _Table) -> int:
    """Numbers the hashes from a row on; the row at which the table is half full, or the number of rows."""
    while row < len(hashes[0]) and 2 * (table.used[0] + len(hashes)) <= len(table.known):
        for column in range(len(hashes)):
            value = hashes[column][row]
            slot = _slot(value, table)
            if table.number[slot] < 0:
                table.known[slot], table.number[slot] = value, table.used[0]
                table.first[table.used[0]] = row * len(hashes) + column
                table.used[0] += 1
            ids[column][row] = table.number[slot]
        row += 1
    return row
