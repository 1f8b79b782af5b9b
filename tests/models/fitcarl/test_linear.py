"""Blocked products and table lookups equal the plain operations, with their gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fitcarl.models.fitcarl.confidence import grouped_product
from fitcarl.models.fitcarl.linear import add_rows, linear_map


def numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def assert_same(ours: Tensor, plain: Tensor, inputs: list[Tensor]) -> None:
    assert torch.allclose(ours, plain, rtol=1e-12, atol=1e-12)
    weights = numbers(*plain.shape, seed=9).detach()
    found, expected = (torch.autograd.grad((out * weights).sum(), inputs) for out in (ours, plain))
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("rows", [0, 1, 256, 600])
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_map_equals_one_product(rows: int, with_bias: bool) -> None:
    x, weight, bias = numbers(rows, 3), numbers(5, 3, seed=1), numbers(5, seed=2)
    plain = x @ weight.T + (bias if with_bias else 0)
    assert_same(linear_map(x, weight, bias if with_bias else None), plain, [x, weight] + [bias] * with_bias)


def test_linear_map_gives_no_gradient_to_constant_rows() -> None:
    x, weight = numbers(4, 3).detach(), numbers(5, 3)
    linear_map(x, weight).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is None
    assert torch.allclose(weight.grad, x.sum(0).expand(5, 3))  # type: ignore[arg-type]


def test_rows_of_two_tables_are_added() -> None:
    base, first, second = numbers(6, 4), numbers(3, 4, seed=1), numbers(2, 4, seed=2)
    i, j = torch.tensor([0, 2, 2, 0, 2, 2]), torch.tensor([1, 1, 0, 1, 1, 0])
    plain = base + first[i] + second[j]
    assert_same(add_rows(base * 1, first, i, second, j), plain, [base, first, second])


@pytest.mark.parametrize("which", [[2, 0, 2, 2, 3], [1, 1, 1, 1, 1], []], ids=str)
def test_grouped_product_equals_a_product_per_vector(which: list[int]) -> None:
    vectors, matrices, index = numbers(len(which), 3), numbers(4, 3, 2, seed=1), torch.tensor(which, dtype=torch.int64)
    plain = torch.einsum("qi,qik->qk", vectors, matrices[index])
    assert_same(grouped_product(vectors, matrices, index), plain, [vectors, matrices])
