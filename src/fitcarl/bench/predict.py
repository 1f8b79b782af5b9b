"""Latency of queries about new entities, from facts given by name to explained answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.bench.generated_run import make_run
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.run import Run
from fitcarl.synthetic import generate_world

KNOWN = 3
"""Facts given for each new entity."""
_WARM_UP = 10


@dataclass(frozen=True)
class AskTimes:
    """Latency of single queries, one after the other, each about another entity.

    Queries are asked after the end of the background, and then again at earlier dates, most of them different.
    """

    p50_ms: float
    p95_ms: float
    past_p50_ms: float
    """The same queries at earlier dates: only facts before the date are used."""
    past_p95_ms: float
    past_first_ms: float
    """The first query at an earlier date, which may have to compute the statistics of an earlier time."""
    past_extra_mb: float
    """Additional peak memory of all queries at earlier dates."""
    load_s: float
    """Seconds for loading the run, without imports."""
    n: int
    top: int
    paths: int
    threads: int
    preset: str
    data: str


def time_ask(
    run: str | Path,
    questions: int = 200,
    top: int = 10,
    paths: int = 3,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> AskTimes:
    """Times queries about new entities on one thread.

    Each new entity copies three facts and the query (a fourth fact without one entity) from a background entity, under
    a new name; these facts stay in the background.
    """
    with one_thread():
        began = perf_counter()
        predictor = Predictor.load(run)
        load = perf_counter() - began
        cases = new_entity_cases(predictor.run, questions + _WARM_UP, top, paths, seed)
        times = _latencies(predictor, cases, "queries", on_progress)
        before = peak_mb()
        past = _latencies(predictor, past_cases(predictor.run, cases, seed), "queries at earlier dates", on_progress)
    loaded = predictor.run
    p50, p95 = (float(value) for value in np.percentile(times[_WARM_UP:], [50, 95]))
    past_p50, past_p95 = (float(value) for value in np.percentile(past[_WARM_UP:], [50, 95]))
    return AskTimes(
        p50_ms=p50,
        p95_ms=p95,
        past_p50_ms=past_p50,
        past_p95_ms=past_p95,
        past_first_ms=past[0],
        past_extra_mb=peak_mb() - before,
        load_s=load,
        n=questions,
        top=top,
        paths=paths,
        threads=1,
        preset=loaded.config.preset,
        data=Path(loaded.source).name,
    )


def time_generated(
    facts: int, questions: int = 200, top: int = 10, paths: int = 3, on_progress: OnProgress | None = None
) -> AskTimes:
    """Times queries as ``time_ask`` does, on a generated run with random weights.

    Args:
        facts: Facts of the run.
        questions: Number of queries.
        top: Answers per query.
        paths: Paths per answer.
        on_progress: Called at every stage.
    """
    if on_progress is not None:
        on_progress(Progress(f"generating a run of {facts:,} facts", 0, 0))
    with tempfile.TemporaryDirectory(prefix="fitcarl-ask-") as folder:
        make_run(generate_world(facts + 1).facts, Path(folder) / "run", 1)
        return time_ask(Path(folder) / "run", questions, top, paths, on_progress=on_progress)


def _latencies(
    predictor: Predictor, cases: Sequence[tuple[list[Fact], Query]], stage: str, on_progress: OnProgress | None
) -> list[float]:
    """Milliseconds of each query."""
    times = []
    for number, (facts, question) in enumerate(cases):
        began = perf_counter()
        predictor.answer([question], facts)
        times.append(1e3 * (perf_counter() - began))
        if on_progress is not None:
            on_progress(Progress(stage, number + 1, len(cases), "queries"))
    return times


def new_entity_cases(run: Run, count: int, top: int, paths: int, seed: int) -> list[tuple[list[Fact], Query]]:
    """New entities, each with facts copied from a known entity, and a query about each, after the last fact."""
    facts, names, rng = run.context.facts, run.vocabulary, np.random.default_rng(seed)
    ends = np.concatenate([facts.subject, facts.object])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(len(names.entities) + 1))
    sources = np.flatnonzero(np.diff(starts) > KNOWN)
    if not len(sources):
        raise InputError("no entity has enough facts", file=run.folder.path, expected=f"{KNOWN + 1} facts")
    at = run.calendar.label(run.context.graph.time_range[1] + 1)
    cases = []
    for number, source in enumerate(rng.choice(sources, count)):
        rows = order[starts[source] : starts[source + 1]] % len(facts)
        picked = facts.take(rng.choice(rows, KNOWN + 1, replace=False))
        name = f"New entity {number + 1}"
        copied = [
            Fact(
                name if s == source else names.entities[s],
                names.relations[r],
                name if o == source else names.entities[o],
                run.calendar.label(t),
            )
            for s, r, o, t in picked
        ]
        query_fact, is_subject = copied[-1], copied[-1].subject == name
        subject, object = (name, None) if is_subject else (None, name)
        cases.append((copied[:-1], Query(subject, object, query_fact.relation, at, top, paths)))
    return cases


def past_cases(run: Run, cases: Sequence[tuple[list[Fact], Query]], seed: int) -> list[tuple[list[Fact], Query]]:
    """The same queries, each at a random date between its last fact and the end of the background."""
    rng, end = np.random.default_rng(seed), run.context.graph.time_range[1] + 1
    found = []
    for facts, query in cases:
        first = max(run.calendar.tick(fact.time) for fact in facts) + 1
        tick = int(rng.integers(min(first, end), end + 1))
        found.append((facts, replace(query, at=run.calendar.label(tick))))
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Limits all libraries to one thread."""
    torch_threads, loops = torch.get_num_threads(), os.environ.get("FITCARL_THREADS")
    torch.set_num_threads(1)
    os.environ["FITCARL_THREADS"] = "1"
    try:
        yield
    finally:
        torch.set_num_threads(torch_threads)
        if loops is None:
            del os.environ["FITCARL_THREADS"]
        else:
            os.environ["FITCARL_THREADS"] = loops
