"""``fitcarl ablate``: what each part of a preset is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console


def ablate_preset(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")],
    shots: Annotated[int, typer.Option("--shots", metavar="K", help="Facts known of a new actor.")] = 3,
    preset: Annotated[str, typer.Option("--preset", help="plus, plus+names or paper.")] = "plus",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Runs of each variant.")] = 3,
    draws: Annotated[int, typer.Option("--draws", min=0, help="Resample the supports so many times as well.")] = 4,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="Training tasks at most.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="For all variants; may be repeated.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SWITCH", help="Not all of them, such as copy_support or A1; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the runs and the table are.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train a preset and each of its switches off in turn, judge all on meta-validation; call again to go on."""
    from fitcarl.experiments.ablate import Study, ablate

    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    study = Study(data, shots, preset, seeds, draws, (*(setting or ()), *limit), tuple(only or ()))
    with console.training_processes():
        table = ablate(study, out, say=console.log.info)
    if json:
        console.show_json(table.to_json())
    else:
        console.show(table.markdown().rstrip())
    console.log.info(f"written to {out / 'ablation.md'} and {out / 'ablation.json'}")
