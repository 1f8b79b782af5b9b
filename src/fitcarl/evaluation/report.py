"""The result of an evaluation: metrics, slices, ties, calibration and the signature of the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.display import display_block, display_table
from fitcarl.evaluation.bootstrap import Interval, mean_interval, paired_difference
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter
from fitcarl.evaluation.formatting import format_interval, format_metric
from fitcarl.evaluation.metrics import HITS, Summary, mrr, summarise
from fitcarl.evaluation.ranks import RANK_TYPES, RankType
from fitcarl.evaluation.reliability import Bin, bins, calibration_error, error_by_chance
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import Slice

if TYPE_CHECKING:
    import polars as pl

TIE_GAP = 0.02
"""Threshold of the tie alarm: the largest tolerated difference between optimistic and pessimistic MRR, a third of the
half-width of the 95 % interval (.06) on the smallest public benchmark. Unlisted answers are tied too, so a scorer that
lists very few entities also triggers the alarm."""


@dataclass(frozen=True)
class TieAlarm:
    """Whether ties dominate the metrics."""

    gap: float
    """Optimistic minus pessimistic MRR, time-aware filter."""
    tied: float
    """Fraction of queries whose answer is tied with another candidate."""
    threshold: float = TIE_GAP

    @property
    def alarm(self) -> bool:
        return self.gap > self.threshold

    def to_json(self) -> dict[str, float | bool]:
        return {"alarm": self.alarm, "gap": self.gap, "tied": self.tied, "threshold": self.threshold}


@dataclass(frozen=True)
class CalibrationReport:
    """Calibration of the shares of the top predictions."""

    calibration: Calibration
    ece: float
    """Expected calibration error of the official draw."""
    ece_by_chance: float
    """The error that perfectly calibrated shares would show on as many queries."""
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        rows = [{"share": part.share, "right": part.right, "queries": part.queries} for part in self.bins]
        return self.calibration.to_json() | {"ece_by_chance": self.ece_by_chance, "bins": rows}


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The result of one evaluation. Headline: realistic ranks, time-aware filter, official supports.

    ``print(report)`` shows the headline metrics, ``to_frame()`` has all metrics, ``to_json()`` has everything.
    """

    scorer: str
    signature: Signature
    entities: int
    """|E|; all entities are candidates."""
    draws: tuple[Draw, ...]
    """The draw with the official supports first, then the resampled ones."""
    slices: tuple[Slice, ...]
    """Slices of the official draw."""
    peak_mb: float
    """Peak resident memory of the process, in MB."""
    seed: int = 0
    calibration: Calibration | None = None
    """Converts scores to shares; None if the scorer has no calibration."""
    parameters: int | None = None
    """Trained parameters of the model; None for a scorer without training."""

    @property
    def official(self) -> Draw:
        return self.draws[0]

    @property
    def seconds(self) -> float:
        """Wall-clock time of scoring and ranking the official draw."""
        return self.official.seconds

    @property
    def realistic(self) -> Summary:
        """Realistic ranks, time-aware filter."""
        return self.results["realistic", "time-aware"]

    @cached_property
    def results(self) -> Mapping[tuple[RankType, Filter], Summary]:
        """Metrics of all six combinations of rank type and filter."""
        return {
            (kind, filter): self._summary(self.official.ranks[filter].of(kind), filter)
            for filter in FILTERS
            for kind in RANK_TYPES
        }

    @cached_property
    def paper(self) -> Summary:
        """Optimistic ranks, time-unaware filter, unlisted answers at rank |E|: for comparison with published tables."""
        return self._summary(self.official.ranks["time-unaware"].paper(self.entities), "time-unaware")

    @cached_property
    def parts(self) -> tuple[tuple[Slice, Summary], ...]:
        """The metrics of each slice (realistic ranks, time-aware filter)."""
        ranks = self.official.ranks["time-aware"].of("realistic")
        return tuple((part, self._summary(ranks, "time-aware", part.mask)) for part in self.slices)

    @cached_property
    def tie_alarm(self) -> TieAlarm:
        ranks = self.official.ranks["time-aware"]
        gap = mrr(ranks.of("optimistic")) - mrr(ranks.of("pessimistic"))
        return TieAlarm(gap, float(np.mean(ranks.equal > 1)))

    @property
    def coverage(self) -> float:
        """Fraction of queries whose answer the scorer listed."""
        return float(np.mean(self.official.ranks["time-aware"].covered))

    @cached_property
    def calibration_report(self) -> CalibrationReport | None:
        """Calibration of the shares on the official draw; None without a calibration."""
        top = self.official.top_predictions
        if top is None or self.calibration is None:
            return None
        return CalibrationReport(self.calibration, calibration_error(top), error_by_chance(top, self.seed), bins(top))

    def versus(self, other: Report, ranks: RankType = "realistic", filter: Filter = "time-aware") -> Interval:
        """MRR of this report minus MRR of the other one, over all draws, by paired bootstrap over entities.

        Args:
            other: A report on the same queries.
            ranks: How ties are counted.
            filter: Which other true answers are removed from the candidates.
        """
        return mrr_difference([self], [other], ranks, filter)

    def to_json(self, *, ranks: bool = False) -> dict[str, Any]:
        """The report as plain values (``reach`` is the coverage); ``ranks`` adds the counts of every query."""
        document: dict[str, Any] = {
            "scorer": self.scorer,
            "results": [
                {"ranks": kind, "filter": filter} | summary.to_json()
                for (kind, filter), summary in self.results.items()
            ],
            "paper_protocol": {"ranks": "optimistic", "filter": "time-unaware", "unreached": self.entities}
            | self.paper.to_json(),
            "slices": [{"by": part.by, "value": part.value} | summary.to_json() for part, summary in self.parts],
            "reach": self.coverage,
            "tie_alarm": self.tie_alarm.to_json(),
            "ece": None if self.calibration_report is None else self.calibration_report.ece,
            "calibration": None if self.calibration_report is None else self.calibration_report.to_json(),
            "draws": self._draws_json(),
            "signature": str(self.signature),
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            "parameters": self.parameters,
        }
        if ranks:
            document["per_query"] = [draw.to_json() for draw in self.draws]
        return document

    def to_frame(self) -> pl.DataFrame:
        """One row of metrics for each part of the evaluation, as a polars DataFrame.

        ``by`` is ``all`` for the six combinations of rank type and filter, ``paper`` for the protocol of the paper, and
        otherwise the kind of slice, whose ``value`` is then given (realistic ranks, time-aware filter).
        """
        import polars as pl

        keys: list[tuple[str, str | None, RankType, Filter]]
        keys = [("all", None, kind, filter) for kind, filter in self.results]
        keys.append(("paper", None, "optimistic", "time-unaware"))
        keys += [(part.by, part.value, "realistic", "time-aware") for part, _ in self.parts]
        summaries = [*self.results.values(), self.paper, *(summary for _, summary in self.parts)]
        names = ("by", "value", "ranks", "filter")
        rows = [
            {"scorer": self.scorer, **dict(zip(names, key, strict=True)), **summary.to_json()}
            for key, summary in zip(keys, summaries, strict=True)
        ]
        return pl.DataFrame(rows, schema_overrides={"value": pl.String}, infer_schema_length=None)

    def __repr__(self) -> str:
        return f"Report({self._title!r}, MRR {format_metric(self.realistic.mrr)})"

    def _repr_html_(self) -> str:
        """The headline metrics, for notebooks."""
        named = [("realistic", self.realistic), ("paper", self.paper)]
        named += [(part.value, row) for part, row in self.parts if part.by == "answer"]
        rows = [(name, row.queries, *_metric_cells(row)) for name, row in named]
        head = ("", "queries", "MRR", "95 % interval", *(f"H@{k}" for k in HITS))
        notes = [f"coverage {self.coverage:.1%} of the answers", *["TIE ALARM"] * self.tie_alarm.alarm]
        if self.spread is not None:
            notes.append(self._draws_text)
        table = display_table(head, rows, "l" + "r" * (len(head) - 1), strong=[0])
        return display_block(self._title, table, notes=[*notes, str(self.signature)])

    @property
    def _title(self) -> str:
        sign = self.signature
        return (
            f"{self.scorer} on {sign.data}, meta-{sign.split}, {sign.shots}-shot: "
            f"{self.realistic.queries:,} queries about {self.realistic.entities:,} unseen entities"
        )

    @property
    def _draws_text(self) -> str:
        pooled = self.over_draws
        interval = f"95 % interval {format_interval(pooled)}"
        return f"{len(self.draws)} draws of supports: MRR {format_metric(pooled.mean)}, {interval}"

    def __str__(self) -> str:
        """The headline metrics as plain text; ``fitcarl.reporting.tables.render_report`` has the full tables."""
        lines = [
            self._title,
            _metrics_line("realistic", self.realistic),
            _metrics_line("paper", self.paper),
        ]
        lines += [_metrics_line(part.value, row) for part, row in self.parts if part.by == "answer"]
        if self.spread is not None:
            lines.append(self._draws_text)
        lines.append(f"coverage {self.coverage:.1%} of the answers" + ("; TIE ALARM" if self.tie_alarm.alarm else ""))
        return "\n".join([*lines, str(self.signature)])

    @cached_property
    def over_draws(self) -> Interval:
        """MRR over the queries of all draws, with its interval over entities; realistic ranks, time-aware filter."""
        entity = np.concatenate([draw.queries.entity for draw in self.draws])
        ranks = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in self.draws])
        return mean_interval(entity, 1 / ranks, seed=self.seed)

    @property
    def mrr_by_draw(self) -> tuple[float, ...]:
        """The MRR of each draw, the official one first."""
        return tuple(mrr(draw.ranks["time-aware"].of("realistic")) for draw in self.draws)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the MRR between draws; None for a single draw."""
        return float(np.std(self.mrr_by_draw, ddof=1)) if len(self.draws) > 1 else None

    def _draws_json(self) -> dict[str, Any]:
        pooled = self.over_draws
        return {
            "mrr": list(self.mrr_by_draw),
            "mean": float(np.mean(self.mrr_by_draw)),
            "std": self.spread,
            "ci_low": pooled.low,
            "ci_high": pooled.high,
        }

    def _summary(self, ranks: NDArray[np.float64], filter: Filter, mask: NDArray[np.bool_] | None = None) -> Summary:
        part = slice(None) if mask is None else mask
        candidates = self.official.ranks[filter].candidates[part]
        return summarise(ranks[part], candidates, self.official.queries.entity[part], seed=self.seed)


def mrr_difference(
    reports: Sequence[Report],
    others: Sequence[Report],
    ranks: RankType = "realistic",
    filter: Filter = "time-aware",
) -> Interval:
    """MRR of some reports minus MRR of others, paired by query over all draws.

    A resampled entity contributes the queries of all pairs, so that several seeds do not count as more entities.

    Args:
        reports: Reports of one scorer, one per seed.
        others: Reports of another scorer on the same queries.
        ranks: Rank type.
        filter: Filter of the candidates.

    Raises:
        ValueError: If the queries differ.
    """
    own_draws, other_draws = ([draw for report in side for draw in report.draws] for side in (reports, others))
    if len(own_draws) != len(other_draws) or not all(map(Draw.has_same_queries, own_draws, other_draws)):
        raise ValueError("a paired difference needs reports on the same queries")
    entity = np.concatenate([draw.queries.entity for draw in own_draws])
    high, low = (np.concatenate([draw.ranks[filter].of(ranks) for draw in draws]) for draws in (own_draws, other_draws))
    return paired_difference(entity, high, low, seed=reports[0].seed)


def _metrics_line(name: str, row: Summary) -> str:
    value, interval, *hits = _metric_cells(row)
    hits_text = "  ".join(f"H@{k} {cell}" for k, cell in zip(HITS, hits, strict=True))
    return f"{name:<10}  MRR {value} ({interval})  {hits_text}"


def _metric_cells(row: Summary) -> list[str]:
    """MRR, its interval, and hits."""
    interval = f"{format_metric(row.ci_low)} – {format_metric(row.ci_high)}"
    return [format_metric(row.mrr), interval, *(format_metric(row.hits[k]) for k in HITS)]
