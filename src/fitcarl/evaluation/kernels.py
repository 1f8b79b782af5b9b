"""Compiled loops of the evaluation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function, loop
from fitcarl.graph.kernels import lower_bound


@loop(inner=True)
def _is_in(values: NDArray[np.int32], low: int, high: int, value: int) -> bool:
    """Whether a value is in the ascending part ``low:high`` of an array."""
    position = lower_bound(values, low, high, value)
    return position < high and values[position] == value


@array_function()
def count_better(
    first: int,
    last: int,
    offsets: NDArray[np.int64],
    entity: NDArray[np.int32],
    score: NDArray[np.float64],
    answer: NDArray[np.int32],
    other_offsets: NDArray[np.int64],
    other_entity: NDArray[np.int32],
    greater: NDArray[np.int64],
    equal: NDArray[np.int64],
    covered: NDArray[np.bool_],
) -> None:
    """Counts, for queries first to last, the listed entities that score above and like the answer.

    Other true answers do not count. If the answer is not listed, all listed entities are above it.
    """
    for q in range(first, last):
        low, high = offsets[q], offsets[q + 1]
        limit = -np.inf
        for i in range(low, high):
            if entity[i] == answer[q]:
                limit = score[i]
                covered[q] = True
                break
        for i in range(low, high):
            if score[i] >= limit and not _is_in(other_entity, other_offsets[q], other_offsets[q + 1], entity[i]):
                if score[i] > limit:
                    greater[q] += 1
                else:
                    equal[q] += 1
