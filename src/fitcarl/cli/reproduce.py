"""``fitcarl reproduce``: train and evaluate all runs of a results table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError


def reproduce_results(
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="DATA", help="A folder or a name; may be repeated. [default: icews14-oog]"),
    ] = None,
    shots: Annotated[str, typer.Option("--shots", metavar="K,…", help="Support facts per new entity.")] = "1,3",
    preset: Annotated[str, typer.Option("--preset", metavar="NAME,…", help="Presets.")] = "paper",
    seeds: Annotated[str, typer.Option("--seeds", metavar="S,…", help="Seeds; one run each.")] = "0,1,2",
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Maximum number of training episodes.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs and the table.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train all combinations that are not trained yet, evaluate them on test, write a table; run it again to resume."""
    numbers = {"--shots": _numbers(shots, "--shots"), "--seeds": _numbers(seeds, "--seeds")}
    from fitcarl.experiments.reproduce import ReproductionPlan, reproduce
    from fitcarl.experiments.results import render_results

    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    plan = ReproductionPlan(
        tuple(data or ["icews14-oog"]),
        numbers["--shots"],
        tuple(_parts(preset)),
        numbers["--seeds"],
        (*(setting or ()), *limit),
    )
    with console.training_processes():
        rows = reproduce(plan, out)
    if json:
        console.show_json({"rows": [row.to_json() for row in rows]})
    else:
        console.show(render_results(rows).rstrip())
    console.log.info(f"written to {out / 'results.md'} and {out / 'results.json'}")


def _parts(text: str) -> list[str]:
    """The distinct comma-separated parts of a text."""
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def _numbers(text: str, option: str) -> tuple[int, ...]:
    parts = _parts(text)
    if not all(part.isdecimal() for part in parts):
        raise InputError("not a list of numbers", field=option, found=text, expected="such as 0,1,2")
    return tuple(map(int, parts))
