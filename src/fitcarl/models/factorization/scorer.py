"""A scorer with trained embedding tables, which folds in the entities that were not trained."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.core.tensors import array_of, long_tensor
from fitcarl.data.dataset import MetaSet
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.factorization.fold_in import FoldIn
from fitcarl.models.factorization.objective import Objective, QueryIds
from fitcarl.models.factorization.score_function import Tables
from fitcarl.models.factorization.seen_facts import SeenFacts
from fitcarl.scoring.scorer import PathlessExplainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import NO_LIMIT, Queries, Task

_CHUNK = 256


class FactorizationScorer(PathlessExplainer):
    """Scores all entities that have a row."""

    def __init__(
        self,
        objective: Objective,
        tables: Tables,
        seen: SeenFacts,
        graph: TemporalGraph,
        config: FactorizationConfig,
    ) -> None:
        self.name = f"{config.model} ({config.sees})"
        self._objective, self._seen, self._graph = objective, seen, graph
        self._sees = config.sees
        self._fold_in = FoldIn(objective, tables, seen, graph, config.fold_in)
        self._tables = tables
        self._last: tuple[MetaSet, bool, Tables, NDArray[np.bool_], NDArray[np.int32]] | None = None

    @torch.no_grad()
    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores of all entities but new ones without support facts, in float64.

        Raises:
            InputError: If the rows of a task's entities cannot be used without a leak, or if there is no row.
        """
        if self._sees == "paper" and len(queries) and int(queries.entity.max()) >= len(self._tables.entity):
            raise InputError(
                "the run has no row for an entity that its data do not have",
                field="sees",
                found="paper",
                expected="a run that was trained with sees=support or sees=fold-in",
            )
        tables, listed, folded = self._task_tables(task.support, task.queries.limited)
        parts = []
        for first in range(0, len(queries), _CHUNK):
            part = queries.take(slice(first, first + _CHUNK))
            tick = self._seen.tick_rows(part.time) if self._objective.temporal else np.zeros(len(part))
            columns = (long_tensor(column, tables.entity.device) for column in (part.entity, part.relation, tick))
            scores = array_of(self._objective.scores(tables, QueryIds(*columns)))
            scores[:, ~listed] = -np.inf
            # Rows of other unseen entities may be solved from facts that the query may not use.
            limited = np.flatnonzero(part.visible_before < NO_LIMIT)
            scores[np.ix_(limited, folded)] = -np.inf
            parts.append(Scores.from_dense(scores))
        return Scores.concat(parts)

    def _task_tables(self, support: MetaSet, limited: bool) -> tuple[Tables, NDArray[np.bool_], NDArray[np.int32]]:
        """float64 tables with the rows of the task's entities, which entities have a row, and which rows were solved;
        kept for further calls with the same support set."""
        if self._last is None or self._last[0] is not support or self._last[1] != limited:
            trained = self._tables
            count = max(self._graph.entities, len(trained.entity))
            rows = trained.entity.new_zeros(count, trained.entity.shape[1], dtype=torch.float64)
            rows[: len(trained.entity)] = trained.entity
            listed = np.arange(len(rows)) < len(trained.entity)
            entities = self._entities_to_fold_in(support)
            if len(entities):
                rows[long_tensor(entities, rows.device)] = self._fold_in.rows(support, entities, limited).double()
                listed[entities] = True
            time = None if trained.time is None else trained.time.double()
            self._last = support, limited, Tables(rows, trained.relation.double(), time), listed, entities
        return self._last[2:]

    def _entities_to_fold_in(self, support: MetaSet) -> NDArray[np.int32]:
        """int32, ascending: the entities of a task whose row is not used as it was trained.

        Raises:
            InputError: If a row was trained on facts of its entity that are not in the task's support, which would
                leak them.
        """
        known = len(self._tables.entity)
        fold_in = []
        for entity in np.unique(support.entity_of_fact):
            if entity < known and self._graph.base.degree(np.array([entity]))[0]:
                fold_in.append(entity)  # asked about a known entity: only the given facts count
                continue
            trained = self._seen.of_entity(int(entity))
            given = set(support.facts.take(support.entity_of_fact == entity))
            if not trained <= given:
                raise InputError(
                    "the run was trained on facts of this entity that are not in its support, which would be a leak",
                    field="entity",
                    found=int(entity),
                    expected="the official support facts, or a run that was trained with sees=fold-in",
                )
            if trained != given and self._sees != "paper":
                fold_in.append(entity)
        return np.array(fold_in, dtype=np.int32)


def frozen(tables: Tables) -> Tables:
    """The tables without gradients."""

    def detached(table: Tensor | None) -> Tensor | None:
        return None if table is None else table.detach()

    return Tables(tables.entity.detach(), tables.relation.detach(), detached(tables.time), detached(tables.drift))
