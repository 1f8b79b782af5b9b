"""The whole model: what it learns, what it knows of a task, and how its agent takes a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import NetworkConfig
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
from fitcarl.tasks.task import Queries

if TYPE_CHECKING:
    from fitcarl.models.factorization.embeddings import Embeddings


@dataclass(frozen=True)
class TaskContext:
    """What the model knows of a task at the present weights; every query of the task is answered in it."""

    graph: TemporalGraph
    """Background and supports."""
    sampling: Sampling
    time: TimeTable
    time_score: Tensor
    """w_Δtᵀ h_Δt for every Δt, [2 max_delta + 1]."""
    neighbours: Neighbourhood
    embeddings: ActionEmbeddings

    def represent(self, entity: Ids) -> Tensor:
        """h_e [entities asked, d]: pre-trained, or for an unseen entity what its own support says of it."""
        ids = torch.from_numpy(entity.astype(np.int64))
        rows = self.embeddings.entity.index_select(0, ids)
        unseen_row = torch.from_numpy(self.embeddings.unseen_row.astype(np.int64)).index_select(0, ids)
        unseen = torch.nonzero(unseen_row >= 0).squeeze(1)
        if len(unseen):
            rows = rows.index_copy(0, unseen, self.embeddings.unseen_embeddings.index_select(0, unseen_row[unseen]))
        return rows


@dataclass(frozen=True)
class EncodedQueries:
    """Queries of a context and what is computed once for each of them."""

    entity: Ids
    relation: Ids
    time: Ids
    entity_embedding: Tensor
    """h_e' at t_q, [queries, d]."""
    vectors: Tensor
    """[queries, 3, 3d], to be multiplied with actions: two of the query, and the confidence learner's (or zero)."""

    def __len__(self) -> int:
        return len(self.entity)

    def take(self, index: Tensor) -> EncodedQueries:
        chosen = index.numpy()
        return EncodedQueries(
            self.entity[chosen],
            self.relation[chosen],
            self.time[chosen],
            self.entity_embedding.index_select(0, index),
            self.vectors.index_select(0, index),
        )


@dataclass(frozen=True)
class SearchState:
    """Agents on their way, one per row of an ``EncodedQueries``."""

    entity: Ids
    """int32 [states], e⁽ˡ⁾."""
    time: Ids
    """int32 [states], t⁽ˡ⁾."""
    history: Tensor
    """h_hist, [states, 3d]."""


class Fitcarl(nn.Module):
    """FITCARL over pre-trained embeddings, which stay frozen unless ``finetune`` is set."""

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
        self.special_relations = nn.Parameter(torch.randn(2, d) * d**-0.5)  # the self-loop, then the dummy
        self.time = TimeEncoding(d)
        self.encoder = EntityEncoder(d, config.heads, config.layers, config.feedforward)
        self.history = HistoryEncoder(d)
        self.policy = PolicyNetwork(d)
        self.confidence = ConfidenceLearner(d) if config.confidence else None

    def encode_task(self, background: TemporalGraph, support: MetaSet, max_delta: int, seed: int = 0) -> TaskContext:
        """The task's graph and representations; ``max_delta`` bounds |Δt|, ``seed`` is for ablation A1."""
        time = self.time.table(max_delta, self.config.temporal)
        time_score = time.weigh(self.policy.w_delta)
        relation = torch.cat([self.relation_rows, self.special_relations])
        neighbours = self._neighbourhood(support)
        everybody = torch.arange(len(support.entities))
        unseen_embeddings = self.encoder(neighbours, everybody, neighbours.last_time, time, self.config.biased)
        unseen_row = np.full(background.entities, -1, dtype=np.int32)
        unseen_row[support.entities] = np.arange(len(support.entities), dtype=np.int32)
        frozen = 0 if self.config.finetune else self.relations.directed
        return TaskContext(
            background.with_facts(support.facts),
            self._sampling(time_score, seed),
            time,
            time_score,
            neighbours,
            ActionEmbeddings(relation, frozen, self.entity_rows, time.rows, unseen_embeddings, unseen_row),
        )

    def encode_queries(self, context: TaskContext, queries: Queries) -> EncodedQueries:
        """h_e' of every query at its own t_q, and the vectors that meet its actions."""
        _check_time_differences(context, queries)
        owner = torch.from_numpy(context.embeddings.unseen_row[queries.entity].astype(np.int64))
        when, relation = _long(queries.time), _long(queries.relation)
        entity_embedding = self.encoder(context.neighbours, owner, when, context.time, self.config.biased)
        now = context.time.rows[context.time.max_delta]
        encoded = torch.cat(
            [self.relation_rows.index_select(0, relation), entity_embedding, now.expand_as(entity_embedding)], 1
        )
        psi = torch.zeros_like(encoded)
        if self.confidence is not None:  # ψ looks at an action's node, not at its relation
            z = self.confidence(entity_embedding, now, self.relation_rows, relation)
            psi = torch.cat([torch.zeros_like(entity_embedding), z], 1)
        vectors = torch.cat([self.policy.query_vectors(encoded), psi.unsqueeze(1)], 1)
        return EncodedQueries(queries.entity, queries.relation, queries.time, entity_embedding, vectors)

    def start(self, context: TaskContext, encoded: EncodedQueries) -> SearchState:
        """Every agent at (e', t_q) with hist⁽⁰⁾."""
        now = context.time.rows[context.time.max_delta]
        dummy = context.embeddings.relation[self.relations.dummy]
        return SearchState(encoded.entity, encoded.time, self.history.begin(dummy, encoded.entity_embedding, now))

    def actions(self, context: TaskContext, encoded: EncodedQueries, state: SearchState) -> ActionSpace:
        return action_space(
            context.graph, state.entity, state.time, encoded.time, context.sampling, self.config.action_space
        )

    def step(self, context: TaskContext, encoded: EncodedQueries, state: SearchState, space: ActionSpace) -> PolicyStep:
        """π over the actions of every walker."""
        max_delta = context.time.max_delta
        to_query = space.time - encoded.time[:, None]
        to_history = space.time - state.time[:, None]
        index = ActionIndex(encoded.entity, space.relation, space.entity, max_delta - to_query, space.mask.sum(1))
        vectors = torch.cat([self.policy.history_vectors(state.history), encoded.vectors], 1)
        dots = action_scores(vectors, encoded.entity_embedding, context.embeddings, index)
        return self.policy.step(
            dots[:, :4],
            _look_up(context.time_score, to_history + max_delta),
            _look_up(context.time_score, to_query + max_delta),
            dots[:, 4] if self.confidence is not None else None,
            torch.from_numpy(space.mask),
        )

    def advance(
        self, context: TaskContext, encoded: EncodedQueries, state: SearchState, relation: Ids, entity: Ids, time: Ids
    ) -> SearchState:
        """The state after their chosen actions, with hist⁽ˡ⁺¹⁾."""
        is_query_entity = torch.from_numpy(entity == encoded.entity).unsqueeze(1)
        history = self.history.step(
            state.history,
            context.embeddings.relation,
            _long(relation),
            torch.where(is_query_entity, encoded.entity_embedding, context.represent(entity)),
            context.embeddings.time,
            _long(encoded.time - time + context.time.max_delta),
        )
        return SearchState(entity, time, history)

    def _neighbourhood(self, support: MetaSet) -> Neighbourhood:
        turned = support.facts.seen_from(support.entity_of_fact, self.relations)
        counts = np.diff(support.offsets)
        row = np.repeat(np.arange(len(counts)), counts)
        column = np.arange(len(support)) - support.offsets[row]
        shape = (len(counts), int(counts.max(initial=0)))
        known = np.zeros(shape, dtype=bool)
        known[row, column] = True
        other, relation, time = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        other[row, column] = turned.object
        relation[row, column] = self.relations.inverse(turned.relation)  # from the other end to e'
        time[row, column] = turned.time
        mask = torch.from_numpy(known)
        seen = torch.from_numpy(known & ~np.isin(other, support.entities))  # an unseen neighbour has no pre-trained row
        return Neighbourhood(
            self.entity_rows[torch.from_numpy(other)] * seen.unsqueeze(-1),
            self.relation_rows[torch.from_numpy(relation)] * mask.unsqueeze(-1),
            torch.from_numpy(time),
            mask,
        )

    def _sampling(self, time_score: Tensor, seed: int) -> Sampling:
        if self.config.sampling == "random" or not self.config.temporal:
            return Random(seed)
        if self.config.sampling == "nearest":
            return Nearest()
        return Adaptive.by_score(time_score.detach().double().numpy())


def _check_time_differences(context: TaskContext, queries: Queries) -> None:
    """The compiled loops do not check bounds: a time difference beyond the table must be noticed before them."""
    times = np.concatenate([queries.time, np.array(context.graph.time_range, dtype=np.int32)])
    if (furthest := int(times.max()) - int(times.min())) > context.time.max_delta:
        raise ValueError(
            f"a time difference of {furthest} ticks is beyond the table, which ends at {context.time.max_delta}"
        )


def _long(column: NDArray[np.int32]) -> Tensor:
    return torch.from_numpy(column.astype(np.int64))


def _look_up(scores: Tensor, index: NDArray[np.int32]) -> Tensor:
    return scores.index_select(0, _long(index).flatten()).view(index.shape)
