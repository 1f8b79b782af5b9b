"""What happened around the asked time, weighed by learned likenesses: the encoder's memory of dated facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.plus.tally import Floats, Ints, Longs
from fitcarl.threads import in_parallel, spread

_AROUND = 2.0
"""Days before and after t_q whose facts are remembered, or a tick where that is longer."""
_MOST = 30000
"""Facts around t_q that are remembered one by one; of more, a part stands for all."""
_HIGHEST = 8.0
"""The highest log-weight of a remembered fact."""


class Days(NamedTuple):
    """The background's facts by time, and which of them lie around each query."""

    entity: Longs
    """Who asks; facts of its own are not remembered."""
    relation: Longs
    time: Longs
    first: Longs
    last: Longs
    """Facts ``first[q]`` to ``last[q]`` lie around t_q."""
    stride: Longs
    """Where ``stride[q]`` is n, every n-th of them stands for n."""
    reach: int
    """Ticks before and after."""
    day_time: Ints
    day_source: Ints
    day_relation: Ints
    day_target: Ints
    place: Longs
    """Column of an entity in the result; -1 for those that are left out."""


class Weights(NamedTuple):
    """Logarithms that are added up to the weight of a fact (y, r, x) at some gap to t_q."""

    alike: Floats
    """[queries, entities]: by y."""
    between: Floats
    """[2R, 2R]: by r_q and r."""
    fading: Floats
    """[5]: by the gap, from before to after."""


def around(
    day: Mapping[str, Any],
    days: float,
    entity: NDArray[np.integer[Any]],
    relation: NDArray[np.int64],
    time: NDArray[np.integer[Any]],
    place: NDArray[np.int64],
    most: int = _MOST,
    rng: np.random.Generator | None = None,
) -> Days:
    """What the loops need; ``day`` has the parts of Statistics that begin with ``day_``, a tick is so many ``days``.

    Where a query has more than ``most`` facts around it, about so many are taken; ``rng`` draws with which it begins.
    """
    reach, when = max(1, int(_AROUND / days)), day["day_time"]
    first, last = np.searchsorted(when, time - reach), np.searchsorted(when, time + reach + 1)
    stride = np.maximum(1, -((first - last) // most))
    if rng is not None:
        first = first + rng.integers(0, stride)
    asked = entity.astype(np.int64), relation, time.astype(np.int64)
    columns = when, day["day_source"], day["day_relation"], day["day_target"]
    return Days(*asked, first, last, stride, reach, *columns, place)


def happened(days: Days, alike: Tensor, between: Tensor, fading: Tensor) -> Tensor:
    """[queries, placed]: how much happened around t_q to each placed entity, by those whom the newcomer resembles.

    The sum of exp(alike[q, y] + between[r_q, r] + fading[gap]) over facts (y, r, x), with a gradient.
    """
    mass: Tensor = _Happened.apply(days, alike, between, fading)  # type: ignore[no-untyped-call]
    return mass


class _Happened(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, days: Days, alike: Tensor, between: Tensor, fading: Tensor) -> Tensor:
        weights = Weights(alike.detach().numpy(), between.detach().numpy(), fading.detach().numpy())
        mass = np.zeros((len(alike), int(days.place.max(initial=-1)) + 1), dtype=np.float32)
        in_parallel(spread(len(mass)), lambda _, low, high: _remember(low, high, days, weights, mass))
        ctx.days, ctx.weights = days, weights
        return torch.from_numpy(mass)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        days, weights = ctx.days, ctx.weights
        to_alike = np.zeros_like(weights.alike)
        by_relation = np.zeros((len(to_alike), len(weights.between)), dtype=np.float32)
        by_gap = np.zeros((len(to_alike), len(weights.fading)), dtype=np.float32)
        given = days, weights, slope.contiguous().numpy(), to_alike, by_relation, by_gap
        in_parallel(spread(len(to_alike)), lambda _, low, high: _remember_back(low, high, *given))
        to_between = torch.zeros(weights.between.shape)
        to_between = to_between.index_add(0, torch.from_numpy(days.relation), torch.from_numpy(by_relation))
        return None, torch.from_numpy(to_alike), to_between, torch.from_numpy(by_gap).sum(0)


@njit(cache=True, nogil=True)
def _weight(q: int, a: int, days: Days, weights: Weights) -> tuple[float, int]:
    """The log-weight of fact a for query q, and which gap it has; -inf where it is passed over."""
    y, x = days.day_source[a], days.day_target[a]
    if days.place[x] < 0 or days.entity[q] in (x, y):
        return -math.inf, 0
    gap = int(np.rint((days.day_time[a] - days.time[q]) * 2 / days.reach)) + 2
    return weights.alike[q, y] + weights.between[days.relation[q], days.day_relation[a]] + weights.fading[gap], gap


@njit(cache=True, nogil=True)
def _remember(low: int, high: int, days: Days, weights: Weights, out: Floats) -> None:
    """Adds up, for queries low to high, what happened to every placed entity."""
    for q in range(low, high):
        stride = days.stride[q]
        for a in range(days.first[q], days.last[q], stride):
            weight, _ = _weight(q, a, days, weights)
            if weight > -math.inf:
                out[q, days.place[days.day_target[a]]] += stride * math.exp(min(weight, _HIGHEST))


@njit(cache=True, nogil=True)
def _remember_back(
    low: int,
    high: int,
    days: Days,
    weights: Weights,
    slope: Floats,
    to_alike: Floats,
    by_relation: Floats,
    by_gap: Floats,
) -> None:
    """The gradient of ``_remember``, given that of its result; by relation and by gap for every query apart."""
    for q in range(low, high):
        stride = days.stride[q]
        for a in range(days.first[q], days.last[q], stride):
            weight, gap = _weight(q, a, days, weights)
            if -math.inf < weight < _HIGHEST:
                step = slope[q, days.place[days.day_target[a]]] * stride * math.exp(weight)
                to_alike[q, days.day_source[a]] += step
                by_relation[q, days.day_relation[a]] += step
                by_gap[q, gap] += step
