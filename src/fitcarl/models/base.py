"""The interface of all trainable models: the graph they use, the training step, and the scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import Config
from fitcarl.core.arrays import with_empty_groups
from fitcarl.core.device import CPU, device_of, seeded_devices
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup
from fitcarl.core.progress import OnProgress, ShouldStop
from fitcarl.core.storage import Artifacts
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.scoring.scorer import Explainer
from fitcarl.tasks.task import Task


@dataclass(frozen=True)
class GraphContext:
    """What is known before any unseen entity appears: the background graph, the concepts and the time scale."""

    graph: TemporalGraph
    concepts: Concepts
    span: int
    """Ticks from the first timestamp to the last."""
    days_per_tick: float
    """Days per tick; 1 if timestamps are plain integers. For models whose equations are in days."""
    time_unit: float
    """Ticks per time unit, see ``data/time_scale.py``."""
    names: tuple[str, ...] = ()
    """Names of the entities; only read by models that use names."""

    @classmethod
    def from_dataset(cls, dataset: Dataset, time_unit: float | None = None) -> Self:
        """The context of a dataset's background.

        Args:
            dataset: The dataset.
            time_unit: Ticks per time unit; by default estimated from the background.
        """
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        graph = TemporalGraph.from_facts(dataset.background, entities, relations)
        unit = dataset.time_unit if time_unit is None else time_unit
        return cls.from_graph(graph, dataset.concepts, dataset.calendar, dataset.vocabulary, unit)

    @classmethod
    def from_graph(
        cls, graph: TemporalGraph, concepts: Concepts, calendar: Calendar, vocabulary: Vocabulary, time_unit: float
    ) -> Self:
        """The context of a graph that is already indexed.

        Args:
            graph: The graph.
            concepts: Concepts of its entities.
            calendar: Its times.
            vocabulary: Names of its entities and relations.
            time_unit: Ticks per time unit.
        """
        return cls(graph, concepts, calendar.span, calendar.days_per_tick, time_unit, vocabulary.entities)

    @property
    def units_per_tick(self) -> float:
        """Time units per tick."""
        return 1.0 / self.time_unit

    def with_capacity(self, extra: int) -> Self:
        """The same context with rows for ``extra`` more entities, which have no facts and no concepts."""
        base = replace(self.graph.base, offsets=with_empty_groups(self.graph.base.offsets, extra))
        graph = TemporalGraph.from_adjacency(base, self.graph.relations)
        concepts = replace(self.concepts, offsets=with_empty_groups(self.concepts.offsets, extra))
        return replace(self, graph=graph, concepts=concepts)

    @property
    def facts(self) -> Quadruples:
        """The facts of the background, each once and in its original direction."""
        return self.graph.background_facts()


@dataclass(frozen=True)
class Preparation:
    """Inputs of a new model.

    For forecasts on a chronological split these are the facts before the first meta-validation entity appears; the
    model is then refitted to the whole background by ``TrainableModel.refit_statistics``.
    """

    dataset: Dataset
    """The facts that weights may be fitted to."""
    config: Config
    context: GraphContext
    """The context of the dataset's background."""
    visible_facts: Quadruples
    """Background facts without any pseudo-unseen entity: the facts for pre-training."""
    artifacts: Artifacts
    """Where prepared tensors are saved; those that exist are used as they are."""
    on_progress: OnProgress
    should_stop: ShouldStop
    device: torch.device = CPU
    """Where pre-training runs; what it prepares is saved, and loaded on the CPU."""
    processes: ProcessGroup = ONE_PROCESS
    """The processes that prepare the model together; only the first one writes artifacts and polls alone."""


@dataclass(frozen=True)
class Episode:
    """One training step."""

    task: Task
    """The training task; empty if ``Config.task_source`` is None."""
    seed: int
    """Seed of all random choices in the episode."""
    number: int = 1
    """Episodes are numbered from 1, so that a model that is trained on facts knows which mini-batch is next."""
    processes: ProcessGroup = ONE_PROCESS
    """The processes that compute a shard of the episode each."""


@dataclass(frozen=True)
class EpisodeResult:
    """The outcome of one training step, in a distributed training that of the shard of this process."""

    loss: Tensor
    """Scalar that carries the autograd graph."""
    metrics: Mapping[str, float]
    """Further values for the trace, by name; each model has its own."""
    share: float = 1.0
    """The weight of the shard: the loss and the metrics of the episode are the weighted sums over all processes."""


class TrainableModel(Protocol):
    """A model that is trained on tasks and then scores queries."""

    artifacts: ClassVar[tuple[str, ...]]
    """Names of the artifacts that the model keeps in a run folder besides its weights."""

    module: nn.Module
    """The trained parameters."""
    preparation_seconds: float
    """Time that the preparation took, counted as training time."""

    @classmethod
    def prepare(cls, preparation: Preparation) -> Self:
        """A new, untrained model; missing artifacts are computed and saved.

        Raises:
            Interrupted: If ``should_stop`` returned True; finished artifacts are kept.
        """
        ...

    @classmethod
    def load(cls, config: Config, context: GraphContext, artifacts: Artifacts) -> Self:
        """The model with its saved artifacts and untrained weights."""
        ...

    def save_artifacts(self, artifacts: Artifacts) -> None:
        """Saves what ``load`` needs and ``prepare`` did not save."""
        ...

    def make_optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        """A new optimizer of the trained parameters; the training loop sets its learning rate in every episode."""
        ...

    def to(self, device: torch.device) -> Self:
        """The same model with its tensors on a device; this model is not changed."""
        ...

    def training_step(self, episode: Episode) -> EpisodeResult:
        """The loss of one episode: of a training task or, for models that are trained on facts, of a mini-batch.

        With several processes all random numbers are those of one process, and the loss is that of a shard.
        """
        ...

    def scorer(self, max_delta: int = 0, names: Mapping[int, str] | None = None) -> Explainer:
        """A scorer with the current weights; a model without paths returns empty lists from ``explain``.

        Args:
            max_delta: The largest time difference, in ticks, that queries may have beyond those of the background.
            names: Names of unseen entities by id.
        """
        ...

    def with_capacity(self, context: GraphContext) -> Self:
        """The same model in a context with rows for more entities."""
        ...

    def with_graph(self, graph: TemporalGraph) -> Self:
        """The same model on another graph of the same entities; its statistics stay as they are."""
        ...

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> Self:
        """The same weights on another background of the same entities, with all statistics computed on it."""
        ...

    def with_background(self, context: GraphContext, new_entities: Ids) -> Self:
        """The same weights on a background with further facts, whose further entities are the last ones.

        Args:
            context: The background, in which all statistics are computed.
            new_entities: int32, entities that had no fact before.

        Raises:
            InputError: If the model cannot answer with an entity that has no trained row.
        """
        ...

    def save_background(self, artifacts: Artifacts) -> None:
        """Saves the artifacts that depend on the background or have a row per entity."""
        ...


@runtime_checkable
class DropsBackground(Protocol):
    """A model with large tables of its background that ``TrainableModel.refit_statistics`` computes again."""

    def drop_background(self) -> None:
        """Frees the background and all that was computed on it; afterwards only ``refit_statistics`` may be called."""
        ...


def require_rows(model: str, has_row: NDArray[np.bool_], new_entities: Ids) -> None:
    """Raises an InputError unless all of these entities have a trained row.

    Args:
        model: Name of the model.
        has_row: bool [entities or fewer]; further entities have none.
        new_entities: int32, the entities.
    """
    missing = [entity for entity in new_entities.tolist() if entity >= len(has_row) or not has_row[entity]]
    if missing:
        raise InputError(
            f"the model {model} ranks answers by a trained row per entity, and new entities have none",
            found=f"{len(missing):,} new entities",
            expected="facts between known entities, or a new training with these facts",
        )


def adam(module: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """Adam with the usual moments, for ``TrainableModel.make_optimizer``."""
    return torch.optim.Adam(module.parameters(), lr=learning_rate, fused=True)


_Module = TypeVar("_Module", bound=nn.Module)


def on_device(module: _Module, device: torch.device) -> _Module:
    """A module on a device: itself if it is there, otherwise a copy; for ``TrainableModel.to``."""
    own = device_of(module)
    there = own == device or (own.type == device.type and device.index is None)
    return module if there else deepcopy(module).to(device)


@contextmanager
def seeded(seed: int, device: torch.device = CPU) -> Iterator[None]:
    """Seeds torch for the block and restores the caller's random state, of a device as well, afterwards."""
    with torch.random.fork_rng(devices=seeded_devices(device)):
        torch.manual_seed(seed)
        yield
