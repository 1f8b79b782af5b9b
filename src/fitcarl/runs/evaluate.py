"""Evaluates and calibrates a trained run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.config.base import SETTINGS, Setting
from fitcarl.config.schema import Config
from fitcarl.core.device import resolve_device
from fitcarl.core.progress import OnProgress
from fitcarl.core.progress_bar import reporting
from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.io.validation import validate
from fitcarl.data.quadruples import Ids
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration, fit_calibration
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.plan import draw_tasks
from fitcarl.evaluation.protocol import evaluate_scorer, hide_answers
from fitcarl.evaluation.reliability import filter_known_answers
from fitcarl.evaluation.report import Report
from fitcarl.runs.history import read_history
from fitcarl.runs.run import Run
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Task, official_task

CALIBRATION_DRAWS = 4
"""Resampled support sets, besides the official one, that shares are calibrated on."""
_CALIBRATION_QUERIES = 2000  # over all draws: two parameters are fitted
_OTHER_QUERIES = 500  # for the setting that the run was not trained for
_CHUNK = 100
_CALIBRATION_SCORES = 12_000_000  # scores held in memory at once


def evaluate(
    run: Run | str | Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    shots: int | None = None,
    setting: Setting | None = None,
    draws: int = 0,
    seed: int = 0,
    known: KnownAnswers | None = None,
    device: str | torch.device = "auto",
    on_progress: OnProgress | None = None,
) -> Report:
    """Evaluates a run on the dataset it was trained on, or on another one with the same names.

    A run that was updated is evaluated as it was trained, and the signature says so: facts that were added later are in
    no split of the dataset.

    Args:
        run: A run, or the path of its folder.
        split: ``train``, ``valid`` or ``test``; by default ``test``, or ``valid`` if there is no test split.
        data: Another dataset: its name, its folder, or the dataset itself.
        shots: K, support facts per unseen entity; by default those the run was trained with.
        setting: ``completion`` (facts of any time may be used) or ``forecast`` (only facts before the query); by
            default the one the run was trained for.
        draws: Resampled support sets, besides the official draw.
        seed: Seed of the resampling.
        known: Known answers of the dataset for the filters, if they are already computed.
        device: Where the model scores queries: ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or a torch device.
        on_progress: Called after every chunk of queries. If not given, notebooks show a progress bar.

    Returns:
        The report; its signature says how the training data differ from the evaluation data.

    Raises:
        InputError: If the run is damaged or the dataset does not fit it.
    """
    chosen_device = resolve_device(device)
    run = as_trained(run).to(chosen_device)
    dataset = check_fits(run, data, draws)
    split = default_split(dataset) if split is None else split
    shots = run.config.shots if shots is None else shots
    setting = run.config.setting if setting is None else setting
    with reporting(on_progress) as show_update, run.named_in_errors():
        report = evaluate_scorer(
            run.scorer_for(dataset),
            dataset,
            split,
            shots,
            setting=setting,
            draws=draws,
            seed=seed,
            extra=provenance(run, dataset, split, shots, setting),
            known=known,
            calibration=run.calibration_for(setting),
            on_progress=show_update,
        )
    return replace(report, parameters=run.parameters)


def as_trained(run: Run | str | Path) -> Run:
    """The run without updates: their facts are in no split, so the dataset would not be the one that is reported."""
    if not isinstance(run, Run):
        return Run.load(run, as_trained=True)
    return Run.load(run.folder.path, as_trained=True) if run.updates else run


def check_fits(run: Run, data: str | Path | Dataset | None, draws: int = 0) -> Dataset:
    """The dataset to evaluate a run on: another one with the same names, or by default its own.

    Raises:
        InputError: If the dataset does not fit the run, or its support facts may not be resampled.
    """
    if isinstance(data, Dataset):
        validate(data, data.name)  # datasets read from a folder are already validated
        dataset = data
    else:
        dataset = run.dataset() if data is None else load_dataset(str(data))
    if dataset.vocabulary != run.vocabulary:
        raise InputError(
            "has other entities or relations than the run", file=dataset.name, expected="a dataset with the same names"
        )
    run_calendar, calendar = run.calendar, dataset.calendar
    if (run_calendar.granularity, run_calendar.step) != (calendar.granularity, calendar.step):
        raise InputError(
            "has another time scale than the run",
            file=dataset.name,
            found=f"{calendar.granularity}, step {calendar.step}",
            expected=f"{run_calendar.granularity}, step {run_calendar.step}",
        )
    if draws and run.config.official_supports_only:
        raise InputError(
            "the run was trained on the support facts of the official draw, so other draws would be a leak",
            field="draws",
            found=str(draws),
            expected="0, or a run that was trained with another value of `sees`",
        )
    return dataset


def default_split(dataset: Dataset) -> Split:
    """The split to evaluate on: test, or valid if there is no test split."""
    return "test" if len(dataset.test) else "valid"


def calibrate_settings(scorer: Scorer, dataset: Dataset, config: Config) -> dict[Setting, Calibration]:
    """The calibration of each setting in which meta-validation has queries.

    The setting that the run was not trained for is calibrated on fewer queries. It is left out for a model that is
    trained on the support facts of the official draw: those of the other setting are different ones.

    Args:
        scorer: The scorer of the run.
        dataset: The dataset with a meta-validation split.
        config: The settings of the run.
    """
    shots, seed, relations = config.shots, config.seed, dataset.vocabulary.relation_ids
    if config.official_supports_only:
        return {config.setting: calibrate(scorer, dataset, shots, setting=config.setting, draws=0, seed=seed)}
    found = {config.setting: calibrate(scorer, dataset, shots, setting=config.setting, seed=seed)}
    [other] = [setting for setting in SETTINGS if setting != config.setting]
    if len(official_task(dataset.valid, shots, relations, other).queries):
        found[other] = calibrate(scorer, dataset, shots, setting=other, seed=seed, max_queries=_OTHER_QUERIES)
    return found


def calibrate(
    scorer: Scorer,
    dataset: Dataset,
    shots: int,
    *,
    setting: Setting = "completion",
    draws: int = CALIBRATION_DRAWS,
    seed: int = 0,
    max_queries: int = _CALIBRATION_QUERIES,
) -> Calibration:
    """Fits how a scorer's scores (logarithms) become calibrated shares on meta-validation.

    Args:
        scorer: The scorer.
        dataset: The dataset with a meta-validation split.
        shots: K, support facts per unseen entity.
        setting: What the queries may use.
        draws: Resampled support sets, besides the official one.
        seed: Seed of the resampling and of the choice of queries.
        max_queries: Queries of all draws that are used.
    """
    return fit_calibration(*_validation_scores(scorer, dataset, shots, setting, draws, seed, max_queries))


def validation_shares(run: Run, setting: Setting, max_queries: int = _OTHER_QUERIES) -> NDArray[np.float64]:
    """The shares that a run gives to the true answers of meta-validation, ascending; 0 for unlisted ones.

    These are the queries of the official draw that shares are calibrated on, or some of them.

    Args:
        run: The run.
        setting: What the queries may use.
        max_queries: Queries that are used.

    Raises:
        InputError: If the dataset is not there any more, or has no such queries.
    """
    run = as_trained(run)
    dataset, shots = check_fits(run, None), run.config.shots
    if not len(official_task(dataset.valid, shots, dataset.vocabulary.relation_ids, setting).queries):
        problem = f"meta-validation has no queries in the setting {setting}"
        raise InputError(problem, file=run.source, expected="a dataset with such queries")
    arguments = dataset, shots, setting, 0, run.config.seed, max_queries
    with run.named_in_errors():
        scores, answer = _validation_scores(run.scorer_for(dataset), *arguments)
    shares = (run.calibration_for(setting) or UNCALIBRATED).shares(scores)
    correct = shares.entity == answer[shares.query]
    found = np.bincount(shares.query[correct], weights=shares.score[correct], minlength=len(answer))
    return np.sort(found)


def _validation_scores(
    scorer: Scorer, dataset: Dataset, shots: int, setting: Setting, draws: int, seed: int, max_queries: int
) -> tuple[Scores, Ids]:
    """Scores of queries of meta-validation without other true answers, and the true answers."""
    known = KnownAnswers.of(dataset)
    tasks = draw_tasks(dataset.valid, shots, dataset.vocabulary.relation_ids, draws, seed, setting)
    rng = np.random.default_rng(seed)
    listed: list[Scores] = []
    answer = []
    for task in tasks:
        masked = Task(task.support, hide_answers(task.queries))
        chosen = rng.permutation(len(task.queries))[: max_queries // len(tasks)]
        remaining_scores = _CALIBRATION_SCORES // len(tasks)
        for first in range(0, len(chosen), _CHUNK):
            part = np.sort(chosen[first : first + _CHUNK])
            queries = task.queries.take(part)
            scores = scorer.score(masked, masked.queries.take(part))
            listed.append(filter_known_answers(scores, queries, known.filtered_answers(queries, "time-aware")))
            answer.append(queries.answer)
            remaining_scores -= len(scores.entity)
            if remaining_scores <= 0:
                break
    return Scores.concat(listed), np.concatenate(answer)


def provenance(run: Run, dataset: Dataset, split: Split, shots: int, setting: Setting) -> dict[str, str]:
    """Signature entries: side information of the model, and how the training differs from the evaluation."""
    extra = run.config.side_information
    if read_history(run.folder.path).updates:
        extra["updates"] = "left-out"
    if setting != run.config.setting:
        extra["trained-setting"] = run.config.setting
    if shots != run.config.shots:
        extra["trained-shots"] = str(run.config.shots)
    if dataset.digest != run.digest:
        extra["trained-data"] = run.digest[:12]
        # On another split of the same facts, the run may have been trained on an entity that is unseen here.
        unseen = dataset.meta(split).entities
        in_background = run.context.graph.degree(unseen) > 0
        if in_background.any():
            extra["unseen-in-training-background"] = str(int(in_background.sum()))
        if in_tasks := int(np.count_nonzero(np.isin(unseen, run.origin.training_entities) & ~in_background)):
            extra["unseen-in-training-tasks"] = str(in_tasks)
    return extra
