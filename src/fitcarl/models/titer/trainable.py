"""TITer as a trainable model: trained on facts of background and meta-train, answering with support facts."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from fitcarl.config.base import Config
from fitcarl.config.titer import TiterConfig
from fitcarl.core.device import device_of
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import tensor_of
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, on_device, seeded
from fitcarl.models.titer.lag_distribution import LagDistribution
from fitcarl.models.titer.policy import TiterPolicy
from fitcarl.models.titer.rollout import FactBatches, reinforce_loss, sample_walks
from fitcarl.models.titer.scorer import TiterScorer

_LAGS = "lag_distribution"


class TiterModel:
    """A policy that walks backwards in time, its background, and for training the facts to walk on."""

    artifacts: ClassVar[tuple[str, ...]] = (_LAGS,)
    preparation_seconds = 0.0

    def __init__(self, config: TiterConfig, context: GraphContext, lags: LagDistribution) -> None:
        graph = context.graph
        self.module = TiterPolicy(config.network, graph.entities, graph.relations, context.days_per_tick)
        self._config, self._background, self._lags = config, graph, lags
        self._training: tuple[TemporalGraph, FactBatches] | None = None

    @classmethod
    def prepare(cls, preparation: Preparation) -> TiterModel:
        """Indexes the facts of background and meta-train and fits the lags of each relation to them."""
        config, dataset, artifacts = preparation.config, preparation.dataset, preparation.artifacts
        assert isinstance(config, TiterConfig)
        relations = dataset.vocabulary.relation_ids
        facts = Quadruples.concat([dataset.background, dataset.train.facts]).distinct()
        graph = TemporalGraph.from_facts(facts, preparation.context.graph.entities, relations)
        directed = facts.both_directions(relations)

        def save_lags() -> None:
            if not artifacts.exists(_LAGS):
                lags = LagDistribution.fit(graph, directed, config.training.lag_bins, config.seed)
                artifacts.write(_LAGS, {"alpha": torch.from_numpy(lags.alpha)})

        preparation.processes.on_first(save_lags, artifacts.path(_LAGS))
        model = cls.load(config, preparation.context, artifacts)
        model._training = graph, FactBatches(directed, config.training.batch_size, config.seed)
        return model

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> TiterModel:
        assert isinstance(config, TiterConfig)
        shape = context.graph.relations.directed, config.training.lag_bins
        expected = {"alpha": torch.empty(shape, dtype=torch.float64, device="meta")}
        tensors, _ = artifacts.read(_LAGS, expected)
        if (tensors["alpha"] < 0).any():
            raise InputError("is damaged", file=artifacts.path(_LAGS), expected="numbers from 0")
        with seeded(config.seed):
            return cls(config, context, LagDistribution(tensors["alpha"].numpy()))

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Does nothing: ``prepare`` has saved the distribution of lags."""

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        decay = self._config.training.weight_decay
        return torch.optim.Adam(self.module.parameters(), lr=learning_rate, weight_decay=decay, fused=True)

    def to(self, device: torch.device) -> TiterModel:
        other = copy(self)
        other.module = on_device(self.module, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        if self._training is None:
            raise ValueError("a loaded model has no training facts")
        graph, batches = self._training
        queries, processes = batches.batch(episode.number), episode.processes
        shard = processes.shard(len(queries))
        generator = torch.Generator().manual_seed(episode.seed)
        walks = sample_walks(self.module, graph, queries.take(shard.rows), generator, shard)
        entity, lag = (processes.gather(torch.from_numpy(end), shard).numpy() for end in (walks.entity, walks.lag))
        hit = entity == queries.object
        shaped = hit * (1 + self._lag_probability(queries, lag, episode.seed))
        reward = tensor_of(shaped.astype(np.float32), device_of(self.module))
        loss = reinforce_loss(walks, reward, self._config.training, episode.number, shard)
        return EpisodeResult(loss, {"reward": float(reward.mean()), "hit_rate": float(hit.mean())}, shard.share)

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> TiterScorer:  # noqa: ARG002
        return TiterScorer(self.module, self._background, self._config)

    def with_capacity(self, context: GraphContext) -> TiterModel:
        """New entities get rows of zeros, towards which weight decay moves the rows of entities without facts."""
        extended = self.with_graph(context.graph)
        extended.module = deepcopy(self.module)
        rows = self.module.entity.detach()
        further = rows.new_zeros(context.graph.entities - len(rows), rows.shape[1])
        extended.module.entity = nn.Parameter(torch.cat([rows, further]))
        return extended

    def with_graph(self, graph: TemporalGraph) -> TiterModel:
        other = copy(self)
        other._background = graph
        return other

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> TiterModel:  # noqa: ARG002
        """Nothing is refitted: the distribution of lags is only used in training."""
        return self.with_graph(graph)

    def with_background(self, context: GraphContext, new_entities: Ids) -> TiterModel:  # noqa: ARG002
        """New entities get rows of zeros, as in ``with_capacity``; walks reach them through their facts."""
        return self.with_capacity(context)

    def save_background(self, artifacts: Artifacts) -> None:
        """Does nothing: the rows are weights, and the distribution of lags is only used in training."""

    def _lag_probability(self, queries: Quadruples, lag: Ids, seed: int) -> np.ndarray | float:
        """p(lag | r_q) of the end of each walk, by which the reward is shaped."""
        shaping = self._config.training.shaping
        if shaping == "off":
            return 0.0
        if shaping == "mean":
            return self._lags.mean(queries.relation, lag)
        return self._lags.sample(queries.relation, lag, np.random.default_rng([seed, 4]))
