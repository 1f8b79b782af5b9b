"""Latency of queries about new entities, from facts given by name to explained answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.run import Run

KNOWN = 3
"""Facts given for each new entity."""
_WARM_UP = 10


@dataclass(frozen=True)
class AskTimes:
    """Latency of single queries, one after the other, each about another entity."""

    p50_ms: float
    p95_ms: float
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
    with _one_thread():
        began = perf_counter()
        predictor = Predictor.load(run)
        load = perf_counter() - began
        cases = new_entity_cases(predictor.run, questions + _WARM_UP, top, paths, seed)
        times = []
        for number, (facts, question) in enumerate(cases):
            began = perf_counter()
            predictor.answer([question], facts)
            times.append(1e3 * (perf_counter() - began))
            if on_progress is not None:
                on_progress(Progress("queries", number + 1, len(cases), "queries"))
    p50, p95 = np.percentile(times[_WARM_UP:], [50, 95])
    loaded = predictor.run
    return AskTimes(
        float(p50), float(p95), load, questions, top, paths, 1, loaded.config.preset, Path(loaded.source).name
    )


def new_entity_cases(run: Run, count: int, top: int, paths: int, seed: int) -> list[tuple[list[Fact], Query]]:
    """New entities, each with facts copied from a known entity, and a query about each."""
    facts, names, rng = run.context.facts, run.vocabulary, np.random.default_rng(seed)
    ends = np.concatenate([facts.subject, facts.object])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(len(names.entities) + 1))
    sources = np.flatnonzero(np.diff(starts) > KNOWN)
    if not len(sources):
        raise InputError("no entity has enough facts", file=run.folder.path, expected=f"{KNOWN + 1} facts")
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
        cases.append((copied[:-1], Query(subject, object, query_fact.relation, query_fact.time, top, paths)))
    return cases


@contextmanager
def _one_thread() -> Iterator[None]:
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
