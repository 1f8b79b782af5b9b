"""Buckets of signed time gaps in time units, shared by the counting kernels, the statistics and the action features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function, loop

_EDGES = (2.0, 10.0, 45.0)
"""Upper ends, in time units and inclusive, of the first three buckets on each side; the fourth is open."""
_OPEN_WIDTH = 200.0
"""Time units that an open bucket stands for when a count is turned into a rate."""
SAME_TICK = len(_EDGES) + 1
"""The bucket of gap 0."""
BUCKETS = 2 * SAME_TICK + 1
_SIDE = [*np.diff([0.0, *_EDGES]).tolist(), _OPEN_WIDTH]
WIDTHS: NDArray[np.float64] = np.array([*_SIDE[::-1], 1.0, *_SIDE])
"""float64 [BUCKETS]: time units that fall into each bucket."""


@loop(inner=True)
def gap_bucket(gap: float) -> int:
    """The bucket of a signed gap in time units: ``SAME_TICK`` is gap 0, lower buckets are negative gaps."""
    size = abs(gap)
    if size == 0:
        return SAME_TICK
    distance = 1
    for edge in _EDGES:
        distance += size > edge
    return SAME_TICK + distance if gap > 0 else SAME_TICK - distance


@loop()
def ticks_within(units: float, units_per_tick: float) -> int:
    """The whole ticks in a number of time units, at least 1; rounding errors of the division do not count."""
    return max(1, int(units / units_per_tick + 1e-9))


def gap_buckets(gap: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """``gap_bucket`` of every element of an array."""
    out = np.empty(gap.shape, dtype=np.int64)
    _fill_buckets(np.ascontiguousarray(gap, dtype=np.float64).ravel(), out.ravel())
    return out


@array_function()
def _fill_buckets(gap: NDArray[np.float64], out: NDArray[np.int64]) -> None:
    for i in range(len(gap)):
        out[i] = gap_bucket(gap[i])
