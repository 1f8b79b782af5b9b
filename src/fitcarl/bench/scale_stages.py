"""The steps of the growth benchmark: generate, train, evaluate, ask. Each runs in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fitcarl.core.memory import private_mb
from fitcarl.core.stages import StageCost, recorded_stages, stage

if TYPE_CHECKING:
    from fitcarl.config.plus import PlusConfig

_WARM_UP_FACTS = 5000
_FACTS, _RUN = "facts.parquet", "run"
_WARM_UP_QUESTIONS = 5
_CONTROL_ITEMS, _CONTROL_PRODUCTS, _CONTROL_SIZE = 24, 100, 256

Costs = dict[str, StageCost]


@dataclass(frozen=True)
class ScaleOptions:
    """What is trained and asked at every size."""

    setting: Literal["completion", "forecast"] = "completion"
    whole: bool = False
    """Train with default settings instead of the next two."""
    updates: int = 100
    """Updates of the encoder, and of the reach network in the setting forecast."""
    episodes: int = 10
    questions: int = 50
    """Single queries, at the end of the data and again at earlier dates."""
    bulk: int = 500
    """Queries of one table."""
    threads: int = 2


@dataclass(frozen=True)
class AnswerCost:
    """Answers of the trained run, on one thread."""

    load_seconds: float
    private_mb: float
    """Memory of the process after loading that other processes cannot share: not the mapped files."""
    ask_p50_ms: float
    ask_p95_ms: float
    past_p50_ms: float
    """The same queries at earlier dates, most of them different."""
    bulk_ms: float
    """Processor time per query of a table."""


def step_generate(facts: int, options: ScaleOptions, folder: Path) -> tuple[Costs, int]:  # noqa: ARG001
    """Generates a world and writes it as Parquet; returns the number of entities."""
    from fitcarl.bench.generated_file import write_world

    with recorded_stages() as recorder, stage("generating"):
        entities = write_world(facts, folder / _FACTS)
    return recorder.costs, entities


def step_train(facts: int, options: ScaleOptions, folder: Path) -> tuple[Costs, dict[str, Any]]:  # noqa: ARG001
    """Trains a run; returns the names of its stages, and measured and default numbers of updates and episodes."""
    import shutil

    from fitcarl.config.schema import PlusConfig
    from fitcarl.config.settings import configure
    from fitcarl.training.api import train as train_run

    _warm_up(options, folder)
    shutil.rmtree(folder / _RUN, ignore_errors=True)
    defaults = configure("plus", [])
    assert isinstance(defaults, PlusConfig)
    limits = [] if options.whole else _shortened(options)
    with recorded_stages() as recorder:
        run = train_run(folder / _FACTS, out=folder / _RUN, setting=options.setting, settings=limits)
    config, edges = run.config, run.context.graph.edges
    assert isinstance(config, PlusConfig)
    units = {
        "encoder updates": (config.encoder.updates(edges), defaults.encoder.updates(edges)),
        "reach updates": (config.reach.updates(edges), defaults.reach.updates(edges)),
        "episodes": (config.training.episodes, defaults.training.episodes),
        "validations": (_validations(config), _validations(defaults)),
    }
    return recorder.costs, {"stages": list(recorder.costs), "units": units}


def step_evaluate(facts: int, options: ScaleOptions, folder: Path) -> tuple[Costs, float]:  # noqa: ARG001
    """Evaluates the run on its test split; returns the MRR."""
    from fitcarl.runs.evaluate import evaluate as evaluate_run

    _warm_up(options, folder)
    with recorded_stages() as recorder, stage("evaluation"):
        report = evaluate_run(folder / _RUN)
    return recorder.costs, report.realistic.mrr


def step_ask(facts: int, options: ScaleOptions, folder: Path) -> tuple[Costs, AnswerCost]:  # noqa: ARG001
    """Loads the run, asks single queries and a table of queries."""
    from fitcarl.bench.batch import many_queries
    from fitcarl.bench.predict import new_entity_cases, one_thread, past_cases
    from fitcarl.predict import Predictor

    with one_thread(), recorded_stages() as recorder:
        with stage("loading"):
            began = perf_counter()
            predictor = Predictor.load(folder / _RUN)
            loaded = perf_counter() - began
        private = private_mb()
        cases = new_entity_cases(predictor.run, options.questions + _WARM_UP_QUESTIONS, 10, 3, 0)
        earlier = past_cases(predictor.run, cases, 0)
        _latencies(predictor, [*cases[:_WARM_UP_QUESTIONS], *earlier])  # compiled loops and snapshots are loaded
        with stage("asking"):
            now = _latencies(predictor, cases[_WARM_UP_QUESTIONS:])
        with stage("asking about the past"):
            past = _latencies(predictor, earlier[_WARM_UP_QUESTIONS:])
        known, queries = many_queries(predictor.run, options.bulk, max(1, options.bulk // 10), 10, 1, 0)
        with stage("bulk prediction"):
            began = process_time()
            predictor.ask_many(queries, facts=known).to_frame()
            bulk = process_time() - began
    p50, p95 = np.percentile(now, [50, 95])
    answers = AnswerCost(
        loaded, private, float(p50), float(p95), float(np.percentile(past, 50)), 1e3 * bulk / options.bulk
    )
    return recorder.costs, answers


def step_bulk(facts: int, options: ScaleOptions, folder: Path) -> tuple[Costs, int]:  # noqa: ARG001
    """Asks a table of queries on all threads; returns the number of queries."""
    from fitcarl.bench.batch import many_queries
    from fitcarl.predict import Predictor

    predictor = Predictor.load(folder / _RUN)
    known, queries = many_queries(predictor.run, options.bulk, max(1, options.bulk // 10), 10, 1, 0)
    predictor.ask_many(queries[:_WARM_UP_QUESTIONS], facts=known)
    with recorded_stages() as recorder, stage("bulk prediction"):
        predictor.ask_many(queries, facts=known).to_frame()
    return recorder.costs, options.bulk


def step_independent() -> Costs:
    """Matrix products that share nothing, on all threads: the speed-up that the machine has to give at the moment."""
    import torch

    from fitcarl.core.parallel import parallel_map

    matrix = torch.rand(_CONTROL_SIZE, _CONTROL_SIZE, generator=torch.Generator().manual_seed(0))

    def multiply(_: int) -> float:
        value = matrix
        for _ in range(_CONTROL_PRODUCTS):
            value = (value @ matrix) / _CONTROL_SIZE
        return float(value[0, 0])

    list(parallel_map(range(2), multiply))
    with recorded_stages() as recorder, stage("independent work"):
        list(parallel_map(range(_CONTROL_ITEMS), multiply))
    return recorder.costs


def _validations(config: PlusConfig) -> int:
    return -(-config.training.episodes // config.training.validate_every)


def _latencies(predictor: Any, cases: Any) -> list[float]:
    """Milliseconds of each query."""
    times = []
    for facts, query in cases:
        began = perf_counter()
        predictor.answer([query], facts)
        times.append(1e3 * (perf_counter() - began))
    return times


def _shortened(options: ScaleOptions) -> list[str]:
    limits: Mapping[str, int] = {
        "encoder.max_updates": options.updates,
        "encoder.min_updates": 1,
        "reach.max_updates": options.updates,
        "reach.min_updates": 1,
        "training.episodes": options.episodes,
        "training.validate_every": options.episodes,
    }
    return [f"{name}={value}" for name, value in limits.items()]


def _warm_up(options: ScaleOptions, folder: Path) -> None:
    """Trains and asks a small run, so that compiled loops are loaded before anything is measured."""
    import logging
    import shutil

    from fitcarl.bench.predict import new_entity_cases
    from fitcarl.predict import Predictor
    from fitcarl.synthetic import generate_world
    from fitcarl.training.api import train as train_run

    logging.getLogger("fitcarl").setLevel(logging.ERROR)  # advice about small test groups does not apply
    shutil.rmtree(folder / "warm-up", ignore_errors=True)
    small = _shortened(ScaleOptions(updates=2, episodes=1))
    world = generate_world(_WARM_UP_FACTS).facts
    run = train_run(world, out=folder / "warm-up", setting=options.setting, settings=small)
    for facts, query in new_entity_cases(run, 2, 3, 1, 0):
        Predictor(run).answer([query], facts)
