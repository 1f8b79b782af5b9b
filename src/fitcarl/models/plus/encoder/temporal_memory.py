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

from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.models.plus.features.accumulate import Floats, Ints, Longs

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
    gaps: float
    """How many of the five gaps a tick is."""
    day_time: Ints
    day_source: Ints
    day_relation: Ints
    day_target: Ints
    place: Longs
    """Column of an entity in the result; -1 for those that are left out."""


class Weights(NamedTuple):
    """What the log-weight of a fact (y, r, x) at some gap to t_q is added up from."""

    newcomer: Floats
    """[queries, size]: where the newcomer's kin are to be found; its product with ``kin`` says how alike y is."""
    kin: Floats
    """[entities, size]: by y."""
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
    """What the loops need; ``day`` has the arrays of GraphStatistics that begin with ``day_``; a tick is ``days`` days.

    Where a query has more than ``most`` facts around it, about so many are taken; ``rng`` draws with which it begins.
    """
    reach, when = max(1, int(_AROUND / days)), day["day_time"]
    first, last = np.searchsorted(when, time - reach), np.searchsorted(when, time + reach + 1)
    stride = np.maximum(1, -((first - last) // most))
    if rng is not None:
        first = first + rng.integers(0, stride)
    asked = entity.astype(np.int64), relation, time.astype(np.int64)
    columns = when, day["day_source"], day["day_relation"], day["day_target"]
    return Days(*asked, first, last, stride, 2 / reach, *columns, place)


def happened(days: Days, newcomer: Tensor, kin: Tensor, between: Tensor, fading: Tensor) -> Tensor:
    """[queries, placed]: how much happened around t_q to each placed entity, by those whom the newcomer resembles.

    The sum of exp(newcomer[q] · kin[y] + between[r_q, r] + fading[gap]) over facts (y, r, x), with a gradient.
    """
    mass: Tensor = _Happened.apply(days, newcomer, kin, between, fading)  # type: ignore[no-untyped-call]
    return mass


class _Happened(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, days: Days, *parts: Tensor) -> Tensor:
        weights = Weights(*(part.detach().contiguous().numpy() for part in parts))
        mass = np.zeros((len(weights.newcomer), int(days.place.max(initial=-1)) + 1), dtype=np.float32)
        parallel_for(split_range(len(mass)), lambda _, low, high: _remember(low, high, days, weights, mass))
        ctx.days, ctx.weights = days, weights
        return torch.from_numpy(mass)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor, Tensor, Tensor]:
        days, weights = ctx.days, ctx.weights
        queries, directions = weights.newcomer.shape
        facts = int((-((days.first - days.last) // days.stride)).max(initial=0))
        by_fact = np.zeros((queries, facts), dtype=np.float32)
        by_relation = np.zeros((queries, len(weights.between)), dtype=np.float32)
        by_gap = np.zeros((queries, len(weights.fading)), dtype=np.float32)
        to_newcomer, to_kin = np.zeros_like(weights.newcomer), np.zeros_like(weights.kin)
        given = days, weights, slope.contiguous().numpy(), by_fact, by_relation, by_gap, to_newcomer
        parallel_for(split_range(queries), lambda _, low, high: _remember_back(low, high, *given))
        # Several queries remember the same y: threads share the directions, so that the order of the sum is fixed.
        parallel_for(
            split_range(directions, min_items=8),
            lambda _, low, high: _kin_back(low, high, days, weights, by_fact, to_kin),
        )
        to_between = torch.zeros(weights.between.shape)
        to_between = to_between.index_add(0, torch.from_numpy(days.relation), torch.from_numpy(by_relation))
        grown = torch.from_numpy(to_newcomer), torch.from_numpy(to_kin), to_between, torch.from_numpy(by_gap).sum(0)
        return None, *grown


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(q: int, y: int, newcomer: Floats, kin: Floats) -> np.float32:
    # rows are not taken out: numba would count references to them, which costs more than the sum
    total = np.float32(0)
    for z in range(newcomer.shape[1]):
        total += newcomer[q, z] * kin[y, z]
    return total


@njit(cache=True, nogil=True, inline="always")  # a call would count references to every array of both tuples
def _weight(q: int, a: int, days: Days, weights: Weights) -> tuple[float, int]:
    """The log-weight of fact a for query q, and which gap it has; -inf where it is passed over."""
    y, x = days.day_source[a], days.day_target[a]
    if days.place[x] < 0 or days.entity[q] in (x, y):
        return -math.inf, 0
    gap = math.floor((days.day_time[a] - days.time[q]) * days.gaps + 2.5)
    alike = _product(q, y, weights.newcomer, weights.kin)
    return alike + weights.between[days.relation[q], days.day_relation[a]] + weights.fading[gap], gap


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
    by_fact: Floats,
    by_relation: Floats,
    by_gap: Floats,
    to_newcomer: Floats,
) -> None:
    """The gradient of ``_remember``, given that of its result: by fact, relation and gap for every query apart."""
    for q in range(low, high):
        stride = days.stride[q]
        for nth, a in enumerate(range(days.first[q], days.last[q], stride)):
            weight, gap = _weight(q, a, days, weights)
            if -math.inf < weight < _HIGHEST:
                step = np.float32(slope[q, days.place[days.day_target[a]]] * stride * math.exp(weight))
                by_fact[q, nth] = step
                by_relation[q, days.day_relation[a]] += step
                by_gap[q, gap] += step
                for z in range(to_newcomer.shape[1]):
                    to_newcomer[q, z] += step * weights.kin[days.day_source[a], z]


@njit(cache=True, nogil=True)
def _kin_back(low: int, high: int, days: Days, weights: Weights, by_fact: Floats, to_kin: Floats) -> None:
    """Adds up, along directions low to high, the gradient of everybody who is remembered."""
    for q in range(len(by_fact)):
        for nth, a in enumerate(range(days.first[q], days.last[q], days.stride[q])):
            step = by_fact[q, nth]
            if step != 0:
                for z in range(low, high):
                    to_kin[days.day_source[a], z] += step * weights.newcomer[q, z]
