"""One draw of supports and the ranks of its queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitcarl.evaluation.filtering import FILTERS, Filter
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.tasks.task import Queries

_QUERY = ("entity", "relation", "time", "answer")
_COUNTS = ("greater", "equal", "candidates")


@dataclass(frozen=True, eq=False)
class Draw:
    """Queries with their answers, and the ranks that a scorer gave them under each filter."""

    queries: Queries
    ranks: Mapping[Filter, Ranks]
    seconds: float
    """Wall-clock time of scoring and ranking."""
    top_predictions: TopPredictions | None = None
    """Top predictions with their shares; None without a calibration."""

    def has_same_queries(self, other: Draw) -> bool:
        """Whether both draws contain the same queries in the same order."""
        return all(np.array_equal(getattr(self.queries, name), getattr(other.queries, name)) for name in _QUERY)

    def to_json(self) -> dict[str, Any]:
        """Columns as lists with one entry per query."""
        columns: dict[str, Any] = {name: getattr(self.queries, name).tolist() for name in _QUERY}
        columns["covered"] = self.ranks["time-aware"].covered.tolist()
        for filter in FILTERS:
            columns[filter] = {name: getattr(self.ranks[filter], name).tolist() for name in _COUNTS}
        return columns | {"seconds": self.seconds}

    @classmethod
    def from_json(cls, columns: Mapping[str, Any]) -> Draw:
        """Reads the output of ``to_json``."""
        covered = np.array(columns["covered"], dtype=np.bool_)
        ranks: dict[Filter, Ranks] = {
            filter: Ranks(
                covered=covered, **{name: np.array(columns[filter][name], dtype=np.int64) for name in _COUNTS}
            )
            for filter in FILTERS
        }
        queries = Queries(*(np.array(columns[name], dtype=np.int32) for name in _QUERY))
        return cls(queries, ranks, float(columns["seconds"]))
