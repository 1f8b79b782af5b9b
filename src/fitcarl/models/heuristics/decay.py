"""How much a fact still says about another time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.quadruples import Ids

_HALF: dict[str, float] = {"hour": 24 * 30, "day": 30, "month": 3, "year": 1}


def half_time(calendar: Calendar) -> float:
    """Ticks after which a fact counts half: about a month where time is fine, a twelfth of it all where it is bare."""
    return _HALF.get(calendar.granularity, max(1.0, calendar.span / 12))


def decay(then: Ids, now: Ids, half: float) -> NDArray[np.float64]:
    """float64 [pairs]: 1 at the same tick, 1/2 after ``half`` ticks, with a long tail; past and future alike."""
    gap = np.abs(then.astype(np.float64) - now)
    weight: NDArray[np.float64] = 1 / (1 + gap / half)
    return weight
