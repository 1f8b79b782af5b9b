"""The whole model: what it learns, what it knows of a task, and how its agent takes a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import ModelConfig
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import ActionSpace, Adaptive, Nearest, Random, Sampling, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.action_scores import ActionIndex, Rows, dot_with_actions
from fitcarl.models.fitcarl.confidence import ConfidenceLearner
from fitcarl.models.fitcarl.entity_encoder import EntityEncoder, Neighbourhood
from fitcarl.models.fitcarl.history import HistoryEncoder
from fitcarl.models.fitcarl.policy import PolicyNetwork, PolicyStep
from fitcarl.models.fitcarl.time import TimeEncoding, TimeTable
from fitcarl.tasks.task import Queries

if TYPE_CHECKING:
    from fitcarl.models.factorization.embeddings import Embeddings


@dataclass(frozen=True)
class Scene:
    """What the model knows of a task at the present weights; every query of the task is answered in it."""

    graph: TemporalGraph
    """Background and supports."""
    sampling: Sampling
    time: TimeTable
    time_score: Tensor
    """w_Δtᵀ h_Δt for every Δt, [2 reach + 1]."""
    neighbours: Neighbourhood
    rows: Rows

    def represent(self, entity: Ids) -> Tensor:
        """h_e [entities asked, d]: pre-trained, or for an unseen entity what its own support says of it."""
        ids = torch.from_numpy(entity.astype(np.int64))
        rows = self.rows.entity.index_select(0, ids)
        slot = torch.from_numpy(self.rows.slot.astype(np.int64)).index_select(0, ids)
        unseen = torch.nonzero(slot >= 0).squeeze(1)
        if len(unseen):
            rows = rows.index_copy(0, unseen, self.rows.resting.index_select(0, slot[unseen]))
        return rows


@dataclass(frozen=True)
class Asked:
    """Queries of a scene and what is computed once for each of them."""

    entity: Ids
    relation: Ids
    time: Ids
    own: Tensor
    """h_e' at t_q, [queries, d]."""
    vectors: Tensor
    """[queries, 3, 3d], to be multiplied with actions: two of the query, and the confidence learner's (or zero)."""

    def __len__(self) -> int:
        return len(self.entity)

    def take(self, index: Tensor) -> Asked:
        chosen = index.numpy()
        return Asked(
            self.entity[chosen],
            self.relation[chosen],
            self.time[chosen],
            self.own.index_select(0, index),
            self.vectors.index_select(0, index),
        )


@dataclass(frozen=True)
class Walkers:
    """Agents on their way, one per row of an ``Asked``."""

    entity: Ids
    """int32 [walkers], e⁽ˡ⁾."""
    time: Ids
    """int32 [walkers], t⁽ˡ⁾."""
    history: Tensor
    """h_hist, [walkers, 3d]."""


class Fitcarl(nn.Module):
    """FITCARL over pre-trained embeddings, which stay frozen unless ``finetune`` is set."""

    entity_rows: Tensor
    relation_rows: Tensor

    def __init__(self, config: ModelConfig, embeddings: Embeddings, relations: RelationIds) -> None:
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

    def scene(self, background: TemporalGraph, support: MetaSet, reach: int, seed: int = 0) -> Scene:
        """The task's graph and representations; ``reach`` bounds every time difference, ``seed`` is for ablation A1."""
        time = self.time.table(reach, self.config.temporal)
        time_score = time.weigh(self.policy.w_delta)
        relation = torch.cat([self.relation_rows, self.special_relations])
        neighbours = self._neighbourhood(support)
        everybody = torch.arange(len(support.entities))
        resting = self.encoder(neighbours, everybody, neighbours.last_time, time, self.config.biased)
        slot = np.full(background.entities, -1, dtype=np.int32)
        slot[support.entities] = np.arange(len(support.entities), dtype=np.int32)
        frozen = 0 if self.config.finetune else self.relations.directed
        return Scene(
            background.overlay(support.facts),
            self._sampling(time_score, seed),
            time,
            time_score,
            neighbours,
            Rows(relation, frozen, self.entity_rows, time.rows, resting, slot),
        )

    def ask(self, scene: Scene, queries: Queries) -> Asked:
        """h_e' of every query at its own t_q, and the vectors that meet its actions."""
        _check_reach(scene, queries)
        owner = torch.from_numpy(scene.rows.slot[queries.entity].astype(np.int64))
        when, relation = _long(queries.time), _long(queries.relation)
        own = self.encoder(scene.neighbours, owner, when, scene.time, self.config.biased)
        now = scene.time.rows[scene.time.reach]
        asked = torch.cat([self.relation_rows.index_select(0, relation), own, now.expand_as(own)], 1)
        psi = torch.zeros_like(asked)
        if self.confidence is not None:  # ψ looks at an action's node, not at its relation
            z = self.confidence(own, now, self.relation_rows, relation)
            psi = torch.cat([torch.zeros_like(own), z], 1)
        vectors = torch.cat([self.policy.query_vectors(asked), psi.unsqueeze(1)], 1)
        return Asked(queries.entity, queries.relation, queries.time, own, vectors)

    def start(self, scene: Scene, asked: Asked) -> Walkers:
        """Every agent at (e', t_q) with hist⁽⁰⁾."""
        now = scene.time.rows[scene.time.reach]
        dummy = scene.rows.relation[self.relations.dummy]
        return Walkers(asked.entity, asked.time, self.history.begin(dummy, asked.own, now))

    def actions(self, scene: Scene, asked: Asked, walkers: Walkers) -> ActionSpace:
        return action_space(
            scene.graph, walkers.entity, walkers.time, asked.time, scene.sampling, self.config.action_space
        )

    def step(self, scene: Scene, asked: Asked, walkers: Walkers, space: ActionSpace) -> PolicyStep:
        """π over the actions of every walker."""
        reach = scene.time.reach
        to_query = space.time - asked.time[:, None]
        to_history = space.time - walkers.time[:, None]
        index = ActionIndex(asked.entity, space.relation, space.entity, reach - to_query, space.mask.sum(1))
        vectors = torch.cat([self.policy.history_vectors(walkers.history), asked.vectors], 1)
        dots = dot_with_actions(vectors, asked.own, scene.rows, index)
        return self.policy.step(
            dots[:, :4],
            _look_up(scene.time_score, to_history + reach),
            _look_up(scene.time_score, to_query + reach),
            dots[:, 4] if self.confidence is not None else None,
            torch.from_numpy(space.mask),
        )

    def advance(self, scene: Scene, asked: Asked, walkers: Walkers, relation: Ids, entity: Ids, time: Ids) -> Walkers:
        """The walkers after their chosen actions, with hist⁽ˡ⁺¹⁾."""
        own = torch.from_numpy(entity == asked.entity).unsqueeze(1)
        history = self.history.step(
            walkers.history,
            scene.rows.relation,
            _long(relation),
            torch.where(own, asked.own, scene.represent(entity)),
            scene.rows.time,
            _long(asked.time - time + scene.time.reach),
        )
        return Walkers(entity, time, history)

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
        seen = torch.from_numpy(known & ~np.isin(other, support.entities))  # an unseen other end has no row of its own
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


def _check_reach(scene: Scene, queries: Queries) -> None:
    """The compiled loops do not check bounds: a time difference beyond the table must be noticed before them."""
    times = np.concatenate([queries.time, np.array(scene.graph.time_range, dtype=np.int32)])
    if (furthest := int(times.max()) - int(times.min())) > scene.time.reach:
        raise ValueError(f"a time difference of {furthest} ticks is beyond the table, which ends at {scene.time.reach}")


def _long(column: NDArray[np.int32]) -> Tensor:
    return torch.from_numpy(column.astype(np.int64))


def _look_up(scores: Tensor, index: NDArray[np.int32]) -> Tensor:
    return scores.index_select(0, _long(index).flatten()).view(index.shape)
