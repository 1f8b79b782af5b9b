"""Fold-in: the rows of entities that were not trained, solved from their support facts with all else frozen."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fitcarl.config.factorization import FoldInConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.factorization.objective import Objective, SupportBatch
from fitcarl.models.factorization.score_function import Tables
from fitcarl.models.factorization.seen_facts import SeenFacts
from fitcarl.tasks.task import NO_LIMIT


class FoldIn:
    """Solves rows in a frozen model."""

    def __init__(
        self, objective: Objective, tables: Tables, seen: SeenFacts, graph: TemporalGraph, config: FoldInConfig
    ) -> None:
        self._objective, self._tables, self._seen = objective, tables, seen
        self._graph = graph
        self._config = config

    def rows(self, support: MetaSet, entities: Ids, limited: bool = False) -> Tensor:
        """The rows of some entities of a support set, [entities, d].

        Each starts at the mean row of the trained entities that occur with the relations of its support facts, and is
        then moved by a few steps of Adagrad on the loss of these facts. Facts whose neighbour has no trained row do not
        count there. The order of facts does not matter.

        Args:
            support: Support facts.
            entities: int32, distinct and in ascending order; each has a support fact.
            limited: Whether queries may not use all facts: the start row then depends on no fact that is later than the
                last support fact of its entity.
        """
        relations = self._graph.relations
        chosen = np.isin(support.entity_of_fact, entities)
        facts = support.facts.take(chosen).seen_from(support.entity_of_fact[chosen], relations)
        # Rows of equal facts in another order would differ by rounding.
        facts = facts.take(np.lexsort((facts.time, facts.object, facts.relation, facts.subject)))
        owner = np.searchsorted(entities, facts.subject)
        until = _last_times(owner, facts.time, len(entities)) if limited else np.full(len(entities), NO_LIMIT)
        rows = self._start(owner, facts.relation, until[owner], len(entities))

        free = self._seen.entity.copy()
        free[entities[entities < len(free)]] = False
        candidates = np.flatnonzero(free)
        position = np.full(max(len(free), self._graph.entities), -1, dtype=np.int64)
        position[candidates] = np.arange(len(candidates))
        usable = position[facts.object] >= 0
        if not usable.any() or not self._config.steps:
            return rows
        ticks = self._seen.tick_rows(facts.time[usable]) if self._objective.temporal else np.zeros(usable.sum())
        columns = owner[usable], facts.relation[usable], position[facts.object[usable]], ticks, candidates
        batch = SupportBatch(*(long_tensor(column, rows.device) for column in columns))
        return self._solve(rows, batch)

    def _solve(self, rows: Tensor, batch: SupportBatch) -> Tensor:
        """Adagrad, written out: optimizer objects would be made for every task."""
        with torch.no_grad():
            loss = self._objective.support_loss(self._tables, batch)
        squared_sum = torch.zeros_like(rows)
        for _ in range(self._config.steps):
            leaf = rows.detach().requires_grad_()
            with torch.enable_grad():
                [gradient] = torch.autograd.grad(loss(leaf), leaf)
            squared_sum.addcmul_(gradient, gradient)
            rows = rows - self._config.learning_rate * gradient / (squared_sum.sqrt() + 1e-10)
        return rows

    def _start(self, owner: Positions, relation: Ids, until: Positions, count: int) -> Tensor:
        """[count, d]: the mean over an entity's facts of the mean row of entities that occur with the relation."""
        table, trained = self._tables.entity, self._seen.entity
        base, inverse = self._graph.base, self._graph.relations.inverse(relation)
        distinct, which = np.unique(np.stack([inverse, until]), axis=1, return_inverse=True)
        means = table.new_empty(distinct.shape[1], table.shape[1])
        for row, (directed, last) in enumerate(distinct.T.tolist()):
            edges = base.edges_with(directed)
            occurs = np.unique(base.target[edges[base.time[edges] <= last]])
            occurs = occurs[occurs < len(trained)]
            occurs = occurs[trained[occurs]] if len(occurs) else occurs
            if not len(occurs):
                occurs = np.flatnonzero(trained)
            means[row] = table[long_tensor(occurs, table.device)].mean(dim=0)
        index = tensor_of(owner, table.device)
        total = table.new_zeros(count, table.shape[1])
        total.index_add_(0, index, means[tensor_of(which.ravel(), table.device)])
        return total / torch.bincount(index, minlength=count).unsqueeze(1)


def _last_times(owner: Positions, time: Ids, count: int) -> Positions:
    """int64 [count]: the time of the last fact of each owner."""
    last = np.full(count, np.iinfo(np.int32).min, dtype=np.int64)
    np.maximum.at(last, owner, time.astype(np.int64))
    return last
