"""TeRo: time rotates entities; the score is a distance of s(t) + r and conj(o(t))."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import embedding, softplus

from fitcarl.config.factorization import TeroConfig
from fitcarl.core.process_group import BatchShard
from fitcarl.models.factorization.objective import FactBatch, QueryIds, SupportBatch, SupportLoss
from fitcarl.models.factorization.score_function import Tables

_FOLD_IN_NEGATIVES = 200


def rotate(rows: Tensor, angle: Tensor) -> Tensor:
    """Complex rows times e^{iθ}, [n, 2k]; ``angle`` is [n, k] or [k]."""
    real, imaginary = rows.chunk(2, dim=-1)
    cosine, sine = angle.cos(), angle.sin()
    return torch.cat((real * cosine - imaginary * sine, real * sine + imaginary * cosine), dim=-1)


def conjugate(rows: Tensor) -> Tensor:
    """The complex conjugates of rows."""
    real, imaginary = rows.chunk(2, dim=-1)
    return torch.cat((real, -imaginary), dim=-1)


def rotated_distance(subject: Tensor, relation: Tensor, object: Tensor, angle: Tensor) -> Tensor:
    """f(s, r, o, t), the L1 norm of s(t) + r - conj(o(t)) over real and imaginary parts, [n]."""
    return (rotate(subject, angle) + relation - conjugate(rotate(object, angle))).abs().sum(dim=-1)


def log_loss(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """The loss of each fact, [facts], with its corruptions weighted by how close they are.

    Args:
        positive: [facts], distances of facts.
        negative: [facts, corruptions], distances of their corruptions.
        margin: γ.
    """
    closeness = margin - negative
    weight = torch.softmax(0.5 * closeness, dim=1)
    return (softplus(positive - margin) + (weight * softplus(closeness)).sum(dim=1)) / 2


class TeroObjective:
    """Facts against facts with a random subject or object."""

    temporal = True

    def __init__(self, config: TeroConfig) -> None:
        self._dim = config.embedding.dim
        self._margin, self._negatives = config.training.margin, config.training.negatives

    def initial_tables(self, entities: int, directed_relations: int, ticks: int, generator: torch.Generator) -> Tables:
        """Uniform rows and angles."""
        half = self._dim // 2
        bound = 6 / math.sqrt(half)
        sizes = ((entities, self._dim), (directed_relations, self._dim), (ticks, half))
        return Tables(*(torch.rand(*size, generator=generator) * 2 * bound - bound for size in sizes))

    def begin_episode(self, tables: Tables, number: int, generator: torch.Generator) -> None:
        """Does nothing: there is one stage."""

    def loss(
        self, tables: Tables, batch: FactBatch, generator: torch.Generator, shard: BatchShard | None = None
    ) -> tuple[Tensor, dict[str, float]]:
        assert tables.time is not None
        corrupted = torch.randint(len(tables.entity), (len(batch.row), self._negatives), generator=generator)
        corrupted = corrupted[batch.answers_of(shard)].to(tables.entity.device)
        batch = batch.take(shard)
        queries, row = batch.queries, batch.row
        entity = embedding(queries.entity, tables.entity)[row]
        relation = embedding(queries.relation, tables.relation)[row]
        angle = embedding(queries.tick, tables.time)[row]
        answer = embedding(batch.answer, tables.entity)
        subject, object_ = embedding(corrupted, tables.entity).chunk(2, dim=1)
        relation_, angle_ = relation.unsqueeze(1), angle.unsqueeze(1)
        negative = torch.cat(
            (
                rotated_distance(subject, relation_, answer.unsqueeze(1), angle_),
                rotated_distance(entity.unsqueeze(1), relation_, object_, angle_),
            ),
            dim=1,
        )
        losses = log_loss(rotated_distance(entity, relation, answer, angle), negative, self._margin)
        loss = (batch.weight * losses).sum() / batch.weight.sum()
        return loss, {"log_loss": loss.item()}

    def scores(self, tables: Tables, queries: QueryIds) -> Tensor:
        """-(f(e, r, o, t) + f(o, r⁻¹, e, t)) of all o; entities are rotated once per timestamp."""
        assert tables.time is not None
        scores = tables.entity.new_empty(len(queries.entity), len(tables.entity))
        for tick in torch.unique(queries.tick):
            at = (queries.tick == tick).nonzero().squeeze(1)
            candidates = rotate(tables.entity, tables.time[tick])
            entity, relation = candidates[queries.entity[at]], queries.relation[at]
            forward = conjugate(entity + tables.relation[relation])
            backward = conjugate(entity) - tables.relation[tables.inverse(relation)]
            scores[at] = -torch.cdist(forward, candidates, p=1) - torch.cdist(backward, candidates, p=1)
        return scores

    def support_loss(self, tables: Tables, support: SupportBatch) -> SupportLoss:
        """The loss of both directions of the support facts, with the neighbours replaced; the same for all facts."""
        assert tables.time is not None
        owner, weight = support.owner, support.weight.to(tables.entity.dtype) / 2
        relation, angle = tables.relation[support.relation], tables.time[support.tick]
        inverse = tables.relation[tables.inverse(support.relation)]
        chosen = torch.linspace(0, len(support.candidates) - 1, _FOLD_IN_NEGATIVES).long().unique()
        chosen = chosen.to(tables.entity.device)
        corrupted = tables.entity[support.candidates[chosen]]
        neighbour = tables.entity[support.candidates[support.neighbour]]
        relation_, inverse_, angle_ = (part.unsqueeze(1) for part in (relation, inverse, angle))

        def loss(rows: Tensor) -> Tensor:
            row = rows[owner]
            forward = log_loss(
                rotated_distance(row, relation, neighbour, angle),
                rotated_distance(row.unsqueeze(1), relation_, corrupted, angle_),
                self._margin,
            )
            backward = log_loss(
                rotated_distance(neighbour, inverse, row, angle),
                rotated_distance(corrupted, inverse_, row.unsqueeze(1), angle_),
                self._margin,
            )
            return (weight * (forward + backward)).sum()

        return loss
