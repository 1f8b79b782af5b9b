"""The events whose objects are candidates, copied for one batch of the encoder's training.

Every batch reads all events once. Indexing each column by a mask with numpy takes several passes of one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only, read_only_arrays
from fitcarl.core.compiled import loop
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.data.quadruples import Ids
from fitcarl.models.plus.kernels import Ints, Longs

_MIN_EVENTS = 20_000
"""Events per thread below which a thread costs more than it saves."""


class _Events(NamedTuple):
    event_time: Ints
    event_source: Ints
    event_relation: Ints
    event_target: Ints


def candidate_events(events: Mapping[str, Ids], column: NDArray[np.int64]) -> dict[str, Ids]:
    """The events whose object has a column, in the same order.

    Args:
        events: The ``EVENT_ARRAYS`` of all events.
        column: int64 [entities]: the column of each entity, -1 for entities that are no candidates.
    """
    given, column = read_only_arrays(_Events(**events)), read_only(column)
    ranges = split_range(len(given.event_target), min_items=_MIN_EVENTS)
    counts = np.zeros(len(ranges) + 1, dtype=np.int64)
    parallel_for(ranges, lambda n, low, high: _count(low, high, given.event_target, column, counts, n + 1))
    first = np.cumsum(counts)
    kept = _Events(*(np.empty(first[-1], dtype=np.int32) for _ in given))
    parallel_for(ranges, lambda n, low, high: _copy(low, high, given, column, kept, first[n], first[n + 1]))
    return kept._asdict()


@loop()
def _count(low: int, high: int, target: Ints, column: Longs, counts: Longs, place: int) -> None:
    total = 0
    for a in range(low, high):
        total += column[target[a]] >= 0
    counts[place] = total


@loop()
def _copy(low: int, high: int, given: _Events, column: Longs, kept: _Events, first: int, last: int) -> None:
    """Copies the chosen of events low to high to positions first to last."""
    for a in range(low, high):
        if first == last:
            return
        # Every event is written, and the next one overwrites it unless it was chosen: faster than a branch.
        kept.event_time[first], kept.event_source[first] = given.event_time[a], given.event_source[a]
        kept.event_relation[first], kept.event_target[first] = given.event_relation[a], given.event_target[a]
        first += column[given.event_target[a]] >= 0
