from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fitcarl.models.fitcarl.history import HistoryEncoder
from tests.models.fitcarl.paper.reference import gru


def simple() -> HistoryEncoder:
    """d = 1, hence three hidden units; reset gates at 1/2, update gates at 3/4, candidates as set below."""
    encoder = HistoryEncoder(1).double()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        encoder.cell.bias_ih[3:6] = math.log(3)  # σ(ln 3) = 3/4
        encoder.cell.bias_hh[6:9] = 2
        encoder.cell.weight_ih[6] = torch.tensor([1.0, 2, 3])  # unit 0 reads relation, entity and time
        encoder.cell.weight_hh[7, 0] = 4  # unit 1 reads unit 0
    return encoder


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# hist⁽⁰⁾ of (dummy, entity, now) = (.1, .2, .3): candidates tanh(.1 + .4 + .9 + ½·2), tanh(½·2), tanh(½·2);
# a quarter of them, because the update gate keeps three quarters of the zero state.
BEGIN = (0.25 * 0.9836749, 0.25 * 0.7615942, 0.25 * 0.7615942)


def test_history_starts_with_the_dummy_relation_as_in_equation_3() -> None:
    begun = simple().begin(numbers(0.1), numbers(0.2).unsqueeze(0), numbers(0.3))
    assert begun[0].tolist() == pytest.approx(BEGIN, abs=1e-6)


def test_history_step_equals_equation_3() -> None:
    # x = (.5, -1, 0): unit 0's candidate is tanh(.5 - 2 + 0 + 1) = -.4621172; unit 1's is
    # tanh(½ (4 · .2459187 + 2)) = tanh(1.4918375) = .9036623; unit 2's is tanh(1) again.
    went = simple().step(
        numbers(*BEGIN).unsqueeze(0),
        numbers(9, 0.5).unsqueeze(1),
        torch.tensor([1]),
        numbers(-1).unsqueeze(0),
        numbers(0, 9).unsqueeze(1),
        torch.tensor([0]),
    )
    expected = [0.25 * new + 0.75 * old for new, old in zip((-0.4621172, 0.9036623, 0.7615942), BEGIN, strict=True)]
    assert went[0].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("states", [3, 40])
def test_steps_equal_a_gru_cell_on_the_concatenated_input(states: int) -> None:
    # 20 rows in each table: fewer than 40 states and more than 3, so both ways of multiplying are used
    torch.manual_seed(states)
    d = 4
    encoder = HistoryEncoder(d).double()
    relation_rows, time_rows = torch.randn(2, 20, d, dtype=torch.float64)
    relation, difference = torch.randint(0, 20, (2, states))
    entity, hidden = torch.randn(states, d).double(), torch.randn(states, 3 * d).double()
    x = torch.cat([relation_rows[relation], entity, time_rows[difference]], 1)
    actual = encoder.step(hidden, relation_rows, relation, entity, time_rows, difference)
    assert torch.allclose(actual, encoder.cell(x, hidden), rtol=1e-12, atol=1e-14)
    weights = {f"history.{name}": value for name, value in encoder.named_parameters()}
    literal = torch.stack([gru(weights, *pair) for pair in zip(x, hidden, strict=True)])
    assert torch.allclose(actual, literal, rtol=1e-12, atol=1e-14)

    start = torch.cat([relation_rows[3].expand(states, -1), entity, time_rows[7].expand(states, -1)], 1)
    begun = encoder.begin(relation_rows[3], entity, time_rows[7])
    assert torch.allclose(begun, encoder.cell(start), rtol=1e-12, atol=1e-14)
