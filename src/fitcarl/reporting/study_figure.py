"""A picture of a hyper-parameter search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from fitcarl.reporting.canvas import COLOURS, FAINT, GRID, INK, new_figure, save_figure

_COLUMNS = 3


@dataclass(frozen=True)
class StudyPoint:
    """One trial in the picture."""

    number: int
    value: float
    complete: bool
    """Whether it was trained to the end; otherwise it was pruned and the value is its last one."""
    settings: dict[str, Any]


def draw_study(points: Sequence[StudyPoint], settings: Sequence[str], title: str, path: str | Path) -> None:
    """Plots the value of every trial and the best one so far, and the values against each setting.

    Args:
        points: The trials.
        settings: The settings that were searched.
        title: What was searched.
        path: Output file; the suffix selects svg, png or pdf.
    """
    panels = len(settings) + 1
    rows = ceil(panels / _COLUMNS)
    figure = new_figure(3.3 * _COLUMNS, 2.6 * rows + 0.4)
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    _history(axes[0], sorted(points, key=lambda point: point.number))
    for name, panel in zip(settings, axes[1:], strict=False):
        _against(panel, points, name)
    for panel in axes[:panels]:
        panel.spines[:].set_visible(False)
        panel.tick_params(length=0, colors=INK, labelsize=8)
        panel.grid(axis="y", color=GRID, linewidth=0.6)
        panel.set_axisbelow(True)
    for panel in axes[panels:]:
        panel.set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    save_figure(figure, path)


def _history(axes: Any, points: Sequence[StudyPoint]) -> None:
    complete = [point for point in points if point.complete]
    _scatter(axes, points, [point.number for point in points])
    best, steps = 0.0, []
    for point in complete:
        best = max(best, point.value)
        steps.append(best)
    axes.plot([point.number for point in complete], steps, color=COLOURS[1], linewidth=1.4, drawstyle="steps-post")
    axes.set_title("meta-validation MRR by trial, and the best", loc="left", fontsize=9, color=INK)


def _against(axes: Any, points: Sequence[StudyPoint], name: str) -> None:
    known = [point for point in points if name in point.settings]
    values = [point.settings[name] for point in known]
    distinct = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    if (len(distinct) <= 4 and len(known) > len(distinct)) or any(isinstance(value, str) for value in values):
        _scatter(axes, known, [distinct.index(value) for value in values])
        axes.set_xticks(
            range(len(distinct)), [f"{value:g}" if not isinstance(value, str) else value for value in distinct]
        )
        axes.set_xlim(-0.5, len(distinct) - 0.5)
    else:
        _scatter(axes, known, values)
        if values and min(values) > 0 and max(values) > 20 * min(values):
            axes.set_xscale("log")
    axes.set_title(name, loc="left", fontsize=9, color=INK)


def _scatter(axes: Any, points: Sequence[StudyPoint], places: Sequence[float]) -> None:
    pairs = list(zip(points, places, strict=True))
    for complete, marker, colour in ((False, "x", FAINT), (True, "o", COLOURS[0])):
        shown = [(place, point.value) for point, place in pairs if point.complete == complete]
        axes.scatter([x for x, _ in shown], [y for _, y in shown], s=16, marker=marker, color=colour, linewidths=1)
