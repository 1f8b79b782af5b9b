"""``fitcarl benchmark``: speed and memory on this machine, compared with straightforward implementations."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fitcarl.cli import console
from fitcarl.core.progress import Progress
from fitcarl.errors import InputError, require_extra

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Data = Annotated[
    str, typer.Option("--data", metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")
]
Run = Annotated[Path, typer.Option("--run", metavar="RUN", help="A run folder written by 'fitcarl train'.")]


def build() -> typer.Typer:
    app = console.group("Measure speed and memory on this machine.")
    app.command("actions")(benchmark_actions)
    app.command("index")(benchmark_index)
    app.command("episode")(benchmark_episode)
    app.command("evaluate")(benchmark_evaluate)
    app.command("profile")(benchmark_profile)
    app.command("ask")(benchmark_ask)
    app.command("batch")(benchmark_batch)
    app.command("explain")(benchmark_explain)
    app.command("serve")(benchmark_serve)
    app.command("update")(benchmark_update)
    app.command("scale")(benchmark_scale)
    app.command("threads")(benchmark_threads)
    app.command("compile")(benchmark_compile)
    return app


def benchmark_actions(
    data: Data = "demo",
    states: Annotated[int, typer.Option("--states", min=1, help="Number of action spaces.")] = 20_000,
    size: Annotated[int, typer.Option("--size", min=1, help="Edges in an action space.")] = 50,
    json: Json = False,
) -> None:
    """Time action spaces on one thread, at nodes sampled by degree."""
    from fitcarl.bench.actions import States, time_actions
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.graph.temporal import TemporalGraph

    dataset = load_dataset(data)
    entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
    graph = TemporalGraph.from_facts(dataset.background, entities, relations)
    _show(asdict(time_actions(graph, States.by_degree(graph, states), size)), json)


def benchmark_index(
    facts: Annotated[int, typer.Option("--facts", min=1000, help="Number of facts to generate and index.")] = 1_000_000,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="Compare 'fitcarl data index' with indexing in memory, from a file.")
    ] = False,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MB", min=1, help="Memory for facts, with --out-of-core.")
    ] = 200,
    json: Json = False,
) -> None:
    """Time the indexing of generated facts, then action spaces on the large graph."""
    if out_of_core:
        from fitcarl.bench.out_of_core import time_out_of_core

        with console.progress() as bar:
            compared = time_out_of_core(facts, memory, on_progress=bar)
        _show(asdict(compared), json)
        return
    from fitcarl.bench.index import time_index

    with console.progress() as bar:
        result = time_index(facts, on_progress=bar)
    _show(asdict(result), json)


def benchmark_episode(
    data: Data = "demo",
    shots: Annotated[int, typer.Option("--shots", metavar="K", min=1, help="Support facts per new entity.")] = 3,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Number of episodes.")] = 5,
    json: Json = False,
) -> None:
    """Time training episodes, compared with a reference implementation of the paper's equations."""
    from fitcarl.bench.episode import time_episode

    with console.progress() as bar:
        bar(Progress("training episodes", 0, 0))
        result = time_episode(data, shots, episodes)
    _show(asdict(result), json)


def benchmark_evaluate(
    data: Data = "demo",
    shots: Annotated[int, typer.Option("--shots", metavar="K", min=1, help="Support facts per new entity.")] = 3,
    json: Json = False,
) -> None:
    """Time beam search over all test queries."""
    from fitcarl.bench.episode import time_answers

    with console.progress() as bar:
        bar(Progress("test queries", 0, 0))
        result = time_answers(data, shots)
    _show(asdict(result), json)


def benchmark_profile(
    data: Data = "demo",
    shots: Annotated[int, typer.Option("--shots", metavar="K", min=1, help="Support facts per new entity.")] = 3,
    json: Json = False,
) -> None:
    """Profile a training episode and measure the throughput of the machine."""
    from fitcarl.bench.profile import profile_episode

    found = asdict(profile_episode(data, shots))
    if json:
        console.show_json(found)
        return
    for part in found.pop("parts"):
        console.show(f"{part['seconds']:7.3f} s  {part['share']:5.1%}  {part['name']}")
    _show(found, json)


def benchmark_ask(
    run: Annotated[
        Path | None, typer.Option("--run", metavar="RUN", help="Run folder created by 'fitcarl train'.")
    ] = None,
    facts: Annotated[
        int | None,
        typer.Option("--facts", metavar="N", min=3000, help="Use a generated run of this size, with random weights."),
    ] = None,
    questions: Annotated[int, typer.Option("--questions", metavar="N", min=1, help="Number of queries.")] = 200,
    top: Annotated[int, typer.Option("--top", min=1, help="Answers per query.")] = 10,
    paths: Annotated[int, typer.Option("--paths", min=0, help="Paths per answer.")] = 3,
    json: Json = False,
) -> None:
    """Time queries about new entities with three facts each, on one thread, at the end of the data and earlier."""
    if (run is None) == (facts is None):
        found = "neither" if run is None else "both"
        raise InputError("one run is timed", found=found, expected="either --run or --facts")
    from fitcarl.bench.predict import time_ask, time_generated

    with console.progress() as bar:
        if run is not None:
            result = time_ask(run, questions, top, paths, on_progress=bar)
        else:
            result = time_generated(facts or 0, questions, top, paths, on_progress=bar)
    _show(asdict(result), json)


def benchmark_batch(
    run: Run,
    questions: Annotated[int, typer.Option("--questions", metavar="N", min=1, help="Number of queries.")] = 10_000,
    entities: Annotated[int, typer.Option("--entities", metavar="N", min=1, help="Number of new entities.")] = 1_000,
    top: Annotated[int, typer.Option("--top", min=1, help="Answers per query.")] = 10,
    paths: Annotated[int, typer.Option("--paths", min=0, help="Paths per answer.")] = 1,
    json: Json = False,
) -> None:
    """Time a table of queries about many new entities at many dates, on one thread, and compare with single queries."""
    from fitcarl.bench.batch import time_batch

    with console.progress() as bar:
        result = time_batch(run, questions, entities, top, paths, on_progress=bar)
    _show(asdict(result), json)


def benchmark_explain(
    run: Run,
    answers: Annotated[int, typer.Option("--answers", metavar="N", min=1, help="Test queries to explain.")] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the demo world that the run was trained on.")] = 7,
    json: Json = False,
) -> None:
    """Measure explanations on test queries: fidelity, coverage, time and, on the demo world, planted causes."""
    from fitcarl.bench.explanations import measure_explanations
    from fitcarl.reporting.explanation_tables import explanation_tables

    with console.progress() as bar:
        result = measure_explanations(run, answers=answers, seed=seed, on_progress=bar)
    if json:
        console.show_json(result.to_json())
    else:
        console.show(*explanation_tables(result.to_json()))


def benchmark_serve(
    run: Run,
    requests: Annotated[int, typer.Option("--requests", metavar="N", min=1, help="Number of requests.")] = 2_000,
    clients: Annotated[int, typer.Option("--clients", metavar="C", min=1, help="Number of concurrent clients.")] = 16,
    json: Json = False,
) -> None:
    """Serve a run and time predictions over HTTP with concurrent clients."""
    require_extra("serve", "fastapi", "sqlalchemy", "uvicorn", needed_by="fitcarl benchmark serve")
    from fitcarl.bench.serve import time_serve

    with console.progress() as bar:
        result = time_serve(run, requests, clients, on_progress=bar)
    _show(asdict(result), json)


def benchmark_update(
    facts: Annotated[int, typer.Option("--facts", min=10_000, help="Facts of the generated run.")] = 1_000_000,
    added: Annotated[int, typer.Option("--added", min=1, help="Facts that are added to it.")] = 10_000,
    json: Json = False,
) -> None:
    """Measure processor time and memory of 'fitcarl update' on a generated run and on one of a tenth of its size."""
    from fitcarl.bench.update import time_update

    with console.progress() as bar:
        result = time_update(facts, added, on_progress=bar)
    _show(asdict(result), json)


def benchmark_scale(
    facts: Annotated[
        str, typer.Option("--facts", metavar="N,N,…", help="Numbers of facts, separated by commas.")
    ] = "20000,100000,300000",
    setting: Annotated[
        str, typer.Option("--setting", metavar="SETTING", help="What is trained for: completion or forecast.")
    ] = "completion",
    whole: Annotated[
        bool, typer.Option("--whole", help="Train with default settings: minutes at a million facts.")
    ] = False,
    updates: Annotated[int, typer.Option("--updates", min=1, help="Updates of the encoder, without --whole.")] = 100,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Training episodes, without --whole.")] = 10,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads; by default all cores.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="Keep the generated facts and runs here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the growth of every stage: .svg, .png or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure how every stage grows with the number of facts, on generated facts: seconds, memory and exponents."""
    from fitcarl.core.parallel import usable_cores

    sizes = _sizes(facts)
    if setting not in ("completion", "forecast"):
        raise InputError("unknown value", field="--setting", found=setting, expected="completion or forecast")
    if plot is not None:
        require_extra("plot", "matplotlib", needed_by="--plot")
    from fitcarl.bench.scale import measure_scale
    from fitcarl.bench.scale_stages import ScaleOptions
    from fitcarl.reporting.scale_table import plot_growth, scale_table

    options = ScaleOptions(
        setting=setting,  # type: ignore[arg-type]
        whole=whole,
        updates=updates,
        episodes=episodes,
        threads=threads or usable_cores(),
    )
    with console.progress() as bar:
        result = measure_scale(sizes, options, folder, on_progress=bar).to_json()
    if plot is not None:
        plot_growth(result, plot)
    if json:
        console.show_json(result)
    else:
        console.show(*scale_table(result))


def benchmark_threads(
    facts: Annotated[int, typer.Option("--facts", min=10_000, help="Number of generated facts.")] = 100_000,
    threads: Annotated[
        int | None, typer.Option("--threads", min=2, help="Threads to compare with one; by default all cores.")
    ] = None,
    updates: Annotated[int, typer.Option("--updates", min=1, help="Updates of the encoder.")] = 200,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Training episodes.")] = 20,
    questions: Annotated[int, typer.Option("--questions", metavar="N", min=1, help="Queries of the table.")] = 2_000,
    json: Json = False,
) -> None:
    """Compare one thread with several: training, evaluation and bulk prediction on generated facts."""
    from fitcarl.core.parallel import usable_cores

    several = threads or usable_cores()
    if several < 2:
        raise InputError("nothing to compare", field="--threads", found="one core", expected="2 or more threads")
    from fitcarl.bench.scale_stages import ScaleOptions
    from fitcarl.bench.threads import measure_threads
    from fitcarl.reporting.scale_table import thread_table

    options = ScaleOptions(updates=updates, episodes=episodes, bulk=questions)
    with console.progress() as bar:
        result = measure_threads(facts, (1, several), options, on_progress=bar).to_json()
    if json:
        console.show_json(result)
    else:
        console.show(*thread_table(result))


def benchmark_compile(
    episodes: Annotated[
        int, typer.Option("--episodes", min=1, help="Maximum number of training episodes of a demo.")
    ] = 80,
    json: Json = False,
) -> None:
    """Run 'fitcarl demo' without and with cached code: processor seconds of both, and what the first one compiled."""
    require_extra("plot", "matplotlib", needed_by="fitcarl benchmark compile")
    from fitcarl.bench.compile import measure_compile

    with console.progress() as bar:
        result = measure_compile(episodes, on_progress=bar)
    _show(asdict(result), json)


_LEAST_FACTS = 10_000


def _sizes(text: str) -> list[int]:
    """The value of ``--facts``: different numbers of facts."""
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    valid = all(part.isascii() and part.isdigit() for part in parts)
    sizes = sorted({int(part) for part in parts}) if valid else []
    if not sizes or sizes[0] < _LEAST_FACTS:
        expected = f"numbers from {_LEAST_FACTS:,} on, such as 20000,300000"
        raise InputError("not numbers of facts", field="--facts", found=text, expected=expected)
    return sizes


def _show(result: dict[str, Any], json: bool) -> None:
    if json:
        console.show_json(result)
        return
    width = max(len(name) for name in result)
    for name, value in result.items():
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        shown = f"{value:,.3f}" if isinstance(value, float) else f"{value:,}" if numeric else str(value)
        console.show(f"{name.replace('_', ' '):<{width}}  {shown}")
