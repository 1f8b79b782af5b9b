"""``fitcarl evaluate``: ranking metrics of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console, evaluation_parts
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.evaluation.report import Report

_IMAGES = (".svg", ".png", ".pdf")


def evaluate_run(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Run folders made by 'fitcarl train'; several share the figures."),
    ],
    split: console.SplitOption = None,
    setting: console.SettingOption = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Another dataset with the same names.")
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=0, help="Number of resampled supports, in addition to the official ones.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampled supports.")] = 0,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Plot performance over time (svg, png or pdf).")
    ] = None,
    diagram: Annotated[
        Path | None,
        typer.Option("--reliability", metavar="FILE", help="Plot a reliability diagram of the shares (svg, png, pdf)."),
    ] = None,
    left_open: Annotated[
        str | None,
        typer.Option(
            "--open",
            metavar="relation|time",
            help="Leave the relation open (rank relation, direction and entity) or the time (when is the next fact?).",
        ),
    ] = None,
    device: console.DeviceOption = "auto",
    shard: evaluation_parts.ShardOption = None,
    out: evaluation_parts.Out = None,
    overwrite: evaluation_parts.Overwrite = False,
    merge: evaluation_parts.Merge = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Rank the answers to the queries of a split and print the metrics with their signature.

    With --shard, rank a part of the queries; --merge reports on all parts.
    """
    others = {"--open": left_open, "--figure": figure, "--reliability": diagram, "--json": json}
    part = evaluation_parts.PartOptions.from_options(shard, out, overwrite, merge, others)
    if part is not None or merge is not None:
        evaluation_parts.check_one_run(runs, left_open)
    if left_open is not None:
        _check_open(left_open, setting, figure, diagram, device)
        _evaluate_open(left_open, runs, split, data, draws, seed, device, json)
        return
    from fitcarl.reporting.figures import performance_over_time, reliability_diagram
    from fitcarl.reporting.tables import render_report
    from fitcarl.runs.evaluate import evaluate

    chosen, visible = None if split is None else console.parse_split(split), console.parse_setting(setting)
    for option, file in (("--figure", figure), ("--reliability", diagram)):
        console.check_image_path(option, file, _IMAGES)
        if file is not None:
            console.require_plot(option)
    options: dict[str, Any] = {"split": chosen, "setting": visible, "data": data, "draws": draws, "seed": seed}
    if part is not None:
        part.evaluate(runs[0], options, device)
        return
    if merge is not None:
        if device != "auto":
            problem = "merging parts evaluates nothing"
            raise InputError(problem, field="--device", found=device, expected="--merge without it")
        reports = [evaluation_parts.merged_report(runs[0], merge, options)]
    else:
        with console.progress() as bar:
            reports = [evaluate(run, **options, device=device, on_progress=bar) for run in runs]
    if figure is not None:
        if not all(report.official.has_same_queries(reports[0].official) for report in reports):
            raise InputError("the runs have other queries", field="--figure", expected="the same data, split and shots")
        performance_over_time(reports, figure, _line_names(reports, runs))
    if diagram is not None:
        for run, report in zip(runs, reports, strict=True):
            if report.calibration_report is None:
                raise InputError("has no calibration", file=run, expected=f"'fitcarl train --resume {run}' first")
        reliability_diagram(reports, diagram)
    if json:
        documents = [report.to_json() for report in reports]
        found = [{"run": str(run)} | document for run, document in zip(runs, documents, strict=True)]
        console.show_json(documents[0] if len(runs) == 1 else {"reports": found})
    else:
        for report in reports:
            console.show(render_report(report))


def _line_names(reports: Sequence[Report], runs: Sequence[Path]) -> list[str]:
    """The scorers' names, which say what a model has seen; with the folders if several runs have the same name."""
    names = [report.scorer for report in reports]
    if len(set(names)) == len(names):
        return names
    return [f"{name}, {run.resolve().name}" for name, run in zip(names, runs, strict=True)]


def _check_open(left_open: str, setting: str | None, figure: Path | None, diagram: Path | None, device: str) -> None:
    """Raises an InputError for options that do not fit ``--open``."""
    if left_open not in ("relation", "time"):
        raise InputError("unknown value", field="--open", found=left_open, expected="relation or time")
    if console.parse_setting(setting) == "completion":
        raise InputError("open queries are forecasts", field="--setting", found="completion", expected="forecast")
    if left_open == "time" and device != "auto":
        raise InputError("the model of times has no tensors", field="--device", found=device, expected="no --device")
    for option, file in (("--figure", figure), ("--reliability", diagram)):
        if file is not None:
            raise InputError("not available with --open", field=option, expected="no figure")


def _evaluate_open(
    left_open: str,
    runs: list[Path],
    split: str | None,
    data: str | None,
    draws: int,
    seed: int,
    device: str,
    json: bool,
) -> None:
    from fitcarl.reporting.open_tables import render_open_relation, render_open_time
    from fitcarl.runs.evaluate_open import evaluate_open_relation, evaluate_open_time

    chosen = None if split is None else console.parse_split(split)
    documents = []
    options: dict[str, Any] = {"split": chosen, "data": data, "draws": draws, "seed": seed}
    for run in runs:
        if left_open == "relation":
            with console.progress() as bar:
                ranked = evaluate_open_relation(run, **options, device=device, on_progress=bar)
            document, shown = ranked.to_json(), render_open_relation(ranked)
        else:
            timed = evaluate_open_time(run, **options)
            document, shown = timed.to_json(), render_open_time(timed)
        documents.append({"run": str(run)} | document if len(runs) > 1 else document)
        if not json:
            console.show(shown)
    if json:
        console.show_json(documents[0] if len(runs) == 1 else {"reports": documents})
