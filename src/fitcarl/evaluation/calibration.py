"""Calibration: conversion of scores to shares (probabilities) by a temperature and a mass for unlisted entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids
from fitcarl.scoring.scores import Scores

_MIN_TEMPERATURE, _MAX_TEMPERATURE = 0.02, 50.0
_QUERIES = 256  # per batch, which bounds memory
_BISECTIONS = 24  # of the logarithm of the temperature, between these bounds


@dataclass(frozen=True)
class Calibration:
    """Converts scores, read as logarithms, to shares: ``(1 - unlisted_mass) · softmax(score / temperature)``."""

    temperature: float
    """Divisor of the scores: above 1 for an overconfident scorer, below 1 for an underconfident one."""
    unlisted_mass: float
    """Probability that the answer is not listed at all."""

    def shares(self, scores: Scores) -> Scores:
        """The same entities in the same order with their shares, which sum to ``1 - unlisted_mass`` in each query."""
        weight, total = _weights(scores, 1 / self.temperature)
        return Scores(scores.offsets, scores.entity, (1 - self.unlisted_mass) * weight / total[scores.query])

    def to_json(self) -> dict[str, float]:
        return {"temperature": self.temperature, "unlisted_mass": self.unlisted_mass}

    @classmethod
    def from_json(cls, values: Any) -> Calibration:
        """Reads the output of ``to_json``.

        Raises:
            ValueError: If a value is missing or out of range.
        """
        try:
            found = cls(float(values["temperature"]), float(values["unlisted_mass"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no calibration: {error}") from None
        if not (0 < found.temperature < np.inf and 0 <= found.unlisted_mass <= 1):
            raise ValueError("no calibration: temperature must be above 0, unlisted_mass between 0 and 1")
        return found


UNCALIBRATED = Calibration(1.0, 0.0)
"""Softmax of the scores over the listed entities."""


def fit_calibration(scores: Scores, answer: Ids) -> Calibration:
    """The maximum-likelihood calibration for the true answers [queries].

    The likelihood has two independent factors. Whether the answer is listed depends on ``unlisted_mass`` alone; its
    estimate is the share of queries whose answer is not listed (by the rule of succession, so that it is never exactly
    0 or 1). Which listed entity is the answer depends on the temperature alone, and the log-likelihood is concave in
    1 / temperature, so bisection on its gradient is exact to ``_BISECTIONS`` bits and deterministic; a library
    optimiser would need the same gradient and depend on its version.
    """
    parts = [slice(first, first + _QUERIES) for first in range(0, len(scores), _QUERIES)]
    batches = [_LabelledScores.of(scores.take(part), answer[part]) for part in parts]
    covered = sum(int(batch.covered.sum()) for batch in batches)
    unlisted_mass = (len(scores) - covered + 1) / (len(scores) + 2)
    low, high = np.log(_MIN_TEMPERATURE), np.log(_MAX_TEMPERATURE)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if sum(batch.gradient(float(np.exp(-middle))) for batch in batches) > 0:
            low = middle
        else:
            high = middle
    return Calibration(float(np.exp((low + high) / 2)) if covered else 1.0, unlisted_mass)


@dataclass(frozen=True, eq=False)
class _LabelledScores:
    """Scores of some queries with their true answers."""

    scores: Scores
    covered: NDArray[np.bool_]
    """bool [queries]: whether the true answer is listed."""
    answer_score: float
    """Sum of the scores of the listed true answers."""

    @classmethod
    def of(cls, scores: Scores, answer: Ids) -> _LabelledScores:
        correct = scores.entity == answer[scores.query]
        covered = np.bincount(scores.query[correct], minlength=len(scores)) > 0
        return cls(scores, covered, float(scores.score[correct].sum()))

    def gradient(self, inverse_temperature: float) -> float:
        """Derivative of the negative log-likelihood with respect to 1 / temperature."""
        weight, total = _weights(self.scores, inverse_temperature)
        expected = np.bincount(self.scores.query, weights=weight * self.scores.score, minlength=len(total)) / total
        return float(expected[self.covered].sum()) - self.answer_score


def _weights(scores: Scores, inverse_temperature: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """exp((score - max) / temperature) [listed] and its sum per query [queries] (1 for queries without entities)."""
    nonempty = np.diff(scores.offsets) > 0
    starts = scores.offsets[:-1][nonempty]
    best, total = np.zeros(len(scores)), np.ones(len(scores))
    if len(starts):
        best[nonempty] = np.maximum.reduceat(scores.score, starts)
    weight = np.exp((scores.score - best[scores.query]) * inverse_temperature)
    if len(starts):
        total[nonempty] = np.add.reduceat(weight, starts)
    return weight, total
