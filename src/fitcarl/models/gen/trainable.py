"""GEN as a trainable model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding

from fitcarl.config.gen import GenConfig
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
from fitcarl.models.gen.network import Gen
from fitcarl.models.gen.shots import training_shots, with_more_support
from fitcarl.models.gen.task_graph import row_positions
from fitcarl.models.limited import LimitedScorer
from fitcarl.models.ranking import entities_in_training, margin_ranking_loss, ranking_batch
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.tasks.task import Queries, Task


class GenModel:
    """DistMult embeddings that are trained further, and an encoder of support facts without times."""

    artifacts: ClassVar[tuple[str, ...]] = ("embeddings",)
    preparation_seconds = 0.0

    def __init__(self, config: GenConfig, embeddings: Embeddings) -> None:
        self._config = config
        self.module = Gen(embeddings, config.network.bases, config.network.transductive)
        self._entities_in_training: Ids = np.flatnonzero(embeddings.trained).astype(np.int32)

    @classmethod
    def prepare(cls, preparation: Preparation) -> GenModel:
        """Pre-trains the embeddings on the background, or reads them from the cache."""
        config, artifacts = preparation.config, preparation.artifacts
        assert isinstance(config, GenConfig)
        save_pretrained(preparation, config.embedding, "distmult")
        model = cls.load(config, preparation.context, artifacts)
        model._entities_in_training = entities_in_training(preparation.dataset)
        return model

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> GenModel:
        assert isinstance(config, GenConfig)
        embeddings = load_pretrained(artifacts, context, config.embedding.dim)
        with seeded(config.seed):
            return cls(config, embeddings)

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Does nothing: ``prepare`` has saved the embeddings."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return adam(self.module, learning_rate)

    def to(self, device: torch.device) -> GenModel:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        config, module = self._config.training, self.module
        rng = np.random.default_rng(episode.seed)
        batch = ranking_batch(episode.task, self._entities_in_training, module.relations, config, rng)
        shots = training_shots(episode.number, config.episodes, self._config.shots, config.start_shots)
        batch = with_more_support(batch, shots)
        device = device_of(module)
        with seeded(episode.seed, device):
            embedded = module(batch.entity, batch.support, config.dropout, sample=True)
        shard = episode.processes.shard(len(batch.queries))  # the support is encoded by every process
        row, relation = batch.row[shard.rows], batch.queries.relation[shard.rows]
        rows = module.query_rows(embedded[tensor_of(row, device)], relation)
        entity_rows: Tensor = module.entity_rows
        index = batch.candidate[shard.rows]
        if module.transductive is not None:
            entity_rows = module.candidate_rows(embedded)
            index = row_positions(index, batch.entity, len(module.entity_rows))
        scores = (embedding(tensor_of(index, device), entity_rows) @ rows.unsqueeze(2)).squeeze(2)
        weight = tensor_of(batch.weight_in(shard), device).to(scores.dtype)
        beaten = (scores[:, :1] > scores[:, 1:]).all(dim=1)
        loss = margin_ranking_loss(scores, weight, config.margin)
        return EpisodeResult(loss, {"hit_rate": float(beaten.double().mean())}, shard.share)

    def scorer(
        self,
        max_delta: int = 0,  # noqa: ARG002
        names: Mapping[int, str] | None = None,  # noqa: ARG002
    ) -> DotProductScorer | LimitedScorer:
        """A scorer in float64."""
        module = deepcopy(self.module).double()

        @torch.no_grad()
        def rows(task: Task, queries: Queries) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            embedded = module(task.entities, SupportFacts.of_entities(task.support, module.relations))
            candidates = module.entity_rows.detach()
            row = tensor_of(support_rows(task.support, queries.entity), candidates.device)
            if module.transductive is not None:
                candidates = candidates.index_copy(0, long_tensor(task.entities, candidates.device), embedded)
            return array_of(module.query_rows(embedded[row], queries.relation)), array_of(candidates)

        scorer = DotProductScorer("gen", rows)
        # I-GEN uses the support facts of the query entity only; T-GEN those of all unseen entities.
        return scorer if module.transductive is None else LimitedScorer(scorer, lambda _: scorer)

    def entity_vectors(self) -> EntityVectors:
        """The rows of the entities; 0 for entities without background facts."""
        return EntityVectors.of("entity rows of GEN", self.module.entity_rows)

    def with_capacity(self, context: GraphContext) -> GenModel:
        """The same model with zero rows for more entities."""
        extended = copy(self)
        extended.module = deepcopy(self.module)
        extended.module.entity_rows = with_zero_rows(self.module.entity_rows, context.graph.entities)
        return extended

    def with_graph(self, graph: TemporalGraph) -> GenModel:  # noqa: ARG002
        """The model uses no fact but those of the support."""
        return self

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> GenModel:  # noqa: ARG002
        """The embeddings are not refitted: they belong to the weights."""
        return self

    def with_background(self, context: GraphContext, new_entities: Ids) -> GenModel:  # noqa: ARG002
        """Known entities only: an answer is compared with its trained row."""
        rows = self.module.entity_rows.detach()
        require_rows(self._config.model, array_of(rows.ne(0).any(1)), new_entities)
        return self

    def save_background(self, artifacts: Artifacts) -> None:
        """Does nothing: no entity was added."""
