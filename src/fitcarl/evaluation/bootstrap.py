"""Confidence intervals of means over queries, by bootstrap over unseen entities.

Queries about one entity are correlated, so entities are resampled, not queries. ``scipy.stats.bootstrap`` resamples
single observations; here a cluster bootstrap is needed, which is one multinomial draw per resample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids

RESAMPLES = 2000
_LEVEL = 0.95
_CELLS = 2_000_000  # resamples × entities in memory at once


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def mean_interval(entity: Ids, value: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The mean of ``value`` [queries] and its percentile interval when entities are drawn with replacement."""
    _, number = np.unique(entity, return_inverse=True)
    total = np.bincount(number, weights=value).astype(np.float64)
    found = interval_of_sums(total, np.bincount(number).astype(np.float64), seed=seed, resamples=resamples)
    return Interval(float(value.mean()), found.low, found.high)


def interval_of_sums(
    total: NDArray[np.float64], size: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The same, from the sum of the values [entities] and their number [entities] for each entity."""
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
    return Interval(float(total.sum() / size.sum()), float(low), float(high))


def paired_difference(
    entity: Ids,
    ranks: NDArray[np.float64],
    other: NDArray[np.float64],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """MRR of ``ranks`` minus MRR of ``other`` over the same queries, with the same resampled entities for both."""
    if len(ranks) != len(other):
        raise ValueError("a paired difference needs ranks of the same queries")
    return mean_interval(entity, 1 / ranks - 1 / other, seed=seed, resamples=resamples)
