"""How much each support fact of an unseen entity counts at the time of a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids

SAME_TIME_DAYS = 0.2
"""The time difference of a support fact at the time of the query."""


def time_weights(
    support_time: Ids, known: NDArray[np.bool_], query_time: Ids, days_per_tick: float
) -> NDArray[np.float64]:
    """a_i(q) = softmax_i(1 / D_i), where D_i = |t_i - t_q| in days.

    Args:
        support_time: int32 [queries, K], t_i in ticks.
        known: bool [queries, K], false in cells without a fact.
        query_time: int32 [queries], t_q in ticks.
        days_per_tick: Days per tick.

    Returns:
        float64 [queries, K]; 0 in cells without a fact.
    """
    days = np.abs(support_time.astype(np.int64) - query_time[:, None]) * days_per_tick
    closeness = np.where(known, 1 / np.where(days == 0, SAME_TIME_DAYS, days), -np.inf)
    weight = np.exp(closeness - closeness.max(axis=1, keepdims=True, initial=0))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)
