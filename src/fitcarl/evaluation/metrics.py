"""Metrics of ranks.

Written out because torchmetrics and scikit-learn have no realistic ranks with ties and filtered candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Ids
from fitcarl.evaluation.bootstrap import mean_interval

HITS = (1, 3, 10)


@dataclass(frozen=True)
class Summary:
    """Metrics of one set of ranks."""

    mrr: float
    """Mean reciprocal rank."""
    hits: dict[int, float]
    """Fraction of queries whose answer has rank k or better, for k in ``HITS``."""
    amri: float
    """Adjusted mean rank index: 1 is perfect, 0 is the expectation of random scores, for any |E|."""
    ci_low: float
    """Lower end of the 95 % interval of the MRR, by bootstrap over entities."""
    ci_high: float
    queries: int
    entities: int
    """Unseen entities that the queries are about: the sample size of the interval."""

    def to_json(self) -> dict[str, float | int]:
        row: dict[str, float | int] = {"mrr": self.mrr}
        row |= {f"hits@{k}": fraction for k, fraction in self.hits.items()}
        row |= {"amri": self.amri, "ci_low": self.ci_low, "ci_high": self.ci_high}
        return row | {"queries": self.queries, "entities": self.entities}


def summarise(ranks: NDArray[np.float64], candidates: Positions, entity: Ids, seed: int = 0) -> Summary:
    """All metrics of ranks.

    Args:
        ranks: float64 [queries].
        candidates: int64 [queries], the number of ranked candidates.
        entity: int32 [queries], the unseen entity of each query.
        seed: Seed of the bootstrap.
    """
    if not len(ranks):
        raise ValueError("no query to summarise")
    interval = mean_interval(entity, 1 / ranks, seed=seed)
    return Summary(
        mrr=mrr(ranks),
        hits={k: float(np.mean(ranks <= k)) for k in HITS},
        amri=amri(ranks, candidates),
        ci_low=interval.low,
        ci_high=interval.high,
        queries=len(ranks),
        entities=len(np.unique(entity)),
    )


def mrr(ranks: NDArray[np.float64]) -> float:
    """Mean reciprocal rank."""
    return float(np.mean(1 / ranks))


def amri(ranks: NDArray[np.float64], candidates: Positions) -> float:
    """1 − (MR − 1) / (E[MR] − 1) with E[MR] the expected mean rank of a random order; 0 if there is one candidate."""
    expected = float(np.mean((candidates + 1) / 2))
    if expected == 1:
        return 0.0
    return 1 - (float(np.mean(ranks)) - 1) / (expected - 1)
