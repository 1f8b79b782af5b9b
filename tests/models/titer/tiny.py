"""A toy graph and a small network."""

from __future__ import annotations

import numpy as np
import torch

from fitcarl.config.titer import TiterConfig, TiterNetworkConfig, TiterSearchConfig
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.titer.policy import TiterPolicy
from fitcarl.models.titer.scorer import TiterScorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task
from tests.graph.reference import Fact

ENTITIES, RELATIONS, UNSEEN = 6, RelationIds(2), 5
FACTS: list[Fact] = [
    *((0, 0, 1, 3), (1, 1, 2, 2), (2, 0, 3, 1), (0, 1, 3, 5), (3, 0, 4, 4), (1, 0, 4, 6), (4, 1, 2, 7), (2, 1, 0, 4)),
]
SUPPORT: list[Fact] = [(UNSEEN, 0, 1, 4), (3, 1, UNSEEN, 6), (UNSEEN, 1, 2, 2)]
NETWORK = TiterNetworkConfig(entity_dim=5, time_dim=3, relation_dim=4, history_dim=6, hidden=7, hops=3, action_space=50)


def graph_of(facts: list[Fact]) -> TemporalGraph:
    return TemporalGraph.from_facts(Quadruples.from_rows(facts), ENTITIES, RELATIONS)


def policy_of(network: TiterNetworkConfig = NETWORK, days_per_tick: float = 1.0, seed: int = 0) -> TiterPolicy:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TiterPolicy(network, ENTITIES, RELATIONS, days_per_tick)


def task_of(support: list[Fact], queries: list[tuple[int, int, int]]) -> Task:
    columns = np.array(queries, dtype=np.int32).reshape(-1, 3).T
    owner = np.full(len(support), UNSEEN, dtype=np.int32)
    hidden = np.full(columns.shape[1], -1, dtype=np.int32)
    return Task(MetaSet(owner, Quadruples.from_rows(support)), Queries(*columns.copy(), hidden))


def scores_of(
    policy: TiterPolicy,
    facts: list[Fact],
    support: list[Fact],
    queries: list[tuple[int, int, int]],
    **search: float | bool,
) -> Scores:
    """Scores of queries (entity, relation, time) with a beam that keeps everything unless ``search`` says otherwise."""
    config = TiterConfig(search=TiterSearchConfig(**{"beam": 10_000, **search}))
    task = task_of(support, queries)
    return TiterScorer(policy, graph_of(facts), config).score(task, task.queries)


def as_dict(scores: Scores, query: int = 0) -> dict[int, float]:
    part = scores.take(slice(query, query + 1))
    return dict(zip(part.entity.tolist(), part.score.tolist(), strict=True))
