"""Figure 4 of the paper: MRR over the query time, one panel per dataset and number of shots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from fitcarl.core.files import write_json
from fitcarl.data.dataset import Dataset
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.slices import TIMES
from fitcarl.experiments.cells import Cell, check_cells, complete_cells, load_datasets
from fitcarl.experiments.jobs import TrainingJob
from fitcarl.experiments.reproduce import ReproductionPlan
from fitcarl.experiments.system_rows import Protocol, protocol_ranks
from fitcarl.reporting.time_panels import TimeLine, TimePanel, draw_time_panels

_TITLES: Mapping[Protocol, str] = {
    "realistic": "realistic ranks, time-aware filter",
    "time-unaware": "realistic ranks, time-unaware filter",
    "paper": "protocol of the paper",
}


def reproduce_over_time(plan: ReproductionPlan, out: str | Path, protocol: Protocol = "realistic") -> dict[str, Any]:
    """Draws Figure 4 from the runs in a folder; a system that was not run is marked.

    Finished runs that were not evaluated yet are evaluated; nothing is trained. Several seeds are averaged.

    Args:
        plan: The runs.
        out: Folder of the runs; ``figure4-PROTOCOL.svg`` and ``figure4-PROTOCOL.json`` are written there.
        protocol: How answers are ranked.

    Returns:
        The content of the JSON file.
    """
    out = Path(out)
    cells = plan.cells(out)
    datasets = load_datasets(cells)
    check_cells(cells, datasets)
    out.mkdir(parents=True, exist_ok=True)
    for _ in complete_cells([_finished(cell) for cell in cells], datasets, out, _train_nothing):
        pass
    by_panel: dict[tuple[int, str], list[Cell]] = {}
    for cell in cells:
        by_panel.setdefault((cell.shots, cell.source), []).append(cell)
    sources = list(datasets)
    panels = [
        [make_panel(by_panel[shots, source], out, datasets[source], protocol) for source in sources]
        for shots in plan.shots
    ]
    stem = f"figure4-{protocol}"
    draw_time_panels(panels, f"MRR over query time ({_TITLES[protocol]})", out / f"{stem}.svg")
    document = {
        "figure": 4,
        "protocol": protocol,
        "panels": [asdict(panel) for line in panels for panel in line],
        "image": str(out / f"{stem}.svg"),
    }
    write_json(out / f"{stem}.json", document)
    return document


def make_panel(cells: Sequence[Cell], out: Path, dataset: Dataset, protocol: Protocol) -> TimePanel:
    """The panel of several systems on one dataset with the same number of shots."""
    reports = [cell.saved_reports(out, dataset) for cell in cells]
    first = next((report for found in reports for report in found.values()), None)
    slices = [] if first is None else [part for part in first.slices if part.by in TIMES]
    return TimePanel(
        cells[0].data,
        cells[0].shots,
        slices[0].by if slices else None,
        tuple(part.value for part in slices),
        tuple(int(part.mask.sum()) for part in slices),
        tuple(_line(cell, found, protocol) for cell, found in zip(cells, reports, strict=True)),
    )


def _line(cell: Cell, reports: Mapping[int, Report], protocol: Protocol) -> TimeLine:
    if not reports:
        return TimeLine(cell.system.label, None)
    reciprocal = np.mean([1 / protocol_ranks(report, protocol) for report in reports.values()], axis=0)
    masks = [part.mask for part in next(iter(reports.values())).slices if part.by in TIMES]
    by_period = tuple(float(reciprocal[mask].mean()) for mask in masks)
    return TimeLine(cell.system.label, by_period, float(reciprocal.mean()), tuple(reports) if cell.jobs else ())


def _finished(cell: Cell) -> Cell:
    """The cell with its finished runs only."""
    return replace(cell, jobs=tuple(job for job in cell.jobs if job.state == "finished"))


def _train_nothing(job: TrainingJob, _lock: int) -> None:
    raise AssertionError(f"{job.folder} is not finished")
