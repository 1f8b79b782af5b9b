"""The model ``plus`` as a trainable model: graph statistics, a frozen encoder and small policy networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.schema import Config, PlusConfig
from fitcarl.core.device import device_of
from fitcarl.core.memory import release_memory
from fitcarl.core.parallel import split_range
from fitcarl.core.stages import stage
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of
from fitcarl.core.thread_shards import sum_in_order, with_gradients
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import Episode, EpisodeResult, GraphContext, Preparation, adam, on_device, seeded
from fitcarl.models.entity_vectors import EntityVectors
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.event_index import EVENT_INDEX, event_index
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.parts import (
    count_for,
    load_encoder,
    load_reach,
    load_scaling,
    load_statistics,
    pretrain_encoder,
    pretrain_reach,
    save_network,
    scaling_for,
)
from fitcarl.models.plus.policy import PlusPolicy, log_likelihood
from fitcarl.models.plus.reach.network import COLUMNS as REACH_COLUMNS
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.reduced_index import reduced_index, removed_edges
from fitcarl.models.plus.scorer import PlusScorer
from fitcarl.models.plus.snapshots import Snapshots, StoredSnapshots
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.models.plus.stored_checks import Layout, check_layout, check_rates
from fitcarl.models.plus.threads import map_batches
from fitcarl.models.plus.timeline import Timeline
from fitcarl.tasks.task import NO_LIMIT, Queries

_QUERIES_PER_THREAD = 16
"""Training queries for which another thread is used."""
_HALF = -0.7
"""About log(1/2)."""


class PlusModel:
    """Policy networks over graph features, trained by maximum likelihood of the answer.

    The encoder and, for the setting ``forecast``, the reach network are trained and the feature scaling is fitted
    before the first episode, on background facts; all stay unchanged afterwards.
    """

    artifacts: ClassVar[tuple[str, ...]] = ("encoder", "reach", "scaling", "statistics")
    preparation_seconds = 0.0

    def __init__(
        self,
        config: PlusConfig,
        context: GraphContext,
        statistics: GraphStatistics | None = None,
        encoder: SupportEncoder | None = None,
        artifacts: Artifacts | None = None,
        reach: ReachNetwork | None = None,
    ) -> None:
        """Args:
        config: The settings.
        context: The background.
        statistics: Its statistics; computed by default.
        encoder: The trained encoder, if there is one.
        artifacts: Where snapshots of earlier statistics may be stored.
        reach: The trained reach network, if there is one.
        """
        extra = 0 if reach is None else REACH_COLUMNS
        self.module = PlusPolicy(config.policy.hidden, config.policy.hidden_candidates, config.features.off, extra)
        self._config = config.policy
        self._label, self._setting = config.label, config.setting
        self._background = context.graph
        if statistics is None:
            statistics = count_for(config, context)
            statistics = statistics.with_parts(scaling=scaling_for(config, context, statistics, encoder))
        self.statistics = statistics
        self.snapshots = self._snapshots_of(context.graph, statistics, artifacts)
        self.timeline = Timeline(statistics, self.snapshots)
        self.encoder, self.reach = encoder, reach
        self._encoder_scorer = EncoderScorer.optional(encoder, self.statistics)

    @classmethod
    def prepare(cls, preparation: Preparation) -> PlusModel:
        """Trains the networks on facts without pseudo-unseen entities, or reads them; fits the scaling."""
        config, context, artifacts = preparation.config, preparation.context, preparation.artifacts
        assert isinstance(config, PlusConfig)
        encoder, processes = None, preparation.processes
        if config.features.encoder:
            if processes.decide(not artifacts.exists("encoder")):
                save_network("encoder", pretrain_encoder(config, preparation), preparation)
                release_memory()
            encoder = on_device(load_encoder(config, context, artifacts), preparation.device)
        reach_used = config.setting == "forecast" and config.reach.used
        if reach_used and processes.decide(not artifacts.exists("reach")):
            save_network("reach", pretrain_reach(config, preparation), preparation)
        with stage("statistics"):
            statistics = count_for(config, context)
            release_memory()

        def save_scaling() -> None:
            if not artifacts.exists("scaling"):
                scaling = scaling_for(config, context, statistics, encoder)
                artifacts.write("scaling", {name: torch.from_numpy(array) for name, array in scaling.arrays().items()})

        with stage("scaling"):
            processes.on_first(save_scaling, artifacts.path("scaling"))
            release_memory()
        statistics = statistics.with_parts(scaling=load_scaling(artifacts))
        with seeded(config.seed):
            model = cls(config, context, statistics, encoder, reach=load_reach(config, context, artifacts))
        trained = [name for name in ("encoder", "reach") if artifacts.exists(name)]
        model.preparation_seconds = sum(float(artifacts.read(name)[1].get("seconds", 0.0)) for name in trained)
        return model

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> PlusModel:
        assert isinstance(config, PlusConfig)
        saved = artifacts.exists("statistics")
        statistics = load_statistics(config, context, artifacts) if saved else count_for(config, context)
        statistics = statistics.with_parts(scaling=load_scaling(artifacts))
        encoder = load_encoder(config, context, artifacts) if config.features.encoder else None
        with seeded(config.seed):
            return cls(config, context, statistics, encoder, artifacts, load_reach(config, context, artifacts))

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Saves the statistics and their snapshots, so that a loaded run does not compute them again."""
        self._save_statistics(artifacts)
        self.snapshots.save(artifacts)

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return adam(self.module, learning_rate)

    def to(self, device: torch.device) -> PlusModel:
        encoder = None if self.encoder is None else on_device(self.encoder, device)
        other = self._replace(self._background, self.statistics, encoder, self.timeline)
        other.module = on_device(self.module, device)
        other.reach = None if self.reach is None else on_device(self.reach, device)
        return other

    def training_step(self, episode: Episode) -> EpisodeResult:
        """The loss over a random subset of the task's queries, or over a shard of it."""
        task, seed = episode.task, episode.seed
        order = np.random.default_rng(seed).permutation(len(task.queries))
        queries = task.queries.take(np.sort(order[: self._config.queries_per_episode]))
        graph = self._background.with_facts(task.support.facts)
        size, shard = self._config.action_space, episode.processes.shard(len(queries))

        parameters = list(self.module.parameters())
        count = shard.rows.stop - shard.rows.start
        found: list[Tensor] = []

        def differentiate(part: _TrainingPart) -> tuple[Tensor, Tensor, tuple[Tensor | None, ...]]:
            # Candidates are sampled by the position of the query in its group, whatever the shard.
            sampled = self._config.train_candidates // 2
            shortlist = Shortlist(self._config.train_candidates, sampled, seed + part.first)
            arguments = part.statistics, part.queries, size, shortlist, self._encoder_scorer, self.reach
            actions = action_features(graph, task.support, *arguments)
            total, by_path = log_likelihood(self.module(actions), actions, part.queries.answer)
            # A separate loss term for paths: they should also explain answers that the candidates find without a path.
            loss = -(total.sum() + self._config.path_loss_weight * by_path.sum()) / count
            return total.detach(), loss.detach(), torch.autograd.grad(loss, parameters, allow_unused=True)

        def losses() -> Iterator[tuple[Tensor, tuple[Tensor | None, ...]]]:
            for total, loss, gradients in map_batches(parts, differentiate, device_of(self.module)):
                found.append(total)
                yield loss, gradients

        # Each part is differentiated by its own thread: one backward pass through all of them would add their gradients
        # in an order that depends on which thread had computed which part.
        parts = self._training_parts(queries, shard.rows)
        loss, gradients = sum_in_order(losses())
        probability = torch.cat(found)
        metrics = {
            "answer_probability": probability.exp().mean(),
            "majority_rate": (probability > _HALF).float().mean(),
        }
        values = {name: float(value) for name, value in metrics.items()}
        return EpisodeResult(with_gradients(loss, gradients, parameters), values, shard.share)

    def _training_parts(self, queries: Queries, rows: slice) -> Iterator[_TrainingPart]:
        """The queries of a shard that use the same statistics, divided among threads."""
        for statistics, group in self.timeline.groups(queries):
            first, end = np.searchsorted(group, (rows.start, rows.stop)).tolist()
            for low, high in split_range(end - first, _QUERIES_PER_THREAD) if first < end else []:
                chosen = slice(first + low, first + high)
                yield _TrainingPart(statistics, queries.take(group[chosen]), chosen.start)

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> PlusScorer:  # noqa: ARG002
        size, shortlist = self._config.action_space, self._config.shortlist
        encoder_scorer, timeline = self._encoder_scorer, self.timeline
        if names and self.statistics.names.used:
            timeline = timeline.with_names(names)
            encoder_scorer = EncoderScorer.optional(self.encoder, timeline.at(NO_LIMIT))
        parts = encoder_scorer, self._label, self.reach
        return PlusScorer(self.module, self._background, timeline, size, shortlist, *parts)

    def entity_vectors(self) -> EntityVectors:
        """The rows of the encoder, by which it ranks answers; without an encoder the spectral embedding."""
        if self._encoder_scorer is None:
            return EntityVectors.of("spectral embedding of the background", self.statistics.embedding)
        rows, known = self._encoder_scorer.answer_rows, self._encoder_scorer.trained
        return EntityVectors("answer rows of the support encoder", array_of(rows), array_of(known))

    def _snapshots_of(
        self, graph: TemporalGraph, statistics: GraphStatistics, artifacts: Artifacts | None = None
    ) -> Snapshots:
        """The statistics of a background as known earlier, counted like those of all facts."""

        index = {name: getattr(statistics, name) for name in EVENT_INDEX}  # that of a snapshot is never read

        def count(part: TemporalGraph) -> GraphStatistics:
            about = statistics.concepts, statistics.units_per_tick
            names = statistics.names.refit(part)
            found = compute_statistics(part.background_facts(), part, *about, names=names, setting=self._setting)
            return found.with_parts(**index)

        def restore(tick: int, arrays: dict[str, NDArray[Any]]) -> GraphStatistics | None:
            check_rates(arrays, len(arrays["embedding"]))
            names = statistics.names.refit(graph.before(tick)) if statistics.names.used else statistics.names
            missing = max(graph.entities - len(arrays["embedding"]), 0)  # entities that became known after the snapshot
            rows = {name: np.pad(arrays[name], ((0, missing), (0, 0))) for name in ("embedding", "entity_factors")}
            found = GraphStatistics.from_arrays(
                arrays | index | rows, statistics.concepts, names, statistics.units_per_tick
            )
            return found if found.rates_match(graph) else None

        def check(layout: Layout) -> None:
            check_layout(layout, graph.relations.directed, graph.entities, len(statistics.concepts), None)

        stored = None if artifacts is None else StoredSnapshots(artifacts, check, restore)
        return Snapshots(graph, statistics.event_time, count, stored)

    def with_capacity(self, context: GraphContext) -> PlusModel:
        extra = context.graph.entities - self._background.entities
        encoder = None if self.encoder is None else self.encoder.with_capacity(extra)
        statistics = self.statistics.with_capacity(extra)
        other = self._replace(context.graph, statistics, encoder, self.timeline.with_statistics(statistics))
        other.reach = None if self.reach is None else self.reach.with_capacity(extra)
        return other

    def with_graph(self, graph: TemporalGraph) -> PlusModel:
        """The event index is rebuilt from the graph; rates and rules are kept: a few facts hardly change them."""
        if graph.base is self._background.base:
            return self._replace(graph, self.statistics, self.encoder, self.timeline)
        removed, previous = removed_edges(self._background.base, graph.base), self.statistics
        if removed is None:
            index = event_index(graph)
        else:
            index = reduced_index({name: getattr(previous, name) for name in EVENT_INDEX}, removed, graph)
        statistics = previous.with_parts(**index)
        return self._replace(graph, statistics, self.encoder, self.timeline.with_statistics(statistics))

    def drop_background(self) -> None:
        nothing = TemporalGraph.from_facts(Quadruples.empty(), 0, self._background.relations)
        statistics = self.statistics.with_parts(**event_index(nothing))
        no_rows = {name: getattr(statistics, name)[:0].copy() for name in ("embedding", "entity_factors")}
        self._background, self.statistics, self._encoder_scorer = nothing, statistics.with_parts(**no_rows), None
        self.snapshots = self._snapshots_of(nothing, self.statistics)
        self.timeline = Timeline(self.statistics, self.snapshots)

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> PlusModel:
        previous = self.statistics
        concepts = previous.concepts if concepts is None else concepts
        return self._recounted(graph, concepts, previous.names.refit(graph), self.encoder)

    def with_background(self, context: GraphContext, new_entities: Ids) -> PlusModel:  # noqa: ARG002
        """All statistics are counted again. New entities have no trained row in the encoder, which gives them the mean
        score of the others, and the mean bias in the reach network; every other feature reads their facts."""
        previous, graph = self.statistics, context.graph
        names = Names.from_texts(context.names, graph) if previous.names.used else Names.empty(graph.entities)
        encoder, extra = self.encoder, graph.entities - self._background.entities
        if encoder is not None and extra:
            encoder = encoder.with_capacity(extra).with_words(len(names.weight))
        other = self._recounted(graph, context.concepts, names, encoder)
        other.reach = None if self.reach is None else self.reach.with_capacity(extra)
        return other

    def _recounted(
        self, graph: TemporalGraph, concepts: Concepts, names: Names, encoder: SupportEncoder | None
    ) -> PlusModel:
        """The same weights with the statistics of another background."""
        previous = self.statistics
        statistics = compute_statistics(
            graph.background_facts(), graph, concepts, previous.units_per_tick, names=names, setting=self._setting
        )
        statistics = statistics.with_parts(scaling=previous.scaling)
        snapshots = self._snapshots_of(graph, statistics)
        other = self._replace(graph, statistics, encoder, Timeline(statistics, snapshots))
        other.snapshots = snapshots
        return other

    def save_background(self, artifacts: Artifacts) -> None:
        """Saves the statistics and, if they have further rows, the encoder and the reach network.

        Stored snapshots stay in use where no earlier fact was added; others are computed when they are needed.
        """
        self._save_statistics(artifacts)
        for name, network in (("encoder", self.encoder), ("reach", self.reach)):
            if network is not None:
                rows, about = artifacts.read(name)
                if len(rows["entity"]) < len(network.entity):
                    artifacts.write(name, network.state_dict(), about)

    def _save_statistics(self, artifacts: Artifacts) -> None:
        arrays = self.statistics.arrays().items()
        artifacts.write("statistics", {name: torch.from_numpy(array) for name, array in arrays})

    def _replace(
        self, graph: TemporalGraph, statistics: GraphStatistics, encoder: SupportEncoder | None, timeline: Timeline
    ) -> PlusModel:
        other = copy(self)
        other._background, other.statistics, other.encoder, other.timeline = graph, statistics, encoder, timeline
        if statistics is not self.statistics or encoder is not self.encoder:
            other._encoder_scorer = EncoderScorer.optional(encoder, statistics)
        return other


@dataclass(frozen=True, eq=False)
class _TrainingPart:
    """Some of the queries of an episode."""

    statistics: GraphStatistics
    queries: Queries
    first: int
    """The position of the first of them among all queries that use the same statistics."""
