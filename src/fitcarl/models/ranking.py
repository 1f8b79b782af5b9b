"""Training steps that rank the answers of a task above sampled negatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.meta_learned import RankingTrainingConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.process_group import BatchShard
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.tasks.task import Queries, Task

_RESAMPLINGS = 20
"""How often negatives that are neighbours of the unseen entity are sampled again."""


@dataclass(frozen=True, eq=False)
class RankingBatch:
    """Some unseen entities of a task with their support facts, queries and candidates."""

    entity: Ids
    """int32 [unseen], e'."""
    support: SupportFacts
    """One row per unseen entity."""
    queries: Queries
    row: Positions
    """int64 [queries]: the row of the query's entity in ``entity`` and ``support``."""
    candidate: NDArray[np.int64]
    """int64 [queries, 1 + negatives]: the answer, then the negatives."""

    @property
    def query_weight(self) -> NDArray[np.float64]:
        """float64 [queries], sums to 1: every entity has the same weight, and so has every query of an entity."""
        count = np.bincount(self.row, minlength=len(self.entity))
        return np.asarray(1 / (np.count_nonzero(count) * count[self.row]), dtype=np.float64)

    def weight_in(self, shard: BatchShard) -> NDArray[np.float64]:
        """The weights of the queries of a shard, divided by its share, by which the loss is multiplied.

        Args:
            shard: Some of the queries.
        """
        return self.query_weight[shard.rows] / (shard.share or 1.0)


def ranking_batch(
    task: Task, candidates: Ids, relations: RelationIds, config: RankingTrainingConfig, rng: np.random.Generator
) -> RankingBatch:
    """Samples entities of a task, and negatives for each of their queries.

    Queries whose answer is the unseen entity itself are left out.

    Args:
        task: A training task with answers.
        candidates: int32, entities that may be negatives; a neighbour of the unseen entity is not sampled for it.
        relations: The relation ids.
        config: The number of entities and negatives.
        rng: Source of random numbers.
    """
    queries = task.queries.take(task.queries.answer != task.queries.entity)
    rows = support_rows(task.support, queries.entity)
    with_queries = np.unique(rows)
    size = min(config.entities_per_task, len(with_queries))
    chosen = np.sort(rng.choice(with_queries, size=size, replace=False))
    queries = queries.take(np.isin(rows, chosen))
    entity = task.support.entities[chosen]
    row = np.searchsorted(chosen, support_rows(task.support, queries.entity))
    support = SupportFacts.of_entities(task.support, relations).take(chosen)
    negative = _negatives(entity, support, queries, row, candidates, config.negatives, rng)
    return RankingBatch(entity, support, queries, row, np.concatenate([queries.answer[:, None], negative], axis=1))


def _negatives(
    entity: Ids,
    support: SupportFacts,
    queries: Queries,
    row: Positions,
    candidates: Ids,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """int64 [queries, count]: candidates that are not in any fact with the query's entity."""
    size = int(max(candidates.max(), entity.max(), queries.answer.max(), support.entity.max(initial=0))) + 1
    neighbour = np.zeros((len(entity), size), dtype=np.bool_)
    neighbour[np.arange(len(entity)), entity] = True
    neighbour[np.repeat(np.arange(len(entity)), support.counts), support.entity] = True
    neighbour[row, queries.answer] = True
    negative = candidates[rng.integers(len(candidates), size=(len(queries), count))].astype(np.int64)
    for _ in range(_RESAMPLINGS):
        query, column = np.nonzero(neighbour[row[:, None], negative])
        if not len(query):
            break
        negative[query, column] = candidates[rng.integers(len(candidates), size=len(query))]
    return negative


def entities_in_training(dataset: Dataset) -> Ids:
    """int32, ascending: the entities of background and meta-train facts, which may be negatives."""
    columns = [(facts.subject, facts.object) for facts in (dataset.background, dataset.train.facts)]
    return np.unique(np.concatenate([column for pair in columns for column in pair]))


def margin_ranking_loss(scores: Tensor, weight: Tensor, margin: float) -> Tensor:
    """The weighted sum over queries of the mean of max(0, margin - score of the answer + score of a negative).

    Args:
        scores: [queries, ..., 1 + negatives], the answer first.
        weight: [queries].
        margin: The margin.

    Returns:
        A scalar.
    """
    hinge = torch.relu(margin - scores[..., :1] + scores[..., 1:])
    return (weight * hinge.flatten(1).mean(dim=1)).sum()
