"""How far a mean over queries would move with other unseen entities.

Queries about one entity resemble each other, so entities are what is resampled: an interval over queries would be
too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids

RESAMPLES = 2000
_LEVEL = 0.95
_CELLS = 2_000_000  # resamples × entities held at once


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        return self.low <= 0 <= self.high


def mean_interval(entity: Ids, value: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The mean of ``value`` [queries] and its percentile interval when whole entities are drawn with replacement."""
    _, number = np.unique(entity, return_inverse=True)
    total = np.bincount(number, weights=value)
    size = np.bincount(number).astype(np.float64)
    rng = np.random.default_rng(seed)
    means = []
    done, block = 0, max(1, _CELLS // len(size))
    while done < resamples:
        # How often each entity is drawn; a resampled mean is then a ratio of two weighted sums.
        drawn = rng.multinomial(len(size), np.full(len(size), 1 / len(size)), size=min(block, resamples - done))
        means.append((drawn @ total) / (drawn @ size))
        done += len(drawn)
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(value.mean()), float(low), float(high))


def paired_difference(
    entity: Ids,
    ranks: NDArray[np.float64],
    other: NDArray[np.float64],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """MRR of ``ranks`` minus MRR of ``other`` over the same queries; both see the same resampled entities."""
    if len(ranks) != len(other):
        raise ValueError("only ranks of the same queries can be compared pair by pair")
    return mean_interval(entity, 1 / ranks - 1 / other, seed=seed, resamples=resamples)
