"""Reliability of predicted probabilities (top-1 calibration): a share of 30 % should be right in 30 % of the cases.

Binned by quantiles with fractional hits for ties, which scikit-learn's ``calibration_curve`` does not support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.filtering import FilteredAnswers
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

BINS = 10
_SIMULATIONS = 200


def filter_known_answers(scores: Scores, queries: Queries, others: FilteredAnswers) -> Scores:
    """The scores without other true answers (as in filtered ranking) and without the query entity itself."""
    query = scores.query
    keep = ~others.contains(scores) & (scores.entity != queries.entity[query])
    counts = np.bincount(query[keep], minlength=len(scores))
    return Scores(offsets_of(counts), scores.entity[keep], scores.score[keep])


@dataclass(frozen=True, eq=False)
class TopPredictions:
    """The top prediction of each query: its share and whether it is right."""

    share: NDArray[np.float64]
    """float64 [queries]; 0 if nothing is listed."""
    right: NDArray[np.float64]
    """float64 [queries]: 1 or 0; if k entities are tied at the top and one of them is right, 1 / k."""

    @classmethod
    def of(cls, scores: Scores, queries: Queries, others: FilteredAnswers, calibration: Calibration) -> TopPredictions:
        """Top predictions after filtering.

        Without ties the mean of ``right`` is Hits@1, unless the scorer ranks the query entity first.
        """
        shares = calibration.shares(filter_known_answers(scores, queries, others))
        query, n = shares.query, len(shares)
        best = np.zeros(n)
        np.maximum.at(best, query, shares.score)
        first = shares.score == best[query]
        tied = np.bincount(query[first], minlength=n)
        hit = np.bincount(query[first & (shares.entity == queries.answer[query])], minlength=n)
        return cls(best, hit / np.maximum(tied, 1))

    @classmethod
    def empty(cls) -> TopPredictions:
        """The top predictions of no query."""
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def concat(cls, parts: Sequence[TopPredictions]) -> TopPredictions:
        return cls(np.concatenate([part.share for part in parts]), np.concatenate([part.right for part in parts]))

    def take(self, index: slice) -> TopPredictions:
        """The top predictions of some queries.

        Args:
            index: The queries.
        """
        return TopPredictions(self.share[index], self.right[index])

    def __len__(self) -> int:
        return len(self.share)


@dataclass(frozen=True)
class Bin:
    """Queries whose top predictions have similar shares."""

    share: float
    """Mean share."""
    right: float
    """Mean of ``TopPredictions.right``."""
    queries: int

    @property
    def gap(self) -> float:
        return abs(self.share - self.right)


def bins(top: TopPredictions, count: int = BINS) -> tuple[Bin, ...]:
    """Bins of (almost) equally many queries, by ascending share; fewer bins than ``count`` if there are few queries.

    Most shares are small, so bins of equal width would leave some almost empty.
    """
    order = np.argsort(top.share, kind="stable")
    parts = np.array_split(order, max(1, min(count, len(order))))
    return tuple(Bin(float(top.share[p].mean()), float(top.right[p].mean()), len(p)) for p in parts)


def calibration_error(top: TopPredictions) -> float:
    """Expected calibration error: the mean gap between share and accuracy over bins, weighted by their queries."""
    return sum(part.gap * part.queries for part in bins(top)) / len(top)


def error_by_chance(top: TopPredictions, seed: int = 0) -> float:
    """The calibration error that perfectly calibrated shares would show on these queries, by simulation."""
    rng = np.random.default_rng(seed)
    outcomes = (rng.random(len(top)) < top.share for _ in range(_SIMULATIONS))
    errors = [calibration_error(TopPredictions(top.share, right.astype(np.float64))) for right in outcomes]
    return float(np.mean(errors))
