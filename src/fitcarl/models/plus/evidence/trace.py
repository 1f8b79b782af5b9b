"""The facts behind the features of one candidate, found from the candidate's side.

Each function follows one source of features (``features/accumulate.py``, ``features/sources.py``): its chains are the
facts that the source reads for the candidate, with the weight that they add to the feature. Tests hold the sums of the
weights to the accumulated values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Ids
from fitcarl.graph.kernels import visible_edges
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.plus.evidence.peers import PeerFacts
from fitcarl.models.plus.features import accumulate
from fitcarl.models.plus.features.sources import EDGES_PER_SIDE as CANDIDATE_EDGES
from fitcarl.models.plus.gaps import gap_buckets, ticks_within
from fitcarl.models.plus.kernels import rule_slot
from fitcarl.models.plus.reach.network import EDGES as REACH_EDGES
from fitcarl.models.plus.reach.network import NEXT_EDGES as REACH_NEXT_EDGES
from fitcarl.models.plus.reach.network import NODES as REACH_NODES
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.evidence import Chain, Edge
from fitcarl.tasks.task import Queries

_MAX_CHAINS = 24
"""Chains that are kept per source."""
_POPULARITY_DECAY, _ACTIVITY_DECAY, _REACH_DECAY = 20.0, 7.0, 30.0
"""Time scales, in time units, by which facts with r_q, facts of the candidate and steps of learned paths are ordered;
the features read several scales."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One query and one candidate."""

    graph: TemporalGraph
    statistics: GraphStatistics
    support: SupportFacts
    """One row: the support facts of the query entity."""
    entity: int
    relation: int
    time: int
    before: int
    """Only facts strictly before this tick are read."""
    candidate: int

    @classmethod
    def of(
        cls,
        graph: TemporalGraph,
        statistics: GraphStatistics,
        support: SupportFacts,
        query: Queries,
        candidate: int,
    ) -> Trace:
        """A trace of one query (a batch of length 1)."""
        return cls(
            *(graph, statistics, support),
            entity=int(query.entity[0]),
            relation=int(query.relation[0]),
            time=int(query.time[0]),
            before=int(query.visible_before[0]),
            candidate=candidate,
        )

    def units(self, time: Ids) -> NDArray[np.float64]:
        """float64 [times]: time units from a time to the query."""
        return (self.time - time.astype(np.float64)) * self.statistics.units_per_tick

    def visible(self, adjacency: Adjacency, node: int) -> tuple[int, int]:
        """The range of the visible edges of a node."""
        low, high = visible_edges(adjacency.columns, 0, node, self.before)
        return int(low), int(high)

    def near_query(self, adjacency: Adjacency, node: int, per_side: int) -> Positions:
        """Positions of the visible edges of a node nearest to the query, ``per_side`` before and after it."""
        low, high = self.visible(adjacency, node)
        here = low + int(np.searchsorted(adjacency.time[low:high], self.time))
        return np.arange(max(low, here - per_side), min(high, here + per_side))

    def first_edge(self, k: int) -> Edge:
        """Support fact k as an edge from the query entity."""
        facts = self.support
        return self.entity, int(facts.relation[k]), int(facts.entity[k]), int(facts.time[k])

    def inverse(self, relation: Ids) -> Ids:
        return self.graph.relations.inverse(relation)

    def own_edges(self) -> tuple[Adjacency, Positions]:
        """The background, and the visible edges of the candidate near the query without those to the query entity."""
        base = self.graph.base
        edges = self.near_query(base, self.candidate, CANDIDATE_EDGES)
        return base, edges[base.target[edges] != self.entity]

    def towards(self, adjacency: Adjacency, position: int) -> Edge:
        """An edge of the candidate, turned so that it ends there."""
        edge = int(adjacency.target[position]), self.graph.relations.inverse(int(adjacency.relation[position]))
        return *edge, self.candidate, int(adjacency.time[position])


def support_chains(trace: Trace) -> list[Chain]:
    """Support facts with the candidate, weighted by how often such facts come with r_q (``from_support``)."""
    facts, statistics = trace.support, trace.statistics
    chosen = np.flatnonzero(facts.entity == trace.candidate)
    bucket = gap_buckets(trace.units(facts.time[chosen]))
    weight = np.exp(statistics.cooccurrence_rate[bucket, facts.relation[chosen], trace.relation])
    return _strongest(Chain((trace.first_edge(k),), float(w)) for k, w in zip(chosen.tolist(), weight, strict=True))


def neighbour_chains(trace: Trace) -> list[Chain]:
    """Two hops over a support fact, weighted by the rate of their rule and their nearness (``from_neighbours``)."""
    return _strongest(_neighbours(trace))


def _neighbours(trace: Trace) -> Iterator[Chain]:
    facts, statistics = trace.support, trace.statistics
    directed, slots = len(statistics.pair_rate), len(statistics.rule_rate)
    for k in range(len(facts.entity)):
        middle = int(facts.entity[k])
        if trace.candidate in (trace.entity, middle):
            continue
        for part in (trace.graph.base, trace.graph.overlay):
            edges = trace.near_query(part, middle, accumulate.EDGES_PER_SIDE)
            for a in edges[part.target[edges] == trace.candidate].tolist():
                relation, time = int(part.relation[a]), int(part.time[a])
                slot = rule_slot(int(facts.relation[k]), relation, trace.relation, directed, slots)
                gap = abs(time - trace.time) * statistics.units_per_tick
                weight = math.exp(statistics.rule_rate[slot]) * math.exp(-gap / accumulate.RULE_DECAY)
                yield Chain((trace.first_edge(k), (middle, relation, trace.candidate, time)), weight)


def peer_chains(trace: Trace, same_relation: bool = True, peers: PeerFacts | None = None) -> list[Chain]:
    """Entities that share a (relation, object) with the query entity, and their facts with the candidate.

    Weights are those of ``from_similar_entities``.

    Args:
        trace: The query and the candidate.
        same_relation: Only facts with r_q, or with any relation.
        peers: The facts of the peers of the query, if they are known already.
    """
    return _strongest(_peers(trace, same_relation, PeerFacts.of(trace) if peers is None else peers))


def _peers(trace: Trace, same_relation: bool, peers: PeerFacts) -> Iterator[Chain]:
    base = trace.graph.base
    leads = base.target[peers.edge] == trace.candidate
    if same_relation:
        leads &= base.relation[peers.edge] == trace.relation
    for position in np.flatnonzero(leads).tolist():
        shared, edge = int(peers.shared[position]), int(peers.edge[position])
        first, peer = trace.first_edge(int(peers.shot[position])), int(base.target[shared])
        second = first[2], int(base.relation[shared]), peer, int(base.time[shared])
        third = peer, int(base.relation[edge]), trace.candidate, int(base.time[edge])
        yield Chain((first, second, third), float(peers.weight[position]))


def popularity_chains(trace: Trace) -> list[Chain]:
    """Facts (·, r_q, candidate), weighted by their nearness (``from_relation``)."""
    base = trace.graph.base
    low, high = trace.visible(base, trace.candidate)
    edges = low + np.flatnonzero(base.relation[low:high] == trace.graph.relations.inverse(trace.relation))
    weight = np.exp(-np.abs(trace.units(base.time[edges])) / _POPULARITY_DECAY)
    return _strongest(Chain((trace.towards(base, a),), float(w)) for a, w in zip(edges.tolist(), weight, strict=True))


def same_day_chains(trace: Trace) -> list[Chain]:
    """Events around t_q whose subject is similar to the support, with the candidate as object (``from_same_day``)."""
    base, statistics = trace.graph.base, trace.statistics
    embedding = statistics.embedding
    direction = embedding[trace.support.entity].astype(np.float64).sum(0)
    direction /= math.sqrt(float(direction @ direction)) + 1e-6
    reach = ticks_within(accumulate.EVENT_WINDOW, statistics.units_per_tick)
    low, high = trace.visible(base, trace.candidate)
    first, last = np.searchsorted(base.time[low:high], [trace.time - reach, trace.time + reach + 1])
    edges = np.arange(low + first, low + last)
    edges = edges[base.target[edges] != trace.entity]
    similarity = embedding[base.target[edges]] @ direction
    kept = similarity > accumulate.MIN_SIMILARITY
    weighted = zip(edges[kept].tolist(), (similarity[kept] ** 2).tolist(), strict=True)
    return _strongest(Chain((trace.towards(base, a),), weight) for a, weight in weighted)


def activity_chains(trace: Trace) -> list[Chain]:
    """The facts of the candidate nearest to the query."""
    base, edges = trace.own_edges()
    weight = np.exp(-np.abs(trace.units(base.time[edges])) / _ACTIVITY_DECAY)
    return _strongest(Chain((trace.towards(base, a),), float(w)) for a, w in zip(edges.tolist(), weight, strict=True))


def excitation_chains(trace: Trace) -> list[Chain]:
    """Facts of the candidate, weighted by how often such facts come with r_q by another subject."""
    base, edges = trace.own_edges()
    bucket = gap_buckets(trace.units(base.time[edges]))
    direct = trace.inverse(base.relation[edges])
    weight = trace.statistics.excitation_rate[trace.relation, bucket, direct]
    return _strongest(Chain((trace.towards(base, a),), float(w)) for a, w in zip(edges.tolist(), weight, strict=True))


def similarity_chains(trace: Trace) -> list[Chain]:
    """Support facts, weighted by the similarity of their entity to the candidate (spectral embedding)."""
    embedding, entities = trace.statistics.embedding, trace.support.entity
    weight = embedding[entities] @ embedding[trace.candidate]
    return _strongest(Chain((trace.first_edge(k),), float(weight[k])) for k in range(len(entities)))


def reach_chains(trace: Trace) -> list[Chain]:
    """Two and three facts from the query entity to the candidate over the latest facts (``reach/network.py``)."""
    return _strongest(_reached(trace))


def _reached(trace: Trace) -> Iterator[Chain]:
    """Paths over the edges that the reach network reads; the later their facts, the higher their weight."""
    base = trace.graph.base
    latest: dict[int, tuple[float, tuple[Edge, ...]]] = {}
    for k in range(len(trace.support.entity)):
        first = trace.first_edge(k)
        for edge in _latest_edges(trace, first[2], REACH_EDGES):
            weight = _recency(trace, edge)
            if edge[2] == trace.candidate:
                yield Chain((first, edge), 1 + weight)
            elif edge[2] not in latest or latest[edge[2]][0] < weight:
                latest[edge[2]] = weight, (first, edge)
    low, high = trace.visible(base, trace.candidate)
    neighbours = set(base.target[low:high].tolist())
    nodes = sorted(latest, key=lambda node: -latest[node][0])[:REACH_NODES]
    for node in nodes:
        weight, path = latest[node]
        if node not in neighbours:
            continue
        for edge in _latest_edges(trace, node, REACH_NEXT_EDGES):
            if edge[2] == trace.candidate:
                yield Chain((*path, edge), weight * _recency(trace, edge))


def _recency(trace: Trace, edge: Edge) -> float:
    """exp(-gap / scale) of the time since an edge."""
    return math.exp(-abs(trace.time - edge[3]) * trace.statistics.units_per_tick / _REACH_DECAY)


def _latest_edges(trace: Trace, node: int, limit: int) -> list[Edge]:
    """The latest visible edges of a node, without those to the query entity or to itself."""
    base = trace.graph.base
    low, high = trace.visible(base, node)
    edges = np.arange(low, high)
    edges = edges[(base.target[edges] != trace.entity) & (base.target[edges] != node)][-limit:]
    columns = (column[edges].tolist() for column in (base.relation, base.target, base.time))
    return [(node, *edge) for edge in zip(*columns, strict=True)]


def _strongest(chains: Iterator[Chain]) -> list[Chain]:
    """The strongest chains, strongest first; equal ones in a fixed order."""
    return sorted(chains, key=lambda chain: (-chain.weight, chain.edges))[:_MAX_CHAINS]
