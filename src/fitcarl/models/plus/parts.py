"""The parts of model ``plus`` besides its policy: counted, trained, saved and loaded."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from time import perf_counter

from torch import nn

from fitcarl.config.schema import PlusConfig
from fitcarl.core.progress import Interrupted, OnProgress, Progress
from fitcarl.core.storage import Artifacts
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

_LOG_EVERY = 15.0
"""Seconds between two log messages about pre-training."""
_HALF = -0.7
"""About log(1/2)."""
_OF_THIS_VERSION = "a run of this version of fitcarl; train it again"

_log = logging.getLogger(__name__)


def count_for(config: PlusConfig, context: GraphContext) -> GraphStatistics:
    """The statistics of a background, with names if they are switched on."""
    names = names_for(config, context)
    arguments = context.facts, context.graph, context.concepts, context.units_per_tick
    return compute_statistics(*arguments, names=names, setting=config.setting)


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


def load_reach(context: GraphContext, artifacts: Artifacts) -> ReachNetwork | None:
    """The saved reach network, if there is one."""
    if not artifacts.exists("reach"):
        return None
    weights, _ = artifacts.read("reach")
    file, graph = artifacts.path("reach"), context.graph
    try:
        network = ReachNetwork.from_state(weights)
    except (KeyError, RuntimeError, ValueError):
        raise InputError("is damaged or of an older version", file=file, expected=_OF_THIS_VERSION) from None
    if not network.matches(graph.entities, graph.relations.directed):
        raise InputError("does not fit the names", file=file, expected=f"{graph.entities} entities")
    return network


def load_encoder(config: PlusConfig, context: GraphContext, artifacts: Artifacts) -> SupportEncoder:
    """The saved encoder; compiled loops check no bounds, so it must have a row for every entity."""
    weights, _ = artifacts.read("encoder")
    file, graph = artifacts.path("encoder"), context.graph
    try:
        encoder = SupportEncoder.from_state(weights)
    except (KeyError, RuntimeError, ValueError):
        raise InputError("is damaged or of an older version", file=file, expected=_OF_THIS_VERSION) from None
    if not encoder.matches(graph.entities, graph.relations.directed, names_for(config, context)):
        raise InputError("does not fit the names", file=file, expected=f"{graph.entities} entities")
    return encoder


def load_scaling(artifacts: Artifacts) -> FeatureScaling:
    if not artifacts.exists("scaling"):
        raise InputError("is missing", file=artifacts.path("scaling"), expected=_OF_THIS_VERSION)
    stored, _ = artifacts.read("scaling")
    try:
        return FeatureScaling.from_arrays({name: part.numpy() for name, part in stored.items()})
    except (KeyError, ValueError):
        raise InputError("is of another version", file=artifacts.path("scaling"), expected=_OF_THIS_VERSION) from None


def load_statistics(config: PlusConfig, context: GraphContext, artifacts: Artifacts) -> GraphStatistics:
    stored, _ = artifacts.read("statistics")
    file, arrays = artifacts.path("statistics"), {name: part.numpy() for name, part in stored.items()}
    if not arrays.keys() >= set(EVENT_INDEX):  # an older run; the index is a function of the graph
        arrays |= event_index(context.graph)
    try:
        found = GraphStatistics.from_arrays(
            arrays, context.concepts, names_for(config, context), context.units_per_tick
        )
    except KeyError:
        raise InputError("is of an older version", file=file, expected=_OF_THIS_VERSION) from None
    except (IndexError, ValueError, TypeError):
        found = None
    if found is None or not found.matches(context.graph):
        raise InputError("does not fit the graph", file=file, hint="delete it, and the statistics are computed again")
    return found
