"""The policy network of TITer: time-dependent entities, an LSTM over the path, and a gated score of every action."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.titer import TiterNetworkConfig
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import ActionSpace
from fitcarl.models.titer.action_scores import score_actions
from fitcarl.models.titer.kernels import GatedActions

HOURS_PER_DAY = 24
"""Lags are encoded in hours."""


@dataclass(frozen=True)
class QueryRows:
    """The queries of a batch as the network sees them."""

    entity: Ids
    """int32 [queries], rows of the query entities in ``EntityRows.rows``."""
    relation: Ids
    """int32 [queries], r_q."""
    embedded: Tensor
    """[queries, d_e + d_t + d_r]: x_q at lag 0, and r_q."""

    def take(self, index: Tensor) -> QueryRows:
        chosen = array_of(index)
        return QueryRows(self.entity[chosen], self.relation[chosen], self.embedded.index_select(0, index))


@dataclass(frozen=True)
class EntityRows:
    """The rows of all entities with the gate's part of each; further rows may follow those of the network."""

    rows: Tensor
    """[entities + further, d_e]."""
    gate: Tensor
    """[entities + further]."""
    relation_gate: Tensor
    """[2R + 1], the gate's part of every relation."""


@dataclass(frozen=True)
class History:
    """The LSTM's state, [states, d_h] each."""

    hidden: Tensor
    cell: Tensor

    def take(self, index: Tensor) -> History:
        return History(self.hidden.index_select(0, index), self.cell.index_select(0, index))


class TiterPolicy(nn.Module):
    """π(a | s) over the actions of a state."""

    def __init__(self, config: TiterNetworkConfig, entities: int, relations: RelationIds, days_per_tick: float) -> None:
        super().__init__()
        self.config, self.relations = config, relations
        self.hours_per_tick = days_per_tick * HOURS_PER_DAY
        d_x, d_r, d_h = config.entity_dim + config.time_dim, config.relation_dim, config.history_dim
        self.entity = nn.Parameter(torch.randn(entities, config.entity_dim))
        self.relation = nn.Parameter(torch.randn(relations.directed + 1, d_r))
        self.frequency = nn.Parameter(10.0 ** -torch.linspace(0, 9, config.time_dim))
        self.phase = nn.Parameter(torch.zeros(config.time_dim))
        self.history = nn.LSTMCell(d_r + d_x, d_h)
        self.first = nn.Linear(d_h + d_x + d_r, config.hidden)
        self.second = nn.Linear(config.hidden, d_r + d_x)
        self.gate = nn.Linear(d_r + d_x + d_h + d_x + d_r, 1)

    def encode_lags(self, lag: NDArray[np.integer]) -> Tensor:
        """cos(w·D + b) with D in hours, [lags, d_t]."""
        hours = tensor_of(lag * self.hours_per_tick, self.frequency.device).to(self.frequency.dtype)
        return torch.cos(hours.unsqueeze(1) * self.frequency + self.phase)

    def entity_rows(self, further: Tensor | None = None) -> EntityRows:
        """The rows of the network, followed by ``further`` rows, [·, d_e]."""
        rows = self.entity if further is None else torch.cat([self.entity, further])
        by_relation, by_entity = self._gate_weights()[:2]
        return EntityRows(rows, rows @ by_entity, self.relation @ by_relation)

    def encode_queries(self, entities: EntityRows, entity: Ids, relation: Ids) -> QueryRows:
        """The queries of a batch; ``entity`` are rows of ``entities``."""
        now = self.encode_lags(np.zeros(1, np.int64)).expand(len(entity), -1)
        device = now.device
        rows = entities.rows.index_select(0, long_tensor(entity, device))
        asked = self.relation.index_select(0, long_tensor(relation, device))
        return QueryRows(entity, relation, torch.cat([rows, now, asked], 1))

    def step_history(
        self, entities: EntityRows, relation: Ids, entity: Ids, lag: Ids, history: History | None = None
    ) -> History:
        """The LSTM after it has read the last relation and the current entity at its lag, [states] each."""
        device = self.relation.device
        inputs = (
            self.relation.index_select(0, long_tensor(relation, device)),
            entities.rows.index_select(0, long_tensor(entity, device)),
            self.encode_lags(lag),
        )
        before = None if history is None else (history.hidden, history.cell)
        return History(*self.history(torch.cat(inputs, 1), before))

    def start(self, entities: EntityRows, queries: QueryRows) -> History:
        """The LSTM at the query entity: the relation is the one of staying, the lag 0."""
        stay = np.full(len(queries.entity), self.relations.self_loop, dtype=np.int32)
        return self.step_history(entities, stay, queries.entity, np.zeros_like(stay))

    def log_policy(
        self,
        entities: EntityRows,
        queries: QueryRows,
        history: History,
        space: ActionSpace,
        entity: Ids,
        lag: Ids,
    ) -> Tensor:
        """log π of every action, [states, actions]; -inf where an action is not allowed.

        Args:
            entities: The rows of all entities.
            queries: The query of each state.
            history: The LSTM's state.
            space: The actions.
            entity: int32 [states, actions], rows of the actions' entities.
            lag: int32 [states, actions], t_q - t of every action.
        """
        state = torch.cat([history.hidden, queries.embedded], 1)
        vectors = self.second(torch.relu(self.first(state)))
        distinct, row = distinct_lags(lag)
        times = self.encode_lags(distinct)
        _, _, by_lag, by_state = self._gate_weights()
        tables = self.relation, entities.rows, times, entities.relation_gate, entities.gate, times @ by_lag
        actions = GatedActions(space.relation, entity, row, space.mask)
        scores = score_actions(vectors, state @ by_state + self.gate.bias, tables, actions)
        return torch.log_softmax(scores.masked_fill(~tensor_of(space.mask, scores.device), -torch.inf), 1)

    def _gate_weights(self) -> tuple[Tensor, ...]:
        """Weights of the gate for the relation, the entity, its lag, and the state."""
        config = self.config
        sizes = [config.relation_dim, config.entity_dim, config.time_dim]
        weight = self.gate.weight[0]
        return weight.split([*sizes, len(weight) - sum(sizes)])


def distinct_lags(lag: Ids) -> tuple[NDArray[np.int64], Ids]:
    """The distinct lags, ascending, and the position of every lag among them."""
    used = np.zeros(int(lag.max(initial=0)) + 1, dtype=np.bool_)
    used[lag] = True
    distinct = np.flatnonzero(used)
    row = np.zeros(len(used), dtype=np.int32)
    row[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, row[lag]
