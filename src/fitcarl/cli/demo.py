"""``fitcarl demo``: the invented world end to end, one act after the other."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console

if TYPE_CHECKING:
    from fitcarl.data.world import World


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write what it makes.")] = Path("demo"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Make a small world whose rules are known, make some of its actors unseen, and ask about one of them."""
    from fitcarl.cli.example import find_example
    from fitcarl.data.describe import describe
    from fitcarl.data.folder import write_dataset
    from fitcarl.data.split import split_facts
    from fitcarl.data.world import generate_world

    world = generate_world()
    dataset = split_facts(world.facts, name="demo")
    folder = out / "data"
    write_dataset(dataset, folder, overwrite=True)
    description = describe(dataset)
    example = find_example(world, dataset)

    if json:
        acts = {"world": world_json(world), "dataset": description.to_json(), "example": example.to_json()}
        console.show_json(acts | {"folder": str(folder)})
        return
    _act("1. A world of invented events, each made by a known rule", world_lines(world))
    _act("2. Some actors become unseen: all their facts leave the background", description.render().splitlines())
    _act("3. A question about one of them, and two steps of a search for the answer", example.lines())
    console.show(
        f"The dataset is in {folder}; see it again with: fitcarl data describe {folder}",
        "Make one of your own facts with: fitcarl data split --facts FILE --out DIR",
    )


def _act(title: str, lines: list[str]) -> None:
    console.show(title, "", *(f"   {line}" if line else "" for line in lines), "")


def world_lines(world: World) -> list[str]:
    """How large the world is, and how many of its events each rule made."""
    facts = world.facts
    lines = [
        f"{len(facts.vocabulary.entities):,} actors, {len(world.truth.newcomers):,} of them newcomers; "
        f"{len(facts.quadruples):,} events from {facts.calendar.labels[0]} to {facts.calendar.labels[-1]}"
    ]
    for rule, count in world.truth.counts().items():
        lines += wrap(f"{count:>6,}  {world.truth.describe(rule)}", 90, subsequent_indent=" " * 8)
    return lines


def world_json(world: World) -> dict[str, Any]:
    """The same for programs."""
    return {
        "actors": len(world.facts.vocabulary.entities),
        "newcomers": len(world.truth.newcomers),
        "facts": len(world.facts.quadruples),
        "rules": {rule.name.lower(): count for rule, count in world.truth.counts().items()},
    }
