"""Cross-validation on plain facts: a run per fold, and the results of all entities pooled."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitcarl.config.settings import configure
from fitcarl.core.files import write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.folds import divide_candidates, fold_dataset
from fitcarl.data.holdout import HoldoutRule
from fitcarl.data.io.dataset_folder import read_dataset, write_dataset
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.formatting import format_difference, format_interval, format_metric
from fitcarl.evaluation.report import Report, mrr_difference
from fitcarl.experiments.compare import compare
from fitcarl.experiments.jobs import TrainFunction, TrainingJob, TrainingUnit, train_in_subprocess
from fitcarl.experiments.sharing import work_through
from fitcarl.reporting.markdown import markdown_table

_log = logging.getLogger(__name__)

_HITS = (1, 10)


@dataclass(frozen=True)
class CrossValidationPlan:
    """The folds and the model of a cross-validation."""

    folds: int = 5
    shots: int = 3
    preset: str | None = None
    """A preset; the default one if neither a preset nor a model is given."""
    model: str | None = None
    seed: int = 0
    """Seed of the folds and of all runs."""
    settings: tuple[str, ...] = ()
    """``name=value`` assignments for all runs."""
    low: int | None = None
    """Minimum number of facts of a candidate entity; three more than the support set by default."""
    high: int | None = None
    """Maximum number of facts; 40 by default, or three times the minimum if that is more."""

    def jobs(self, facts: Facts, out: Path) -> list[tuple[TrainingJob, Dataset]]:
        """The run of each fold, with its dataset."""
        config = configure(self.preset, self.settings, model=self.model, shots=self.shots, seed=self.seed)
        source = config.without_meta_train().task_source
        pseudo = () if source == config.task_source else (f"training.tasks={source}",)
        groups = divide_candidates(facts, self.folds, HoldoutRule(self.low, self.high).bounds(self.shots), self.seed)
        preset = None if self.model is not None else config.preset if self.preset is None else self.preset
        jobs = []
        for fold in range(self.folds):
            dataset = fold_dataset(facts, groups, fold, self.seed, meta_train=source in ("meta", "both"))
            folder = out.resolve() / f"fold-{fold + 1}"
            settings = (*self.settings, *pseudo)
            job = TrainingJob(
                str(folder / "data"), preset, self.shots, self.seed, settings, folder / "run", model=self.model
            )
            jobs.append((job, dataset))
        return jobs


@dataclass(frozen=True)
class PooledResult:
    """The result of one scorer over the test entities of all folds."""

    scorer: str
    trained: bool
    mrr: Interval
    """Realistic ranks, time-aware filter; 95 % interval over entities."""
    hits: Mapping[int, float]
    mrr_by_fold: tuple[float, ...]
    difference: Interval | None
    """MRR minus that of the trained model, paired by query; None for the model itself."""

    def to_json(self) -> dict[str, Any]:
        gain = self.difference
        return {
            "scorer": self.scorer,
            "trained": self.trained,
            **_json(self.mrr),
            **{f"hits@{k}": value for k, value in self.hits.items()},
            "mrr_by_fold": list(self.mrr_by_fold),
            "difference": None if gain is None else _json(gain),
        }


@dataclass(frozen=True)
class CrossValidation:
    """The results of all scorers on all candidate entities."""

    name: str
    folds: int
    shots: int
    entities: int
    """Candidate entities; each is in the test group of one fold."""
    asked: int
    """Those with enough facts left to be asked about."""
    queries: int
    results: tuple[PooledResult, ...]
    """Heuristic baselines, then the trained model."""

    def to_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("folds", "shots", "entities", "asked", "queries")}
        return {"data": self.name, **counts, "rows": [result.to_json() for result in self.results]}

    def markdown(self) -> str:
        """The table as a Markdown document, readable as plain text."""
        head = ["scorer", "MRR", "95 % interval", *(f"H@{k}" for k in _HITS), "difference", "95 % interval", "folds"]
        table = markdown_table([head, *map(_cells, self.results)], left=(0,))
        title = (
            f"# Cross-validation on {self.name}\n\n{self.shots}-shot, {self.folds} folds: {self.queries:,} queries "
            f"about {self.asked:,} of {self.entities:,} candidate entities, each tested in one fold by a model that "
            "has not seen it."
        )
        notes = (
            "Realistic ranks, time-aware filter, queries of all folds pooled; intervals over entities. Difference: MRR "
            "minus that of the trained model, paired; not significant if its interval contains 0. Folds: lowest and "
            "highest MRR of a fold."
        )
        return f"{title}\n\n{table}\n\n{notes}\n"


def crossvalidate(
    facts: Facts, plan: CrossValidationPlan, out: str | Path, *, train: TrainFunction = train_in_subprocess
) -> CrossValidation:
    """Trains one run per fold and evaluates each on the entities of its fold, beside the heuristic baselines.

    Finished runs are reused and unfinished ones resumed. ``crossvalidation.json`` and ``crossvalidation.md`` are
    written to ``out``.

    Args:
        facts: The facts.
        plan: Folds, model and settings.
        out: Folder of the datasets, runs and results.
        train: Trains one job; by default in a process of its own.

    Returns:
        The pooled results.

    Raises:
        InputError: If there are too few entities, a setting is invalid, or a folder holds something else; checked
            before anything is trained.
    """
    out = Path(out)
    jobs = plan.jobs(facts, out)
    for job, dataset in jobs:
        job.check(dataset)
        _check_data(Path(job.source), dataset)
    out.mkdir(parents=True, exist_ok=True)
    for job, dataset in jobs:
        if not Path(job.source).exists():
            write_dataset(dataset, Path(job.source))
    units = [
        TrainingUnit(job, dataset, train, f"fold {number} of {plan.folds}")
        for number, (job, dataset) in enumerate(jobs, 1)
    ]
    for _ in work_through(units):
        pass
    by_scorer: dict[tuple[str, bool], list[Report]] = {}
    for number, (job, dataset) in enumerate(jobs, 1):
        _log.info("fold %d of %d: evaluating", number, plan.folds)
        for entry in compare(dataset, plan.shots, [job.folder], split="test").entries:
            by_scorer.setdefault((entry.report.scorer, entry.run is not None), []).append(entry.report)
    found = _pool(facts, plan, [dataset for _, dataset in jobs], by_scorer)
    write_json(out / "crossvalidation.json", found.to_json())
    write_atomically(out / "crossvalidation.md", found.markdown().encode())
    return found


def _check_data(folder: Path, dataset: Dataset) -> None:
    """Raises an InputError if the folder holds the dataset of other facts, folds or seeds."""
    if folder.exists() and (digest := read_dataset(folder).digest) != dataset.digest:
        raise InputError(
            "is the dataset of other facts or options",
            file=folder,
            found=digest[:12],
            expected=f"{dataset.digest[:12]}, or another --out",
        )


def _pool(
    facts: Facts,
    plan: CrossValidationPlan,
    datasets: Sequence[Dataset],
    by_scorer: Mapping[tuple[str, bool], Sequence[Report]],
) -> CrossValidation:
    [own] = [reports for (_, trained), reports in by_scorer.items() if trained]
    entity = np.concatenate([report.official.queries.entity for report in own])
    return CrossValidation(
        name=facts.name,
        folds=plan.folds,
        shots=plan.shots,
        entities=sum(len(dataset.test.entities) for dataset in datasets),
        asked=len(np.unique(entity)),
        queries=len(entity),
        results=tuple(_result(name, trained, reports, own) for (name, trained), reports in by_scorer.items()),
    )


def _result(name: str, trained: bool, reports: Sequence[Report], own: Sequence[Report]) -> PooledResult:
    entity = np.concatenate([report.official.queries.entity for report in reports])
    ranks = np.concatenate([report.official.ranks["time-aware"].of("realistic") for report in reports])
    return PooledResult(
        name,
        trained,
        mean_interval(entity, 1 / ranks),
        {k: float(np.mean(ranks <= k)) for k in _HITS},
        tuple(report.realistic.mrr for report in reports),
        None if trained else mrr_difference(reports, own),
    )


def _json(interval: Interval) -> dict[str, float]:
    return {"mrr": interval.mean, "ci_low": interval.low, "ci_high": interval.high}


def _cells(result: PooledResult) -> list[str]:
    gain = result.difference
    return [
        result.scorer,
        format_metric(result.mrr.mean),
        format_interval(result.mrr),
        *(format_metric(result.hits[k]) for k in _HITS),
        "–" if gain is None else format_difference(gain.mean),
        "–" if gain is None else format_interval(gain),
        f"{format_metric(min(result.mrr_by_fold))} – {format_metric(max(result.mrr_by_fold))}",
    ]
