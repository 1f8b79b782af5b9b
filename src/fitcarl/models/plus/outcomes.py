"""Outcomes of the policy of model ``plus``: where paths and candidates of a batch of queries end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.tensors import array_of
from fitcarl.data.quadruples import Ids
from fitcarl.models.plus.action_features import ActionFeatures
from fitcarl.models.plus.policy import LogProbs
from fitcarl.scoring.scores import Scores

MIN_PROBABILITY = 1e-300
"""The least sum of probabilities, so that it has a logarithm."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every outcome of a batch of queries, by a path or by a candidate, as flat columns."""

    query: NDArray[np.int64]
    shot: NDArray[np.int64]
    """The support fact of the first hop; -1 for a candidate without a path."""
    column: NDArray[np.int64]
    """The action of the second hop; 0 for stopping."""
    entity: Ids
    score: NDArray[np.float64]
    """Log-probability."""

    @classmethod
    def from_policy(cls, actions: ActionFeatures, log_probs: LogProbs) -> Outcomes:
        """The outcomes of a batch with their log-probabilities."""
        queries, shots = actions.entity.shape
        query, shot = np.nonzero(actions.known)
        state, column = np.nonzero(actions.allowed[:, 1:] & actions.known.reshape(-1, 1))
        column = column + 1
        of_candidate = np.repeat(np.arange(queries), np.diff(actions.candidates.offsets))
        no_shot = np.full(len(of_candidate), -1)
        ends = actions.entity[query, shot], actions.space.entity[state, column], actions.candidates.entity
        return cls(
            np.concatenate([query, state // shots, of_candidate]),
            np.concatenate([shot, state % shots, no_shot]),
            np.concatenate([np.zeros_like(query), column, np.zeros_like(of_candidate)]),
            np.concatenate(ends),
            np.concatenate(
                [
                    array_of(log_probs.stop)[query, shot],
                    array_of(log_probs.second_hop).reshape(queries * shots, -1)[state, column],
                    array_of(log_probs.candidates),
                ]
            ).astype(np.float64),
        )

    def summed(self, queries: int, entities: int, row: NDArray[np.int64] | None = None) -> Scores:
        """The log of the total probability of each entity that outcomes end at.

        Args:
            queries: Number of queries of the result.
            entities: Number of entities.
            row: int64 [queries of the batch]: the query of the result; the same by default.
        """
        query = self.query if row is None else row[self.query]
        found = Scores.summed(query, self.entity, np.exp(self.score), queries, entities)
        return Scores(found.offsets, found.entity, np.log(np.maximum(found.score, MIN_PROBABILITY)))
