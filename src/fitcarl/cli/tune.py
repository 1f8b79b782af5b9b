"""``fitcarl tune``: search for hyper-parameters on meta-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console
from fitcarl.cli.reproduce import parse_numbers
from fitcarl.cli.train import stop_on_interrupt
from fitcarl.config.presets import preset_name
from fitcarl.errors import InputError, require_extra

if TYPE_CHECKING:
    from fitcarl.experiments.study import Pruner

_PRUNERS: tuple[Pruner, ...] = ("median", "hyperband", "none")


def tune_settings(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")],
    preset: Annotated[str | None, typer.Option("--preset", help="The preset to start from.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="A model with its defaults, instead of a preset.")
    ] = None,
    study: Annotated[
        str, typer.Option("--study", help="The search space: default, or grid108 (the paper's) for model fitcarl.")
    ] = "default",
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", metavar="N", min=1, help="Trials in total, over all processes. [default: the grid, or 20]"
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            metavar="FILE",
            help="Journal of the study, or the URL of a database; start the same command again to join it.",
        ),
    ] = None,
    shots: Annotated[int, typer.Option("--shots", metavar="K", min=1, help="Support facts per new entity.")] = 3,
    draws: Annotated[
        int, typer.Option("--draws", min=0, help="Number of resampled supports, in addition to the official ones.")
    ] = 4,
    seeds: Annotated[str, typer.Option("--seeds", metavar="S,…", help="Seeds; one run each per trial.")] = "0",
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="Maximum number of episodes.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Fix a setting in all trials; may be repeated."),
    ] = None,
    pruner: Annotated[
        str, typer.Option("--pruner", help=f"When a trial is stopped early: {', '.join(_PRUNERS)}.")
    ] = "median",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Search for the best settings on meta-validation and write them as a preset; run it again to resume or to join."""
    if (preset is None) == (model is None):
        raise InputError("either a preset or a model", expected="one of --preset and --model")
    chosen_pruner = console.parse_choice(pruner, _PRUNERS, "--pruner")
    numbers = parse_numbers(seeds, "--seeds")
    require_extra("tune", "optuna", needed_by="fitcarl tune")
    console.require_plot("fitcarl tune")
    from fitcarl.experiments.study import TuningPlan, is_database, write_study
    from fitcarl.experiments.tuning import tune
    from fitcarl.training.api import TrainingInterrupted

    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    settings = (*(setting or ()), *limit)
    plan = TuningPlan(data, preset, model, study, shots, draws, numbers, settings, chosen_pruner)
    name = f"{Path(data).name}-{shots}shot-{preset_name(preset or str(model))}-{study}"
    default = Path("studies") / f"{name}.journal"
    where = storage or default
    file = default if is_database(where) else Path(where)
    with stop_on_interrupt() as should_stop, console.progress() as bar:
        try:
            trial_runs = file.with_name(f"{file.name}.trials")
            result = tune(plan, where, trials, folder=trial_runs, on_progress=bar, should_stop=should_stop)
        except TrainingInterrupted as interrupted:
            console.log.info(str(interrupted))
            raise typer.Exit(console.INTERRUPTED) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    written = write_study(result, plan, file)
    if json:
        console.show_json(result.to_json() | {"files": {key: str(path) for key, path in written.items()}})
        return
    states = [trial.state for trial in result.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    console.show(f"{result.name}: {len(states)} trials ({counts})")
    if result.best is not None:
        console.show(f"best: meta-validation MRR {result.best.value:.4f}, trial {result.best.number}")
        console.show(*(f"  {name}={value}" for name, value in result.best.settings.items()))
        console.show(f"train it with 'fitcarl train {data} --shots {shots} --preset {written['preset']}'")
    console.log.info(f"written to {', '.join(map(str, written.values()))}")
