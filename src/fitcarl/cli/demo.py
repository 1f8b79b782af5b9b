"""``fitcarl demo``: the invented world end to end, one act after the other."""

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
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write what it makes.")] = Path("demo"),
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Training tasks at most.")] = 80,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Make a small world whose rules are known; train, evaluate, predict and explain on it; write a report."""
    require_extra("plot", "matplotlib", needed_by="fitcarl demo")
    from fitcarl.cli.example import find_example
    from fitcarl.data.describe import describe
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.split import split_facts
    from fitcarl.experiments.demo import write_demo_report
    from fitcarl.synthetic import generate_world

    world = generate_world()
    dataset = split_facts(world.facts, name="demo")
    folder = out / "data"
    write_dataset(dataset, folder, overwrite=True)
    description = describe(dataset)
    example = find_example(world, dataset)
    if not json:
        _act("1. A world of invented events, each made by a known rule", world_lines(world))
        _act("2. Some actors become unseen: all their facts leave the background", description.render().splitlines())
        _act("3. A question about one of them, and two steps of a search for the answer", example.lines())

    run = _train(folder, _new_run(out), episodes)
    story = write_demo_report(run, dataset, world, out / "report.html")
    if json:
        acts = {"world": world_json(world), "dataset": description.to_json(), "example": example.to_json()}
        console.show_json(acts | {"folder": str(folder)} | story.to_json())
        return
    _act("4. A trained agent beside scorers that learn nothing, on the same questions", story.table())
    _act("5. What it says, and why", story.case_lines())
    _act("6. A question to try, answered for the right reason", story.example_lines())
    name = console.program_name()
    console.show(
        f"The report is in {story.file}; open it in a browser.",
        f"The trained run is in {run.folder.path}; look closer with: {name} evaluate {run.folder.path}",
        f"The dataset is in {folder}; see it again with: {name} data describe {folder}",
        f"Make one of your own facts with: {name} data split --facts FILE --out DIR",
        f"Open the explorer, which offers that question as its example, with: {name} serve {run.folder.path}",
    )


def _new_run(out: Path) -> Path:
    """A folder for the run; that of an earlier demo is replaced, as the rest of the demo is."""
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
            return train(data, out=folder, shots=3, episodes=episodes, on_progress=on_progress, should_stop=should_stop)
        except TrainingInterrupted:
            raise KeyboardInterrupt from None


def _act(title: str, lines: list[str]) -> None:
    console.show(title, "", *(f"   {line}" if line else "" for line in lines), "")


def world_lines(world: World) -> list[str]:
    """How large the world is, and how many of its events each rule made."""
    facts = world.facts
    lines = [
        f"{len(facts.vocabulary.entities):,} actors, {len(world.truth.new_entities):,} of them newcomers; "
        f"{len(facts.quadruples):,} events from {facts.calendar.labels[0]} to {facts.calendar.labels[-1]}"
    ]
    for rule, count in world.truth.counts().items():
        lines += wrap(f"{count:>6,}  {world.truth.describe(rule)}", 90, subsequent_indent=" " * 8)
    return lines


def world_json(world: World) -> dict[str, Any]:
    """The same for programs."""
    return {
        "actors": len(world.facts.vocabulary.entities),
        "newcomers": len(world.truth.new_entities),
        "facts": len(world.facts.quadruples),
        "rules": {rule.name.lower(): count for rule, count in world.truth.counts().items()},
    }
