"""Rows of Tables 2 and 3: the metrics of one system under one protocol, with the published figures beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.config.presets import PRESETS, default_preset
from fitcarl.evaluation.metrics import HITS
from fitcarl.evaluation.report import Report
from fitcarl.experiments.cells import Cell
from fitcarl.experiments.jobs import training_cost
from fitcarl.experiments.published import Key, PublishedFigures
from fitcarl.experiments.seed_results import SeedResult, combine_results, row_figures
from fitcarl.experiments.systems import TABLE_2, settings_for
from fitcarl.models.registry import HEURISTIC

Protocol = Literal["realistic", "time-unaware", "paper"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
Status = Literal["done", "partial", "not run", "not available"]
"""``partial``: some of the seeds are missing. ``not available``: this version has no such model."""

StaleSeeds = Mapping[tuple[Any, ...], set[int]]
"""Seeds by key of a row whose earlier results are no longer valid."""

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
    """95 % interval of ``mrr`` over entities, with the ranks of all seeds pooled (those with ``entity_sums``)."""
    coverage: float | None = None
    """Fraction of the answers that were scored."""
    queries: int | None = None
    entities: int | None = None
    """Unseen entities that the queries are about."""
    settings: tuple[str, ...] = ()
    """Settings given for the table that apply to the system."""
    signature: str | None = None
    setting: Setting = "completion"
    """What queries may use."""
    trained_for: Setting | None = None
    """The setting that runs are trained for; None for a heuristic."""
    results: tuple[SeedResult, ...] = ()
    """The results of each seed; one with seed 0 for a heuristic."""

    @property
    def key(self) -> tuple[Any, ...]:
        """A newer row with the same key replaces this one."""
        return *self.group, self.system, self.sees, self.settings, self.trained_for, self.protocol

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
        trained = row["system"] not in HEURISTIC
        row = {"trained_for": row["setting"] if trained else None, **row}
        row = {"results": _results_of_earlier_version(row), **row}
        values: dict[str, Any] = {field.name: row[_JSON.get(field.name, field.name)] for field in fields(cls)}
        values["results"] = [SeedResult.from_json(result) for result in values["results"]]
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
    printed = cell.setting == cell.trained_for == "completion"
    figures = published.get((system.published or "", cell.data, cell.shots)) if printed else None
    shared: dict[str, Any] = {
        "system": system.name,
        "sees": system.sees,
        "data": cell.data,
        "shots": cell.shots,
        "published": None if figures is None else figures.to_json(),
        "settings": settings_for(system, settings) if system.kind == "trained" else (),
        "setting": cell.setting,
        "trained_for": None if system.kind == "heuristic" else cell.trained_for,
    }
    missing = tuple(job.seed for job in cell.jobs if job.seed not in reports)
    if not reports:
        status: Status = "not available" if system.kind == "unavailable" else "not run"
        return [SystemRow(**shared, protocol=name, status=status, missing_seeds=missing) for name in PROTOCOLS]
    jobs = {job.seed: job for job in cell.jobs}
    found = list(reports.values())
    first = found[0].official
    if not all(first.has_same_queries(report.official) for report in found):
        raise ValueError("a row needs reports on the same queries")
    shared |= {
        "status": "partial" if missing else "done",
        "parameters": found[0].parameters,
        "seeds": tuple(seed for seed in reports if seed in jobs),
        "missing_seeds": missing,
        "queries": len(first.queries),
        "entities": len(np.unique(first.queries.entity)),
        "signature": str(found[0].signature),
    }
    rows = []
    for protocol in PROTOCOLS:
        results = tuple(
            SeedResult.of(
                seed,
                report.official.queries.entity,
                protocol_ranks(report, protocol),
                report.coverage,
                training_cost(jobs[seed]) if seed in jobs else {},
            )
            for seed, report in reports.items()
        )
        rows.append(SystemRow(**shared, protocol=protocol, results=results, **row_figures(results)))
    return rows


def stale_seeds(cell: Cell, reports: Mapping[int, Report]) -> set[int]:
    """Seeds whose earlier results are no longer valid: their run is there and differs, or is being trained again."""
    return {job.seed for job in cell.jobs if job.seed not in reports and job.state != "new"}


def merge_system_rows(
    earlier: Iterable[SystemRow], newer: Iterable[SystemRow], stale: StaleSeeds | None = None
) -> list[SystemRow]:
    """Rows of both; the seeds of a newer row are added to those of an earlier one with the same key and signature.

    Args:
        earlier: Rows of a file.
        newer: Rows of this call.
        stale: Seeds by key whose earlier results are no longer valid.
    """
    rows = {row.key: row for row in earlier}
    for row in newer:
        outdated = (stale or {}).get(row.key, set())
        rows[row.key] = _combined(rows[row.key], row, outdated) if row.key in rows else row
    # A model that was not available earlier may have rows now.
    present = {(*row.group, row.system) for row in rows.values() if row.status != "not available"}
    kept = [row for row in rows.values() if row.status != "not available" or (*row.group, row.system) not in present]
    names = list(dict.fromkeys(row.data for row in kept))
    return sorted(
        kept,
        key=lambda row: (names.index(row.data), row.setting, row.shots, _position(row.system), row.trained_for or ""),
    )


def _combined(earlier: SystemRow, newer: SystemRow, outdated: set[int]) -> SystemRow:
    """One row with the seeds of both."""
    if not newer.has_results and not outdated & set(earlier.seeds):
        return earlier if earlier.has_results else newer
    kept = [result for result in earlier.results if result.seed not in outdated]
    other_protocol = newer.has_results and newer.signature != earlier.signature
    if not kept or other_protocol or (newer.has_results and not newer.seeds):
        return newer  # a heuristic is always evaluated completely
    results = combine_results(kept, newer.results)
    seeds = tuple(result.seed for result in results) if (earlier.seeds or newer.seeds) else ()
    missing = tuple(sorted({*earlier.missing_seeds, *newer.missing_seeds, *outdated} - set(seeds)))
    latest = newer if newer.has_results else earlier
    return replace(
        latest,
        status="partial" if missing else "done",
        published=newer.published,
        seeds=seeds,
        missing_seeds=missing,
        results=results,
        **row_figures(results),
    )


def _results_of_earlier_version(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of a row that was written without them: complete for a single seed, otherwise unknown."""
    if row["mrr"] is None or len(row["seeds"]) > 1:
        return []
    return [
        {
            "seed": (row["seeds"] or [0])[0],
            "mrr": row["mrr"],
            "hits": [row[f"hits@{k}"] for k in HITS],
            "coverage": row["coverage"],
            "entity_sums": None,
            "entity_queries": None,
            **{name: row[name] for name in ("minutes", "cpu_minutes", "peak_mb")},
        }
    ]


def _position(system: str) -> int:
    """The place of a system in Table 2; other presets of a model follow it, all others are last."""
    if system in TABLE_2:
        return 2 * TABLE_2.index(system)
    default = default_preset(PRESETS[system].model) if system in PRESETS else system
    return 2 * TABLE_2.index(default) + 1 if default in TABLE_2 else 2 * len(TABLE_2)
