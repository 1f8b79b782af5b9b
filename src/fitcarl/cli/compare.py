"""``fitcarl compare``: runs and heuristic baselines on the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError


def compare_scorers(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows. [default: that of the first run]"
        ),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(
            "--shots", metavar="K", help="Support facts per new entity. [default: that of the first run, or 3]"
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="RUN", help="A run folder made by 'fitcarl train'; may be repeated."),
    ] = None,
    split: console.SplitOption = None,
    setting: console.SettingOption = None,
    draws: Annotated[
        int, typer.Option("--draws", min=0, help="Number of resampled supports, in addition to the official ones.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampled supports.")] = 0,
    device: console.DeviceOption = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Evaluate the heuristic baselines and the given runs on the same queries, with differences to the first run."""
    chosen, visible = None if split is None else console.parse_split(split), console.parse_setting(setting)
    if data is None and not run:
        raise InputError("one of DATA and --run RUN must be given", expected="'fitcarl compare DATA --run RUN'")
    if device != "auto" and not run:
        problem = "heuristic baselines have no tensors that could be on a device"
        raise InputError(problem, field="--device", found=device, expected="--run RUN too")
    from fitcarl.experiments.compare import compare

    with console.progress() as bar:
        found = compare(
            data,
            shots,
            run or (),
            split=chosen,
            setting=visible,
            draws=draws,
            seed=seed,
            device=device,
            on_progress=bar,
        )
    if json:
        for remark in found.remarks:
            console.log.info(remark)
        console.show_json(found.to_json())
    else:
        console.show(found.render())
