"""Weight of a fact by its distance in time from the query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids


def hyperbolic_decay(fact_time: Ids, query_time: Ids, half_life: float) -> NDArray[np.float64]:
    """float64 [pairs]: 1 / (1 + gap / half_life); facts before and after the query are treated alike."""
    gap = np.abs(fact_time.astype(np.float64) - query_time)
    weight: NDArray[np.float64] = 1 / (1 + gap / half_life)
    return weight
