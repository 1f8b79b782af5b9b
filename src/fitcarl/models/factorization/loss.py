"""What ComplEx is trained to do: put every true answer of (e, r, ?) before everything that is no answer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus


def cubes(rows: Tensor) -> Tensor:
    """N3 of each row, [rows]: the sum of its complex numbers' cubed moduli."""
    real, imaginary = rows.chunk(2, dim=1)
    return (real.square() + imaginary.square()).pow(1.5).sum(dim=1)


def filtered_softmax(
    queries: Tensor, candidates: Tensor, row: Tensor, column: Tensor, weight: Tensor, silent: int = 0
) -> Tensor:
    """The weighted sum over answers a of -log(exp s_a / (exp s_a + sum of exp s_n over all n that are no answer)).

    The other answers of the same query do not compete with a, just as a filter takes them away before a rank is
    read; so a query with a hundred answers asks for no more of a model than one with a single answer.

    queries: [queries, d]; candidates: [candidates, d]; a score is their dot product.
    row, column: int64 [answers], the query and the candidate of each answer; no pair twice.
    weight: [answers].
    silent: how many candidates there are besides that score 0 and answer nothing, such as entities of zero rows.
    """
    loss: Tensor = _FilteredSoftmax.apply(queries, candidates, row, column, weight, silent)  # type: ignore[no-untyped-call]
    return loss


class _FilteredSoftmax(torch.autograd.Function):
    """Written out, because automatic differentiation would keep and pass over three matrices of all scores."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, candidates: Tensor, row: Tensor, column: Tensor, weight: Tensor, silent: int
    ) -> Tensor:
        scores = queries @ candidates.T
        right = scores[row, column]
        scores[row, column] = -torch.inf
        top = scores.amax(dim=1, keepdim=True).clamp_(min=0)
        mass = scores.sub_(top).exp_().sum(dim=1, keepdim=True).add_(torch.exp(-top), alpha=silent)
        mass.clamp_(min=torch.finfo(mass.dtype).tiny)  # a query that everything answers
        wrong = (top + mass.log()).squeeze(1)
        margin = wrong[row] - right
        push = weight * torch.sigmoid(margin)
        share = torch.zeros_like(wrong).index_add_(0, row, push).unsqueeze(1) / mass
        gradient = scores.mul_(share)  # every wrong candidate is pushed away by its part of the mass
        gradient[row, column] = -push
        ctx.save_for_backward(gradient, queries, candidates)
        return (weight * softplus(margin)).sum()

    @staticmethod
    def backward(ctx: Any, *outside: Tensor) -> tuple[Tensor | None, ...]:
        gradient, queries, candidates = ctx.saved_tensors
        scaled = outside[0]
        return scaled * (gradient @ candidates), scaled * (gradient.T @ queries), None, None, None, None
