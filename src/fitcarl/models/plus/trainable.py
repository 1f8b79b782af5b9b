"""The model ``plus`` as a trainable model: graph statistics, a frozen encoder and small policy networks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import numpy as np
import torch

from fitcarl.config.schema import Config
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import EpisodeResult, GraphContext
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import EncoderScorer, SupportEncoder
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.policy import PlusPolicy, log_likelihood
from fitcarl.models.plus.scorer import PlusScorer
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics, event_index
from fitcarl.tasks.task import Task


class PlusModel:
    """Policy networks over graph features, trained by maximum likelihood of the answer.

    The encoder is trained before the first episode, on background facts, and stays frozen.
    """

    def __init__(
        self,
        config: Config,
        context: GraphContext,
        statistics: GraphStatistics | None = None,
        encoder: SupportEncoder | None = None,
    ) -> None:
        self.module = PlusPolicy(config.policy.hidden, config.policy.hidden_candidates, config.features.off)
        self._config = config.policy
        self._background = context.graph
        self.statistics = statistics or count_for(config, context)
        self.encoder = encoder
        self._reader = EncoderScorer.optional(encoder, self.statistics)

    def training_step(self, task: Task, seed: int) -> EpisodeResult:
        """The loss over a random subset of the task's queries."""
        order = np.random.default_rng(seed).permutation(len(task.queries))
        queries = task.queries.take(np.sort(order[: self._config.queries_per_episode]))
        graph = self._background.with_facts(task.support.facts)
        shortlist = Shortlist(self._config.train_candidates, self._config.train_candidates // 2, seed)
        size = self._config.action_space
        options = action_features(graph, task.support, self.statistics, queries, size, shortlist, self._reader)
        whole, walked = log_likelihood(self.module(options), options, torch.from_numpy(queries.answer))
        # The paths have a loss term of their own: they must explain answers that the candidates alone would find.
        loss = -whole.mean() - self._config.path_loss_weight * walked.mean()
        return EpisodeResult(loss, float(whole.detach().exp().mean()), float((whole.detach() > -0.7).float().mean()))

    def scorer(self, reach: int = 0, names: Mapping[int, str] | None = None) -> PlusScorer:  # noqa: ARG002
        size, shortlist, statistics = self._config.action_space, self._config.shortlist, self.statistics
        reader = self._reader
        if names and statistics.names.used:
            statistics = statistics.with_parts(names=statistics.names.with_names(names))
            reader = EncoderScorer.optional(self.encoder, statistics)
        return PlusScorer(self.module, self._background, statistics, size, shortlist, reader)

    def with_capacity(self, context: GraphContext) -> PlusModel:
        extra = context.graph.entities - self._background.entities
        encoder = None if self.encoder is None else self.encoder.with_capacity(extra)
        return self._replace(context.graph, self.statistics.with_capacity(extra), encoder)

    def with_graph(self, graph: TemporalGraph) -> PlusModel:
        """The event index is read off the graph; rates and rules stay as they are: a few facts do not change them."""
        same = graph.base is self._background.base
        statistics = self.statistics if same else self.statistics.with_parts(**event_index(graph))
        return self._replace(graph, statistics, self.encoder)

    def refit_statistics(self, graph: TemporalGraph) -> PlusModel:
        now = self.statistics
        names = now.names.refit(graph)
        return self._replace(
            graph,
            compute_statistics(graph.background_facts(), graph, now.concepts, now.days_per_tick, names=names),
            self.encoder,
        )

    def _replace(self, graph: TemporalGraph, statistics: GraphStatistics, encoder: SupportEncoder | None) -> PlusModel:
        other = copy(self)
        other._background, other.statistics, other.encoder = graph, statistics, encoder
        if statistics is not self.statistics or encoder is not self.encoder:
            other._reader = EncoderScorer.optional(encoder, statistics)
        return other


def count_for(config: Config, context: GraphContext) -> GraphStatistics:
    """The statistics of a background, with names if they are switched on."""
    names = names_for(config, context)
    return compute_statistics(context.facts, context.graph, context.concepts, context.days, names=names)


def names_for(config: Config, context: GraphContext) -> Names:
    """The words of entity names if they are switched on, otherwise no words."""
    graph = context.graph
    return Names.from_texts(context.names, graph) if config.features.names else Names.empty(graph.entities)
