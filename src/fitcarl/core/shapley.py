"""Exact Shapley values of small games."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def shapley_values(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Shapley values of a game, from the value of every coalition.

    The values of the players add up to the value of all players minus the value of none.

    Args:
        value: float64 [2**players]: bit i of the index tells whether player i takes part.

    Returns:
        float64 [players].
    """
    players = len(value).bit_length() - 1
    if len(value) != 1 << players:
        raise ValueError(f"{len(value)} values are not one for each coalition")
    coalition = np.arange(len(value))
    size = np.bitwise_count(coalition).astype(np.int64)
    weight = np.array([1 / (players * math.comb(players - 1, k)) for k in range(players)])
    out = np.empty(players)
    for player in range(players):
        without = coalition[(coalition >> player) & 1 == 0]
        out[player] = np.dot(weight[size[without]], value[without | (1 << player)] - value[without])
    return out
