"""Random embeddings and a random few-shot task for tests of models that use support facts only."""

from __future__ import annotations

import numpy as np

from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

ENTITIES, UNSEEN, DIM, SPAN = 12, 3, 8, 40
RELATIONS = RelationIds(3)
FIRST_UNSEEN = ENTITIES - UNSEEN


def random_embeddings(seed: int = 0) -> Embeddings:
    """Rows of all entities but the unseen ones, which are the last."""
    rng = np.random.default_rng(seed)
    trained = np.arange(ENTITIES) < FIRST_UNSEEN
    entity = rng.normal(size=(ENTITIES, DIM)).astype(np.float32) * trained[:, None]
    return Embeddings(entity, rng.normal(size=(RELATIONS.directed, DIM)).astype(np.float32), trained)


def random_concepts(seed: int = 0) -> Concepts:
    """Four concepts; each entity, unseen or not, has about two."""
    rng = np.random.default_rng([seed, 1])
    pairs = [(entity, name) for entity in range(ENTITIES) for name in "abcd" if rng.random() < 0.5]
    return Concepts.from_pairs(ENTITIES, [*pairs, (0, "a"), (1, "b"), (2, "c"), (3, "d")])


def context_of(concepts: Concepts, days_per_tick: float = 1.0) -> GraphContext:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 0)]), len(concepts.offsets) - 1, RELATIONS)
    return GraphContext(graph, concepts, SPAN, days_per_tick, time_unit=1 / days_per_tick)


def random_task(seed: int = 0, shots: int = 3, queries: int = 4) -> Task:
    """Facts of the unseen entities with known ones, at different times; half of them point to the unseen entity."""
    rng = np.random.default_rng([seed, 2])

    def facts(count: int) -> tuple[np.ndarray, Quadruples]:
        owner = np.repeat(np.arange(FIRST_UNSEEN, ENTITIES, dtype=np.int32), count)
        other = rng.integers(FIRST_UNSEEN, size=len(owner))
        subject_is_owner = rng.random(len(owner)) < 0.5
        relation, time = rng.integers(RELATIONS.count, size=len(owner)), rng.integers(SPAN, size=len(owner))
        subject, object = np.where(subject_is_owner, owner, other), np.where(subject_is_owner, other, owner)
        return owner, Quadruples.of(subject, relation, object, time)

    return Task(MetaSet(*facts(shots)), Queries.hidden(*facts(queries), RELATIONS))


def dense(scores: Scores, entities: int = ENTITIES) -> np.ndarray:
    """float64 [queries, entities]."""
    table = np.full((len(scores), entities), np.nan)
    table[scores.query, scores.entity] = scores.score
    return table
