"""A trained run before the honest protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitcarl.core.progress import OnProgress
from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.io.validation import validate
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration, fit_calibration
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import draw_tasks, evaluate_scorer, hide_answers
from fitcarl.evaluation.reliability import filter_known_answers
from fitcarl.evaluation.report import Report
from fitcarl.runs.run import Run
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Task

CALIBRATION_DRAWS = 4
"""Resampled supports beside the official ones that shares are calibrated on."""
_CALIBRATION_QUERIES = 2000  # of all draws together: two numbers are learned
_AT_ONCE = 100
_CALIBRATION_LISTED = 12_000_000  # entities listed for them, which are all held at once


def evaluate(
    run: Run | str | Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    shots: int | None = None,
    draws: int = 0,
    seed: int = 0,
    known: KnownAnswers | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """The report of a run on the dataset it was trained on, or on another one with the same names.

    ``split`` is test if not given, or valid where nobody is in test, as in what is made of plain facts. ``shots`` are
    those it was trained for if not given. ``draws`` resamples the supports so many times beside the
    official draw. The signature says what the run was trained on where that is something else.
    """
    if not isinstance(run, Run):
        run = Run.load(run)
    if isinstance(data, Dataset):
        validate(data, data.name)  # one that is read from a folder was
        dataset = data
    else:
        dataset = run.dataset() if data is None else load_dataset(str(data))
    if dataset.vocabulary != run.vocabulary:
        raise InputError(
            "has other entities or relations than the run", file=dataset.name, expected="a dataset with the same names"
        )
    ours, theirs = run.calendar, dataset.calendar
    if (ours.granularity, ours.step) != (theirs.granularity, theirs.step):
        raise InputError(
            "counts time otherwise than the run",
            file=dataset.name,
            found=f"{theirs.granularity}, step {theirs.step}",
            expected=f"{ours.granularity}, step {ours.step}",
        )
    split = default_split(dataset) if split is None else split
    shots = run.config.shots if shots is None else shots
    return evaluate_scorer(
        run.scorer_for(dataset),
        dataset,
        split,
        shots,
        draws=draws,
        seed=seed,
        extra=_otherwise(run, dataset, split, shots),
        known=known,
        calibration=run.calibration,
        on_progress=on_progress,
    )


def default_split(dataset: Dataset) -> Split:
    """What a dataset is judged on: test, or valid where nobody is in test."""
    return "test" if len(dataset.test) else "valid"


def calibrate(scorer: Scorer, dataset: Dataset, shots: int, *, seed: int = 0) -> Calibration:
    """How a scorer's scores, which are logarithms, become shares that keep their word on meta-validation."""
    known = KnownAnswers.of(dataset)
    tasks = draw_tasks(dataset.valid, shots, dataset.vocabulary.relation_ids, CALIBRATION_DRAWS, seed)
    rng = np.random.default_rng(seed)
    listed: list[Scores] = []
    answer = []
    for task in tasks:
        blind = Task(task.support, hide_answers(task.queries))
        chosen = rng.permutation(len(task.queries))[: _CALIBRATION_QUERIES // len(tasks)]
        room = _CALIBRATION_LISTED // len(tasks)
        for first in range(0, len(chosen), _AT_ONCE):
            part = np.sort(chosen[first : first + _AT_ONCE])
            asked = task.queries.take(part)
            said = scorer.score(blind, blind.queries.take(part))
            listed.append(filter_known_answers(said, asked, known.filtered_answers(asked, "time-aware")))
            answer.append(asked.answer)
            room -= len(said.entity)
            if room <= 0:
                break
    return fit_calibration(Scores.concat(listed), np.concatenate(answer))


def _otherwise(run: Run, dataset: Dataset, split: Split, shots: int) -> dict[str, str]:
    """What a run was given beside the facts, and how what it was trained on differs from what it is judged on."""
    extra = {"names": "on"} if run.config.model == "plus" and run.config.features.names else {}
    if shots != run.config.shots:
        extra["trained-shots"] = str(run.config.shots)
    if dataset.digest != run.digest:
        extra["trained-data"] = run.digest[:12]
        # On another split of the same facts the run may have met an entity that counts as unseen here.
        asked = dataset.meta(split).entities
        in_background = run.context.graph.degree(asked) > 0
        if in_background.any():
            extra["unseen-in-training-background"] = str(int(in_background.sum()))
        if in_tasks := int(np.count_nonzero(np.isin(asked, run.origin.met) & ~in_background)):
            extra["unseen-in-training-tasks"] = str(in_tasks)
    return extra
