"""The parts of model ``plus`` besides its policy: counted, trained, saved and loaded."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fitcarl.config.schema import PlusConfig
from fitcarl.core.progress import Interrupted, OnProgress, Progress
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensor_limits import TensorLimitError
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext, Preparation
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.training import load_or_train_encoder
from fitcarl.models.plus.event_index import EVENT_INDEX, event_index
from fitcarl.models.plus.features.fitting import fit_scaling
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.reach.training import train_reach
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.models.plus.stored_checks import check_index, check_layout, check_rates, layout_of

_LOG_EVERY = 15.0
"""Seconds between two log messages about pre-training."""
_HALF = -0.7
"""About log(1/2)."""
_OF_THIS_VERSION = "a run of this version of fitcarl; train it again"

Network = TypeVar("Network", bound=nn.Module)

_log = logging.getLogger(__name__)


def count_for(config: PlusConfig, context: GraphContext) -> GraphStatistics:
    """The statistics of a background, with names if they are switched on."""
    names, graph = names_for(config, context), context.graph
    return compute_statistics(
        graph.background_facts(), graph, context.concepts, context.units_per_tick, names=names, setting=config.setting
    )


def scaling_for(
    config: PlusConfig, context: GraphContext, statistics: GraphStatistics, encoder: SupportEncoder | None
) -> FeatureScaling:
    """The feature scaling, fitted on the background."""
    size = config.policy.train_candidates
    shortlist = Shortlist(size, size // 2, config.seed)
    arguments = context.facts, context.graph, statistics, encoder, config.shots, shortlist
    return fit_scaling(*arguments, config.features.off, config.seed, config.setting)


def names_for(config: PlusConfig, context: GraphContext) -> Names:
    """The words of entity names if they are switched on, otherwise no words."""
    graph = context.graph
    return Names.from_texts(context.names, graph) if config.features.names else Names.empty(graph.entities)


def pretrain_encoder(config: PlusConfig, preparation: Preparation) -> tuple[SupportEncoder, float] | None:
    """An encoder trained without facts of pseudo-unseen entities, and the seconds its training took.

    None on other processes than the first one if it was in the cache.
    """
    context = _visible_context(preparation)
    names = names_for(config, context)
    setting = config.setting if config.encoder.contexts == "past" else "completion"
    arguments = context.graph, context.units_per_tick, names, config.encoder, config.seed, config.shots
    return load_or_train_encoder(
        *arguments,
        setting=setting,
        on_progress=_reporter("encoder", preparation),
        device=preparation.device,
        processes=preparation.processes,
    )


def pretrain_reach(config: PlusConfig, preparation: Preparation) -> tuple[ReachNetwork, float]:
    """A reach network trained without facts of pseudo-unseen entities, and the seconds its training took."""
    context, began = _visible_context(preparation), perf_counter()
    arguments = context.graph, context.units_per_tick, config.reach, config.seed, config.shots
    where = preparation.device, preparation.processes
    network = train_reach(*arguments, _reporter("reach network", preparation), *where)
    return network, perf_counter() - began


def save_network(name: str, trained: tuple[nn.Module, float] | None, preparation: Preparation) -> None:
    """The first process saves a network, and the others wait for the file."""
    artifacts = preparation.artifacts

    def save() -> None:
        assert trained is not None
        network, seconds = trained
        artifacts.write(name, network.state_dict(), {"seconds": seconds})

    preparation.processes.on_first(save, artifacts.path(name))


def _visible_context(preparation: Preparation) -> GraphContext:
    """The background without facts of pseudo-unseen entities."""
    context, facts = preparation.context, preparation.visible_facts
    if len(facts) == len(preparation.dataset.background):
        return context
    return replace(context, graph=TemporalGraph.from_facts(facts, context.graph.entities, context.graph.relations))


def _reporter(part: str, preparation: Preparation) -> OnProgress:
    """Passes progress on, logs it now and then, and stops the training if asked to."""
    logged = -math.inf

    def on_progress(update: Progress) -> None:
        nonlocal logged
        preparation.on_progress(update)
        if preparation.processes.any(preparation.should_stop()):
            raise Interrupted
        if perf_counter() - logged > _LOG_EVERY:
            logged = perf_counter()
            facts = f"{len(preparation.visible_facts):,}"
            _log.info("pre-training the %s on %s facts: update %d of %d", part, facts, update.done, update.total)

    return on_progress


def load_reach(config: PlusConfig, context: GraphContext, artifacts: Artifacts) -> ReachNetwork | None:
    """The saved reach network, if there is one."""
    if not artifacts.exists("reach"):
        return None
    weights, _ = artifacts.read("reach")
    graph = context.graph
    shapes = {"bias": (graph.entities,), "query": (graph.relations.directed, config.reach.dim)}
    return _network(ReachNetwork.from_state, weights, shapes, artifacts.path("reach"))


def load_encoder(config: PlusConfig, context: GraphContext, artifacts: Artifacts) -> SupportEncoder:
    """The saved encoder; compiled loops check no bounds, so it must have a row for every entity."""
    weights, _ = artifacts.read("encoder")
    graph, names = context.graph, names_for(config, context)
    entities, relations = graph.entities, graph.relations.directed
    shapes = {
        "entity": (entities, config.encoder.dim),
        "relation_affinity": (relations, relations),
        "word_weight": (len(names.weight) if names.used else 0,),
    }
    return _network(SupportEncoder.from_state, weights, shapes, artifacts.path("encoder"))


def _network(
    from_state: Callable[[Mapping[str, Tensor]], Network],
    weights: Mapping[str, Tensor],
    shapes: Mapping[str, tuple[int, ...]],
    file: Path,
) -> Network:
    """A network with stored weights; the tensors that its size is read from must have these shapes."""
    wrong = [name for name in weights if weights[name].dtype != torch.float32]
    wrong += [name for name, shape in shapes.items() if name not in weights or tuple(weights[name].shape) != shape]
    if wrong:
        raise InputError("does not fit the names and settings", file=file, found=wrong[0], expected=_OF_THIS_VERSION)
    try:
        return from_state(weights)
    except (KeyError, RuntimeError, ValueError, TensorLimitError):
        raise InputError("is damaged or of an older version", file=file, expected=_OF_THIS_VERSION) from None


def load_scaling(artifacts: Artifacts) -> FeatureScaling:
    file = artifacts.path("scaling")
    if not artifacts.exists("scaling"):
        raise InputError("is missing", file=file, expected=_OF_THIS_VERSION)
    stored, _ = artifacts.read("scaling")
    arrays = {name: part.numpy() for name, part in stored.items()}
    if any(array.shape != (3,) or array.dtype != np.float64 for array in arrays.values()):
        raise InputError("is damaged", file=file, expected="three numbers for each feature")
    try:
        scaling = FeatureScaling.from_arrays(arrays)
    except (KeyError, ValueError):
        raise InputError("is of another version", file=file, expected=_OF_THIS_VERSION) from None
    if not (scaling.scale > 0).all():
        raise InputError("is damaged", file=file, expected="scales above 0")
    return scaling


def load_statistics(config: PlusConfig, context: GraphContext, artifacts: Artifacts) -> GraphStatistics:
    """The saved statistics, after everything that compiled loops follow was compared with the graph."""
    stored, _ = artifacts.read("statistics")
    file, graph = artifacts.path("statistics"), context.graph
    arrays = {name: part.numpy() for name, part in stored.items()}
    if not arrays.keys() >= set(EVENT_INDEX):  # an older run; the index is a function of the graph
        arrays |= event_index(graph)
    try:
        shape = graph.relations.directed, graph.entities, len(context.concepts), len(graph.base)
        check_layout(layout_of(arrays), *shape)
        check_rates(arrays, graph.entities)
        check_index(arrays, graph)
        return GraphStatistics.from_arrays(arrays, context.concepts, names_for(config, context), context.units_per_tick)
    except KeyError:
        raise InputError("is of an older version", file=file, expected=_OF_THIS_VERSION) from None
    except ValueError as error:
        raise InputError(str(error), file=file, expected="the statistics of the run's graph") from None
