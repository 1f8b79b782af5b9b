"""A trained run before the honest protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fitcarl.data.catalogue import load_dataset
from fitcarl.data.dataset import Dataset, Split
from fitcarl.errors import InputError
from fitcarl.evaluation.protocol import evaluate as evaluate_scorer
from fitcarl.evaluation.report import Report
from fitcarl.learn.run import Run


def evaluate(
    run: Run | str | Path,
    *,
    split: Split = "test",
    data: str | Path | Dataset | None = None,
    draws: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """The report of a run on the dataset it was trained on, or on another one with the same names.

    ``draws`` resamples the supports so many times beside the official draw.
    """
    if not isinstance(run, Run):
        run = Run.load(run)
    given = run.source if data is None else data
    dataset = given if isinstance(given, Dataset) else load_dataset(str(given))
    if dataset.vocabulary != run.vocabulary:
        raise InputError(
            "has other entities or relations than the run", file=dataset.name, expected="a dataset with the same names"
        )
    if data is None and dataset.digest != run.digest:
        raise InputError(
            "is no longer the dataset the run was trained on",
            file=str(given),
            found=dataset.digest[:12],
            expected=run.digest[:12],
        )
    return evaluate_scorer(
        run.scorer_for(dataset), dataset, split, run.config.shots, draws=draws, seed=seed, progress=progress
    )
