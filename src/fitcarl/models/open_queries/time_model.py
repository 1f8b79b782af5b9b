"""When an entity next has a fact with a given relation: a hazard over coarse intervals, and a base rate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Ids
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.relation_features import popularity
from fitcarl.models.open_queries.relation_model import RelationModel

Floats = NDArray[np.float64]

TIME_FEATURES = ("intercept", "relation", "activity", "gap", "repeat", "delay", "delay_gap", "delay_repeat")
"""What the weights of a time model belong to, in order.

relation: log-probability of the relation model; activity: logarithm of the entity's known facts per half-life; gap:
logarithm of the time since its last known fact, up to one half-life; repeat: how recent its last fact with this
relation is (1 to 0); delay: logarithm of the time from the question to the interval, alone and multiplied by gap and
repeat.
"""

_DAY = 1 / 30  # half-lives: about a month in daily data, so all features have the same scale in every granularity
_WEEK = 7 * _DAY


def intervals(horizon: int) -> Positions:
    """int64 [intervals + 1]: bounds in ticks; each interval is twice as long as the one before, the last one ends at
    the horizon."""
    bounds = [0]
    while bounds[-1] < horizon:
        bounds.append(2 * bounds[-1] + 1)
    if len(bounds) > 2 and horizon - bounds[-2] < (bounds[-2] - bounds[-3]) / 2:
        bounds.pop()  # a very short last interval is merged with the one before
    return np.array([*bounds[:-1], horizon], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TimeInputs:
    """What the time models read: for each question its relation's probability and the state of its entity."""

    popularity: Floats
    """float64 [questions]: log-share of the relation among all facts before the question."""
    features: Floats
    """float64 [questions, 5]: the features that do not depend on the delay."""
    half_life: float

    @classmethod
    def of(
        cls, index: EventIndex, histories: Histories, history: Positions, relation: Ids, model: RelationModel
    ) -> TimeInputs:
        """Inputs of questions.

        Args:
            index: Counts on the background.
            histories: Entities with their visible facts; nothing at or after ``Histories.before`` is used.
            history: int64 [questions], the history of each question.
            relation: int32 [questions], its directed relation.
            model: The relation model.
        """
        shares = np.array([popularity(index, int(before)) for before in histories.before]).reshape(-1, index.directed)
        state = np.array([_state(histories, row, model.half_life) for row in range(len(histories))]).reshape(-1, 2)
        repeat = _repeat(histories, history, relation, _WEEK * model.half_life)
        probability = model.log_probabilities(index, histories)[history, relation]
        columns = [np.ones(len(history)), probability, state[history, 0], state[history, 1], repeat]
        return cls(np.log(shares[history, relation]), np.stack(columns, axis=1), model.half_life)

    def __len__(self) -> int:
        return len(self.popularity)

    def offset(self, bounds: Positions) -> Floats:
        """float64 [intervals]: logarithm of the width of each interval in half-lives."""
        return np.log(np.diff(bounds) / self.half_life)

    def delay(self, bounds: Positions) -> Floats:
        """float64 [intervals]: mean logarithm of the delay of the ticks of each interval."""
        day = max(_DAY * self.half_life, 1e-9)
        return np.array([np.log1p(np.arange(low, high) / day).mean() for low, high in pairwise(bounds.tolist())])


@dataclass(frozen=True)
class TimeModel:
    """Expected events of a relation in an interval: exp(features · weights), times the width of the interval."""

    weights: tuple[float, ...]
    """One weight per feature of ``TIME_FEATURES``."""
    scale: float = 1.0
    """Factor of the expected events, fitted on meta-validation."""

    def log_expected(self, inputs: TimeInputs, bounds: Positions) -> Floats:
        """float64 [questions, intervals]: logarithm of the expected number of events in each interval."""
        design = time_design(inputs, bounds)
        expected: Floats = np.log(self.scale) + inputs.offset(bounds) + design @ np.array(self.weights)
        return expected

    def probabilities(self, inputs: TimeInputs, bounds: Positions) -> Floats:
        """float64 [questions, intervals + 1], sums to 1: the first event is in each interval, or in none of them."""
        return first_event(self.log_expected(inputs, bounds))

    def to_json(self) -> dict[str, Any]:
        return {"weights": dict(zip(TIME_FEATURES, self.weights, strict=True)), "scale": self.scale}

    @classmethod
    def from_json(cls, values: Any) -> TimeModel:
        """Reads the output of ``to_json``.

        Raises:
            ValueError: If a value is missing or out of range.
        """
        try:
            found = cls(tuple(float(values["weights"][name]) for name in TIME_FEATURES), float(values["scale"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no time model: {error}") from None
        if not np.isfinite(found.weights).all() or not 0 < found.scale < np.inf:
            raise ValueError("no time model: weights must be finite, scale above 0")
        return found


@dataclass(frozen=True)
class BaseRate:
    """A constant rate per relation (Poisson): its share of all facts before the question, times a common rate."""

    rate: float
    """Facts of a new entity per half-life."""

    def log_expected(self, inputs: TimeInputs, bounds: Positions) -> Floats:
        """float64 [questions, intervals]: logarithm of the expected number of events in each interval."""
        expected: Floats = np.log(self.rate) + inputs.popularity[:, None] + inputs.offset(bounds)
        return expected

    def probabilities(self, inputs: TimeInputs, bounds: Positions) -> Floats:
        """float64 [questions, intervals + 1], sums to 1: the first event is in each interval, or in none of them."""
        return first_event(self.log_expected(inputs, bounds))


def first_event(log_expected: Floats) -> Floats:
    """float64 [questions, intervals + 1]: probability that the first event is in each interval, or in none."""
    total = np.cumsum(np.exp(np.minimum(log_expected, 30.0)), axis=1)
    survival = np.exp(-np.concatenate([np.zeros((len(total), 1)), total], axis=1))
    probability: Floats = np.concatenate([survival[:, :-1] - survival[:, 1:], survival[:, -1:]], axis=1)
    return probability


def time_design(inputs: TimeInputs, bounds: Positions) -> Floats:
    """float64 [questions, intervals, features]: the features of ``TIME_FEATURES``."""
    delay = inputs.delay(bounds)
    fixed = np.broadcast_to(inputs.features[:, None, :], (len(inputs), len(delay), inputs.features.shape[1]))
    alone = np.broadcast_to(delay[None, :, None], (len(inputs), len(delay), 1))
    design: Floats = np.concatenate([fixed, alone, fixed[:, :, 3:5] * alone], axis=2)
    return design


def _state(histories: Histories, row: int, half_life: float) -> tuple[float, float]:
    """Log of the known facts per half-life, and of the days since the last one, at most a half-life."""
    time, before = histories.facts_of(row)[2], int(histories.before[row])
    first, last = (int(time.min()), int(time.max())) if len(time) else (before, before - 1)
    known = max(len(time), 1) / ((before - first) / half_life + 0.25)
    gap = min(before - 1 - last, half_life)  # longer ones are not among the questions that the weights are fitted on
    return float(np.log(known)), float(np.log1p(gap / (_DAY * half_life)))


def _repeat(histories: Histories, history: Positions, relation: Ids, half_life: float) -> Floats:
    """float64 [questions]: weight of the last known fact with the same relation, 0 if there is none."""
    out = np.zeros(len(history))
    for question, (row, asked) in enumerate(zip(history.tolist(), relation.tolist(), strict=True)):
        known, _, time = histories.facts_of(row)
        if (same := time[known == asked]).size:
            out[question] = 0.5 ** ((int(histories.before[row]) - int(same.max())) / half_life)
    return out
