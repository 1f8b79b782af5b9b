"""Training of MEAN and LAN on triples, and what every trained model can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import ClassVar, Self

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding

from fitcarl.config.schema import Config, LanConfig, MeanConfig
from fitcarl.core.device import device_of
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.batches import TripleBatches
from fitcarl.models.aggregation.decoder import margin_loss, translated
from fitcarl.models.aggregation.network import AggregationNetwork, NeighbourTensors
from fitcarl.models.aggregation.scorer import AggregationScorer
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, adam, on_device, require_rows, seeded
from fitcarl.models.limited import LimitedScorer


class AggregationModel(ABC):
    """A network over neighbourhoods, the graph that they are read from, and the training triples."""

    artifacts: ClassVar[tuple[str, ...]] = ()
    preparation_seconds = 0.0
    module: AggregationNetwork

    def __init__(self, config: MeanConfig | LanConfig, context: GraphContext) -> None:
        self._config, self._graph = config, context.graph
        self._batches: TripleBatches | None = None
        with seeded(config.seed):
            self.module = self.make_network(config, context.graph)

    @classmethod
    @abstractmethod
    def make_network(cls, config: MeanConfig | LanConfig, graph: TemporalGraph) -> AggregationNetwork:
        """A network with random weights for the entities and relations of a graph."""

    @classmethod
    def prepare(cls, preparation: Preparation) -> Self:
        """A model with random rows for the entities of the background and of meta-train, and zeros for all others."""
        model = cls.load(preparation.config, preparation.context, preparation.artifacts)
        dataset, config, graph = preparation.dataset, model._config, preparation.context.graph
        facts = Quadruples.concat([dataset.background, dataset.train.facts])
        model._batches = TripleBatches(
            *(facts, graph.entities, graph.relations, config.training, config.seed),
            encode_candidates=model._encodes_candidates,
        )
        trained = np.zeros(graph.entities, dtype=np.bool_)
        trained[facts.subject] = trained[facts.object] = True
        with torch.no_grad():
            model.module.entity[torch.from_numpy(~trained)] = 0
        return model

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> Self:  # noqa: ARG003
        assert isinstance(config, MeanConfig | LanConfig)
        return cls(config, context)

    def save_artifacts(self, artifacts: Artifacts) -> None:  # noqa: B027 - not abstract
        """Does nothing: a run consists of its weights and its graph."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return adam(self.module, learning_rate)

    def to(self, device: torch.device) -> Self:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        """The loss of the next mini-batch; the task of the episode is empty."""
        assert self._batches is not None, "only a prepared model is trained"
        batch, config, network = self._batches.batch(episode.number), self._config.training, self.module
        shard = episode.processes.shard(len(batch.entity))
        if shard.share < 1:
            batch = batch.take(shard.rows)
        device, relations, count = device_of(network), self._graph.relations, len(batch.entity)
        rows = NeighbourTensors.of(batch.neighbourhoods, batch.row_entities(), device)
        asked = tensor_of(batch.row_relations(relations), device)
        base = relations.base(batch.relation)
        translation = embedding(tensor_of(base, device), network.translation)
        is_tail = tensor_of(relations.is_inverse(batch.relation), device)
        vectors = network(rows, asked)
        inputs = embedding(tensor_of(batch.candidates, device), network.entity)
        candidates = vectors[count:] if self._encodes_candidates else inputs
        corrupted = tensor_of(batch.corrupted, device)
        target = translated(vectors[:count], translation, is_tail)
        output_loss = margin_loss(target, candidates, corrupted, config.margin)
        if not config.input_loss_weight:
            return EpisodeResult(output_loss, {}, shard.share)
        own = embedding(tensor_of(batch.entity, device), network.entity)
        input_loss = margin_loss(translated(own, translation, is_tail), inputs, corrupted, config.margin)
        metrics = {"output_loss": output_loss.item(), "input_loss": input_loss.item()}
        return EpisodeResult(output_loss + config.input_loss_weight * input_loss, metrics, shard.share)

    @property
    def _encodes_candidates(self) -> bool:
        return self._config.candidates.vectors == "output"

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> LimitedScorer:  # noqa: ARG002
        def make(graph: TemporalGraph) -> AggregationScorer:
            model = self if graph is self._graph else self.refit_statistics(graph)
            return AggregationScorer(model.module, graph, self._config.candidates, self._config.model)

        return LimitedScorer(make(self._graph), lambda tick: make(self._graph.before(tick)))

    def with_capacity(self, context: GraphContext) -> Self:
        """The same weights with zero rows for more entities, which are represented by their support only."""
        extended = self.with_graph(context.graph)
        extended.module = copy(self.module)
        extended.module._parameters = dict(self.module._parameters)
        extra = context.graph.entities - len(self.module.entity)
        own = self.module.entity.detach()
        rows = torch.cat([own, own.new_zeros(extra, own.shape[1])])
        extended.module.entity = nn.Parameter(rows)
        return extended

    def with_graph(self, graph: TemporalGraph) -> Self:
        other = copy(self)
        other._graph = graph
        return other

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> Self:  # noqa: ARG002
        return self.with_graph(graph)

    def with_background(self, context: GraphContext, new_entities: Ids) -> Self:
        """New entities are encoded from their neighbours, unless candidates are compared by their input rows."""
        if not self._encodes_candidates:
            require_rows(self._config.model, array_of(self.module.entity.ne(0).any(1)), new_entities)
        return self.with_capacity(context).refit_statistics(context.graph, context.concepts)

    def save_background(self, artifacts: Artifacts) -> None:  # noqa: B027 - not abstract
        """Does nothing: a run consists of its weights and its graph."""
