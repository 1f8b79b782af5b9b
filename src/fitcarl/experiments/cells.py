"""Cells of a results table: one system on one dataset with K shots, over several seeds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fitcarl.config.base import Setting, folder_part
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.errors import InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.evaluation.report import Report
from fitcarl.experiments.jobs import TrainFunction, TrainingJob, TrainingUnit
from fitcarl.experiments.saved_reports import read_report, report_path, save_report, weights_digest
from fitcarl.experiments.sharing import lock_path, work_through
from fitcarl.experiments.systems import System, check_prefixes, settings_for
from fitcarl.models.registry import heuristic
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.layout import RunFolder

_log = logging.getLogger(__name__)

Order = Literal["table", "cost"]


@dataclass(frozen=True)
class Cell:
    """A system on a dataset; a trained system has one job per seed."""

    system: System
    source: str
    """The name of a registered dataset, or the absolute path of a dataset folder."""
    shots: int
    jobs: tuple[TrainingJob, ...] = ()
    setting: Setting = "completion"
    """What queries may use."""
    trained_for: Setting = "completion"
    """The setting that runs are trained for."""

    @property
    def data(self) -> str:
        """The name of the dataset."""
        return Path(self.source).name

    def saved_reports(self, out: Path, dataset: Dataset) -> dict[int, Report]:
        """Reports that are there, by seed; a heuristic has seed 0."""
        units = _units(self, out, dataset)
        found = {unit.seed: unit.saved_report() for unit in units}
        return {seed: report for seed, report in found.items() if report is not None}


def make_cells(
    systems: Sequence[System],
    data: Sequence[str],
    shots: Sequence[int],
    seeds: Sequence[int],
    settings: Sequence[str],
    out: Path,
    setting: Setting = "completion",
    trained_for: Setting | None = None,
) -> list[Cell]:
    """All combinations, in the order of a table. Run folders have the names that ``fitcarl train`` gives them.

    Args:
        systems: The systems.
        data: Datasets: names or folders.
        shots: Numbers of support facts.
        seeds: Seeds of the runs.
        settings: ``name=value`` assignments.
        out: Folder of the runs.
        setting: What queries may use.
        trained_for: The setting that runs are trained for; by default the same.

    Raises:
        InputError: If a setting applies to no system.
    """
    check_prefixes(systems, settings)
    trained_for = trained_for or setting
    assigned = () if trained_for == "completion" else (f"setting={trained_for}",)
    sources = dict.fromkeys(resolve_source(name) for name in data)
    cells = []
    for source in sources:
        for number in shots:
            for system in systems:
                stem = f"{Path(source).name}-{number}shot-{system.stem}{folder_part(trained_for)}"
                jobs = [
                    TrainingJob(
                        source,
                        system.preset,
                        number,
                        seed,
                        (*settings_for(system, settings), *system.settings, *assigned),
                        out / f"{stem}-{seed}",
                        system.model,
                    )
                    for seed in (seeds if system.kind == "trained" else ())
                ]
                cells.append(Cell(system, source, number, tuple(jobs), setting, trained_for))
    return cells


def load_datasets(cells: Sequence[Cell]) -> dict[str, Dataset]:
    """The datasets of the cells by source."""
    return {source: load_dataset(source) for source in dict.fromkeys(cell.source for cell in cells)}


def check_cells(cells: Sequence[Cell], datasets: Mapping[str, Dataset]) -> None:
    """Checks all settings and folders, so that mistakes are reported before hours of training.

    Raises:
        InputError: If a setting is invalid, or a folder holds something else or another run.
    """
    for cell in cells:
        for job in cell.jobs:
            job.check(datasets[cell.source])
        if cell.shots < 1:
            raise InputError("too few shots", field="shots", found=cell.shots, expected="at least 1")


@dataclass(frozen=True)
class WorkSession:
    """What the units of one process share."""

    evaluated: set[str] = field(default_factory=set)
    """Names of the units that the process has evaluated."""
    known: dict[str, KnownAnswers] = field(default_factory=dict)
    """Known answers of the current dataset, by digest."""

    def known_answers(self, dataset: Dataset) -> KnownAnswers:
        """The known answers of a dataset; those of the last one are kept."""
        if dataset.digest not in self.known:
            self.known.clear()
            self.known[dataset.digest] = KnownAnswers.of(dataset)
        return self.known[dataset.digest]


@dataclass(frozen=True)
class EvaluationUnit:
    """Training and evaluating one run on test, or evaluating a heuristic, as a unit of work."""

    cell: Cell
    out: Path
    dataset: Dataset
    job: TrainingJob | None
    train: TrainFunction | None = None
    label: str = ""
    """What is trained, for messages."""
    session: WorkSession = field(default_factory=WorkSession)
    again: bool = False
    """Whether to evaluate again what has a saved report."""
    device: str = "auto"
    """Where the run scores queries."""

    @property
    def name(self) -> str:
        """The name of the run folder, or of a heuristic on this data, and how it is evaluated if that differs."""
        setting = self.cell.setting
        if self.job is None:
            return f"{self.cell.data}-{self.cell.shots}shot-{self.cell.system.name}{folder_part(setting)}"
        return self.job.folder.name + ("" if setting == self.cell.trained_for else f"-in-{setting}")

    @property
    def seed(self) -> int:
        return 0 if self.job is None else self.job.seed

    @property
    def lock(self) -> Path:
        """Locked during the work; units that evaluate the same run in other settings have the same lock."""
        return lock_path(self.out, self.name if self.job is None else self.job.folder.name)

    @property
    def cost(self) -> float:
        """Rough training time in minutes, from the size of the dataset."""
        episodes = 1.0 if self.job is None else self.job.config.training.episodes / 100
        scale = episodes if self.cell.system.model_name == "fitcarl" else 1.0
        return self.cell.system.expected_minutes * scale * len(self.dataset.everything) / 90_000

    def saved_report(self) -> Report | None:
        """The saved report, if it was made from the weights that are there."""
        made_from = self._made_from()
        return None if made_from is None else read_report(report_path(self.out, self.name), made_from)

    def is_done(self) -> bool:
        if self.again and self.name not in self.session.evaluated:
            return False
        return self.saved_report() is not None

    def run(self, lock: int) -> None:
        """Trains the run if needed, evaluates it and saves the report."""
        if self.job is not None:
            assert self.train is not None
            TrainingUnit(self.job, self.dataset, self.train, self.label).run(lock)
        _log.info("%s, %d-shot, %s: evaluating", self.cell.data, self.cell.shots, self.cell.system.label)
        report = self._evaluate()
        made_from = self._made_from()
        assert made_from is not None
        save_report(report, report_path(self.out, self.name), made_from)
        self.session.evaluated.add(self.name)

    def _made_from(self) -> str | None:
        if self.job is None:
            return self.dataset.digest
        if self.job.state != "finished":
            return None
        return weights_digest(RunFolder(self.job.folder).weights, self.dataset.digest)

    def _evaluate(self) -> Report:
        known, setting = self.session.known_answers(self.dataset), self.cell.setting
        if self.job is not None:
            folder, shots = self.job.folder, self.cell.shots
            options: dict[str, Any] = {"setting": setting, "known": known, "device": self.device}
            return evaluate(folder, data=self.dataset, shots=shots, split="test", **options)
        scorer = heuristic(self.cell.system.name, self.dataset)
        return evaluate_scorer(scorer, self.dataset, "test", self.cell.shots, setting=setting, known=known)


def complete_cells(
    cells: Sequence[Cell],
    datasets: Mapping[str, Dataset],
    out: Path,
    train: TrainFunction,
    *,
    order: Order = "table",
    again: bool = False,
    device: str = "auto",
    on_error: Callable[[EvaluationUnit, Exception], None] | None = None,
) -> Iterator[Cell]:
    """Trains and evaluates what is missing, and yields a cell whenever one of its runs is done.

    Args:
        cells: The cells.
        datasets: The datasets by source.
        out: Folder of the runs and reports.
        train: Trains one job.
        order: ``table``, or ``cost``: the first seeds first, and among those the cheapest runs.
        again: Evaluate again what has a saved report.
        device: Where runs score queries.
        on_error: Called with a unit that failed and its error; by default the error is raised.
    """
    units = plan_units(cells, datasets, out, train, order=order, again=again, device=device)
    for unit in work_through(units, on_error):
        yield unit.cell


def plan_units(
    cells: Sequence[Cell],
    datasets: Mapping[str, Dataset],
    out: Path,
    train: TrainFunction | None = None,
    *,
    order: Order = "table",
    again: bool = False,
    device: str = "auto",
) -> list[EvaluationUnit]:
    """The units of work behind the cells, in the order in which they are done."""
    session = WorkSession()
    units = [unit for cell in cells for unit in _units(cell, out, datasets[cell.source])]
    if order == "cost":
        first = {seed: number for number, seed in enumerate(dict.fromkeys(unit.seed for unit in units))}
        units.sort(key=lambda unit: (unit.job is not None, first[unit.seed], unit.cost))
    total = sum(unit.job is not None for unit in units)
    found, number = [], 0
    for unit in units:
        number += unit.job is not None
        cell = unit.cell
        label = f"run {number} of {total}: {cell.data}, {cell.shots}-shot, {cell.system.label}, seed {unit.seed}"
        found.append(EvaluationUnit(cell, out, unit.dataset, unit.job, train, label, session, again, device))
    return found


def _units(cell: Cell, out: Path, dataset: Dataset) -> list[EvaluationUnit]:
    if cell.system.kind == "heuristic":
        return [EvaluationUnit(cell, out, dataset, None)]
    return [EvaluationUnit(cell, out, dataset, job) for job in cell.jobs]
