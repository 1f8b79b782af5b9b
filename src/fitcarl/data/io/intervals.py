"""Facts with a start and an end as facts with one time each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.io.columns import OPEN_END, FactColumns
from fitcarl.data.reading import BEGINS, ENDS


def has_end(source: FactColumns) -> NDArray[np.bool_]:
    """bool [rows]: whether the end of the interval is known."""
    if source.end is None:
        raise ValueError("the facts have no intervals")
    open_ended = source.end.str.strip_chars().str.to_lowercase().is_in(OPEN_END)
    return ~open_ended.to_numpy()


def as_events(source: FactColumns) -> FactColumns:
    """Two facts per interval: its relation begins at the start, and ends at the end if that is known.

    The facts of the ends follow those of all starts.
    """
    import polars as pl

    if source.end is None:
        return source
    closed = np.flatnonzero(has_end(source))
    subject, relation, object, time = source.values
    rows = np.arange(len(time)) if source.rows is None else source.rows
    values = (
        pl.concat([subject, subject.gather(closed)]),
        pl.concat([relation + BEGINS, relation.gather(closed) + ENDS]),
        pl.concat([object, object.gather(closed)]),
        pl.concat([time, source.end.gather(closed).alias(time.name)]),
    )
    return replace(source, values=values, end=None, rows=np.concatenate([rows, rows[closed]]))


def expanded_ticks(
    start: NDArray[np.int64], end: NDArray[np.int64], at_most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and tick of each fact of expanded intervals, both ends included.

    Of an interval with more than ``at_most`` ticks, so many evenly spaced ones are kept, both ends among them.

    Args:
        start: int64 [rows].
        end: int64 [rows], not before the start.
        at_most: Maximum number of facts per row.
    """
    count = np.minimum(end - start + 1, at_most)
    row = np.repeat(np.arange(len(start)), count)
    position = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    steps = np.maximum(count - 1, 1)[row]
    return row, start[row] + np.rint(position * (end - start)[row] / steps).astype(np.int64)
