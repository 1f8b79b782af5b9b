"""FITCARL as a trainable model: the network, its background graph and its concept regulariser."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import ClassVar

import numpy as np
import torch

from fitcarl.config.schema import Config, FitcarlConfig
from fitcarl.core.device import device_of
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of
from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, adam, on_device, seeded
from fitcarl.models.entity_vectors import EntityVectors
from fitcarl.models.factorization.artifact import load_pretrained, save_pretrained, save_zero_rows
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.fitcarl.rollout import ConceptPrior
from fitcarl.models.fitcarl.scorer import FitcarlScorer


class FitcarlModel:
    """The paper's model: pre-trained embeddings, Transformer, GRU, confidence learner, REINFORCE."""

    artifacts: ClassVar[tuple[str, ...]] = ("embeddings",)
    preparation_seconds = 0.0

    def __init__(self, config: FitcarlConfig, context: GraphContext, embeddings: Embeddings) -> None:
        self.module = Fitcarl(config.network, embeddings, context.graph.relations)
        self._config = config
        self._background = context.graph
        self._max_delta = context.span - 1
        self._concept_prior = concept_prior(context) if config.network.concepts else None

    @classmethod
    def prepare(cls, preparation: Preparation) -> FitcarlModel:
        """Pre-trains the embeddings on the background, or reads them from the cache."""
        config = preparation.config
        assert isinstance(config, FitcarlConfig)
        save_pretrained(preparation, config.embedding)
        return cls.load(config, preparation.context, preparation.artifacts)

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> FitcarlModel:
        assert isinstance(config, FitcarlConfig)
        embeddings = load_pretrained(artifacts, context, config.embedding.dim)
        with seeded(config.seed):
            return cls(config, context, embeddings)

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Does nothing: ``prepare`` has saved the embeddings."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return adam(self.module, learning_rate)

    def to(self, device: torch.device) -> FitcarlModel:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        arguments = self._config, self._concept_prior, self._max_delta, episode.seed, episode.number, episode.processes
        return run_episode(self.module, self._background, episode.task, *arguments)

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> FitcarlScorer:  # noqa: ARG002
        return FitcarlScorer(self.module, self._background, self._config, max(self._max_delta, max_delta))

    def entity_vectors(self) -> EntityVectors:
        """The rows of the entities; 0 for entities without background facts."""
        return EntityVectors.of("pre-trained ComplEx rows", self.module.entity_rows)

    def with_capacity(self, context: GraphContext) -> FitcarlModel:
        extended = self.with_graph(context.graph)
        extended.module = _with_rows(self.module, context.graph.entities - self._background.entities)
        return extended

    def with_graph(self, graph: TemporalGraph) -> FitcarlModel:
        other = copy(self)
        other._background = graph
        return other

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> FitcarlModel:  # noqa: ARG002
        """The embeddings are not refitted: they belong to the weights."""
        return self.with_graph(graph)

    def with_background(self, context: GraphContext, new_entities: Ids) -> FitcarlModel:  # noqa: ARG002
        """New entities have rows of zeros: asked about, they are encoded from their facts like unseen ones; as the
        target of an action, only relation and time distinguish them."""
        return self.with_capacity(context)

    def save_background(self, artifacts: Artifacts) -> None:
        """Adds rows of zeros to the embeddings."""
        save_zero_rows(artifacts, len(self.module.entity_rows))


def concept_prior(context: GraphContext) -> ConceptPrior:
    """C_e and P(c | r), estimated on the background."""
    concepts, relations = context.concepts, context.graph.relations
    return ConceptPrior(concepts, concept_distribution(context.facts, concepts, relations))


def _with_rows(model: Fitcarl, extra: int) -> Fitcarl:
    """The same network with ``extra`` zero rows for entities; an unseen entity is represented by its support only."""
    rows = array_of(model.entity_rows)
    rows = np.concatenate([rows, np.zeros((extra, rows.shape[1]), dtype=rows.dtype)])
    embeddings = Embeddings(rows, array_of(model.relation_rows), np.any(rows != 0, axis=1))
    with torch.random.fork_rng(devices=[]):
        extended = Fitcarl(model.config, embeddings, model.relations)
    learned = {name: value for name, value in model.state_dict().items() if name != "entity_rows"}
    extended.load_state_dict(learned, strict=False)
    return extended.to(device_of(model))
