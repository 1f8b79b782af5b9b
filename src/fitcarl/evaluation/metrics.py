"""Numbers that sum up ranks."""

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
    """What one set of ranks comes to."""

    mrr: float
    """Mean reciprocal rank."""
    hits: dict[int, float]
    """Share of queries whose answer stands at rank k or better, for k in ``HITS``."""
    amri: float
    """Adjusted mean rank index: 1 is perfect, 0 is what scores without information get, whatever |E| is."""
    ci_low: float
    """Lower end of the 95 % interval of the MRR, by bootstrap over entities."""
    ci_high: float
    queries: int
    entities: int
    """Unseen entities that the queries are about: the sample size that the interval rests on."""

    def to_json(self) -> dict[str, float | int]:
        row: dict[str, float | int] = {"mrr": self.mrr}
        row |= {f"hits@{k}": share for k, share in self.hits.items()}
        row |= {"amri": self.amri, "ci_low": self.ci_low, "ci_high": self.ci_high}
        return row | {"queries": self.queries, "entities": self.entities}


def summarise(ranks: NDArray[np.float64], candidates: Positions, entity: Ids, seed: int = 0) -> Summary:
    """All metrics of ``ranks`` [queries], each among so many ``candidates``; ``entity`` says whom a query is about."""
    if not len(ranks):
        raise ValueError("no query to sum up")
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
    """1 − (MR − 1) / (E[MR] − 1), where E[MR] is the mean rank of a random order; 0 where there is nothing to rank."""
    expected = float(np.mean((candidates + 1) / 2))
    if expected == 1:
        return 0.0
    return 1 - (float(np.mean(ranks)) - 1) / (expected - 1)
