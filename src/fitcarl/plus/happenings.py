"""What happened around the asked time, weighed by learned likenesses: the encoder's memory of dated facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.plus.kernels import remember, remember_back
from fitcarl.threads import in_parallel, spread

_AROUND = 2.0
"""Days before and after t_q whose facts are remembered, or a tick where that is longer."""
_MOST = 6000
"""Remembered facts before t_q at most, and as many after."""
_HIGHEST = 8.0
"""The highest log-weight of a remembered fact."""


@dataclass(frozen=True, eq=False)
class Days:
    """The background's facts by time, and which of them lie around each query."""

    given: tuple[Any, ...]
    """What the compiled loops are told, all but weights."""
    listed: int
    """Entities that have a place."""

    @classmethod
    def around(
        cls,
        day: Mapping[str, Any],
        days: float,
        entity: NDArray[np.integer[Any]],
        relation: NDArray[np.int64],
        time: NDArray[np.integer[Any]],
        place: NDArray[np.int64],
        most: int = 0,
    ) -> Days:
        """``day`` has the parts of Statistics that begin with ``day_``, ``place`` is -1 for entities to leave out.

        Where ``most`` is given and queries have more facts around them on average, only so many are taken.
        """
        reach, when = reach_of(days), day["day_time"]
        here = np.searchsorted(when, time)
        first = np.maximum(np.searchsorted(when, time - reach), here - _MOST)
        last = np.minimum(np.searchsorted(when, time + reach + 1), here + _MOST)
        stride = max(1, int((last - first).mean() / most)) if most and len(time) else 1
        columns = (when, day["day_source"], day["day_relation"], day["day_target"])
        asked = (entity.astype(np.int64), relation, time.astype(np.int64))
        return cls((*asked, first, last, stride, *columns, place, reach, _HIGHEST), int(place.max(initial=-1)) + 1)


class _Happened(torch.autograd.Function):
    """``remember`` with a gradient."""

    @staticmethod
    def forward(ctx: Any, days: Days, alike: Tensor, between: Tensor, fading: Tensor) -> Tensor:
        mass = np.zeros((len(alike), days.listed), dtype=np.float32)
        weights = alike.detach().numpy(), between.detach().numpy(), fading.detach().numpy()
        given = (*days.given, *weights, mass)
        in_parallel(spread(len(mass)), lambda _, low, high: remember(low, high, *given))
        ctx.days, ctx.weights = days, weights
        return torch.from_numpy(mass)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        alike, between, fading = ctx.weights
        to_alike = np.zeros_like(alike)
        by_relation = np.zeros((len(alike), len(between)), dtype=np.float32)
        by_gap = np.zeros((len(alike), len(fading)), dtype=np.float32)
        given = (*ctx.days.given, *ctx.weights, slope.contiguous().numpy(), to_alike, by_relation, by_gap)
        in_parallel(spread(len(alike)), lambda _, low, high: remember_back(low, high, *given))
        relation = torch.from_numpy(ctx.days.given[1])
        to_between = torch.zeros(between.shape).index_add(0, relation, torch.from_numpy(by_relation))
        return None, torch.from_numpy(to_alike), to_between, torch.from_numpy(by_gap).sum(0)


def happened(days: Days, alike: Tensor, between: Tensor, fading: Tensor) -> Tensor:
    """[queries, listed]: how much happened around t_q to each listed entity, by those whom the newcomer resembles.

    ``alike`` [queries, entities] says whom it resembles, ``between`` [2R, 2R] how much facts of a relation speak for
    r_q, ``fading`` [5] how much the days before and after count; all three as logarithms.
    """
    mass: Tensor = _Happened.apply(days, alike, between, fading)  # type: ignore[no-untyped-call]
    return mass


def reach_of(days: float) -> int:
    """Ticks before and after t_q whose facts are remembered."""
    return max(1, int(_AROUND / days))
