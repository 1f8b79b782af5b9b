"""Features of every action for a query: the first hop, stopping, the second hop, and the candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.graph.actions import ActionSpace, Nearest, action_space
from fitcarl.graph.kernels import count_visible
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.candidates import (
    Candidates,
    Shortlist,
    collect_candidates,
    kernel_statistics,
    padded_support,
)
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.gaps import gap_buckets
from fitcarl.models.plus.kernels import NO_PAIR_RATE, count_objects, describe_entities, hash_rules, multiplicity
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.support import PaddedSupport, SupportFacts, query_support
from fitcarl.tasks.task import Queries

_ENTITY = 7
"""Columns that ``describe_entities`` fills; those of the hop follow."""
FIRST_HOP = _ENTITY + 9
SECOND_HOP = _ENTITY + 13
QUERY = 4
_RATE_SHIFT = 4.0
"""Added to log-shares, which are around -4, to bring them near 0."""
_DAILY_RATE_SHIFT = 6.0
"""The same for log-rates per time unit."""


@dataclass(frozen=True, eq=False)
class ActionFeatures:
    """Actions of a batch of queries, with their features."""

    entity: Ids
    """int32 [queries, K], the entities of the support facts; padding repeats the query entity."""
    relation: Ids
    """int32 [queries, K]."""
    time: Ids
    """int32 [queries, K]."""
    known: NDArray[np.bool_]
    """bool [queries, K], false on padding."""
    first_hop: NDArray[np.float32]
    """float32 [queries, K, FIRST_HOP]: features of the first hop along a support fact, and of stopping there."""
    space: ActionSpace
    """[queries × K, n + 1]: actions after the first hop; column 0 is stopping."""
    allowed: NDArray[np.bool_]
    """bool [queries × K, n + 1]: stopping, and edges that do not lead back to the query entity."""
    second_hop: NDArray[np.float32]
    """float32 [queries × K, n + 1, SECOND_HOP]; column 0 is not used."""
    candidates: Candidates
    """Candidate entities, which are scored without a path."""
    query: NDArray[np.float32]
    """float32 [queries, QUERY]: features of the choice between support facts and candidates."""

    @property
    def shots(self) -> int:
        return int(self.entity.shape[1])


def action_features(
    graph: TemporalGraph,
    support: MetaSet | SupportFacts,
    statistics: GraphStatistics,
    queries: Queries,
    action_count: int,
    shortlist: Shortlist,
    encoder_scorer: EncoderScorer | None = None,
    reach: ReachNetwork | None = None,
) -> ActionFeatures:
    """All actions of a batch of queries, with their features.

    Args:
        graph: The background with the support facts as overlay.
        support: Support facts of the query entities, or those of each query.
        statistics: Statistics of the background.
        queries: The queries.
        action_count: Edges per second hop, nearest in time to t_q.
        shortlist: How many candidates to keep.
        encoder_scorer: Scores of the encoder, if there is one.
        reach: The reach network, if there is one.
    """
    rows = query_support(support, queries, graph.relations)
    facts = padded_support(rows, queries)
    shots = facts.entity.shape[1]
    nodes, query_time = facts.entity.ravel(), np.repeat(queries.time, shots)
    visible, query = np.repeat(queries.visible_before, shots), np.repeat(np.arange(len(queries)), shots)
    space = action_space(graph, nodes, query_time, query_time, Nearest(), action_count, visible, query)
    allowed = space.mask & (space.entity != np.repeat(queries.entity, shots)[:, None])
    allowed[:, 0] = True
    return ActionFeatures(
        facts.entity,
        facts.relation,
        facts.time,
        facts.known,
        _first_hop(statistics, queries, graph, facts),
        space,
        allowed,
        _second_hop(statistics, queries, facts, space, graph),
        collect_candidates(graph, rows, statistics, queries, shortlist, encoder_scorer, reach),
        _query_features(statistics, queries, facts),
    )


def _first_hop(
    statistics: GraphStatistics, queries: Queries, graph: TemporalGraph, support: PaddedSupport
) -> NDArray[np.float32]:
    """Features of the hop along a support fact, and of stopping at its entity."""
    entity, relation, known = support.entity, support.relation, support.known
    r_q = queries.relation[:, None]
    gap = (queries.time[:, None] - support.time) * statistics.units_per_tick
    same = ((entity[:, :, None] == entity[:, None, :]) & known[:, None, :]).sum(2)
    out = np.zeros((*entity.shape, FIRST_HOP), dtype=np.float32)
    _describe(statistics, graph, queries, np.repeat(np.arange(len(queries)), entity.shape[1]), entity.ravel(), out)
    for column, feature in enumerate(
        (
            statistics.cooccurrence_rate[gap_buckets(gap), relation, r_q] + _DAILY_RATE_SHIFT,
            statistics.pair_rate[relation, r_q] + _RATE_SHIFT,
            np.log1p(np.abs(gap)),
            np.sign(gap),
            relation == r_q,
            relation == graph.relations.inverse(r_q),
            gap == 0,
            np.log(np.maximum(same, 1)),
            np.log(np.maximum(known.sum(1), 1))[:, None],
        )
    ):
        out[..., _ENTITY + column] = feature
    return out


def _query_features(statistics: GraphStatistics, queries: Queries, support: PaddedSupport) -> NDArray[np.float32]:
    """How well the support fits r_q, how near it is, and the numbers of support facts and of objects of r_q."""
    known = support.known
    rate = statistics.pair_rate[support.relation, queries.relation[:, None]]
    best = np.where(known, rate, NO_PAIR_RATE).max(1) + _RATE_SHIFT
    gap = np.abs(queries.time[:, None] - support.time) * statistics.units_per_tick
    nearest = np.where(known, gap, 1 << 20).min(1)
    facts = np.maximum(known.sum(1), 1)
    number = read_only(np.arange(len(queries)))
    asked = number, read_only(queries.relation), read_only(queries.visible_before)
    objects = count_objects(kernel_statistics(statistics).search.objects, *asked)
    return np.stack([best, np.log1p(objects), np.log(facts), np.log1p(nearest)], axis=1).astype(np.float32)


def _second_hop(
    statistics: GraphStatistics, queries: Queries, support: PaddedSupport, space: ActionSpace, graph: TemporalGraph
) -> NDArray[np.float32]:
    """Features of a second hop, given the first."""
    first_relation, first_time = support.relation.ravel(), support.time.ravel()
    query, nodes = np.repeat(np.arange(len(queries)), support.entity.shape[1]), support.entity.ravel()
    r_q, query_time = queries.relation[query][:, None], queries.time[query][:, None]
    relation = np.minimum(space.relation, graph.relations.directed - 1)  # stopping has no relation; it is not used
    out = np.zeros((*space.entity.shape, SECOND_HOP), dtype=np.float32)
    _describe(statistics, graph, queries, np.repeat(query, space.width), space.entity.ravel(), out)
    rule = np.empty(space.entity.shape, dtype=np.int64)
    directed = graph.relations.directed
    hash_rules(first_relation, relation, queries.relation[query], directed, len(statistics.rule_rate), rule)
    units = statistics.units_per_tick
    gap, between = (query_time - space.time) * units, (space.time - first_time[:, None]) * units
    times = np.empty(space.entity.shape, dtype=np.float32)
    multiplicity(space.entity, times)
    in_support = (space.entity[:, :, None] == support.entity[query][:, None, :]).any(2)
    for column, feature in enumerate(
        (
            statistics.rule_rate[rule] + _RATE_SHIFT,
            statistics.rule_tries[rule],
            statistics.second_hop_rate[relation, r_q] + _RATE_SHIFT,
            np.log1p(np.abs(gap)),
            np.sign(gap),
            gap == 0,
            np.log1p(np.abs(between)),
            relation == first_relation[:, None],
            relation == r_q,
            relation == graph.relations.inverse(r_q),
            np.log(times),
            in_support,
            np.log1p(_degrees(graph, query, nodes, queries.visible_before[query]))[:, None],
        )
    ):
        out[..., _ENTITY + column] = feature
    return out


def _describe(
    statistics: GraphStatistics,
    graph: TemporalGraph,
    queries: Queries,
    query: NDArray[np.int64],
    entity: Ids,
    out: NDArray[np.float32],
) -> None:
    """Fills the columns of the entities that the actions lead to."""
    flat = out.reshape(-1, out.shape[-1])
    arrays = kernel_statistics(statistics)
    arguments: tuple[Any, ...] = (
        *(read_only(part) for part in (queries.relation, queries.time, query, entity)),
        *(arrays.search.objects, arrays.concepts, graph.base.columns, read_only(queries.visible_before)),
        *(statistics.activity_scales, flat),
    )
    parallel_for(split_range(len(query)), lambda _, low, high: describe_entities(low, high, *arguments))


def _degrees(graph: TemporalGraph, query: NDArray[np.int64], nodes: Ids, before: Ids) -> NDArray[np.int64]:
    """int64 [states]: the number of visible background edges of each node."""
    found: NDArray[np.int64] = count_visible(graph.base.columns, read_only(query), read_only(nodes), read_only(before))
    return found
