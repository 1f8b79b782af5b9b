"""Training losses of factorization models: softmax over candidates, with or without the other answers, and N3."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus


def n3_penalty(rows: Tensor, components: int = 2) -> Tensor:
    """The N3 penalty of each row, [rows]: the sum over coordinates of the cubed norm of their components.

    Args:
        rows: [rows, components · k].
        components: Real numbers per coordinate, 2 for complex numbers.
    """
    first, *others = (part.square() for part in rows.chunk(components, dim=1))
    return sum(others, start=first).pow(1.5).sum(dim=1)


def filtered_softmax(
    queries: Tensor, candidates: Tensor, row: Tensor, column: Tensor, weight: Tensor, zero_candidates: int = 0
) -> Tensor:
    """The weighted sum over answers a of -log(exp s_a / (exp s_a + Σ exp s_n over all n that are no answer)).

    The other answers of the same query do not compete with a, as in a filtered ranking.

    Args:
        queries: [queries, d].
        candidates: [candidates, d]; a score is the dot product of a query and a candidate.
        row: int64 [answers], the query of each answer.
        column: int64 [answers], the candidate of each answer; (row, column) pairs are distinct.
        weight: [answers].
        zero_candidates: The number of further candidates that score 0 and are no answers (entities with zero rows).

    Returns:
        A scalar.
    """
    loss: Tensor = _FilteredSoftmax.apply(queries, candidates, row, column, weight, zero_candidates)  # type: ignore[no-untyped-call]
    return loss


class _FilteredSoftmax(torch.autograd.Function):
    """Explicit backward pass: autograd would keep three matrices of all scores."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, candidates: Tensor, row: Tensor, column: Tensor, weight: Tensor, zero_candidates: int
    ) -> Tensor:
        scores = queries @ candidates.T
        positive = scores[row, column]
        scores[row, column] = -torch.inf
        top = scores.amax(dim=1, keepdim=True).clamp_(min=0)
        mass = scores.sub_(top).exp_().sum(dim=1, keepdim=True).add_(torch.exp(-top), alpha=zero_candidates)
        mass.clamp_(min=torch.finfo(mass.dtype).tiny)  # all candidates are answers
        negative = (top + mass.log()).squeeze(1)
        margin = negative[row] - positive
        pull = weight * torch.sigmoid(margin)
        factor = torch.zeros_like(negative).index_add_(0, row, pull).unsqueeze(1) / mass
        gradient = scores.mul_(factor)  # negatives by their part of the mass
        gradient[row, column] = -pull
        ctx.save_for_backward(gradient, queries, candidates)
        return (weight * softplus(margin)).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *_product_gradients(ctx, gradients[0]), None, None, None, None


def softmax_cross_entropy(
    queries: Tensor, candidates: Tensor, row: Tensor, column: Tensor, weight: Tensor, log_weight: Tensor | None = None
) -> Tensor:
    """The weighted sum over answers a of -log(exp s_a / Σ exp s_c over all candidates c).

    Args:
        queries: [queries, d].
        candidates: [candidates, d]; a score is the dot product of a query and a candidate.
        row: int64 [answers], the query of each answer.
        column: int64 [answers], the candidate of each answer; (row, column) pairs are distinct.
        weight: [answers].
        log_weight: [candidates], the logarithm of the number of entities that a candidate stands for (a sampled one
            stands for several); 0 for answers, and 0 for all if None.

    Returns:
        A scalar.
    """
    loss: Tensor = _SoftmaxCrossEntropy.apply(queries, candidates, row, column, weight, log_weight)  # type: ignore[no-untyped-call]
    return loss


class _SoftmaxCrossEntropy(torch.autograd.Function):
    """Explicit backward pass: all scores are kept once."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        candidates: Tensor,
        row: Tensor,
        column: Tensor,
        weight: Tensor,
        log_weight: Tensor | None,
    ) -> Tensor:
        scores = queries @ candidates.T
        positive = scores[row, column]
        if log_weight is not None:
            scores += log_weight
        top = scores.amax(dim=1, keepdim=True)
        mass = scores.sub_(top).exp_().sum(dim=1, keepdim=True)
        total = weight.new_zeros(len(queries)).index_add_(0, row, weight)
        gradient = scores.mul_(total.unsqueeze(1) / mass)
        gradient[row, column] -= weight
        ctx.save_for_backward(gradient, queries, candidates)
        return (total * (top + mass.log()).squeeze(1)).sum() - (weight * positive).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *_product_gradients(ctx, gradients[0]), None, None, None, None


def _product_gradients(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of the queries and of the candidates from the saved gradient of their product; None if not needed."""
    gradient, queries, candidates = ctx.saved_tensors
    for_queries, for_candidates, *_ = ctx.needs_input_grad
    return (
        upstream * (gradient @ candidates) if for_queries else None,
        upstream * (gradient.T @ queries) if for_candidates else None,
    )
