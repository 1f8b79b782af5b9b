"""``fitcarl ablate``: ablation study of a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.config.presets import DEFAULT_PRESET, PRESET_HELP


def ablate_preset(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")],
    shots: Annotated[int, typer.Option("--shots", metavar="K", help="Support facts per new entity.")] = 3,
    preset: Annotated[str, typer.Option("--preset", help=PRESET_HELP + ".")] = DEFAULT_PRESET,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Number of runs per variant.")] = 3,
    draws: Annotated[
        int, typer.Option("--draws", min=0, help="Number of resampled supports, in addition to the official ones.")
    ] = 4,
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Maximum number of training episodes.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of all variants; may be repeated."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="ABLATION", help="Run only this ablation, such as copy_support or A1; may be repeated."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs and the table.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train a preset and its ablations and evaluate them on meta-validation; run it again to resume."""
    from fitcarl.experiments.ablate import AblationPlan, ablate

    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    plan = AblationPlan(data, shots, preset, seeds, draws, (*(setting or ()), *limit), tuple(only or ()))
    with console.training_processes():
        table = ablate(plan, out)
    if json:
        console.show_json(table.to_json())
    else:
        console.show(table.markdown().rstrip())
    console.log.info(f"written to {out / 'ablation.md'} and {out / 'ablation.json'}")
