"""Joint probabilities of (relation, direction, entity): a distribution over relations times a scorer of entities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitcarl.core.arrays import Positions, offsets_of
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.relation_features import Floats
from fitcarl.models.open_queries.relation_model import most_probable
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

RELATION_MASS = 0.95
"""Relations are scored until they have this probability together."""


@dataclass(frozen=True, eq=False)
class ScoredRelations:
    """The probable relations of some entities, each with the shares of its entities."""

    history: Positions
    """int64 [relations], ascending: the history that a relation belongs to."""
    queries: Queries
    """One query per relation, the most probable relation of a history first."""
    scores: Scores
    """Scores of the entities, one row per query."""
    shares: Scores
    """Calibrated probabilities of the entities given the relation, one row per query."""


def score_relations(
    scorer: Scorer,
    task: Task,
    histories: Histories,
    log_probabilities: list[Floats],
    calibration: Calibration | None,
    mass: float = RELATION_MASS,
) -> ScoredRelations:
    """Scores the entities of the probable relations of each history, all in one batch.

    Args:
        scorer: Scores entities for a given relation.
        task: Support facts of the entities.
        histories: Entities at a tick.
        log_probabilities: float64 [histories, 2R] each: one or more distributions over relations; a relation is scored
            if it is among the probable ones of one of them.
        calibration: Converts scores to shares.
        mass: Probability of the scored relations together, at least.
    """
    chosen = [_relations(row, log_probabilities, mass) for row in range(len(histories))]
    counts = np.array([len(part) for part in chosen], dtype=np.int64)
    history = np.repeat(np.arange(len(histories)), counts)
    relation = np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int32)
    unknown = np.full(len(history), -1, dtype=np.int32)
    columns = (histories.entity[history], relation, histories.time[history], unknown, histories.before[history])
    queries = Queries(*columns)
    scores = scorer.score(Task(task.support, queries), queries)
    shares = (calibration or UNCALIBRATED).shares(scores)
    return ScoredRelations(history, queries, scores, shares)


def _relations(row: int, log_probabilities: list[Floats], mass: float) -> Positions:
    """The probable relations of a history by its first distribution, then further ones of the others."""
    found = [most_probable(distribution[row], mass) for distribution in log_probabilities]
    return np.array(list(dict.fromkeys(np.concatenate(found).tolist())), dtype=np.int64)


def joint_probabilities(scored: ScoredRelations, log_probability: Floats, histories: int) -> tuple[Positions, Floats]:
    """The listed (relation, entity) of each history with their joint probabilities.

    Args:
        scored: Scored relations.
        log_probability: float64 [histories, 2R].
        histories: Number of histories.

    Returns:
        int64 [histories + 1], where the pairs of each history start in ``scored.shares``, and float64 [pairs].
    """
    row = scored.shares.query
    probability = np.exp(log_probability[scored.history, scored.queries.relation])[row] * scored.shares.score
    return offsets_of(np.bincount(scored.history[row], minlength=histories)), probability
