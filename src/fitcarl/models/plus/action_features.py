"""Every choice an agent has for a query, with its features: the first step, stopping, the second step, the crowd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.graph.actions import ActionSpace, Nearest, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.candidates import Candidates, Shortlist, candidates, support_table
from fitcarl.models.plus.encoder.network import EncoderScorer
from fitcarl.models.plus.kernels import describe_entities, hash_rules, multiplicity
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import Queries

ENTITY = 7
FIRST = ENTITY + 9
SECOND = ENTITY + 13
QUERY = 4


@dataclass(frozen=True, eq=False)
class ActionFeatures:
    """What can be done for a batch of queries."""

    entity: Ids
    """int32 [queries, K], where the support's edges lead; padding repeats the asking entity."""
    relation: Ids
    """int32 [queries, K]."""
    time: Ids
    """int32 [queries, K]."""
    known: NDArray[np.bool_]
    """bool [queries, K], false on padding."""
    first: NDArray[np.float32]
    """float32 [queries, K, FIRST]: features of going there, and of stopping there."""
    space: ActionSpace
    """[queries × K, n + 1]: actions from there; column 0 is stopping."""
    open: NDArray[np.bool_]
    """bool [queries × K, n + 1]: stopping, and edges that do not lead back to the asking entity."""
    second: NDArray[np.float32]
    """float32 [queries × K, n + 1, SECOND]; column 0 is not used."""
    crowd: Candidates
    """Everybody whom anything speaks for."""
    query: NDArray[np.float32]
    """float32 [queries, QUERY]."""

    @property
    def shots(self) -> int:
        return int(self.entity.shape[1])


def crowd_sizes(statistics: GraphStatistics, queries: Queries) -> NDArray[np.int64]:
    """int64 [queries]: how many entities anybody ever met through each query's relation."""
    return statistics.relation_offsets[queries.relation + 1] - statistics.relation_offsets[queries.relation]


def action_features(
    graph: TemporalGraph,
    support: MetaSet,
    statistics: GraphStatistics,
    queries: Queries,
    size: int,
    shortlist: Shortlist,
    reader: EncoderScorer | None = None,
) -> ActionFeatures:
    """Everything that could be done, on the background with its supports laid over it."""
    known, entity, relation, time = support_table(graph, support, queries)
    shots = entity.shape[1]
    nodes, now = entity.ravel(), np.repeat(queries.time, shots)
    space = action_space(graph, nodes, now, now, Nearest(), size)
    allowed = space.mask & (space.entity != np.repeat(queries.entity, shots)[:, None])
    allowed[:, 0] = True
    return ActionFeatures(
        entity,
        relation,
        time,
        known,
        _first(statistics, queries, graph, entity, relation, time, known),
        space,
        allowed,
        _second(statistics, queries, relation.ravel(), time.ravel(), entity, space, graph),
        candidates(graph, support, statistics, queries, shortlist, reader),
        _query(statistics, queries, relation, time, known),
    )


def _first(
    statistics: GraphStatistics,
    queries: Queries,
    graph: TemporalGraph,
    entity: Ids,
    relation: Ids,
    time: Ids,
    known: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Features of going along a known fact, and of stopping where it leads."""
    asked = queries.relation[:, None]
    gap = (queries.time[:, None] - time) * statistics.days_per_tick
    same = ((entity[:, :, None] == entity[:, None, :]) & known[:, None, :]).sum(2)
    out = np.zeros((*entity.shape, FIRST), dtype=np.float32)
    _describe(statistics, queries, np.repeat(np.arange(len(queries)), entity.shape[1]), entity.ravel(), out)
    for place, feature in enumerate(
        (
            statistics.follows[gap_buckets(gap), relation, asked] + 6,
            statistics.ever[relation, asked] + 4,
            np.log1p(np.abs(gap)),
            np.sign(gap),
            relation == asked,
            relation == graph.relations.inverse(asked),
            gap == 0,
            np.log(np.maximum(same, 1)),
            np.log(np.maximum(known.sum(1), 1))[:, None],
        )
    ):
        out[..., ENTITY + place] = feature
    return out


def _query(
    statistics: GraphStatistics, queries: Queries, relation: Ids, time: Ids, known: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """What speaks for or against asking the crowd: how well the support fits r_q, and how much there is of either."""
    best = np.where(known, statistics.ever[relation, queries.relation[:, None]], -12).max(1) + 4
    gap = np.abs(queries.time[:, None] - time) * statistics.days_per_tick
    nearest = np.where(known, gap, 1 << 20).min(1)
    facts, crowd = np.maximum(known.sum(1), 1), crowd_sizes(statistics, queries)
    return np.stack([best, np.log1p(crowd), np.log(facts), np.log1p(nearest)], axis=1).astype(np.float32)


def _second(
    statistics: GraphStatistics,
    queries: Queries,
    first_relation: Ids,
    first_time: Ids,
    reached: Ids,
    space: ActionSpace,
    graph: TemporalGraph,
) -> NDArray[np.float32]:
    """Features of a second step, given the first."""
    shots = reached.shape[1]
    query = np.repeat(np.arange(len(queries)), shots)
    asked, now = queries.relation[query][:, None], queries.time[query][:, None]
    relation = np.minimum(space.relation, graph.relations.directed - 1)  # stopping has no relation; it is not used
    out = np.zeros((*space.entity.shape, SECOND), dtype=np.float32)
    _describe(statistics, queries, np.repeat(query, space.width), space.entity.ravel(), out)
    rule = np.empty(space.entity.shape, dtype=np.int64)
    directed = graph.relations.directed
    hash_rules(first_relation, relation, queries.relation[query], directed, len(statistics.rule), rule)
    days = statistics.days_per_tick
    gap, between = (now - space.time) * days, (space.time - first_time[:, None]) * days
    times_there = np.empty(space.entity.shape, dtype=np.float32)
    multiplicity(space.entity, times_there)
    met = (space.entity[:, :, None] == reached[query][:, None, :]).any(2)
    for place, feature in enumerate(
        (
            statistics.rule[rule] + 4,
            statistics.rule_tries[rule],
            statistics.second[relation, asked] + 4,
            np.log1p(np.abs(gap)),
            np.sign(gap),
            gap == 0,
            np.log1p(np.abs(between)),
            relation == first_relation[:, None],
            relation == asked,
            relation == graph.relations.inverse(asked),
            np.log(times_there),
            met,
            np.log1p(statistics.degree[reached.ravel()])[:, None],
        )
    ):
        out[..., ENTITY + place] = feature
    return out


def _describe(
    statistics: GraphStatistics, queries: Queries, query: NDArray[np.int64], entity: Ids, out: NDArray[np.float32]
) -> None:
    flat = out.reshape(-1, out.shape[-1])
    given = (
        *(queries.relation, queries.time, query, np.ascontiguousarray(entity)),
        *(statistics.keys, statistics.key_offsets, statistics.key_times, statistics.degree),
        *(statistics.concepts.offsets, statistics.concepts.ids, statistics.concept_probability),
        *(statistics.scales, statistics.entities, flat),
    )
    parallel_for(split_range(len(query)), lambda _, low, high: describe_entities(low, high, *given))


def gap_buckets(gap: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """The bucket of ``gap_bucket`` for an array."""
    size = np.searchsorted(np.array([2, 10, 45]), np.abs(gap)) + 1
    return np.where(gap == 0, 4, np.where(gap > 0, 4 + size, 4 - size))
