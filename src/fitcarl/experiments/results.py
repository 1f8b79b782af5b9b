"""Results table: heuristic baselines, trained models and published figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from fitcarl.evaluation.bootstrap import mean_interval
from fitcarl.evaluation.formatting import format_metric
from fitcarl.evaluation.metrics import HITS
from fitcarl.evaluation.report import Report
from fitcarl.experiments.published import published_systems
from fitcarl.reporting.markdown import markdown_table

RowKind = Literal["heuristic", "trained", "published"]
_ORDER: tuple[RowKind, ...] = ("heuristic", "trained", "published")

_LABEL = "published, optimistic ranks"
_JSON = {
    "coverage": "reach",
    **{f"{part}hits_{k}": f"{part}hits@{k}" for part in ("", "paper_") for k in HITS},
}
"""JSON names of fields, where they differ from the Python names."""


@dataclass(frozen=True)
class Row:
    """Results of one scorer on the test split of one dataset, averaged over seeds; unknown values are None."""

    data: str
    shots: int
    scorer: str
    kind: RowKind
    paper_mrr: float
    """Optimistic ranks, time-unaware filter, unlisted answers at rank |E|."""
    paper_hits_1: float
    paper_hits_3: float
    paper_hits_10: float
    seeds: tuple[int, ...] = ()
    """Seeds of the training runs; empty for heuristics and published figures."""
    mrr: float | None = None
    """Realistic ranks, time-aware filter."""
    mrr_by_seed: tuple[float, ...] = ()
    ci_low: float | None = None
    """95 % interval of ``mrr`` over entities, with the ranks of all seeds pooled."""
    ci_high: float | None = None
    hits_1: float | None = None
    """Realistic ranks, time-aware filter, like ``mrr``."""
    hits_3: float | None = None
    hits_10: float | None = None
    mrr_time_unaware: float | None = None
    """Realistic ranks, time-unaware filter: comparable to published tables but for ties."""
    tie_gap: float | None = None
    """Optimistic minus pessimistic MRR, time-aware filter."""
    coverage: float | None = None
    queries: int | None = None
    entities: int | None = None
    minutes: float | None = None
    """Training time, without the pre-training of embeddings."""
    peak_mb: float | None = None
    """Largest peak memory of the training processes."""
    cores: int | None = None
    signature: str | None = None

    @property
    def key(self) -> tuple[str, int, str]:
        """A newer row with the same key replaces this one."""
        return self.data, self.shots, self.scorer

    def to_json(self) -> dict[str, Any]:
        return {_JSON.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Row:
        """Reads the output of ``to_json``."""
        found = {field.name: row[_JSON.get(field.name, field.name)] for field in fields(cls)}
        return cls(**found | {"seeds": tuple(found["seeds"]), "mrr_by_seed": tuple(found["mrr_by_seed"])})


def row_of_reports(reports: Sequence[Report], scorer: str, seeds: Sequence[int] = ()) -> Row:
    """The row of one scorer.

    Args:
        reports: Reports on the same queries: one per seed, or a single one.
        scorer: The label of the scorer.
        seeds: Seeds of the training runs; empty for a heuristic baseline.

    Raises:
        ValueError: If the queries of the reports differ.
    """
    first = reports[0].official
    if not all(first.has_same_queries(report.official) for report in reports):
        raise ValueError("a row needs reports on the same queries")
    realistic = [report.realistic for report in reports]
    paper = [report.paper for report in reports]
    # A resampled entity contributes its queries of all seeds, so that seeds do not count as more entities.
    pooled = mean_interval(
        np.concatenate([report.official.queries.entity for report in reports]),
        np.concatenate([1 / report.official.ranks["time-aware"].of("realistic") for report in reports]),
        seed=reports[0].seed,
    )
    sign = reports[0].signature
    return Row(
        data=sign.data,
        shots=sign.shots,
        scorer=scorer,
        kind="trained" if seeds else "heuristic",
        paper_mrr=_mean(row.mrr for row in paper),
        paper_hits_1=_mean(row.hits[1] for row in paper),
        paper_hits_3=_mean(row.hits[3] for row in paper),
        paper_hits_10=_mean(row.hits[10] for row in paper),
        seeds=tuple(seeds),
        mrr=_mean(row.mrr for row in realistic),
        mrr_by_seed=tuple(row.mrr for row in realistic) if seeds else (),
        ci_low=pooled.low,
        ci_high=pooled.high,
        hits_1=_mean(row.hits[1] for row in realistic),
        hits_3=_mean(row.hits[3] for row in realistic),
        hits_10=_mean(row.hits[10] for row in realistic),
        mrr_time_unaware=_mean(report.results["realistic", "time-unaware"].mrr for report in reports),
        tie_gap=_mean(report.tie_alarm.gap for report in reports),
        coverage=_mean(report.coverage for report in reports),
        queries=realistic[0].queries,
        entities=realistic[0].entities,
        signature=str(replace(sign, seeds=len(reports))),
    )


def published_rows(data: str, shots: int) -> list[Row]:
    """The figures of the paper for a dataset, if there are any."""
    return [
        Row(
            data,
            shots,
            f"{system} ({_LABEL})",
            "published",
            figures.mrr,
            figures.hits_1,
            figures.hits_3,
            figures.hits_10,
        )
        for (system, its_data, its_shots), figures in published_systems().items()
        if (its_data, its_shots) == (data, shots)
    ]


def merge_rows(earlier: Iterable[Row], newer: Iterable[Row]) -> list[Row]:
    """Rows of both, newer ones replacing earlier ones with the same key, sorted by dataset, shots and kind."""
    rows = list(({row.key: row for row in earlier} | {row.key: row for row in newer}).values())
    names = list(dict.fromkeys(row.data for row in rows))
    return sorted(rows, key=lambda row: (names.index(row.data), row.shots, _ORDER.index(row.kind)))


def render_results(rows: Sequence[Row]) -> str:
    """The table as a Markdown document, aligned to be readable as plain text."""
    head = ["data", "shots", "scorer", "seeds", "MRR", "95 % interval", "MRR, time-unaware", "H@1", "H@3", "H@10"]
    head += ["MRR, paper protocol", "tie gap", "coverage", "minutes", "peak MB"]
    table = markdown_table([head, *(_cells(row) for row in rows)], left=(0, 2))
    signatures = list(dict.fromkeys(row.signature for row in rows if row.signature))
    return "\n\n".join(["# Results", table, *_notes(rows), "```\n" + "\n".join(signatures) + "\n```"]) + "\n"


def _notes(rows: Sequence[Row]) -> list[str]:
    cores = sorted({row.cores for row in rows if row.cores})
    where = f" on {' or '.join(map(str, cores))} cores" if cores else ""
    return [
        "MRR and H@k: realistic ranks, time-aware filter, all entities are candidates; means over seeds. "
        "95 % interval: bootstrap over entities, with the ranks of all seeds pooled. "
        "MRR, time-unaware: realistic ranks, true answers at any time filtered.",
        "MRR, paper protocol: optimistic ranks, time-unaware filter, unlisted answers last; only for comparison with "
        "published tables. Tie gap: optimistic minus pessimistic MRR, time-aware filter; if it is large, only "
        "realistic ranks are meaningful. Coverage: fraction of the answers that were scored.",
        f"Minutes: training time, mean over seeds{where}. Peak MB: largest peak memory of the training processes.",
    ]


def _cells(row: Row) -> list[str]:
    interval = "–" if row.ci_low is None else f"{format_metric(row.ci_low)} – {format_metric(row.ci_high)}"
    return [
        row.data,
        str(row.shots),
        row.scorer,
        ",".join(map(str, row.seeds)) or "–",
        format_metric(row.mrr),
        interval,
        *(
            format_metric(value)
            for value in (row.mrr_time_unaware, row.hits_1, row.hits_3, row.hits_10, row.paper_mrr, row.tie_gap)
        ),
        "–" if row.coverage is None else f"{row.coverage:.1%}",
        "–" if row.minutes is None else f"{row.minutes:.1f}",
        "–" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
    ]


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
