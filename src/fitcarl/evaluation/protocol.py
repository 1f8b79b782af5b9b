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
from fitcarl.data.dataset import Dataset, MetaSet, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter, KnownAnswers
from fitcarl.evaluation.ranks import Ranks, rank
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import slices
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import Queries, Task, official_task, sampled_task

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
    relations = dataset.vocabulary.relation_ids
    meta = dataset.meta(split)
    if shots < 1:
        raise InputError("too few shots", field="shots", found=shots, expected="at least 1")
    tasks = draw_tasks(meta, shots, relations, draws, seed, setting)
    if not len(tasks[0].queries):
        raise InputError(
            f"{dataset.name} has no query at {shots} shots",
            field=f"meta_{split}",
            found=f"{len(meta.entities)} entities",
            expected=f"at least one entity with more than {shots} facts",
        )

    known = known or KnownAnswers.of(dataset)
    entities = len(dataset.vocabulary.entities)
    total = sum(len(task.queries) for task in tasks)
    done = 0

    def on_chunk(queries: int) -> None:
        nonlocal done
        done += queries
        if on_progress is not None:
            on_progress(Progress("evaluation", done, total, "queries"))

    return Report(
        scorer=scorer.name,
        signature=Signature(
            ranks="realistic",
            filter="time-aware",
            split=split,
            setting=setting,
            shots=shots,
            draws=draws,
            seeds=seeds,
            data=dataset.name,
            digest=dataset.digest,
            extra=tuple((extra or {}).items()),
        ),
        entities=entities,
        draws=tuple(rank_task(scorer, task, known, entities, chunk, on_chunk, calibration) for task in tasks),
        slices=slices(tasks[0], relations, dataset.calendar),
        peak_mb=peak_mb(),
        seed=seed,
        calibration=calibration,
    )


def draw_tasks(
    meta: MetaSet, shots: int, relations: RelationIds, draws: int, seed: int, setting: Setting = "completion"
) -> list[Task]:
    """The task with the official supports, then ``draws`` tasks with random supports."""
    # Each draw has its own stream, so that draw 3 is the same for 4 and for 40 draws.
    streams = [np.random.default_rng([seed, number]) for number in range(1, draws + 1)]
    sampled = (sampled_task(meta, shots, relations, rng, setting=setting) for rng in streams)
    return [official_task(meta, shots, relations, setting), *sampled]


def rank_task(
    scorer: Scorer,
    task: Task,
    known: KnownAnswers,
    entities: int,
    chunk: int = CHUNK,
    on_chunk: Callable[[int], None] | None = None,
    calibration: Calibration | None = None,
) -> Draw:
    """Ranks the answers to the queries of one task; ``on_chunk`` is called with the size of every finished chunk."""
    start = perf_counter()
    masked = Task(task.support, hide_answers(task.queries))
    ranks: dict[Filter, list[Ranks]] = {filter: [] for filter in FILTERS}
    top: list[TopPredictions] = []
    for first in range(0, len(task.queries), chunk):
        part = slice(first, first + chunk)
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
    return Draw(task.queries, joined, perf_counter() - start, TopPredictions.concat(top) if top else None)


def hide_answers(queries: Queries) -> Queries:
    """The same queries with all answers set to -1."""
    return replace(queries, answer=np.full_like(queries.answer, -1))
