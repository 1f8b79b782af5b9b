from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fitcarl.models.fitcarl.policy import Combination, PolicyNetwork, masked_log_softmax


def numbers(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_attention_equals_equations_4_to_7() -> None:
    # Action 1: φ_hist = 1 + .5, φ_q = .2 + .3, att_hist = σ(1) = .7310586; its score is .7310586 · 2 - .2689414 · 1.
    # Action 2: φ_hist = 0 + .1, φ_q = .1 + 0, att_hist = 1/2; its score is ½ · .4 + ½ · .6 = .5.
    # P(1) = σ(1.1931757 - .5) = .6666730
    dots = numbers([[[1, 0], [2, 0.4], [0.2, 0.1], [-1, 0.6]]])
    step = PolicyNetwork.step(dots, numbers([[0.5, 0.1]]), numbers([[0.3, 0.0]]), None, torch.ones(1, 2).bool())
    assert step.probability[0].tolist() == pytest.approx([0.6666730, 0.3333270], abs=1e-6)
    assert step.confidence is None
    assert torch.equal(step.log_policy.exp(), step.probability)


def test_policy_equals_equation_9() -> None:
    # P = (3/4, 1/4) from scores ln 3 and 0 whatever the attention is; conf = (1/3, 2/3) from ψ = 0 and ln 2.
    # π(1) = exp(1/4) / (exp(1/4) + exp(1/6)) = 1 / (1 + exp(-1/12)) = .5208213
    score = [math.log(3), 0.0]
    dots, zero = numbers([[[0, 0], score, [0, 0], score]]), numbers([[0.0, 0.0]])
    step = PolicyNetwork.step(dots, zero, zero, numbers([[0.0, math.log(2)]]), torch.ones(1, 2).bool())
    assert step.probability[0].tolist() == pytest.approx([0.75, 0.25])
    assert step.confidence is not None
    assert step.confidence[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert step.log_policy.exp()[0].tolist() == pytest.approx([0.5208213, 0.4791787], abs=1e-6)


def test_product_is_normalised() -> None:
    # P = (3/4, 1/4) and conf = (1/3, 2/3) as above: the products 1/4 and 1/6 sum up to 5/12.
    score = [math.log(3), 0.0]
    dots, zero = numbers([[[0, 0], score, [0, 0], score]]), numbers([[0.0, 0.0]])
    step = PolicyNetwork.step(dots, zero, zero, numbers([[0.0, math.log(2)]]), torch.ones(1, 2).bool(), "product")
    assert step.log_policy.exp()[0].tolist() == pytest.approx([3 / 5, 2 / 5])
    assert step.probability[0].tolist() == pytest.approx([0.75, 0.25])


def test_product_keeps_what_the_networks_are_sure_of() -> None:
    """Eq. 9 bounds log π's spread by 1; the product has no bound, and small probabilities stay distinct."""
    sure = torch.zeros(1, 51)
    sure[0, 7], sure[0, 8] = 80, -80
    zero = torch.zeros(1, 51)
    dots = torch.stack([zero, sure, zero, sure], 1)
    step = PolicyNetwork.step(dots, zero, zero, sure, torch.ones(1, 51).bool(), "product")
    assert step.log_policy.dtype == torch.float64
    assert step.log_policy[0, 7].exp().item() == pytest.approx(1)
    assert (step.log_policy[0, 7] - step.log_policy[0, 8]).item() == pytest.approx(320, rel=1e-6)
    bounded = PolicyNetwork.step(dots, zero, zero, sure, torch.ones(1, 51).bool(), "softmax").log_policy
    assert (bounded.max() - bounded.min()).item() <= 1


ROWS = st.lists(st.lists(st.floats(-30, 30), min_size=6, max_size=6), min_size=1, max_size=4)


@given(ROWS, st.data(), st.sampled_from(["softmax", "product"]))
def test_padding_has_zero_probability_and_gradient(
    rows: list[list[float]], data: st.DataObject, combine: Combination
) -> None:
    mask = torch.ones(len(rows), 6, dtype=torch.bool)
    for row in range(len(rows)):
        mask[row, data.draw(st.integers(1, 6)) :] = False
    base = numbers(rows)
    dots = torch.stack([base, -base, base * 0.5, base * 0.3], 1).requires_grad_()
    psi = (base * 0.2).requires_grad_()
    history, query = base.clone().requires_grad_(), (-base).requires_grad_()
    step = PolicyNetwork.step(dots, history, query, psi, mask, combine)
    assert step.confidence is not None
    for distribution in (step.log_policy.exp(), step.probability, step.confidence):
        assert (distribution[~mask] == 0).all()
        assert torch.allclose(distribution.sum(-1), torch.ones(len(rows), dtype=torch.float64))
    (step.log_policy.masked_fill(~mask, 0) * base).sum().backward()
    for tensor in (dots, psi, history, query):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()
        assert not tensor.grad.masked_fill(mask if tensor.ndim == 2 else mask.unsqueeze(1), 0).any()


@given(ROWS, st.integers(1, 6))
def test_padding_does_not_change_probabilities(rows: list[list[float]], count: int) -> None:
    base = numbers(rows)
    dots = torch.stack([base, -base, base * 0.5, base * 0.3], 1)
    mask = (torch.arange(6) < count).expand(len(rows), 6)
    padded = PolicyNetwork.step(dots, base, -base, base, mask)
    cut = PolicyNetwork.step(dots[..., :count], base[:, :count], -base[:, :count], base[:, :count], mask[:, :count])
    assert torch.allclose(padded.log_policy[:, :count], cut.log_policy, rtol=1e-12, atol=1e-14)


def test_maximum_probability_of_51_actions_is_below_a_twentieth() -> None:
    """P · conf lies in [0, 1] (Eq. 9), so a certain action has weight e against fifty actions of weight 1."""
    sure = torch.full((1, 51), -1e3, dtype=torch.float64)
    sure[0, 7] = 1e3
    dots = torch.stack([sure, sure, sure, sure], 1)
    step = PolicyNetwork.step(dots, sure, sure, sure, torch.ones(1, 51).bool())
    assert step.log_policy.exp().max().item() == pytest.approx(math.e / (math.e + 50))


def test_nearly_equal_probabilities_stay_distinct_in_single_precision() -> None:
    # Fifty actions whose P · conf differ by about 1e-7: Eq. 9 in float32 would tie them.
    score = torch.linspace(0, 0.01, 50).expand(1, 50)
    dots = torch.stack([score, score, score, score], 1)
    zero = torch.zeros(1, 50)
    step = PolicyNetwork.step(dots, zero, zero, zero, torch.ones(1, 50).bool())
    assert step.log_policy.dtype == torch.float64
    assert len(step.log_policy.unique()) == 50


def test_folded_vectors_equal_products_with_mapped_actions() -> None:
    torch.manual_seed(0)
    network = PolicyNetwork(3).double()
    history, x = torch.randn(2, 5, 9, dtype=torch.float64)
    relations, entity, h_0 = torch.randn(4, 3).double(), torch.randn(5, 3).double(), torch.randn(3).double()
    which = torch.tensor([3, 0, 2, 2, 1])
    query = torch.cat([relations[which], entity, h_0.expand(5, 3)], 1)
    h_a = x @ network.w3.T
    for vectors, bar in (
        (network.history_vectors(history), history @ network.w1.T),
        (network.query_vectors(relations, which, entity, h_0), query @ network.w2.T),
    ):
        assert vectors.shape == (5, 2, 9)
        expected = torch.stack([(h_a * bar).sum(1), (h_a * (bar @ network.w4.T)).sum(1)], 1)
        assert torch.allclose((vectors * x.unsqueeze(1)).sum(-1), expected, rtol=1e-12, atol=1e-13)


def test_masked_softmax_ignores_padding() -> None:
    out = masked_log_softmax(numbers([[1.0, 2.0, 50.0]]), torch.tensor([[True, True, False]]))
    assert out.exp()[0].tolist() == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e), 0])
    assert out[0, 2].item() == -math.inf
