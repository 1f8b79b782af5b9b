from __future__ import annotations

import math

import pytest
import torch

from fitcarl.models.fitcarl.time import TimeEncoding
from tests.models.fitcarl.paper.reference import time_encoding


@pytest.fixture
def encoding() -> TimeEncoding:
    """d = 2, ω = (1, 1/2), φ = (0, π/2)."""
    encoding = TimeEncoding(2).double()
    with torch.no_grad():
        encoding.omega.copy_(torch.tensor([1.0, 0.5]))
        encoding.phi.copy_(torch.tensor([0.0, math.pi / 2], dtype=torch.float64))
    return encoding


# sqrt(1/2) (cos(1·2 + 0), cos(½·2 + π/2)) = .70711 (-.41615, -.84147)
# sqrt(1/2) (cos(-2), cos(-1 + π/2))       = .70711 (-.41615, +.84147)
BY_HAND = {2: (-0.294260, -0.595010), -2: (-0.294260, 0.595010), 0: (0.707107, 0.0)}


def test_time_encoding_equals_equation_1(encoding: TimeEncoding) -> None:
    weights = {f"time.{name}": value for name, value in encoding.named_parameters()}
    for difference, expected in BY_HAND.items():
        assert encoding(torch.tensor(difference)).tolist() == pytest.approx(expected, abs=1e-6)
        assert time_encoding(weights, difference).tolist() == pytest.approx(expected, abs=1e-6)


def test_time_table_contains_every_difference(encoding: TimeEncoding) -> None:
    table = encoding.table(3)
    assert table.rows.shape == (7, 2)
    for difference, expected in BY_HAND.items():
        assert table.rows[difference + table.max_delta].tolist() == pytest.approx(expected, abs=1e-6)


def test_weigh_scores_every_difference(encoding: TimeEncoding) -> None:
    # 2 · -.29426 + 10 · -.59501 for Δt = 2
    scores = encoding.table(3).weigh(torch.tensor([2.0, 10.0], dtype=torch.float64))
    assert scores[2 + 3].item() == pytest.approx(-6.538618, abs=1e-5)
    assert scores.shape == (7,)


def test_table_without_temporal_reasoning_is_zero(encoding: TimeEncoding) -> None:
    rows = encoding.table(3, temporal=False).rows
    assert rows.shape == (7, 2)
    assert not rows.any()
    assert not rows.requires_grad


def test_neighbouring_ticks_are_distinguishable_over_decades() -> None:
    rows = TimeEncoding(100).table(4000).rows
    assert (rows[1:] - rows[:-1]).abs().amax(1).min() > 1e-3
    assert (rows[0] - rows[4000]).abs().max() > 1e-2
