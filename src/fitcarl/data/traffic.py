"""When the facts of a dataset happened: its last busy time, quantiles, and times far outside."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CORE = (0.1, 0.9)
"""Quantiles between which the typical traffic is measured."""
_WINDOWS = 50
"""A window is at least this part of the time between these quantiles, …"""
_FACTS_PER_WINDOW = 100
"""… and long enough to hold this many facts at typical traffic."""
_FAIR_SHARE = 0.02
"""Share of the typical traffic that a window needs to be busy."""
_QUANTILES = (0.01, 0.5, 0.99)


@dataclass(frozen=True)
class Outliers:
    """Facts whose times are far outside those of almost all others."""

    before: int
    after: int
    distance: int
    """Ticks outside the 1 % and 99 % quantiles from which on a fact is counted: half of the time between the two."""


def last_busy_tick(times: ArrayLike) -> int:
    """The last tick with real traffic: stray late facts, such as those with a wrong year, do not count.

    It is the last tick with a fact whose window (the ticks up to it) holds at least 2 % of the facts that a window of
    this length holds at typical traffic. Typical is the mean between the 10 % and the 90 % quantile of the times. A
    window is a fiftieth of the time between these quantiles, but long enough for 100 facts at typical traffic.

    Args:
        times: Ticks of all facts, in any order; at least one.
    """
    ticks = np.sort(np.asarray(times, dtype=np.int64))
    first, last = (int(ticks[_position(len(ticks), share)]) for share in _CORE)
    core = last - first + 1
    rate = np.count_nonzero((ticks >= first) & (ticks <= last)) / core
    window = max(math.ceil(core / _WINDOWS), math.ceil(_FACTS_PER_WINDOW / rate))
    held = np.arange(1, len(ticks) + 1) - np.searchsorted(ticks, ticks - window, side="right")
    busy = np.flatnonzero(held >= _FAIR_SHARE * window * rate)
    return int(ticks[busy[-1] if len(busy) else -1])


def quantile_ticks(times: ArrayLike) -> tuple[int, int, int]:
    """The ticks at the 1 %, 50 % and 99 % quantiles of the facts; each is the tick of a fact.

    Args:
        times: Ticks of all facts, in any order; at least one.
    """
    ticks = np.sort(np.asarray(times, dtype=np.int64))
    low, middle, high = (int(ticks[_position(len(ticks), share)]) for share in _QUANTILES)
    return low, middle, high


def find_outliers(times: ArrayLike) -> Outliers:
    """Counts the facts that lie far outside the 1 % and 99 % quantiles.

    Args:
        times: Ticks of all facts, in any order; at least one.
    """
    ticks: NDArray[np.int64] = np.asarray(times, dtype=np.int64)
    low, _, high = quantile_ticks(ticks)
    distance = max(1, (high - low) // 2)
    before, after = np.count_nonzero(ticks < low - distance), np.count_nonzero(ticks > high + distance)
    return Outliers(int(before), int(after), distance)


def _position(count: int, share: float) -> int:
    """The position of a quantile among sorted values: the nearest one to the share of the others, halves upwards."""
    return math.floor(share * (count - 1) + 0.5)
