"""Everything an evaluation found, with how it was found; all but the shares is computed from counts of ranks."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.evaluation.bootstrap import Interval, mean_interval, paired_difference
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter
from fitcarl.evaluation.metrics import Summary, mrr, summarise
from fitcarl.evaluation.ranks import RANK_TYPES, RankType
from fitcarl.evaluation.reliability import Bin, bins, calibration_error, error_by_chance
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import Slice

if TYPE_CHECKING:
    from rich.console import RenderableType

TIE_GAP = 0.02
"""The alarm goes off where the choice between optimistic and pessimistic ranks alone moves the MRR by more than this,
a third of the interval's half-width (.06) on the smallest public benchmark. Scores that were not reached are ties too,
so a scorer of real-valued scores that lists very few entities sets it off as well."""


@dataclass(frozen=True)
class TieAlarm:
    """Whether ties, not knowledge, make the numbers."""

    gap: float
    """Optimistic minus pessimistic MRR, time-aware filter."""
    tied: float
    """Share of queries whose answer shares its score with another candidate."""
    threshold: float = TIE_GAP

    @property
    def alarm(self) -> bool:
        return self.gap > self.threshold

    def to_json(self) -> dict[str, float | bool]:
        return {"alarm": self.alarm, "gap": self.gap, "tied": self.tied, "threshold": self.threshold}


@dataclass(frozen=True)
class CalibrationReport:
    """How far the shares of first answers can be trusted."""

    calibration: Calibration
    ece: float
    """Expected calibration error of the official draw."""
    ece_by_chance: float
    """What perfectly calibrated shares would show on as many queries."""
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        rows = [{"share": part.share, "right": part.right, "queries": part.queries} for part in self.bins]
        return self.calibration.to_json() | {"ece_by_chance": self.ece_by_chance, "bins": rows}


@dataclass(frozen=True, eq=False)
class Report:
    """The result of one evaluation. Headline: realistic ranks, time-aware filter, official draw."""

    scorer: str
    signature: Signature
    entities: int
    """|E|, all of which are candidates."""
    draws: tuple[Draw, ...]
    """The official draw first, then resampled ones."""
    slices: tuple[Slice, ...]
    """Parts of the official draw."""
    peak_mb: float
    """Peak resident memory of the process so far, in MB."""
    seed: int = 0
    calibration: Calibration | None = None
    """How scores became shares; None where they are none."""

    @property
    def official(self) -> Draw:
        return self.draws[0]

    @property
    def seconds(self) -> float:
        """Wall-clock time of the official draw: answers and ranks."""
        return self.official.seconds

    @property
    def realistic(self) -> Summary:
        """Realistic ranks, time-aware filter."""
        return self.results["realistic", "time-aware"]

    @cached_property
    def results(self) -> Mapping[tuple[RankType, Filter], Summary]:
        """Metrics of all six combinations of ranks and filter."""
        return {
            (kind, filter): self._summary(self.official.ranks[filter].of(kind), filter)
            for filter in FILTERS
            for kind in RANK_TYPES
        }

    @cached_property
    def paper(self) -> Summary:
        """Optimistic ranks, time-unaware filter, unreached answers at rank |E|: for a look at published tables only."""
        return self._summary(self.official.ranks["time-unaware"].paper(self.entities), "time-unaware")

    @cached_property
    def parts(self) -> tuple[tuple[Slice, Summary], ...]:
        """The honest metrics of each slice."""
        ranks = self.official.ranks["time-aware"].of("realistic")
        return tuple((part, self._summary(ranks, "time-aware", part.mask)) for part in self.slices)

    @cached_property
    def tie_alarm(self) -> TieAlarm:
        ranks = self.official.ranks["time-aware"]
        gap = mrr(ranks.of("optimistic")) - mrr(ranks.of("pessimistic"))
        return TieAlarm(gap, float(np.mean(ranks.equal > 1)))

    @property
    def coverage(self) -> float:
        """Share of queries whose answer the scorer listed."""
        return float(np.mean(self.official.ranks["time-aware"].covered))

    @cached_property
    def calibration_report(self) -> CalibrationReport | None:
        """Whether shares keep their word on the official draw; None where there are none."""
        top = self.official.top_predictions
        if top is None or self.calibration is None:
            return None
        return CalibrationReport(self.calibration, calibration_error(top), error_by_chance(top, self.seed), bins(top))

    def versus(self, other: Report, ranks: RankType = "realistic", filter: Filter = "time-aware") -> Interval:
        """How much higher this report's MRR is than the other's, over all draws, by paired bootstrap over entities."""
        return difference([self], [other], ranks, filter)

    def to_json(self, *, ranks: bool = False) -> dict[str, Any]:
        """The report as plain values; with ``ranks`` also the counts of every query, see ``Draw.from_json``."""
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
        }
        if ranks:
            document["per_query"] = [draw.to_json() for draw in self.draws]
        return document

    def render(self) -> RenderableType:
        """The report for a terminal, to be printed by a rich console."""
        from fitcarl.evaluation.table import render

        return render(self)

    def __str__(self) -> str:
        from rich.console import Console

        page = io.StringIO()
        Console(file=page, width=110, color_system=None).print(self.render())
        return page.getvalue().rstrip("\n")

    @cached_property
    def over_draws(self) -> Interval:
        """The honest MRR over the queries of all draws, with its interval over entities."""
        entity = np.concatenate([draw.queries.entity for draw in self.draws])
        ranks = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in self.draws])
        return mean_interval(entity, 1 / ranks, seed=self.seed)

    @property
    def mrr_by_draw(self) -> tuple[float, ...]:
        """The honest MRR of each draw, the official one first."""
        return tuple(mrr(draw.ranks["time-aware"].of("realistic")) for draw in self.draws)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the honest MRR between draws; None where there is but one."""
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


def difference(
    ours: Sequence[Report],
    theirs: Sequence[Report],
    ranks: RankType = "realistic",
    filter: Filter = "time-aware",
) -> Interval:
    """How much higher the MRR of some reports is than that of others, pair by pair, over all their draws.

    An entity is drawn with what every pair says of it, so that several seeds do not pass for more entities.
    """
    mine, other = ([draw for report in reports for draw in report.draws] for reports in (ours, theirs))
    if len(mine) != len(other) or not all(map(Draw.has_same_queries, mine, other)):
        raise ValueError("only reports on the same queries can be compared pair by pair")
    entity = np.concatenate([draw.queries.entity for draw in mine])
    high, low = (np.concatenate([draw.ranks[filter].of(ranks) for draw in draws]) for draws in (mine, other))
    return paired_difference(entity, high, low, seed=ours[0].seed)
