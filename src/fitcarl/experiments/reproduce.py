"""Results tables: every run behind a table is trained, evaluated in the same way and recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fitcarl.config.base import SETTINGS, Setting
from fitcarl.config.settings import configure, flatten
from fitcarl.core.files import read_json, write_atomically, write_json
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.report import Report
from fitcarl.experiments.cells import (
    Cell,
    EvaluationUnit,
    Order,
    check_cells,
    complete_cells,
    load_datasets,
    make_cells,
    plan_units,
)
from fitcarl.experiments.fitcarl_variants import variant_systems
from fitcarl.experiments.jobs import (
    TrainFunction,
    TrainingJob,
    max_training_mb,
    mean_training_minutes,
    train_in_subprocess,
)
from fitcarl.experiments.published import Key, PublishedFigures, published_ablations, published_systems
from fitcarl.experiments.results import Row, merge_rows, published_rows, render_results, row_of_reports
from fitcarl.experiments.sharing import exclusive
from fitcarl.experiments.system_rows import SystemRow, merge_system_rows, rows_of_cell, stale_seeds
from fitcarl.experiments.system_table import SystemTable
from fitcarl.experiments.systems import TABLE_2, System, find_systems
from fitcarl.models.registry import HEURISTIC
from fitcarl.runs.layout import RunFolder

_log = logging.getLogger(__name__)

TableNumber = Literal["2", "3", "settings"]
TITLES: Mapping[TableNumber, str] = {
    "2": "Table 2: results on test",
    "3": "Table 3: ablations on test",
    "settings": "Completion and forecast: runs trained for each setting, evaluated on test in both",
}
FILES: Mapping[TableNumber, str] = {"2": "table2", "3": "table3", "settings": "settings"}
"""Names of the files of each table, without their endings."""
SETTINGS_TABLE = ("titer", "paper", "plus", *HEURISTIC)
"""The systems of the table of settings."""


@dataclass(frozen=True)
class ReproductionPlan:
    """Datasets, shots, systems and seeds; every combination is one run."""

    data: tuple[str, ...]
    shots: tuple[int, ...] = (1, 3)
    models: tuple[str, ...] = ("paper",)
    """Models, presets and heuristics."""
    seeds: tuple[int, ...] = (0, 1, 2)
    settings: tuple[str, ...] = ()
    setting: Setting = "completion"
    """What runs are trained for, and what queries may use, except in the table of settings, which has both."""

    def cells(self, out: Path, systems: Sequence[System] | None = None) -> list[Cell]:
        """The cells of the table; by default those of ``models``."""
        chosen = find_systems(self.models, self.settings) if systems is None else systems
        return make_cells(chosen, self.data, self.shots, self.seeds, self.settings, out, self.setting)


def table_plan(
    data: Sequence[str], shots: Sequence[int], models: Sequence[str], seeds: Sequence[int], settings: Sequence[str]
) -> ReproductionPlan:
    """The plan of Table 2; without ``models`` all systems of the paper, and ``plus``."""
    return ReproductionPlan(tuple(data), tuple(shots), tuple(models or TABLE_2), tuple(seeds), tuple(settings))


def table_systems(plan: ReproductionPlan, table: TableNumber) -> list[System]:
    """The systems of a table: those of the plan, which in Table 3 may be variants of the paper's model.

    Raises:
        InputError: If a name is unknown, or if Table 3 is asked for a model that is not the paper's.
    """
    return (variant_systems if table == "3" else find_systems)(plan.models, plan.settings)


def table_cells(plan: ReproductionPlan, out: Path, table: TableNumber) -> list[Cell]:
    """The cells of a table; in the table of settings, runs trained for each setting are evaluated in both."""
    systems = table_systems(plan, table)
    if table != "settings":
        return plan.cells(out, systems)
    trained = [system for system in systems if system.kind == "trained"]
    heuristics = [system for system in systems if system.kind != "trained"]
    found: list[Cell] = []
    for setting in SETTINGS:
        for trained_for in SETTINGS:
            chosen = [*heuristics, *trained] if trained_for == setting else trained
            grid = plan.data, plan.shots, plan.seeds, plan.settings
            found += make_cells(chosen, *grid, out, setting, trained_for)
    return found


def reproduce_table(
    plan: ReproductionPlan,
    out: str | Path,
    table: TableNumber = "2",
    *,
    train: TrainFunction | None = train_in_subprocess,
    order: Order = "cost",
    again: bool = False,
    device: str = "auto",
    save: bool = True,
) -> list[SystemRow]:
    """Trains and evaluates all runs of a table of the paper on meta-test.

    Finished runs are reused and unfinished ones resumed. Several processes may work in one folder. ``table2.json`` and
    ``table2.md`` (or ``settings.json`` …) in ``out`` are updated after every run; rows of earlier calls are kept.

    Args:
        plan: The runs.
        out: Folder of the runs and tables.
        table: The number of the table.
        train: Trains one job; None to train and evaluate nothing and show what is there.
        order: ``table``, or ``cost``: the first seeds first, and among those the cheapest runs.
        again: Evaluate again what was evaluated earlier.
        device: Where runs score queries; ``train`` decides where they are trained.
        save: Whether to update the files of the table.

    Returns:
        The rows of the plan; those without results, from this call or an earlier one, have status ``not run``.

    Raises:
        InputError: If a setting is invalid or a folder holds another run; checked before anything is trained.
        FitcarlError: If a run failed; all others were done.
    """
    out = Path(out)
    cells = table_cells(plan, out, table)
    datasets = load_datasets(cells)
    check_cells(cells, datasets)
    out.mkdir(parents=True, exist_ok=True)
    file = SystemTable(out, FILES[table], TITLES[table])
    published = table_figures(table)

    rows: dict[Cell, list[SystemRow]] = {}
    stale: dict[tuple[Any, ...], set[int]] = {}

    def look_up(cell: Cell) -> None:
        reports = cell.saved_reports(out, datasets[cell.source])
        rows[cell] = rows_of_cell(cell, reports, published, plan.settings)
        stale.update({row.key: stale_seeds(cell, reports) for row in rows[cell]})

    for cell in cells:
        look_up(cell)
    file.read()  # a damaged file is reported before hours of training
    if save:
        file.add([row for cell in cells for row in rows[cell]], stale)
    if train is not None:
        errors: list[FitcarlError] = []
        options: dict[str, Any] = {"order": order, "again": again, "device": device}
        for cell in complete_cells(cells, datasets, out, train, **options, on_error=_collect(errors)):
            look_up(cell)
            if save:
                file.add(rows[cell], stale)
        if errors:
            raise errors[0]
    found = [row for cell in cells for row in rows[cell]]
    kept = {row.key: row for row in merge_system_rows(file.read(), found, stale)}  # runs may no longer be there
    return [kept[row.key] for row in found]


def list_runs(plan: ReproductionPlan, out: str | Path, table: TableNumber, order: Order) -> list[dict[str, Any]]:
    """The runs of a table in the order of the work, with their states and rough training times on an idle machine."""
    out = Path(out)
    cells = table_cells(plan, out, table)
    datasets = load_datasets(cells)
    check_cells(cells, datasets)
    return [
        {
            "run": unit.name,
            "state": "evaluated" if unit.is_done() else "heuristic" if unit.job is None else unit.job.state,
            "expected_minutes": unit.cost,
        }
        for unit in plan_units(cells, datasets, out, order=order)
    ]


def table_figures(table: TableNumber) -> Mapping[Key, PublishedFigures]:
    """The published figures of a table; those of the full model are in both."""
    return published_systems() if table != "3" else {**published_systems(), **published_ablations()}


def reproduce(
    plan: ReproductionPlan, out: str | Path, *, train: TrainFunction = train_in_subprocess, device: str = "auto"
) -> list[Row]:
    """Trains and evaluates all runs of a plan on meta-test, beside the heuristic baselines.

    Finished runs are reused and unfinished ones resumed. Several processes may work in one folder. ``results.json`` and
    ``results.md`` in ``out`` are updated after every row; rows of earlier calls are kept.

    Args:
        plan: The runs.
        out: Folder of the runs and tables.
        train: Trains one job; by default in a process of its own.
        device: Where runs score queries; ``train`` decides where they are trained.

    Returns:
        All rows of ``results.json``.

    Raises:
        InputError: If a setting is invalid or a folder holds another run; checked before anything is trained.
        FitcarlError: If a run failed; all others were done.
    """
    out = Path(out)
    trained = [cell for cell in plan.cells(out) if cell.system.kind == "trained"]
    cells = [*plan.cells(out, find_systems(HEURISTIC)), *trained]
    datasets = load_datasets(cells)
    check_cells(cells, datasets)
    out.mkdir(parents=True, exist_ok=True)
    table = _ResultsFile(out)
    errors: list[FitcarlError] = []
    for cell in complete_cells(cells, datasets, out, train, device=device, on_error=_collect(errors)):
        reports = cell.saved_reports(out, datasets[cell.source])
        if cell.system.kind == "heuristic":
            row = row_of_reports(list(reports.values()), cell.system.name)
            table.add(row, *published_rows(cell.data, cell.shots))
        elif len(reports) == len(cell.jobs):
            table.add(trained_row(cell, reports))
    if errors:
        raise errors[0]
    return table.rows


def trained_row(cell: Cell, reports: Mapping[int, Report]) -> Row:
    """The row of finished runs that differ only in their seed."""
    row = row_of_reports(list(reports.values()), _label(cell.jobs[0]), list(reports))
    return replace(
        row,
        minutes=mean_training_minutes(cell.jobs),
        peak_mb=max_training_mb(cell.jobs),
        cores=read_json(RunFolder(cell.jobs[0].folder).environment)["cores"],
    )


def _collect(errors: list[FitcarlError]) -> Callable[[EvaluationUnit, Exception], None]:
    """Collects the errors of failed runs, so that the others are done; anything else is raised."""

    def on_error(unit: EvaluationUnit, error: Exception) -> None:
        if not isinstance(error, FitcarlError):
            raise error
        _log.error("%s: failed: %s", unit.name, error)
        errors.append(error)

    return on_error


class _ResultsFile:
    """``results.json`` and ``results.md`` of a folder, written whenever rows are added."""

    def __init__(self, out: Path) -> None:
        self.out, self.json, self.page = out, out / "results.json", out / "results.md"
        self.rows = self._read()

    def _read(self) -> list[Row]:
        if not self.json.exists():
            return []
        try:
            return [Row.from_json(row) for row in read_json(self.json)["rows"]]
        except (KeyError, TypeError) as error:
            problem = f"is not a table of results that this version can read ({error})"
            raise InputError(problem, file=self.json, expected="a file that `fitcarl reproduce` wrote") from None

    def add(self, *rows: Row) -> None:
        with exclusive(self.out, "results"):
            self.rows = merge_rows(self._read(), rows)
            write_json(self.json, {"rows": [row.to_json() for row in self.rows]})
            write_atomically(self.page, render_results(self.rows).encode())


def _label(job: TrainingJob) -> str:
    """The label of a model: its preset or name, and the settings that differ from it."""
    own, default = (flatten(config.model_dump()) for config in (job.config, configure(job.preset, model=job.model)))
    fixed = ("model", "preset", "shots", "seed")
    changed = [f"{name}={value}" for name, value in own.items() if name not in fixed and default[name] != value]
    chosen = ", ".join([job.preset or str(job.model), *changed])
    return f"fitcarl ({chosen})"
