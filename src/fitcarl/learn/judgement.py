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
    ours, theirs = run.calendar, dataset.calendar
    if (ours.granularity, ours.step) != (theirs.granularity, theirs.step):
        raise InputError(
            "counts time otherwise than the run",
            file=dataset.name,
            found=f"{theirs.granularity}, step {theirs.step}",
            expected=f"{ours.granularity}, step {ours.step}",
        )
    if data is None and dataset.digest != run.digest:
        raise InputError(
            "is no longer the dataset the run was trained on",
            file=str(given),
            found=dataset.digest[:12],
            expected=run.digest[:12],
        )
    # On another split of the same facts the run may have met, as background, an entity that counts as unseen here.
    met = int((run.surroundings.graph.degree(dataset.meta(split).entities) > 0).sum())
    extra = {"unseen-in-training-background": str(met)} if met else {}
    return evaluate_scorer(
        run.scorer_for(dataset),
        dataset,
        split,
        run.config.shots,
        draws=draws,
        seed=seed,
        extra=extra,
        progress=progress,
    )
