"""Shapley values: values worked by hand, and the definition by orders of players."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.core.shapley import shapley_values


def test_two_players_by_hand() -> None:
    # alone the first earns 1 and the second 2, together 5: each gets half of the surplus of 2
    assert shapley_values(np.array([0.0, 1.0, 2.0, 5.0])) == pytest.approx([2.0, 3.0])


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.floats(-5, 5), min_size=1 << n, max_size=1 << n)))
def test_values_are_means_over_all_orders(values: list[float]) -> None:
    game = np.array(values)
    players = len(values).bit_length() - 1
    expected = np.zeros(players)
    orders = list(permutations(range(players)))
    for order in orders:
        coalition = 0
        for player in order:
            expected[player] += game[coalition | 1 << player] - game[coalition]
            coalition |= 1 << player
    found = shapley_values(game)
    assert found == pytest.approx(expected / len(orders), abs=1e-9)
    assert found.sum() == pytest.approx(game[-1] - game[0], abs=1e-9)


def test_a_missing_coalition_is_rejected() -> None:
    with pytest.raises(ValueError, match="coalition"):
        shapley_values(np.zeros(3))
