"""Results of single seeds, from which the figures of a table's row are computed.

They are kept with the row, so that seeds of later calls are added to it when the runs of earlier ones are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids
from fitcarl.evaluation.bootstrap import interval_of_sums
from fitcarl.evaluation.metrics import HITS, mrr

_DIGITS = 6
"""Decimal places of the sums that are kept per entity."""


@dataclass(frozen=True)
class SeedResult:
    """The metrics of one run under one protocol, and what its training took."""

    seed: int
    mrr: float
    hits: tuple[float, ...]
    """Hits@1, 3 and 10."""
    coverage: float
    """Fraction of the answers that were scored."""
    entity_sums: tuple[float, ...] | None = None
    """Sum of the reciprocal ranks of each entity, in order of entity ids; None in files of earlier versions."""
    entity_queries: tuple[int, ...] | None = None
    """Queries about each entity."""
    minutes: float | None = None
    cpu_minutes: float | None = None
    peak_mb: float | None = None

    @classmethod
    def of(
        cls,
        seed: int,
        entity: Ids,
        ranks: NDArray[np.float64],
        coverage: float,
        cost: Mapping[str, float | None],
    ) -> SeedResult:
        """The result of a run.

        Args:
            seed: The seed of the run.
            entity: int32 [queries], the unseen entities.
            ranks: float64 [queries], the ranks of the answers.
            coverage: Fraction of the answers that were scored.
            cost: ``minutes``, ``cpu_minutes`` and ``peak_mb`` of the training; None for a heuristic.
        """
        _, number = np.unique(entity, return_inverse=True)
        sums = np.bincount(number, weights=1 / ranks)
        return cls(
            seed,
            mrr(ranks),
            tuple(float(np.mean(ranks <= k)) for k in HITS),
            coverage,
            tuple(round(float(value), _DIGITS) for value in sums),
            tuple(np.bincount(number).tolist()),
            **cost,
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SeedResult:
        found = {field.name: values[field.name] for field in fields(cls)}
        lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        return cls(**found | lists)


def row_figures(results: Sequence[SeedResult]) -> dict[str, Any]:
    """Means over seeds with standard deviations, the pooled interval over entities, and the cost of training."""
    by_seed = [result.mrr for result in results]
    hits = np.array([result.hits for result in results])
    several = len(results) > 1
    return {
        "mrr": float(np.mean(by_seed)),
        **{f"hits_{k}": float(value) for k, value in zip(HITS, hits.mean(axis=0), strict=True)},
        "std": float(np.std(by_seed, ddof=1)) if several else None,
        "hits_std": tuple(map(float, hits.std(axis=0, ddof=1))) if several else None,
        "mrr_by_seed": tuple(by_seed),
        "interval": _pooled_interval(results),
        "coverage": float(np.mean([result.coverage for result in results])),
        "minutes": _mean([result.minutes for result in results]),
        "cpu_minutes": _mean([result.cpu_minutes for result in results]),
        "peak_mb": max((result.peak_mb for result in results if result.peak_mb is not None), default=None),
    }


def combine_results(earlier: Sequence[SeedResult], newer: Sequence[SeedResult]) -> tuple[SeedResult, ...]:
    """The results of both by seed; the newer one of two with the same seed."""
    found = {result.seed: result for result in (*earlier, *newer)}
    return tuple(found[seed] for seed in sorted(found))


def _pooled_interval(results: Sequence[SeedResult]) -> tuple[float, float] | None:
    """95 % interval over entities; a resampled entity contributes its queries of all seeds."""
    known = [result for result in results if result.entity_sums is not None]
    if not known:
        return None
    total = np.array([result.entity_sums for result in known], dtype=np.float64)
    size = np.array([result.entity_queries for result in known], dtype=np.float64)
    found = interval_of_sums(total.sum(axis=0), size.sum(axis=0), seed=known[0].seed)
    return found.low, found.high


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; None unless all values are known."""
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if found and len(found) == len(values) else None
