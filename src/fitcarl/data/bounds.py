"""Bounds of the number of facts of unseen entities, chosen by the data, and how many entities they give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BENCHMARK_BOUNDS = (10, 25)
"""Minimum and maximum number of facts of an unseen entity in the published benchmarks."""
BENCHMARK_SHARE, BENCHMARK_PARTS = 0.5, (0.8, 0.1, 0.1)
"""Share of these entities that become unseen, and how they are divided into meta-train, -validation and -test."""
ENOUGH_ENTITIES = 40
"""Entities that meta-validation and meta-test should have: the interval of an MRR is then about ± .07."""
MRR_DEVIATION = 0.24
"""Standard deviation of the MRR between unseen entities. Measured with the heuristics ``mix`` and ``copy`` on
ICEWS14-OOG, 3-shot: .22 to .25; ICEWS18-OOG: .13 to .18."""

_LOWER = (8, 6, 5)
"""Smaller minimum numbers of facts, in this order; with three support facts, two queries remain."""
_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Larger maximum numbers: quantiles of the facts of entities with the minimum number or more, in this order."""
_MAX_UNSEEN_FACTS = 0.2
"""Share of all facts that unseen entities may have together if the maximum is raised."""
_MAX_PROPOSED_FACTS = 0.45
"""The same for proposals, so that about half of the facts stay in the background."""
_SHARES = (0.5, 0.7, 1.0)
"""Shares that are proposed, in this order."""
ROUNDING = 1e-9
"""Added before rounding down, so that 0.29 of 100 is 29 although 0.29 * 100 is slightly less in binary."""

Parts = tuple[float, float, float]


@dataclass(frozen=True)
class Proposal:
    """Options of a split, with the number of entities that they give."""

    low: int
    high: int
    share: float
    valid: int
    """Meta-validation entities."""
    test: int
    """Meta-test entities."""

    @property
    def smallest(self) -> int:
        """The smaller number of entities of the two groups."""
        return min(self.valid, self.test)

    def describe(self) -> str:
        """The options and what they give, in words."""
        return f"{self.options} gives {self.valid} entities for validation and {self.test} for test"

    @property
    def options(self) -> str:
        """The options of ``fitcarl data split``."""
        return f"--low {self.low} --high {self.high} --share {self.share:g}"


def half_width(entities: int) -> float:
    """The expected half-width of the 95 % interval of an MRR over this many entities: 1.96 · .24 / √n.

    Args:
        entities: Number of evaluated entities; at least one.
    """
    return 1.96 * MRR_DEVIATION / math.sqrt(entities)


def portion(count: int, share: float) -> int:
    """A share of a number, rounded down."""
    return int(count * share + ROUNDING)


def group_sizes(candidates: int, share: float, parts: Parts) -> tuple[int, int, int]:
    """How many entities become meta-train, meta-validation and meta-test entities; test gets the remainder.

    Args:
        candidates: Entities that can become unseen.
        share: Share of them that do.
        parts: Shares of the three groups.
    """
    count = portion(candidates, share)
    train, valid = portion(count, parts[0]), portion(count, parts[1])
    return train, valid, count - train - valid


def choose_bounds(counts: NDArray[np.int64], share: float, parts: Parts) -> tuple[int, int]:
    """Bounds by the data: 10 to 25 facts if that gives enough entities, otherwise wider ones.

    1. 10 to 25 if meta-validation and meta-test then have at least 40 entities each.
    2. Sparse data (no fewer entities with less than 10 facts than with more than 25): the minimum becomes 8, 6, then 5.
       Then, and in dense data at once, the maximum becomes the 10, 20, … 90 % quantile of the number of facts among
       entities with the minimum number or more; in dense data first with a minimum of 10, then of 5.
    3. The first of these that gives enough entities is used; if none does, the one that gives the most. A maximum above
       25 with which the unseen entities would have more than a fifth of all facts is left out.

    Args:
        counts: int64 [entities], number of facts of each entity.
        share: Share of the entities within the bounds that become unseen.
        parts: Shares of meta-train, meta-validation and meta-test.
    """
    best, most = BENCHMARK_BOUNDS, -1
    for bounds in _steps(counts):
        within = _within(counts, bounds)
        raised = bounds[1] > BENCHMARK_BOUNDS[1]
        if raised and share * counts[within].sum() > _MAX_UNSEEN_FACTS * counts.sum() / 2:
            continue
        found = min(group_sizes(int(within.sum()), share, parts)[1:])
        if found >= ENOUGH_ENTITIES:
            return bounds
        if found > most:
            best, most = bounds, found
    return best


def propose_options(counts: NDArray[np.int64], parts: Parts, enough: int = ENOUGH_ENTITIES) -> list[Proposal]:
    """Options that give enough entities, or the most there can be: one proposal for each share.

    Args:
        counts: int64 [entities], number of facts of each entity.
        parts: Shares of meta-train, meta-validation and meta-test.
        enough: Entities that meta-validation and meta-test should have.
    """
    found: list[Proposal] = []
    for share in _SHARES:
        best: Proposal | None = None
        for low, high in _steps(counts):
            within = _within(counts, (low, high))
            if share * counts[within].sum() > _MAX_PROPOSED_FACTS * counts.sum() / 2:
                continue
            _, valid, test = group_sizes(int(within.sum()), share, parts)
            if best is None or min(valid, test) > best.smallest:
                best = Proposal(low, high, share, valid, test)
            if best.smallest >= enough:
                break
        if best is not None and best.smallest > 0:
            found.append(best)
    return found


def _steps(counts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The bounds to try, in this order."""
    low, high = BENCHMARK_BOUNDS
    yield low, high
    sparse = np.count_nonzero((counts > 0) & (counts < low)) >= np.count_nonzero(counts > high)
    if sparse:
        yield from ((lower, high) for lower in _LOWER)
    for minimum in (_LOWER[-1],) if sparse else (low, _LOWER[-1]):
        eligible = counts[counts >= minimum]
        if len(eligible):
            raised = {math.ceil(value) for value in np.quantile(eligible, _QUANTILES)}
            yield from ((minimum, maximum) for maximum in sorted(raised) if maximum > high)


def _within(counts: NDArray[np.int64], bounds: tuple[int, int]) -> NDArray[np.bool_]:
    return (counts >= bounds[0]) & (counts <= bounds[1])
