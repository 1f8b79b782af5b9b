from __future__ import annotations

import pytest
import torch

from fitcarl.models.fitcarl.confidence import ConfidenceLearner
from tests.models.fitcarl.paper.reference import confidence_score


def test_confidence_equals_equation_8() -> None:
    # d = 1: core[:, 0, :] = ((1, 2), (3, 4)), h_(e', t_q) = (5, .5), h_r = 2.
    # z = 2 (5 · (1, 2) + .5 · (3, 4)) = (13, 24), and ψ = 13 · .1 + 24 · .01 = 1.54 for the node (.1, .01).
    learner = ConfidenceLearner(1).double()
    with torch.no_grad():
        learner.core.copy_(torch.tensor([[[1.0, 2]], [[3, 4]]]))
    own, now = torch.tensor([[5.0]], dtype=torch.float64), torch.tensor([0.5], dtype=torch.float64)
    rows = torch.tensor([[9.0], [2.0]], dtype=torch.float64)
    z = learner(own, now, rows, torch.tensor([1]))
    assert z.tolist() == [[13.0, 24.0]]
    node = torch.tensor([0.1, 0.01], dtype=torch.float64)
    assert (z[0] @ node).item() == pytest.approx(1.54)
    literal = confidence_score({"confidence.core": learner.core}, torch.cat([own[0], now]), rows[1], node)
    assert float(literal.detach()) == pytest.approx(1.54)


@pytest.mark.parametrize("counts", [[1], [16], [17], [0, 33, 1, 0, 16, 5], [1] * 40])
def test_grouping_by_relation_equals_the_full_contraction(counts: list[int]) -> None:
    """Groups below, at and above a block's size, relations without a query, and queries in any order."""
    torch.manual_seed(len(counts))
    d = 3
    learner = ConfidenceLearner(d).double()
    with torch.no_grad():
        learner.core.normal_()
    relation = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    relation = relation[torch.randperm(len(relation))]
    own = torch.randn(len(relation), d, dtype=torch.float64, requires_grad=True)
    now = torch.randn(d, dtype=torch.float64, requires_grad=True)
    rows = torch.randn(len(counts), d, dtype=torch.float64, requires_grad=True)
    z = learner(own, now, rows, relation)
    start = torch.cat([own, now.expand(len(own), -1)], 1)
    expected = torch.einsum("ijk,qi,qj->qk", learner.core, start, rows[relation])
    assert torch.allclose(z, expected, rtol=1e-11, atol=1e-12)

    weights = torch.randn_like(z)
    inputs = (own, now, rows, learner.core)
    actual = torch.autograd.grad((z * weights).sum(), inputs)
    expected_gradients = torch.autograd.grad((expected * weights).sum(), inputs)
    for found, expected_gradient in zip(actual, expected_gradients, strict=True):
        assert torch.allclose(found, expected_gradient, rtol=1e-11, atol=1e-12)
