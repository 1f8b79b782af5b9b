"""Results of evaluations that leave the relation or the time open, each beside base-rate models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Ids
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.metrics import Summary, summarise
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.reliability import TopPredictions, calibration_error, error_by_chance
from fitcarl.evaluation.signature import Signature

Floats = NDArray[np.float64]

RELATION_FILTER = "other true facts of the entity at t_q are removed from the candidates"


@dataclass(frozen=True, eq=False)
class RankedProbabilities:
    """Ranks and probabilities of the true alternatives, and the top predictions."""

    ranks: Ranks
    probability: Floats
    """float64 [queries], of the true alternative, after filtering."""
    top: TopPredictions

    @classmethod
    def concat(cls, parts: Sequence[RankedProbabilities]) -> RankedProbabilities:
        return cls(
            Ranks.concat([part.ranks for part in parts]),
            np.concatenate([part.probability for part in parts]),
            TopPredictions.concat([part.top for part in parts]),
        )

    @property
    def log_loss(self) -> Floats:
        """float64 [queries]."""
        loss: Floats = -np.log(self.probability)
        return loss


@dataclass(frozen=True)
class RankedSummary:
    """Metrics of ranked alternatives."""

    ranking: Summary
    log_loss: Interval
    ece: float
    ece_by_chance: float

    @classmethod
    def of(cls, found: RankedProbabilities, entity: Ids, seed: int) -> RankedSummary:
        ranks = found.ranks
        return cls(
            summarise(ranks.of("realistic"), ranks.candidates, entity, seed=seed),
            mean_interval(entity, found.log_loss, seed=seed),
            calibration_error(found.top),
            error_by_chance(found.top, seed),
        )

    def to_json(self) -> dict[str, Any]:
        return self.ranking.to_json() | {
            "log_loss": interval_to_json(self.log_loss),
            "ece": self.ece,
            "ece_by_chance": self.ece_by_chance,
        }


@dataclass(frozen=True, eq=False)
class RelationRow:
    """One model of relations, multiplied by the same scorer of entities."""

    name: str
    answer: RankedProbabilities
    """Ranks of (relation, direction, entity) among all of them."""
    relation: RankedProbabilities
    """Ranks of (relation, direction) among the 2R directed relations."""


@dataclass(frozen=True, eq=False)
class OpenRelationReport:
    """How well (relation, direction, entity) of the next fact is predicted; the first row is the fitted model."""

    scorer: str
    signature: Signature
    entity: Ids
    """int32 [queries], the unseen entity of each query."""
    rows: tuple[RelationRow, ...]
    mass: float
    """Relations are scored until they have this probability together; the others are tied last."""
    relations_scored: float
    """Mean number of directed relations that were scored per entity and tick."""
    seconds: float
    seed: int = 0

    def summary(self, row: RelationRow) -> tuple[RankedSummary, RankedSummary]:
        """Metrics of the answers and of the relations alone."""
        return tuple(RankedSummary.of(part, self.entity, self.seed) for part in (row.answer, row.relation))  # type: ignore[return-value]

    def differences(self, row: RelationRow) -> dict[str, Interval]:
        """The fitted model minus another row, paired by query, by bootstrap over entities."""
        found = {}
        for name in ("answer", "relation"):
            own, other = getattr(self.rows[0], name), getattr(row, name)
            gain = 1 / own.ranks.of("realistic") - 1 / other.ranks.of("realistic")
            found[f"{name}_mrr"] = mean_interval(self.entity, gain, seed=self.seed)
            found[f"{name}_log_loss"] = mean_interval(self.entity, own.log_loss - other.log_loss, seed=self.seed)
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "open": "relation",
            "scorer": self.scorer,
            "rows": [self._row_to_json(row) for row in self.rows],
            "filter": RELATION_FILTER,
            "mass": self.mass,
            "relations_scored": self.relations_scored,
            "queries": len(self.entity),
            "entities": len(np.unique(self.entity)),
            "signature": str(self.signature),
            "seconds": self.seconds,
        }

    def _row_to_json(self, row: RelationRow) -> dict[str, Any]:
        answer, relation = self.summary(row)
        base = {} if row is self.rows[0] else {"fitted_minus_this": _to_json(self.differences(row))}
        return {"relation_model": row.name, "answer": answer.to_json(), "relation": relation.to_json()} | base


@dataclass(frozen=True, eq=False)
class OpenTimeReport:
    """How well the time of the next fact with a given relation is predicted, beside a base rate."""

    signature: Signature
    entity: Ids
    """int32 [questions], the unseen entity of each question."""
    interval: Positions
    """int64 [questions], the interval of the first event; the number of intervals if there is none."""
    bounds: Positions
    """int64 [intervals + 1], ticks from the question."""
    fitted: Floats
    """float64 [questions, intervals + 1], probabilities of the fitted model; the last column is no event."""
    base: Floats
    """float64 [questions, intervals + 1], probabilities of the base rate."""
    unit: str
    """The plural name of a tick's unit."""
    seconds: float
    seed: int = 0

    @property
    def within(self) -> NDArray[np.bool_]:
        """bool [questions]: whether there is an event within the horizon."""
        return self.interval < len(self.bounds) - 1

    def losses(self, probability: Floats) -> dict[str, Floats]:
        """float64 [questions] each: log-loss, Brier score, and the log-loss of whether there is an event at all."""
        row = np.arange(len(self.interval))
        occurred = np.zeros_like(probability)
        occurred[row, self.interval] = 1
        none = probability[:, -1]
        whether = np.where(self.within, -np.log(np.maximum(1 - none, 1e-300)), -np.log(np.maximum(none, 1e-300)))
        return {
            "log_loss": -np.log(np.maximum(probability[row, self.interval], 1e-300)),
            "brier": np.square(probability - occurred).sum(axis=1),
            "log_loss_whether": whether,
        }

    def summary(self, probability: Floats, minus: Floats | None = None) -> dict[str, Interval]:
        """Means with intervals over entities, of one model or of its difference to another.

        ``log_loss_when`` is the log-loss of the interval among the questions with an event, given that there is one.
        """
        own = self.losses(probability)
        if minus is not None:
            other = self.losses(minus)
            own = {name: value - other[name] for name, value in own.items()}
        found = {name: mean_interval(self.entity, value, seed=self.seed) for name, value in own.items()}
        if self.within.any():
            when = (own["log_loss"] - own["log_loss_whether"])[self.within]
            found["log_loss_when"] = mean_interval(self.entity[self.within], when, seed=self.seed)
        return found

    @property
    def better(self) -> bool:
        """Whether the log-loss of the fitted model is below that of the base rate (interval excludes 0)."""
        return self.summary(self.fitted, self.base)["log_loss"].high < 0

    def to_json(self) -> dict[str, Any]:
        rows = [("fitted", self.fitted), ("base-rate", self.base)]
        return {
            "open": "time",
            "rows": [{"time_model": name} | _to_json(self.summary(value)) for name, value in rows],
            "fitted_minus_base_rate": _to_json(self.summary(self.fitted, self.base)),
            "better_than_base_rate": self.better,
            "intervals": [
                {
                    "from": int(self.bounds[number]),
                    "to": int(self.bounds[number + 1]),
                    "events": int(np.count_nonzero(self.interval == number)),
                    "expected": float(self.fitted[:, number].sum()),
                    "expected_base_rate": float(self.base[:, number].sum()),
                }
                for number in range(len(self.bounds) - 1)
            ],
            "unit": self.unit,
            "questions": len(self.entity),
            "events": int(self.within.sum()),
            "entities": len(np.unique(self.entity)),
            "signature": str(self.signature),
            "seconds": self.seconds,
        }


def interval_to_json(interval: Interval) -> dict[str, float]:
    """Mean and ends of an interval."""
    return {"mean": interval.mean, "ci_low": interval.low, "ci_high": interval.high}


def _to_json(intervals: dict[str, Interval]) -> dict[str, Any]:
    return {name: interval_to_json(interval) for name, interval in intervals.items()}
