"""Results tables: every run behind a table is trained, evaluated in the same way and recorded."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fitcarl.config.settings import configure, flatten
from fitcarl.core.lock import lock_folder
from fitcarl.core.storage import read_json, write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.errors import InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.experiments.jobs import (
    TrainFunction,
    TrainingJob,
    ensure_trained,
    max_training_mb,
    mean_training_minutes,
    train_in_subprocess,
)
from fitcarl.experiments.results import Row, merge_rows, published_rows, render_results, row_of_reports
from fitcarl.models.registry import HEURISTIC, heuristic
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.layout import RunFolder

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReproductionPlan:
    """Datasets, shots, presets and seeds; every combination is one run."""

    data: tuple[str, ...]
    shots: tuple[int, ...] = (1, 3)
    presets: tuple[str, ...] = ("paper",)
    seeds: tuple[int, ...] = (0, 1, 2)
    settings: tuple[str, ...] = ()

    def groups(self, out: Path) -> list[list[TrainingJob]]:
        """The runs behind each row, one per seed. Folders have the names that ``fitcarl train`` gives them."""
        sources = dict.fromkeys(resolve_source(data) for data in self.data)
        rows = [(source, preset, shots) for source in sources for shots in self.shots for preset in self.presets]
        return [
            [
                TrainingJob(*row, seed, self.settings, out / f"{Path(row[0]).name}-{row[2]}shot-{row[1]}-{seed}")
                for seed in self.seeds
            ]
            for row in rows
        ]


def reproduce(plan: ReproductionPlan, out: str | Path, *, train: TrainFunction = train_in_subprocess) -> list[Row]:
    """Trains and evaluates all runs of a plan on meta-test.

    Finished runs are reused and unfinished ones resumed. ``results.json`` and ``results.md`` in ``out`` are updated
    after every row; rows of earlier calls are kept.

    Args:
        plan: The runs.
        out: Folder of the runs and tables.
        train: Trains one job; by default in a process of its own.

    Returns:
        All rows of ``results.json``.

    Raises:
        InputError: If a setting is invalid or a folder holds another run; checked before anything is trained.
    """
    out = Path(out)
    groups = plan.groups(out)
    datasets = {source: load_dataset(source) for source in {jobs[0].source: None for jobs in groups}}
    for job in (job for jobs in groups for job in jobs):
        job.check(datasets[job.source])  # all of them first, so that mistakes are reported before hours of training
    out.mkdir(parents=True, exist_ok=True)
    table = _ResultsFile(out)
    done, total = 0, len(groups) * len(plan.seeds)
    heuristics_done: set[tuple[str, int]] = set()
    with lock_folder(out) as lock:
        for jobs in groups:
            dataset, shots, preset = datasets[jobs[0].source], jobs[0].shots, jobs[0].preset
            known = KnownAnswers.of(dataset)
            if (jobs[0].source, shots) not in heuristics_done:
                heuristics_done.add((jobs[0].source, shots))
                _log.info("%s, %d-shot: heuristic baselines", dataset.name, shots)
                table.add(*heuristic_rows(dataset, shots, known), *published_rows(dataset.name, shots))
            for job in jobs:
                done += 1
                label = f"run {done} of {total}: {dataset.name}, {shots}-shot, {preset}, seed {job.seed}"
                ensure_trained(job, dataset, lock, train, label)
            _log.info("%s, %d-shot, %s: evaluating", dataset.name, shots, preset)
            table.add(trained_row(jobs, dataset, known))
    return table.rows


def heuristic_rows(dataset: Dataset, shots: int, known: KnownAnswers | None = None) -> list[Row]:
    """The rows of the heuristic baselines."""
    scorers = ((name, heuristic(name, dataset)) for name in HEURISTIC)
    return [
        row_of_reports([evaluate_scorer(scorer, dataset, "test", shots, known=known)], name) for name, scorer in scorers
    ]


def trained_row(jobs: Sequence[TrainingJob], dataset: Dataset, known: KnownAnswers | None = None) -> Row:
    """The row of finished runs that differ only in their seed."""
    reports = [evaluate(job.folder, data=dataset, shots=job.shots, known=known) for job in jobs]
    row = row_of_reports(reports, _label(jobs[0]), [job.seed for job in jobs])
    return replace(
        row,
        minutes=mean_training_minutes(jobs),
        peak_mb=max_training_mb(jobs),
        cores=read_json(RunFolder(jobs[0].folder).environment)["cores"],
    )


class _ResultsFile:
    """``results.json`` and ``results.md`` of a folder, written whenever rows are added."""

    def __init__(self, out: Path) -> None:
        self.json, self.page = out / "results.json", out / "results.md"
        self.rows: list[Row] = []
        if self.json.exists():
            try:
                self.rows = [Row.from_json(row) for row in read_json(self.json)["rows"]]
            except (KeyError, TypeError) as error:
                problem = f"is not a table of results that this version can read ({error})"
                raise InputError(problem, file=self.json, expected="a file that `fitcarl reproduce` wrote") from None

    def add(self, *rows: Row) -> None:
        self.rows = merge_rows(self.rows, rows)
        write_json(self.json, {"rows": [row.to_json() for row in self.rows]})
        write_atomically(self.page, render_results(self.rows).encode())


def _label(job: TrainingJob) -> str:
    """The label of a model: its preset and the settings that differ from it."""
    own, default = flatten(job.config.model_dump()), flatten(configure(job.preset).model_dump())
    changed = [f"{name}={value}" for name, value in own.items() if "." in name and default[name] != value]
    return f"fitcarl ({', '.join([job.preset, *changed])})"
