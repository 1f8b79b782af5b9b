"""``fitcarl demo``: all steps from data to explained predictions on the generated demo world."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console
from fitcarl.errors import require_extra

if TYPE_CHECKING:
    from fitcarl.runs.run import Run
    from fitcarl.synthetic import World


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder.")] = Path("demo"),
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Maximum number of training episodes.")] = 80,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the generated world.")] = 7,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Generate a small world with known rules; train, evaluate, predict and explain on it; write a report."""
    require_extra("plot", "matplotlib", needed_by="fitcarl demo")
    from fitcarl.cli.example import find_worked_example
    from fitcarl.data.bounds import BENCHMARK_BOUNDS
    from fitcarl.data.describe import describe
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.split import split_facts
    from fitcarl.experiments.demo import write_demo_report
    from fitcarl.synthetic import generate_world

    world = generate_world(seed=seed)
    dataset = split_facts(world.facts, name="demo", bounds=BENCHMARK_BOUNDS)
    folder = out / "data"
    write_dataset(dataset, folder, overwrite=True)
    description = describe(dataset)
    example = find_worked_example(world, dataset)
    if not json:
        _section("1. Generated data: events with known rules", world_lines(world))
        _section(
            "2. Dataset: the facts of unseen entities are removed from the background",
            description.render().splitlines(),
        )
        _section("3. Example: a query about an unseen entity and two steps of the search", example.lines())

    run = _train(folder, _new_run(out), episodes)
    report = write_demo_report(run, dataset, world, out / "report.html")
    if json:
        parts = {"world": world_json(world), "dataset": description.to_json(), "worked_example": example.to_json()}
        console.show_json(parts | {"folder": str(folder)} | report.to_json())
        return
    _section("4. Evaluation: the trained model and heuristic baselines on the same queries", report.table())
    _section("5. Predictions with explanations", report.case_lines())
    _section("6. An example query with a correct explanation", report.example_lines())
    name = console.program_name()
    console.show(
        f"The report is in {report.file}; open it in a browser.",
        f"The trained run is in {run.folder.path}; evaluate it with: {name} evaluate {run.folder.path}",
        f"The dataset is in {folder}; describe it with: {name} data describe {folder}",
        f"Create a dataset from your own facts with: {name} data split --facts FILE --out DIR",
        f"Start the explorer, which contains the example query, with: {name} serve {run.folder.path}",
    )


def _new_run(out: Path) -> Path:
    """The run folder; the run of an earlier demo is deleted."""
    from fitcarl.core.lock import lock_folder

    folder = out / "run"
    if (folder / "config.json").exists():
        with lock_folder(folder):
            shutil.rmtree(folder)
    return folder


def _train(data: Path, folder: Path, episodes: int) -> Run:
    from fitcarl.cli.train import stop_on_interrupt, training_progress
    from fitcarl.training.api import TrainingInterrupted, train

    with stop_on_interrupt() as should_stop, training_progress() as on_progress:
        try:
            return train(
                data,
                out=folder,
                shots=3,
                settings=["setting=forecast"],
                episodes=episodes,
                on_progress=on_progress,
                should_stop=should_stop,
            )
        except TrainingInterrupted:
            raise KeyboardInterrupt from None


def _section(title: str, lines: list[str]) -> None:
    console.show(title, "", *(f"   {line}" if line else "" for line in lines), "")


def world_lines(world: World) -> list[str]:
    """Size of the world and number of events per rule."""
    facts = world.facts
    lines = [
        f"{len(facts.vocabulary.entities):,} entities, {len(world.truth.new_entities):,} of them appear late; "
        f"{len(facts.quadruples):,} events from {facts.calendar.labels[0]} to {facts.calendar.labels[-1]}"
    ]
    for rule, count in world.truth.counts().items():
        lines += wrap(f"{count:>6,}  {world.truth.describe(rule)}", 90, subsequent_indent=" " * 8)
    return lines


def world_json(world: World) -> dict[str, Any]:
    """Size of the world and number of events per rule, as JSON values."""
    return {
        "entities": len(world.facts.vocabulary.entities),
        "new_entities": len(world.truth.new_entities),
        "facts": len(world.facts.quadruples),
        "rules": {rule.name.lower(): count for rule, count in world.truth.counts().items()},
    }
