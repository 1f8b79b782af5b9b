"""The one way in which every scorer, trained or trivial, is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

import numpy as np

from fitcarl.core.memory import peak_mb
from fitcarl.data.dataset import Dataset, MetaSet, Split
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter, KnownAnswers
from fitcarl.evaluation.ranks import Ranks, rank
from fitcarl.evaluation.reliability import Firsts
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import slices
from fitcarl.scoring.scores import Scorer
from fitcarl.tasks.task import Queries, Task, official_task, sampled_task

CHUNK = 256


def evaluate(
    scorer: Scorer,
    dataset: Dataset,
    split: Split,
    shots: int,
    *,
    draws: int = 0,
    seed: int = 0,
    chunk: int = CHUNK,
    seeds: int = 1,
    extra: Mapping[str, str] | None = None,
    known: KnownAnswers | None = None,
    calibration: Calibration | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """How well a scorer answers the queries of a split, over the official draw and so many resampled supports.

    ``chunk`` queries are asked at a time, which bounds memory. ``seeds`` (training runs behind the scorer) and
    ``extra`` (what else it was given) go into the signature. ``known`` saves time where many scorers are judged on
    one dataset. With a ``calibration`` the report says whether the shares it gives can be trusted. ``progress`` is told
    queries done and queries in all.
    """
    relations = dataset.vocabulary.relation_ids
    meta = dataset.meta(split)
    if shots < 1:
        raise InputError("too few shots", field="shots", found=shots, expected="at least 1")
    tasks = drawn_tasks(meta, shots, relations, draws, seed)
    if not len(tasks[0].queries):
        raise InputError(
            f"{dataset.name} has no query to ask at {shots} shots",
            field=f"meta_{split}",
            found=f"{len(meta.entities)} entities",
            expected=f"at least one entity with more than {shots} facts",
        )

    known = known or KnownAnswers.of(dataset)
    entities = len(dataset.vocabulary.entities)
    total = sum(len(task.queries) for task in tasks)
    done = 0

    def advance(queries: int) -> None:
        nonlocal done
        done += queries
        if progress is not None:
            progress(done, total)

    return Report(
        scorer=scorer.name,
        signature=Signature(
            ranks="realistic",
            filter="time-aware",
            split=split,
            shots=shots,
            draws=draws,
            seeds=seeds,
            data=dataset.name,
            digest=dataset.digest,
            extra=tuple((extra or {}).items()),
        ),
        entities=entities,
        draws=tuple(judge(scorer, task, known, entities, chunk, advance, calibration) for task in tasks),
        slices=slices(tasks[0], relations, dataset.calendar),
        peak_mb=peak_mb(),
        seed=seed,
        calibration=calibration,
    )


def drawn_tasks(meta: MetaSet, shots: int, relations: RelationIds, draws: int, seed: int) -> list[Task]:
    """The official draw of supports, then so many random ones."""
    # Each draw has its own stream, so that draw 3 is the same whether 4 or 40 are asked for.
    streams = [np.random.default_rng([seed, number]) for number in range(1, draws + 1)]
    return [official_task(meta, shots, relations), *(sampled_task(meta, shots, relations, rng) for rng in streams)]


def judge(
    scorer: Scorer,
    task: Task,
    known: KnownAnswers,
    entities: int,
    chunk: int = CHUNK,
    advance: Callable[[int], None] | None = None,
    calibration: Calibration | None = None,
) -> Draw:
    """Ranks of the answers to one task's queries; the scorer is shown everything about them but the answers."""
    start = perf_counter()
    blind = Task(task.support, blinded(task.queries))
    ranks: dict[Filter, list[Ranks]] = {filter: [] for filter in FILTERS}
    firsts: list[Firsts] = []
    for first in range(0, len(task.queries), chunk):
        part = slice(first, first + chunk)
        answers = scorer.answer(blind, blind.queries.take(part))
        asked = task.queries.take(part)
        for filter in FILTERS:
            ranks[filter].append(rank(answers, asked, known, entities, filter))
        if calibration is not None:
            firsts.append(Firsts.of(answers, asked, known.others(asked, "time-aware"), calibration))
        if advance is not None:
            advance(len(asked))
    joined = {filter: Ranks.concat(parts) for filter, parts in ranks.items()}
    return Draw(task.queries, joined, perf_counter() - start, Firsts.concat(firsts) if firsts else None)


def blinded(queries: Queries) -> Queries:
    """The same questions without their answers (-1 each), so that no scorer can look."""
    return Queries(queries.entity, queries.relation, queries.time, np.full_like(queries.answer, -1))
