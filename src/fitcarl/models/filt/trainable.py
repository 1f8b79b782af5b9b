"""FILT as a trainable model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding

from fitcarl.config.filt import FiltConfig
from fitcarl.config.schema import Config
from fitcarl.core.device import device_of
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, adam, on_device, require_rows, seeded
from fitcarl.models.dense_scorer import DotProductScorer
from fitcarl.models.entity_vectors import EntityVectors
from fitcarl.models.factorization.artifact import load_pretrained, save_pretrained, with_zero_rows
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.filt.concepts import ConceptMembers, concept_embeddings
from fitcarl.models.filt.network import Filt
from fitcarl.models.ranking import entities_in_training, margin_ranking_loss, ranking_batch
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.tasks.task import Queries, Task


class FiltModel:
    """ComplEx embeddings that are trained further, a time-aware encoder of support facts, and concepts."""

    artifacts: ClassVar[tuple[str, ...]] = ("embeddings",)
    preparation_seconds = 0.0

    def __init__(self, config: FiltConfig, context: GraphContext, embeddings: Embeddings) -> None:
        self._config = config
        self._days_per_tick = context.days_per_tick
        self._members = ConceptMembers.of(context.concepts)
        self.module = Filt(embeddings, len(self._members) if config.network.concepts else 0)
        self._entities_in_training: Ids = np.flatnonzero(embeddings.trained).astype(np.int32)

    @classmethod
    def prepare(cls, preparation: Preparation) -> FiltModel:
        """Pre-trains the embeddings on the background, or reads them from the cache."""
        config, artifacts = preparation.config, preparation.artifacts
        assert isinstance(config, FiltConfig)
        save_pretrained(preparation, config.embedding)
        model = cls.load(config, preparation.context, artifacts)
        model._entities_in_training = entities_in_training(preparation.dataset)
        return model

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> FiltModel:
        assert isinstance(config, FiltConfig)
        embeddings = load_pretrained(artifacts, context, config.embedding.dim)
        with seeded(config.seed):
            return cls(config, context, embeddings)

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Does nothing: ``prepare`` has saved the embeddings."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return adam(self.module, learning_rate)

    def to(self, device: torch.device) -> FiltModel:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        config, module = self._config.training, self.module
        rng = np.random.default_rng(episode.seed)
        batch = ranking_batch(episode.task, self._entities_in_training, module.relations, config, rng)
        concepts = self._training_concepts(episode.number)
        device = device_of(module)
        with seeded(episode.seed, device):
            embedded = module(
                *(batch.entity, batch.support, batch.row, batch.queries.time, self._days_per_tick, concepts),
                config.dropout,
            )
        shard = episode.processes.shard(len(batch.queries))  # the support is encoded by every process
        relation, embedded = batch.queries.relation[shard.rows], embedded[shard.rows]
        rows = torch.stack([module.query_rows(embedded, relation), module.inverse_query_rows(embedded, relation)], 1)
        scores = (embedding(tensor_of(batch.candidate[shard.rows], device), module.entity_rows) @ rows.mT).mT
        weight = tensor_of(batch.weight_in(shard), device).to(scores.dtype)
        loss = margin_ranking_loss(scores, weight, config.margin)
        beaten = (scores[:, 0, :1] > scores[:, 0, 1:]).all(dim=1)
        return EpisodeResult(loss, {"hit_rate": float(beaten.double().mean())}, shard.share)

    def _training_concepts(self, number: int) -> Tensor | None:
        """S; between two computations it is a constant of the loss."""
        encoder = self.module.concept_encoder
        if encoder is None:
            return None
        if (number - 1) % self._config.network.concepts_every:
            return encoder.embeddings
        # Rows outside of background and meta-train stay zero: the factor stops their gradient.
        rows = self.module.entity_rows
        in_training = torch.zeros(len(rows), 1, device=rows.device)
        in_training[long_tensor(self._entities_in_training, rows.device)] = 1
        concepts = concept_embeddings(rows * in_training, self._members)
        encoder.embeddings.copy_(concepts.detach())
        return concepts

    @torch.no_grad()
    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> DotProductScorer:  # noqa: ARG002
        """A scorer in float64; the concept embeddings are computed from the current rows."""
        concepts = None
        if self.module.concept_encoder is not None and len(self._members):
            concepts = concept_embeddings(self.module.entity_rows, self._members).double()
        module = deepcopy(self.module).double()

        @torch.no_grad()
        def rows(task: Task, queries: Queries) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            support = SupportFacts.of_entities(task.support, module.relations)
            row = support_rows(task.support, queries.entity)
            arguments = task.entities, support, row, queries.time, self._days_per_tick, concepts
            query_rows = module.query_rows(module(*arguments), queries.relation)
            return array_of(query_rows), array_of(module.entity_rows)

        return DotProductScorer("filt", rows)

    def entity_vectors(self) -> EntityVectors:
        """The rows of the entities; 0 for entities without background facts."""
        return EntityVectors.of("entity rows of FILT", self.module.entity_rows)

    def with_capacity(self, context: GraphContext) -> FiltModel:
        """The same model with zero rows for more entities."""
        extended = copy(self)
        extended.module = deepcopy(self.module)
        extended.module.entity_rows = with_zero_rows(self.module.entity_rows, context.graph.entities)
        return extended

    def with_graph(self, graph: TemporalGraph) -> FiltModel:  # noqa: ARG002
        """The model uses no fact but those of the support."""
        return self

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> FiltModel:  # noqa: ARG002
        """Other concepts are used; the embeddings are not refitted: they belong to the weights."""
        if concepts is None:
            return self
        other = copy(self)
        other._members = ConceptMembers.of(concepts)
        return other

    def with_background(self, context: GraphContext, new_entities: Ids) -> FiltModel:  # noqa: ARG002
        """Known entities only: an answer is compared with its trained row."""
        rows = self.module.entity_rows.detach()
        require_rows(self._config.model, array_of(rows.ne(0).any(1)), new_entities)
        return self

    def save_background(self, artifacts: Artifacts) -> None:
        """Does nothing: no entity was added."""
