"""From scores to shares: how likely an answer with a score is, learned from how often such answers were right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids
from fitcarl.scoring.scores import Answers

_COLDEST, _HOTTEST = 0.02, 50.0
_QUERIES = 256
_HALVINGS = 24  # of the logarithm of the temperature, between these bounds


@dataclass(frozen=True)
class Calibration:
    """How scores, which are logarithms, become shares: ``(1 - elsewhere) · exp(score / temperature)``, normalised."""

    temperature: float
    """What scores are divided by: above 1 for a scorer that is too sure of itself, below 1 for one that is too shy."""
    elsewhere: float
    """The share that is left for somebody who is not listed at all."""

    def shares(self, answers: Answers) -> Answers:
        """The same entities in the same order with their shares, which add up to ``1 - elsewhere`` in each query."""
        weight, total = _weights(answers, 1 / self.temperature)
        return Answers(answers.offsets, answers.entity, (1 - self.elsewhere) * weight / total[answers.query])

    def to_json(self) -> dict[str, float]:
        return {"temperature": self.temperature, "elsewhere": self.elsewhere}

    @classmethod
    def from_json(cls, values: Any) -> Calibration:
        """What ``to_json`` gave; ValueError where it cannot have been that."""
        try:
            found = cls(float(values["temperature"]), float(values["elsewhere"]))
        except (KeyError, TypeError) as trouble:
            raise ValueError(f"no calibration: {trouble}") from None
        if not (0 < found.temperature < np.inf and 0 <= found.elsewhere <= 1):
            raise ValueError("no calibration: the temperature must be above 0, elsewhere between 0 and 1")
        return found


PLAIN = Calibration(1.0, 0.0)
"""Takes scores for the log-probabilities they claim to be, of all there is."""


def fit(answers: Answers, answer: Ids) -> Calibration:
    """The calibration under which the right answers [queries] are most likely.

    The likelihood falls into two parts. Whether the answer is listed at all depends on ``elsewhere`` alone, whose best
    value is the share of queries where it is not (by the rule of succession, so that it is never quite 0 or 1). Which
    listed entity it is depends on the temperature alone, and its logarithm is concave in 1 / temperature.
    """
    parts = [slice(first, first + _QUERIES) for first in range(0, len(answers), _QUERIES)]  # bounds memory
    trials = [_Trial.of(answers.take(part), answer[part]) for part in parts]
    reached = sum(int(trial.reached.sum()) for trial in trials)
    elsewhere = (len(answers) - reached + 1) / (len(answers) + 2)
    low, high = np.log(_COLDEST), np.log(_HOTTEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(trial.too_sure(float(np.exp(-middle))) for trial in trials) > 0:
            low = middle
        else:
            high = middle
    return Calibration(float(np.exp((low + high) / 2)) if reached else 1.0, elsewhere)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Answers to some queries, held against the truth."""

    answers: Answers
    reached: NDArray[np.bool_]
    """bool [queries]: whether the right answer is listed."""
    truth: float
    """The scores of the right answers that are, added up."""

    @classmethod
    def of(cls, answers: Answers, answer: Ids) -> _Trial:
        right = answers.entity == answer[answers.query]
        reached = np.bincount(answers.query[right], minlength=len(answers)) > 0
        return cls(answers, reached, float(answers.score[right].sum()))

    def too_sure(self, inverse: float) -> float:
        """How much more the right answers ought to score, by shares at a temperature, than they do.

        This is the slope of the log-likelihood in 1 / temperature, turned round.
        """
        weight, total = _weights(self.answers, inverse)
        expected = np.bincount(self.answers.query, weights=weight * self.answers.score, minlength=len(total)) / total
        return float(expected[self.reached].sum()) - self.truth


def _weights(answers: Answers, inverse: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """exp(score / temperature) [listed] on a scale of each query's own, and its sums [queries] (1 where none is)."""
    some = np.diff(answers.offsets) > 0
    starts = answers.offsets[:-1][some]
    best, total = np.zeros(len(answers)), np.ones(len(answers))
    if len(starts):
        best[some] = np.maximum.reduceat(answers.score, starts)
    weight = np.exp((answers.score - best[answers.query]) * inverse)
    if len(starts):
        total[some] = np.add.reduceat(weight, starts)
    return weight, total
