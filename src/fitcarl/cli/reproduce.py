"""``fitcarl reproduce``: train and evaluate all runs of a results table, and make the tables of the paper."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.experiments.cells import Order
    from fitcarl.experiments.reproduce import ReproductionPlan, TableNumber
    from fitcarl.experiments.summary_tables import SummaryName
    from fitcarl.experiments.system_rows import Protocol

_TABLES: tuple[TableNumber | SummaryName, ...] = ("2", "3", "settings", "data", "parameters", "cost")
_FIGURES = ("4", "5")
_PROTOCOLS: tuple[Protocol, ...] = ("realistic", "time-unaware", "paper")
_ORDERS: tuple[Order, ...] = ("cost", "table")
_BENCHMARKS = ("icews14-oog", "icews18-oog", "icews0515-oog")


def reproduce_results(
    context: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="DATA,…",
            help="Folders or names; may be repeated. [default: icews14-oog; for a table all three benchmarks]",
        ),
    ] = None,
    shots: Annotated[str, typer.Option("--shots", metavar="K,…", help="Support facts per new entity.")] = "1,3",
    preset: Annotated[str, typer.Option("--preset", metavar="NAME,…", help="Presets.")] = "paper",
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="NAME,…",
            help="Models, presets and heuristics, instead of presets; a transductive model stands for its variants, "
            "complex:fold-in for one of them.",
        ),
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", metavar="S,…", help="Seeds; one run each.")] = "0,1,2",
    setting: Annotated[
        str,
        typer.Option(
            "--setting",
            help="What runs of Table 2 are trained for and evaluated in: completion, or forecast (only facts before a "
            "query are used).",
        ),
    ] = "completion",
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help=f"A table of the paper, or 'settings' (runs trained for and evaluated in both): {', '.join(_TABLES)}.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="FIGURE",
            help="A figure of the paper, from the runs in DIR: 4 (MRR over time) or 5 (one query, explained twice).",
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help=f"Ranks of figure 4: {', '.join(_PROTOCOLS)}.")
    ] = "realistic",
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Maximum number of training episodes.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a setting; may be repeated. paper:NAME=VALUE changes it for one model or preset only.",
        ),
    ] = None,
    order: Annotated[
        str, typer.Option("--order", help="Order of the work for a table: cost (first seeds, cheap runs) or table.")
    ] = "cost",
    no_train: Annotated[
        bool, typer.Option("--no-train", help="Train and evaluate nothing; make the table of what is there.")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--list", help="List the runs of the table and their states, in order, and do nothing.")
    ] = False,
    evaluate_again: Annotated[
        bool, typer.Option("--evaluate-again", help="Evaluate finished runs again instead of reading their reports.")
    ] = False,
    device: console.DeviceOption = "auto",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs and the table.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train all combinations that are not trained yet, evaluate them on test, write a table; run it again to resume.

    Several processes that run the same command share the work.
    """
    shot_numbers, seed_numbers = parse_numbers(shots, "--shots"), parse_numbers(seeds, "--seeds")
    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    settings = (*(assignments or ()), *limit)
    visible = console.parse_setting(setting)
    if visible == "forecast" and table != "2":
        raise InputError("belongs to Table 2", field="--setting", found=setting, expected="--table 2 too")
    chosen_figure = None if figure is None else console.parse_choice(figure, _FIGURES, "--figure")
    ranks = console.parse_choice(protocol, _PROTOCOLS, "--protocol")
    if table is not None and figure is not None:
        raise InputError("cannot be combined with --table", field="--figure", expected="one of them")
    number = None if table is None else console.parse_choice(table, _TABLES, "--table")
    chosen_order = console.parse_choice(order, _ORDERS, "--order")
    names = [] if models is None else _parts(models)
    if models is not None:
        console.reject_options(context, {"preset": "--preset"}, "cannot be combined with --models", "one of them")
    sets = [part for text in data or () for part in _parts(text)]
    computes = figure is None and number in (None, "2", "3", "settings") and not (plan_only or no_train)
    if not computes:
        problem = "nothing is trained or evaluated"
        console.reject_options(context, {"device": "--device"}, problem, "the command without it")
    from fitcarl.core.device import resolve_device
    from fitcarl.experiments.reproduce import SETTINGS_TABLE, ReproductionPlan, table_plan

    resolve_device(device)  # before hours of training
    if chosen_figure is not None:
        console.require_plot("--figure")
        names = names or (_parts(preset) if console.was_given(context, "preset") else [])
        if chosen_figure == "4":
            systems = names or ["paper", "filt", "gen", "plus"]
            plan = table_plan(sets or _BENCHMARKS, shot_numbers, systems, seed_numbers, settings)
            _over_time(plan, out, ranks, json)
        else:
            plan = table_plan(sets or _BENCHMARKS[:1], shot_numbers, names or ["paper"], seed_numbers, settings)
            _case_study(plan, out, json)
        return
    if number is None:
        options = {"no_train": "--no-train", "plan_only": "--list", "evaluate_again": "--evaluate-again"}
        console.reject_options(context, options, "belongs to a table of the paper", "--table too")
        chosen = tuple(names or _parts(preset))
        plan = ReproductionPlan(tuple(sets or _BENCHMARKS[:1]), shot_numbers, chosen, seed_numbers, settings)
        _results(plan, out, device, json)
        return
    if console.was_given(context, "preset"):
        names = _parts(preset)
    elif number == "3":
        names = names or ["paper", "paper:choices", "paper-product", "authors", "paper-full"]
    elif number == "settings":
        names = names or list(SETTINGS_TABLE)
    plan = table_plan(sets or _BENCHMARKS, shot_numbers, names, seed_numbers, settings)
    plan = replace(plan, setting=visible or plan.setting)
    if number == "data" or number == "parameters" or number == "cost":
        _summary(plan, out, number, json)
    elif plan_only:
        _list(plan, out, number, chosen_order, json)
    else:
        _table(plan, out, number, chosen_order, json, no_train, evaluate_again, device)


def _results(plan: ReproductionPlan, out: Path, device: str, json: bool) -> None:
    """The results table of all presets, the heuristic baselines and the published figures."""
    from fitcarl.experiments.jobs import train_in_subprocess
    from fitcarl.experiments.reproduce import reproduce
    from fitcarl.experiments.results import render_results

    with console.training_processes():
        rows = reproduce(plan, out, train=partial(train_in_subprocess, device=device), device=device)
    if json:
        console.show_json({"rows": [row.to_json() for row in rows]})
    else:
        console.show(render_results(rows).rstrip())
    console.log.info(f"written to {out / 'results.md'} and {out / 'results.json'}")


def _table(
    plan: ReproductionPlan,
    out: Path,
    table: TableNumber,
    order: Order,
    json: bool,
    no_train: bool,
    again: bool,
    device: str,
) -> None:
    """Table 2 or 3 of the paper, or the table of settings."""
    from fitcarl.experiments.jobs import train_in_subprocess
    from fitcarl.experiments.reproduce import FILES, TITLES, reproduce_table
    from fitcarl.experiments.system_table import render_system_table

    with console.training_processes():
        train = None if no_train else partial(train_in_subprocess, device=device)
        rows = reproduce_table(plan, out, table, train=train, order=order, again=again, device=device)
    if json:
        console.show_json({"rows": [row.to_json() for row in rows]})
    else:
        console.show(render_system_table(rows, TITLES[table]).rstrip())
    console.log.info(f"written to {out / FILES[table]}.md and {FILES[table]}.json")


def _summary(plan: ReproductionPlan, out: Path, name: SummaryName, json: bool) -> None:
    """Table 1, and the tables of parameters and of cost of the runs in the folder."""
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.experiments.reproduce import reproduce_table
    from fitcarl.experiments.summary_tables import cost_table, data_table, parameter_table

    if name == "data":
        table = data_table(plan.data)
    else:
        rows = reproduce_table(plan, out, train=None, save=False)
        sets = [load_dataset(data) for data in plan.data]
        entities = {dataset.name: len(dataset.vocabulary.entities) for dataset in sets}
        table = cost_table(rows) if name == "cost" else parameter_table(rows, entities)
    table.write(out)
    if json:
        console.show_json({"rows": list(table.rows)})
    else:
        console.show(table.markdown().rstrip())
    console.log.info(f"written to {out / f'table-{name}.md'} and {out / f'table-{name}.json'}")


def _over_time(plan: ReproductionPlan, out: Path, protocol: Protocol, json: bool) -> None:
    """Figure 4."""
    from fitcarl.experiments.over_time import reproduce_over_time

    document = reproduce_over_time(plan, out, protocol)
    if json:
        console.show_json(document)
    else:
        for panel in document["panels"]:
            for line in panel["lines"]:
                found = "not run" if line["mrr"] is None else f"MRR {line['overall']:.3f}"
                console.show(f"{panel['data']}, {panel['shots']}-shot, {line['system']}: {found}")
    console.log.info(f"written to {document['image']}")


def _case_study(plan: ReproductionPlan, out: Path, json: bool) -> None:
    """Figure 5, for the last number of shots and the first seed."""
    from fitcarl.experiments.case_study import reproduce_case_study

    study = reproduce_case_study(plan, out)
    if json:
        console.show_json(study.to_json())
    else:
        console.show(*study.lines())
    console.log.info(f"written to {out / 'figure5.svg'}, {out / 'figure5.html'} and {out / 'figure5.json'}")


def _list(plan: ReproductionPlan, out: Path, table: TableNumber, order: Order, json: bool) -> None:
    """The runs of a table in the order of the work."""
    from fitcarl.experiments.reproduce import list_runs

    runs = list_runs(plan, out, table, order)
    if json:
        console.show_json({"runs": runs})
        return
    for run in runs:
        console.show(f"{run['state']:<10}  {run['expected_minutes']:7.1f} min  {run['run']}")


def _parts(text: str) -> list[str]:
    """The distinct comma-separated parts of a text."""
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def parse_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers of a comma-separated list.

    Raises:
        InputError: If it is not a list of numbers.
    """
    parts = _parts(text)
    if not all(part.isdecimal() for part in parts):
        raise InputError("not a list of numbers", field=option, found=text, expected="such as 0,1,2")
    return tuple(map(int, parts))
