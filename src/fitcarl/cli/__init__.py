"""The command line interface: one file per command or command group."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from fitcarl import __version__
from fitcarl.cli import (
    ablate,
    bench,
    compare,
    console,
    data,
    demo,
    doctor,
    embeddings,
    evaluate,
    explain,
    names,
    predict,
    reproduce,
    score,
    serve,
    settings,
    train,
    tune,
    update,
)


def main() -> None:
    """Entry point of the console script ``fitcarl``."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    command = typer.main.get_command(build_cli())

    def invoke() -> None:
        with command.make_context("fitcarl", list(arguments)) as context:
            command.invoke(context)

    return console.exit_code_of(invoke)


def build_cli() -> typer.Typer:
    """The application with all commands; a new command or group is one line here."""
    app = console.group(
        "Predict links of new entities in a temporal knowledge graph from a few facts, and explain each prediction."
    )
    app.callback(invoke_without_command=True)(_root)
    app.command("demo")(demo.demo)
    app.add_typer(data.data_commands(), name="data")
    app.command("pretrain")(train.pretrain_data)
    app.command("train")(train.train_model)
    app.command("settings")(settings.list_settings)
    app.command("evaluate")(evaluate.evaluate_run)
    app.command("compare")(compare.compare_scorers)
    app.command("names")(names.list_names)
    app.command("predict")(predict.predict_links)
    app.command("explain")(explain.explain_answer)
    app.command("score")(score.score_facts)
    app.command("embeddings")(embeddings.write_embeddings)
    app.command("similar")(embeddings.show_similar)
    app.command("update")(update.update_run)
    app.command("serve")(serve.serve_run)
    app.command("reproduce")(reproduce.reproduce_results)
    app.command("ablate")(ablate.ablate_preset)
    app.command("tune")(tune.tune_settings)
    app.add_typer(bench.build(), name="benchmark")
    app.command("doctor")(doctor.doctor)
    return app


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"fitcarl {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    console.show_help_without_command(context)
