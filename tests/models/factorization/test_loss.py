from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.models.factorization.loss import filtered_softmax, n3_penalty


def _direct_sum(
    scores: list[list[float]], answers: list[tuple[int, int]], weight: list[float], zero_candidates: int
) -> float:
    loss = 0.0
    for (query, right), factor in zip(answers, weight, strict=True):
        wrong = [score for other, score in enumerate(scores[query]) if (query, other) not in answers]
        mass = sum(math.exp(score) for score in wrong) + zero_candidates
        true = math.exp(scores[query][right])
        loss -= factor * math.log(true / (true + mass))
    return loss


@st.composite
def _cases(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int]:
    queries, candidates = draw(st.integers(1, 4)), draw(st.integers(2, 6))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    everything = [(query, candidate) for query in range(queries) for candidate in range(candidates)]
    answers = sorted(draw(st.sets(st.sampled_from(everything), min_size=1)))
    row, column = (torch.tensor(part) for part in zip(*answers, strict=True))
    weight = torch.tensor(random.uniform(0.5, 3, len(answers)))
    rows = (torch.tensor(random.normal(size=(count, 4)) * 2) for count in (queries, candidates))
    return (*rows, row, column, weight, draw(st.integers(0, 3)))


@given(_cases())
def test_loss_equals_the_direct_sum(case) -> None:  # type: ignore[no-untyped-def]
    queries, candidates, row, column, weight, zero_candidates = case
    answers = list(zip(row.tolist(), column.tolist(), strict=True))
    expected = _direct_sum((queries @ candidates.T).tolist(), answers, weight.tolist(), zero_candidates)
    assert math.isclose(float(filtered_softmax(*case)), expected, rel_tol=1e-9, abs_tol=1e-9)


@given(_cases())
def test_gradient_equals_numerical_gradient(case) -> None:  # type: ignore[no-untyped-def]
    queries, candidates, row, column, weight, zero_candidates = case
    assert torch.autograd.gradcheck(
        lambda q, c: 0.7 * filtered_softmax(q, c, row, column, weight, zero_candidates),
        (queries.requires_grad_(), candidates.requires_grad_()),
        atol=1e-6,
    )


def test_query_answered_by_all_candidates_has_zero_loss_and_gradient() -> None:
    queries, candidates = torch.ones(1, 2, requires_grad=True), torch.eye(2, requires_grad=True)
    loss = filtered_softmax(queries, candidates, torch.tensor([0, 0]), torch.tensor([0, 1]), torch.ones(2))
    loss.backward()
    assert float(loss.detach()) < 1e-30
    assert queries.grad is not None
    assert float(queries.grad.abs().max()) < 1e-30


def test_scores_too_large_for_exp_give_a_finite_loss() -> None:
    queries, candidates = torch.full((1, 2), 100.0), torch.tensor([[1.0, 1.0], [9.0, 9.0]])
    loss = filtered_softmax(queries, candidates, torch.tensor([0]), torch.tensor([0]), torch.ones(1), 1)
    assert float(loss) == 1600.0


def test_underflowing_scores_get_no_gradient() -> None:
    queries, candidates = torch.ones(1, 1, requires_grad=True), torch.tensor([[5.0], [-500.0]], requires_grad=True)
    filtered_softmax(queries, candidates, torch.tensor([0]), torch.tensor([0]), torch.ones(1)).backward()
    assert candidates.grad is not None
    assert float(candidates.grad.abs().max()) < 1e-30


def test_n3_penalty_sums_cubed_moduli() -> None:
    # 3 + 4i has modulus 5, 0 + 2i has 2: 125 + 8.
    assert n3_penalty(torch.tensor([[3.0, 0.0, 4.0, 2.0]])).tolist() == [133.0]
