"""Whether shares keep their word: of first answers with a share of 30 %, about 30 % should be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.filtering import Others
from fitcarl.scoring.scores import Answers
from fitcarl.tasks.task import Queries

BINS = 10
_TRIES = 200  # of chance


def to_be_shared(answers: Answers, queries: Queries, others: Others) -> Answers:
    """The answers without ``others``, which are true too and so no mistakes, and without the actor that asks.

    The first follows the honest protocol's filter, the second what a predictor shows.
    """
    query = answers.query
    keep = ~others.among(answers) & (answers.entity != queries.entity[query])
    counts = np.bincount(query[keep], minlength=len(answers))
    return Answers(offsets_of(counts), answers.entity[keep], answers.score[keep])


@dataclass(frozen=True, eq=False)
class Firsts:
    """The first answer to each query: how likely it was said to be, and whether it is right."""

    share: NDArray[np.float64]
    """float64 [queries]; 0 where nothing is listed."""
    right: NDArray[np.float64]
    """float64 [queries]: 1 or 0; where k entities share the first place and one of them is right, 1 / k."""

    @classmethod
    def of(cls, answers: Answers, queries: Queries, others: Others, calibration: Calibration) -> Firsts:
        """First answers among those to be shared out; without ties the mean of ``right`` is then Hits@1, but for
        scorers that would have named the actor itself first."""
        shares = calibration.shares(to_be_shared(answers, queries, others))
        query, n = shares.query, len(shares)
        best = np.zeros(n)
        np.maximum.at(best, query, shares.score)
        first = shares.score == best[query]
        tied = np.bincount(query[first], minlength=n)
        hit = np.bincount(query[first & (shares.entity == queries.answer[query])], minlength=n)
        return cls(best, hit / np.maximum(tied, 1))

    @classmethod
    def concat(cls, parts: Sequence[Firsts]) -> Firsts:
        return cls(np.concatenate([part.share for part in parts]), np.concatenate([part.right for part in parts]))

    def __len__(self) -> int:
        return len(self.share)


@dataclass(frozen=True)
class Bin:
    """Queries whose first answers have similar shares."""

    share: float
    """Their mean."""
    right: float
    """How many of the first answers are right, as a share."""
    queries: int

    @property
    def gap(self) -> float:
        return abs(self.share - self.right)


def bins(firsts: Firsts, count: int = BINS) -> tuple[Bin, ...]:
    """So many bins with (almost) equally many queries each, by ascending share; fewer where queries are fewer.

    Shares crowd together at the lower end, so bins of equal width would leave some all but empty.
    """
    order = np.argsort(firsts.share, kind="stable")
    parts = np.array_split(order, max(1, min(count, len(order))))
    return tuple(Bin(float(firsts.share[p].mean()), float(firsts.right[p].mean()), len(p)) for p in parts)


def calibration_error(firsts: Firsts) -> float:
    """Expected calibration error: the mean gap between share and rightness over bins, weighted by their queries."""
    found = bins(firsts)
    return sum(part.gap * part.queries for part in found) / len(firsts)


def error_by_chance(firsts: Firsts, seed: int = 0) -> float:
    """The error that perfectly calibrated shares like these would show by chance alone, on so few queries."""
    rng = np.random.default_rng(seed)
    tries = (rng.random(len(firsts)) < firsts.share for _ in range(_TRIES))
    return float(np.mean([calibration_error(Firsts(firsts.share, right.astype(np.float64))) for right in tries]))
