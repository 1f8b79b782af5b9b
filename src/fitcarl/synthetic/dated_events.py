"""Events by actor or pair of actors and by time, to look up the events before or after a day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.events import Events, Rows


@dataclass(frozen=True, eq=False)
class DatedEvents:
    """Events by number (of an actor or a pair) and time, to look up the events before or after a day."""

    key: NDArray[np.int64]
    """int64 [entries], ascending: number · 2¹⁵ + day; a world has fewer than 2¹⁵ days."""
    row: Rows

    @classmethod
    def of_actors(cls, events: Events, rows: Rows) -> DatedEvents:
        actor = np.concatenate([events.subject[rows], events.object[rows]])
        return cls._sorted(actor.astype(np.int64), np.concatenate([rows, rows]), events)

    @classmethod
    def of_subjects(cls, events: Events, rows: Rows) -> DatedEvents:
        return cls._sorted(events.subject[rows].astype(np.int64), rows, events)

    @classmethod
    def of_pairs(cls, events: Events, rows: Rows, actors: int) -> DatedEvents:
        return cls._sorted(pair_key(events.subject[rows], events.object[rows], actors), rows, events)

    @classmethod
    def _sorted(cls, number: NDArray[np.int64], rows: Rows, events: Events) -> DatedEvents:
        key = (number << 15) + events.time[rows]
        order = np.argsort(key, kind="stable")
        return cls(key[order], rows[order])

    def latest(self, number: NDArray[np.int64], day: NDArray[np.int32], window: int, back: int) -> Rows:
        """int64 [numbers]: the ``back``-th last event of each number up to a day and within the window; -1 for none."""
        if not len(self.key):
            return np.full(len(number), -1, dtype=np.int64)
        limit = (number << 15) + day
        position = np.searchsorted(self.key, limit, side="right") - back
        key = self.key[np.maximum(position, 0)]
        valid = (position >= 0) & (key >> 15 == number) & (limit - key <= window)
        return np.where(valid, self.row[np.maximum(position, 0)], -1)

    def next(self, number: NDArray[np.int32], day: NDArray[np.int32], until: NDArray[np.int32], ahead: int) -> Rows:
        """int64 [numbers]: the ``ahead``-th event of each number after a day, not after ``until``; -1 for none."""
        if not len(self.key):
            return np.full(len(number), -1, dtype=np.int64)
        base = number.astype(np.int64) << 15
        position = np.searchsorted(self.key, base + day, side="right") + ahead - 1
        inside = np.minimum(position, len(self.key) - 1)
        valid = (position < len(self.key)) & (self.key[inside] <= base + until)
        return np.where(valid, self.row[inside], -1)


def pair_key(one: NDArray[np.int32], other: NDArray[np.int32], actors: int) -> NDArray[np.int64]:
    """int64 [pairs]: one key per unordered pair of actors."""
    return np.minimum(one, other).astype(np.int64) * actors + np.maximum(one, other)
