"""Rows of Tables 2 and 3: the metrics of one system under one protocol, with the published figures beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.config.presets import PRESETS, default_preset
from fitcarl.evaluation.bootstrap import mean_interval
from fitcarl.evaluation.metrics import HITS, mrr
from fitcarl.evaluation.report import Report
from fitcarl.experiments.cells import Cell
from fitcarl.experiments.jobs import max_training_mb, mean_cpu_minutes, mean_training_minutes
from fitcarl.experiments.published import Key, PublishedFigures
from fitcarl.experiments.systems import TABLE_2, settings_for

Protocol = Literal["realistic", "time-unaware", "paper"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
Status = Literal["done", "partial", "not run", "not available"]
"""``partial``: some of the seeds are missing. ``not available``: this version has no such model."""

_RANKS: Mapping[Protocol, Callable[[Report], NDArray[np.float64]]] = {
    "realistic": lambda report: report.official.ranks["time-aware"].of("realistic"),
    "time-unaware": lambda report: report.official.ranks["time-unaware"].of("realistic"),
    "paper": lambda report: report.official.ranks["time-unaware"].paper(report.entities),
}


def protocol_ranks(report: Report, protocol: Protocol) -> NDArray[np.float64]:
    """float64 [queries]: the ranks of the official draw under a protocol.

    ``realistic``: realistic ranks, time-aware filter. ``time-unaware``: realistic ranks, true answers at any time are
    filtered. ``paper``: optimistic ranks, the same filter, unlisted answers at rank |E|.
    """
    return _RANKS[protocol](report)


@dataclass(frozen=True)
class SystemRow:
    """Metrics on test, means over seeds; unknown values are None."""

    system: str
    sees: str | None
    data: str
    shots: int
    protocol: Protocol
    status: Status
    mrr: float | None = None
    hits_1: float | None = None
    hits_3: float | None = None
    hits_10: float | None = None
    std: float | None = None
    """Standard deviation of ``mrr`` between seeds; None for a single seed."""
    hits_std: tuple[float, ...] | None = None
    """Standard deviations of Hits@1, 3 and 10 between seeds."""
    parameters: int | None = None
    """Trained parameters."""
    minutes: float | None = None
    """Training time, mean over seeds."""
    cpu_minutes: float | None = None
    """Processor time of the training, mean over seeds."""
    peak_mb: float | None = None
    """Largest peak memory of the training processes."""
    published: dict[str, Any] | None = None
    """Figures that the paper prints for the system; optimistic ranks, time-unaware filter."""
    seeds: tuple[int, ...] = ()
    """Seeds that are trained and evaluated."""
    missing_seeds: tuple[int, ...] = ()
    mrr_by_seed: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None
    """95 % interval of ``mrr`` over entities, with the ranks of all seeds pooled."""
    coverage: float | None = None
    """Fraction of the answers that were scored."""
    queries: int | None = None
    entities: int | None = None
    """Unseen entities that the queries are about."""
    settings: tuple[str, ...] = ()
    """Settings given for the table that apply to the system."""
    signature: str | None = None
    setting: Setting = "completion"
    """What runs are trained for, and what queries may use."""

    @property
    def key(self) -> tuple[Any, ...]:
        """A newer row with the same key replaces this one."""
        return *self.group, self.system, self.sees, self.settings, self.protocol

    @property
    def group(self) -> tuple[str, int, Setting]:
        """Rows with the same data, shots and setting are in one table."""
        return self.data, self.shots, self.setting

    @property
    def has_results(self) -> bool:
        return self.mrr is not None

    def to_json(self) -> dict[str, Any]:
        return {_JSON.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> SystemRow:
        """Reads the output of ``to_json``; files of earlier versions have no setting."""
        row = {"setting": "completion", **row}
        values: dict[str, Any] = {field.name: row[_JSON.get(field.name, field.name)] for field in fields(cls)}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**values | lists)


_JSON = {f"hits_{k}": f"hits@{k}" for k in HITS}


def rows_of_cell(
    cell: Cell, reports: Mapping[int, Report], published: Mapping[Key, PublishedFigures], settings: Sequence[str] = ()
) -> list[SystemRow]:
    """One row per protocol.

    Args:
        cell: The system on its data.
        reports: Reports by seed; empty if it was not run.
        published: The figures of the paper.
        settings: Settings given for the table.
    """
    system = cell.system
    printed = cell.setting == "completion"
    figures = published.get((system.published or "", cell.data, cell.shots)) if printed else None
    shared: dict[str, Any] = {
        "system": system.name,
        "sees": system.sees,
        "data": cell.data,
        "shots": cell.shots,
        "published": None if figures is None else figures.to_json(),
        "settings": settings_for(system, settings) if system.kind == "trained" else (),
        "setting": cell.setting,
    }
    missing = tuple(job.seed for job in cell.jobs if job.seed not in reports)
    if not reports:
        status: Status = "not available" if system.kind == "unavailable" else "not run"
        return [SystemRow(**shared, protocol=name, status=status, missing_seeds=missing) for name in PROTOCOLS]
    jobs = [job for job in cell.jobs if job.seed in reports]
    found = list(reports.values())
    shared |= {
        "status": "partial" if missing else "done",
        "parameters": found[0].parameters,
        "minutes": mean_training_minutes(jobs) if jobs else None,
        "cpu_minutes": mean_cpu_minutes(jobs) if jobs else None,
        "peak_mb": max_training_mb(jobs) if jobs else None,
        "seeds": tuple(job.seed for job in jobs),
        "missing_seeds": missing,
        "coverage": float(np.mean([report.coverage for report in found])),
        "queries": len(found[0].official.queries),
        "entities": len(np.unique(found[0].official.queries.entity)),
        "signature": str(found[0].signature),
    }
    return [SystemRow(**shared, protocol=name, **_metrics(found, name)) for name in PROTOCOLS]


def _metrics(reports: Sequence[Report], protocol: Protocol) -> dict[str, Any]:
    first = reports[0].official
    if not all(first.has_same_queries(report.official) for report in reports):
        raise ValueError("a row needs reports on the same queries")
    ranks = [protocol_ranks(report, protocol) for report in reports]
    by_seed = [mrr(part) for part in ranks]
    hits = np.array([[float(np.mean(part <= k)) for k in HITS] for part in ranks])
    # A resampled entity contributes its queries of all seeds, so that seeds do not count as more entities.
    entity = np.concatenate([report.official.queries.entity for report in reports])
    pooled = mean_interval(entity, 1 / np.concatenate(ranks), seed=reports[0].seed)
    several = len(reports) > 1
    return {
        "mrr": float(np.mean(by_seed)),
        **{f"hits_{k}": float(value) for k, value in zip(HITS, hits.mean(axis=0), strict=True)},
        "std": float(np.std(by_seed, ddof=1)) if several else None,
        "hits_std": tuple(map(float, hits.std(axis=0, ddof=1))) if several else None,
        "mrr_by_seed": tuple(by_seed),
        "interval": (pooled.low, pooled.high),
    }


def merge_system_rows(earlier: Iterable[SystemRow], newer: Iterable[SystemRow]) -> list[SystemRow]:
    """Rows of both; a newer row replaces an earlier one with the same key unless it has no results."""
    rows = {row.key: row for row in earlier}
    for row in newer:
        if row.key not in rows or row.has_results or not rows[row.key].has_results:
            rows[row.key] = row
    # A model that was not available earlier may have rows now.
    present = {(*row.group, row.system) for row in rows.values() if row.status != "not available"}
    kept = [row for row in rows.values() if row.status != "not available" or (*row.group, row.system) not in present]
    names = list(dict.fromkeys(row.data for row in kept))
    return sorted(kept, key=lambda row: (names.index(row.data), row.setting, row.shots, _position(row.system)))


def _position(system: str) -> int:
    """The place of a system in Table 2; other presets of a model follow it, all others are last."""
    if system in TABLE_2:
        return 2 * TABLE_2.index(system)
    default = default_preset(PRESETS[system].model) if system in PRESETS else system
    return 2 * TABLE_2.index(default) + 1 if default in TABLE_2 else 2 * len(TABLE_2)
