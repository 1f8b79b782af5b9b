"""A grid of panels with the MRR of several systems over the query time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitcarl.evaluation.formatting import format_metric
from fitcarl.reporting.canvas import BARS, COLOURS, FAINT, GRID, INK, new_figure, save_figure

_WIDTH, _HEIGHT = 4.6, 2.9
_MAX_LABELS = 12


@dataclass(frozen=True)
class TimeLine:
    """One system in a panel."""

    system: str
    mrr: tuple[float, ...] | None
    """By period; None if it was not run."""
    overall: float | None = None
    """MRR of all queries."""
    seeds: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.system} ({'not run' if self.mrr is None else f'all {format_metric(self.overall)}'})"


@dataclass(frozen=True)
class TimePanel:
    """One dataset and number of shots."""

    data: str
    shots: int
    by: str | None
    """The unit of the periods: month, year or period; None if nothing was run."""
    periods: tuple[str, ...]
    queries: tuple[int, ...]
    """By period."""
    lines: tuple[TimeLine, ...]

    @property
    def title(self) -> str:
        return f"{self.data}, {self.shots}-shot"


def draw_time_panels(panels: Sequence[Sequence[TimePanel]], title: str, path: str | Path) -> None:
    """Plots rows of panels; bars are the number of queries.

    Args:
        panels: Rows of equally many panels. All panels have the same systems in the same order.
        title: What is plotted.
        path: Output file; the suffix selects svg, png or pdf.
    """
    rows, columns = len(panels), max(map(len, panels))
    figure = new_figure(_WIDTH * columns, _HEIGHT * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False)
    for line, axes_of_line in zip(panels, grid, strict=True):
        for panel, axes in zip(line, axes_of_line, strict=True):
            _panel(axes, panel)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    save_figure(figure, path)


def _panel(axes: Any, panel: TimePanel) -> None:
    axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=8)
    if panel.queries:
        bars = axes.twinx()
        bars.bar(range(len(panel.queries)), panel.queries, width=0.82, color=BARS)
        bars.set_ylim(0, 3 * max(panel.queries))  # bars stay in the lower third
        bars.set_yticks([0, max(panel.queries)])
        bars.tick_params(length=0, colors=FAINT, labelsize=7)
        bars.spines[:].set_visible(False)
        axes.set_zorder(bars.get_zorder() + 1)
        axes.patch.set_visible(False)
    for line, colour in zip(panel.lines, COLOURS * len(panel.lines), strict=False):
        points = ([], []) if line.mrr is None else (range(len(line.mrr)), line.mrr)
        axes.plot(*points, color=colour, linewidth=1.6, marker="o", markersize=3, label=line.label)
    highest = max((value for line in panel.lines for value in line.mrr or ()), default=1.0)
    axes.set_ylim(0, min(1.0, 1.35 * max(highest, 0.02)))
    step = max(1, -(-len(panel.periods) // _MAX_LABELS))
    axes.set_xticks(range(0, len(panel.periods), step), panel.periods[::step], rotation=45)
    if not panel.periods:
        axes.set_yticks([])
    axes.set_ylabel("MRR", color=INK, fontsize=8)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=7.5, labelcolor=INK, handlelength=1.2)
