"""``fitcarl crossvalidate``: every suitable entity of a file of facts is tested once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console, options
from fitcarl.config.presets import DEFAULT_PRESET, PRESET_HELP


@options.with_file_options
def crossvalidate_facts(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(metavar="FILE|DATA", help="A file of facts, or a dataset, whose split is not used."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs and the results.")],
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=3, help="Number of folds, a run each.")] = 5,
    shots: Annotated[int, typer.Option("--shots", metavar="K", help="Support facts per new entity.")] = 3,
    preset: Annotated[str | None, typer.Option("--preset", help=f"{PRESET_HELP}. [default: {DEFAULT_PRESET}]")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="A model with its default settings, instead of a preset.")
    ] = None,
    low: Annotated[
        int | None, typer.Option("--low", help="Minimum number of facts of a tested entity. [default: K + 3]")
    ] = None,
    high: Annotated[
        int | None, typer.Option("--high", help="Maximum number of facts of a tested entity. [default: 40]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the folds and of the runs.")] = 0,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="Maximum number of episodes.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable.")
    ] = None,
    how: options.ReadHow = options.AS_DETECTED,
    granularity: options.Granularity = "auto",
    concepts: options.Concepts = None,
    normalise: options.Normalise = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Test every suitable entity once: train a run per fold and pool the results; run it again to resume."""
    from fitcarl.data.facts import Facts
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.data.io.sources import is_facts
    from fitcarl.experiments.crossvalidate import CrossValidationPlan, crossvalidate

    if is_facts(data):
        file = Path(data).expanduser()
        facts = options.read_fact_file(file, how, granularity, concepts)
        facts = options.merge_names(facts) if normalise else facts
    else:
        given = options.OPTIONS | options.NORMALISE
        console.reject_options(context, given, "applies to a file of facts only", f"a file, instead of {data}")
        facts = Facts.of(load_dataset(data))
    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    settings = (*(assignments or ()), *limit)
    plan = CrossValidationPlan(folds, shots, preset, model, seed, settings, low, high)
    with console.training_processes():
        found = crossvalidate(facts, plan, out)
    if json:
        console.show_json(found.to_json())
    else:
        console.show(found.markdown().rstrip())
    console.log.info(f"written to {out / 'crossvalidation.md'} and {out / 'crossvalidation.json'}")
