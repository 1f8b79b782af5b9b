"""Figures of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitcarl.evaluation.metrics import Summary
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.slices import TIMES, Slice
from fitcarl.reporting.canvas import BARS, COLOURS, FAINT, GRID, INK, new_figure, save_figure


def performance_over_time(
    reports: Report | Sequence[Report], path: str | Path, labels: Sequence[str] | None = None
) -> None:
    """Plots the MRR (realistic ranks, time-aware filter) by month or year of the query time.

    Bands are 95 % intervals over entities, bars the number of queries.

    Args:
        reports: One report, or several on the same queries.
        path: Output file; the suffix selects svg, png or pdf.
        labels: Names of the lines; by default those of the scorers.

    Raises:
        ValueError: If the reports have different periods.
    """
    shown = [reports] if isinstance(reports, Report) else list(reports)
    periods = [_periods(report) for report in shown]
    names = [part.value for part, _ in periods[0]]
    if any([part.value for part, _ in other] != names for other in periods):
        raise ValueError("a figure needs reports on the same queries")

    figure = new_figure(8.4, 3.8)
    counts = figure.subplots()
    scores = counts.twinx()
    _queries(counts, [row.queries for _, row in periods[0]])
    lines = [report.scorer for report in shown] if labels is None else labels
    for report, name, parts, colour in zip(shown, lines, periods, COLOURS * len(shown), strict=False):
        _line(scores, report, name, [row for _, row in parts], colour, band=len(shown) <= 2)

    scores.set_ylim(0, _ceiling(periods))
    scores.yaxis.tick_left()
    scores.yaxis.set_label_position("left")
    scores.set_ylabel("MRR, realistic ranks", color=INK)
    scores.grid(axis="y", color=GRID, linewidth=0.6)
    scores.set_axisbelow(True)
    counts.set_xticks(range(len(names)), names, rotation=45 if len(names) > 8 else 0)
    counts.set_xlim(-0.6, len(names) - 0.4)
    for axes in (counts, scores):
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, colors=INK, labelsize=8.5)
    counts.tick_params(axis="y", colors=FAINT)
    sign = shown[0].signature
    scores.set_title(
        f"Performance over time: {sign.data}, meta-{sign.split}, {sign.shots}-shot",
        loc="left",
        fontsize=11,
        color=INK,
        pad=28,
    )
    scores.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=6,
        frameon=False,
        fontsize=8.5,
        borderaxespad=0.2,
        handlelength=1.4,
        labelcolor=INK,
    )
    save_figure(figure, path)


def reliability_diagram(reports: Report | Sequence[Report], path: str | Path) -> None:
    """Plots the accuracy of the top predictions against their shares.

    Perfectly calibrated shares lie on the diagonal. Each dot stands for a tenth of the queries; 95 % of the dots of
    perfect shares lie in the band, if queries are independent.

    Args:
        reports: One or more reports with a calibration.
        path: Output file; the suffix selects svg, png or pdf.

    Raises:
        ValueError: If a report has no calibration.
    """
    shown = [reports] if isinstance(reports, Report) else list(reports)
    figure = new_figure(4.6, 4.6)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)))
    for report, colour in zip(shown, COLOURS * len(shown), strict=False):
        if report.calibration_report is None:
            raise ValueError(f"{report.scorer} has no calibration")
        dots = report.calibration_report.bins
        label = f"{report.scorer} (ECE {report.calibration_report.ece:.3f})"
        places = [part.share for part in dots], [part.right for part in dots]
        if report is shown[0]:
            spread = [1.96 * (part.share * (1 - part.share) / part.queries) ** 0.5 for part in dots]
            low, high = ([p + sign * s for p, s in zip(places[0], spread, strict=True)] for sign in (-1, 1))
            axes.fill_between(places[0], low, high, color=BARS, linewidth=0)
        axes.plot(*places, color=colour, linewidth=1.4, marker="o", markersize=5, label=label)
    sign = shown[0].signature
    axes.set_title(f"{sign.data}, meta-{sign.split}, {sign.shots}-shot", loc="left", fontsize=11, color=INK)
    axes.set_xlabel("share of the top prediction", color=INK)
    axes.set_ylabel("accuracy", color=INK)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=8.5)
    axes.legend(loc="upper left", frameon=False, fontsize=8.5, labelcolor=INK)
    save_figure(figure, path)


def _periods(report: Report) -> list[tuple[Slice, Summary]]:
    return [(part, row) for part, row in report.parts if part.by in TIMES]


def _queries(axes: Any, counts: list[int]) -> None:
    axes.bar(range(len(counts)), counts, width=0.82, color=BARS)
    axes.set_ylim(0, 3 * max(counts))  # bars stay in the lower third
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.set_yticks([0, max(counts)])
    axes.set_ylabel("queries", color=FAINT, loc="bottom")


def _line(axes: Any, report: Report, name: str, rows: list[Summary], colour: str, band: bool) -> None:
    x = range(len(rows))
    if band:
        axes.fill_between(
            x, [row.ci_low for row in rows], [row.ci_high for row in rows], color=colour, alpha=0.13, linewidth=0
        )
    axes.axhline(report.realistic.mrr, color=colour, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.8)
    label = f"{name} (all {report.realistic.mrr:.3f})"
    axes.plot(x, [row.mrr for row in rows], color=colour, linewidth=1.8, marker="o", markersize=4, label=label)


def _ceiling(periods: list[list[tuple[Slice, Summary]]]) -> float:
    """Upper limit of the axis: slightly above the highest band, at most 1."""
    return min(1.0, 1.08 * max(0.02, *(row.ci_high for parts in periods for _, row in parts)))
