"""The factorization models as trainable models: one trainer for all score functions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import ClassVar

import torch

from fitcarl.config.factorization import (
    BiqueConfig,
    ComplexConfig,
    FactorizationConfig,
    TelmConfig,
    TelmTrainingConfig,
    TeroConfig,
    TntComplexConfig,
)
from fitcarl.config.schema import Config
from fitcarl.core.device import device_of
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, on_device, require_rows
from fitcarl.models.entity_vectors import EntityVectors
from fitcarl.models.factorization.adagrad import RestartedAdagrad
from fitcarl.models.factorization.batches import MiniBatches
from fitcarl.models.factorization.bique import BiQUE
from fitcarl.models.factorization.complex import ComplEx
from fitcarl.models.factorization.objective import Objective, TableModule
from fitcarl.models.factorization.scorer import FactorizationScorer, frozen
from fitcarl.models.factorization.seen_facts import SeenFacts, training_facts
from fitcarl.models.factorization.softmax import SoftmaxObjective
from fitcarl.models.factorization.telm import TeLM
from fitcarl.models.factorization.tero import TeroObjective
from fitcarl.models.factorization.tntcomplex import TNTComplEx


def objective_of(config: FactorizationConfig) -> Objective:
    """The training objective of a model."""
    match config:
        case ComplexConfig():
            return SoftmaxObjective(ComplEx(), config)
        case BiqueConfig():
            return SoftmaxObjective(BiQUE(), config)
        case TntComplexConfig():
            return SoftmaxObjective(TNTComplEx(), config)
        case TelmConfig():
            return SoftmaxObjective(TeLM(), config)
        case TeroConfig():
            return TeroObjective(config)
    raise ValueError(f"{config.model} is no factorization model")


class FactorizationModel:
    """Embedding tables that are trained on facts; an episode is one mini-batch."""

    artifacts: ClassVar[tuple[str, ...]] = ("seen_facts",)
    preparation_seconds = 0.0

    def __init__(
        self, config: FactorizationConfig, graph: TemporalGraph, seen: SeenFacts, facts: Quadruples | None = None
    ) -> None:
        self._config, self._graph, self._seen = config, graph, seen
        self._objective = objective_of(config)
        sizes = len(seen.entity), graph.relations.directed, len(seen.ticks)
        generator = torch.Generator().manual_seed(config.seed)
        self.module = TableModule(self._objective.initial_tables(*sizes, generator))
        self._batches = (
            None if facts is None else MiniBatches(facts, seen, self._objective.temporal, graph.relations, config)
        )

    @classmethod
    def prepare(cls, preparation: Preparation) -> FactorizationModel:
        """Chooses the training facts by ``sees`` and records them."""
        config = preparation.config
        assert isinstance(config, FactorizationConfig)
        facts, seen = training_facts(preparation.dataset, config)
        preparation.processes.on_first(lambda: seen.write(preparation.artifacts))
        return cls(config, preparation.context.graph, seen, facts)

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> FactorizationModel:
        assert isinstance(config, FactorizationConfig)
        seen = SeenFacts.read(artifacts, context.graph.entities, context.graph.relations.count)
        return cls(config, context.graph, seen)

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Does nothing: ``prepare`` has saved the record of training facts."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        training = self._config.training
        first_stage = training.first_stage if isinstance(training, TelmTrainingConfig) else 0
        return RestartedAdagrad(self.module.parameters(), learning_rate, first_stage)

    def to(self, device: torch.device) -> FactorizationModel:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        assert self._batches is not None
        generator = torch.Generator().manual_seed(episode.seed)
        self._objective.begin_episode(self.module.tables, episode.number, generator)
        batch = self._batches.get(episode.number, device_of(self.module))
        shard = episode.processes.shard(len(batch.queries.entity))
        loss, metrics = self._objective.loss(self.module.tables, batch, generator, shard)
        share = shard.share and float(batch.weight[batch.answers_of(shard)].sum() / batch.weight.sum())
        return EpisodeResult(loss, {**metrics, "epoch": episode.number / self._batches.per_epoch}, share)

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> FactorizationScorer:  # noqa: ARG002
        tables = frozen(self.module.tables)
        return FactorizationScorer(self._objective, tables, self._seen, self._graph, self._config)

    def entity_vectors(self) -> EntityVectors:
        """The trained rows of the entities."""
        return EntityVectors(f"entity rows of {self._config.model}", array_of(self.module.entity), self._seen.entity)

    def with_capacity(self, context: GraphContext) -> FactorizationModel:
        """New entities have no row until a task's support facts give them one."""
        return self.with_graph(context.graph)

    def with_graph(self, graph: TemporalGraph) -> FactorizationModel:
        other = copy(self)
        other._graph = graph
        return other

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> FactorizationModel:  # noqa: ARG002
        """There are no statistics: everything is in the weights."""
        return self.with_graph(graph)

    def with_background(self, context: GraphContext, new_entities: Ids) -> FactorizationModel:
        """Known entities only: an answer is scored by its trained row."""
        require_rows(self._config.model, self._seen.entity, new_entities)
        return self.with_graph(context.graph)

    def save_background(self, artifacts: Artifacts) -> None:
        """Does nothing: no entity was added."""
