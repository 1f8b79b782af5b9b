"""How long a question about a new actor takes, from facts by name to explained answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.run import Run

KNOWN = 3
"""Facts known of each new actor."""
_WARM_UP = 10


@dataclass(frozen=True)
class AskTimes:
    """Times of single questions, one after the other, each about another actor."""

    p50_ms: float
    p95_ms: float
    load_s: float
    """Opening the run, without the imports."""
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
    progress: Callable[[int, int], None] | None = None,
) -> AskTimes:
    """Asks a run about actors it never met, on one thread.

    Actors of the background lend three facts and a question (another of their facts, without one end) to a name that
    was never heard; what they are asked is left out of nothing else.
    """
    with _one_thread():
        began = perf_counter()
        predictor = Predictor.load(run)
        load = perf_counter() - began
        cases = newcomers(predictor.run, questions + _WARM_UP, top, paths, seed)
        times = []
        for number, (facts, question) in enumerate(cases):
            began = perf_counter()
            predictor.answer([question], facts)
            times.append(1e3 * (perf_counter() - began))
            if progress is not None:
                progress(number + 1, len(cases))
    p50, p95 = np.percentile(times[_WARM_UP:], [50, 95])
    loaded = predictor.run
    return AskTimes(
        float(p50), float(p95), load, questions, top, paths, 1, loaded.config.preset, Path(loaded.source).name
    )


def newcomers(run: Run, count: int, top: int, paths: int, seed: int) -> list[tuple[list[Fact], Query]]:
    """Invented actors, each with a few facts that a known actor has, and a question about it."""
    facts, names, rng = run.context.facts, run.vocabulary, np.random.default_rng(seed)
    ends = np.concatenate([facts.subject, facts.object])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(len(names.entities) + 1))
    lenders = np.flatnonzero(np.diff(starts) > KNOWN)
    if not len(lenders):
        raise InputError("no actor has enough facts to ask about", file=run.folder.path, expected=f"{KNOWN + 1} facts")
    cases = []
    for number, lender in enumerate(rng.choice(lenders, count)):
        rows = order[starts[lender] : starts[lender + 1]] % len(facts)
        picked = facts.take(rng.choice(rows, KNOWN + 1, replace=False))
        newcomer = f"Newcomer {number + 1}"
        told = [
            Fact(
                newcomer if s == lender else names.entities[s],
                names.relations[r],
                newcomer if o == lender else names.entities[o],
                run.calendar.label(t),
            )
            for s, r, o, t in picked
        ]
        asked, acts = told[-1], told[-1].subject == newcomer
        subject, object = (newcomer, None) if acts else (None, newcomer)
        cases.append((told[:-1], Query(subject, object, asked.relation, asked.time, top, paths)))
    return cases


@contextmanager
def _one_thread() -> Iterator[None]:
    """Everything on one thread for a while."""
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
