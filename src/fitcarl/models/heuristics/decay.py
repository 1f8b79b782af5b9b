"""How much a fact still says about another time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids


def decay(then: Ids, now: Ids, half: float) -> NDArray[np.float64]:
    """float64 [pairs]: 1 at the same tick, 1/2 after ``half`` ticks, with a long tail; past and future alike."""
    gap = np.abs(then.astype(np.float64) - now)
    weight: NDArray[np.float64] = 1 / (1 + gap / half)
    return weight
