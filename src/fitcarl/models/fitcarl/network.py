"""The network of FITCARL: parameters, encoding of tasks and queries, and one step of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import NetworkConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import ActionSpace, Adaptive, Nearest, Random, Sampling, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.action_scores import ActionEmbeddings, ActionIndex, action_scores
from fitcarl.models.fitcarl.confidence import ConfidenceLearner
from fitcarl.models.fitcarl.entity_encoder import EntityEncoder, Neighbourhood
from fitcarl.models.fitcarl.history import HistoryEncoder
from fitcarl.models.fitcarl.policy import PolicyNetwork, PolicyStep
from fitcarl.models.fitcarl.time import TimeEncoding, TimeTable
from fitcarl.models.support import SupportFacts
from fitcarl.tasks.task import Queries

if TYPE_CHECKING:
    from fitcarl.models.factorization.embeddings import Embeddings


@dataclass(frozen=True)
class TaskContext:
    """A task encoded with the current weights; shared by all queries of the task."""

    graph: TemporalGraph
    """The background with the support facts as overlay."""
    sampling: Sampling
    time: TimeTable
    time_score: Tensor
    """w_Δtᵀ h_Δt for every Δt, [2 max_delta + 1]."""
    neighbours: Neighbourhood
    embeddings: ActionEmbeddings

    def embed(self, entity: Ids) -> Tensor:
        """h_e, [entities given, d]: pre-trained for seen entities, encoded from the support for unseen ones."""
        device = self.time_score.device
        rows = self.embeddings.entity.index_select(0, long_tensor(entity, device))
        unseen_row = self.embeddings.unseen_row[entity]
        unseen = np.flatnonzero(unseen_row >= 0)
        if len(unseen):
            own = self.embeddings.unseen_embeddings.index_select(0, long_tensor(unseen_row[unseen], device))
            rows = rows.index_copy(0, tensor_of(unseen, device), own)
        return rows


@dataclass(frozen=True)
class EncodedQueries:
    """Queries of a task with everything that is computed once per query."""

    entity: Ids
    """int32 [queries], e'."""
    relation: Ids
    """int32 [queries], r_q."""
    time: Ids
    """int32 [queries], t_q."""
    entity_embedding: Tensor
    """h_e' at t_q, [queries, d] (Eq. 2)."""
    vectors: Tensor
    """[queries, 3, 3d], multiplied with actions: two vectors of the policy, one of the confidence learner (or zero)."""
    visible_before: Ids
    """int32 [queries]: only facts strictly before this tick are used."""

    def __len__(self) -> int:
        return len(self.entity)

    def take(self, index: Tensor) -> EncodedQueries:
        chosen = array_of(index)
        return EncodedQueries(
            self.entity[chosen],
            self.relation[chosen],
            self.time[chosen],
            self.entity_embedding.index_select(0, index),
            self.vectors.index_select(0, index),
            self.visible_before[chosen],
        )


@dataclass(frozen=True)
class SearchState:
    """States of the search, one per row of an ``EncodedQueries``."""

    entity: Ids
    """int32 [states], e⁽ˡ⁾."""
    time: Ids
    """int32 [states], t⁽ˡ⁾."""
    history: Tensor
    """h_hist, [states, 3d]."""


class Fitcarl(nn.Module):
    """The network over pre-trained embeddings, which are frozen unless ``finetune`` is set."""

    entity_rows: Tensor
    relation_rows: Tensor

    def __init__(self, config: NetworkConfig, embeddings: Embeddings, relations: RelationIds) -> None:
        super().__init__()
        self.config = config
        self.relations = relations
        d = embeddings.entity.shape[1]
        for name, rows in (("entity_rows", embeddings.entity), ("relation_rows", embeddings.relation)):
            table = torch.tensor(rows, dtype=torch.float32)
            if config.finetune:
                self.register_parameter(name, nn.Parameter(table))
            else:
                self.register_buffer(name, table)
        self.special_relations = nn.Parameter(torch.randn(2, d) * d**-0.5)  # self-loop, dummy
        self.time = TimeEncoding(d)
        self.encoder = EntityEncoder(d, config.heads, config.layers, config.feedforward, config.attention_scale)
        self.history = HistoryEncoder(d)
        self.policy = PolicyNetwork(d)
        self.confidence = ConfidenceLearner(d) if config.confidence else None

    def encode_task(
        self, background: TemporalGraph, support: MetaSet, max_delta: int, seed: int = 0, limited: bool = False
    ) -> TaskContext:
        """Encodes a task with the current weights.

        Args:
            background: The background graph.
            support: Support facts of the unseen entities.
            max_delta: The largest time difference, in ticks.
            seed: Seed of the action spaces in ablation A1.
            limited: Whether queries may not use all facts. An unseen entity that is met on a path is then encoded from
                those of its support facts that are not later than any edge that leads to it.
        """
        time = self.time.table(max_delta, self.config.temporal)
        time_score = time.weigh(self.policy.w_delta)
        relation = torch.cat([self.relation_rows, self.special_relations])
        neighbours = self._neighbourhood(support)
        every = torch.arange(len(support.entities), device=time_score.device)
        graph = background.with_facts(support.facts)
        met = neighbours
        if limited:
            met = neighbours.at(long_tensor(_first_overlay_times(graph, support.entities), time_score.device))
        unseen_embeddings = self.encoder(met, every, met.last_time, time, self.config.biased)
        unseen_row = np.full(background.entities, -1, dtype=np.int32)
        unseen_row[support.entities] = np.arange(len(support.entities), dtype=np.int32)
        frozen = 0 if self.config.finetune else self.relations.directed
        return TaskContext(
            graph,
            self._sampling(time_score, seed),
            time,
            time_score,
            neighbours,
            ActionEmbeddings(relation, frozen, self.entity_rows, time.rows, unseen_embeddings, unseen_row),
        )

    def encode_queries(self, context: TaskContext, queries: Queries) -> EncodedQueries:
        """h_e' of every query at its t_q (Eq. 2) and the vectors that are multiplied with actions."""
        _check_time_differences(context, queries)
        device, unseen_row = context.time_score.device, context.embeddings.unseen_row[queries.entity]
        relation = long_tensor(queries.relation, device)
        # h_e' depends on (e', t_q) only, which several queries may share.
        first, pair = _distinct(unseen_row, queries.time)
        asked = long_tensor(unseen_row[first], device), long_tensor(queries.time[first], device)
        h_e = self.encoder(context.neighbours, *asked, context.time, self.config.biased)
        h_e, h_0 = h_e.index_select(0, tensor_of(pair, device)), context.time.zero
        psi = h_e.new_zeros(len(h_e), 3 * h_e.shape[1])
        if self.confidence is not None:  # ψ depends on the node of an action, not on its relation
            psi = torch.cat([torch.zeros_like(h_e), self.confidence(h_e, h_0, self.relation_rows, relation)], 1)
        by_policy = self.policy.query_vectors(self.relation_rows, relation, h_e, h_0)
        vectors = torch.cat([by_policy, psi.unsqueeze(1)], 1)
        return EncodedQueries(queries.entity, queries.relation, queries.time, h_e, vectors, queries.visible_before)

    def start(self, context: TaskContext, encoded: EncodedQueries) -> SearchState:
        """The initial states (e', t_q) with hist⁽⁰⁾ (Eq. 3)."""
        dummy = context.embeddings.relation[self.relations.dummy]
        history = self.history.begin(dummy, encoded.entity_embedding, context.time.zero)
        return SearchState(encoded.entity, encoded.time, history)

    def actions(self, context: TaskContext, encoded: EncodedQueries, state: SearchState) -> ActionSpace:
        """The sampled actions of every state."""
        return action_space(
            context.graph,
            state.entity,
            state.time,
            encoded.time,
            context.sampling,
            self.config.action_space,
            encoded.visible_before,
        )

    def step(self, context: TaskContext, encoded: EncodedQueries, state: SearchState, space: ActionSpace) -> PolicyStep:
        """π over the actions of every state (Eq. 4 to 9)."""
        max_delta = context.time.max_delta
        to_query = space.time - encoded.time[:, None]
        to_history = space.time - state.time[:, None]
        index = ActionIndex(encoded.entity, space.relation, space.entity, max_delta - to_query, space.mask.sum(1))
        history = self.policy.history_vectors(state.history)
        dots = action_scores(history, encoded.vectors, encoded.entity_embedding, context.embeddings, index)
        by_policy, psi = dots.split([4, 1], 1)
        return self.policy.step(
            by_policy,
            _lookup(context.time_score, to_history + max_delta),
            _lookup(context.time_score, to_query + max_delta),
            psi.squeeze(1) if self.confidence is not None else None,
            tensor_of(space.mask, dots.device),
            self.config.policy,
        )

    def advance(
        self, context: TaskContext, encoded: EncodedQueries, state: SearchState, relation: Ids, entity: Ids, time: Ids
    ) -> SearchState:
        """The states after the chosen actions (r, e, t), [states] each, with hist⁽ˡ⁺¹⁾ (Eq. 3)."""
        device = state.history.device
        is_query_entity = tensor_of(entity == encoded.entity, device).unsqueeze(1)
        history = self.history.step(
            state.history,
            context.embeddings.relation,
            long_tensor(relation, device),
            torch.where(is_query_entity, encoded.entity_embedding, context.embed(entity)),
            context.embeddings.time,
            long_tensor(encoded.time - time + context.time.max_delta, device),
        )
        if not self.config.self_loop_history:
            stays = tensor_of(relation == self.relations.self_loop, device).unsqueeze(1)
            history = torch.where(stays, state.history, history)
        return SearchState(entity, time, history)

    def _neighbourhood(self, support: MetaSet) -> Neighbourhood:
        padded = SupportFacts.of_entities(support, self.relations).padded()
        relation = np.where(padded.known, self.relations.inverse(padded.relation), 0)  # from the neighbour to e'
        device = self.entity_rows.device
        known = tensor_of(padded.known, device)
        # An unseen neighbour has no pre-trained row.
        seen = tensor_of(padded.known & ~np.isin(padded.entity, support.entities), device)
        return Neighbourhood(
            self.entity_rows[long_tensor(padded.entity, device)] * seen.unsqueeze(-1),
            self.relation_rows[long_tensor(relation, device)] * known.unsqueeze(-1),
            long_tensor(padded.time, device),
            known,
        )

    def _sampling(self, time_score: Tensor, seed: int) -> Sampling:
        if self.config.sampling == "random" or not self.config.temporal:
            return Random(seed)
        if self.config.sampling == "nearest":
            return Nearest()
        return Adaptive.by_score(array_of(time_score.double()))


def _first_overlay_times(graph: TemporalGraph, entities: Ids) -> Positions:
    """int64 [entities]: the time of the first edge of each entity in the overlay, which is sorted by time."""
    overlay = graph.overlay
    first = np.zeros(len(entities), dtype=np.int64)
    has_edges = overlay.degree(entities) > 0
    first[has_edges] = overlay.time[overlay.offsets[entities[has_edges]]]
    return first


def _check_time_differences(context: TaskContext, queries: Queries) -> None:
    """Raises a ValueError if the time table does not cover all differences: the compiled loops check no bounds."""
    times = np.concatenate([queries.time, np.array(context.graph.time_range, dtype=np.int32)])
    largest, limit = int(times.max()) - int(times.min()), context.time.max_delta
    if largest > limit:
        raise ValueError(f"time difference {largest} is beyond the time table, which ends at {limit}")


def _lookup(scores: Tensor, index: NDArray[np.int32]) -> Tensor:
    return scores.index_select(0, long_tensor(index, scores.device).flatten()).view(index.shape)


def _distinct(one: Ids, other: Ids) -> tuple[Positions, Positions]:
    """The first position of every distinct pair, and for every position the number of its pair."""
    _, row = np.unique(other, return_inverse=True)
    key = one.astype(np.int64) * (len(row) + 1) + row
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number
