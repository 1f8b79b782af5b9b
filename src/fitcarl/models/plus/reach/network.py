"""The reach network: messages along the support facts, the latest facts of their entities, and those of the next ones.

A message depends on the relations of the fact and of the query and on the time since the fact. Messages are added up
per entity, and every entity that a message reaches gets a score. Only facts before the query are read, and none of the
query entity but its support.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.core.arrays import read_only
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.kernels import EdgeColumns, count_visible
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.reach.edges import RecentEdges, recent_edges
from fitcarl.models.support import SupportFacts
from fitcarl.tasks.task import Queries

EDGES = 64
"""Latest edges of every support entity."""
NODES, NEXT_EDGES = 24, 16
"""Entities per query, those with the latest edges, from which messages go on, and the latest edges of each."""
_GAP_SCALES = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Time units: the scales of the exponential features of a gap."""
_GAP_FEATURES = 1 + len(_GAP_SCALES)
_DEGREE_CLASSES = 12
"""Classes of the logarithm, to base 2, of an entity's number of edges."""
_HIDDEN = 64
_ENTITY_DIM = 8
"""Dimensions that an entity has of its own, besides a bias."""
_INIT_STD, _ENTITY_STD = 0.3, 0.1
_MIN_LOGPROB = -14.0
"""The log-probability of entities that are not reached."""
_SHIFT, _SCALE = 7.0, 4.0
"""Bring log-probabilities near 0 and 1 as features."""
COLUMNS = 2
"""Features of a candidate: its log-probability, and whether it is reached."""


@dataclass(frozen=True, eq=False)
class ReachInput:
    """Queries with their support facts, flat."""

    entity: NDArray[np.int64]
    """int64 [queries], the unseen entity."""
    relation: NDArray[np.int64]
    """int64 [queries], r_q."""
    time: NDArray[np.int64]
    """int64 [queries], t_q."""
    before: NDArray[np.int64]
    """int64 [queries], at most t_q: only facts strictly before it are read."""
    fact_query: NDArray[np.int64]
    """int64 [facts]: the query of each support fact; no fact leads back to the unseen entity."""
    fact_relation: NDArray[np.int64]
    fact_entity: NDArray[np.int64]
    fact_time: NDArray[np.int64]

    def take(self, rows: slice) -> ReachInput:
        """Some of the queries, with their support facts.

        Args:
            rows: Contiguous rows.
        """
        kept = (self.fact_query >= rows.start) & (self.fact_query < rows.stop)
        queries = (self.entity, self.relation, self.time, self.before)
        facts = (self.fact_query - rows.start, self.fact_relation, self.fact_entity, self.fact_time)
        return ReachInput(*(column[rows] for column in queries), *(column[kept] for column in facts))

    @classmethod
    def of_queries(cls, facts: SupportFacts, queries: Queries) -> ReachInput:
        """The input of a batch of queries with one row of support facts each."""
        owner = np.repeat(np.arange(len(queries)), facts.counts)
        kept = np.flatnonzero(facts.entity != queries.entity[owner])
        flat = (owner[kept], facts.relation[kept], facts.entity[kept], facts.time[kept])
        columns = queries.entity, queries.relation, queries.time, np.minimum(queries.time, queries.visible_before)
        return cls(*(column.astype(np.int64) for column in (*columns, *flat)))


@dataclass(frozen=True, eq=False)
class Reached:
    """The entities that messages reach, sorted by query and entity."""

    query: NDArray[np.int64]
    entity: NDArray[np.int64]
    score: Tensor
    """float32 [reached]."""

    def log_probability(self, queries: int) -> Tensor:
        """float32 [reached]: the logarithm of a softmax over the entities of each query."""
        query = tensor_of(self.query, self.score.device)
        top = self.score.new_full((queries,), float("-inf")).scatter_reduce(0, query, self.score.detach(), "amax")
        shifted = self.score - top.index_select(0, query)
        total = self.score.new_zeros(queries).index_add(0, query, shifted.exp()).clamp_min(1e-30).log()
        return shifted - total.index_select(0, query)


class _Messages(nn.Module):
    """Messages along facts: from the state where they start, both relations, the gap and the degree of the target."""

    def __init__(self, dim: int, relations: int) -> None:
        super().__init__()
        self.relation, self.query = _rows(relations, dim), _rows(relations, dim)
        self.degree = _rows(_DEGREE_CLASSES, dim)
        self.gap, self.gap_gate = nn.Linear(_GAP_FEATURES, dim), nn.Linear(_GAP_FEATURES, 1)
        self.gate = nn.Parameter(torch.zeros(relations, relations))

    def forward(self, state: Tensor | None, relation: Tensor, r_q: Tensor, gap: Tensor, degree: Tensor) -> Tensor:
        gaps = _gap_features(gap)
        total = self.relation.index_select(0, relation) + self.query.index_select(0, r_q) + self.gap(gaps)
        total = total + self.degree.index_select(0, degree)
        if state is not None:
            total = total + state
        gate = self.gate.view(-1).index_select(0, relation * len(self.gate) + r_q)
        return torch.relu(total) * torch.sigmoid(gate.unsqueeze(1) + self.gap_gate(gaps))


class ReachNetwork(nn.Module):
    """Scores the entities within three facts of an unseen entity."""

    def __init__(self, dim: int, entities: int, relations: int) -> None:
        """Creates a network with random weights.

        Args:
            dim: Dimensions of a message.
            entities: Number of entities.
            relations: Number of directed relations, 2R.
        """
        super().__init__()
        self.support, self.first, self.second = (_Messages(dim, relations) for _ in range(3))
        self.onward = nn.Linear(dim, dim)
        self.query, self.mix = _rows(relations, dim), nn.Linear(3 * dim, dim)
        self.output = nn.Sequential(nn.Linear(5 * dim + 3, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))
        self.bias = nn.Parameter(torch.zeros(entities))
        self.entity = _rows(entities, _ENTITY_DIM, _ENTITY_STD)
        self.entity_query = _rows(relations, _ENTITY_DIM, _ENTITY_STD)

    def forward(self, edges: EdgeColumns, inputs: ReachInput, units_per_tick: float) -> Reached:
        """The entities that are reached from the support facts of every query."""
        entities, q0, device = len(edges.offsets) - 1, inputs.fact_query, self.bias.device

        def messages(
            level: _Messages,
            state: Tensor | None,
            query: NDArray[np.int64],
            columns: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        ) -> Tensor:
            relation, target, time = columns
            gap = np.abs(inputs.time[query] - time) * units_per_tick
            degree = _degree_class(edges, query, target, inputs.before[query])
            r_q = inputs.relation[query]
            columns_ = relation, r_q, gap.astype(np.float32), degree
            message: Tensor = level(state, *(tensor_of(column, device) for column in columns_))
            return message

        at_support = messages(self.support, None, q0, (inputs.fact_relation, inputs.fact_entity, inputs.fact_time))
        one = recent_edges(edges, q0, inputs.fact_entity, inputs.entity[q0], inputs.before[q0], EDGES)
        q1 = q0[one.row]
        along = messages(self.first, at_support.index_select(0, tensor_of(one.row, device)), q1, one[1:])
        key1, place1 = np.unique(q1 * entities + one.target, return_inverse=True)
        sum1 = _sum_rows(along, place1, len(key1))
        chosen = _latest_nodes(key1 // entities, place1, one)
        node, owner = key1[chosen] % entities, key1[chosen] // entities
        two = recent_edges(edges, owner, node, inputs.entity[owner], inputs.before[owner], NEXT_EDGES)
        q2 = owner[two.row]
        onward = self.onward(sum1.log1p()).index_select(0, tensor_of(chosen[two.row], device))
        further = messages(self.second, onward, q2, two[1:])

        keys = q0 * entities + inputs.fact_entity, key1, q2 * entities + two.target
        reached = np.unique(np.concatenate(keys))
        places = [np.searchsorted(reached, key) for key in keys]
        states, by_level = [], np.zeros((len(reached), 3), dtype=np.float32)
        for level, (place, part) in enumerate(zip(places, (at_support, sum1, further), strict=True)):
            states.append(_sum_rows(part, place, len(reached)).log1p())
            by_level[place, level] = 1
        query, entity = reached // entities, reached % entities
        return Reached(query, entity, self._score(torch.cat(states, 1), by_level, inputs.relation[query], entity))

    def _score(
        self, state: Tensor, by_level: NDArray[np.float32], r_q: NDArray[np.int64], entity: NDArray[np.int64]
    ) -> Tensor:
        device = self.bias.device
        relation, chosen, levels = (tensor_of(array, device) for array in (r_q, entity, by_level))
        query = self.query.index_select(0, relation)
        score = self.output(torch.cat([state, query, self.mix(state) * query, levels], 1))
        own = self.entity.index_select(0, chosen) * self.entity_query.index_select(0, relation)
        return score.squeeze(1) + own.sum(1) + self.bias.index_select(0, chosen)

    def freeze(self, known: NDArray[np.bool_]) -> None:
        """Ends training: entities without background facts get the mean bias and nothing of their own."""
        unknown = tensor_of(~known, self.bias.device)
        with torch.no_grad():
            self.entity[unknown] = 0
            self.bias[unknown] = self.bias[~unknown].mean() if known.any() else 0.0
        self.eval().requires_grad_(requires_grad=False)

    def with_capacity(self, extra: int) -> ReachNetwork:
        """The same network with rows for ``extra`` more, unknown entities; all other weights are shared."""
        extended = copy(self)
        extended._parameters = dict(self._parameters)
        rows = torch.cat([self.entity.detach(), self.entity.new_zeros(extra, _ENTITY_DIM)])
        bias = torch.cat([self.bias.detach(), self.bias.detach().mean().expand(extra)])
        extended.entity = nn.Parameter(rows, requires_grad=False)
        extended.bias = nn.Parameter(bias, requires_grad=False)
        return extended

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor]) -> ReachNetwork:
        """The frozen network with these weights.

        Raises:
            KeyError: If a tensor is missing.
            RuntimeError: If a tensor has the wrong shape.
        """
        (relations, dim), entities = state["query"].shape, len(state["bias"])
        with torch.random.fork_rng(devices=[]):
            network = cls(dim, entities, relations)
        network.load_state_dict(dict(state))
        return network.eval().requires_grad_(requires_grad=False)

    def matches(self, entities: int, relations: int) -> bool:
        """Whether the network has a row for every entity and relation."""
        return (len(self.bias), len(self.query)) == (entities, relations)


def reach_features(
    network: ReachNetwork,
    graph: TemporalGraph,
    facts: SupportFacts,
    queries: Queries,
    units_per_tick: float,
    offsets: NDArray[np.int64],
    entity: Ids,
) -> NDArray[np.float32]:
    """float32 [candidates, COLUMNS]: log-probability of each candidate, shifted and scaled, and whether it is reached.

    Args:
        network: The trained network.
        graph: The background; an overlay is not read.
        facts: Support facts, one row per query.
        queries: The queries.
        units_per_tick: Time units per tick.
        offsets: int64 [queries + 1]: candidates of query q are ``offsets[q]:offsets[q + 1]``.
        entity: int32 [candidates].
    """
    with torch.no_grad():
        found = network(graph.base.columns, ReachInput.of_queries(facts, queries), units_per_tick)
        log_probability = array_of(found.log_probability(len(queries)).clamp_min(_MIN_LOGPROB))
    out = np.zeros((len(entity), COLUMNS), dtype=np.float32)
    out[:, 0] = _MIN_LOGPROB
    if len(found.query):
        reached = found.query * graph.entities + found.entity
        asked = np.repeat(np.arange(len(queries)), np.diff(offsets)) * graph.entities + entity
        place = np.searchsorted(reached, asked).clip(max=len(reached) - 1)
        hit = reached[place] == asked
        out[hit, 0], out[hit, 1] = log_probability[place[hit]], 1
    out[:, 0] = (out[:, 0] + _SHIFT) / _SCALE
    return out


def _latest_nodes(query: NDArray[np.int64], place: NDArray[np.int64], edges: RecentEdges) -> NDArray[np.int64]:
    """Positions of the ``NODES`` nodes of each query with the latest edge; ``query`` [nodes] ascends."""
    latest = np.full(len(query), np.iinfo(np.int64).min)
    np.maximum.at(latest, place, edges.time)
    order = np.lexsort((-latest, query))
    rank = np.arange(len(order)) - np.searchsorted(query, query)  # queries keep their place in the order
    return np.sort(order[rank < NODES])


def _degree_class(
    edges: EdgeColumns, query: NDArray[np.int64], entity: NDArray[np.int64], before: NDArray[np.int64]
) -> NDArray[np.int64]:
    degree = count_visible(
        edges, read_only(query), read_only(entity.astype(np.int32)), read_only(before.astype(np.int32))
    )
    return np.minimum(np.log2(np.maximum(degree, 1)).astype(np.int64), _DEGREE_CLASSES - 1)


def _gap_features(gap: Tensor) -> Tensor:
    return torch.stack([gap.log1p() / 3, *(torch.exp(-gap / scale) for scale in _GAP_SCALES)], -1)


def _sum_rows(values: Tensor, place: NDArray[np.int64], size: int) -> Tensor:
    return values.new_zeros(size, values.shape[1]).index_add(0, long_tensor(place, values.device), values)


def _rows(count: int, dim: int, std: float = _INIT_STD) -> nn.Parameter:
    return nn.Parameter(torch.randn(count, dim) * std)
