"""The interface of training objectives: initial tables, the loss of a mini-batch, scores, and fold-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from fitcarl.core.process_group import BatchShard
from fitcarl.models.factorization.score_function import Tables

SupportLoss = Callable[[Tensor], Tensor]
"""The loss of the rows of unseen entities, [entities, d], on their support facts; a scalar."""


@dataclass(frozen=True, eq=False)
class QueryIds:
    """Training queries (e, r, ?, t) with their answers, or queries to score; ids are int64."""

    entity: Tensor
    """[queries]."""
    relation: Tensor
    """[queries], in [0, 2R)."""
    tick: Tensor
    """[queries], rows of timestamps; all 0 for models without time."""


@dataclass(frozen=True, eq=False)
class FactBatch:
    """A mini-batch of training facts: queries with their distinct answers."""

    queries: QueryIds
    row: Tensor
    """int64 [answers], the query of each answer."""
    answer: Tensor
    """int64 [answers], entities."""
    weight: Tensor
    """float32 [answers], the number of facts that state the answer."""

    def answers_of(self, shard: BatchShard | None) -> slice:
        """The answers of some of the queries; ``row`` is ascending.

        Args:
            shard: The queries; None for all.
        """
        if shard is None:
            return slice(None)
        bounds = torch.tensor([shard.rows.start, shard.rows.stop]).to(self.row.device)
        low, high = torch.searchsorted(self.row, bounds).tolist()
        return slice(low, high)

    def take(self, shard: BatchShard | None) -> FactBatch:
        """Some of the queries with their answers.

        Args:
            shard: The queries; None for all.
        """
        if shard is None:
            return self
        answers, queries = self.answers_of(shard), self.queries
        return FactBatch(
            QueryIds(*(ids[shard.rows] for ids in (queries.entity, queries.relation, queries.tick))),
            self.row[answers] - shard.rows.start,
            self.answer[answers],
            self.weight[answers],
        )


@dataclass(frozen=True, eq=False)
class SupportBatch:
    """Support facts as seen from unseen entities whose rows are to be solved; all ids are int64."""

    owner: Tensor
    """[facts], the unseen entity by its position among the rows."""
    relation: Tensor
    """[facts], in [0, 2R), from the unseen entity to the neighbour."""
    neighbour: Tensor
    """[facts], a position in ``candidates``."""
    tick: Tensor
    """[facts], rows of timestamps."""
    candidates: Tensor
    """[candidates], entities with a trained row."""

    @property
    def weight(self) -> Tensor:
        """[facts]: one over the number of facts of the same entity."""
        return 1 / torch.bincount(self.owner)[self.owner]


class Objective(Protocol):
    """How a score function is trained and used. All methods are pure but for ``begin_episode``."""

    temporal: bool
    """Whether the score depends on time."""

    def initial_tables(self, entities: int, directed_relations: int, ticks: int, generator: torch.Generator) -> Tables:
        """New random tables."""
        ...

    def begin_episode(self, tables: Tables, number: int, generator: torch.Generator) -> None:
        """Changes the tables in place before episode ``number``, where a stage of the training begins."""
        ...

    def loss(
        self, tables: Tables, batch: FactBatch, generator: torch.Generator, shard: BatchShard | None = None
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss of a mini-batch, or of a shard of it, per fact, and further values for the trace.

        Random numbers are drawn for the whole mini-batch.
        """
        ...

    def scores(self, tables: Tables, queries: QueryIds) -> Tensor:
        """[queries, E], higher is better."""
        ...

    def support_loss(self, tables: Tables, support: SupportBatch) -> SupportLoss:
        """The loss of unseen entities' rows on their support facts, with the tables as they are."""
        ...


class TableModule(nn.Module):
    """Embedding tables as trained parameters."""

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        self.entity = nn.Parameter(tables.entity)
        self.relation = nn.Parameter(tables.relation)
        self.time = None if tables.time is None else nn.Parameter(tables.time)
        self.drift = None if tables.drift is None else nn.Parameter(tables.drift)

    @property
    def tables(self) -> Tables:
        """The parameters."""
        return Tables(self.entity, self.relation, self.time, self.drift)
