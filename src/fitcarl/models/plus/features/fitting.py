"""Fits the feature scaling on the background, with queries about known entities that are held out.

Facts of the held-out entities leave the graph and the event index only. Rates, rules and the encoder have seen them,
which shift and scale tolerate; training on pseudo-unseen entities refits all statistics without those of a fold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.base import Setting
from fitcarl.data.pseudo_unseen import hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.candidates import Shortlist, feature_inputs
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.event_index import event_index
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.features.table import FEATURES, transformed
from fitcarl.models.plus.kernels import Floats
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import Task, sampled_task

_ENTITIES = 400
"""Maximum number of held-out entities; there is one query about each."""
_BATCH = 50
"""Queries whose candidates are held at once."""
_CANDIDATES = 300
"""Candidates per query on which the preselection is fitted: the answer, and a sample of the others."""
_RIDGE = 1e-3
"""Regularisation of the preselection weights, in units of one standard deviation."""
_MAX_ITERATIONS = 100
_MIN_SCALE = 1e-3
"""A feature with a smaller spread is taken as constant."""


def fit_scaling(
    facts: Quadruples,
    graph: TemporalGraph,
    statistics: GraphStatistics,
    encoder: SupportEncoder | None,
    shots: int,
    shortlist: Shortlist,
    disabled: Collection[str] = (),
    seed: int = 0,
    setting: Setting = "completion",
) -> FeatureScaling:
    """Shift, scale and preselection weights from held-out background entities.

    The preselection weights maximise the likelihood of the answer under a softmax over candidates that is linear in
    the transformed features. Shift and scale bring the features of the candidates that it selects to mean 0 and
    spread 1.

    Args:
        facts: The facts of the background.
        graph: The same facts, indexed.
        statistics: Statistics of the background.
        encoder: The encoder, if there is one.
        shots: K, the number of support facts.
        shortlist: Candidates that the policy is trained on.
        disabled: Feature families that are switched off; they do not influence the preselection.
        seed: Seed of the held-out entities and of their support facts.
        setting: What the queries may use; rates and rules are those of all facts.
    """
    rng = np.random.default_rng(seed)
    try:
        group = select_pseudo_unseen(facts, graph.entities, shots, rng, groups=1, max_entities=_ENTITIES).groups[0]
    except InputError:  # too few facts to hold any out
        return replace(FeatureScaling.unfitted(), preselection=_fit_preselection([], disabled))
    fold = hold_out_entities(facts, group, graph.entities, rng)
    task = sampled_task(fold.hidden, shots, graph.relations, rng, 1, setting)
    if not len(task.queries):
        return replace(FeatureScaling.unfitted(), preselection=_fit_preselection([], disabled))
    reduced = TemporalGraph.from_facts(fold.background, graph.entities, graph.relations)
    scaling = FeatureScaling.unfitted()
    statistics = statistics.with_parts(**event_index(reduced), scaling=scaling)
    weights = _fit_preselection(_samples(task, reduced, statistics, encoder, Shortlist(0, _CANDIDATES, seed)), disabled)
    scaling = replace(scaling, preselection=weights)
    statistics = statistics.with_parts(scaling=scaling)
    rows, answers = [], []
    for values, _, queries in _batches(task, reduced, statistics, encoder, shortlist):
        rows.append(values)
        answers += [listed == answer for answer, listed in queries]
    return replace(scaling, **_shift_and_scale(np.concatenate(rows, axis=1), np.concatenate(answers)))


def _batches(
    task: Task,
    graph: TemporalGraph,
    statistics: GraphStatistics,
    encoder: SupportEncoder | None,
    shortlist: Shortlist,
) -> Iterator[tuple[Floats, NDArray[np.float32], list[tuple[int, NDArray[np.int32]]]]]:
    """Transformed features [features, candidates] of batches of queries, the log of how many candidates each
    represents, and answer and candidates of each query."""
    overlaid = graph.with_facts(task.support.facts)
    scorer = EncoderScorer.optional(encoder, statistics)
    for low in range(0, len(task.queries), _BATCH):
        queries = task.queries.take(slice(low, low + _BATCH))
        inputs, weight = feature_inputs(overlaid, task.support, statistics, queries, shortlist, scorer)
        listed = [inputs.entity[inputs.offsets[q] : inputs.offsets[q + 1]] for q in range(len(queries))]
        yield transformed(inputs, 0, len(queries)), weight, list(zip(queries.answer.tolist(), listed, strict=True))


def _samples(
    task: Task, graph: TemporalGraph, statistics: GraphStatistics, encoder: SupportEncoder | None, shortlist: Shortlist
) -> list[tuple[Floats, float]]:
    """For every query whose answer is a candidate: [candidates, features], the answer first, and the log-weight of the
    others."""
    found = []
    for values, weight, queries in _batches(task, graph, statistics, encoder, shortlist):
        first = 0
        for answer, listed in queries:
            position, others = (first + np.flatnonzero(mask) for mask in (listed == answer, listed != answer))
            if len(position) and len(others):
                found.append((values[:, np.concatenate([position, others])].T, float(weight[others[0]])))
            first += len(listed)
    return found


def _fit_preselection(samples: list[tuple[Floats, float]], disabled: Collection[str]) -> NDArray[np.float64]:
    """float64 [features]: weights of a linear softmax over candidates, fitted to the answers."""
    weights = FeatureScaling.unfitted().preselection
    used = [column for column, f in enumerate(FEATURES) if f.preselects and f.family not in disabled]
    weights[[column for column, f in enumerate(FEATURES) if f.family in disabled]] = 0
    if not samples:
        return weights
    rows = np.nan_to_num(np.concatenate([values[:, used] for values, _ in samples]))
    center, spread = rows.mean(0), rows.std(0)
    spread = np.where(spread > _MIN_SCALE, spread, np.inf)  # a constant feature gets weight 0
    values, log_weight = _stacked([((np.nan_to_num(part[:, used]) - center) / spread, log) for part, log in samples])
    weight = torch.zeros(len(used), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=_MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        score = values @ weight + log_weight
        total: Tensor = (score.logsumexp(1) - score[:, 0]).mean() + _RIDGE * (weight**2).sum()
        total.backward()
        return total

    optimizer.step(loss)
    weights[used] = weight.detach().numpy() / spread
    return weights


def _stacked(parts: list[tuple[Floats, float]]) -> tuple[Tensor, Tensor]:
    """Values [queries, 1 + negatives, features] and log-weights of all samples; padding has log-weight -inf."""
    shape = len(parts), max(len(values) for values, _ in parts)
    values = torch.zeros(*shape, parts[0][0].shape[1], dtype=torch.float64)
    log_weight = torch.full(shape, -torch.inf, dtype=torch.float64)
    for row, (part, log) in enumerate(parts):
        values[row, : len(part)] = torch.from_numpy(part)
        log_weight[row, 0] = 0.0
        log_weight[row, 1 : len(part)] = log
    return values, log_weight


def _shift_and_scale(values: Floats, answer: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Mean of every feature over wrong candidates, and the root mean square distance from it.

    A typical candidate is near 0, and wrong candidates and answers have the same weight in the scale: a feature that
    few candidates but many answers have would otherwise be scaled by its rarity.

    Args:
        values: [features, candidates]; NaN where a value does not exist.
        answer: [candidates], whether a candidate is the answer.
    """
    shift, scale = np.zeros(len(values)), np.ones(len(values))
    for column, row in enumerate(values):
        groups = [group[~np.isnan(group)] for group in (row[~answer], row[answer])]
        if len(groups[0]):
            shift[column] = groups[0].mean()
            squares = [np.mean((group - shift[column]) ** 2) for group in groups if len(group)]
            scale[column] = np.sqrt(np.mean(squares))
    return {"shift": shift, "scale": np.where(scale > _MIN_SCALE, scale, 1.0)}
