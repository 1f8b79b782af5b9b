"""Search for hyper-parameters on meta-validation, with Optuna. The test split is not loaded.

Several processes, also on several machines with a common file system, join a study by starting it with the same
storage file.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fitcarl.core.files import writing
from fitcarl.core.progress import OnProgress, Progress, ShouldStop, ignore_progress
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.experiments.search_spaces import SearchSpace
from fitcarl.experiments.study import (
    StudyResult,
    TuningPlan,
    is_database,
    open_study,
    queue_again,
    retry_stopped_trials,
    started_trials,
    study_result,
)
from fitcarl.runs.evaluate import evaluate
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import never_stop

if TYPE_CHECKING:
    import optuna

_log = logging.getLogger(__name__)
_DEFAULT_TRIALS = 20


def without_test(dataset: Dataset) -> Dataset:
    """The dataset without the facts of test entities, so that no trial can use them."""
    none = np.empty(0, dtype=np.int32)
    empty = Quadruples.of(none, none, none, none)
    return replace(dataset, test=MetaSet(none, empty), dropped=empty)


def tune(
    plan: TuningPlan,
    storage: str | Path,
    trials: int | None = None,
    *,
    folder: str | Path | None = None,
    on_progress: OnProgress = ignore_progress,
    should_stop: ShouldStop = never_stop,
) -> StudyResult:
    """Runs trials until the study has as many as asked for, over all processes and calls.

    Args:
        plan: The search.
        storage: Journal file of the study, or the URL of a database; created if it does not exist. It may hold several
            studies.
        trials: Trials in total; by default all points of a grid, or 20.
        folder: Where the runs of trials are kept while they are trained; by default beside the journal.
        on_progress: Called with the progress of each training.
        should_stop: Polled during training; the trial is then continued by the next call.

    Returns:
        The study.

    Raises:
        InputError: If the plan is not valid, or the study was started with another one.
        TrainingInterrupted: If ``should_stop`` returned True.
    """
    space = plan.space
    dataset = without_test(load_dataset(resolve_source(plan.data)))
    assert not len(dataset.test)
    wanted = trials or space.size or _DEFAULT_TRIALS
    default = Path("studies") if is_database(storage) else Path(storage).with_name(f"{Path(storage).name}.trials")
    runs = (default if folder is None else Path(folder)) / re.sub(r"\W+", "_", plan.key)
    objective = TrialObjective(plan, space, dataset, runs, on_progress, should_stop)

    def stop_at_end(study: optuna.Study, _trial: object) -> None:
        if objective.interrupted or started_trials(study) >= wanted:
            study.stop()

    with nullcontext() if is_database(storage) else writing(Path(storage)):
        study = open_study(plan, storage, dataset)
        retry_stopped_trials(study)
        if started_trials(study) < wanted:
            study.optimize(objective, callbacks=[stop_at_end], catch=(FitcarlError, TrainingInterrupted))
        if objective.interrupted:
            queue_again(study, study.get_trials(deepcopy=False)[objective.number])
    if objective.interrupted:
        raise TrainingInterrupted("interrupted; run the same command again to resume")
    result = study_result(study, plan)
    failed = [trial for trial in study.get_trials(deepcopy=False) if "error" in trial.user_attrs]
    if result.best is None and failed:
        error = failed[-1].user_attrs["error"]
        raise objective.error or InputError(f"no trial of the study is complete; the last one failed: {error}")
    return result


class TrialObjective:
    """Trains and evaluates one trial on meta-validation."""

    def __init__(
        self,
        plan: TuningPlan,
        space: SearchSpace,
        dataset: Dataset,
        folder: Path,
        on_progress: OnProgress,
        should_stop: ShouldStop,
    ) -> None:
        self.plan, self.space, self.dataset, self.folder = plan, space, dataset, folder
        self.on_progress, self.should_stop = on_progress, should_stop
        self.known = KnownAnswers.of(dataset)
        self.interrupted = False
        self.number = 0
        """The current trial."""
        self.error: FitcarlError | None = None
        """The error of the last trial that failed."""

    def __call__(self, trial: optuna.Trial) -> float:
        self.number = trial.number
        try:
            return self._evaluate(trial)
        except FitcarlError as error:
            _log.error("trial %d failed: %s", trial.number, error)
            trial.set_user_attr("error", str(error))
            self.error = error
            raise

    def _evaluate(self, trial: optuna.Trial) -> float:
        import optuna

        values = self.space.settings(trial)
        folder = self.folder / str(trial.user_attrs.get("folder", f"trial-{trial.number}"))
        trial.set_user_attr("folder", folder.name)
        trial.set_user_attr("process", f"{socket.gethostname()}:{os.getpid()}")
        settings = [*self.plan.trial_settings, *(f"{name}={value}" for name, value in values.items())]
        _log.info("trial %d: %s", trial.number, ", ".join(f"{name}={value}" for name, value in values.items()))
        found = []
        for seed in self.plan.seeds:
            watch = _TrialWatch(trial if seed == self.plan.seeds[0] else None, self.on_progress, self.should_stop)
            run = folder / f"seed-{seed}"
            try:
                self._train(run, seed, settings, watch)
            except TrainingInterrupted:
                if watch.pruned:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise optuna.TrialPruned from None
                self.interrupted = True
                raise
            draws = self.plan.draws
            report = evaluate(run, split="valid", data=self.dataset, draws=draws, known=self.known)
            found.append(report.over_draws.mean)
        shutil.rmtree(folder, ignore_errors=True)
        _log.info("trial %d: meta-validation MRR %.4f", trial.number, float(np.mean(found)))
        return float(np.mean(found))

    def _train(self, run: Path, seed: int, settings: Sequence[str], watch: _TrialWatch) -> None:
        callbacks: dict[str, Any] = {"on_progress": watch.on_progress, "should_stop": watch.should_stop}
        if (run / "data.json").exists():
            resume(run, data=self.dataset, **callbacks)
            return
        plan = self.plan
        chosen: dict[str, Any] = {"preset": plan.preset, "model": plan.model, "shots": plan.shots, "seed": seed}
        train(self.dataset, out=run, settings=settings, **chosen, **callbacks)


class _TrialWatch:
    """Reports the meta-validation MRR of a training to its trial and stops the training if the trial is pruned."""

    def __init__(self, trial: optuna.Trial | None, on_progress: OnProgress, should_stop: ShouldStop) -> None:
        self._trial, self._on_progress, self._should_stop = trial, on_progress, should_stop
        self.pruned = False

    def on_progress(self, update: Progress) -> None:
        self._on_progress(update)
        if self._trial is not None and "valid_mrr" in update.metrics:
            self._trial.report(update.metrics["valid_mrr"], update.done)
            self.pruned = self.pruned or (update.done < update.total and self._trial.should_prune())

    def should_stop(self) -> bool:
        return self.pruned or self._should_stop()
