"""Training by cross-entropy over all entities, for score functions that are dot products."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import embedding, softplus

from fitcarl.config.factorization import (
    SoftmaxTrainingConfig,
    StaticRowConfig,
    TelmTrainingConfig,
    TemporalRowConfig,
    TemporalTrainingConfig,
)
from fitcarl.core.device import CPU
from fitcarl.core.process_group import BatchShard
from fitcarl.models.factorization.loss import softmax_cross_entropy
from fitcarl.models.factorization.objective import FactBatch, QueryIds, SupportBatch, SupportLoss
from fitcarl.models.factorization.score_function import ScoreFunction, Tables
from fitcarl.models.factorization.telm import vector_parts


class _SoftmaxSettings(Protocol):
    """The settings of the objective; every config of a model with a softmax has them."""

    @property
    def embedding(self) -> StaticRowConfig | TemporalRowConfig: ...

    @property
    def training(self) -> SoftmaxTrainingConfig: ...


class SoftmaxObjective:
    """Cross-entropy over all entities (or a sample), N3 regulariser, and smoothness of timestamps."""

    def __init__(self, score: ScoreFunction, config: _SoftmaxSettings) -> None:
        self.temporal = score.temporal
        self._score = score
        self._dim, self._std = config.embedding.dim, config.embedding.init_std
        training = config.training
        self._negatives, self._n3_weight = training.negatives, training.n3_weight
        self._smoothness = training.smoothness_weight if isinstance(training, TemporalTrainingConfig) else 0.0
        self._first_stage = training.first_stage if isinstance(training, TelmTrainingConfig) else None

    def initial_tables(self, entities: int, directed_relations: int, ticks: int, generator: torch.Generator) -> Tables:
        """Normal rows; with two stages, the e1 and e2 parts are zero until the second one."""

        def table(rows: int, width: int) -> Tensor:
            return torch.randn(rows, width, generator=generator) * self._std

        score, dim = self._score, self._dim
        tables = Tables(
            table(entities, dim),
            table(directed_relations, score.relation_parts * dim),
            table(ticks, dim) if score.temporal else None,
            torch.zeros(dim) if score.drifts else None,
        )
        if self._first_stage is not None:
            for rows in (tables.entity, tables.relation, tables.time):
                assert rows is not None
                vector_parts(rows).zero_()
        return tables

    @torch.no_grad()
    def begin_episode(self, tables: Tables, number: int, generator: torch.Generator) -> None:
        """The second stage of TeLM begins with random e1 and e2 parts of relations and timestamps."""
        if self._first_stage is None or number != self._first_stage + 1:
            return
        for rows in (tables.relation, tables.time):
            assert rows is not None
            drawn = torch.empty_like(rows, device=CPU)  # where the generator is
            vector_parts(rows).copy_(vector_parts(drawn).normal_(std=self._std, generator=generator))

    def loss(
        self, tables: Tables, batch: FactBatch, generator: torch.Generator, shard: BatchShard | None = None
    ) -> tuple[Tensor, dict[str, float]]:
        score = self._score
        candidates, column, log_weight = tables.entity, batch.answer, None
        if len(tables.entity) > self._negatives:
            candidates, column, log_weight = self._sampled(tables.entity, batch.answer, generator)
        column, batch = column[batch.answers_of(shard)], batch.take(shard)
        queries = batch.queries
        entity = embedding(queries.entity, tables.entity)
        relation = embedding(queries.relation, tables.relation)
        time = None if tables.time is None else embedding(queries.tick, tables.time)
        composed = score.compose(entity, relation, time)
        facts = batch.weight.sum()
        fit = softmax_cross_entropy(composed, candidates, batch.row, column, batch.weight, log_weight) / facts
        loss = fit
        if self._n3_weight:
            weight = batch.weight.new_zeros(len(queries.entity)).index_add_(0, batch.row, batch.weight)
            penalty = (weight * score.query_penalty(entity, relation, time)).sum()
            penalty += (batch.weight * score.answer_penalty(embedding(column, candidates))).sum()
            loss = loss + self._n3_weight * penalty / facts
        if self._smoothness:
            loss = loss + self._smoothness * score.time_penalty(tables)
        return loss, {"cross_entropy": fit.item()}

    def _sampled(self, entity: Tensor, answer: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Candidate rows, the position of each answer among them, and the logarithm of what each stands for.

        All answers of the batch are candidates and stand for themselves; the sampled others stand for the rest.
        """
        answers, column = torch.unique(answer, return_inverse=True)
        other = torch.ones(len(entity), dtype=torch.bool, device=entity.device)
        other[answers] = False
        drawn = torch.randint(len(entity), (self._negatives,), generator=generator)  # on the CPU, as the generator is
        others = torch.unique(drawn.to(entity.device))
        others = others[other[others]]
        log_weight = torch.zeros(len(answers) + len(others), device=entity.device)
        log_weight[len(answers) :] = torch.tensor((len(entity) - len(answers)) / max(1, len(others))).log()
        return embedding(torch.cat([answers, others]), entity), column, log_weight

    def scores(self, tables: Tables, queries: QueryIds) -> Tensor:
        time = tables.time_rows(queries.tick)
        composed = self._score.compose(tables.entity[queries.entity], tables.relation[queries.relation], time)
        return composed @ tables.entity.T

    def support_loss(self, tables: Tables, support: SupportBatch) -> SupportLoss:
        """The mean over both directions of an entity's support facts, summed over entities.

        As an answer, the entity competes with candidates whose scores do not depend on its row, so their sum is
        computed once.
        """
        score, owner, weight = self._score, support.owner, support.weight.to(tables.entity.dtype) / 2
        candidates = tables.entity[support.candidates]
        relation, time = tables.relation[support.relation], tables.time_rows(support.tick)
        inverse = tables.relation[tables.inverse(support.relation)]
        inverse_query = score.compose(candidates[support.neighbour], inverse, time)
        others = (inverse_query @ candidates.T).logsumexp(dim=1)
        position = torch.arange(len(owner), device=owner.device)

        def loss(rows: Tensor) -> Tensor:
            row = rows[owner]
            query = score.compose(row, relation, time)
            forward = softmax_cross_entropy(query, candidates, position, support.neighbour, weight)
            backward = (weight * softplus(others - (inverse_query * row).sum(dim=1))).sum()
            penalty = score.query_penalty(row, relation, time) + score.answer_penalty(row)
            return forward + backward + self._n3_weight * (weight * penalty).sum()

        return loss
