"""Compiled loops without reference counts."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numba import jit

from fitcarl.core.compiled import loop


class Columns(NamedTuple):
    values: np.ndarray
    totals: np.ndarray


@loop()
def _add(columns: Columns, position: int, value: float) -> int:
    columns.totals[position] += value * columns.values[position]
    return position + 1


@loop()
def _add_all(columns: Columns, value: float) -> None:
    position = 0
    while position < len(columns.values):
        position = _add(columns, position, value)


def test_a_loop_writes_to_its_arguments() -> None:
    columns = Columns(np.arange(4.0), np.zeros(4))
    before = [sys.getrefcount(array) for array in columns]
    _add_all(columns, 2.0)
    assert columns.totals.tolist() == [0, 2, 4, 6]
    assert [sys.getrefcount(array) for array in columns] == before


def test_a_loop_counts_no_references() -> None:
    fresh = jit(**_add_all.targetoptions)(_add_all.py_func)  # code from the cache cannot be inspected
    fresh(Columns(np.arange(4.0), np.zeros(4)), 2.0)
    assert "NRT_incref" not in "".join(fresh.inspect_llvm().values())
