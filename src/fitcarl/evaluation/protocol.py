"""Ranking evaluation shared by all scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from fitcarl.config.base import Setting
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter, KnownAnswers
from fitcarl.evaluation.plan import plan_evaluation
from fitcarl.evaluation.ranks import Ranks, rank
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.evaluation.report import Report
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import Queries, Task

CHUNK = 256
"""Queries per call of the scorer."""


def evaluate_scorer(
    scorer: Scorer,
    data: Dataset | str | Path,
    split: Split = "test",
    shots: int = 3,
    *,
    setting: Setting = "completion",
    draws: int = 0,
    seed: int = 0,
    chunk: int = CHUNK,
    seeds: int = 1,
    extra: Mapping[str, str] | None = None,
    known: KnownAnswers | None = None,
    calibration: Calibration | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Ranks the answers to all queries of a split, over the official supports and resampled ones.

    Args:
        scorer: The scorer to evaluate. The answers of the queries are hidden from it (-1).
        data: A dataset, the name of one that `fitcarl data list` shows, or a folder.
        split: The group of unseen entities: "train", "valid" or "test".
        shots: Support facts per unseen entity (K).
        setting: Whether facts of any time may be used for a query (completion) or earlier ones only (forecast).
        draws: Resampled supports in addition to the official ones.
        seed: Seed of the resampled supports and of the bootstrap.
        chunk: Queries per call of the scorer; bounds memory.
        seeds: Training runs behind the scorer, for the signature.
        extra: Further entries of the signature, such as ``{"names": "on"}``.
        known: Index of all true facts of the dataset, built if not given; saves time if several scorers are compared.
        calibration: Converts scores to shares; the report then contains the expected calibration error.
        on_progress: Called after every chunk with the number of ranked queries.

    Returns:
        The report; ``print(report)`` shows its tables.

    Raises:
        InputError: If the dataset has no query at this number of shots.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(str(data))
    plan = plan_evaluation(dataset, split, shots, setting, draws, seed)
    known = known or KnownAnswers.of(dataset)
    on_chunk = counted_queries(sum(plan.query_counts), on_progress)
    ranked = [rank_task(scorer, task, known, plan.entities, chunk, on_chunk, calibration) for task in plan.tasks]
    return plan.report(scorer.name, ranked, peak_mb=peak_mb(), seeds=seeds, extra=extra, calibration=calibration)


def counted_queries(total: int, on_progress: OnProgress | None) -> Callable[[int], None]:
    """A function that takes the size of every finished chunk and reports the progress.

    Args:
        total: Queries in all.
        on_progress: Called after every chunk with the number of ranked queries.
    """
    done = 0

    def on_chunk(queries: int) -> None:
        nonlocal done
        done += queries
        if on_progress is not None:
            on_progress(Progress("evaluation", done, total, "queries"))

    return on_chunk


def rank_task(
    scorer: Scorer,
    task: Task,
    known: KnownAnswers,
    entities: int,
    chunk: int = CHUNK,
    on_chunk: Callable[[int], None] | None = None,
    calibration: Calibration | None = None,
    within: slice | None = None,
) -> Draw:
    """Ranks the answers to the queries of one task.

    Args:
        scorer: The scorer.
        task: The task.
        known: Index of all true facts of the dataset.
        entities: |E|.
        chunk: Queries per call of the scorer.
        on_chunk: Called with the size of every finished chunk.
        calibration: Converts scores to shares.
        within: The queries that are ranked, at least one; all by default.
    """
    start = perf_counter()
    low, high, _ = (within or slice(None)).indices(len(task.queries))
    masked = Task(task.support, hide_answers(task.queries))
    ranks: dict[Filter, list[Ranks]] = {filter: [] for filter in FILTERS}
    top: list[TopPredictions] = []
    for first in range(low, high, chunk):
        part = slice(first, min(first + chunk, high))
        scores = scorer.score(masked, masked.queries.take(part))
        queries = task.queries.take(part)
        for filter in FILTERS:
            ranks[filter].append(rank(scores, queries, known, entities, filter))
        if calibration is not None:
            others = known.filtered_answers(queries, "time-aware")
            top.append(TopPredictions.of(scores, queries, others, calibration))
        if on_chunk is not None:
            on_chunk(len(queries))
    joined = {filter: Ranks.concat(parts) for filter, parts in ranks.items()}
    ranked = task.queries.take(slice(low, high))
    return Draw(ranked, joined, perf_counter() - start, TopPredictions.concat(top) if top else None)


def hide_answers(queries: Queries) -> Queries:
    """The same queries with all answers set to -1."""
    return replace(queries, answer=np.full_like(queries.answer, -1))
