"""Tiny tasks as lists of tuples, and models in which every weight has an effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch

from fitcarl.config.schema import NetworkConfig
from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.fitcarl.rollout import ConceptPrior
from fitcarl.tasks.task import Queries, Task

Fact = tuple[int, int, int, int]
REACH = 20


class Query(NamedTuple):
    """(e', r_q, ?, t_q) and its answer."""

    entity: int
    relation: int
    time: int
    answer: int


@dataclass(frozen=True)
class Tiny:
    """A task in plain Python."""

    entities: int
    relations: int
    background: list[Fact]
    support: list[tuple[int, Fact]]
    """(unseen entity, support fact), grouped by entity."""
    queries: list[Query]
    concepts: list[set[str]]
    """C_e by entity."""

    @property
    def unseen(self) -> list[int]:
        return list(dict.fromkeys(owner for owner, _ in self.support))

    @property
    def ids(self) -> RelationIds:
        return RelationIds(self.relations)

    def graph(self) -> TemporalGraph:
        return TemporalGraph.from_facts(Quadruples.from_rows(self.background), self.entities, self.ids)

    def meta(self) -> MetaSet:
        owner = np.array([owner for owner, _ in self.support], dtype=np.int32)
        return MetaSet(owner, Quadruples.from_rows([fact for _, fact in self.support]))

    def query_batch(self) -> Queries:
        return Queries(*np.array(self.queries, dtype=np.int32).reshape(-1, 4).T.copy())

    def task(self) -> Task:
        return Task(self.meta(), self.query_batch())

    def concept_prior(self) -> ConceptPrior:
        concepts = Concepts.from_pairs(
            self.entities, [(entity, name) for entity, names in enumerate(self.concepts) for name in names]
        )
        background = Quadruples.from_rows(self.background)
        return ConceptPrior(concepts, concept_distribution(background, concepts, self.ids))

    def moved(self, shift: int) -> Tiny:
        """The same task with all times shifted."""
        return self.at_times(lambda time: time + shift)

    def at_times(self, map_time: Any) -> Tiny:
        """The same task with every time t replaced by ``map_time(t)``."""
        return replace(
            self,
            background=[(s, r, o, map_time(t)) for s, r, o, t in self.background],
            support=[(owner, (s, r, o, map_time(t))) for owner, (s, r, o, t) in self.support],
            queries=[query._replace(time=map_time(query.time)) for query in self.queries],
        )


def random_task(
    seed: int, shots: tuple[int, ...] = (3, 3, 1, 2), seen: int = 7, facts: int = 26, queries: int = 2, ticks: int = 12
) -> Tiny:
    """Seen entities, then one unseen entity per number of shots; support facts may connect two unseen entities."""
    rng = np.random.default_rng(seed)
    relations, entities = 3, seen + len(shots)
    background = {
        (int(rng.integers(seen)), int(rng.integers(relations)), int(rng.integers(seen)), int(rng.integers(ticks)))
        for _ in range(facts)
    }
    support: list[tuple[int, Fact]] = []
    encoded: list[Query] = []
    for entity, count in enumerate(shots, start=seen):
        about: set[Fact] = set()
        while len(about) < count:
            other = int(rng.integers(entities))
            pair = (entity, other) if rng.random() < 0.5 else (other, entity)
            about.add((pair[0], int(rng.integers(relations)), pair[1], int(rng.integers(ticks))))
        support += [(entity, fact) for fact in sorted(about)]
        encoded += [
            Query(entity, int(rng.integers(2 * relations)), int(rng.integers(ticks)), int(rng.integers(entities)))
            for _ in range(queries)
        ]
    names = ["army", "church", "party", "press"]
    concepts = [{name for name in names if rng.random() < 0.4} for _ in range(entities)]
    return Tiny(entities, relations, sorted(background), support, encoded, concepts)


def build(task: Tiny, seed: int = 0, d: int = 4, dtype: torch.dtype = torch.float64, **config: Any) -> Fitcarl:
    """A model without weights at 0 or 1, so that every term of an equation has an effect; unseen rows are 0."""
    rng = np.random.default_rng(seed)
    entity = rng.normal(size=(task.entities, d)).astype(np.float32)
    entity[task.unseen] = 0
    embeddings: Any = SimpleNamespace(
        entity=entity, relation=rng.normal(size=(2 * task.relations, d)).astype(np.float32)
    )
    settings = {"feedforward": 6, "action_space": 50, "hops": 3} | config
    model = Fitcarl(NetworkConfig(**settings), embeddings, task.ids).to(dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ("entity_rows", "relation_rows"):
                continue
            # Scales at which [CLS], neighbours and times all have an effect after normalization
            spread = {"cls": 0.3, "position": 3.0, "omega": 1.0}.get(name.rpartition(".")[2], 0.5)
            spread = 1.5 * parameter.shape[1] ** -0.5 if parameter.ndim == 2 else spread
            middle = 1.0 if name.endswith("norm.weight") else 0.0
            parameter.copy_(torch.from_numpy(rng.normal(middle, spread, parameter.shape)))
    return model


def opened(model: Fitcarl, task: Tiny, seed: int = 0) -> tuple[TaskContext, EncodedQueries]:
    """The context of a task and its queries, encoded."""
    context = model.encode_task(task.graph(), task.meta(), REACH, seed)
    return context, model.encode_queries(context, task.query_batch())
