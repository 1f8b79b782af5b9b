"""How long before a fact its object was seen: a Dirichlet distribution over lags for every relation.

For a fact (s, r, o, t), the occurrences of o are counted at every lag before t. The counts of the facts of r are taken
as draws from multinomial distributions whose parameters are draws from Dirichlet(α_r); α_r maximises their likelihood
(fixed-point iteration, Minka 2000, "Estimating a Dirichlet distribution").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Groups
from fitcarl.core.compiled import array_function
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.kernels import EdgeColumns, lower_bound
from fitcarl.graph.temporal import TemporalGraph

MAX_FACTS = 256
"""Facts per relation that the distribution is fitted to, chosen at random."""
_ITERATIONS, _TOLERANCE = 200, 1e-5


@dataclass(frozen=True, eq=False)
class LagDistribution:
    """Dirichlet parameters over lags, by relation; a lag beyond the table has probability 0."""

    alpha: NDArray[np.float64]
    """float64 [2R, bins], 0 where no object was ever seen at that lag; all 0 for a relation without facts."""

    @classmethod
    def fit(cls, graph: TemporalGraph, facts: Quadruples, bins: int, seed: int) -> LagDistribution:
        """The distributions of directed facts; occurrences are counted in the graph, with both ends of a fact."""
        groups = Groups.of(facts.relation.astype(np.int64))
        rng = np.random.default_rng([seed, 2])
        alpha = np.zeros((graph.relations.directed, bins))
        start, size = groups.find(np.arange(graph.relations.directed, dtype=np.int64))
        for relation in np.flatnonzero(size):
            members = groups.order[start[relation] : start[relation] + size[relation]]
            chosen = facts.take(rng.choice(members, min(MAX_FACTS, len(members)), replace=False))
            alpha[relation] = fit_dirichlet(count_lags(graph.base.columns, chosen.object, chosen.time, bins))
        return cls(alpha)

    def mean(self, relation: Ids, lag: Ids) -> NDArray[np.float64]:
        """float64 [facts]: the expected probability of each lag."""
        part, total = self._parameters(relation, lag)
        return np.divide(part, total, out=np.zeros(len(part)), where=part > 0)

    def sample(self, relation: Ids, lag: Ids, rng: np.random.Generator) -> NDArray[np.float64]:
        """float64 [facts]: the probability of each lag in a draw from the distribution, one draw per fact."""
        part, total = self._parameters(relation, lag)
        alone = (part > 0) & (part >= total)  # all of the mass is on this lag
        safe = (part > 0) & ~alone
        drawn = rng.beta(np.where(safe, part, 1), np.where(safe, total - part, 1))  # the marginal of one coordinate
        return np.where(safe, drawn, alone.astype(np.float64))

    def _parameters(self, relation: Ids, lag: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """α of the lag, 0 beyond the table, and the sum of all α of the relation."""
        bins = self.alpha.shape[1]
        part = np.where(lag < bins, self.alpha[relation, np.minimum(lag, bins - 1)], 0.0)
        return part, self.alpha.sum(1)[relation]


@array_function()
def count_lags(edges: EdgeColumns, entity: NDArray[np.int32], time: NDArray[np.int32], bins: int) -> NDArray[np.int64]:
    """int64 [facts, bins]: edges of each entity at each lag before each time; lag 0 is not counted."""
    counts = np.zeros((len(entity), bins), dtype=np.int64)
    for i in range(len(entity)):
        low, high = edges.offsets[entity[i]], edges.offsets[entity[i] + 1]
        now = int(time[i])
        for position in range(
            lower_bound(edges.time, low, high, now - bins + 1), lower_bound(edges.time, low, high, now)
        ):
            counts[i, now - edges.time[position]] += 1
    return counts


def fit_dirichlet(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64 [bins]: the α that maximises the likelihood of the counts, [draws, bins]; 0 where all counts are 0."""
    totals = counts.sum(1)
    if not totals.any():
        return np.zeros(counts.shape[1])
    used = counts[totals > 0]
    start = (used / used.sum(1, keepdims=True)).mean(0)
    alpha: NDArray[np.float64] = _fixed_point(used, used.sum(1), start, _ITERATIONS, _TOLERANCE)
    return alpha


@array_function()
def _fixed_point(
    counts: NDArray[np.int64], totals: NDArray[np.int64], start: NDArray[np.float64], iterations: int, tolerance: float
) -> NDArray[np.float64]:
    """α_k ← α_k Σᵢ(ψ(n_ik + α_k) - ψ(α_k)) / Σᵢ(ψ(n_i + s) - ψ(s)) with s = Σ α, until it moves little."""
    draws, bins = counts.shape
    highest = np.zeros(bins, dtype=np.int64)
    for i in range(draws):
        for k in range(bins):
            highest[k] = max(highest[k], counts[i, k])
    above = np.zeros((bins, highest.max()), dtype=np.int64)  # draws with a count above j
    for i in range(draws):
        for k in range(bins):
            for j in range(counts[i, k]):
                above[k, j] += 1
    alpha = start.copy()
    for _ in range(iterations):
        s, below, moved = alpha.sum(), 0.0, 0.0
        for i in range(draws):
            below += _digamma(totals[i] + s) - _digamma(s)
        for k in range(bins):
            total = 0.0
            for j in range(highest[k]):  # ψ(n + α) - ψ(α) = Σ_{j < n} 1 / (α + j)
                total += above[k, j] / (alpha[k] + j)
            after = alpha[k] * total / below
            moved += abs(after - alpha[k])
            alpha[k] = after
        if moved < tolerance * s:
            break
    return alpha


@array_function()
def _digamma(x: float) -> Any:
    """ψ(x) for x > 0: recurrence up to 6, then the asymptotic series."""
    value = 0.0
    while x < 6:
        value -= 1 / x
        x += 1
    square = 1 / (x * x)
    return value + np.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
