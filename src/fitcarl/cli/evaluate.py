"""``fitcarl evaluate``: how good a run is, counted honestly, with the paper's way of counting beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError, require_extra

_PICTURES = (".svg", ".png", ".pdf")


def evaluate_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that 'fitcarl train' made.")],
    split: console.SplitOption = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Another dataset with the same names.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", min=0, help="Resample the supports so many times as well.")] = 0,
    seed: Annotated[int, typer.Option("--seed", help="For the resampled supports.")] = 0,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the performance over time (svg, png or pdf).")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--reliability", metavar="FILE", help="Draw how far shares can be trusted (svg, png or pdf)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Rank the answers to a split's queries and print the table, with its signature."""
    from fitcarl.reporting.figures import performance_over_time, reliability
    from fitcarl.runs.evaluate import evaluate

    chosen = None if split is None else console.parse_split(split)
    for option, file in (("--figure", figure), ("--reliability", picture)):
        console.check_image_path(option, file, _PICTURES)
        if file is not None:
            require_extra("plot", "matplotlib", needed_by=option)
    with console.progress() as bar:
        report = evaluate(
            run,
            split=chosen,
            data=data,
            draws=draws,
            seed=seed,
            on_progress=lambda update: bar("queries", update.done, update.total),
        )
    if figure is not None:
        performance_over_time(report, figure)
    if picture is not None:
        if report.calibration_report is None:
            raise InputError("has no calibration", file=run, expected=f"'fitcarl train --resume {run}' first")
        reliability(report, picture)
    if json:
        console.show_json(report.to_json())
    else:
        console.show(report.render())
