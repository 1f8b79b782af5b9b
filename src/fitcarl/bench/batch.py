"""Processor time of a table of queries about new entities, compared with single queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from fitcarl.bench.predict import new_entity_cases, one_thread, past_cases
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.predict import Fact, Prediction, Predictor, Query
from fitcarl.runs.run import Run

_COMPARED = 50
"""Queries that are also asked one by one."""


@dataclass(frozen=True)
class BatchTimes:
    """Processor time of a table of queries; all facts of all new entities are given with every call."""

    batch_ms: float
    """Processor time per query of the table, from checked facts to the table of answers."""
    single_ms: float
    """Processor time per query if each is a call of its own, over some of the queries."""
    same_answers: float
    """Share of the compared queries with the same answers in the same order."""
    max_difference: float
    """Largest difference between shares of the same answer."""
    peak_mb: float
    questions: int
    entities: int
    times: int
    """Different times of the queries."""
    top: int
    paths: int
    preset: str
    data: str


def time_batch(
    run: str | Path,
    questions: int = 10_000,
    entities: int = 1_000,
    top: int = 10,
    paths: int = 1,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> BatchTimes:
    """Times a table of queries on one thread.

    Args:
        run: The run folder.
        questions: Number of queries.
        entities: Number of new entities, with three facts each.
        top: Answers per query.
        paths: Paths per answer.
        seed: Seed of the entities, relations and dates.
        on_progress: Called at every stage.
    """
    with one_thread():
        predictor = Predictor.load(run)
        facts, queries = many_queries(predictor.run, questions, entities, top, paths, seed)
        predictor.answer(queries[:5], facts)  # compiles loops and loads snapshots
        began = process_time()
        found = predictor.ask_many(queries, facts=facts, on_progress=on_progress)
        found.to_frame()
        batch = process_time() - began
        peak = peak_mb()
        compared = list(range(0, questions, max(1, questions // _COMPARED)))[:_COMPARED]
        began = process_time()
        singles = []
        for number, index in enumerate(compared, 1):
            singles += predictor.answer([queries[index]], facts)
            if on_progress is not None:
                on_progress(Progress("single queries", number, len(compared), "queries"))
        single = process_time() - began
    pairs = [(found[index], other) for index, other in zip(compared, singles, strict=True)]
    return BatchTimes(
        batch_ms=1e3 * batch / questions,
        single_ms=1e3 * single / len(compared),
        same_answers=float(np.mean([_names(one) == _names(other) for one, other in pairs])),
        max_difference=max(_difference(one, other) for one, other in pairs),
        peak_mb=peak,
        questions=questions,
        entities=entities,
        times=len({query.at for query in queries}),
        top=top,
        paths=paths,
        preset=predictor.run.config.preset,
        data=Path(predictor.run.source).name,
    )


def many_queries(
    run: Run, questions: int, entities: int, top: int, paths: int, seed: int
) -> tuple[list[Fact], list[Query]]:
    """The facts of new entities, and queries about them with random relations at random dates after their facts."""
    cases, rng = new_entity_cases(run, entities, top, paths, seed), np.random.default_rng(seed)
    facts = [fact for own, _ in cases for fact in own]
    queries: list[Query] = []
    for turn in range(-(-questions // entities)):
        queries += [query for _, query in past_cases(run, cases, seed + turn)]
    relations = rng.choice(np.array(run.vocabulary.relations, dtype=object), len(queries))
    mixed = [replace(query, relation=str(name)) for query, name in zip(queries, relations, strict=True)]
    return facts, [mixed[index] for index in rng.permutation(len(mixed))[:questions]]


def _names(prediction: Prediction) -> list[str]:
    return [answer.entity for answer in prediction]


def _difference(one: Prediction, other: Prediction) -> float:
    """The largest difference between shares of entities that are answers of both."""
    shares = {answer.entity: answer.share for answer in one}
    return max((abs(shares[a.entity] - a.share) for a in other if a.entity in shares), default=0.0)
